"""Compare the native engine with OpenSpiel over many random games (README.md).

    python -m benchmarks.openspiel_parity --games 100000 --jobs 2

Game k depends on seed k alone: continue a stopped run with ``--first-seed``. Ends with one line
and exit code 0, or with the first game that differs and exit code 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from tests.helpers.openspiel_hanabi import compare_game, random_config

CHUNK = 50  # games a task


def compare_chunk(seeds: range) -> tuple[int, str | None]:
    """Moves played, and the first difference in words."""
    moves = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        config = random_config(rng)
        try:
            moves += compare_game(config, seed, "careful" if rng.random() < 0.5 else "any")
        except AssertionError as error:
            return moves, f"seed {seed}, {config}: {error}"
    return moves, None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    if options.games < 1 or options.jobs < 1 or options.first_seed < 0:
        parser.error("--games and --jobs must be at least 1, --first-seed at least 0")
    last = options.first_seed + options.games
    chunks = [
        range(start, min(start + CHUNK, last)) for start in range(options.first_seed, last, CHUNK)
    ]
    columns = ("games", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    began, games, moves, difference = time.monotonic(), 0, 0, None
    # Fresh processes: forking is not safe once threads run.
    pool = multiprocessing.get_context("spawn").Pool(options.jobs)
    with pool, Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("games", total=options.games)
        try:
            for chunk, (played, difference) in zip(
                chunks, pool.imap(compare_chunk, chunks), strict=True
            ):
                moves += played
                if difference is not None:
                    break
                games += len(chunk)
                progress.update(task, completed=games)
        except KeyboardInterrupt:
            pass
    if difference is not None:
        print(f"DIFFERENT from OpenSpiel: {difference}")
        return 1
    seconds = time.monotonic() - began
    print(
        f"identical to OpenSpiel: {games} games, {moves} moves, seeds {options.first_seed} to "
        f"{options.first_seed + games - 1}, {seconds:.0f} s"
        + (
            ""
            if games == options.games
            else f" (stopped; go on with --first-seed {options.first_seed + games})"
        )
    )
    return 0 if games == options.games else 130


if __name__ == "__main__":
    sys.exit(main())
