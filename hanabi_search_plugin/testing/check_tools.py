"""What the checks share."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.error_places import noting_source
from hanabi_search_plugin.core.errors import ContractError, IllegalActionError
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    Game,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import Memory, Policy, Shared, require_moves, require_rows
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.streams import Streams

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
    return require_rows(policy, view, "start", policy.start(view))


def observed(policy: Policy, view: View, event: Event, memory: Memory) -> Memory:
    """[B] the memory of ``policy`` after an event, checked."""
    return require_rows(policy, view, "observe", policy.observe(view, event, memory))


def acted(policy: Policy, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
    """Actions [B]. Raises ContractError for what are no legal ones."""
    with noting_source(lambda: f"act of {policy!r}, seat {view.player}"):
        given = policy.act(view, legal, memory, rng)
    try:
        return require_moves(policy, given, legal)
    except IllegalActionError as error:
        raise ContractError(
            f"{name_of(policy)} at seat {view.player}: act must give a legal move: {error}"
        ) from None


@dataclass(frozen=True)
class _Contents:
    """What an object of another's class held."""

    kind: type
    fields: dict[str, Any]


def snapshot(memory: Memory, *, within: tuple[int, ...] = ()) -> Memory:
    """A copy of a memory: arrays, collections, and the attributes of objects.

    What this package itself keeps in memories (beliefs, views) is never changed, and not copied.
    ``within`` are the ids of the objects on the way, for those that hold each other.
    """
    if id(memory) in within:
        return None
    part = partial(snapshot, within=(*within, id(memory)))
    if isinstance(memory, Shared):
        return Shared(part(memory.row))
    if isinstance(memory, tuple) and hasattr(memory, "_fields"):
        return type(memory)(*map(part, memory))
    if isinstance(memory, (tuple, list, deque)):
        return type(memory)(map(part, memory))
    if isinstance(memory, dict):
        return {name: part(held) for name, held in memory.items()}
    if isinstance(memory, np.ndarray | set):
        return memory.copy()
    if isinstance(memory, (_Contents, *_KEPT)) or callable(memory):
        return memory
    if "torch" in sys.modules and isinstance(memory, sys.modules["torch"].Tensor):
        return memory.detach().cpu().numpy().copy()
    held = fields_of(memory)
    return _Contents(type(memory), {name: part(v) for name, v in held.items()}) if held else memory


def fields_of(one: object) -> dict[str, Any]:
    """The attributes that an object holds, in its dictionary and its slots."""
    held = dict(getattr(one, "__dict__", {}))
    slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
    return held | {name: getattr(one, name) for name in slots if hasattr(one, name)}


_KEPT = (Belief, Event, Game, History, Policy, PublicBelief, Streams, View, Worlds)


def same_memory(a: Memory, b: Memory) -> bool:
    """Equal memories; floats may differ as batches of networks do.

    Of an object's attributes those count that both have: others may be worked out when asked for.
    """
    return _same(snapshot(a), snapshot(b))


def _same(a: Any, b: Any) -> bool:
    """Are two snapshots equal?"""
    if type(a) is not type(b):
        return False
    if isinstance(a, Shared):
        return _same(a.row, b.row)
    if isinstance(a, _Contents):
        both = a.fields.keys() & b.fields.keys()
        return a.kind is b.kind and all(_same(a.fields[name], b.fields[name]) for name in both)
    if isinstance(a, (tuple, list, deque)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray):
        if a.dtype.kind == "f":
            return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
        return np.array_equal(a, b)
    if isinstance(a, (int, float, str, bytes, set, type(None))):
        return bool(a == b)
    return True  # other objects say nothing of their contents
