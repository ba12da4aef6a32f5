"""Files that are damaged: one line that names the file, exit code 2, nothing else."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from hanabi_search_plugin.cli import app

DEEP = "[" * 100_000
TINY = "--colors 2 --ranks 2 --hand-size 2"
SEARCH = f"{TINY} --search sparta --rollouts 20 --min-rollouts 2"


def run(line: str, **named: Path) -> Any:
    words = [word.format(**named) for word in line.split()]
    return CliRunner().invoke(app, words)


def done(line: str, **named: Path) -> None:
    result = run(line, **named)
    assert result.exit_code == 0, (result.output, result.exception)


def refused(line: str, **named: Path) -> str:
    """The one line that says why."""
    result = run(line, **named)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stderr.startswith("hanabi-search: ") and result.stderr.count("\n") == 1
    return result.stderr.removeprefix("hanabi-search: ").rstrip("\n")


# -------------------------------------------------------------------- texts: observations, results


@pytest.mark.parametrize(
    "content",
    [DEEP, "[NaN]", "[[1], [2, 3]]", "[1e999]", "[9" + "9" * 400 + "]", '["a"]', "{}", ""],
)
def test_observations(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    assert str(path) in refused("decode {path} --players 2", path=path) or content == "[1e999]"


def test_observations_of_numpy(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(8))
    content = path.read_bytes()
    for shape in (b"(10**12,)", b"(True,)", b"(9,)   ", b"((),)"):
        path.write_bytes(content.replace(b"(8,), }", shape + b", }"))
        assert refused("decode {path}", path=path).startswith(f"{path}: expected numbers as JSON")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games that --resume has kept."""
    path = tmp_path_factory.mktemp("kept") / "kept.jsonl"
    done(f"evaluate {SEARCH} --games 2 --resume {{path}}", path=path)
    return path


LINES: list[dict[str, Any]] = [
    {"score": float("nan")}, {"score": float("inf")}, {"score": "x"}, {"side": ["policies"]},
    {"side": "us"}, {"game": True}, {"game": -1}, {"actions": 3}, {"actions": ["x"]},
    {"lives_left": "3"}, {"rollouts": None}, {"more": 1},
]  # fmt: skip


@pytest.mark.parametrize("change", LINES)
def test_values_of_another_kind_in_kept_games(
    kept: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "kept.jsonl"
    first, second, *rest = kept.read_text().splitlines()
    lines = [first, json.dumps(json.loads(second) | change), *rest]
    path.write_text("".join(f"{line}\n" for line in lines))
    said = refused(f"evaluate {SEARCH} --games 3 --resume {{path}}", path=path)
    assert said.startswith(f"{path}:2: expected a ")
    assert refused("compare {path} {path}", path=path).startswith(f"{path}: expected results of ")


def test_kept_games_that_nest(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text(f"{kept.read_text()}{DEEP}\n")
    said = refused(f"evaluate {SEARCH} --games 3 --resume {{path}}", path=path)
    assert "expected a JSON object: it is nested too deeply" in said


@pytest.mark.parametrize(
    "change",
    [{"mean": "x"}, {"games": "2"}, {"scores": ["x", 1]}, {"scores": 3}, {"seed": 0.5},
     {"game": []}, {"numbers": [[], 1]}, {"requested_games": 10**12, "games": 10**12}],
)  # fmt: skip
def test_results_of_another_kind(tmp_path: Path, change: dict[str, Any]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    done(f"evaluate {TINY} --policy random --games 2 --json {{good}}", good=good)
    content = json.loads(good.read_text())
    del content["numbers"]
    bad.write_text(json.dumps(content | change))
    assert refused("compare {good} {bad}", good=good, bad=bad).startswith(f"{bad}: expected res")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("games = 0", "games must be an integer of at least 1, got 0"),
        ("rollouts = -1\nsearch = 'sparta'", "rollouts must be an integer of at least 1, got -1"),
        ("hand-size = 99", "hand_size must be from 1 to 8, got 99"),
        ("policy = 'smrtbot'", "policy must be one of "),
        (f"policy = {DEEP}", "expected TOML: "),
        ('policy = "\\u001b"', "policy: arguments must have no control characters"),
    ],
)
def test_what_a_file_of_options_gave_names_it(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(content)
    assert refused("evaluate --config {path}", path=path).startswith(f"{path}: {says}")
    given = refused("evaluate --config {path} --games 0 --policy random", path=path)
    if says.startswith("games"):
        assert given == says  # the command line's own


# --------------------------------------------------------------------------- folders of `record`


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched") / "out"
    done(f"record {SEARCH} --games 2 --out {{folder}}", folder=folder)
    return folder


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name].reshape(-1)[0] = value

    return change


def _put(name: str, make: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name] = make(arrays[name])

    return change


CHANGES = {
    "mean must be float32": _put("mean", lambda x: x.astype(float)),
    "deck must be uint8 of shape": _put("deck", lambda x: x[:, :-1]),
    "first_player must be uint8 of shape": _put("first_player", lambda x: np.uint8(0)),
    "moves is missing": lambda arrays: arrays.pop("moves"),
    "a deck is none of this game": _set("deck", 200),
    "first_player must be from 0 to 1": _set("first_player", 9),
    "moves must be from -1 to ": _set("moves", 100),
    "a move follows the end": _set("moves", -1),
    "recorded score": _set("score", 99),
    "game must be from 0 to 1": _set("game", -7),
    "turn must be from 0 to ": _set("turn", 3000),
    "blueprint must be from 0": _set("blueprint", 101),
    "count must be from 0": _set("count", -1),
    "a decision is of no move": _set("seat", 7),
    "a decision is for a move that": _put("legal", np.zeros_like),
    "mean must be finite": _put("mean", lambda x: x * np.nan),
}


@pytest.mark.parametrize("says", CHANGES)
def test_arrays_of_searched_games(searched: Path, tmp_path: Path, says: str) -> None:
    folder = shutil.copytree(searched, tmp_path / "copy")
    path = folder / "00000.npz"
    with np.load(path) as file:
        arrays = dict(file)
    CHANGES[says](arrays)
    np.savez_compressed(path, **arrays)
    said = refused(f"record {SEARCH} --games 3 --out {{folder}}", folder=folder)
    assert said.startswith(f"{path}: expected a file of searched games: ") and says in said


def test_files_of_searched_games(searched: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(searched, tmp_path / "copy")
    path = folder / "00000.npz"
    whole = path.read_bytes()
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deck.npy", bytes(1000))
    claims = bomb.getvalue().replace((1000).to_bytes(4, "little"), b"\xff\xff\xff\x7f")
    for content in (b"", whole[:-9], whole[: len(whole) // 2], bytes(len(whole)), claims):
        path.write_bytes(content)
        said = refused(f"record {SEARCH} --games 3 --out {{folder}}", folder=folder)
        assert said.startswith(f"{path}: expected a file of searched games: ")
    for text in (DEEP, "[]", '{"format": 3}', "null"):
        (folder / "about.json").write_text(text)
        said = refused(f"record {SEARCH} --games 3 --out {{folder}}", folder=folder)
        assert said.startswith(f"{folder / 'about.json'}: expected ")


# ---------------------------------------------------------------------- networks and trainings


TRAIN = f"train distill {TINY} --games 4 --iterations 2 --set hidden=8 --evaluation-games 0"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("trained") / "run"
    done(f"{TRAIN} --out {{folder}}", folder=folder)
    return folder


def _header(content: bytes) -> tuple[dict[str, Any], bytes]:
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def _whole(header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def _about(content: bytes, **change: Any) -> bytes:
    header, body = _header(content)
    about = json.loads(header["__metadata__"]["about"]) | change
    header["__metadata__"]["about"] = json.dumps(about)
    return _whole(header, body)


def _retyped(content: bytes) -> bytes:
    header, body = _header(content)
    name = next(name for name in header if name != "__metadata__")
    header[name]["dtype"] = "F8_E5M2"
    header[name]["shape"] = [header[name]["data_offsets"][1] - header[name]["data_offsets"][0]]
    return _whole(header, body)


def _nested(content: bytes) -> bytes:
    header, body = _header(content)
    header["__metadata__"]["about"] = DEEP
    return _whole(header, body)


NETWORKS: dict[str, Callable[[bytes], bytes]] = {
    "got F8_E5M2": _retyped,
    "nested too deeply": _nested,
    "incomplete metadata": lambda content: content[:-1],
    "expected a whole network": lambda content: _about(content, architecture=["masks"]),
    "integer from 1 to 16384": lambda content: _about(content, options={"hidden": 10**9}),
    "must be of shape": lambda content: _about(content, options={"hidden": 4096}),
    "must hold finite numbers, got nan": lambda content: content[:-4] + b"\x00\x00\xc0\x7f",
    "players must be": lambda content: _about(content, config={"players": "x"}),
}


@pytest.mark.parametrize("says", NETWORKS)
def test_networks(trained: Path, tmp_path: Path, says: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(NETWORKS[says]((trained / "model.safetensors").read_bytes()))
    said = refused(f"evaluate {TINY} --games 1 --policy {{path}}", path=path)
    assert said.startswith(f"{path}: ") and says in said


STATES: dict[str, Callable[[bytes], bytes]] = {
    "its numbers are not those that were written": lambda content: content[:-1] + b"\x01",
    'done must be an integer, got "2"': lambda content: _about(content, done="2"),
    "done must be from 0 to 2": lambda content: _about(content, done=9),
    "seconds must be a finite number": lambda content: _about(content, seconds=[]),
    "parts must be a list of texts": lambda content: _about(content, parts=3),
    "its parts must be files of ": lambda content: _about(content, parts=["../x"]),
}


@pytest.mark.parametrize("says", STATES)
def test_the_state_of_a_training(trained: Path, tmp_path: Path, says: str) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    path = folder / "state.safetensors"
    path.write_bytes(STATES[says](path.read_bytes()))
    said = refused(f"{TRAIN} --out {{folder}}", folder=folder)
    assert said.startswith(f"{path}: expected the whole state of a run: ") and says in said


def test_metrics_of_other_bytes_are_no_hindrance(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    (folder / "metrics.jsonl").write_bytes(b"\xff\xfe\n{}\n")
    done(f"{TRAIN} --out {{folder}}", folder=folder)


@pytest.mark.parametrize("sizes", ["hidden=99999999999", "hidden=16384", "hidden=true"])
def test_networks_that_fit_no_memory(tmp_path: Path, sizes: str) -> None:
    pytest.importorskip("torch")
    line = f"train rl {TINY} --architecture public-lstm --set lstm_layers=999 --set {sizes}"
    said = refused(f"{line} --out {{folder}}", folder=tmp_path / "run")
    assert "hidden must be an integer" in said or "must have at most 268,435,456 numbers" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["evalfn-3", "partners"])
def test_evaluation_functions(tmp_path: Path, name: str) -> None:
    weights = Path(__file__).parents[2] / "hanabi_search_plugin/hanabi/bots/weights"
    whole = (weights / f"{name}.safetensors").read_bytes()
    path = tmp_path / "a.safetensors"
    asked = "--search ris-mcts --iterations 2 --evaluation {path} --rules table-2"
    if name == "partners":
        asked = "--search sparta --rollouts 20 --partners mixed-track --likelihoods {path}"
    line = f"evaluate {TINY} --games 1 {asked}"
    for content in (b"", whole[:-1], _retyped(whole), whole[:-4] + b"\x00\x00\xc0\x7f"):
        path.write_bytes(content)
        assert refused(line, path=path).startswith(f"{path}: expected a network ")
