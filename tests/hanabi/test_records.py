"""The recorded-games format: what is written is read again, what is damaged is named."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files.records import RecordedGame, read_games, write_games

SMALL = HanabiConfig(players=2, colors=2, ranks=3, hand_size=3, information_tokens=4, life_tokens=2)
DECK = (0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 4, 5)


def small_game(**changes: Any) -> RecordedGame:
    game = RecordedGame(
        config=SMALL,
        game=3,
        deck=DECK,
        actions=(0, 5, 6, 9),
        first_player=1,
        score=2,
        lives_left=0,
        bomb="keep",
        seed=11,
        policies=("a", "b"),
    )
    return dataclasses.replace(game, **changes)


def line(**changes: Any) -> dict[str, Any]:
    """A good line of a file; a change to None leaves the field out."""
    fields = {
        "players": 2, "colors": 2, "ranks": 3, "hand_size": 3, "information_tokens": 4,
        "life_tokens": 2, "deck": list(DECK), "actions": [{"type": "discard", "slot": 0}, 5],
    }  # fmt: skip
    return {k: v for k, v in (fields | changes).items() if v is not None}


def write_line(path: Path, fields: Any) -> Path:
    path.write_text(json.dumps(line()) + "\n\n" + json.dumps(fields) + "\n")
    return path


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
@pytest.mark.parametrize("actions", ["objects", "integers"])
def test_round_trip(tmp_path: Path, name: str, actions: Literal["objects", "integers"]) -> None:
    standard = HanabiConfig(players=3)
    deck = tuple(c for color in range(5) for c in (5 * color + r for r in (0, 0, 0, 1, 1, 2, 2)))
    deck += tuple(5 * color + r for color in range(5) for r in (3, 3, 4))
    plain = RecordedGame(config=standard, game=0, deck=deck, actions=())
    games = [small_game(), plain]
    path = tmp_path / name
    write_games(path, games, actions=actions)
    read = list(read_games(path))
    assert [game.source for game in read] == [f"{path}:1", f"{path}:2"]
    assert [dataclasses.replace(game, source="") for game in read] == games


def test_standard_sizes_are_not_written_and_others_are(tmp_path: Path) -> None:
    write_games(tmp_path / "a.jsonl", [small_game()])
    fields = json.loads((tmp_path / "a.jsonl").read_text())
    assert fields["colors"] == 2 and fields["life_tokens"] == 2 and fields["bomb"] == "keep"
    assert fields["actions"][0] == {"type": "discard", "slot": 0}
    write_games(tmp_path / "b.jsonl", [small_game(first_player=0)], actions="integers")
    assert json.loads((tmp_path / "b.jsonl").read_text())["actions"] == [0, 5, 6, 9]


def test_optional_fields_have_defaults(tmp_path: Path) -> None:
    game = list(read_games(write_line(tmp_path / "a.jsonl", line())))[1]
    assert game.actions == (0, 5)
    assert game.game == 2  # the line's number, from 0
    assert game.first_player == 0
    assert game.score is game.lives_left is game.bomb is game.seed is game.policies is None


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (line(players=None), "players is missing"),
        (line(players=7), "players must be from 2 to 5, got 7"),
        (line(players="2"), "players must be an integer"),
        (line(deck=None), "deck is missing"),
        (line(deck=5), "deck must be a list"),
        (line(deck=list(DECK[:-1])), "deck must hold 12 cards, got 11"),
        (line(deck=[*DECK[:-1], 6]), "deck[11] must be a card from 0 to 5, got 6"),
        (line(deck=[*DECK[:-1], 4]), "deck must hold card 4 2 times, got 3"),
        (line(deck=[*DECK[:-1], True]), "deck[11] must be an integer"),
        (line(actions=None), "actions is missing"),
        (line(actions=[0, 16]), "actions[1] must be from 0 to 10, got 16"),
        (line(actions=["play"]), "actions[0] must be an object or an integer"),
        (line(actions=[{"type": "play", "slot": 3}]), "actions[0]: slot of play"),
        (line(actions=[{"type": "reveal_rank", "target": 1}]), "actions[0]: rank of reveal_rank"),
        (line(score="3"), "score must be an integer"),
        (line(score=3.5), "score must be an integer"),
        (line(score=7), "score must be from -1 to 6"),
        (line(lives_left=3), "lives_left must be from 0 to 2"),
        (line(bomb="boom"), "bomb must be one of zero, keep, minus_one"),
        (line(first_player=2), "first_player must be from 0 to 1"),
        (line(policies=["a"]), "policies must be 2 names"),
        ([1, 2], "expected a JSON object"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, fields: Any, says: str) -> None:
    path = write_line(tmp_path / "a.jsonl", fields)
    with pytest.raises(RecordError) as error:
        list(read_games(path))
    assert str(error.value).startswith(f"{path}:3: ")
    assert says in str(error.value)


def test_games_before_the_damage_are_read(tmp_path: Path) -> None:
    games = read_games(write_line(tmp_path / "a.jsonl", {"players": 2}))
    assert next(games).deck == DECK
    with pytest.raises(RecordError):
        next(games)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "got none"),
        (b"\n\n", "got none"),
        (b'{"players": 2, ', ":1: expected a JSON object"),
        (b"\xff\xfe\n", ":1: expected UTF-8"),
        (b"[" * 100_000, ":1: expected a JSON object"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=says):
        list(read_games(path))


def test_truncated_and_corrupted_gzip(tmp_path: Path) -> None:
    whole = tmp_path / "a.jsonl.gz"
    write_games(whole, [small_game()] * 50)
    content = whole.read_bytes()
    for i, damaged in enumerate((content[:-20], content[:40] + b"\x00" * 9 + content[49:])):
        path = tmp_path / f"{i}.jsonl.gz"
        path.write_bytes(damaged)
        with pytest.raises(RecordError, match=r"gzip data is damaged|expected"):
            list(read_games(path))
    plain = tmp_path / "plain.gz"
    plain.write_text(json.dumps(line()))
    with pytest.raises(RecordError, match="expected a gzip file"):
        list(read_games(plain))


def test_compressed_files_are_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(gzip.compress(json.dumps(line()).encode()))
    assert len(list(read_games(path))) == 1


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_games(tmp_path / "none.jsonl"))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    write_games(path, [small_game()])
    before = path.read_bytes()

    def failing() -> Iterator[RecordedGame]:
        yield small_game(game=9)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_games(path, failing())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["smartbot", "hatbot", "hatbot_rs"])
def test_recorded_games_of_the_original_bots(golden: Path, name: str) -> None:
    games = Counter(game.config.players for game in read_games(golden / f"{name}.jsonl"))
    assert sorted(games) == [2, 3, 4, 5] and min(games.values()) >= 10


def test_recorded_games_of_others(third_party_games: Path) -> None:
    assert sum(1 for _ in read_games(third_party_games)) == 1000
