"""Resampling of weighted samples: how unequal the weights are, and drawing rows by weight."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.game import FloatArray, IntArray


def effective_sample_size(weights: FloatArray) -> float:
    """How many equal samples those of ``weights`` [N] are worth (Kong, 1992); they sum to 1."""
    return float(1 / (weights**2).sum())


def systematic_resample(weights: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """[n] rows drawn by ``weights`` [N], which sum to 1, in order (Kitagawa, 1996).

    Takes one double from ``rng``.
    """
    places = (rng.random() + np.arange(n)) / n
    rows = np.searchsorted(np.cumsum(weights), places, side="right")
    return np.minimum(rows, len(weights) - 1)
