"""The exact private belief of native Hanabi: every hand that the seat may hold, weighted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.core.belief import ExplicitBelief, require_update
from hanabi_search_plugin.core.game import Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, observed, take
from hanabi_search_plugin.core.streams import Streams, require_draws
from hanabi_search_plugin.hanabi.beliefs.hand_range import HandRange, begun_notes
from hanabi_search_plugin.hanabi.beliefs.partner_kinds import make_partners
from hanabi_search_plugin.hanabi.bots.shown_memories import memory_shown
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.hands import pick_hands


@dataclass(frozen=True, eq=False, repr=False)
class HandBelief(HandRange, ExplicitBelief):
    """Belief of one seat over its own hand. Made by ``beliefs.exact.private_belief``.

    ``HandRange`` says when ``exact`` turns False.
    """

    own_memory: Memory = None  # the blueprint's at ``seat``, one row

    @classmethod
    def start(
        cls,
        game: HanabiRules,
        blueprint: Blueprint,
        view: View,
        *,
        epsilon: float = 0.0,
        uncertainty: float = 0.0,
    ) -> Self:
        """See ``beliefs.exact.private_belief``."""
        doubt = {"epsilon": epsilon, "uncertainty": uncertainty}
        partners = make_partners(game, blueprint, view.player, view, **doubt)
        belief = cls.at_start(game, blueprint, view, partners, **doubt)
        return replace(belief, own_memory=memory_shown(blueprint[belief.seat], view))

    @property
    def memory(self) -> Memory:
        return self.own_memory

    def caveats(self) -> list[str]:
        return [*super().caveats(), *begun_notes("the belief", self.begun_after)]

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> Self:
        require_update(event, view, self.game, self.view)
        view.require_player(self.seat)
        assert isinstance(view, HanabiView)
        view.require_last(event)
        new = super().update(event, view, by_blueprint=by_blueprint)
        own = observed(self.blueprint[self.seat], view, event, self.own_memory)
        return replace(new, own_memory=own)

    def sample(self, rng: np.random.Generator, n: int) -> tuple[HanabiWorlds, tuple[Memory, ...]]:
        """See ``Belief.sample``: takes 2 n draws from ``rng``."""
        require_draws(rng, n)
        return self.sample_with(rng.random(n), Streams.spawn(rng, n))

    def sample_with(
        self, draw: FloatArray, chance: Streams
    ) -> tuple[HanabiWorlds, tuple[Memory, ...]]:
        """The worlds [n] that numbers [n] in [0, 1) select; ``chance`` [n] decides their future."""
        blocks = self.blocks
        draw = draw * blocks[-1]
        at = np.minimum(np.searchsorted(blocks, draw, side="right") - 1, len(blocks) - 2)
        pick = np.zeros(len(draw), dtype=np.int64)
        pick_hands(
            self.hands, self.likelihood, self.known, self.unseen, at, draw - blocks[at], pick
        )
        return self._worlds(pick, chance)

    def support(self) -> tuple[HanabiWorlds, FloatArray]:
        """See ``ExplicitBelief.support``; the hands are those of ``fully_enumerated``."""
        listed = self.fully_enumerated()
        weights = listed.weights()
        chance = Streams.spawn(np.random.default_rng(0), len(weights))
        worlds, _ = listed._worlds(np.arange(len(weights)), chance)
        return worlds, weights / weights.sum()

    def support_memories(self) -> tuple[Memory, ...]:
        """See ``ExplicitBelief.support_memories``."""
        listed = self.fully_enumerated()
        pick = np.arange(len(listed.hands))
        return listed._worlds(pick, Streams.spawn(np.random.default_rng(0), len(pick)))[1]

    def _worlds(self, pick: IntArray, chance: Streams) -> tuple[HanabiWorlds, tuple[Memory, ...]]:
        worlds = self.worlds_of(self.hands[pick], chance)
        memories = list(self.partners.memories(self, pick))
        for p, policy in enumerate(self.blueprint):
            if isinstance(policy, Mixture) and p != self.seat:
                memories[p] = policy.with_chances(worlds.view(p), memories[p])
        memories[self.seat] = take(self.own_memory, np.zeros(len(pick), dtype=np.int64))
        return worlds, tuple(memories)
