"""Measure the page of a searched game: its size, and when it is first seen (docs/how_to/viewer.md).

    python -m benchmarks.game_page --times 10

SPARTA at one seat of 2-player SmartBot; of 20 games the first of 60 moves or more. Its page is
opened anew in headless Chromium; needs the extra dev, chromium and chromedriver.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine

MOVES = 60
PAINTED = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"

app = CommandLine(__doc__)


@app.command()
def main(times: Annotated[int, typer.Option(help="Openings of the page.")] = 10) -> None:
    """Search games, write the page of one, and open it."""
    from tests.helpers.browser import chromium, complaints, requests

    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as name, chromium(Path(name) / "profile") as driver:
        folder = Path(name)
        games, trace, page = (folder / each for each in ("games.jsonl", "t.jsonl", "game.html"))
        run("evaluate", "--search", "sparta", "--games", "20", "--seed", "7", "--quiet",
            "--save", games, "--trace", trace)  # fmt: skip
        lengths = [len(json.loads(line)["actions"]) for line in games.read_text().splitlines()]
        number = next(n for n, length in enumerate(lengths) if length >= MOVES)
        run("view", games, "--trace", trace, "--policy", "smartbot", "--game", str(number),
            "--out", page)  # fmt: skip
        console.print(f"{lengths[number]} moves: {page.stat().st_size / 1e6:.2f} MB")
        seen = []
        complaints(driver), requests(driver)
        for _ in range(times):
            driver.get("about:blank")
            driver.get(page.as_uri())
            while (painted := driver.execute_script(PAINTED)) is None:
                pass
            seen.append(float(painted))
        asked = set(requests(driver)) - {page.as_uri(), "about:blank"}
        console.print(f"first paint: median {np.median(seen):.0f} ms, worst {max(seen):.0f} ms")
        console.print(f"complaints: {len(complaints(driver))}, other requests: {len(asked)}")


def run(*line: str | Path) -> None:
    """A command of the package, in a process of its own."""
    subprocess.run(
        [sys.executable, "-m", "hanabi_search_plugin", *map(str, line)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


if __name__ == "__main__":
    app()
