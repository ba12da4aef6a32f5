"""The exact private belief of any ``Enumerable`` game, by following every possible world.

It uses nothing of the game but its rules, so it is the reference that faster beliefs are tested
against. A game with too many worlds to list needs another belief: particles, or one of its own.
"""

from __future__ import annotations

import logging

import numpy as np

from hanabi_search_plugin.beliefs.tracked_worlds import (
    MAX_WORLDS,
    TrackedBelief,
    TrackedWorlds,
    one_view,
    track_deals,
    track_event,
    track_observations,
)
from hanabi_search_plugin.core.belief import ExplicitBelief, require_update
from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.game import Event, FloatArray, Game, History, View, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Memory, observed, started
from hanabi_search_plugin.core.require import require_share

_log = logging.getLogger(__name__)


class EnumeratedBelief(TrackedBelief, ExplicitBelief):
    """The exact private belief of a seat. ``start`` makes the first.

    A move of another seat multiplies the weight of a world by the probability that its policy, with
    ``epsilon`` and ``uncertainty``, makes the move there; own moves are no evidence. When no world
    is left, the belief falls back to every world that the observations allow, weighted by chance
    alone. Later moves are evidence again.
    """

    game: Enumerable

    def __init__(
        self,
        game: Enumerable,
        blueprint: Blueprint,
        history: History,
        tracked: TrackedWorlds,
        memory: Memory,
        *,
        epsilon: float = 0.0,
        uncertainty: float = 0.0,
        max_worlds: int = MAX_WORLDS,
        likelihoods: int = 0,
        recovered: int = 0,
    ) -> None:
        """``memory`` is that of the blueprint's policy at the seat after ``history``, one row."""
        super().__init__(
            game, blueprint, history, tracked, memory, epsilon=epsilon, likelihoods=likelihoods,
            recovered=recovered,
        )  # fmt: skip
        self.uncertainty = uncertainty
        self.max_worlds = max_worlds

    @classmethod
    def start(
        cls,
        game: Game,
        blueprint: Blueprint,
        view: View,
        *,
        epsilon: float = 0.0,
        uncertainty: float = 0.0,
        max_worlds: int = MAX_WORLDS,
    ) -> EnumeratedBelief:
        """The belief at the first decision, from the seat's first view (a batch of one).

        Raises UnsupportedError if the game is not Enumerable or has more than ``max_worlds`` worlds
        that show the view, ConfigError if ``epsilon`` or ``uncertainty`` is not from 0 to 1.
        """
        require_share("epsilon", epsilon)
        require_share("uncertainty", uncertainty)
        view = one_view(view)
        tracked = track_deals(game, blueprint, view, max_worlds)
        assert isinstance(game, Enumerable)
        memory = started(blueprint[view.player], view)
        history = History(view.player, (view,))
        return cls(
            game, blueprint, history, tracked, memory, epsilon=epsilon, uncertainty=uncertainty,
            max_worlds=max_worlds,
        )  # fmt: skip

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> EnumeratedBelief:
        require_update(event, view, self.game, self.view)
        event, view = event.seen_by(self.seat, self.game), one_view(view)
        history = self.history.append(event, view)
        step = track_event(
            self.game, self.blueprint, self.tracked, event, view, epsilon=self.epsilon,
            evidence=by_blueprint and int(event.player[0]) != self.seat,
            max_worlds=self.max_worlds, uncertainty=self.uncertainty,
        )  # fmt: skip
        after, recovered = step.after, self.recovered
        if after is None:
            _log.info(
                "%s: no world explains player %d's move %d to seat %d; the belief falls back to "
                "every world its observations allow",
                self.game.name, event.player[0], event.action[0], self.seat,
            )  # fmt: skip
            recovered += 1
            after = track_observations(
                self.game, self.blueprint, history, max_worlds=self.max_worlds
            )
        return EnumeratedBelief(
            self.game, self.blueprint, history, after,
            observed(self.blueprint[self.seat], view, event, self.memory),
            epsilon=self.epsilon, uncertainty=self.uncertainty, max_worlds=self.max_worlds,
            recovered=recovered, likelihoods=self.likelihoods + step.likelihoods,
        )  # fmt: skip

    def support(self) -> tuple[Worlds, FloatArray]:
        worlds = self.tracked.worlds
        return worlds.select(np.arange(len(worlds))), self.tracked.weights.copy()

    def support_memories(self) -> tuple[Memory, ...]:
        return self.tracked.memories
