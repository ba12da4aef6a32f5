"""One world played on move by move, which is what a tree search does in each iteration.

A batch of one costs as many NumPy calls as a batch of thousands. A ``Walk`` speaks of one world in
plain numbers. Worlds that are ``Walkable`` make walks of their own; all others are walked as
batches of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from hanabi_search_plugin.core.game import NOBODY, Worlds, returns_of
from hanabi_search_plugin.core.streams import Stream

_ONLY = np.zeros(1, dtype=np.int64)  # the row of a batch of one


class Walk(ABC):
    """One world, which ``step`` plays on. Chance is that of the world's own stream."""

    player: int  #: whose turn it is, NOBODY where the game is over

    @abstractmethod
    def legal(self) -> Sequence[int]:
        """The legal actions of the player to move, in order. Not to be changed."""

    @abstractmethod
    def key(self, observer: int) -> Hashable:
        """The key of what ``observer`` sees now, as of ``View.keys``."""

    @abstractmethod
    def returns(self) -> Sequence[float]:
        """[P] each player's return so far, in score points."""

    @abstractmethod
    def step(self, action: int) -> None:
        """Play a legal action and the chance that follows."""

    @abstractmethod
    def worlds(self) -> Worlds:
        """The world as it is now, as a batch of one; later steps leave it as it is."""

    def play_uniformly(self, rng: Stream) -> Sequence[float]:
        """[P] the returns after ``UniformPolicy`` has played all seats to the end.

        Takes one draw from ``rng`` for each move. The walk is not to be used afterwards.
        """
        while self.player != NOBODY:
            legal = self.legal()
            self.step(legal[int(rng.draw() * len(legal))])
        return self.returns()


class Walkable(Worlds):
    """Worlds that can be walked one by one in less time than as batches of one."""

    @abstractmethod
    def walks(self) -> Iterator[Walk]:
        """[B] a walk that begins in each world; the worlds stay as they are."""


def walks(worlds: Worlds) -> Iterator[Walk]:
    """[B] a walk that begins in each world; the worlds stay as they are.

    Each walk meets the chance of its world's stream, and takes no other randomness.
    """
    if isinstance(worlds, Walkable):
        return worlds.walks()
    return (_BatchOfOne(worlds.select(np.array([b]))) for b in range(len(worlds)))


class _BatchOfOne(Walk):
    """A walk of any worlds."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self.player = int(worlds.current_player[0])

    def legal(self) -> Sequence[int]:
        moves: list[int] = np.flatnonzero(self._worlds.legal[0]).tolist()
        return moves

    def key(self, observer: int) -> Hashable:
        return self._worlds.view(observer).keys()[0]

    def returns(self) -> Sequence[float]:
        returns: list[float] = returns_of(self._worlds)[0].tolist()
        return returns

    def step(self, action: int) -> None:
        self._worlds = self._worlds.select(_ONLY)
        self._worlds.step(np.array([action]))
        self.player = int(self._worlds.current_player[0])

    def worlds(self) -> Worlds:
        return self._worlds
