"""Share the games of a training's round among workers.

The games are cut into parts with chance of their own. What is learned depends on how many parts
there are, which is a setting, and on nothing else: not on who plays them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.evaluation.executor import Executor, Place


class HasScores(Protocol):
    """Games in arrays; ``game`` of a row counts through ``scores``."""

    @property
    def scores(self) -> FloatArray: ...


Games = TypeVar("Games", bound=HasScores)
Play = Callable[..., Games]
"""Takes ``games`` and ``rng``, by name."""


def played_in_parts(
    play: Play[Games], games: int, parts: int | None, rng: np.random.Generator, executor: Executor
) -> list[Games]:
    """``games`` games in ``parts`` parts, in order; in one part they are played here.

    Takes one number of ``rng``, or in one part what ``play`` takes.
    """
    if parts is None or parts == 1:
        return [play(games=games, rng=rng)]
    seed = int(rng.integers(2**63))
    sizes = [len(part) for part in np.array_split(np.arange(games), parts)]
    chunks = [(size, (seed, number)) for number, size in enumerate(sizes) if size]
    return list(executor.map(_Part(play), chunks))


@dataclass(frozen=True)
class _Part:
    """The work: some games by a seed."""

    play: Play[Any]

    def __call__(self, chunk: tuple[int, tuple[int, int]], place: Place) -> Any:
        games, seed = chunk
        return self.play(games=games, rng=np.random.default_rng(seed))


def joined(parts: list[Games]) -> Games:
    """All parts as one: a dataclass of arrays, one behind the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    starts = np.cumsum([0, *(len(part.scores) for part in parts)])

    def together(name: str, values: list[Any]) -> Any:
        if values[0] is None:
            return None
        if is_dataclass(values[0]):
            return _fieldwise(values, together)
        if name == "game":
            values = [value + start for value, start in zip(values, starts, strict=False)]
        return np.concatenate(values)

    all_games: Games = _fieldwise(parts, together)
    return all_games


def _fieldwise(parts: list[Any], together: Callable[[str, list[Any]], Any]) -> Any:
    names = [one.name for one in fields(parts[0])]
    made = {name: together(name, [getattr(part, name) for part in parts]) for name in names}
    return type(parts[0])(**made)
