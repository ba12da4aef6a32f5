"""A searching agent: a policy that runs a search wherever it acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hanabi_search_plugin.belief import Belief
from hanabi_search_plugin.errors import ConfigError
from hanabi_search_plugin.game import BoolArray, Event, Game, IntArray, View, require_game
from hanabi_search_plugin.policy import Blueprint, Memory, Policy, as_blueprint
from hanabi_search_plugin.require import require_share
from hanabi_search_plugin.result import SearchResult
from hanabi_search_plugin.streams import Streams


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

    Its memory is a list, an entry a world of the batch.
    """

    game: Game
    blueprint: Blueprint

    deterministic = False  # it takes its randomness from the stream it is given

    together = False  # do its seats reckon with each other's search?

    @property
    def assumes_blueprint(self) -> bool:
        """Do its beliefs take the others to play the blueprint?"""
        return not self.together

    @abstractmethod
    def decide(self, memory: Any, rng: np.random.Generator) -> SearchResult:
        """One decision, from one entry of the memory."""

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        rng.uniform()  # one draw a world, as for any stochastic policy
        return np.array(
            [
                self.decide(entry, np.random.default_rng(int(seed))).action
                for entry, seed in zip(memory, rng.state, strict=True)
            ],
            dtype=np.int64,
        )


@dataclass(frozen=True)
class BeliefAgent(SearchAgent):
    """An agent that assumes the others to play the blueprint. Its memory is a list of beliefs.

    More than one such agent in a game breaks that assumption (SPARTA, Table 4).
    """

    game: Game
    blueprint: Blueprint
    search: Search
    epsilon: float = 0.0  # probability that a partner moves at random, in the game's own belief
    belief: MakeBelief | None = None  # None: the game's own
    uncertainty: float = 0.0  # weight of worlds where a partner would have moved otherwise

    def __post_init__(self) -> None:
        for name in ("epsilon", "uncertainty"):
            value = getattr(self, name)
            require_share(name, value)
            if self.belief is not None and value != 0.0:
                raise ConfigError(
                    f"{name} must be 0 where a belief is given, which has its own, got {value}"
                )

    @property
    def assumes_blueprint(self) -> bool:
        return not isinstance(self.search, FollowingSearch) or self.search.assumes_blueprint

    def start(self, view: View) -> Memory:
        rows = [view.select(np.array([b])) for b in range(len(view))]
        if self.belief is not None:
            beliefs = [self.belief(self.blueprint, row) for row in rows]
        else:
            doubt = {"epsilon": self.epsilon, "uncertainty": self.uncertainty}
            beliefs = [self.game.belief(self.blueprint, row, **doubt) for row in rows]
        if isinstance(self.search, FollowingSearch):
            beliefs = [self.search.follow(belief) for belief in beliefs]
        return beliefs

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return [
            belief.update(event.select(np.array([b])), view.select(np.array([b])))
            for b, belief in enumerate(memory)
        ]

    def decide(self, memory: Belief, rng: np.random.Generator) -> SearchResult:
        return self.search(rng, memory)


def upgrade(
    policy: Policy | tuple[Policy, ...],
    game: Game,
    search: Search | TeamSearch,
    *,
    epsilon: float = 0.0,
    uncertainty: float = 0.0,
    belief: MakeBelief | None = None,
) -> SearchAgent:
    """An agent that plays ``policy`` upgraded by ``search``.

    ``policy`` is what everybody plays, or a tuple of one policy a seat. A ``TeamSearch`` is for an
    agent that sits at every seat, any other for one at one seat. The belief is the game's
    own, in which partners move at random with probability ``epsilon`` and worlds that do not
    explain a partner's move keep a share ``uncertainty`` of their weight (see ``Game.belief``; the
    paper's way to let several seats search independently), or what ``belief`` makes of
    (blueprint, first view): for example a ``ParticleBelief`` where worlds are too many to list.
    Raises UnsupportedError for a wrong number of policies and for what is no Policy or no Game,
    ConfigError for what is no search, an epsilon or an uncertainty outside 0 to 1 or with a belief,
    or where a TeamSearch is given what it cannot use.
    """
    require_game(game)
    blueprint = as_blueprint(policy, game.num_players)
    if isinstance(search, type) or not (callable(search) or isinstance(search, TeamSearch)):
        raise ConfigError(f"search must be a search, as Sparta() is, got {search!r}")
    if isinstance(search, TeamSearch):
        if belief is not None:
            raise ConfigError("belief must be None where all seats search together")
        if uncertainty != 0.0:
            raise ConfigError(
                f"uncertainty must be 0 where all seats search together, got {uncertainty}"
            )
        return search.agent(game, blueprint, epsilon)
    return BeliefAgent(game, blueprint, search, epsilon, belief, uncertainty)
