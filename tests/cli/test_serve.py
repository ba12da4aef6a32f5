"""``hanabi-search serve``: what it refuses, what it says, and that Ctrl-C ends it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("starlette", reason="needs the extra web")
pytest.importorskip("uvicorn", reason="needs the extra web")
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.serving import web_server
from hanabi_search_plugin.serving.web_app import LiveTables

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--colors", "2", "--ranks", "2", "--hand-size", "2"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["serve", *map(str, arguments)])


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[LiveTables]:
    """The tables that a command would have served."""
    found: list[LiveTables] = []

    def serve(tables: LiveTables, listening: Any) -> None:
        found.append(tables)
        tables.close()

    monkeypatch.setattr(web_server, "run", serve)
    return found


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--host example.org", "host must be an IP address, as 127.0.0.1, got 'example.org'"),
        ("--port 70000", "port must be an integer from 0 to 65535, got 70000"),
        ("--tables 0", "tables must be an integer of at least 1, got 0"),
        ("--searches -1", "searches must be an integer of at least 0"),
        ("--seed -1", "seed must be an integer of at least 0"),
        ("--seats smartbot,smartbot", "seats must have a person, human"),
        ("--seats human,clever", "seats (human, or a policy) must be one of"),
        ("--seats human,smartbot --search sparta --search-seats 0", "must leave out seat 0"),
        ("--search joint-sparta", "joint-sparta searches at every seat, and seat 0 is a person's"),
        ("--analysis-belief rlnat", "got 'rlnat': did you mean rlnet?"),
        ("--analysis-belief rlnet --colors 3", "belief rlnet is for games of hanabi with"),
        ("--host 203.0.113.1 --port 0", "host and port must be free to listen at"),
    ],
)
def test_what_cannot_be_served_is_one_line(line: str, says: str) -> None:
    result = run(*line.split())
    assert result.exit_code == 2 and says in result.stderr
    assert result.stderr.count("\n") == 1 and result.stdout == ""


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("--port", taken.getsockname()[1])
    assert result.exit_code == 2 and "must be free to listen at" in result.stderr


def test_the_seats_and_the_form_have_addresses(served: list[LiveTables]) -> None:
    result = run("--port", 0, "--seats", "human,vdb,human", *SMALL, "--seed", 5)
    assert result.exit_code == 0, result.output
    (tables,) = served
    shown = dict(re.findall(r"^([^:]+): (http://127\.0\.0\.1:\d+/\S+)$", result.stdout, re.M))
    assert shown["other tables"].endswith(f"/{tables.token}/") and list(shown)[:2] == ["P0", "P2"]
    for name, address in shown.items():
        if name != "other tables":
            seat = tables.seats[address.split("/")[-2]]
            assert f"P{seat.number}" == name and seat.table.seed == 5
            assert seat.table.plan.names == ("human", "vdb", "human")
    assert "Ctrl-C ends it" in result.stderr and "warning" not in result.stderr


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("", ("human", "smartbot")),
        ("--policy vdb --players 3", ("human", "vdb", "vdb")),
        ("--policy vdb,smartbot,random", ("human", "smartbot", "random")),
        ("--seats vdb,human", ("vdb", "human")),
    ],
)
def test_the_first_seat_is_yours_unless_seats_are_named(
    served: list[LiveTables], line: str, names: tuple[str, ...]
) -> None:
    assert run("--port", 0, *SMALL, *line.split()).exit_code == 0
    assert served[0].open[0].plan.names == names


def test_the_belief_of_the_analysis_is_an_option(served: list[LiveTables]) -> None:
    for name in ("exact", "hints", "grounded"):
        assert run("--port", 0, *SMALL, "--analysis-belief", name).exit_code == 0
        shown = served[-1].open[0].plan.belief
        assert (shown if isinstance(shown, str) else shown.name) == name


def test_searching_seats_doubt_people_unless_they_are_told_otherwise(
    served: list[LiveTables],
) -> None:
    line = ["--port", 0, *SMALL, "--search", "sparta", "--rollouts", 500]
    for more, doubt in (([], 0.1), (["--uncertainty", 0.3], 0.3), (["--epsilon", 0.2], 0.0)):
        assert run(*line, *more).exit_code == 0
        plan = served[-1].open[0].plan
        assert plan.people == (0,) and plan.searches == (None, "sparta, 500 rollouts")
        assert plan.policies[1].uncertainty == doubt  # type: ignore[attr-defined]


def test_whoever_lets_others_in_is_warned(
    served: list[LiveTables], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    result = run("--host", "0.0.0.0", "--port", 0, *SMALL, "--open")
    assert result.exit_code == 0
    assert "warning: others reach this server at 0.0.0.0" in result.stderr
    assert len(opened) == 1 and opened[0] in result.stdout


def test_it_serves_until_it_is_interrupted() -> None:
    code = (  # where the tests run, interrupts may be ignored
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from hanabi_search_plugin.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", *SMALL, "--seed", "1"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http\S+", process.stdout.readline())
        assert found is not None
        with urllib.request.urlopen(found[0]) as page:
            assert b"A table of Hanabi" in page.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(found[0].replace("/seat/", "/seat/x"))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130 and "Traceback" not in err
    finally:
        process.kill()
        process.wait()
