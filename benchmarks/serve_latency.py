"""Measure how long a table in a browser takes to answer a move (docs/how_to/serve.md).

    python -m benchmarks.serve_latency                       # docs/results/serve.json
    python -m benchmarks.serve_latency --seconds 5 --out -   # less, on the standard output

The server is ``hanabi-search serve``, a process of its own; 2 players, a person and SmartBot or
SPARTA over SmartBot with 1,000 rollouts a move. An answer takes from the click to when it is the
person's turn again: the person's move is played, all beliefs are updated, the other seat has
decided and its move is played, too. People play random hints and discards, which no policy would:
that is the dearest for beliefs. What is compiled for the first time is not counted.

* ``page``: headless Chromium, from the click on a button to the drawn answer; needs chromium and
  chromedriver, without them there is no such figure.
* ``socket``: one table, the same without a browser.
Beside each figure stand the CPU seconds that the server spent on an answer: unlike the others they
say the same on a busy machine.

* ``50 tables, a click in 10 seconds`` and ``50 tables, at once``: at every table somebody clicks
  some ten seconds after the last answer, as people do, or with no pause at all.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import websockets
from websockets.typing import Origin

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.provenance import versions

OUT = Path(__file__).resolve().parents[1] / "docs" / "results" / "serve.json"
BOTS: dict[str, dict[str, Any]] = {
    "smartbot": {"search": "none", "options": {}},
    "sparta, 1,000 rollouts": {"search": "sparta", "options": {"rollouts": 1_000}},
}
TABLES = 50
LEAD = 30  # moves
WARM = 3.0  # seconds of play that are not counted, before the figures of a bot
PAUSE = 10.0  # seconds between an answer and the next click, at a table of people


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """The address of the form of a server that runs, and its process id."""
    command = [sys.executable, "-m", "hanabi_search_plugin", "serve", "--port", "0", "--quiet"]
    command += ["--tables", "1000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"other tables: (\S+)", line):
                yield found[1], process.pid
                return
        raise SystemExit("the server did not start")
    finally:
        process.terminate()
        process.wait()


def open_table(form: str, bot: dict[str, Any], seed: int) -> str:
    """The address of the person's seat at a new table."""
    seats = [
        {"who": "person", "policy": "smartbot", "search": "none", "options": {}},
        {"who": "policy", "policy": "smartbot", **bot},
    ]
    wish = {"config": {"bomb": "keep"}, "advice": 1_000, "seats": seats, "seed": seed}
    request = urllib.request.Request(
        form + "tables", json.dumps(wish).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        path: str = json.load(answer)["seats"][0]["address"]
    return re.sub(r"(//[^/]*)/.*", r"\1", form) + path


def chosen(state: dict[str, Any], hand: int, rng: np.random.Generator) -> int:
    """A random hint or discard; a play where there is neither."""
    legal = [action for action, why in enumerate(state["moves"]) if why is None]
    return int(rng.choice([a for a in legal if not hand <= a < 2 * hand] or legal))


async def play(
    address: str, seed: int, start: asyncio.Barrier, seconds: float, pause: float
) -> list[float]:
    """Seconds of each answer at one table, game after game, once all are at the start.

    By then it has played up to LEAD moves that are not counted: tables of people are anywhere in
    their games.
    """
    rng, waited = np.random.default_rng(seed), list[float]()
    origin = Origin(re.sub(r"(//[^/]*)/.*", r"\1", address))
    socket_address = re.sub("^http", "ws", address) + "live"
    async with websockets.connect(
        socket_address, origin=origin, compression=None, max_size=None
    ) as socket:
        clicked, turns, hand, began = None, 0, 0, math.inf
        lead = int(rng.integers(LEAD))
        async for text in socket:
            message = json.loads(text)
            if message["kind"] == "game":
                turns, hand = len(message["game"]["turns"]), message["game"]["config"]["hand_size"]
            elif message["kind"] == "turns":
                turns = message["from"] + len(message["turns"])
            fits = message["kind"] == "state" and message["turn"] == turns - 1
            if not fits or message["readying"] or not (message["moves"] or message["ended"]):
                continue
            now = time.perf_counter()
            if clicked is not None and began < math.inf:
                waited.append(now - clicked)
            lead -= 1
            if lead == 0 or (lead < 0 and began == math.inf):
                clicked = None
                await start.wait()
                began = time.perf_counter()
                await asyncio.sleep(pause * rng.uniform())
            elif now - began > seconds:
                break
            elif began < math.inf:
                await asyncio.sleep(pause * rng.uniform(0.5, 1.5))
            if message["ended"]:
                clicked, ask = None, {"kind": "again", "turn": turns - 1}
            else:
                ask = {"kind": "move", "turn": turns - 1, "action": chosen(message, hand, rng)}
                clicked = time.perf_counter()
            await socket.send(json.dumps(ask))
    return waited


async def play_at(
    form: str, process: int, bot: str, tables: int, seconds: float, pause: float
) -> tuple[list[float], float]:
    """Seconds of each answer, and the server's CPU seconds an answer in the mean."""
    addresses = [open_table(form, BOTS[bot], seed) for seed in range(tables)]
    start, seen = asyncio.Barrier(tables + 1), list[float]()
    games = [
        asyncio.create_task(play(one, seed, start, seconds, pause))
        for seed, one in enumerate(addresses)
    ]
    await start.wait()
    before = cpu_seconds(process)
    for waited in await asyncio.gather(*games):
        seen += waited
    return seen, (cpu_seconds(process) - before) / max(len(seen), 1)


CLICK = """
const [done, seed] = [arguments[1], arguments[0]];
const offered = [...document.querySelectorAll('[data-key^="action "]')]
  .filter((e) => e.ariaDisabled === "false" && !e.ariaLabel.startsWith("Play"));
if (over() || table.moves === null || !offered.length) done(null);
else {
  const turn = lastTurn(), began = performance.now();
  const mine = () => over() || (table.moves !== null && table.turn === lastTurn());
  const look = () => (lastTurn() > turn && mine()
    ? done(performance.now() - began) : requestAnimationFrame(look));
  offered[seed % offered.length].click();
  requestAnimationFrame(look);
}
"""


def clicks(form: str, bot: str, seconds: float) -> list[float] | None:
    """Seconds from a click to the drawn answer in Chromium; None where there is none."""
    import shutil

    if None in map(shutil.which, ("chromium", "chromedriver")):
        return None
    from tests.helpers.browser import chromium

    waited: list[float] = []
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as driver:
        driver.set_script_timeout(120)
        began, seed = time.monotonic(), 0
        while time.monotonic() - began < seconds or len(waited) < 10:
            seed += 1
            driver.get(open_table(form, BOTS[bot], seed))
            ready = "return table !== null && !table.readying && table.moves !== null"
            while not driver.execute_script(ready):
                time.sleep(0.05)
            rng = np.random.default_rng(seed)
            for _ in range(40):
                found = driver.execute_async_script(CLICK, int(rng.integers(1_000)))
                if found is None:
                    break
                waited.append(found / 1_000)
    return waited


def figures(waited: list[float]) -> dict[str, float]:
    """What the answers took, in seconds."""
    return {
        "answers": len(waited),
        "median": round(float(np.median(waited)), 4),
        "99 of 100": round(float(np.quantile(waited, 0.99)), 4),
        "worst": round(max(waited), 4),
    }


def cpu_seconds(process: int) -> float:
    """CPU time of a process so far."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """Megabytes that a process has had at most."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return round(int(found[1]) / 1_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=30, help="of each figure, about")
    parser.add_argument("--out", default=str(OUT), help="- is the standard output")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    many = f"{TABLES} tables, "
    with server() as (form, process):
        for bot in BOTS:
            runs = {"socket": (1, 0.0), many + "a click in 10 seconds": (TABLES, PAUSE)}
            runs[many + "at once"] = (TABLES, 0.0)
            found[bot] = {}
            asyncio.run(play_at(form, process, bot, 1, WARM, 0.0))
            for name, (tables, pause) in runs.items():
                waited, cpu = asyncio.run(play_at(form, process, bot, tables, given.seconds, pause))
                found[bot][name] = figures(waited) | {"CPU, mean": round(cpu, 4)}
                print(f"{bot}, {name}: {found[bot][name]}", file=sys.stderr, flush=True)
            if (drawn := clicks(form, bot, given.seconds)) is not None:
                found[bot]["page"] = figures(drawn)
                print(f"{bot}, page: {found[bot]['page']}", file=sys.stderr, flush=True)
        peak = memory(process)
    content = {
        "command": "python -m benchmarks.serve_latency",
        "parameters": {"seconds": given.seconds, "tables": TABLES, "pause": PAUSE, "players": 2},
        "seconds from a move to its answer": found,
        "peak memory of the server, MB": peak,
        "processors": len(os.sched_getaffinity(0)),
        "load average": os.getloadavg(),
        "versions": versions(),
    }
    text = json.dumps(content, indent=2) + "\n"
    if given.out == "-":
        print(text, end="")
    else:
        with atomic_write(given.out) as file:
            file.write(text.encode())


if __name__ == "__main__":
    main()
