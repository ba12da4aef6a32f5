"""Kernels compiled for sizes in their types play as those that read the sizes as numbers do."""

from __future__ import annotations

import numpy as np
import pytest

from hanabi_search_plugin import RisMcts, Sparta, evaluate, upgrade
from hanabi_search_plugin.core.agent import Search
from hanabi_search_plugin.hanabi.engine import layout, row_kernels
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policy, policies

PLAYERS = [3, 4, 5]


@pytest.fixture
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[HanabiGame]:
    """The standard game of so many players, its sizes in types, then as numbers."""
    games = []
    for typed in ({request.param}, set()):
        monkeypatch.setattr(layout, "TYPED_PLAYERS", typed)
        games.append(HanabiGame(players=request.param))
    types, numbers = (game.dims for game in games)
    assert all(isinstance(entry, tuple) for entry in types)
    assert numbers == tuple(map(len, types))
    return games


@pytest.mark.parametrize("both", PLAYERS, indirect=True)
def test_random_games(both: list[HanabiGame]) -> None:
    outcomes = []
    for game in both:
        seeds = np.arange(200, dtype=np.uint64)
        returns, moves = np.zeros((2, len(seeds)), dtype=np.int64)
        row_kernels.play_random(game.dims, game.template, seeds, False, returns, moves)
        outcomes.append((returns.tolist(), moves.tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.slow
@pytest.mark.parametrize("both", PLAYERS, indirect=True)
@pytest.mark.parametrize("name", [entry.name for entry in policies() if entry.name != "uniform"])
def test_bots(name: str, both: list[HanabiGame]) -> None:
    scores = [evaluate(game, load_policy(name), games=50, seed=3).scores.tolist() for game in both]
    assert scores[0] == scores[1]


@pytest.mark.slow
@pytest.mark.parametrize("both", PLAYERS, indirect=True)
@pytest.mark.parametrize("name", ["smartbot", "hatbot", "hatbot-b", "evalfn-c"])
@pytest.mark.parametrize("search", [Sparta(rollouts=50), RisMcts(iterations=200)])
def test_searches(search: Search, name: str, both: list[HanabiGame]) -> None:
    moves = []
    for game in both:
        agent = upgrade(name, game, search)
        seats = (*(name,) * (game.num_players - 1), agent)
        moves.append([each.actions for each in evaluate(game, seats, games=1, seed=3).games])
    assert moves[0] == moves[1]
