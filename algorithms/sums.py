"""Means and standard errors from running sums, for arrays of any shape."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.game import FloatArray, IntArray


def mean(total: FloatArray, n: FloatArray | IntArray) -> FloatArray:
    """The mean of n numbers with this sum; nan where n is 0."""
    found = np.full(total.shape, np.nan)
    np.divide(total, n, out=found, where=n > 0)
    return found


def stderr(total: FloatArray, squares: FloatArray, n: FloatArray | IntArray) -> FloatArray:
    """The standard error of the mean of n numbers, given the sum of squares; nan below two."""
    spread = np.maximum(squares - total * total / np.maximum(n, 1), 0.0)
    square = np.full(total.shape, np.nan)
    np.divide(spread, (n - 1.0) * n, out=square, where=n > 1)
    return np.asarray(np.sqrt(square), dtype=np.float64)
