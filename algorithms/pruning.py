"""When a move is dropped for what it may still gain (the expected value of sample information).

Chick and Inoue (2001) stop sampling an alternative once the rest of the budget is not expected to
make it the best by more than sampling is worth. SPARTA and its range search drop moves so.
"""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.algorithms.tally import expected_improvement
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray

PATIENCE = 500  # worlds after which an undecided move has to promise more, in proportion to them


def gains_too_little(
    lead: FloatArray, error: FloatArray, worlds: int, left: IntArray | int, indifference: float
) -> BoolArray:
    """[M] True for moves that may be dropped after ``worlds`` worlds, with ``left`` still to play.

    ``lead`` [M] is by how much each is behind, ``error`` [M] the standard error of that, in score
    points. A move may be dropped if playing the rest would gain less than ``least_gain`` points by
    it, in expectation.
    """
    # The mean of all worlds will differ from the mean of those played by so much.
    change = error * np.sqrt(left / (worlds + left))
    return np.asarray(expected_improvement(lead, change) < least_gain(indifference, worlds))


def least_gain(indifference: float, worlds: int) -> float:
    """The points that a move must be able to gain to be kept, after so many worlds."""
    return indifference * max(1.0, worlds / PATIENCE)
