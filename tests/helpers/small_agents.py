"""An agent of every search and every belief that the package has, small enough to play in a moment.

``KINDS`` are the searches of the command line, SPARTA with what it may be told to do besides, and
the beliefs of the faces under SPARTA.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import hanabi_search_plugin as package
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
from hanabi_search_plugin.cli.searches import SEARCHES, make_search
from hanabi_search_plugin.core.agent import MakeBelief, SearchAgent
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.hanabi.beliefs.learned_partners import LearnedPartners, Recogniser
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.registry import load_policy
from tests.helpers.small_networks import random_network

PLAYERS = (2, 3, 4, 5)
TINY: dict[str, Any] = {"hand_size": 2, "information_tokens": 3, "life_tokens": 2}
SMALL = {  # PettingZoo's Hanabi has no fewer colours than players
    players: HanabiGame(players=players, colors=players, ranks=3 if players == 2 else 2, **TINY)
    for players in PLAYERS
}
FULL = {players: HanabiGame(players=players) for players in PLAYERS}

BUDGETS: dict[str, Any] = {"rollouts": 12, "iterations": 8}
"""What bounds a search; each must have one of them."""
ALSO: dict[str, Any] = {"min_rollouts": 2, "threshold": 0.0, "max_range": 40, "depth": 2}
"""What else is set, where it is not None by default."""


VARIANTS: dict[str, dict[str, Any]] = {
    "sparta with endgames": {"endgame": 3_000},
    "sparta with continuations": {"continuation": "cautious,random"},
}
"""SPARTA with options that are off by default."""


def search_of(name: str) -> Any:
    """The search of that name with a small budget."""
    if name in VARIANTS:
        return dataclasses.replace(search_of("sparta"), **VARIANTS[name])
    settings = SEARCHES[name].settings
    wanted = {key: value for key, value in (BUDGETS | ALSO).items() if key in settings}
    chosen = {key: value for key, value in wanted.items() if settings[key].default is not None}
    return make_search(name, chosen, 1).search


def numbers(obs: Any) -> Any:
    """[B, 1] one for each observation, of all its parts."""
    return np.cos(obs.reshape(len(obs), -1) @ np.arange(1.0, obs.size // len(obs) + 1))[:, None]


def logits(obs: Any, mask: Any) -> Any:
    return 9 * numbers(obs) * np.arange(mask.shape[1])


def values(obs: Any, mask: Any) -> Any:
    return numbers(obs)


def valued() -> Policy:
    """Plays by what it sees, and has values: for searches that cut rollouts short."""
    return from_callable(logits, returns="logits", values=values)


def tried(search: Any) -> Any:
    """The search with rollouts to the end, for blueprints without values."""
    cut = getattr(search, "depth", None) is not None
    return dataclasses.replace(search, depth=None) if cut else search


CANDIDATES = ("smartbot", "cautious", "random")


def learned_partners(game: Game) -> MakeBelief:
    candidates = tuple(load_policy(name, game) for name in CANDIDATES)
    return LearnedPartners(candidates, Recogniser(random_network(outputs=3), CANDIDATES))


BELIEFS: dict[str, Callable[[Game], MakeBelief]] = {
    "Particles": lambda game: Particles(8, epsilon=0.05),
    "Learned": lambda game: Learned(Grounded(game)),
    "UnknownPartners": lambda game: UnknownPartners(CANDIDATES, epsilon=0.01),
    "LearnedPartners": learned_partners,
}
KINDS = (*SEARCHES, *VARIANTS, *BELIEFS)


def agent_of(kind: str, game: Game, blueprint: Policy | None = None) -> SearchAgent:
    """A search with the game's own belief, or SPARTA with the belief of that name."""
    if kind in BELIEFS:
        policy = blueprint or load_policy("smartbot", game)
        return package.upgrade(policy, game, search_of("sparta"), belief=BELIEFS[kind](game))
    search = search_of(kind)
    if blueprint is not None:
        return package.upgrade(blueprint, game, tried(search))
    cut = getattr(search, "depth", None) is not None
    return package.upgrade(valued() if cut else load_policy("smartbot", game), game, search)
