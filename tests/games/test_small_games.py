"""The games of Joint Policy Search: their sizes as published, their rules by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import NOBODY
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.games import Communication, MiniBridge, SimpleBidding
from hanabi_search_plugin.testing import check_game

# States and information sets of Table 1.
SIZES = [
    (Communication(3), 633, 129), (Communication(5), 34_785, 2_049),
    (SimpleBidding(4), 241, 61), (SimpleBidding(8), 1_985, 249), (SimpleBidding(16), 16_129, 1_009),
    pytest.param(Communication(6), 270_273, 8_193, marks=pytest.mark.slow),
    pytest.param(Communication(7), 2_129_793, 32_769, marks=pytest.mark.slow),
    (MiniBridge(3), 4_081, 1_021), (MiniBridge(4), 25_576, 5_116), (MiniBridge(5), 147_421, 24_571),
]  # fmt: skip


def walked(game: PlainGame) -> Iterator[tuple[int, Any]]:
    """Every state, with the seat that it is counted for: to move, or the last that moved."""
    todo = [(game.current_player(state), state) for state, _ in game.initial_states()]
    while todo:
        mover, state = todo.pop()
        yield mover, state
        if game.current_player(state) == NOBODY:
            continue
        for action in game.legal_actions(state):
            for after, _ in game.next_states(state, action):
                player = game.current_player(after)
                todo.append((mover if player == NOBODY else player, after))


@pytest.mark.parametrize(("game", "states", "sets"), SIZES, ids=lambda of: str(of))
def test_sizes_are_the_published_ones(game: PlainGame, states: int, sets: int) -> None:
    """The published figures count the root, and the ends as well."""
    found, seen = 1, {()}
    for seat, state in walked(game):
        found += 1
        over = game.current_player(state) == NOBODY
        seen.add((over, seat, *game.observation(state, seat)))
    assert (found, len(seen)) == (states, sets)


@pytest.mark.parametrize("game", [Communication(2), SimpleBidding(3), MiniBridge(2)], ids=str)
def test_the_contracts_hold(game: PlainGame) -> None:
    check_game(game)


def test_scores() -> None:
    assert Communication(2).returns((3, (1, 1, 3))) == [1.0, 1.0]
    assert Communication(2).returns((3, (1, 1, 2))) == [0.0, 0.0]
    bidding = SimpleBidding(8)
    assert bidding.bids == 4 and bidding.return_range == (0.0, 8.0)
    assert bidding.returns(((1, 3), (2, 3, 0))) == [4.0, 4.0]
    assert bidding.returns(((1, 2), (2, 3, 0))) == [0.0, 0.0]
    bridge = MiniBridge(3)
    assert bridge.returns(((2, 2), (1, 0))) == [1.0, 1.0]  # 1H on four hearts
    assert bridge.returns(((2, 1), (1, 0))) == [-1.0, -1.0]
    assert bridge.returns(((0, 1), (0, 4, 0))) == [2.0, 2.0]  # 2S on five spades
    assert bridge.returns(((0, 1), (0, 0))) == [0.0, 0.0]


def test_auctions() -> None:
    bidding, bridge = SimpleBidding(4), MiniBridge(3)
    assert list(bidding.legal_actions(((0, 0), ()))) == [1, 2, 3]
    assert list(bidding.legal_actions(((0, 0), (3,)))) == [0]
    assert bidding.current_player(((0, 0), (1, 0))) == NOBODY
    assert list(bridge.legal_actions(((0, 0), (0,)))) == list(range(7))
    assert list(bridge.legal_actions(((0, 0), (0, 5)))) == [0, 6]
    assert bridge.current_player(((0, 0), (0,))) == 1
    assert bridge.current_player(((0, 0), (0, 0))) == NOBODY
    assert [bridge.action_to_string(0, call) for call in (0, 1, 2, 5)] == ["pass", "1H", "1S", "3H"]


@pytest.mark.parametrize("make", [Communication, SimpleBidding, MiniBridge])
def test_sizes_out_of_range_are_refused(make: Any) -> None:
    for wrong in (0, 10_000, 2.5, "3"):
        with pytest.raises(ConfigError):
            make(wrong)
