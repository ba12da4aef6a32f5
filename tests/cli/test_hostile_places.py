"""Full disks and folders that cannot be written: one line, nothing half written, and it goes on."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from benchmarks.kill_cases import GAME, SEARCH
from benchmarks.kill_files import UNFINISHED, contents
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.evaluation.journal import Checkpoint
from tests.helpers.plain_user import obey_modes

ROOT = Path(__file__).resolve().parents[2]
EVALUATE = f"evaluate {SEARCH} --search-seats 1 {GAME} --games 6 --seed 5"
DISTILL = (
    f"train distill {GAME} --set hidden=8 --set context=4 --set scorer=4 --iterations 2 --games 4 "
    "--evaluation-games 0"
)


def run(line: str, folder: Path) -> Result:
    before = os.getcwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(app, line.split())
    finally:
        os.chdir(before)


def refused(result: Result) -> str:
    """The one line that says why."""
    assert result.exit_code == 2, (result.output, result.exception)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1 and lines[0].startswith("hanabi-search: "), result.stderr
    return lines[0].removeprefix("hanabi-search: ")


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file grows beyond ``size`` bytes."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


@pytest.mark.parametrize(
    ("line", "size", "named"),
    [
        (f"{EVALUATE} --json out.json", 100, "out.json"),
        (f"{EVALUATE} --save games.jsonl", 100, "games.jsonl"),
        (f"{EVALUATE} --resume run.jsonl", 2000, "run.jsonl"),
        (f"{EVALUATE} --resume run.jsonl --trace trace.jsonl", 4000, "trace.jsonl"),
        (f"record --out searched {SEARCH} {GAME} --games 6", 700, "searched/"),
        (f"{DISTILL} --out run", 300, "run/"),
    ],
    ids=["json", "save", "resume", "trace", "record", "training"],
)
def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, line: str, size: int, named: str
) -> None:
    if line.startswith("train"):
        pytest.importorskip("torch")
    whole, full = tmp_path / "whole", tmp_path / "full"
    whole.mkdir()
    full.mkdir()
    assert run(line, whole).exit_code == 0
    with full_disk(size):
        said = refused(run(line, full))
    assert said.endswith(": File too large") and named in said
    for path in contents(full):
        assert UNFINISHED not in path
        if path.endswith(".json"):
            json.loads((full / path).read_bytes())
    assert run(line, full).exit_code == 0
    assert contents(full) == contents(whole)


def test_a_device_that_is_full_is_named(tmp_path: Path) -> None:
    said = refused(run(f"{EVALUATE} --json /dev/full", tmp_path))
    assert said == "/dev/full: No space left on device"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("evaluate --config /dev/zero", "/dev/zero: expected at most 64 MiB"),
        ("decode /dev/zero", "/dev/zero: expected at most 64 MiB"),
        ("compare /dev/zero /dev/zero", "/dev/zero: expected at most 64 MiB"),
        ("replay /dev/zero", "/dev/zero:1: expected lines of at most"),
        ("view /dev/zero --out x.html", "/dev/zero:1: expected lines of at most"),
        ("evaluate --resume /dev/full", "resume must name a file, got a folder, a pipe or"),
        ("evaluate --policy network:file=/dev/zero", "file must be that of a network"),
    ],
)
def test_a_device_that_never_ends_is_refused(tmp_path: Path, line: str, says: str) -> None:
    if "network:" in line:
        pytest.importorskip("torch")
    assert refused(run(line, tmp_path)).startswith(says)


def test_a_trace_is_gone_on_with_after_the_games_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"{EVALUATE} --resume run.jsonl --trace trace.jsonl"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    assert run(line, whole).exit_code == 0
    left = 10  # a header, 6 games without the search, 3 with it
    append = Checkpoint.append

    def stop(journal: Checkpoint, game: dict[str, Any]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError("killed")
        append(journal, game)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "append", stop)
        assert run(line, killed).exit_code == 2
    trace = killed / "trace.jsonl"
    traced = {json.loads(decision)["game"] for decision in trace.open()}
    assert traced == {0, 1, 2, 3}  # the last one is not in the journal
    with trace.open("ab") as file:
        file.write(b'{"game":4,"tu')
    assert run(line, killed).exit_code == 0
    assert contents(killed) == contents(whole)


def test_what_is_no_trace_is_not_cut(tmp_path: Path) -> None:
    line = f"{EVALUATE} --resume run.jsonl --trace notes.txt"
    begun = f"{EVALUATE} --resume run.jsonl".replace("--games 6", "--games 2")
    assert run(begun, tmp_path).exit_code == 0
    for notes in (b"notes\n", b"notes", b'{"game": "chess"}\n[1]\n'):
        (tmp_path / "notes.txt").write_bytes(notes)
        assert "notes.txt: expected searched decisions" in refused(run(line, tmp_path))
        assert (tmp_path / "notes.txt").read_bytes() == notes


@pytest.mark.parametrize(
    "line",
    [
        f"{EVALUATE} --json out.json",
        f"record --out searched {SEARCH} {GAME}",
        f"{DISTILL} --out run",
        "train evalfn --out run",
        "reproduce sparta-table-1 --only SmartBot --out run",
    ],
    ids=["evaluate", "record", "distill", "evalfn", "reproduce"],
)
def test_a_read_only_folder_is_refused_before_the_work(tmp_path: Path, line: str) -> None:
    if line.startswith("train"):
        pytest.importorskip("torch")
    tmp_path.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-m", "hanabi_search_plugin", *line.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        preexec_fn=obey_modes,
        capture_output=True,
        text=True,
        check=False,
    )
    tmp_path.chmod(0o755)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "can be written" in done.stderr or done.stderr.endswith(": Permission denied\n")
    assert done.stdout == "" and list(tmp_path.iterdir()) == []
