"""Does a policy move by its view, its memory and its stream alone, or by what it keeps elsewhere?

Shared by all checks that ask policies: one that keeps its memory on itself is played wrongly
wherever games are played side by side or a search asks about worlds that it has drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, Game, History, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy, lacks_probabilities
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.policies.callables import CallablePolicy
from hanabi_search_plugin.testing.check_tools import (
    ONE,
    acted,
    fields_of,
    name_of,
    observed,
    random_legal,
    require,
    same_memory,
    snapshot,
    started,
)

GAMES = 4  # that each policy plays
ASKED = 8  # times at once, to tell dice from a memory


def require_no_memory_on_self(game: Game, policies: Iterable[Policy], seed: int) -> None:
    """Raises ContractError for one of ``policies`` that decides another way in the same position
    when the game has gone on, or when a game has begun since.

    Each plays all seats, one game at a time and every method in the order of the game, as whoever
    keeps a memory on the object takes for granted. Then its decisions are asked again, by the same
    memories and by those that start and observe give anew. The moves decide: what the object holds
    may change, as caches do, and is named alone. Policies that search are left out, and so is what
    other checks find: a memory changed in place, and moves that differ when asked twice at once.
    """
    for policy in dict.fromkeys(policies):
        if not isinstance(policy, SearchAgent):
            rng, before = np.random.default_rng([seed, 1]), contents(policy)
            for _ in range(GAMES):
                _check_game(game, policy, before, rng)


@contextmanager
def naming_changes(policy: Policy) -> Iterator[None]:
    """Errors within name the first attribute of ``policy`` that has changed since, if one has."""
    before = contents(policy)
    try:
        yield
    except Exception as error:
        changed = _changed(before, contents(policy))
        if not changed:
            raise
        note = f"{changed} changed meanwhile: {_advice(policy)}"
        if isinstance(error, ContractError):
            raise ContractError(f"{error} ({note})") from error
        error.add_note(note)
        raise


def contents(policy: Policy) -> dict[str, Any]:
    """Copies of the attributes of a policy, by name, and of those of policies within it."""
    return dict(_contents(policy, "self", ()))


def blueprint_within(policy: Policy) -> Blueprint:
    """The policies that move by a blueprint's contract: those that an agent searches over."""
    return policy.blueprint if isinstance(policy, SearchAgent) else (policy,)


@dataclass(frozen=True)
class _Decision:
    """One decision, and what it was made of: a batch of one."""

    number: int  # events that the seat had observed
    view: View
    memory: Memory
    held: Memory  # a copy of the memory
    stream: Streams
    action: IntArray
    chance: FloatArray | None  # None for a deterministic policy, and for one that does not say


def _check_game(
    game: Game, policy: Policy, before: dict[str, Any], rng: np.random.Generator
) -> None:
    """One game; ``before`` are the contents of the policy before it was asked anything."""
    worlds, seats = game.deal(rng, 1), range(game.num_players)
    memories = [started(policy, worlds.view(p)) for p in seats]
    decisions: list[_Decision] = []
    histories = [History(p, (worlds.view(p).select(ONE),)) for p in seats]
    while not worlds.terminal[0]:
        mover = int(worlds.current_player[0])
        view, stream = worlds.view(mover).select(ONE), Streams.spawn(rng, 1)
        memory = memories[mover]
        held = snapshot(memory)
        action, chance = _asked(policy, view, memory, stream)
        number = len(histories[mover].events)
        decisions.append(_Decision(number, view, memory, held, stream, action, chance))
        played = action if rng.random() < 0.5 else random_legal(worlds.legal, rng)
        event = worlds.step(played)
        if not worlds.terminal[0]:
            for p in seats:
                seen, view = event.seen_by(p, game), worlds.view(p).select(ONE)
                memories[p] = observed(policy, view, seen, memories[p])
                histories[p] = histories[p].append(seen, view)
    _ask_again(policy, before, decisions, "when the game has gone on")
    worlds = game.deal(rng, 1)
    for p in seats:
        started(policy, worlds.view(p))
    _ask_again(policy, before, decisions, "when another game has begun")
    for history in histories:
        own = [one for one in decisions if one.view.player == history.seat]
        _ask_again(policy, before, own, "with its seat alone shown the game", history)


def _ask_again(
    policy: Policy,
    before: dict[str, Any],
    decisions: list[_Decision],
    when: str,
    history: History | None = None,
) -> None:
    """The same decisions; with ``history``, of memories that are made of it anew."""
    made = started(policy, history.views[0]) if history is not None else None
    number = 0
    for one in decisions:
        if not same_memory(one.memory, one.held):
            return  # changed in place
        memory = one.memory
        if history is not None:
            for t in range(number, one.number):
                made = observed(policy, history.views[t + 1], history.events[t], made)
            number, memory = one.number, made
        action, chance = _asked(policy, one.view, memory, one.stream)
        if _same(one, action, chance):
            continue
        changed = _changed(before, contents(policy))
        if not changed:
            again = [_asked(policy, one.view, memory, one.stream)[0][0] for _ in range(ASKED)]
            if len(set(again)) > 1:
                return  # moves by dice of its own
        other = f"{action[0]}, not {one.action[0]}" if action[0] != one.action[0] else "otherwise"
        held = f" ({changed} changed)" if changed else ""
        require(
            False,
            f"{name_of(policy)} at seat {one.view.player}: asked again {when}, in the same "
            f"position and from the same stream, it plays {other}: {_advice(policy)}{held}",
        )


def _asked(
    policy: Policy, view: View, memory: Memory, stream: Streams
) -> tuple[IntArray, FloatArray | None]:
    """The move [1] and, where they say more, the probabilities [1, A]."""
    action = acted(policy, view, view.legal, memory, stream.select(ONE))
    if policy.deterministic or lacks_probabilities(policy):
        return action, None
    try:
        return action, np.asarray(policy.probabilities(view, view.legal, memory))
    except UnsupportedError:
        return action, None


def _same(one: _Decision, action: IntArray, chance: FloatArray | None) -> bool:
    return np.array_equal(one.action, action) and same_memory(one.chance, chance)


def _advice(policy: Policy) -> str:
    if isinstance(policy, CallablePolicy):
        return "a function that remembers takes a state, by initial_state, and returns the next"
    return "keep what it remembers in what start and observe return, not on self"


def _changed(before: dict[str, Any], after: dict[str, Any]) -> str:
    """The first attribute that was added or changed, or ""."""
    for name, held in after.items():
        if name not in before or not same_memory(before[name], held):
            return name
    return ""


def _contents(policy: Policy, path: str, within: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    if id(policy) in within:
        return
    for name, held in fields_of(policy).items():
        for part in held if isinstance(held, tuple | list) else (held,):
            if isinstance(part, Policy):
                yield from _contents(part, f"{path}.{name}", (*within, id(policy)))
        yield f"{path}.{name}", snapshot(held)
