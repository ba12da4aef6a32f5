"""Measure where a search on OpenSpiel's own hanabi spends its time (docs/results/other_games.md).

A decision is timed as it is, and again with a clock around every call of a ``pyspiel.State`` and of
the policy, and around the release of states (their destructors are OpenSpiel's, too). The clock's
own cost is taken off. All is CPU time, but for calls of OpenSpiel, which are too short for that
clock: those take wall time, without the calls that another program has interrupted. Shares are
medians over pairs of runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyspiel

from hanabi_search_plugin import (
    Belief,
    HanabiConfig,
    HanabiGame,
    History,
    Sparta,
    UniformPolicy,
    private_belief,
)
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.beliefs.tracked_worlds import TrackedWorlds
from hanabi_search_plugin.core.rollout import start_memories
from hanabi_search_plugin.core.state_list import StateWorlds
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, sorted_deck

SMALL = "hanabi(players=2,colors=2,ranks=3,hand_size=2)"
FULL = "hanabi"
STATE_CALLS = (
    "apply_action", "chance_outcomes", "child", "clone", "current_player", "is_chance_node",
    "is_terminal", "legal_actions", "legal_actions_mask", "observation_string", "returns",
)  # fmt: skip
PARTICLES = 200
PARTS = ("pyspiel", "release", "policy")
INTERRUPTED = 100_000  # nanoseconds: no call of OpenSpiel takes so long


class Clock:
    """Seconds and calls by name, measured by replacing methods for a while."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()  # nanoseconds
        self.calls: Counter[str] = Counter()
        now, costs = time.perf_counter_ns, []
        for _ in range(10_001):
            start = now()
            costs.append(now() - start)
        self._overhead = sorted(costs)[5_000]  # of the clock between two readings

    def seconds(self, part: str) -> float:
        names = [name for name in self.spent if name.startswith(part)]
        overhead = self._overhead if part == "pyspiel" else 0
        return sum(self.spent[name] - overhead * self.calls[name] for name in names) * 1e-9

    @contextmanager
    def running(self, policy: type) -> Iterator[None]:
        """Clocks on all that is counted."""
        places = [(pyspiel.State, name, self._short(f"pyspiel {name}")) for name in STATE_CALLS]
        places += [(policy, name, self._long("policy")) for name in ("act", "observe", "start")]
        places += [(StateWorlds, "step", self._releasing)]
        before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
        try:
            for (owner, name, wrap), (*_, method) in zip(places, before, strict=True):
                setattr(owner, name, wrap(method))
            yield
        finally:
            for owner, name, method in before:
                setattr(owner, name, method)

    def _short(self, name: str) -> Callable[[Any], Any]:
        def wrap(method: Any) -> Any:
            now, spent, calls = time.perf_counter_ns, self.spent, self.calls

            def timed(*arguments: Any) -> Any:
                start = now()
                result = method(*arguments)
                if (elapsed := now() - start) < INTERRUPTED:
                    spent[name] += elapsed
                    calls[name] += 1
                return result

            return timed

        return wrap

    def _long(self, name: str) -> Callable[[Any], Any]:
        def wrap(method: Any) -> Any:
            def timed(*arguments: Any) -> Any:
                start = time.thread_time_ns()
                result = method(*arguments)
                self.spent[name] += time.thread_time_ns() - start
                return result

            return timed

        return wrap

    def _releasing(self, step: Any) -> Any:
        """Holds the states before a step until it is over, and times their release."""

        def timed(worlds: StateWorlds, actions: Any) -> Any:
            before = worlds.states
            event = step(worlds, actions)
            start = time.thread_time_ns()
            del before
            self.spent["release"] += time.thread_time_ns() - start
            return event

        return timed


def measure(name: str, rollouts: int, repeats: int) -> dict[str, Any]:
    """One decision at the start of a game, uniform blueprint: seconds and shares of the time."""
    belief, search = first_belief(name), Sparta(rollouts=rollouts, pruning="off")

    def seconds() -> float:
        start = time.thread_time()
        search(np.random.default_rng(1), belief)
        return time.thread_time() - start

    totals, shares = [], []
    for _ in range(repeats):
        totals.append(seconds())
        clock = Clock()
        with clock.running(UniformPolicy):
            seconds()
        shares.append([clock.seconds(part) / totals[-1] for part in PARTS])
    row = {"game": name, "rollouts": rollouts, "repeats": repeats, "belief": type(belief).__name__}
    row |= {"cpu_seconds": float(np.median(totals)), "moves": clock.calls["pyspiel child"]}
    row |= {
        f"{part}_share": float(x) for part, x in zip(PARTS, np.median(shares, axis=0), strict=True)
    }
    outside = 1 - np.sum(shares, axis=1)
    row["outside_share"] = float(np.median(outside))
    row["outside_quartiles"] = [float(x) for x in np.quantile(outside, [0.25, 0.75])]
    return row


def first_belief(name: str) -> Belief:
    """Seat 0's belief at the first decision: exact, or of particles where hands are too many."""
    game, blueprint = OpenSpielGame(name), (UniformPolicy(), UniformPolicy())
    rng = np.random.default_rng(0)
    dealt = game.deal(rng, 1)
    if name != FULL:
        return private_belief(game, blueprint, dealt.view(0))
    partners = dealt.states[0].history()[HanabiConfig().hand_size :]
    left = Counter(sorted_deck(HanabiGame())) - Counter(partners)
    states = []
    for _ in range(PARTICLES):
        own = rng.permutation(list(left.elements()))[: len(partners)].tolist()
        states.append(game.spiel.new_initial_state())
        for card in [*own, *partners]:
            states[-1].apply_action(card)
    worlds = game.worlds(states, rng)
    tracked = TrackedWorlds(worlds, np.ones(PARTICLES), start_memories(worlds, blueprint))
    return ParticleBelief(
        game, blueprint, History(0, (dealt.view(0),)), tracked, None, particles=PARTICLES, seed=0,
        epsilon=0.0, tries=PARTICLES,
    )  # fmt: skip
