"""What a search tree knows of a move, and the contract of games that grow trees themselves.

Letters: B worlds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from hanabi_search_plugin.core.game import Game, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Memory, Proposes
from hanabi_search_plugin.core.streams import Streams


class Move:
    """What a node knows of one move. Returns are the mover's, in score points."""

    __slots__ = ("available", "squares", "total", "visits")

    def __init__(self, visits: int = 0, total: float = 0.0, squares: float = 0.0) -> None:
        self.visits = visits
        self.total = total  # of the returns
        self.squares = squares  # sum of their squares
        self.available = 0  # times that the mover at this node could have made it

    @classmethod
    def prior(cls, visits: int, mean: float) -> Move:
        """A move as if tried so often, with that mean, and available once."""
        move = cls(visits, visits * mean, visits * mean * mean)
        move.available = 1
        return move

    @property
    def mean(self) -> float:
        """nan where never tried"""
        return self.total / self.visits if self.visits else math.nan

    @property
    def stderr(self) -> float:
        """Standard error of the mean, nan below two visits."""
        if self.visits < 2:
            return math.nan
        spread = max(self.squares - self.total * self.total / self.visits, 0.0)
        return math.sqrt(spread / ((self.visits - 1.0) * self.visits))

    def add(self, value: float) -> None:
        self.visits += 1
        self.total += value
        self.squares += value * value


class GrownTree(ABC):
    """A tree that its game grows."""

    iterations: int
    depth: int  # moves from the root to the deepest node

    @abstractmethod
    def grow(self, worlds: Worlds, memories: tuple[Memory, ...], rng: Streams) -> None:
        """An iteration in each of B worlds, in their order; ``rng`` has one stream a world."""

    @abstractmethod
    def moves(self) -> dict[int, Move]:
        """What the root knows of the moves that were considered there."""


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """How a tree is grown. ``algorithms.ismcts`` says what each setting is for."""

    redeterminize: bool  # hidden parts are drawn anew before other seats' moves, and put back after
    by_convention: bool  # the guide draws them, and at the root what the seat cannot see
    predict: bool  # the others move by the blueprint, and the tree is of the seat's own moves
    exploration: float  # score points
    depth: int | None  # most moves of an iteration inside the tree; None: to the end
    guide: Proposes | None  # says which moves are worth a look
    guide_memory: Memory  # the guide's now, one row
    prior_visits: int  # of a move that the guide estimates
    rollouts: bool  # the blueprint plays on from a leaf; else its best move's estimate is its value


class GrowsTrees(Game):
    """A game with a compiled loop for the trees of ``algorithms.ismcts``.

    It takes the same numbers from the same streams and comes to the same tree.
    """

    @abstractmethod
    def start_tree(
        self, seat: int, blueprint: Blueprint, settings: TreeSettings
    ) -> GrownTree | None:
        """One open-loop tree for all seats; None where a policy or the guide is not compiled."""
