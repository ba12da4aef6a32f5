"""Count steps a second of PettingZoo's Hanabi and of ours (docs/results/speed.md).

    python -m benchmarks.pettingzoo_steps --seconds 3

A step is what a loop over ``agent_iter`` does: ``last()``, a choice by the mask, ``step``; games
that end are reset. The last column leaves out what the loop itself costs, measured with an
environment that does nothing. CPU time; the environments alternate, and the best round of each
counts, so that a busy machine slows all alike.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a hint at another way to make environments
    from pettingzoo.classic import hanabi_v5

from hanabi_search_plugin.wrappers import pettingzoo as native

ROUNDS = 5
CHUNK = 500  # steps between looks at the clock


class Nothing:
    """An environment that does nothing: what the loop costs by itself."""

    def __init__(self) -> None:
        mask = np.zeros(20, dtype=np.int8)
        mask[5:15] = 1  # half of the moves are legal
        self._last = ({"action_mask": mask}, 0.0, False, False, None)

    def reset(self, seed: int | None = None) -> None: ...

    def last(self) -> Any:
        return self._last

    def step(self, action: int) -> None: ...


def steps_a_second(env: Any, seconds: float) -> float:
    """Steps a second of one environment, over at least ``seconds``."""
    draws = np.random.default_rng(0).random(CHUNK).tolist()
    env.reset(seed=0)
    steps, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
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
    parser.add_argument("--seconds", type=float, default=3.0, help="for each environment")
    seconds = parser.parse_args().seconds / ROUNDS
    print("steps a second     hanabi_v5       ours  times  without the loop")
    floor = max(steps_a_second(Nothing(), seconds) for _ in range(ROUNDS))
    for players in (2, 3, 4, 5):
        for name in ("raw_env", "env"):
            hand = 5 if players <= 3 else 4
            envs = [
                getattr(module, name)(players=players, hand_size=hand)
                for module in (hanabi_v5, native)
            ]
            steps_a_second(envs[1], 0.01)  # compiles
            rounds = [[steps_a_second(env, seconds) for env in envs] for _ in range(ROUNDS)]
            theirs, ours = (max(column) for column in zip(*rounds, strict=True))
            alone = (1 / theirs - 1 / floor) / (1 / ours - 1 / floor)
            print(
                f"{players} players {name:<8}{theirs:>10,.0f}{ours:>11,.0f}"
                f"{ours / theirs:>7.0f}{alone:>18.0f}"
            )
    print(f"the loop alone{floor:>25,.0f}")


if __name__ == "__main__":
    main()
