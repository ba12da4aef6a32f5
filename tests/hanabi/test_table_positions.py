"""A table as one seat has seen it: what a document says to everybody, with nothing hidden in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, UniformPolicy
from hanabi_search_plugin.evaluation.live_game import LiveGame
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame
from hanabi_search_plugin.hanabi.files.game_document import as_seen_by, game_document
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.table_positions import seen_turns


@pytest.mark.parametrize("players", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_seat_has_seen_what_a_document_shows_it(players: int, seed: int) -> None:
    game = HanabiGame(players=players, life_tokens=9)
    people = tuple(range(players))
    live = LiveGame(game, (UniformPolicy(),) * players, people, seed)
    deck = tuple(live.worlds.rows[0, -game.config.deck_size :].tolist())  # type: ignore[attr-defined]
    rng = np.random.default_rng(seed)
    while not live.over:
        if live.number in (0, 7, 30):
            _compare(game, deck, live)
        live.play(int(rng.choice(np.flatnonzero(live.worlds.legal[0]))))
    _compare(game, deck, live)


def _compare(game: HanabiGame, deck: tuple[int, ...], live: LiveGame) -> None:
    record = RecordedGame(config=game.config, game=0, deck=deck, actions=tuple(live.actions))
    nobody: list[list[Any]] = [[] for _ in range(len(live.actions) + 1)]
    whole = game_document(AnnotatedGame(record), beliefs=nobody)
    for seat in range(game.num_players):
        turns, cards = seen_turns(live.history(seat))
        expected = as_seen_by(whole, seat)
        assert cards == expected["cards"]
        assert [turn | {"beliefs": []} for turn in turns] == expected["turns"]
        for first in (1, len(turns) // 2, len(turns) - 1):
            assert seen_turns(live.history(seat), first) == (turns[first:], cards)
