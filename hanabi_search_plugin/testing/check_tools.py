"""What the checks share."""

from __future__ import annotations

import reprlib
from collections import deque
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.game import Event, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.core.policy import Memory, Policy, Shared
from hanabi_search_plugin.core.words import counted

TOLERANCE = 1e-9  # of exact probabilities
SIGMAS = 5.0  # standard deviations that a frequency may be off
TWIN_TRIES = 8  # draws of hidden information before taking one that looks the same to all
TWIN_PARTICLES = 30  # to draw them from where a game cannot list its worlds
RANDOM_MOVES = 0.25  # of those that a check of an agent plays
FREQUENCY_SAMPLES = 2_000

ONE = np.array([0])


def require(true: bool, otherwise: str) -> None:
    if not true:
        raise ContractError(otherwise)


def require_frequencies(often: FloatArray, chance: FloatArray, n: int, otherwise: str) -> None:
    """Frequencies in n draws within SIGMAS, and none where the chance is 0."""
    margin = SIGMAS * np.sqrt(chance * np.maximum(1 - chance, 0) / n) + np.where(
        chance > 0, 5 / n, 0.0
    )
    worst = int((abs(often - chance) - margin).argmax())
    require(
        bool((abs(often - chance) <= margin + TOLERANCE).all()),
        f"{otherwise}: expected {chance[worst]:.4f}, got {often[worst]:.4f} in {n} draws",
    )


def seen_in(view: View) -> list[Hashable]:
    """[B] all that a seat learns from a view: keys may leave out whether it is to move, and how."""
    return [(key, row.tobytes()) for key, row in zip(view.keys(), view.legal, strict=True)]


def joint(worlds: Worlds) -> list[tuple[Hashable, ...]]:
    """[B] what all seats see, together."""
    seen = [seen_in(worlds.view(p)) for p in range(worlds.game.num_players)]
    return list(zip(*seen, strict=True))


def random_legal(legal: Any, rng: np.random.Generator) -> IntArray:
    return np.array([rng.choice(np.flatnonzero(row)) for row in legal], dtype=np.int64)


def close_to(a: dict[Any, float], b: dict[Any, float]) -> bool:
    return all(abs(a.get(key, 0.0) - b.get(key, 0.0)) < TOLERANCE for key in a.keys() | b.keys())


def name_of(policy: Policy) -> str:
    return type(policy).__name__


def started(policy: Policy, view: View) -> Memory:
    """[B] the memory of ``policy`` at its first view, checked."""
    return require_memory(policy, view, "start", policy.start(view))


def observed(policy: Policy, view: View, event: Event, memory: Memory) -> Memory:
    """[B] the memory of ``policy`` after an event, checked."""
    return require_memory(policy, view, "observe", policy.observe(view, event, memory))


def require_memory(policy: Policy, view: View, method: str, memory: Memory) -> Memory:
    """``memory``, which ``method`` gave. Raises ContractError unless it has a row a world."""
    for part in _parts(memory):
        try:
            rows = len(part)
        except TypeError:
            rows = None
        require(
            rows == len(view) and not isinstance(part, str | set),
            f"{name_of(policy)} at seat {view.player}: {method} must give None or a memory with a "
            f"row for each of {counted(len(view), 'world')}, got {reprlib.repr(part)}",
        )
    return memory


def _parts(memory: Memory) -> Iterator[Any]:
    """What has a row a world."""
    if isinstance(memory, tuple | dict):
        for part in memory.values() if isinstance(memory, dict) else memory:
            yield from _parts(part)
    elif memory is not None and not isinstance(memory, Shared):
        yield memory


def snapshot(memory: Memory) -> Memory:
    """A copy of all arrays and collections in a memory."""
    if isinstance(memory, Shared):
        return Shared(snapshot(memory.row))
    if isinstance(memory, (tuple, list)):
        return type(memory)(snapshot(part) for part in memory)
    if isinstance(memory, dict):
        return {name: snapshot(part) for name, part in memory.items()}
    return memory.copy() if isinstance(memory, np.ndarray | set | deque) else memory


def same_memory(a: Memory, b: Memory) -> bool:
    """Equal memories; floats may differ as batches of networks do."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Shared):
        return same_memory(a.row, b.row)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same_memory(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_memory(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray):
        if a.dtype.kind == "f":
            return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
        return np.array_equal(a, b)
    if isinstance(a, (int, float, str, bytes, set, deque, type(None))):
        return bool(a == b)
    return True  # other objects say nothing of their contents
