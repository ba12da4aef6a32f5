"""Measure what a bonus on the best score does (docs/searches/index.md, What it maximises).

python -m benchmarks.objectives --games 1000

SPARTA over SmartBot at one seat, which adds so many points to a perfect game, 10 for
``objective="perfect"``, all on the same decks. Resumable: finished games are kept in ``--folder``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error, with_error
from benchmarks.pages import fill, rewrite, write_results
from hanabi_search_plugin import Evaluation, HanabiGame, Sparta, evaluate, load_policy, upgrade
from hanabi_search_plugin.core import FloatArray
from hanabi_search_plugin.evaluation.provenance import describe, versions

DOCS = Path(__file__).parents[1] / "docs"
PAGE, RESULTS = DOCS / "searches" / "index.md", DOCS / "results" / "objectives.json"
PERFECT = 25
HEAD = "| bonus | score | more than without | perfect | more | CPU s |"
RULE = "|---|---|---|---|---|---|"

app = CommandLine(__doc__)


@dataclass(frozen=True)
class Bonus:
    """Points that a perfect game counts more than its score."""

    points: float

    def __call__(self, returns: FloatArray) -> FloatArray:
        return np.asarray(returns + self.points * (returns >= PERFECT))


@app.command()
def main(
    games: Annotated[int, typer.Option(help="Decks.")] = 1000,
    bonuses: Annotated[str, typer.Option(help="Points, besides none.")] = "3,10,30,100",
    seed: Annotated[int, typer.Option(help="Decides on everything.")] = 7,
    folder: Annotated[Path, typer.Option(help="Finished games are kept here.")] = Path(
        "runs/objectives"
    ),
) -> None:
    """Play the games; write the table and the figures."""
    game = HanabiGame(players=2, bomb="zero")
    bot = load_policy("smartbot", game)
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[float, Evaluation] = {}
    for points in (0.0, *map(float, bonuses.split(","))):
        agent = upgrade(bot, game, Sparta(objective=Bonus(points)))
        found[points] = evaluate(
            game, (bot, agent), games=games, seed=seed, threads=1, progress=True,
            resume=folder / f"{points:g}-{games}-{seed}.jsonl",
        )  # fmt: skip
    rows = {f"{points:g}": figures(one, found[0.0]) for points, one in found.items()}
    about = {"game": describe(game), "search": describe(Sparta()), "games": games, "seed": seed}
    write_results(RESULTS, {"parameters": about, "versions": versions(), "rows": rows})
    lines = [HEAD, RULE, *(row(points, one, found[0.0]) for points, one in found.items())]
    rewrite(PAGE, lambda text: fill(text, {"bonuses": lines}))
    print("\n".join(lines))


def figures(one: Evaluation, without: Evaluation) -> dict[str, Any]:
    """Means and their errors; perfect games as shares."""
    return {
        "score": mean_and_error(one.scores),
        "perfect": mean_and_error(one.scores == PERFECT),
        "cpu_seconds": round(one.to_dict()["cpu_seconds_per_game"], 3),
        "gain": mean_and_error(one.scores - without.scores),
        "perfect_gain": mean_and_error(more_perfect(one, without)),
    }


def row(points: float, one: Evaluation, without: Evaluation) -> str:
    """Of the table; perfect games in percent."""
    perfect = f"{100 * (one.scores == PERFECT).mean():.1f} %"
    more, more_often = "", ""
    if points:
        more = with_error(one.scores - without.scores, sign="+")
        more_often = f"{with_error(100 * more_perfect(one, without), 1, '+')} %"
    cells = f"{points:g}", with_error(one.scores), more, perfect, more_often
    return f"| {' | '.join(cells)} | {one.to_dict()['cpu_seconds_per_game']:.2f} |"


def more_perfect(one: Evaluation, without: Evaluation) -> FloatArray:
    """[games] 1 where only ``one`` is perfect, -1 where only ``without`` is."""
    return np.subtract(one.scores == PERFECT, without.scores == PERFECT, dtype=np.float64)


if __name__ == "__main__":
    app()
