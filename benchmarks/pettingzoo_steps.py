"""Steps a second of PettingZoo's Hanabi and of ours, random legal moves, one process.

    python -m benchmarks.pettingzoo_steps --seconds 2

A step is what a loop over ``agent_iter`` does: ``last()``, a choice by the mask, ``step``; games
that end are reset. Ours and theirs alternate, so that a busy machine slows both alike; the best of
the rounds counts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

from hanabi_search_plugin.wrappers import pettingzoo as native

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a hint at another way to make environments
    from pettingzoo.classic import hanabi_v5

ROUNDS = 3
CHUNK = 500  # steps between looks at the clock


def steps_a_second(env: Any, seconds: float) -> float:
    """Steps a second of one environment, over at least ``seconds``."""
    draws = np.random.default_rng(0).random(CHUNK).tolist()
    env.reset(seed=0)
    steps, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        for draw in draws:
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.reset()
                observation = env.last()[0]
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(draw * len(legal))]))
        steps += CHUNK
    return steps / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each environment")
    seconds = parser.parse_args().seconds / ROUNDS
    print(f"{'environment':<16}{'hanabi_v5':>12}{'ours':>12}{'times':>8}")
    for players in (2, 3, 4, 5):
        for name in ("raw_env", "env"):
            best = [0.0, 0.0]
            for _ in range(ROUNDS):
                for k, module in enumerate((hanabi_v5, native)):
                    hand = 5 if players <= 3 else 4
                    env = getattr(module, name)(players=players, hand_size=hand)
                    if module is native:
                        steps_a_second(env, 0.01)  # compiles
                    best[k] = max(best[k], steps_a_second(env, seconds))
            theirs, ours = best
            print(f"{players} players {name:<6}{theirs:>12,.0f}{ours:>12,.0f}{ours / theirs:>8.0f}")


if __name__ == "__main__":
    main()
