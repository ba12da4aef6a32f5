"""Measure the hand-written blueprints, alone and under SPARTA (docs/results/blueprints.md).

python -m benchmarks.blueprints self-play              # 20,000 games a policy and player count
python -m benchmarks.blueprints sparta --threads 2     # 200 paired games a row, resumable
python -m benchmarks.blueprints original               # the rule agents beside the original ones
python -m benchmarks.blueprints tables                 # its page from what was measured
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error
from benchmarks.pages import figures_of, fill, read_results, rewrite, write_results
from hanabi_search_plugin import HanabiGame, Sparta, Streams, evaluate, load_policy, upgrade
from hanabi_search_plugin.core.rollout import start_memories
from hanabi_search_plugin.hanabi.bots.compiled import scripts_of
from hanabi_search_plugin.hanabi.engine.config import Bomb
from hanabi_search_plugin.hanabi.search.compiled_rollouts import play_out
from hanabi_search_plugin.registry import policies

ROOT = Path(__file__).resolve().parents[1]
SCORES = ROOT / "hanabi_search_plugin" / "hanabi" / "bots" / "scores.json"
SEARCHED = ROOT / "docs" / "results" / "sparta-blueprints.json"
PAGE = ROOT / "docs" / "results" / "blueprints.md"
NAMES_PAGE = ROOT / "docs" / "policies" / "blueprints.md"
ORIGINAL = ROOT / "docs" / "results" / "originals.json"
PLAYERS = (2, 3, 4, 5)
STRICT = [f"{entry.name}:strict" for entry in policies() if "strict" in entry.options]
CONVENTION = [
    f"{name}:convention={kind}"
    for name in ("iggi", "piers", "vdb")
    for kind in ("any-giver", "previous-player")
]
NAMES = [entry.name for entry in policies()] + STRICT + CONVENTION
ROWS = [f"{entry.name}/2" for entry in policies()]
ROWS += [f"{name}/{players}" for name in ("hatbot", "hatbot-b") for players in (3, 4, 5)]
ROWS += ["flawed/2/keep", "random/2/keep"]  # which lose every game: nothing to gain where that is 0
# For bots that have a tenth of a point left to gain: mostly games that are one point short.
PERFECT = Sparta(objective="perfect", threshold=0.01, rollouts=20_000, indifference=0.001)
ROWS += [f"hatbot-b/{players}/perfect" for players in (3, 4, 5)]
TOLD = {"keep": "points kept", "perfect": "for perfect games"}

# Means and standard errors of the original programs, 2 to 5 players; a lost game keeps its points,
# and a game in which no rule fires ends with the points it has. The first two from 20,000 games a
# cell, the others from 2,000.
ORIGINALS = {
    "smartbot": ((23.082, 0.013), (23.312, 0.010), (22.443, 0.010), (20.664, 0.010)),
    "hatbot": ((19.988, 0.015), (24.251, 0.007), (24.852, 0.003), (24.890, 0.003)),
    "hatbot-b": ((22.545, 0.039), (24.792, 0.012), (24.936, 0.007), (24.914, 0.008)),
    "random": ((1.20, 0.03), (1.21, 0.03), (1.20, 0.03), (1.24, 0.03)),
    "flawed": ((1.43, 0.04), (1.57, 0.04), (1.70, 0.04), (1.77, 0.04)),
    "internal": ((11.19, 0.05), (10.97, 0.05), (10.16, 0.05), (10.02, 0.04)),
    "outer": ((14.49, 0.05), (14.42, 0.05), (13.08, 0.05), (12.63, 0.04)),
    "clivej2": ((14.25, 0.05), (14.12, 0.04), (13.26, 0.04), (12.41, 0.04)),
    "cautious": ((16.66, 0.05), (17.18, 0.03), (16.35, 0.03), (15.20, 0.03)),
    "iggi": ((17.14, 0.04), (16.77, 0.03), (16.12, 0.03), (15.04, 0.03)),
    "iggi2": ((17.64, 0.05), (17.42, 0.03), (16.61, 0.03), (15.35, 0.03)),
    "piers": ((17.28, 0.04), (17.53, 0.04), (17.04, 0.03), (16.25, 0.03)),
    "vdb": ((13.68, 0.08), (17.75, 0.05), (17.30, 0.04), (16.22, 0.04)),
    "risky:threshold=0.6": ((10.77, 0.18), (16.21, 0.10), (16.34, 0.08), (15.86, 0.06)),
    "risky:threshold=0.75": ((11.05, 0.18), (16.72, 0.08), (16.53, 0.05), (15.69, 0.04)),
    "risky2": ((12.47, 0.08), (17.68, 0.05), (17.05, 0.04), (15.95, 0.04)),
}

app = CommandLine(__doc__)
console = Console(highlight=False)
Names = Annotated[str, typer.Option(help="Policies, by commas; default: all.")]
Threads = Annotated[int, typer.Option(help="Threads.")]


@app.command()
def self_play(games: int = 20_000, seed: int = 1, threads: Threads = 1, only: Names = "") -> None:
    """Measure every policy in self-play and keep the figures for `hanabi-search list`."""
    scores = read_results(SCORES)
    for name in only.split(",") if only else NAMES:
        rows: dict[str, Any] = scores.setdefault(name, {})
        for players in PLAYERS:
            # No policy knows the rule of the last life, so one run serves both conventions.
            game = HanabiGame(players=players, bomb="keep")
            policy = load_policy(name, game)
            result = evaluate(game, policy, games=games, seed=seed, threads=threads)
            lives = np.array([played.lives_left for played in result.games])
            rows[str(players)] = {
                "games": games,
                "seed": seed,
                "zero": mean_and_error(np.where(lives > 0, result.scores, 0.0)),
                "keep": mean_and_error(result.scores),
                "perfect": round(float((result.scores == 25).mean()), 5),
                "bombs": round(float((lives == 0).mean()), 5),
            }
            console.print(name, players, rows[str(players)])
            write_results(SCORES, scores)


@app.command()
def sparta(
    games: int = 200,
    rollouts: Annotated[int, typer.Option(help="Of a decision; rows of PERFECT have more.")] = (
        Sparta.rollouts
    ),
    seed: int = 7,
    threads: Threads = 1,
    only: Annotated[str, typer.Option(help="Rows, as hatbot/3,flawed/2/keep; default: all.")] = "",
    folder: Annotated[Path, typer.Option(help="Where finished games are kept.")] = ROOT / "runs",
) -> None:
    """SPARTA at one seat over each policy, on the same decks with and without; resumable."""
    logging.basicConfig(level=logging.ERROR)
    folder.mkdir(exist_ok=True)
    for key in only.split(",") if only else ROWS:
        name, players, *words = key.split("/")
        if set(words) - {"keep", "perfect"}:
            raise typer.BadParameter(f"rows must be of {', '.join(ROWS)}, got {key}")
        search = PERFECT if "perfect" in words else Sparta(rollouts=rollouts)
        lost: Bomb = "keep" if "keep" in words else "zero"
        game = HanabiGame(players=int(players), bomb=lost)
        policy = load_policy(name, game)
        agent = upgrade(policy, game, search=search)
        seats = tuple(agent if seat == 1 else policy for seat in range(game.num_players))
        kept = folder / f"sparta-{key.replace('/', '-')}-{search.rollouts}-{seed}.jsonl"
        result = evaluate(game, seats, games=games, seed=seed, threads=threads, resume=kept)
        row = figures_of(result) | {"rollouts": search.rollouts}
        measured = read_results(SEARCHED)
        measured[key] = row
        write_results(SEARCHED, measured)
        console.print(f"{key}: {_searched_row(row)}", markup=False)
        if result.interrupted:
            raise typer.Exit(130)


@app.command()
def original(games: int = 20_000, seed: int = 3, threads: Threads = 1, only: Names = "") -> None:
    """The bots and agents as their originals play, beside the originals' scores."""
    measured = read_results(ORIGINAL)
    for name in only.split(",") if only else ORIGINALS:
        for players, (mean, error) in zip(PLAYERS, ORIGINALS[name], strict=True):
            game = HanabiGame(players=players, bomb="keep")
            blueprint = (load_policy(name, game),) * players
            rng = np.random.default_rng([seed, players])
            worlds, streams = game.deal(rng, games), Streams.spawn(rng, games)
            memories = start_memories(worlds, blueprint)
            scripts = scripts_of(blueprint, game)
            assert scripts is not None
            ends = play_out(worlds, scripts, memories, streams, threads=threads, resign=True)
            ours, sem = mean_and_error(ends.returns[:, 0])
            row = {"games": games, "seed": seed, "mean": ours, "sem": sem}
            row |= {"original": mean, "original_sem": error}
            row["errors_apart"] = round((ours - mean) / math.hypot(sem, error), 2)
            row["no_rule_fired"] = round(float((~ends.terminal).mean()), 5)
            measured[f"{name}/{players}"] = row
            write_results(ORIGINAL, measured)
            console.print(name, players, row)


@app.command()
def tables() -> None:
    """Write what there is and what was measured into the pages."""
    for path, made_anew in ((PAGE, page), (NAMES_PAGE, names_page)):
        rewrite(path, made_anew)


def names_page(text: str) -> str:
    """docs/policies/blueprints.md with its list of names made anew."""
    return fill(text, {"names": names_table()})


def page(text: str) -> str:
    """docs/results/blueprints.md with its tables made anew from what was measured."""
    sections = {
        "self-play": self_play_table(NAMES[: len(policies())]),
        "strict": self_play_table(STRICT),
        "convention": self_play_table(CONVENTION),
        "original": original_table(),
        "sparta": sparta_table(),
    }
    return fill(text, sections)


def self_play_table(names: Iterable[str]) -> Iterable[str]:
    """Markdown: both conventions of the last life, 2 to 5 players."""
    yield "| policy | 2 players | 3 | 4 | 5 |"
    yield "|---|---|---|---|---|"
    scores = read_results(SCORES)
    for name in names:
        cells = []
        for players in PLAYERS:
            row = scores[name][str(players)]
            (zero, zero_sem), (keep, keep_sem) = row["zero"], row["keep"]
            cell = f"{zero:.3f} ± {zero_sem:.3f}"
            if row["bombs"] > 0:
                cell += f" / {keep:.3f} ± {keep_sem:.3f}"
            cells.append(cell)
        yield f"| `{name}` | {' | '.join(cells)} |"


def names_table() -> Iterable[str]:
    """Markdown: what there is."""
    yield "| name | what it is | whose |"
    yield "|---|---|---|"
    for entry in policies():
        options = ", ".join(f"`:{name}`" for name in entry.options)
        told = f" ({options})" if options else ""
        yield f"| `{entry.name}` | {entry.description}{told} | {entry.source} |"


def original_table() -> Iterable[str]:
    """Markdown: ours beside the original agents', and how many standard errors they are apart."""
    yield "| policy | 2 players | 3 | 4 | 5 | no rule fired |"
    yield "|---|---|---|---|---|---|"
    measured = read_results(ORIGINAL)
    for name in ORIGINALS:
        rows = [measured[f"{name}/{players}"] for players in PLAYERS]
        cells = [
            f"{row['mean']:.3f} ({row['original']} ± {row['original_sem']}, "
            f"{row['errors_apart']:+.1f})"
            for row in rows
        ]
        silent = " / ".join(f"{100 * row['no_rule_fired']:.1f}" for row in rows)
        yield f"| `{name}` | {' | '.join(cells)} | {silent} % |"


def sparta_table() -> Iterable[str]:
    """Markdown: what one searching seat adds."""
    yield (
        "| policy | players | games | without | with SPARTA | gain | perfect | bombs "
        "| CPU s a game | rollouts a game |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    measured = read_results(SEARCHED)
    for key in ROWS:
        if row := measured.get(key):
            name, players, *words = key.split("/")
            told = [TOLD[word] for word in words]
            yield f"| {', '.join([f'`{name}`', *told])} | {players} | {_searched_row(row)} |"


def _searched_row(row: dict[str, Any]) -> str:
    def pair(name: str) -> str:
        return f"{100 * row[f'blueprint_{name}']:.1f} → {100 * row[name]:.1f} %"

    def score(name: str, error: str, sign: str = "") -> str:
        digits = 3 if row[error] < 0.005 else 2
        return f"{row[name]:{sign}.{digits}f} ± {row[error]:.{digits}f}"

    return (
        f"{row['games']:,} | {score('blueprint_mean', 'blueprint_sem')} "
        f"| {score('mean', 'sem')} | {score('gain', 'gain_sem', '+')} "
        f"| {pair('perfect')} | {pair('bombs')} "
        f"| {row['cpu_seconds_per_game']:.1f} | {row['rollouts_per_game']:,.0f}"
    )


if __name__ == "__main__":
    app()
