"""Means and their standard errors: as numbers to keep, and in words."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def mean_and_error(values: ArrayLike) -> list[float]:
    """Rounded to four digits; the error of one value is nan."""
    return [round(figure, 4) for figure in _mean_and_error(values)]


def with_error(values: ArrayLike, digits: int = 2, sign: str = "") -> str:
    """ "24.16 ± 0.04"; with the sign "+" it is a gain: "+1.25 ± 0.08"."""
    mean, error = _mean_and_error(values)
    return f"{mean:{sign}.{digits}f} ± {error:.{digits}f}"


def _mean_and_error(values: ArrayLike) -> tuple[float, float]:
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < 2:
        return float(numbers.mean()), math.nan
    return float(numbers.mean()), float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
