"""Measure a search on OpenSpiel's hanabi beside its calls of it (docs/results/other_games.md).

A decision is timed as it is. Then all its calls of a ``pyspiel.State`` are recorded, and made again
in the same order with nothing between them; states are released where the decision was done with
them. Both sides are CPU time of Python programs; figures are medians over pairs of runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, sorted_deck

SMALL = "hanabi(players=2,colors=2,ranks=3,hand_size=2)"
FULL = "hanabi"
STATE_CALLS = (
    "apply_action", "chance_outcomes", "child", "clone", "current_player", "is_chance_node",
    "is_terminal", "legal_actions", "legal_actions_mask", "observation_string", "returns",
)  # fmt: skip
PARTICLES = 200


@dataclass
class Run:
    """Calls in a row on one state; the last one may make another state."""

    state: int  # its number
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = field(default_factory=list)
    made: int | None = None
    done: list[int] = field(default_factory=list)  # states that are not needed any more


class Tape:
    """The calls of ``pyspiel.State`` that are made within ``running``."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.calls = 0
        self._states: list[Any] = []  # by number
        self._numbers: dict[int, int] = {}  # of states, by their id
        self._roots: list[int] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        methods = {name: getattr(pyspiel.State, name) for name in STATE_CALLS}
        try:
            for name, method in methods.items():
                setattr(pyspiel.State, name, self._recorded(method))
            yield
        finally:
            for name, method in methods.items():
                setattr(pyspiel.State, name, method)
        last = {run.state: run for run in self.runs}
        last |= {
            run.made: run for run in self.runs if run.made is not None and run.made not in last
        }
        for number, run in last.items():
            if number not in self._roots:
                run.done.append(number)
        roots = {number: self._states[number] for number in self._roots}
        self._states = [roots.get(number) for number in range(len(self._states))]
        self._numbers.clear()

    def _recorded(self, method: Any) -> Callable[..., Any]:
        def called(state: Any, *given: Any) -> Any:
            result = method(state, *given)
            self._keep(state, method, given, result)
            return result

        return called

    def _keep(self, state: Any, method: Any, given: tuple[Any, ...], result: Any) -> None:
        if id(state) not in self._numbers:
            self._roots.append(self._number(state))
        number = self._numbers[id(state)]
        if not self.runs or self.runs[-1].state != number or self.runs[-1].made is not None:
            self.runs.append(Run(number))
        self.runs[-1].calls.append((method, given))
        self.calls += 1
        if isinstance(result, pyspiel.State):
            self.runs[-1].made = self._number(result)

    def _number(self, state: Any) -> int:
        self._numbers[id(state)] = len(self._states)
        self._states.append(state)  # kept, so that no other state gets its id
        return self._numbers[id(state)]

    def again(self) -> float:
        """Make the calls again; the CPU seconds."""
        states = self._states.copy()
        start = time.process_time()
        for run in self.runs:
            state = states[run.state]
            for method, given in run.calls:
                result = method(state, *given)
            if run.made is not None:
                states[run.made] = result
            result = state = None
            for number in run.done:
                states[number] = None
        return time.process_time() - start


def measure(name: str, rollouts: int, repeats: int) -> dict[str, Any]:
    """One decision at the start of a game, uniform blueprint: its cost, and that of its calls."""
    search = Sparta(rollouts=rollouts, pruning="off")
    belief = first_belief(name)

    def seconds() -> float:
        start = time.process_time()
        search(np.random.default_rng(1), belief)
        return time.process_time() - start

    tape = Tape()
    with tape.running():
        seconds()
    pairs = np.array([(seconds(), tape.again()) for _ in range(repeats)])
    times = pairs[:, 0] / pairs[:, 1]
    row = {"game": name, "rollouts": rollouts, "repeats": repeats, "belief": type(belief).__name__}
    row |= {"cpu_seconds": float(np.median(pairs[:, 0])), "calls": tape.calls}
    row |= {"calls_seconds": float(np.median(pairs[:, 1])), "times": float(np.median(times))}
    row["times_quartiles"] = [float(x) for x in np.quantile(times, [0.25, 0.75])]
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
