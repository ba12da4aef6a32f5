"""Running sums of the returns of moves that were tried in the same worlds. M: the moves."""

from __future__ import annotations

import math

import numpy as np

from hanabi_search_plugin.algorithms import sums
from hanabi_search_plugin.core.game import FloatArray, IntArray

PRIOR_WORLDS = 10  # worlds that the average variance counts as in the variance of each difference


class Tally:
    """Running sums of the returns of M moves and of their differences in shared worlds.

    Returns are integers in most games, and then all sums are exact.
    """

    def __init__(self, moves: int) -> None:
        self.count: IntArray = np.zeros(moves, dtype=np.int64)
        self._sum = np.zeros(moves)
        self._squares = np.zeros(moves)
        self._pairs = np.zeros((moves, moves))  # worlds in which both moves were tried
        self._lead = np.zeros((moves, moves))  # sum of return of row - return of column
        self._lead_squares = np.zeros((moves, moves))

    def add(self, moves: IntArray, values: FloatArray) -> None:
        """Add the returns [len(moves), n] of these moves in n more worlds."""
        total, squares = values.sum(axis=1), (values * values).sum(axis=1)
        self.count[moves] += values.shape[1]
        self._sum[moves] += total
        self._squares[moves] += squares
        both = np.ix_(moves, moves)
        self._pairs[both] += values.shape[1]
        self._lead[both] += total[:, None] - total
        self._lead_squares[both] += squares[:, None] + squares - 2 * (values @ values.T)

    @property
    def mean(self) -> FloatArray:
        """[M] mean return; nan where never tried."""
        return sums.mean(self._sum, self.count)

    @property
    def stderr(self) -> FloatArray:
        """[M] standard error of the mean; nan below two rollouts."""
        return sums.stderr(self._sum, self._squares, self.count)

    def lead(self, move: int) -> FloatArray:
        """[M] mean return of ``move`` minus that of each, in shared worlds; nan where none is."""
        return sums.mean(self._lead[move], self._pairs[move])

    def difference(self, move: int) -> tuple[FloatArray, FloatArray]:
        """[M] ``lead`` of a move, and its standard errors."""
        lead, pairs = self._lead[move], self._pairs[move]
        return self.lead(move), sums.stderr(lead, self._lead_squares[move], pairs)

    def regularised_difference(self, move: int) -> tuple[FloatArray, FloatArray]:
        """[M] ``difference``, with errors as in ``regularised_errors``."""
        return self.lead(move), self.regularised_errors(slice(move, move + 1))[0]

    def regularised_errors(self, moves: slice = slice(None)) -> FloatArray:
        """[moves, M] the standard errors of differences, each row's pulled towards its average.

        See ``regularised_error``. The error of a move to itself is 0.
        """
        pairs, lead, squares = self._pairs[moves], self._lead[moves], self._lead_squares[moves]
        error = sums.stderr(lead, squares, pairs)
        others = np.arange(len(self.count))[moves, None] != np.arange(len(self.count))
        known = others & ~np.isnan(error)
        total = np.where(known, error**2 * pairs, 0.0).sum(axis=1)
        typical = total / np.maximum(known.sum(axis=1), 1)
        return np.where(others, regularised_error(error, typical[:, None], pairs), 0.0)


def regularised_error(
    error: FloatArray, typical: FloatArray | float, worlds: IntArray | FloatArray | int
) -> FloatArray:
    """The standard errors of means of so many worlds, never 0 because no loss was met yet.

    A rare loss is in few worlds or none. So each variance counts as if ``PRIOR_WORLDS`` more worlds
    had been seen, with the ``typical`` variance. nan without worlds.
    """
    n = np.asarray(worlds)
    mixed = (error**2 * n * n + typical * PRIOR_WORLDS) / (n + PRIOR_WORLDS)
    return np.asarray(np.sqrt(sums.mean(mixed, n)))


def expected_improvement(lead: FloatArray, error: FloatArray) -> FloatArray:
    """[M] E max(0, X) for X normal with mean ``-lead`` and standard deviation ``error``.

    In words: by how much a move that is behind by ``lead`` may yet end ahead, on average.
    """
    z = np.divide(lead, error, out=np.zeros_like(lead), where=error > 0)
    tail = np.array([math.erfc(each / math.sqrt(2.0)) / 2.0 for each in z])
    density = np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    return np.where(error > 0, error * density - lead * tail, np.maximum(-lead, 0.0))
