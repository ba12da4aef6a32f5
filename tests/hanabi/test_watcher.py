"""Following a seat by its observation vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hanabi_search_plugin import HanabiGame, History
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.hanabi.engine.watcher import Watcher

PARAMETERS: list[dict[str, Any]] = [
    {"players": 2, "colors": 2, "hand_size": 2},
    {"players": 2, "observation_type": "seer", "random_start_player": True},
    {"players": 3, "observation_type": "minimal"},
]


def played(game: HanabiGame, seat: int, seed: int) -> tuple[History, list[NDArray[Any]]]:
    """What a seat sees of a game of random moves, and the vectors before every move."""
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    history = History(seat, (worlds.view(seat).select(np.array([0])),))
    vectors = [worlds.view(seat).observation("openspiel")[0]]
    while True:
        event = worlds.step(np.array([rng.choice(np.flatnonzero(worlds.legal[0]))]))
        if worlds.terminal[0]:
            return history, vectors
        history = history.append(event, worlds.view(seat).select(np.array([0])))
        vectors.append(worlds.view(seat).observation("openspiel")[0])


def require_equal(found: History, expected: History) -> None:
    assert found.seat == expected.seat
    assert [v.keys() for v in found.views] == [v.keys() for v in expected.views]
    moves = [[(int(e.player[0]), int(e.action[0])) for e in h.events] for h in (found, expected)]
    assert moves[0] == moves[1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_every_vector_of_a_game_gives_its_history(parameters: dict[str, Any], seed: int) -> None:
    game, seat = HanabiGame(**parameters), seed % 2
    expected, vectors = played(game, seat, seed)
    watcher = Watcher(game, seat)
    assert watcher.history is None and watcher.view is None
    for view, vector in zip(expected.views, vectors, strict=True):
        found = watcher.look(vector, int(view.current_player[0]))
        assert watcher.look(vector, int(view.current_player[0])) is found
        assert watcher.view is found.views[-1]
    require_equal(found, expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", PARAMETERS[:2], ids=str)
def test_own_turns_and_own_moves_are_enough_for_two(parameters: dict[str, Any], seed: int) -> None:
    game, seat = HanabiGame(**parameters), seed % 2
    watcher = Watcher(game, seat)
    for again in range(2):
        expected, vectors = played(game, seat, 10 * again + seed)
        last = 0
        for t, view in enumerate(expected.views):
            if view.current_player[0] == seat:
                found = watcher.look(vectors[t], seat)
                last = t
                if t < len(expected.events):
                    watcher.acted(int(expected.events[t].action[0]))
        require_equal(found, History(seat, expected.views[: last + 1], expected.events[:last]))
        watcher.begin()


def test_what_does_not_follow_changes_nothing() -> None:
    game = HanabiGame()
    expected, vectors = played(game, 0, 0)
    watcher = Watcher(game, 0)
    history = watcher.look(vectors[0], 0)
    with pytest.raises(RecordError, match=r"the seat's move between two observations .*got none"):
        watcher.look(vectors[2], 0)
    with pytest.raises(RecordError, match="must follow a move of player 0"):
        watcher.look(vectors[2], 1)
    with pytest.raises(ConfigError, match="observations of"):
        watcher.look(vectors[1][1:], 1)
    assert watcher.history is history
    watcher.acted(int(expected.events[0].action[0]))
    assert len(watcher.look(vectors[2], 0).events) == 2
