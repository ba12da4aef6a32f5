"""Walk through a game with a belief model at every seat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import BeliefModel
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams


def moments(game: Any, model: BeliefModel, policy: Any, seed: int) -> Iterator[tuple[Any, ...]]:
    """(view, state, hidden tokens) at every turn of a game, of the seat to move."""
    rng = np.random.default_rng(seed)
    worlds, blueprint = game.deal(rng, 1), (policy,) * game.num_players
    memories, streams = start_memories(worlds, blueprint), Streams.spawn(rng, 1)
    states = [model.start(worlds.view(p)) for p in range(game.num_players)]
    while True:
        seat = int(worlds.current_player[0])
        yield worlds.view(seat), states[seat], game.hidden_tokens(worlds, seat)
        event = worlds.step(choose(worlds, blueprint, memories, streams))
        if worlds.terminal[0]:
            return
        memories = observe_all(worlds, event.player, event.action, blueprint, memories)
        states = [model.observe(worlds.view(p), event, state) for p, state in enumerate(states)]
