"""The choice of partners for a belief of native Hanabi: compiled, mixed, or any policies."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.core.game import View
from hanabi_search_plugin.core.policy import Blueprint, started
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.hanabi.beliefs.hand_range import Partners
from hanabi_search_plugin.hanabi.beliefs.mixed_partners import make_mixed, mixes_compiled
from hanabi_search_plugin.hanabi.beliefs.partners import (
    MAX_ASKED,
    MAX_BATCHED,
    CompiledPartners,
    PolicyPartners,
    is_shared,
)
from hanabi_search_plugin.hanabi.bots.compiled import is_compiled, pack_memories
from hanabi_search_plugin.hanabi.bots.shown_memories import memory_shown
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules


def make_partners(
    game: HanabiRules,
    blueprint: Blueprint,
    seat: int,
    view: View,
    *,
    epsilon: float,
    uncertainty: float,
) -> Partners:
    """The partners of ``seat`` at ``view``, anybody's; memories of any policies come with
    ``Partners.start``.

    Raises ConfigError for an epsilon or an uncertainty outside 0 to 1.
    """
    require_share("epsilon", epsilon)
    require_share("uncertainty", uncertainty)
    others = [policy for p, policy in enumerate(blueprint) if p != seat]
    mixed = any(isinstance(policy, Mixture) for policy in others)
    if mixed and epsilon == 0.0 and all(mixes_compiled(policy) for policy in others):
        return make_mixed(game, blueprint, seat, view, uncertainty)
    worlds = game.deal(np.random.default_rng(0), 1)  # any: only the shape of memories matters
    starts = tuple(
        memory_shown(policy, view) if is_compiled(policy) else started(policy, worlds.view(p))
        for p, policy in enumerate(blueprint)
    )
    seats = tuple(None if p == seat else memory for p, memory in enumerate(starts))
    if all(is_compiled(policy) for policy in others):
        return CompiledPartners(game, blueprint, pack_memories(seats))
    by_hand = tuple(
        p != seat and not (policy.public_memory or is_shared(seats[p]))
        for p, policy in enumerate(blueprint)
    )
    batched = all(policy.public_memory for policy in others)
    limit = MAX_BATCHED if batched else MAX_ASKED
    nothing = (None,) * len(seats)
    return PolicyPartners(epsilon, uncertainty, nothing, by_hand, any(by_hand), limit)
