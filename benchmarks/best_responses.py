"""How much better than itself can a policy's partner be? (docs/results/best_responses.md)

python -m benchmarks.best_responses costs                 # CPU seconds a game of every row
python -m benchmarks.best_responses run --dry-run         # the rows by cost
python -m benchmarks.best_responses run --minutes 25      # plays on, the cheapest rows first
python -m benchmarks.best_responses tables                # writes docs/results/best_responses.md

A row is a policy, a number of players and what a lost last life costs: the policy at all seats, and
one searching seat among it, on the same decks. ``run`` keeps finished games in a folder and goes on
where it stopped.

How the seat searches depends on what a rollout of the policy and a hand of its exact belief cost:

* bots: SPARTA with its defaults, 10,000 rollouts and exact beliefs;
* bots that choose by a learned function, with hands of five: the same in hands that are drawn by
  hints and explain the partners' moves;
* networks: LBS with 200 rollouts, by the network's own belief or the model of its games.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.pages import figures_of, fill, read_results, rewrite, write_results
from hanabi_search_plugin import HanabiGame, Lbs, Sparta, evaluate, load_policy, upgrade
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.policy import has_values
from hanabi_search_plugin.core.words import counted, duration
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from hanabi_search_plugin.hanabi.engine.config import Bomb
from hanabi_search_plugin.networks.catalogue import network_models
from hanabi_search_plugin.registry import policies

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "best-responses.json"
PAGE = ROOT / "docs" / "results" / "best_responses.md"
SCORES = ROOT / "hanabi_search_plugin" / "hanabi" / "bots" / "scores.json"
PLAYERS = (2, 3, 4, 5)
TRIED = 2  # games that tell what a row costs
PART = 100  # games of a row that are played before the next look at the clock
COMPILED = {entry.name for entry in policies()}
LEARNED = ("evalfn", "evalfn-c", "rule-classifier")  # bots that choose by a learned function

app = CommandLine(__doc__)
console = Console(highlight=False)

Games = Annotated[int, typer.Option(help="Of a row.")]
Seed = Annotated[int, typer.Option(help="Of the decks.")]
Threads = Annotated[int, typer.Option(help="Threads.")]
Only = Annotated[str, typer.Option(help="Rows, as vdb/2/zero,piers/3/keep; default: all.")]


@dataclass(frozen=True)
class Searching:
    """What the seat beside a policy does; ``belief`` None is exact."""

    name: str
    search: Sparta
    belief: str | None = None

    @property
    def about(self) -> dict[str, Any]:
        """What is kept of it, beside what it scored."""
        return {"search": self.name, "rollouts": self.search.rollouts}


BESIDE_BOTS = Searching("SPARTA", Sparta())
BESIDE_LEARNED = Searching("SPARTA, drawn hands", Sparta(), "grounded")
BESIDE_NETWORKS = Searching(
    "LBS",
    Lbs(
        depth=12, rollouts=200, candidates=8, min_rollouts=12, round_size=25, deviations=1.0,
        threshold=0.1,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    players: int
    bomb: Bomb

    @property
    def key(self) -> str:
        return f"{self.name}/{self.players}/{self.bomb}"

    @property
    def searching(self) -> Searching:
        if self.name not in COMPILED:
            return replace(BESIDE_NETWORKS, belief=self.name)
        return BESIDE_LEARNED if self.name in LEARNED and self.players < 4 else BESIDE_BOTS

    def played(self, rows: dict[str, Any]) -> int:
        """Games of this row so far; those of another search do not count."""
        row = rows.get(self.key, {})
        return int(row["games"]) if self.searching.about.items() <= row.items() else 0

    def evaluate(self, games: int, seed: int, threads: int, kept: Path | None) -> Evaluation:
        """The policy at all seats, and the search at seat 1, on the same decks."""
        game = HanabiGame(players=self.players, bomb=self.bomb)
        policy, beside = load_policy(self.name, game), self.searching
        search = beside.search
        if not has_values(policy):
            search = replace(search, depth=None)
        agent = upgrade(policy, game, search, belief=beside.belief)
        seats = tuple(agent if seat == 1 else policy for seat in range(self.players))
        return evaluate(game, seats, games=games, seed=seed, threads=threads, resume=kept)


def all_rows() -> Iterator[Row]:
    """Every shipped policy and number of players; points kept where it ever loses a game."""
    scores = read_results(SCORES)
    for entry in policies():
        for players in PLAYERS:
            lost = scores[entry.name][str(players)]["bombs"]
            yield from _rows(entry.name, players, lost)
    for name, about in network_models().items():
        for model in about["models"]:
            if model["config"] in ({"players": p} | _hand(p) for p in PLAYERS):
                lost = model["self_play"]["bombs"]
                yield from _rows(name, model["config"]["players"], lost)


def _hand(players: int) -> dict[str, int]:
    return {"hand_size": 4} if players > 3 else {}


def _rows(name: str, players: int, lost: float) -> Iterator[Row]:
    yield Row(name, players, "zero")
    if lost > 0:
        yield Row(name, players, "keep")


def chosen(only: str) -> list[Row]:
    rows = list(all_rows())
    keys = {row.key for row in rows}
    wanted = set(filter(None, only.split(",")))
    if wanted - keys:
        raise typer.BadParameter(f"rows must be of {', '.join(sorted(keys))}")
    return [row for row in rows if not wanted or row.key in wanted]


@app.command()
def costs(only: Only = "", again: bool = False) -> None:
    """Play a few games of every row, and keep what one costs."""
    logging.basicConfig(level=logging.ERROR)
    for row in chosen(only):
        content = read_results(RESULTS)
        if row.key in content.get("cpu_seconds", {}) and not again:
            continue
        try:
            result = row.evaluate(TRIED, 1, 1, None)
        except UnsupportedError as error:
            console.print(f"{row.key}: {error}", markup=False)
            continue
        found = result.to_dict()["cpu_seconds_per_game"]
        content = read_results(RESULTS)  # another process may have written
        content.setdefault("cpu_seconds", {})[row.key] = round(found, 3)
        write_results(RESULTS, content)
        console.print(f"{row.key}: {found:.2f} CPU seconds a game", markup=False)


@app.command()
def run(
    games: Games = 1_000,
    seed: Seed = 7,
    threads: Threads = 1,
    only: Only = "",
    minutes: Annotated[float, typer.Option(help="Begin nothing after so many; 0: no end.")] = 0,
    folder: Annotated[Path, typer.Option(help="Where finished games are kept.")] = ROOT
    / "runs"
    / "best-responses",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the rows by cost.")] = False,
) -> None:
    """Play the rows, the cheapest first."""
    logging.basicConfig(level=logging.ERROR)
    content = read_results(RESULTS)
    done = content.get("rows", {})
    rows = chosen(only)
    known = _known(content, rows)
    rows.sort(key=lambda row: known.get(row.key, float("inf")))
    if dry_run:
        _list(rows, known, done, games)
        return
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    for row in rows:
        played = row.played(done)
        while played < games:
            if time.monotonic() >= end:
                return
            played = min(games, played + PART)
            rollouts = row.searching.search.rollouts
            kept = folder / f"{row.key.replace('/', '-')}-{rollouts}-{seed}.jsonl"
            result = row.evaluate(played, seed, threads, kept).whole()
            content = read_results(RESULTS)
            figures = figures_of(result) | row.searching.about
            content.setdefault("rows", {})[row.key] = figures
            write_results(RESULTS, content)
        console.print(f"{row.key}: {_cells(read_results(RESULTS)['rows'][row.key])}", markup=False)


def _known(content: dict[str, Any], rows: Iterable[Row]) -> dict[str, float]:
    """CPU seconds a game by row: of all games played, else of those that ``costs`` tried."""
    done = content.get("rows", {})
    played = {
        row.key: float(done[row.key]["cpu_seconds_per_game"]) for row in rows if row.played(done)
    }
    return content.get("cpu_seconds", {}) | played


def _list(rows: list[Row], known: dict[str, float], done: dict[str, Any], games: int) -> None:
    total = 0.0
    for row in rows:
        left = max(games - row.played(done), 0)
        if row.key not in known:
            console.print(f"{row.key}: cost not measured", markup=False)
            continue
        cost = known[row.key] * left
        total += cost
        console.print(
            f"{row.key}: {known[row.key]:.2f} CPU s a game, {counted(left, 'game')} left, "
            f"{duration(cost)}; {duration(total)} so far",
            markup=False,
        )


@app.command()
def tables() -> None:
    """Write what was measured into docs/results/best_responses.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/results/best_responses.md with its tables made anew."""
    return fill(text, {"best responses": table(), "cost": cost_table()})


def table() -> Iterable[str]:
    """Markdown: a line a row that was played."""
    done = read_results(RESULTS).get("rows", {})
    if not done:
        yield "No row has been played yet."
        return
    yield (
        "| policy | players | a lost game | games | search, rollouts | itself "
        "| one searching seat beside it | gain | perfect | CPU s a game |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in all_rows():
        if row.key in done:
            counts = "0" if row.bomb == "zero" else "its points"
            yield f"| `{row.name}` | {row.players} | {counts} | {_cells(done[row.key])} |"


def _cells(row: dict[str, Any]) -> str:
    return (
        f"{row['games']:,} | {row['search']}, {row['rollouts']:,} "
        f"| {row['blueprint_mean']:.2f} ± {row['blueprint_sem']:.2f} "
        f"| {row['mean']:.2f} ± {row['sem']:.2f} | {row['gain']:+.2f} ± {row['gain_sem']:.2f} "
        f"| {100 * row['blueprint_perfect']:.1f} → {100 * row['perfect']:.1f} % "
        f"| {row['cpu_seconds_per_game']:.2f}"
    )


def cost_table() -> Iterable[str]:
    """Markdown: what is left to play, by number of players."""
    content = read_results(RESULTS)
    done = content.get("rows", {})
    known = _known(content, all_rows())
    yield "| players | rows | played in full | cost of compiled bots | of networks |"
    yield "|---|---|---|---|---|"
    for players in PLAYERS:
        rows = [row for row in all_rows() if row.players == players]
        full = sum(row.played(done) >= 1_000 for row in rows)
        cells = []
        for kind in (True, False):
            part = [row for row in rows if (row.name in COMPILED) == kind and row.key in known]
            hours = sum(known[row.key] for row in part) * 1_000 / 3_600
            cells.append(f"{hours:.1f} CPU hours for {len(part)}" if part else "not measured")
        yield f"| {players} | {len(rows)} | {full} | {cells[0]} | {cells[1]} |"


if __name__ == "__main__":
    app()
