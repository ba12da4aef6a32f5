"""How does every policy play with every other? (docs/results/cross_play.md)

python -m benchmarks.cross_play run --players 2           # every cell, resumable
python -m benchmarks.cross_play run --players 2 --networks    # those of networks, too
python -m benchmarks.cross_play adapt --players 2         # a searching seat that knows no partner
python -m benchmarks.cross_play tables                    # writes the page and its pictures

A cell is one seat of the row's policy among seats that all play the column's. The one seat is every
seat in turn, on the same decks: with 1,000 games of 2 players 500 decks are played both ways, and
the standard error is of the decks' means. A lost game counts 0.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.best_responses import COMPILED, PLAYERS, Seed, Threads, chosen
from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error
from benchmarks.pages import fill, read_results, rewrite, write_results
from hanabi_search_plugin import HanabiGame, Sparta, UnknownPartners, evaluate, load_policy, upgrade
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.words import counted, duration

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "cross-play.json"
PAGE = ROOT / "docs" / "results" / "cross_play.md"
PICTURE = "cross_play_{players}.png"
OWN = "smartbot"  # what the searching seat follows after its move
SEARCHING = "sparta, partner unknown"
FEWEST = 10  # games of the searching seat that are shown

app = CommandLine(__doc__)
console = Console(highlight=False)

Players = Annotated[int, typer.Option(help="2 to 5.")]
Games = Annotated[int, typer.Option(help="Of a cell.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List what is left, and play nothing.")]
Minutes = Annotated[float, typer.Option(help="Begin nothing after so many; 0: no end.")]


def names_of(players: int, networks: bool) -> list[str]:
    """Compiled bots, then networks for so many players."""
    found = dict.fromkeys(row.name for row in chosen("") if row.players == players)
    return [name for name in found if networks or name in COMPILED]


def cell(
    game: HanabiGame, one: Policy, others: Policy, games: int, seed: int, threads: int
) -> dict[str, Any]:
    """``one`` at every seat in turn among ``others``, ``games`` in all."""
    decks = -(-games // game.num_players)
    scores, lost = np.zeros((game.num_players, decks)), 0.0
    began = time.process_time()
    for seat in range(game.num_players):
        table = tuple(one if p == seat else others for p in range(game.num_players))
        result = evaluate(game, table, games=decks, seed=seed, threads=threads, baseline=None)
        scores[seat] = [played.score for played in result.games]
        lost += sum(played.lives_left == 0 for played in result.games)
    mean, error = mean_and_error(scores.mean(axis=0))
    return {
        "games": scores.size,
        "mean": mean,
        "sem": error,
        "perfect": round(float((scores == game.config.max_score).mean()), 4),
        "bombs": round(lost / scores.size, 4),
        "cpu_seconds": round(time.process_time() - began, 3),
    }


@app.command()
def run(
    players: Players = 2,
    games: Games = 1_000,
    seed: Seed = 7,
    threads: Threads = 1,
    networks: Annotated[bool, typer.Option("--networks", help="With networks.")] = False,
    minutes: Minutes = 0,
    dry_run: DryRun = False,
) -> None:
    """Every cell that is not there yet."""
    names = names_of(players, networks)
    game = HanabiGame(players=players)
    found = _cells(players)
    left = [
        (one, others)
        for one in names
        for others in names
        if found.get(f"{one}|{others}", {}).get("games", 0) < games
    ]
    if dry_run:
        _list(left, found, games)
        return
    loaded = {name: load_policy(name, game) for name in names}
    end = time.monotonic() + 60 * minutes if minutes else math.inf
    for one, others in left:
        if time.monotonic() >= end:
            return
        _keep(
            players,
            {f"{one}|{others}": cell(game, loaded[one], loaded[others], games, seed, threads)},
        )
        console.print(
            f"{players} players, {one} among {others}: {_cells(players)[f'{one}|{others}']}"
        )


@app.command()
def adapt(
    players: Players = 2,
    games: Games = 100,
    rollouts: Annotated[int, typer.Option(help="Of a decision.")] = 1_000,
    seed: Seed = 7,
    threads: Threads = 1,
    minutes: Minutes = 0,
    folder: Annotated[Path, typer.Option(help="Where finished games are kept.")] = ROOT
    / "runs"
    / "cross-play",
    dry_run: DryRun = False,
) -> None:
    """One SPARTA seat, seat 1, that takes its partners for any compiled bot, all alike probable."""
    logging.basicConfig(level=logging.ERROR)
    names = names_of(players, False)
    game = HanabiGame(players=players)
    found = _cells(players)
    keys = {name: f"{SEARCHING}|{name}" for name in names}
    left = [name for name in names if found.get(keys[name], {}).get("games", 0) < games]
    if dry_run:
        _list([(SEARCHING, name) for name in left], found, games)
        return
    folder.mkdir(parents=True, exist_ok=True)
    candidates = [load_policy(name, game) for name in names]
    end = time.monotonic() + 60 * minutes if minutes else math.inf
    own = load_policy(OWN, game)
    agent = upgrade(own, game, Sparta(rollouts=rollouts), belief=UnknownPartners(candidates))
    for done in (2, 10, *range(20, games + 1, 20)):  # every column a little, then more of each
        for name in left:
            if time.monotonic() >= end or done > games:
                return
            if found.get(keys[name], {}).get("games", 0) >= done:
                continue
            partner = load_policy(name, game)
            seats = tuple(agent if seat == 1 else partner for seat in range(players))
            plain = tuple(own if seat == 1 else partner for seat in range(players))
            kept = folder / f"{players}-{name}-{rollouts}-{seed}.jsonl"
            result = evaluate(
                game, seats, games=done, seed=seed, threads=threads, baseline=plain, resume=kept
            ).whole()
            figures = result.to_dict()
            row = {
                "games": done,
                "mean": result.mean,
                "sem": result.sem,
                "perfect": result.perfect,
                "bombs": float(np.mean([one.lives_left == 0 for one in result.games])),
                "without": result.blueprint_mean,
                "gain": result.gain,
                "gain_sem": result.gain_sem,
                "cpu_seconds": done * figures["cpu_seconds_per_game"],
            }
            _keep(players, {keys[name]: row})
            console.print(f"{players} players, adapts to {name}: {row}", markup=False)


def _cells(players: int) -> dict[str, Any]:
    cells: dict[str, Any] = read_results(RESULTS).get(str(players), {})
    return cells


def _keep(players: int, cells: Mapping[str, Any]) -> None:
    content = read_results(RESULTS)
    content.setdefault(str(players), {}).update(cells)
    write_results(RESULTS, content)


def _list(left: list[tuple[str, str]], found: Mapping[str, Any], games: int) -> None:
    """What is left; its cost by the cells of the same policies that are there."""
    total, unknown = 0.0, 0
    for one, others in left:
        known = found.get(f"{one}|{others}") or found.get(f"{others}|{one}")
        if known is None:
            unknown += 1
            console.print(f"{one} among {others}: cost not measured", markup=False)
            continue
        cost = known["cpu_seconds"] / known["games"] * games
        total += cost
        console.print(f"{one} among {others}: {duration(cost)}", markup=False)
    console.print(
        f"{counted(len(left), 'cell')} left, {duration(total)}, {unknown} of unknown cost"
    )


@app.command()
def tables() -> None:
    """Write docs/results/cross_play.md and its pictures from what was measured."""
    for players in PLAYERS:
        if _cells(players):
            picture(players)
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/results/cross_play.md with its tables made anew."""
    sections = {f"cross-play {players}": matrix(players) for players in PLAYERS}
    return fill(text, sections | {"partners unknown": adapting()})


def _ordered(players: int) -> list[str]:
    """The policies of a matrix: those that play best with all others first."""
    found = _cells(players)
    names = [name for name in names_of(players, True) if f"{name}|{name}" in found]
    whole = [a for a in names if all(f"{a}|{b}" in found and f"{b}|{a}" in found for b in names)]
    return sorted(whole, key=lambda a: -float(np.mean([found[f"{a}|{b}"]["mean"] for b in whole])))


def matrix(players: int) -> Iterable[str]:
    """Markdown: the picture, and what each policy scores with itself and with others."""
    found, names = _cells(players), _ordered(players)
    if len(names) < 2:
        yield "Not measured yet."
        return
    yield f"![cross-play of {players} players]({PICTURE.format(players=players)})"
    yield ""
    yield "| policy | with itself | with others, the mean | best other | worst other |"
    yield "|---|---|---|---|---|"
    for name in names:
        same = found[f"{name}|{name}"]
        others = {other: found[f"{name}|{other}"]["mean"] for other in names if other != name}
        best, worst = max(others, key=others.__getitem__), min(others, key=others.__getitem__)
        yield (
            f"| `{name}` | {same['mean']:.2f} ± {same['sem']:.2f} "
            f"| {np.mean(list(others.values())):.2f} | `{best}` {others[best]:.2f} "
            f"| `{worst}` {others[worst]:.2f} |"
        )


def adapting() -> Iterable[str]:
    """Markdown: the searching seat beside each policy."""
    yield (
        f"| players | partners | games | `{OWN}` beside them | the searching seat | gain "
        "| CPU s a game |"
    )
    yield "|---|---|---|---|---|---|---|"
    for players in PLAYERS:
        found = _cells(players)
        for name in names_of(players, False):
            row = found.get(f"{SEARCHING}|{name}")
            if row is not None and row["games"] >= FEWEST:
                yield (
                    f"| {players} | `{name}` | {row['games']} | {row['without']:.2f} "
                    f"| {row['mean']:.2f} ± {row['sem']:.2f} "
                    f"| {row['gain']:+.2f} ± {row['gain_sem']:.2f} "
                    f"| {row['cpu_seconds'] / row['games']:.1f} |"
                )


def _mean(found: dict[str, Any], one: str, others: str) -> float:
    """The mean score of a cell; nan where it is not shown."""
    measured = found.get(f"{one}|{others}", {"games": 0})
    fewest = FEWEST if one == SEARCHING else 1
    return float(measured["mean"]) if measured["games"] >= fewest else math.nan


def picture(players: int) -> None:
    """The heat map of a matrix, and the searching seat as its last row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found, names = _cells(players), _ordered(players)
    if len(names) < 2:
        return
    rows = [*names, SEARCHING]
    values = np.array([[_mean(found, a, b) for b in names] for a in rows])
    if np.isnan(values[-1]).all():
        rows, values = names, values[:-1]
    figure = Figure(figsize=(2.5 + 0.42 * len(names), 1.8 + 0.36 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="viridis", vmin=0, vmax=25, aspect="auto")
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if np.isfinite(value):
                color = "black" if value > 14 else "white"
                axes.text(x, y, f"{value:.1f}", ha="center", va="center", size=6, color=color)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", size=7)
    axes.set_yticks(range(len(rows)), rows, size=7)
    axes.set_xlabel("all other seats")
    axes.set_ylabel("one seat")
    axes.set_title(f"Mean score, {players} players", size=9)
    figure.colorbar(image, ax=axes, shrink=0.8)
    with atomic_write(ROOT / "docs" / "results" / PICTURE.format(players=players)) as file:
        FigureCanvasAgg(figure).print_png(file, metadata={"Software": None})


if __name__ == "__main__":
    app()
