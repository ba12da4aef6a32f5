"""Adapters for families of AEC environments: Shimmy's games of OpenSpiel, and rlcard's."""

from __future__ import annotations

import copy
from typing import Any

from hanabi_search_plugin.wrappers._pettingzoo_games import AECAdapter


class ShimmyAdapter(AECAdapter):
    """A game of OpenSpiel in ``shimmy.OpenSpielCompatibilityV0``."""

    def snapshot(self, env: Any) -> Any:
        generator = copy.deepcopy(env.np_random.bit_generator.state)
        pending = dict(env.simultaneous_actions)
        return (
            env.game_state.clone(), generator, env.game_length, dict(env.observations), pending
        )  # fmt: skip

    def restore(self, env: Any, state: Any) -> None:
        game_state, generator, length, observations, pending = state
        env.game_state = game_state.clone()
        env.np_random.bit_generator.state = generator
        env.game_length, env.observations = length, dict(observations)
        env.simultaneous_actions = dict(pending)


class RlcardAdapter(AECAdapter):
    """A card game of rlcard in ``pettingzoo.classic``, ``leduc_holdem_v4`` for instance."""

    def snapshot(self, env: Any) -> Any:
        return copy.deepcopy((env.env, env.next_legal_moves, env._last_obs))

    def restore(self, env: Any, state: Any) -> None:
        env.env, env.next_legal_moves, env._last_obs = copy.deepcopy(state)
