"""A game that is followed by what one seat is told is the game as the seat sees it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanab_live.followed_game import FollowedGame
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from tests.helpers.hanab_live_table import FakeTable
from tests.helpers.hanabi_play import random_legal
from tests.helpers.random_records import configurations


@settings(max_examples=20, deadline=None)
@given(configurations(), st.integers(0, 2**31), st.integers(0, 4))
def test_every_seat_follows_what_it_sees(config: HanabiConfig, seed: int, first: int) -> None:
    table = FakeTable(config, seed, first % config.players)
    games = [FollowedGame(config, s, first % config.players) for s in range(config.players)]
    rng = np.random.default_rng(seed)
    heard, events = 0, []
    while True:
        for game in games:
            for message in table.seen_by(game.seat, heard):
                game.take(message)
            seen = table.worlds.view(game.seat)
            assert (game.view.rows == seen.rows).all()
            assert game.to_move == (table.mover == game.seat) and game.over == table.over
        heard = len(table.told)
        if table.over:
            break
        (action,) = random_legal(table.worlds, rng).tolist()
        asked = games[table.mover].message_of(action)
        assert table.action_of(asked) == action
        events.append((table.mover, action))
        table.play(action)
    for game in games:
        assert game.history is not None and len(game.history.views) == len(events) + 1
        assert [(int(e.player[0]), int(e.action[0])) for e in game.history.events] == events
        for view in game.history.views:
            assert isinstance(view, HanabiView) and view.player == game.seat


def test_what_the_table_says_of_own_cards_is_not_read() -> None:
    table = FakeTable(HanabiConfig(players=2), 3)
    hidden, shown = (FollowedGame(table.config, 0, 0) for _ in range(2))
    for message in table.seen_by(0):
        hidden.take(message)
    for message in table.told:
        shown.take(message)
    assert (hidden.view.rows == shown.view.rows).all()


TABLE = FakeTable(HanabiConfig(players=2), 3)


def told(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind} | fields


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (told("draw", playerIndex=0, order=10, suitIndex=-1, rank=-1), "a draw must be of card 10"),
        (told("play", playerIndex=1, order=5, suitIndex=0, rank=1), "expected a move of player 0"),
        (told("play", playerIndex=0, order=5, suitIndex=0, rank=1), "must be a card in the hand"),
        (told("play", playerIndex=0, order=2, suitIndex=5, rank=1), "must be of suits 0 to 4"),
        (told("play", playerIndex=0, order="2", suitIndex=1, rank=1), "order must be an integer"),
        (told("discard", playerIndex=0, order=2, suitIndex=0, rank=1, failed=False), "be legal"),
        (told("discard", playerIndex=0, order=2, suitIndex=0, rank=1, failed=True), "must fail"),
        (told("play", playerIndex=0, order=2, suitIndex=0, rank=2), "must score"),
        (told("clue", giver=0, target=1, clue={"type": 0, "value": 0}, list=[0]), "must touch"),
        (told("clue", giver=0, target=1, clue={"type": 1, "value": 6}, list=[]), "rank of reveal"),
        (told("clue", giver=0, target=0, clue={"type": 1, "value": 1}, list=[]), "target of"),
        (told("clue", giver=0, target=9, clue={"type": 1, "value": 1}, list=[]), "must be of type"),
        (told("clue", giver=0, target=1, list=[]), "must have clue and list"),
        (told("turn", num=0, currentPlayerIndex=1), "currentPlayerIndex must be 0, got 1"),
        (told("status", clues=7, score=0), "clues must be 8, got 7"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(message: dict[str, Any], says: str) -> None:
    game = FollowedGame(TABLE.config, 0, 0)
    for one in TABLE.seen_by(0):
        game.take(one)
    with pytest.raises(RecordError) as error:
        game.take(message)
        game.take(told("draw", playerIndex=0, order=10, suitIndex=-1, rank=-1))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_a_hint_that_touches_other_cards_is_refused() -> None:
    game = FollowedGame(TABLE.config, 0, 0)
    for one in TABLE.seen_by(0):
        game.take(one)
    suit = TABLE.deck[5] // 5  # of the other's first card
    orders = [order for order in TABLE.hands[1] if TABLE.deck[order] // 5 == suit]
    wrong = [order for order in TABLE.hands[1] if order not in orders]
    with pytest.raises(RecordError, match="must show card -1 and touch"):
        game.take(
            told("clue", giver=0, target=1, clue={"type": 0, "value": suit}, list=[*orders, *wrong])
        )
