"""Count steps a second of Hanabi as one Gymnasium vector environment (docs/results/speed.md).

    python -m benchmarks.vector_steps --seconds 3

A step is one action of the seat in one game, with its partner's answer; 2 players, games that end
begin anew in the same step. The actions are legal ones, uniformly drawn; the first column leaves
out what drawing them costs, the second is the whole loop. CPU time of one process; the best round
of each counts, so that a busy machine slows all alike.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium
import numpy as np

from hanabi_search_plugin.wrappers.gymnasium import ID

ROUNDS = 5
GAMES = 4096
PARTNERS = ("random", "vdb", "smartbot")
ENCODINGS: tuple[str | None, ...] = (None, "packed", "openspiel", "v0")


def chooser(games: int) -> Any:
    """A function of the masks that draws legal actions: the first one from a drawn place on."""
    rng = np.random.default_rng(0)
    rows = np.arange(games)

    def choose(mask: Any) -> Any:
        at = rng.integers(mask.shape[1], size=games)
        order = (rows[:, None], (at[:, None] + np.arange(mask.shape[1])) % mask.shape[1])
        return (at + mask[order].argmax(axis=1)) % mask.shape[1]

    return choose


def steps_a_second(env: Any, seconds: float) -> tuple[float, float]:
    """Steps a CPU second of the environment alone, and of the loop, over at least ``seconds``."""
    choose = chooser(env.num_envs)
    _, info = env.reset(seed=0)
    steps, inside, start = 0, 0.0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        actions = choose(info["action_mask"])
        before = time.process_time()
        *_, info = env.step(actions)
        inside += time.process_time() - before
        steps += env.num_envs
    return steps / inside, steps / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each environment")
    parser.add_argument("--games", type=int, default=GAMES, help="stepped at once")
    options = parser.parse_args()
    seconds = options.seconds / ROUNDS

    def show(name: str, env: Any) -> None:
        steps_a_second(env, 0.01)  # compiles
        rounds = [steps_a_second(env, seconds) for _ in range(ROUNDS)]
        alone, loop = (max(column) for column in zip(*rounds, strict=True))
        print(f"{name:<34}{alone:>12,.0f}{loop:>12,.0f}", flush=True)

    print(f"{options.games} games at once: steps a second      env    the loop")
    for partner in PARTNERS:
        for encoding in ENCODINGS:
            parameters: dict[str, Any] = {
                "partners": partner,
                "encoding": encoding,
                "autoreset_mode": "SameStep",
            }
            env = gymnasium.make_vec(ID, options.games, **parameters)
            show(f"{partner}, {encoding or 'no observations'}", env)
    env = gymnasium.make_vec(ID, 16, vectorization_mode="sync", partners="smartbot")
    show("smartbot, openspiel, one by one", env)


if __name__ == "__main__":
    main()
