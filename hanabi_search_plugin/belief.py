"""The belief contract, and the exact belief of any game whose chance can be listed.

A private belief is P(world | one seat's history, the others' policies). It is immutable: ``update``
returns the belief after an event. Letters: N worlds in the support, B worlds, P players.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from hanabi_search_plugin.game import BoolArray, Event, FloatArray, Game, IntArray, View, Worlds
from hanabi_search_plugin.policy import Blueprint, Memory


class Belief(ABC):
    """P(world | history of ``seat``, blueprint of the others)."""

    game: Game
    seat: int
    blueprint: Blueprint
    view: View  # what the seat sees now, a batch of one
    likelihoods: int  # policy evaluations since the game began
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
    def update(self, event: Event, view: View) -> Belief:
        """The belief after an event (a batch of one) and the view after it.

        When no world is left (a partner outside its policy), the belief falls back to every world
        the observations alone allow, counts it in ``recovered`` and logs a warning.
        """

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """n worlds with independent future chance, and every seat's blueprint memory in them."""


class ExplicitBelief(Belief):
    """A belief that can list its support."""

    @abstractmethod
    def support(self) -> tuple[Worlds, FloatArray]:
        """The worlds [N] and their probabilities [N] (sum 1). Future chance is arbitrary."""


class PublicBelief(ABC):
    """What everybody knows that everybody knows: P(world | public history)."""

    game: Game
    blueprint: Blueprint

    @abstractmethod
    def update(self, event: Event) -> PublicBelief:
        """The public belief after an event; keeps parents for ``exclude``."""

    @abstractmethod
    def size(self, player: int) -> int:
        """Private states ``player`` could have, or an upper bound."""

    @abstractmethod
    def support(self, player: int) -> list[View]:
        """``player``'s possible private states now, as views (each a batch of one)."""

    @abstractmethod
    def weights(self, player: int) -> FloatArray:
        """[N] public probability of each entry of ``support(player)``."""

    @abstractmethod
    def condition_on(self, player: int, entry: int) -> Belief:
        """The private belief of ``player`` holding ``support(player)[entry]``."""

    @abstractmethod
    def parents(self, player: int, turn: int) -> IntArray:
        """[N] which entry of the support at an earlier turn each entry of today's grew from."""

    @abstractmethod
    def exclude(self, player: int, turn: int, ruled_out: BoolArray) -> PublicBelief:
        """Rule out entries [N then] of the support at ``turn`` and all that grew from them."""
