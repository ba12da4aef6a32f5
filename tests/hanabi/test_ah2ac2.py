"""Data files of AH2AC2, written here in their layout."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi import read_any_games
from hanabi_search_plugin.hanabi.files import ah2ac2
from hanabi_search_plugin.hanabi.files.played_out import played_out
from tests.helpers.ah2ac2_files import played, tensors


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32])
def test_games_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, players: int, dtype: Any
) -> None:
    monkeypatch.setattr(ah2ac2, "_BLOCK", 2)
    games = played(players, 5)
    path = tmp_path / "any name"
    save_file(tensors(games, dtype), path)
    read = list(read_any_games(path))
    assert [game.source for game in read] == [f"{path}: game {i}" for i in range(5)]
    assert [played_out(replace(game, source="")) for game in read] == games


GAMES = played(2, 2)


def with_(name: str, change: Any) -> dict[str, Any]:
    """The tensors with one of them changed; a change to None leaves it out."""
    parts = tensors(GAMES)
    value = change(parts[name].copy())
    return {k: v for k, v in (parts | {name: value}).items() if v is not None}


def put(place: Any, value: int) -> Any:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (with_("decks", lambda _: None), "got no decks"),
        (with_("decks", lambda d: d[:, :49]), "decks of 2 games must be of shape (2, 50, 2), got"),
        (with_("decks", lambda d: d.astype(np.float64) + 0.5), "decks must be whole numbers"),
        (with_("decks", lambda d: d * np.float32("nan")), "decks must be whole numbers"),
        (with_("decks", put((1, 3, 0), 5)), "game 1: decks must be of colours and ranks"),
        (with_("decks", put((1, slice(None), 1), 0)), "game 1: deck must hold card 0 3 times"),
        (with_("actions", lambda a: a[..., :1]), "actions of 2 games must be of shape"),
        (with_("actions", lambda a: a[:1]), "must be of shape"),
        (with_("actions", put((1, 2, 0), 20)), "actions[2] (turn 3) must be a move of player 0"),
        (with_("actions", put((1, 2, 1), 3)), "and 20 for the others, got ["),
        (with_("num_actions", put(0, 999)), "game 0: num_actions must be from 0 to"),
        (with_("scores", put(1, 26)), "game 1: scores must be from 0 to 25, got 26"),
        (with_("num_players", lambda _: np.array(7)), "num_players: players must be from 2 to 5"),
        (with_("num_players", lambda _: np.array([2, 2])), "num_players: players must be"),
        ({k: v[:0] if v.ndim else v for k, v in tensors(GAMES).items()}, "expected 1 to 10"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, parts: dict[str, Any], says: str) -> None:
    path = tmp_path / "games.safetensors"
    save_file({name: np.ascontiguousarray(part) for name, part in parts.items()}, path)
    with pytest.raises(RecordError) as error:
        list(read_any_games(path))
    assert str(error.value).startswith(str(path)) and says in str(error.value)


def test_a_header_that_promises_too_much_is_refused_before_anything_is_read(
    tmp_path: Path,
) -> None:
    header = {"decks": {"dtype": "I32", "shape": [10**9, 50, 2], "data_offsets": [0, 4 * 10**11]}}
    text = json.dumps(header).encode()
    path = tmp_path / "games.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * 100)
    with pytest.raises(RecordError, match="expected a file of safetensors"):
        list(read_any_games(path))
