"""Boards and moves on a terminal: what they say and how wide they are."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from hanabi_search_plugin.cli.typed_moves import parse_move, spelled
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.rendering import colored_text

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
#       P0: R1 Y2     P1: R1 Y1, then R3 Y1 Y1 R1 R2 R2 Y2 Y3
DECK = [0, 4, 0, 3, 2, 3, 3, 0, 1, 1, 4, 5]


def play(*moves: int) -> np.ndarray:
    worlds = GAME.from_decks([DECK])
    for move in moves:
        worlds.step(np.array([move]))
    return worlds.rows[0]


def test_a_board() -> None:
    row = play(4, 2, 2)  # hint red to P1, P1 plays slot 0, P0 plays slot 0
    assert colored_text.board(GAME.config, row, ("ann", "bob")).plain == (
        "fireworks    R1  Y-   hints 2/3   lives 2/3   deck 6\n"
        "slot         0          1\n"
        "P0 ann       Y2         Y1\n"
        "P1 bob       Y1         R3\n"
        "  could be   Y123       -\n"
        "discards     R1\n"
    )


def test_a_seat_does_not_see_its_own_hand() -> None:
    worlds = GAME.from_decks([DECK])
    text = colored_text.board(GAME.config, worlds.view(1).rows[0], ("ann", "bob"), you=1).plain
    assert "P0 ann       R1         Y2\n" in text
    assert "P1 you       ??         ??\n" in text


def test_told_cards_are_marked() -> None:
    text = colored_text.board(GAME.config, play(4), ("", "")).plain
    assert "  told       R          -\n" in text
    assert "  could be   R123       Y123\n" in text


@pytest.mark.parametrize(
    ("moves", "seat", "move", "says"),
    [
        ((), 0, 2, "plays slot 0: R1, which scores"),
        ((), 0, 3, "plays slot 1: Y2, a misplay: a life is lost"),
        ((4,), 1, 0, "discards slot 0: R1"),
        ((), 0, 4, "hints red to P1: slot 0"),
        ((), 0, 6, "hints rank 1 to P1: slots 0, 1"),
    ],
)
def test_moves(moves: tuple[int, ...], seat: int, move: int, says: str) -> None:
    assert colored_text.move(GAME.config, play(*moves), seat, move).plain == says


def result(action: int, reason: str = "improved") -> SearchResult:
    return SearchResult(
        action=action,
        blueprint_action=2,
        reason=reason,  # type: ignore[arg-type]
        actions=np.array([2, 3]),
        mean=np.zeros(2),
        stderr=np.zeros(2),
        count=np.array([50, 1150]),
        gain=0.25,
        gain_stderr=0.0312,
        rollouts=1200,
        belief_size=3456,
        likelihoods=0,
        note="odd" if reason == "improved" else "",
    )


def test_decisions() -> None:
    text = colored_text.decision(GAME.config, play(), 0, result(4)).plain
    assert text == (
        "blueprint    plays slot 0: R1, which scores\n"
        "search       hints red to P1: slot 0\n"
        "gain         +0.25 +- 0.03   1,200 rollouts, 3,456 hands\n"
        "note         odd\n"
    )
    text = colored_text.decision(GAME.config, play(), 0, result(2, "below_threshold")).plain
    assert "search       agrees (too small a gain)   1,200 rollouts" in text


@pytest.mark.parametrize("parameters", [{"players": p} for p in (2, 3, 4, 5)] + [
    {"players": 2, "hand_size": 8, "information_tokens": 4}
])  # fmt: skip
def test_boards_fit_80_columns_with_and_without_colour(parameters: dict[str, int]) -> None:
    game = HanabiGame(**parameters)
    rng = np.random.default_rng(1)
    worlds = game.deal(rng, 1)
    names = ("a-policy-of-a-very-long-name",) * game.num_players
    consoles = [
        Console(file=io.StringIO(), width=80, force_terminal=colour, color_system=system)
        for colour, system in ((True, "standard"), (False, None))
    ]
    blueprint = (UniformPolicy(),) * game.num_players
    for turn in play_game(worlds, blueprint, Streams.spawn(rng, 1), (1,)):
        text = colored_text.board(game.config, worlds.rows[0], names)
        text.append_text(colored_text.move(game.config, worlds.rows[0], turn.seat, turn.action))
        assert max(map(len, text.plain.splitlines())) <= 80
        for console in consoles:
            console.print(text)
    coloured, plain = (console.file.getvalue() for console in consoles)  # type: ignore[attr-defined]
    assert "\x1b[" in coloured and "\x1b" not in plain
    assert Console().render_str(plain).plain == plain


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("play 1", 3),
        ("p1", 3),
        ("P 1", 3),
        ("discard 0", 0),
        ("d0", 0),
        ("hint red", 4),
        ("hint y", 5),
        ("hy", 5),
        ("h3", 8),
        ("hint 3", 8),
        ("hint P1 3", 8),
    ],
)
def test_typed_moves(line: str, action: int) -> None:
    assert parse_move(GAME.config, 0, line) == action


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hint p0 3", "a hint goes to another player, P1; got yourself"),
        ("hint p2 3", "a hint goes to another player, P1; got p2"),
        ("hint green", "a hint names a colour, red, yellow, or a rank from 1 to 3; got green"),
        ("h4", "a hint names a colour, red, yellow, or a rank from 1 to 3; got 4"),
        ("p2", "play takes a slot from 0 to 1, as in play 0; got 2"),
        ("play", "play takes a slot from 0 to 1, as in play 0; got none"),
        ("discard one", "discard takes a slot from 0 to 1, as in discard 0; got one"),
        ("hint", "hint takes a colour or a rank"),
        ("sing 1", "'sing 1' is not a move: help lists them"),
        ("", "'' is not a move"),
    ],
)
def test_what_is_no_move_says_what_was_expected(line: str, says: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)):
        parse_move(GAME.config, 0, line)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_every_move_can_be_typed_as_it_is_listed(players: int) -> None:
    config = HanabiGame(players=players).config
    for action in range(config.num_actions):
        assert parse_move(config, 1, spelled(config, 1, action)) == action


def test_advice_lists_every_move_the_best_first() -> None:
    found = replace(
        result(4),
        actions=np.array([2, 3, 4]),
        mean=np.array([3.0, np.nan, 4.5]),
        stderr=np.array([0.25, np.nan, 0.125]),
    )
    row = GAME.from_decks([DECK]).view(0).rows[0]
    assert colored_text.advice(GAME.config, row, 0, found).plain == (
        "             points at the end\n"
        "advice       4.50 +- 0.12     hints red to P1: slot 0\n"
        "blueprint    3.00 +- 0.25     plays slot 0\n"
        "             not tried        plays slot 1\n"
        "             1,200 rollouts, 3,456 hands\n"
        "note         odd\n"
    )


def test_typed_moves_name_a_player_among_many() -> None:
    game = HanabiGame(players=3)
    action = parse_move(game.config, 1, "hint P0 red")
    assert game.action_to_string(1, action) == "P1 hints red to P0"
    with pytest.raises(ConfigError, match="say whom, P0 or P2, as in hint P0 red"):
        parse_move(game.config, 1, "hint red")
    with pytest.raises(ConfigError, match="another player, P0 or P2; got p3"):
        parse_move(game.config, 1, "hint P3 red")
