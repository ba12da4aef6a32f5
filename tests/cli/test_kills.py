"""Killed commands go on as if nothing had been: a slice of ``benchmarks.kills``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.kill_cases import CASES, resumable
from benchmarks.kills import PAGE, Kill, page_table
from benchmarks.pages import fill

ROOT = Path(__file__).resolve().parents[2]
RECORDED = "docs/results/kills.json"


def test_every_command_that_goes_on_is_killed() -> None:
    assert {case.command for case in CASES} == set(resumable())


def test_the_page_shows_the_recorded_kills() -> None:
    kills = [Kill(**kill) for kill in json.loads((ROOT / RECORDED).read_text())["kills"]]
    page = (ROOT / PAGE).read_text()
    assert fill(page, {"kills": page_table(kills)}) == page
    assert len(kills) >= 200 and not [kill for kill in kills if kill.wrong]


def test_killed_commands_go_on_byte_for_byte(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    found = tmp_path / "kills.json"
    command = [sys.executable, "-m", "benchmarks.kills", "--count", "12", "--seed", "5"]
    done = subprocess.run(
        [*command, "--json", str(found)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kills = json.loads(found.read_text())["kills"]
    assert len(kills) >= 12 and not [kill for kill in kills if kill["wrong"]]
