"""Why games fall short of a perfect score (docs/results/networks.md).

    hanabi-search evaluate --policy beliefnet ... --resume run.jsonl
    python -m benchmarks.lost_points measure beliefnet run.jsonl
    python -m benchmarks.lost_points page

A point is lost to a card when the last copy of one that is still needed is gone, to time when the
game ends while it could still be scored, to lives where the last one is lost. The moves that
``evaluate --resume`` keeps are played again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error
from benchmarks.pages import fill, read_results, rewrite, write_results
from hanabi_search_plugin import HanabiConfig, HanabiGame
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.files.table_positions import possible_score

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "lost-points.json"
PAGE = ROOT / "docs" / "results" / "networks.md"
CAUSES = ("cards", "time", "lives")

app = CommandLine(__doc__)
console = Console(highlight=False)


def causes(game: HanabiGame, seed: int, played: dict[str, Any]) -> list[int]:
    """Points that one game lost, by CAUSES."""
    worlds, _ = deal_game(game, seed, played["game"])
    assert isinstance(worlds, HanabiWorlds)
    for action in played["actions"]:
        worlds.step(np.array([action]))
    best, score = game.config.max_score, round(played["score"])
    if not played["lives_left"]:
        return [0, 0, best - score]
    most = possible_score(game.config, worlds.rows[0])
    return [best - most, most - score, 0]


@app.command()
def measure(
    name: Annotated[str, typer.Argument(help="Under which the figures are kept.")],
    run: Annotated[Path, typer.Argument(help="A file of `evaluate --resume`.")],
) -> None:
    """Count the points that the searched games lost, and those without search."""
    header, *lines = map(json.loads, run.read_text().splitlines())
    told = header["parameters"]
    options = {key: value for key, value in told["game"].items() if key != "name"}
    game = HanabiGame(HanabiConfig(**options))
    found = {}
    for side in ("baseline", "policies"):
        games = [line for line in lines if line.get("side") == side]
        lost = np.array([causes(game, told["seed"], each) for each in games])
        figures = {cause: mean_and_error(lost[:, n]) for n, cause in enumerate(CAUSES)}
        found[side] = figures | {"games": len(games), "all": mean_and_error(lost.sum(axis=1))}
    content = read_results(RESULTS)
    content[name] = found
    write_results(RESULTS, content)
    console.print(found, markup=False)


@app.command(name="page")
def write_page() -> None:
    """Write what was measured into docs/results/networks.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    return fill(text, {"lost points": table()})


def table() -> Iterable[str]:
    """Markdown: a line for games without search, and one for each search on the same decks."""
    yield "| | games | lost points a game | a card was gone | no time was left | lives |"
    yield "|---|---|---|---|---|---|"
    shown: list[str] = []
    for name, found in read_results(RESULTS).items():
        for side, label in (("baseline", "without search"), ("policies", name)):
            row = found[side]
            cells = ("{:.3f} ± {:.3f}".format(*row[cause]) for cause in ("all", *CAUSES))
            shown.append(f"| {label} | {row['games']:,} | {' | '.join(cells)} |")
    yield from dict.fromkeys(shown)  # runs on the same decks share what is without search


if __name__ == "__main__":
    app()
