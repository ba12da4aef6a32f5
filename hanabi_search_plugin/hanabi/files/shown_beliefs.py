"""What each seat of a game believes of its own hand, turn by turn, as a document has it.

Beliefs are exact, by hints and copies alone, or a model's (``BeliefModel``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import BeliefModel
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Event, FloatArray
from hanabi_search_plugin.core.policy import Blueprint, UniformPolicy
from hanabi_search_plugin.core.require import require_integers
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiWorlds
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

EXACT, HINTS, MODEL = "exact", "hints", "model"  # kinds of belief
DIGITS = 4  # of probabilities and scores


@dataclass(frozen=True)
class ModelBeliefs:
    """Beliefs as ``model`` has them, which people know as ``name``.

    Each is the mean over ``samples`` hands (``BeliefModel.marginals``), drawn by
    ``default_rng([seed, turn, seat])``. Raises ConfigError for fewer than 1 sample or a seed below
    0.
    """

    model: BeliefModel
    name: str
    samples: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        require_integers(self, ("samples",), 1)
        require_integers(self, ("seed",), 0)


def describe_beliefs(minds: Sequence[HandBelief]) -> list[dict[str, Any]]:
    """The ``beliefs`` of a turn, of each seat's belief."""
    return [
        {
            "slots": _slots(mind.marginals()[: mind.present]),
            "hands": mind.size,
            "exact": mind.exact,
            "recovered": mind.recovered,
        }
        for mind in minds
    ]


def describe_kind(shown: ModelBeliefs | None, kind: str) -> dict[str, Any]:
    """The ``belief`` of a document: a model's, or one of this other ``kind``."""
    if shown is None:
        return {"kind": kind, "name": None, "policy": None, "samples": None}
    policy = shown.model.policy or None
    return {"kind": MODEL, "name": shown.name, "policy": policy, "samples": shown.samples}


class Minds(ABC):
    """The belief of every seat over its own hand, as a game goes on in ``worlds`` (one)."""

    @abstractmethod
    def observe(self, event: Event) -> None:
        """Hear of a move that was made in the worlds."""

    @abstractmethod
    def beliefs(self, turn: int, cards: Sequence[int]) -> list[dict[str, Any]]:
        """The ``beliefs`` of a turn, at which each seat has so many ``cards``."""


class HandMinds(Minds):
    """Exact, given ``blueprint``, without the evidence of ``searched`` seats; None: by hints."""

    def __init__(
        self,
        rules: HanabiGame,
        worlds: HanabiWorlds,
        blueprint: Blueprint | None,
        searched: Sequence[bool],
    ) -> None:
        policies = blueprint or (UniformPolicy(),) * rules.num_players
        self.worlds = worlds
        self.evidence = [blueprint is not None and not one for one in searched]
        self.minds = [
            HandBelief.start(rules, policies, worlds.view(seat))
            for seat in range(rules.num_players)
        ]

    def observe(self, event: Event) -> None:
        counts = self.evidence[int(event.player[0])]
        self.minds = [
            mind.update(event, self.worlds.view(seat), by_blueprint=counts)
            for seat, mind in enumerate(self.minds)
        ]

    def beliefs(self, turn: int, cards: Sequence[int]) -> list[dict[str, Any]]:
        return describe_beliefs(self.minds)


class ModelMinds(Minds):
    """As a model has them, which reads every move as one of the policy that it has learned.

    Raises UnsupportedError for a model of another game.
    """

    def __init__(self, rules: HanabiGame, worlds: HanabiWorlds, shown: ModelBeliefs) -> None:
        model = shown.model
        known = model.game
        if not isinstance(known, HanabiRules) or _sizes(known.config) != _sizes(rules.config):
            raise UnsupportedError(f"the belief model is for {known!r}, got {rules!r}")
        for seat in range(rules.num_players):
            if not len(known.hidden(seat)):
                raise UnsupportedError(f"nothing is hidden from player {seat} of {rules!r}")
        self.shown, self.worlds = shown, worlds
        self.states = [model.start(worlds.view(seat)) for seat in range(rules.num_players)]

    def observe(self, event: Event) -> None:
        model = self.shown.model
        self.states = [
            model.observe(self.worlds.view(seat), event, state)
            for seat, state in enumerate(self.states)
        ]

    def beliefs(self, turn: int, cards: Sequence[int]) -> list[dict[str, Any]]:
        shown, found = self.shown, []
        for seat, state in enumerate(self.states):
            rng = np.random.default_rng([shown.seed, turn, seat])
            view = self.worlds.view(seat)
            chances = shown.model.marginals(view, state, rng, shown.samples)
            slots = _slots(chances[: cards[seat]])
            found.append({"slots": slots, "hands": None, "exact": False, "recovered": 0})
        return found


def _slots(chances: FloatArray) -> list[list[float]]:
    rounded: list[list[float]] = np.round(chances, DIGITS).tolist()
    return rounded


def _sizes(config: HanabiConfig) -> HanabiConfig:
    """Without what changes nothing of hands."""
    return replace(config, bomb="zero", random_start_player=False)
