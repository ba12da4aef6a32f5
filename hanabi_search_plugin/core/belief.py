"""The belief contract, and the exact belief of any game whose chance can be listed.

A private belief is P(world | one seat's history, the others' policies). It is immutable: ``update``
returns the belief after an event. Letters: N worlds in the support, B worlds, P players.

``EnumeratedBelief`` tracks every world that agrees with what the seat has seen since the first
chance event: nothing of the game is used but its rules, so it is the reference that faster beliefs
are tested against. Its size is the number of such worlds; a game of many needs a belief of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from hanabi_search_plugin.core.game import (
    Event,
    FloatArray,
    Game,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory


class Belief(ABC):
    """P(world | history of ``seat``, blueprint of the others)."""

    game: Game
    seat: int
    blueprint: Blueprint
    view: View  # what the seat sees now, a batch of one
    likelihoods: int  # policy evaluations since the game began
    exact: bool = True  # False: a sample of the worlds stands for all
    recovered: int  # how often no world was left and the policy's evidence had to be dropped

    @property
    @abstractmethod
    def size(self) -> int:
        """Worlds (up to the order of future chance) in the support, or an upper bound."""

    @property
    @abstractmethod
    def memory(self) -> Memory:
        """The blueprint's own memory at ``seat``, one row."""

    @abstractmethod
    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> Belief:
        """The belief after an event (a batch of one) and the view after it.

        ``by_blueprint=False`` takes the move as no evidence: its mover may have searched.

        When no world is left (a partner outside its policy), the belief falls back to every world
        the observations alone allow, counts it in ``recovered`` and logs a warning.
        """

    def caveats(self) -> list[str]:
        """What a decision from this belief should be read with."""
        notes = [] if self.exact else ["the belief is a sample of the worlds"]
        if self.recovered:
            notes.append(f"the belief had to recover {self.recovered} times")
        return notes

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """n worlds with independent future chance, and every seat's blueprint memory in them."""


class WrappedBelief(Belief):
    """A belief around ``inner``, of which it tells the same; a subclass says what it adds."""

    def __init__(self, inner: Belief) -> None:
        self.inner = inner
        self.game = inner.game
        self.seat = inner.seat
        self.blueprint = inner.blueprint
        self.view = inner.view
        self.exact = inner.exact
        self.recovered = inner.recovered

    @property
    def likelihoods(self) -> int:  # type: ignore[override]
        return self.inner.likelihoods

    @property
    def size(self) -> int:
        return self.inner.size

    @property
    def memory(self) -> Memory:
        return self.inner.memory

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        return self.inner.sample(rng, n)


class ExplicitBelief(Belief):
    """A belief that can list its support."""

    @abstractmethod
    def support(self) -> tuple[Worlds, FloatArray]:
        """The worlds [N] and their probabilities [N] (sum 1). Future chance is arbitrary."""

    @abstractmethod
    def support_memories(self) -> tuple[Memory, ...]:
        """[N] every seat's blueprint memory in the worlds of ``support``."""
