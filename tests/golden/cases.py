"""What a golden case is, and the games that most of them play."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.agent import MakeBelief
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game

FOLDER = Path(__file__).parents[1] / "data" / "golden"
EXACT = 1e-12  # relative; compiled code and NumPy
TENSORS = 1e-5  # what goes through PyTorch

Found = list[Any]  # plain JSON types: mostly decisions, a dict each


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums of tensors depend on the number of threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Case:
    """Something that is searched or played, the same every time."""

    name: str
    find: Callable[[], Found]
    needs: tuple[str, ...] = ()  # modules, without which there is nothing to compare
    tolerance: float = EXACT  # relative, of floats

    def __call__(self) -> Found:
        """What is found, as JSON gives it back."""
        with one_thread() if "torch" in self.needs else nullcontext():
            found = json.loads(json.dumps(self.find(), allow_nan=False))
        assert isinstance(found, list)
        assert found
        return found


class Cases(dict[str, Case]):
    """The cases of one file."""

    def add(
        self, name: str, find: Callable[[], Found], *needs: str, tolerance: float = EXACT
    ) -> None:
        assert name not in self
        self[name] = Case(name, find, needs, tolerance)

    def case(
        self, *needs: str, tolerance: float = EXACT
    ) -> Callable[[Callable[[], Found]], Callable[[], Found]]:
        """A decorator: the case has the function's name."""

        def keep(find: Callable[[], Found]) -> Callable[[], Found]:
            self.add(find.__name__, find, *needs, tolerance=tolerance)
            return find

        return keep


def decision(result: SearchResult) -> dict[str, Any]:
    """All numbers of a decision; no note and no depth where it has none, ``exact`` where it is."""
    content = result.to_dict()
    return {
        name: value
        for name, value in content.items()
        if value is not None and value != "" and value is not False
    }


def searched(
    game: Game, policies: Blueprint, *, seed: int = 0, skip: int = 0, keep: int = 2
) -> Found:
    """``keep`` searched decisions of one game, after the first ``skip`` of them."""
    worlds = game.deal(np.random.default_rng(seed), 1)
    streams = Streams.spawn(np.random.default_rng([seed, 1]), 1)
    found: Found = []
    for turn in play_game(worlds, policies, streams, (seed, 2)):
        if turn.result is not None:
            found.append({"turn": turn.number, "seat": turn.seat} | decision(turn.result))
        if len(found) == skip + keep:
            break
    return found[skip:]


def beliefs_along(
    game: Game, make: MakeBelief, policies: Blueprint, *, seed: int = 0, moves: int = 6
) -> Iterator[Belief]:
    """Seat 0's belief after each of the first ``moves`` events of a game without search."""
    worlds = game.deal(np.random.default_rng(seed), 1)
    belief = make(policies, worlds.view(0))
    streams = Streams.spawn(np.random.default_rng([seed, 1]), 1)
    for turn in play_game(worlds, policies, streams, (seed, 2)):
        after = worlds.select(np.zeros(1, dtype=np.int64))
        event = after.step(np.array([turn.action]))
        if turn.number == moves or after.terminal[0]:
            return
        belief = belief.update(event, after.view(0))
        yield belief
