"""The fuzz bench: that it finds what is wrong, and a slice of its cases."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
lines = pytest.importorskip("benchmarks.fuzz_lines")
child = pytest.importorskip("benchmarks.fuzz_child")
damage = pytest.importorskip("benchmarks.fuzz_damage")

ROOT = Path(__file__).resolve().parents[2]
CASES = 150


def test_a_slice_of_cases(tmp_path: Path) -> None:
    """The first cases of seed 0; the others are run by hand (docs/development/reliability.md)."""
    report = tmp_path / "report.json"
    line = [
        "-m",
        "benchmarks.fuzz",
        "--seed",
        "0",
        "--cases",
        str(CASES),
        "--jobs",
        "2",
        "--json",
        str(report),
    ]
    bench = subprocess.run(
        [sys.executable, *line],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert bench.returncode == 0, bench.stdout + bench.stderr
    found = json.loads(report.read_text())
    assert (found["cases"], found["failed"]) == (CASES, 0)
    assert found["kinds"]["refused"] > CASES / 3 and found["kinds"]["done"] > CASES / 20


# ----------------------------------------------------------------------------------- the judgement

ONE = b"hanabi-search: games must be an integer of at least 1, got 0\n"


def judged(
    code: int, err: bytes = b"", out: bytes = b"", *, stopped: str = "", words: str = "play"
) -> str | None:
    status = code << 8 if code >= 0 else -code
    case = lines.Case(words.split())
    failure: str | None = child._judged(case, status, out, err, stopped, "stack")[1]
    return failure


@pytest.mark.parametrize(
    ("code", "err", "out"),
    [(0, b"", b"score 3\n"), (2, ONE, b""), (2, b"warning: a\n" + ONE, b""), (130, b"", b"")],
)
def test_what_is_right(code: int, err: bytes, out: bytes) -> None:
    assert judged(code, err, out) is None
    assert judged(130, stopped="interrupted") is None
    assert judged(-signal.SIGKILL, stopped="compiling") is None
    assert judged(2, out=b"Usage:\n", words="train") is None


@pytest.mark.parametrize(
    ("code", "err", "out", "says"),
    [
        (1, b"hanabi-search: this went wrong inside: x\n", b"", "exit 1: hanabi-search: this went"),
        (3, b"", b"", "exit 3: nothing said"),
        (1, b"Traceback (most recent call last):\nKeyError: 3\n", b"", "traceback: KeyError: 3"),
        (0, b"\x1b[31m\n", b"", r"raw character '\\x1b' in stderr"),
        (0, b"", "a\u202eb".encode(), r"raw character '\\u202e' in stdout"),
        (0, b"", b"\xff", "stdout is no UTF-8"),
        (2, b"", b"", "not one line"),
        (2, ONE + ONE, b"", "not one line"),
        (2, ONE + b"more\n", b"", "not one line"),
        (2, b"hanabi-search: " + b"x" * 3000, b"", "a line of more than 2,000"),
        (-signal.SIGSEGV, b"", b"", "killed by SIGSEGV"),
    ],
)
def test_what_is_wrong(code: int, err: bytes, out: bytes, says: str) -> None:
    failure = judged(code, err, out)
    assert failure is not None and says.replace("\\\\", "\\") in failure
    assert judged(0, stopped="hang") == "hang: stack"
    assert judged(0, stopped="late") == "late: stack"


# ------------------------------------------------------------------------------ lines and damage


def test_every_option_of_every_command_is_fuzzed() -> None:
    known = lines.commands()
    names = {command.name for command in known}
    assert names >= {"evaluate", "record", "decode", "train rl", "train clone", "list"}
    seen = set()
    for number in range(4000):
        case, _ = lines.case_of(3, number, known)
        seen |= {word.partition("=")[0] for word in case.words}
    flags = {flag for command in known for option in command.options for flag in option.flags}
    assert flags <= seen


def test_a_case_is_the_same_by_itself() -> None:
    known = lines.commands()
    first = [lines.case_of(0, number, known)[0] for number in range(20)]
    again = [lines.case_of(0, number, known)[0] for number in reversed(range(20))]
    assert first == again[::-1] and first != [lines.case_of(1, n, known)[0] for n in range(20)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"a": [1, 2, {"b": "c"}]}'),
        ("a.jsonl", b'{"a": 1}\n{"a": 2}\n'),
        ("a.toml", b"a = 1\nb = 'x'\n"),
        ("entry_points.txt", b"[a]\nb = c:d\n"),
        ("a.txt", b"some text"),
    ],
)
def test_damage_changes_a_file_and_follows_from_chance(name: str, content: bytes) -> None:
    found = [damage.damaged(random.Random(i), content, name) for i in range(30)]
    assert found == [damage.damaged(random.Random(i), content, name) for i in range(30)]
    assert sum(one != content for one in found) > 20 and len(set(found)) > 15
