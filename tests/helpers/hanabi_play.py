"""Random play of native Hanabi."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds


def random_legal(worlds: HanabiWorlds, rng: np.random.Generator) -> IntArray:
    """[B] uniform random legal actions."""
    noise = rng.random((len(worlds), worlds.game.num_actions))
    return np.asarray(np.where(worlds.legal, noise, -1.0).argmax(axis=1))


def play_on(worlds: HanabiWorlds, rng: np.random.Generator, moves: int) -> HanabiWorlds:
    """A copy of the worlds after at most ``moves`` random moves each."""
    worlds = worlds.select(np.arange(len(worlds)))
    for _ in range(moves):
        playing = np.flatnonzero(~worlds.terminal)
        if len(playing) == 0:
            break
        part = worlds.select(playing)
        part.step(random_legal(part, rng))
        worlds.rows[playing] = part.rows
    return worlds
