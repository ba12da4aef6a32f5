"""Files and folders that another process writes are refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.kill_cases import GAME, SEARCH
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.evaluation.interrupts import uninterrupted
from hanabi_search_plugin.evaluation.locks import lock_folder, locked

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[None]:
    """Locked by another process, which is killed in the end."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from hanabi_search_plugin.evaluation.locks import lock_folder\n"
        "held = lock_folder(Path(sys.argv[1]))\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None and other.stdout.readline() == b"locked\n"
    try:
        yield
    finally:
        other.kill()
        other.communicate()


def test_a_folder_is_kept_by_one_process_until_it_ends(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path), pytest.raises(ConfigError, match="by another process: wait"):
        lock_folder(tmp_path)
    with locked(tmp_path), locked(tmp_path):  # this process may have it again
        pass
    kept = lock_folder(tmp_path)
    assert lock_folder(tmp_path) is kept
    del kept
    with held_elsewhere(tmp_path):
        pass


def test_commands_refuse_a_folder_that_another_one_writes(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = f"--out {tmp_path}"
    with held_elsewhere(tmp_path):
        for line in (
            f"record {out} {SEARCH} {GAME}",
            f"train distill {out} {GAME}",
            f"train evalfn {out}",
            f"train partners {out} --partners random,piers",
        ):
            result = CliRunner().invoke(app, line.split())
            assert result.exit_code == 2, result.output
            said = "is being written by another process: wait for it, or name another folder"
            assert result.stderr == f"hanabi-search: {tmp_path} {said}\n"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_waits_for_the_end_of_a_block() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may ignore it
    try:
        done = []
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("all of it")
        assert done == ["all of it"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
