"""``hanabi-search view``: the page it writes, the browser it opens, and what it refuses."""

from __future__ import annotations

import json
import re
import sys
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner, Result

from hanabi_search_plugin.cli import app
from hanabi_search_plugin.hanabi.files.records import write_games
from tests.helpers.ah2ac2_files import played, tensors

SMALL = ["--colors", "2", "--ranks", "3", "--hand-size", "2", "--policy", "smartbot"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def shown(page: Path) -> dict[str, Any]:
    """The document of a page."""
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', text, re.S)
    assert found is not None
    return dict(json.loads(found[1]))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two games and their trace."""
    folder = tmp_path_factory.mktemp("games")
    saved, trace = folder / "games.jsonl", folder / "trace.jsonl"
    line = ["evaluate", *SMALL, "--search", "sparta", "--rollouts", "200", "--min-rollouts", "10"]
    done = run(*line, "--games", 2, "--save", saved, "--trace", trace)
    assert done.exit_code == 0, done.output
    return saved, trace


def test_a_page_of_a_game_with_its_decisions(files: tuple[Path, Path], tmp_path: Path) -> None:
    saved, trace = files
    out, document = tmp_path / "game.html", tmp_path / "game.json"
    done = run(
        "view", saved, "--trace", trace, "--game", 1, "--policy", "smartbot", "--out", out,
        "--json", document,
    )  # fmt: skip
    assert done.exit_code == 0, (done.output, done.exception)
    assert f"written: {out}" in done.stdout.replace("\n", "")
    content = shown(out)
    assert content == json.loads(document.read_text())
    assert content["game"] == 1 and content["policies"] == ["smartbot"] * 2
    assert content["players"] == ["smartbot", "smartbot+sparta"]
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    searched = [number for number, turn in enumerate(content["turns"]) if turn["search"]]
    assert searched == [line["turn"] for line in lines if line["game"] == 1] != []


def test_without_a_trace_and_a_policy(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "game.html"
    assert run("view", files[0], "--out", out).exit_code == 0
    content = shown(out)
    assert content["game"] == 0 and content["policies"] is None
    assert not any(turn["search"] for turn in content["turns"])


def test_a_page_of_one_seat(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "game.html"
    assert run("view", files[0], "--seat", 1, "--out", out).exit_code == 0
    content = shown(out)
    assert content["seat"] == 1
    held = content["turns"][-1]["hands"][1]
    assert [order for order, card in enumerate(content["cards"]) if card is None] == held


@pytest.mark.parametrize("kind", ["hanab-live", "link", "a link", "ah2ac2"])
def test_games_of_other_formats(tmp_path: Path, kind: str) -> None:
    games, out, page = played(2, 2), tmp_path / "games", tmp_path / "game.html"
    given: object = out
    if kind == "ah2ac2":
        save_file(tensors(games), out)
    else:
        write_games(tmp_path / "games.jsonl", games)
        to = "link" if kind == "a link" else kind
        assert run("convert", tmp_path / "games.jsonl", out, "--to", to).exit_code == 0
        given = out.read_text().splitlines()[0] if kind == "a link" else out
    for command in (["view"], ["analyse", "--rollouts", 4]):
        done = run(*command, given, "--out", page)
        assert done.exit_code == 0, (done.output, done.exception)
        content = shown(page)
        assert len(content["turns"]) == len(games[0].actions) + 1
        assert content["cards"] == list(games[0].deck[: len(content["cards"])])


@pytest.mark.parametrize(
    ("opens", "says"), [(True, "opened in your browser"), (False, "no browser was found")]
)
def test_by_default_it_opens_a_browser(
    files: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    opens: bool,
    says: str,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: asked.append(url) or opens)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    done = run("view", files[0])
    assert done.exit_code == 0 and says in done.stdout
    page = Path(unquote(urlparse(asked[0]).path))
    assert page.is_relative_to(tmp_path) and shown(page)["game"] == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--game 9", "expected the number of one of its 2 games, 0 to 1, got 9"),
        ("--seat 2", "seat must be an integer from 0 to 1, got 2"),
        ("--policy clever", "policy must be one of smartbot, "),
        ("--policy smartbot,vdb,vdb", "policy must be one name or 2, one a seat"),
        ("--trace /no/such/file", "/no/such/file: No such file or directory"),
        ("--out /no/such/folder/x.html", "out must lie in a folder that exists"),
        ("--belief exact", "policy must name whose moves an exact belief understands, got none"),
        ("--belief hints --policy vdb", "policy is no option of the belief hints, got 'vdb'"),
        ("--belief particles", "belief must be one of exact, hints, grounded, smartnet, "),
        ("--belief rlnet", "belief rlnet is for games of hanabi with players 2"),
        ("--belief rlnat", "got 'rlnat': did you mean rlnet?"),
        ("--belief /tmp", "or a file, got /tmp, which is no file"),
        ("--belief grounded --seed -1", "seed must be an integer of at least 0, got -1"),
    ],
)
def test_what_it_refuses(files: tuple[Path, Path], line: str, says: str) -> None:
    done = run("view", files[0], *line.split())
    assert done.exit_code == 2 and done.stdout == ""
    assert done.stderr.startswith("hanabi-search: ") and done.stderr.count("\n") == 1
    assert says in done.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A belief model of games of rlnet, whose weights are as they were drawn."""
    pytest.importorskip("torch")
    from hanabi_search_plugin import HanabiGame
    from hanabi_search_plugin.networks.belief_files import save_belief
    from hanabi_search_plugin.networks.nets.belief_net import BeliefNet

    game = HanabiGame(players=2, colors=2, ranks=3, hand_size=2)
    network = BeliefNet(game, hidden=8, decoder=8, embedding=4)
    path = tmp_path_factory.mktemp("models") / "mine.safetensors"
    save_belief(path, game, network, {"policy": "rlnet"})
    return path


def test_a_learned_belief_of_a_file(files: tuple[Path, Path], model: Path, tmp_path: Path) -> None:
    pages = [tmp_path / "a.html", tmp_path / "b.html", tmp_path / "c.html"]
    for page, seed in zip(pages, (1, 1, 2), strict=True):
        done = run("view", files[0], "--belief", model, "--seed", seed, "--out", page)
        assert done.exit_code == 0, (done.output, done.exception)
    said = "warning: belief mine.safetensors has learned games of rlnet, and P0 plays smartbot, "
    assert said + "P1 plays smartbot+sparta" in done.stderr
    one, again, other = map(shown, pages)
    assert one == again and one["turns"] != other["turns"]
    assert one["belief"] == {
        "kind": "model", "name": "mine.safetensors", "policy": "rlnet", "samples": 1000,
    }  # fmt: skip


def test_who_plays_is_said_for_a_learned_belief(files: tuple[Path, Path], model: Path) -> None:
    line = ["view", files[0], "--belief", model, "--json", "-", "--policy"]
    done = run(*line, "vdb,smartbot")
    assert "and P0 plays vdb, P1 plays smartbot" in done.stderr
    assert json.loads(done.stdout)["policies"] == ["vdb", "smartbot"]
    assert json.loads(done.stdout)["belief"]["kind"] == "model"


@pytest.mark.parametrize("damage", ["cut", "text", "other game", "a policy's"])
def test_a_damaged_or_wrong_model(
    files: tuple[Path, Path], model: Path, tmp_path: Path, damage: str
) -> None:
    whole, bad = model.read_bytes(), tmp_path / "bad.safetensors"
    bad.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"{}")
    if damage == "other game":
        from hanabi_search_plugin import HanabiGame
        from hanabi_search_plugin.networks.belief_files import save_belief
        from hanabi_search_plugin.networks.nets.belief_net import BeliefNet

        game = HanabiGame(players=2, colors=2, ranks=3, hand_size=3)
        save_belief(bad, game, BeliefNet(game, hidden=8, decoder=8, embedding=4), {})
    elif damage == "a policy's":
        from hanabi_search_plugin.networks import models

        shipped = Path(models.__path__[0]) / "rlnet-players-2.safetensors"
        bad.write_bytes(shipped.read_bytes())
    says = {
        "cut": "expected a safetensors file",
        "text": "expected a safetensors file",
        "other game": "expected a game with hand_size 3, for which the model was made, got 2",
        "a policy's": "bad.safetensors: expected ",
    }[damage]
    done = run("view", files[0], "--belief", bad, "--out", tmp_path / "x.html")
    assert done.exit_code == 2 and done.stdout == ""
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "x.html").exists()


def test_a_learned_belief_without_pytorch(
    files: tuple[Path, Path], model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run("view", files[0], "--belief", model)
    assert done.exit_code == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "hanabi-search: a learned belief needs PyTorch: pip install" in done.stderr
    done = run("view", files[0], "--belief", "grounded", "--json", "-")
    assert done.exit_code == 0 and json.loads(done.stdout)["belief"]["name"] == "grounded"
