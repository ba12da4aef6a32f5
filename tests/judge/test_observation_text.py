"""Positions and moves in words: OpenSpiel's and ours, there and back, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi.engine.layout import (
    COUNTDOWN,
    HANDS,
    LAST_ACTION,
    LAST_FLAGS,
    LAST_PLAYER,
    MOVES,
)
from hanabi_search_plugin.hanabi.engine.text import describe
from hanabi_search_plugin.hanabi.files.move_names import move_name, read_move
from hanabi_search_plugin.hanabi.files.observation_text import (
    observation_text,
    read_observation_text,
)
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

pyspiel = pytest.importorskip("pyspiel")

SHAPES: list[dict[str, int]] = [
    {"players": 2},
    {"players": 3},
    {"players": 5, "colors": 3, "ranks": 4, "hand_size": 3},
]


def positions(shape: dict[str, int], seed: int) -> Iterator[tuple[Any, Any]]:
    """A random game in OpenSpiel and here, state by state."""
    game, rng = HanabiGame(**shape), np.random.default_rng(seed)
    words = ",".join(f"{name}={value}" for name, value in shape.items())
    state = pyspiel.load_game(f"hanabi({words})").new_initial_state()
    worlds = game.deal(rng, 1)
    deck = worlds.rows[0][game.deck_start :].tolist()
    while not worlds.terminal[0]:
        while state.is_chance_node():
            state.apply_action(deck.pop(0))
        yield state, worlds
        action = int(rng.choice(np.flatnonzero(worlds.legal[0])))
        state.apply_action(action)
        worlds.step(np.array([action]))


def sorted_discards(text: str) -> str:
    head, _, cards = text.partition("Discards:")
    order = sorted(cards.split(), key=lambda card: ("RYGWB".index(card[0]), card[1]))
    return f"{head}Discards:{''.join(f' {card}' for card in order)}"


@pytest.mark.parametrize("shape", SHAPES)
def test_openspiels_text_there_and_back(shape: dict[str, int]) -> None:
    config = HanabiGame(**shape).config
    for state, worlds in positions(shape, 1):
        for seat in range(config.players):
            text = state.observation_string(seat)
            assert observation_text(config, worlds.rows[0], seat) == sorted_discards(text)
            assert observation_text(config, worlds.view(seat).rows[0], seat) == sorted_discards(
                text
            )
            read = read_observation_text(text, config)
            assert observation_text(config, read.row, read.seat) == sorted_discards(text)
            standard = "ranks" not in shape
            assert not standard or read_observation_text(text).config == config


@pytest.mark.parametrize("shape", SHAPES)
def test_our_text_gives_the_whole_view_but_for_the_last_move(shape: dict[str, int]) -> None:
    config = HanabiGame(**shape).config
    size = config.players * config.hand_size
    for _, worlds in positions(shape, 2):
        for seat in range(config.players):
            row = worlds.view(seat).rows[0]
            read = read_observation_text(describe(config, row, seat))
            assert (read.config, read.seat) == (config, seat)
            assert np.array_equal(np.r_[read.row[:LAST_PLAYER]], row[:LAST_PLAYER])
            rest = slice(LAST_FLAGS + 1, HANDS + size)
            assert np.array_equal(read.row[rest], row[rest])
            assert read.row[LAST_ACTION] == -1


def test_moves_left_are_as_many_as_the_hands_allow_at_most() -> None:
    config = HanabiGame(players=3).config
    for state, worlds in positions({"players": 3}, 5):
        row = worlds.rows[0]
        seat = int(row[0])
        read = read_observation_text(state.observation_string(seat), config)
        assert read.row[COUNTDOWN] >= row[COUNTDOWN]
        assert read.row[MOVES] <= row[MOVES]


START = """Life tokens: 3
Info tokens: 8
Fireworks: R0 Y0 G0 W0 B0
Hands:
Cur player
XX || XX|RYGWB12345
XX || XX|RYGWB12345
XX || XX|RYGWB12345
XX || XX|RYGWB12345
XX || XX|RYGWB12345
-----
W3 || XX|RYGWB12345
W2 || XX|RYGWB12345
W3 || XX|RYGWB12345
B5 || XX|RYGWB12345
G5 || XX|RYGWB12345
Deck size: 40
Discards:
"""


def test_blank_lines_and_spaces_do_not_matter() -> None:
    row = read_observation_text(START).row
    loose = "\n\n" + START.replace("\n", "  \r\n\n").replace("tokens: ", "tokens:   ")
    assert np.array_equal(read_observation_text(loose).row, row)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (START, "", "must be text, got none"),
        ("Info tokens: 8\n", "", "line 2 of the observation must be 'Info tokens: 8'"),
        ("Life tokens: 3", "Here it is:", "line 1 of the observation must be 'Life tokens: 3'"),
        ("W3 || XX|RYGWB12345", "W9 | 3", "line 12 of the observation must be a card"),
        ("Discards:\n", "", "must go on with 'Discards: R1 G3', say, got its end"),
        ("Discards:\n", "Discards:\nyour move?\n", "line 19 of the observation must be none"),
        ("Cur player\n", "", "must say whose move it is"),
        ("Life tokens: 3", "Life tokens: 4", "life tokens must be from 1 to 3, got 4"),
        ("Info tokens: 8", "Info tokens: 9", "info tokens must be from 0 to 8, got 9"),
        ("Deck size: 40", "Deck size: 39", "all 50 cards must be somewhere"),
        ("G5 ||", "B5 ||", "got too many of B5"),
        ("G5 || XX|RYGWB12345", "G5 || XX|RYWB12345", "hints must allow each card, got G5"),
        ("G5 || XX|RYGWB12345", "G5 || RX|RYGWB12345", "told R must have no other left"),
        ("XX || XX", "R1 || XX", "must be hidden (XX), got its cards"),
        ("Y0 G0", "G0 Y0", "fireworks must be RYGWB in this order"),
    ],
)
def test_what_cannot_be_read_is_refused(old: str, new: str, says: str) -> None:
    assert old in START
    with pytest.raises(RecordError) as error:
        read_observation_text(START.replace(old, new, 1))
    assert says in str(error.value)


@pytest.mark.parametrize("players", [2, 3])
def test_every_move_by_every_name(players: int) -> None:
    game = HanabiGame(players=players)
    config = game.config
    state = pyspiel.load_game(f"hanabi(players={players})").new_initial_state()
    for _ in range(players * 5):
        state.apply_action(state.legal_actions()[0])
    for player in range(players):
        for action in range(config.num_actions):
            words = game.action_to_string(player, action)
            name = move_name(config, action)
            for text in (words, name, name.strip("()"), name.upper(), action, str(action)):
                assert read_move(config, player, text) == action
    for action in state.legal_actions():
        assert state.action_to_string(state.current_player(), action) == move_name(config, action)


@pytest.mark.parametrize(
    ("move", "action"),
    [
        ("play 2", 7), ("Play slot 2.", 7), ("discards card 0", 0), ("hint red", 10),
        ("Hint P1 red", 10), ("tell player 1 rank 3", 17), ("hints 3 to P1", 17),
        ("reveal player +1 color b", 14), ({"type": "play", "slot": 2}, 7),
    ],
)  # fmt: skip
def test_moves_in_words(move: Any, action: int) -> None:
    assert read_move(HanabiGame(players=2).config, 0, move) == action


@pytest.mark.parametrize(
    ("move", "says"),
    [
        ("resign", "a move must be as in '(Play 2)'"),
        ("play 7", "slot of play must be from 0 to 4"),
        ("hint P0 red", "must go to another player, P1, got 'hint P0 red'"),
        ("hint P9 red", "must go to another player, P1, got"),
        ("hint pink", "a move must be as in"),
        (20, "action must be from 0 to 19, got 20"),
        (True, "a move must be text"),
        (None, "a move must be text"),
    ],
)
def test_what_is_no_move_is_refused(move: Any, says: str) -> None:
    with pytest.raises(RecordError) as error:
        read_move(HanabiGame(players=2).config, 0, move)
    assert says in str(error.value)
