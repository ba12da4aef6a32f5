"""``hanabi-search analyse``: its table, its files, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hanabi_search_plugin.cli import app

SMALL = ["--colors", "2", "--ranks", "3", "--hand-size", "2", "--policy", "smartbot"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("games") / "games.jsonl"
    done = run("evaluate", *SMALL, "--search", "none", "--games", 2, "--save", file)
    assert done.exit_code == 0, done.output
    return file


def test_a_table_a_page_and_a_document(saved: Path, tmp_path: Path) -> None:
    page, document = tmp_path / "game.html", tmp_path / "game.json"
    done = run("analyse", saved, "--game", 1, "--rollouts", 50, "--out", page, "--json", document)
    assert done.exit_code == 0, (done.output, done.exception)
    content = json.loads(document.read_text())
    assert content["game"] == 1 and content["parameters"]["rollouts"] == 50
    record = json.loads(saved.read_text().splitlines()[1])
    assert len(content["turns"]) == len(record["actions"]) and content["end"] == record["score"]
    assert content["before"] + content["gain"] + content["luck"] == pytest.approx(record["score"])
    assert content["players"][0]["candidates"] == ["smartbot", "vdb", "piers", "iggi"]
    lines = done.stdout.splitlines()
    assert max(map(len, lines[: len(record["actions"]) + 6])) <= 80
    assert any(re.match(r"1 +P0 |1 P0 ", line) for line in lines)
    assert f"= {record['score']:.2f}, the final score" in done.stdout
    assert "P0 is taken for smartbot: smartbot makes 100 % of its moves" in done.stdout
    text = page.read_text()
    assert '"mistake":' in text and '"lost":' in text


@pytest.mark.parametrize("kind", ["hints", "grounded"])
def test_the_page_shows_another_belief(saved: Path, tmp_path: Path, kind: str) -> None:
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    for page, more in zip(pages, ([], ["--belief", kind]), strict=True):
        done = run("analyse", saved, "--rollouts", 20, "--out", page, *more)
        assert done.exit_code == 0, (done.output, done.exception)
    exact, other = (
        json.loads(re.findall(r'id="document">(.*?)</script>', page.read_text())[0])
        for page in pages
    )
    assert exact["belief"]["kind"] == "exact" and exact["policies"] == ["smartbot"] * 2
    assert other["belief"]["kind"] == ("hints" if kind == "hints" else "model")
    assert exact["searched"] == other["searched"] == [False, False]
    for turn, same in zip(exact["turns"], other["turns"], strict=True):
        assert turn["search"] == same["search"]  # values are by the exact belief
        assert all(mind["slots"] for mind in same["beliefs"]) or turn["move"] is None
    assert exact["turns"] != other["turns"]


def test_one_blueprint(saved: Path) -> None:
    done = run("analyse", saved, "--policy", "piers,vdb", "--epsilon", 0, "--rollouts", 20)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "P0 is taken for piers:" in done.stdout and "P1 is taken for vdb:" in done.stdout


def test_an_objective(saved: Path) -> None:
    line = ["--objective", "perfect", "--rollouts", 20, "--json", "-"]
    done = run("analyse", saved, *line)
    assert done.exit_code == 0, (done.output, done.exception)
    assert json.loads(done.stdout)["objective"] == "perfect"
    assert "and a bonus for a perfect game" in done.stderr


def test_partners_beside_a_blueprint(saved: Path) -> None:
    line = ["--policy", "piers", "--partners", "smartbot,iggi", "--rollouts", 20, "--json", "-"]
    done = run("analyse", saved, *line)
    assert done.exit_code == 0, (done.output, done.exception)
    players = json.loads(done.stdout)["players"]
    assert [one["blueprint"] for one in players] == ["piers", "piers"]
    assert [one["candidates"] for one in players] == [["smartbot", "iggi"]] * 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--game 9", "expected the number of one of its 2 games, 0 to 1, got 9"),
        ("--rollouts 1", "rollouts must be an integer of at least 4, got 1"),
        ("--objective win", "objective must be one of score, perfect, got 'win'"),
        ("--epsilon 2", "epsilon must be from 0 to 1, got 2.0"),
        ("--threads 0", "threads must be an integer of at least 1, got 0"),
        ("--belief hints", "belief needs out, the page that shows it, got 'hints'"),
        ("--belief rlnat --out /dev/null", "got 'rlnat': did you mean rlnet?"),
        ("--seed -1", "seed must be an integer of at least 0, got -1"),
        ("--partners clever", "must be one of smartbot, "),
        ("--policy smartbot,vdb,vdb", "policy must be one name or 2, one a seat"),
        ("--out /no/such/folder/x.html", "out must lie in a folder that exists"),
    ],
)
def test_what_it_refuses(saved: Path, line: str, says: str) -> None:
    done = run("analyse", saved, *line.split())
    assert done.exit_code == 2 and done.stdout == ""
    assert done.stderr.startswith("hanabi-search: ") and done.stderr.count("\n") == 1
    assert says in done.stderr
