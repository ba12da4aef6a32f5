"""Files in the layout of AH2AC2's data."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files.played_out import played_out
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from tests.helpers.random_records import random_record


def played(players: int, games: int) -> list[RecordedGame]:
    """Random games with scores; a lost one counts 0, as in the data."""
    config = HanabiConfig(players=players)
    return [played_out(random_record(config, 10 + seed), "zero") for seed in range(games)]


def tensors(games: list[RecordedGame], dtype: Any = np.int32) -> dict[str, Any]:
    config = games[0].config
    turns = max(len(game.actions) for game in games) + 3
    actions = np.full((len(games), turns, config.players), config.num_actions, dtype=dtype)
    for row, game in enumerate(games):
        for turn, action in enumerate(game.actions):
            actions[row, turn, turn % config.players] = action
    decks = np.array([[divmod(card, 5) for card in game.deck] for game in games], dtype=dtype)
    return {
        "game_ids": np.array([game.game for game in games]),
        "scores": np.array([game.score for game in games], dtype=dtype),
        "decks": decks,
        "actions": actions,
        "num_actions": np.array([len(game.actions) for game in games], dtype=dtype),
        "num_players": np.array(config.players),
    }
