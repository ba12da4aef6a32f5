"""``hanabi-search compile``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hanabi_search_plugin.cli import app
from hanabi_search_plugin.evaluation.match import Match


def test_what_was_compiled_is_not_compiled_again(tmp_path: Path) -> None:
    cached = os.environ | {"HANABI_SEARCH_CACHE_DIR": str(tmp_path)}

    def program(*arguments: str) -> str:
        command = [sys.executable, "-m", "hanabi_search_plugin", *arguments]
        done = subprocess.run(command, env=cached, capture_output=True, text=True, check=True)
        return done.stdout

    first = program("compile", "environments", "--players", "2")
    assert "nothing new" not in first and "environments" in first
    assert "nothing new" in program("compile", "environments", "--players", "2")
    assert len(list(tmp_path.rglob("*.bin"))) > 2


def test_an_interrupt_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the part alone that compiles."""
    tried = []

    def interrupted(match: Match, *arguments: Any, **options: Any) -> None:
        tried.append(match)
        raise KeyboardInterrupt

    monkeypatch.setattr(Match, "play", interrupted)
    result = CliRunner().invoke(app, ["compile", "bots", "--players", "2,3"])
    assert result.exit_code == 130 and len(tried) == 1


def test_bad_parts_and_players_are_refused() -> None:
    for arguments, message in (
        (["nonsense"], "a part must be one of"),
        (["--players", "2,x"], "numbers from 2 to 5"),
        (["--players", "6"], "players must be from 2 to 5"),
    ):
        result = CliRunner().invoke(app, ["compile", *arguments])
        assert result.exit_code == 2 and message in result.output
