"""What does a judge cost, and does chance decide on its rewards? (docs/how_to/judge.md)

python -m benchmarks.judge speed --positions 1000
python -m benchmarks.judge noise --positions 100

Positions in words are of SmartBot's games, one move in 25 random. ``speed``: CPU time of a
position, by text alone, and of whole games of SmartBot by their histories. ``noise``: rewards by
1,000 rollouts beside those by 20 times as many worlds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import typer

from benchmarks.command_line import CommandLine
from hanabi_search_plugin import HanabiGame
from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.judge import Judge, judged_lines, observation_text, play_games
from hanabi_search_plugin.registry import load_policy

app = CommandLine(__doc__)

SLIPS = 0.04  # share of random moves
MUCH = 20  # times as many rollouts

Positions = Annotated[int, typer.Option(help="How many.")]
Players = Annotated[int, typer.Option(help="2 to 5.")]
Rollouts = Annotated[int, typer.Option(help="A move.")]
Seed = Annotated[int, typer.Option(help="Of the games.")]
Workers = Annotated[int, typer.Option("--threads", help="Threads.")]


def played(players: int, seed: int, slips: float) -> Iterator[RecordedGame]:
    game = HanabiGame(players=players)
    bot = Mixture([load_policy("smartbot", game)], epsilon=slips)
    yield from play_games(game, bot if slips else "smartbot", 1_000_000, seed)


def texts_of(records: Iterator[RecordedGame]) -> Iterator[str]:
    """Every position of these games, as its player reads it."""
    for record in records:
        worlds = HanabiGame(record.config).from_decks([record.deck])
        for action in record.actions:
            seat = int(worlds.current_player[0])
            yield observation_text(record.config, worlds.rows[0], seat)
            worlds.step(np.array([action]))


def some(players: int, seed: int, positions: int) -> list[str]:
    """``positions`` texts, one game after the other."""
    found = texts_of(played(players, seed, SLIPS))
    return [next(found) for _ in range(positions)]


@app.command()
def speed(
    positions: Positions = 1_000,
    players: Players = 2,
    rollouts: Rollouts = 1_000,
    seed: Seed = 1,
    threads: Workers = 1,
) -> None:
    """CPU seconds, from text alone and from whole games."""
    judge = Judge("smartbot", rollouts=rollouts)
    texts = some(players, seed, positions)
    judge.many(texts[:50], threads=threads)  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    verdicts = judge.many(texts, threads=threads)
    report("text alone", verdicts_n=len(verdicts), wall=wall, cpu=cpu)
    wall, cpu, done = time.perf_counter(), time.process_time(), 0
    for lines in judged_lines(judge, played(players, seed, 0.0), Threads(threads)):
        done += len(lines)
        if done >= positions:
            break
    report("whole games", verdicts_n=done, wall=wall, cpu=cpu)


def report(what: str, *, verdicts_n: int, wall: float, cpu: float) -> None:
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(
        f"{what}: {verdicts_n:,} positions, {cpu:.1f} CPU s, {wall:.1f} s; "
        f"{1000 * cpu / verdicts_n:.0f} CPU ms a position"
    )


@app.command()
def noise(
    positions: Positions = 100,
    players: Players = 2,
    rollouts: Rollouts = 1_000,
    seed: Seed = 1,
    threads: Workers = 1,
) -> None:
    """Rewards beside those by many more rollouts."""
    texts = some(players, seed, 20 * positions)[::20]
    few = Judge("smartbot", rollouts=rollouts).many(texts, threads=threads)
    many = Judge("smartbot", rollouts=MUCH * rollouts, seed=1).many(texts, threads=threads)
    here = np.concatenate([one.rewards for one in few])
    there = np.concatenate([one.rewards for one in many])
    regret = np.concatenate([one.regrets for one in many])
    good, bad = regret < 0.02, regret > 0.5
    best = np.mean([one.reward(other.best) for one, other in zip(many, few, strict=True)])
    lines = (
        f"{len(texts)} positions, {len(here):,} moves, {rollouts:,} rollouts",
        f"mean difference of rewards {np.mean(here - there):+.3f}, "
        f"absolute {np.abs(here - there).mean():.3f}, correlation "
        f"{np.corrcoef(here, there)[0, 1]:.3f}",
        f"moves within 0.02 points of the best: {good.sum()}, rewarded with less than 0.95: "
        f"{(here[good] < 0.95).mean():.1%}",
        f"moves 0.5 points behind and more: {bad.sum()}, rewarded with 1: "
        f"{(here[bad] == 1).mean():.1%}",
        f"reward of the move that is called best: {best:.3f}",
    )
    print("\n".join(lines))


if __name__ == "__main__":
    app()
