"""How good are the hand-written blueprints, by themselves and with SPARTA on top?

python -m benchmarks.blueprints self-play              # 20,000 games a policy and player count
python -m benchmarks.blueprints sparta --threads 2     # 200 paired games a row, resumable
python -m benchmarks.blueprints tables                 # docs/blueprints.md from what was measured
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from hanabi_search_plugin import HanabiGame, Sparta, evaluate, load_policy, upgrade
from hanabi_search_plugin.blueprints.registry import policies
from hanabi_search_plugin.files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
SCORES = ROOT / "hanabi_search_plugin" / "blueprints" / "scores.json"
SEARCHED = ROOT / "docs" / "results" / "sparta-blueprints.json"
PAGE = ROOT / "docs" / "blueprints.md"
PLAYERS = (2, 3, 4, 5)
ROWS = [(entry.name, 2) for entry in policies()] + [
    (name, players) for name in ("hatbot", "hatbot-b") for players in (3, 4, 5)
]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console(highlight=False)
Names = Annotated[str, typer.Option(help="Policies, by commas; default: all.")]
Threads = Annotated[int, typer.Option(help="Threads.")]


@app.command()
def self_play(games: int = 20_000, seed: int = 1, threads: Threads = 1, only: Names = "") -> None:
    """Measure every policy in self-play and keep the figures for `hanabi-search list`."""
    scores = _read(SCORES)
    for name in only.split(",") if only else [entry.name for entry in policies()]:
        rows: dict[str, Any] = scores.setdefault(name, {})
        for players in PLAYERS:
            # No policy knows the rule of the last life, so one run serves both conventions.
            game = HanabiGame(players=players, bomb="keep")
            policy = load_policy(name, game.config)
            result = evaluate(game, policy, games=games, seed=seed, threads=threads)
            lives = np.array([played.lives_left for played in result.games])
            rows[str(players)] = {
                "games": games,
                "seed": seed,
                "zero": _mean_and_error(np.where(lives > 0, result.scores, 0.0)),
                "keep": _mean_and_error(result.scores),
                "perfect": round(float((result.scores == 25).mean()), 5),
                "bombs": round(float((lives == 0).mean()), 5),
            }
            console.print(name, players, rows[str(players)])
            _write(SCORES, scores)


@app.command()
def sparta(
    games: int = 200,
    rollouts: int = 10_000,
    seed: int = 7,
    threads: Threads = 1,
    only: Annotated[str, typer.Option(help="Rows, as hatbot/3,vdb/2; default: all.")] = "",
    folder: Annotated[Path, typer.Option(help="Where finished games are kept.")] = ROOT / "runs",
) -> None:
    """SPARTA at one seat over each policy, on the same decks with and without; resumable."""
    logging.basicConfig(level=logging.ERROR)
    folder.mkdir(exist_ok=True)
    rows = [(n, int(p)) for n, _, p in (row.partition("/") for row in only.split(",") if row)]
    for name, players in rows or ROWS:
        game = HanabiGame(players=players)
        policy = load_policy(name, game.config)
        agent = upgrade(policy, game, search=Sparta(rollouts=rollouts))
        seats = tuple(agent if seat == 1 else policy for seat in range(players))
        kept = folder / f"sparta-{name}-{players}p-{rollouts}-{seed}.jsonl"
        result = evaluate(game, seats, games=games, seed=seed, threads=threads, resume=kept)
        summary = result.to_dict()
        row = {key: value for key, value in summary.items() if _is_figure(value)}
        row |= {"rollouts": rollouts, "policy": name, "players": players}
        measured = _read(SEARCHED)
        measured[f"{name}/{players}"] = row
        _write(SEARCHED, measured)
        console.print(f"{name} {players}p: {_searched_row(row)}", markup=False)
        if result.interrupted:
            raise typer.Exit(130)


@app.command()
def tables() -> None:
    """Write the measured figures into docs/blueprints.md."""
    with atomic_write(PAGE) as file:
        file.write(page(PAGE.read_text()).encode())


def page(text: str) -> str:
    """docs/blueprints.md with its tables made anew from what was measured."""
    for name, lines in (("self-play", self_play_table()), ("sparta", sparta_table())):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}{''.join(line + chr(10) for line in lines)}{end}{after}"
    return text


def self_play_table() -> Iterable[str]:
    """Markdown: both conventions of the last life, 2 to 5 players."""
    yield "| policy | 2 players | 3 | 4 | 5 | what it is |"
    yield "|---|---|---|---|---|---|"
    scores = _read(SCORES)
    for entry in policies():
        cells = []
        for players in PLAYERS:
            row = scores[entry.name][str(players)]
            (zero, zero_sem), (keep, keep_sem) = row["zero"], row["keep"]
            cell = f"{zero:.2f} ± {zero_sem:.2f}"
            if row["bombs"] > 0:
                cell += f" / {keep:.2f} ± {keep_sem:.2f}"
            cells.append(cell)
        yield f"| `{entry.name}` | {' | '.join(cells)} | {entry.description}; {entry.source} |"


def sparta_table() -> Iterable[str]:
    """Markdown: what one searching seat adds."""
    yield (
        "| policy | players | games | without | with SPARTA | gain | perfect | bombs "
        "| CPU s a game | rollouts a game |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    measured = _read(SEARCHED)
    for name, players in ROWS:
        if row := measured.get(f"{name}/{players}"):
            yield f"| `{name}` | {players} | {_searched_row(row)} |"


def _searched_row(row: dict[str, Any]) -> str:
    def pair(name: str) -> str:
        return f"{100 * row[f'blueprint_{name}']:.1f} → {100 * row[name]:.1f} %"

    return (
        f"{row['games']} | {row['blueprint_mean']:.2f} ± {row['blueprint_sem']:.2f} "
        f"| {row['mean']:.2f} ± {row['sem']:.2f} | {row['gain']:+.2f} ± {row['gain_sem']:.2f} "
        f"| {pair('perfect')} | {pair('bombs')} "
        f"| {row['cpu_seconds_per_game']:.1f} | {row['rollouts_per_game']:,.0f}"
    )


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _mean_and_error(values: Any) -> list[float]:
    return [
        round(float(np.mean(values)), 4),
        round(float(np.std(values, ddof=1)) / math.sqrt(len(values)), 4),
    ]


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return content


def _write(path: Path, content: dict[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")


if __name__ == "__main__":
    app()
