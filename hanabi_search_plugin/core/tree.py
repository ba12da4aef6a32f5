"""Statistics of a move in a search tree; and, advanced, games that grow their trees themselves.

Only a game with a compiled tree search implements ``GrowsTrees``. Letters: B worlds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from hanabi_search_plugin.core.game import Game, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Guide, Memory
from hanabi_search_plugin.core.streams import Streams


class MoveStats:
    """The statistics of one move at a node. Returns are the mover's, in score points.

    ``visits`` counts the iterations that tried it, ``available`` those in which the mover could
    have made it; ``total`` and ``squares`` are the sums of the returns and of their squares.
    """

    __slots__ = ("available", "squares", "total", "visits")

    def __init__(self, visits: int = 0, total: float = 0.0, squares: float = 0.0) -> None:
        self.visits = visits
        self.total = total  # sum of the returns
        self.squares = squares  # sum of the squared returns
        self.available = 0  # iterations in which the mover at this node could have made the move

    @classmethod
    def prior(cls, visits: int, mean: float) -> MoveStats:
        """The statistics of a move tried ``visits`` times with this mean, and available once."""
        move = cls(visits, visits * mean, visits * mean * mean)
        move.available = 1
        return move

    @property
    def mean(self) -> float:
        """The mean return; nan if the move was never tried."""
        return self.total / self.visits if self.visits else math.nan

    @property
    def stderr(self) -> float:
        """The standard error of the mean; nan below two visits."""
        if self.visits < 2:
            return math.nan
        spread = max(self.squares - self.total * self.total / self.visits, 0.0)
        return math.sqrt(spread / ((self.visits - 1.0) * self.visits))

    def add(self, value: float) -> None:
        """Count one more visit with this return."""
        self.visits += 1
        self.total += value
        self.squares += value * value


class GrownTree(ABC):
    """A search tree that its game grows in compiled code."""

    iterations: int  #: made so far
    depth: int  #: moves from the root to the deepest node

    @abstractmethod
    def grow(self, worlds: Worlds, memories: tuple[Memory, ...], rng: Streams) -> None:
        """Make one iteration in each of B worlds, in order; ``rng`` has one stream per world."""

    @abstractmethod
    def moves(self) -> dict[int, MoveStats]:
        """The statistics of the moves considered at the root."""


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """How a tree is grown; ``algorithms.ismcts`` explains each setting."""

    redeterminize: bool  #: redraw hidden parts before other seats' moves and restore them after
    by_convention: bool  #: the guide redraws them, and at the root what the seat cannot see
    predict: bool  #: the others move by the blueprint; the tree has the seat's own moves alone
    exploration: float  #: score points
    depth: int | None  #: most moves of an iteration inside the tree; None: to the end of the game
    guide: Guide | None  #: says which moves are worth trying; None: all
    guide_memory: Memory  #: the guide's memory at the root, one row
    prior_visits: int  #: visits that the guide's estimate of a move counts as
    rollouts: bool  #: the blueprint plays on from a leaf; else it has the best move's estimate


class GrowsTrees(Game):
    """A game with a compiled loop for the trees of ``algorithms.ismcts``.

    The loop takes the same numbers from the same streams and grows the same tree.
    """

    @abstractmethod
    def start_tree(
        self, seat: int, blueprint: Blueprint, settings: TreeSettings
    ) -> GrownTree | None:
        """An empty open-loop tree for all seats; None if a policy or the guide is not compiled."""
