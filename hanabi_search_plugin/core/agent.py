"""A searching agent: a policy that runs a search wherever it acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import BoolArray, Game, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams


class Search(Protocol):
    """A search: a function of (rng, belief). Its configuration is the object itself."""

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult: ...


class TeamSearch(ABC):
    """A search that all seats make together: it brings its own agent."""

    @abstractmethod
    def agent(self, game: Game, blueprint: Blueprint, epsilon: float) -> SearchAgent:
        """The agent that plays every seat."""


class FollowingSearch(ABC):
    """A search that follows the game from its start in a belief of its own making."""

    @property
    @abstractmethod
    def assumes_blueprint(self) -> bool:
        """See ``SearchAgent``."""

    @abstractmethod
    def follow(self, belief: Belief) -> Belief:
        """``belief``, at a seat's first view, as this search needs it."""

    @abstractmethod
    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        """One decision, from what the belief of ``follow`` has become."""


class CutsRollouts(ABC):
    """A search that may have the blueprint's values stand for the rest of a rollout."""

    depth: int | None  # moves of a rollout before they do; None: never


MakeBelief = Callable[[Blueprint, View], Belief]


class SearchAgent(Policy):
    """A policy that upgrades a blueprint by search; it can stand wherever a policy can.

    Its memory is a list with one entry a world. The agent itself keeps no result: ``decide``
    returns the SearchResult of a decision, and ``act`` plays its action. Whatever plays one seat of
    one game (``evaluation.seat.SeatedPolicy`` and the agents of the wrappers) keeps the latest one
    as ``last_result``.
    """

    game: Game
    blueprint: Blueprint

    deterministic = False  # it takes its randomness from the stream it is given

    searches_jointly = False  # do its seats reckon with each other's search?

    @property
    def assumes_blueprint(self) -> bool:
        """Do its beliefs take the others to play the blueprint?"""
        return not self.searches_jointly

    @abstractmethod
    def decide(self, memory: Any, rng: np.random.Generator) -> SearchResult:
        """Search once, from one entry of the memory."""

    def decide_all(self, memory: Memory, rng: Streams) -> list[SearchResult]:
        """[B] one decision a world. One draw of each world's stream seeds its search."""
        rng.uniform()
        return [
            self.decide(entry, np.random.default_rng(int(seed)))
            for entry, seed in zip(memory, rng.state, strict=True)
        ]

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        results = self.decide_all(memory, rng)
        return np.array([result.action for result in results], dtype=np.int64)
