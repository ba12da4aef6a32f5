"""``hanabi-search convert``: the files it writes, and what it refuses in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner, Result

from hanabi_search_plugin.cli import app
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files.played_out import played_out
from hanabi_search_plugin.hanabi.files.records import read_games, write_games
from tests.helpers.ah2ac2_files import played, tensors
from tests.helpers.random_records import random_record

TWO = HanabiConfig(players=2)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["convert", *(str(a) for a in arguments)])


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stderr.startswith("hanabi-search: ") and result.stderr.count("\n") == 1
    return result.stderr.removeprefix("hanabi-search: ").rstrip("\n")


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    write_games(path, [played_out(random_record(TWO, seed)) for seed in range(3)])
    return path


@pytest.mark.parametrize("to", ["hanab-live", "link", "jsonl"])
def test_there_and_back(games: Path, tmp_path: Path, to: str) -> None:
    out, back = tmp_path / "out.gz", tmp_path / "back.jsonl"
    assert run(games, out, "--to", to).exit_code == 0
    result = run(out, back, "--to", "jsonl")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"3 games written to {back}" in result.stderr
    assert back.read_text() == games.read_text()


def test_to_the_standard_output(games: Path) -> None:
    result = run(games, "-", "--to", "hanab-live")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["players"] for line in lines] == [["Alice", "Bob"]] * 3


def test_files_of_ah2ac2_become_recorded_games(tmp_path: Path) -> None:
    recorded = played(2, 3)
    save_file(tensors(recorded), tmp_path / "games.safetensors")
    out = tmp_path / "out.jsonl"
    assert run(tmp_path / "games.safetensors", out, "--to", "jsonl").exit_code == 0
    assert [replace(game, source="") for game in read_games(out)] == recorded


@pytest.mark.parametrize(("bomb", "score"), [(None, 0), ("keep", 1), ("minus_one", 0)])
def test_what_a_strikeout_scores_is_said(tmp_path: Path, bomb: str | None, score: int) -> None:
    deck = [5 * color + rank for color in range(5) for rank in (0, 0, 0, 1, 1, 2, 2, 3, 3, 4)]
    cards = [{"suitIndex": card // 5, "rank": card % 5 + 1} for card in deck]
    # P0 plays red 1; P1 red 3 and red 4, P0 red 1 again: three strikes.
    actions = [{"type": 0, "target": order} for order in (0, 5, 1, 6)]
    path, out = tmp_path / "game.json", tmp_path / "out.jsonl"
    path.write_text(json.dumps({"players": ["a", "b"], "deck": cards, "actions": actions}))
    assert run(path, out, "--to", "jsonl", *(("--bomb", bomb) if bomb else ())).exit_code == 0
    (game,) = read_games(out)
    assert (game.score, game.lives_left, game.bomb) == (score, 0, bomb or "zero")
    assert game.policies == ("a", "b")


def test_one_line_says_what_is_wrong(games: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = random_record(replace(TWO, colors=2), 1)
    small = tmp_path / "small.jsonl"
    write_games(small, [whole])
    first = tmp_path / "first.jsonl"
    write_games(first, [random_record(TWO, 1, first_player=1)])
    assert refused(games, out, "--to", "links") == (
        "to must be one of hanab-live, link, jsonl, got 'links': did you mean link?"
    )
    assert refused(games, out, "--to", "link", "--bomb", "one").startswith("bomb must be one of")
    assert refused(tmp_path / "none", out, "--to", "link").endswith("No such file or directory")
    assert refused(games, tmp_path / "no" / "out", "--to", "link").startswith("out must lie in")
    assert refused(small, out, "--to", "link") == (
        f"{small}:1: hanab.live plays with 3 to 5 colors, got 2"
    )
    assert refused(first, out, "--to", "link") == (
        f"{first}:1: a short link cannot say startingPlayer, expected none: hanab-live, the JSON, "
        "can"
    )
    assert not out.exists()


def test_an_illegal_move_is_named_by_its_turn(tmp_path: Path) -> None:
    path, out = tmp_path / "games.jsonl", tmp_path / "out.jsonl"
    game = random_record(TWO, 1, moves=0)
    write_games(path, [game, replace(game, actions=(0,))])
    assert refused(path, out, "--to", "jsonl") == (
        f"{path}:2: actions[0] (turn 1) must be legal, got 'P0 discards slot 0': all 8 information "
        "tokens are there"
    )
    write_games(path, [replace(played_out(random_record(TWO, 2)), game=5)])
    (whole,) = read_games(path)
    write_games(path, [replace(whole, actions=(*whole.actions, 0))])
    turn = len(whole.actions)
    assert f"actions[{turn}] (turn {turn + 1}) must be legal" in refused(path, out, "--to", "link")
    assert not out.exists()
