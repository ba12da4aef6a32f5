"""``hanabi-search judge``: lines in and out, data sets that go on, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_every_command import refused, run

SMALL = ("--colors", 2, "--ranks", 3, "--hand-size", 3, "--rollouts", 20)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_data_set_goes_on_byte_for_byte_and_becomes_parquet(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    line = ("judge", *SMALL, "--seats", "random,smartbot", "--games", 3, "--seed", 4)
    done = run(*line, "--record", whole, "--threads", 2)
    assert done.exit_code == 0 and "positions judged" in done.stdout
    run("judge", *SMALL, "--seats", "random,smartbot", "--games", 2, "--seed", 4, "--record", cut)
    content = cut.read_bytes()
    cut.write_bytes(content[: len(content) - 50])
    assert run(*line, "--record", cut).exit_code == 0
    assert cut.read_bytes() == whole.read_bytes()
    rows = lines(whole)
    assert {row["source"] for row in rows} == {"game 0", "game 1", "game 2"}
    assert all(row["rewards"][row["legal_moves"].index(row["best"])] == 1.0 for row in rows)
    says = refused(*line, "--record", cut, "--scale", 2)
    assert "judge.scale is 1.0 there, 2.0 here" in says
    pq = pytest.importorskip("pyarrow.parquet")
    table = tmp_path / "rows.parquet"
    assert run(*line, "--record", whole, "--parquet", table).exit_code == 0
    assert pq.read_table(table).to_pylist() == rows


def test_positions_in_lines_out(tmp_path: Path) -> None:
    games, asked = tmp_path / "games.jsonl", tmp_path / "asked.jsonl"
    run("judge", *SMALL, "--games", 1, "--record", games)
    first = lines(games)[0]
    questions = [
        {"observation": first["observation"], "move": first["best"]},
        {"observation": first["observation"], "move": "resign"},
        {"observations": [first["observation"]]},
    ]
    asked.write_text("\n\n".join(map(json.dumps, questions)))
    done = run("judge", asked, *SMALL)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["source"] for line in found] == [f"{asked}:{n}" for n in (1, 3, 5)]
    assert found[0]["best"] == found[1]["best"] and found[1]["reward"] == 0.0
    assert found[2]["reward"] is None and found[0]["reward"] is not None
    assert found[0]["belief"] == "exact" and "3 positions judged" in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("nothing", ":1: "),
        ('{"move": 3}', ":1: expected a recorded game, or one of observation and observations"),
        ('{"observation": 3}', ":1: observation must be text, got 3"),
        ('{"observations": "x"}', ':1: observations must be a list, got "x"'),
        ('{"observation": "Life"}', ":1: line 1 of the observation must be"),
        ('{"players": 2, "deck": [], "actions": []}', ":1: deck must hold 50 cards, got 0"),
    ],
)
def test_what_is_refused_by_file_and_line(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_text(content)
    assert says in refused("judge", path)


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_text("")
    assert refused("judge", "--parquet", path) == (
        "parquet needs record, the lines that it is made of"
    )
    assert "give them without a FILE" in refused("judge", path, "--seats", "random")
    assert "objective must be one of score, perfect" in refused("judge", "--objective", "most")
    assert "scale must be a positive number" in refused("judge", "--scale", "0")
    path.write_text("some text\n")
    assert "must name a new file" in refused("judge", *SMALL, "--record", path)
