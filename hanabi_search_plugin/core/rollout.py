"""Play worlds on by the blueprint: what costs nearly all the time of a search.

``action_values`` and ``play_out`` use the compiled loops of a game that has them
(``CompilesRollouts``), else the plain ones of this file, in lockstep. The numbers are the same.

Letters: B worlds, M first actions, P players.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hanabi_search_plugin.core.capabilities import CompilesRollouts
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import SKIP, Event, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy, Value, take
from hanabi_search_plugin.core.streams import Streams

LOCKSTEP = 1_000  # worlds that are played on at a time, or those of one action if they are more


@dataclass
class Rollout:
    """Worlds after a rollout. Those that ended keep their final returns only."""

    returns: FloatArray  # [B, P] final, or so far for worlds in ``alive``
    alive: IntArray  # [N] rows of the batch that are not over
    worlds: Worlds  # [N] the worlds still alive
    memories: tuple[Memory, ...]  # [N] per seat
    rng: Streams  # [N]


class PlaysOn(ABC):
    """A policy that can play worlds on where it computes, quicker than view by view.

    Networks on a GPU do.
    """

    @property
    @abstractmethod
    def at_once(self) -> int:
        """Worlds that it likes to play on at a time; 0 where it has no wish."""

    @abstractmethod
    def play_on(
        self,
        worlds: Worlds,
        blueprint: Blueprint,
        memories: tuple[Memory, ...],
        rng: Streams,
        depth: int | None,
    ) -> Rollout | None:
        """What ``rollout`` returns; None where it had better play view by view."""


def start_memories(worlds: Worlds, blueprint: Blueprint) -> tuple[Memory, ...]:
    """Every seat's memory at the start of a game."""
    return tuple(policy.start(worlds.view(p)) for p, policy in enumerate(blueprint))


def observe_all(
    worlds: Worlds,
    actors: IntArray,
    actions: IntArray,
    blueprint: Blueprint,
    memories: tuple[Memory, ...],
) -> tuple[Memory, ...]:
    """Every seat's memory after the move that led to ``worlds``."""
    event = Event(actors, actions)
    game = worlds.game
    return tuple(
        policy.observe(worlds.view(p), event.seen_by(p, game), memory)
        for p, (policy, memory) in enumerate(zip(blueprint, memories, strict=True))
    )


def moves_of(policy: Policy, view: View, memory: Memory, rng: Streams) -> IntArray:
    """[B] what ``policy``, which is to move, plays. Raises ContractError for what are no moves."""
    actions = np.asarray(policy.act(view, view.legal, memory, rng))
    if actions.dtype.kind not in "iu" or actions.shape != (len(view),):
        raise ContractError(
            f"{policy!r} must act in integers, one for each of {len(view)} worlds, got "
            f"{actions.dtype} of shape {actions.shape}"
        )
    return actions


def choose(
    worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
) -> IntArray:
    """[B] the blueprint's move in each world; the players to move may differ."""
    current = worlds.current_player
    if (current == current[0]).all():  # nearly always, and then nothing need be sorted
        p = int(current[0])
        return moves_of(blueprint[p], worlds.view(p), memories[p], rng)
    actions = np.empty(len(worlds), dtype=np.int64)
    for p in np.unique(current).tolist():
        rows = np.flatnonzero(current == p)
        view = worlds.view(p).select(rows)
        stream = rng.select(rows)
        actions[rows] = moves_of(blueprint[p], view, take(memories[p], rows), stream)
        rng.state[rows] = stream.state
    return actions


def rollout(
    worlds: Worlds,
    blueprint: Blueprint,
    memories: tuple[Memory, ...],
    rng: Streams,
    *,
    depth: int | None = None,
) -> Rollout:
    """Play ``worlds`` on by the blueprint, to the end or for ``depth`` moves.

    ``worlds`` and ``rng`` are left as they were. A policy may do it all by itself (``PlaysOn``).
    """
    for policy in blueprint:
        if isinstance(policy, PlaysOn):
            played = policy.play_on(worlds, blueprint, memories, rng, depth)
            if played is not None:
                return played
    returns = worlds.returns.copy()
    alive = np.flatnonzero(~worlds.terminal)
    worlds, rng = worlds.select(alive), rng.select(alive)
    memories = tuple(take(memory, alive) for memory in memories)
    moves = 0
    while len(alive) and (depth is None or moves < depth):
        actors = worlds.current_player
        actions = choose(worlds, blueprint, memories, rng)
        worlds.step(actions)
        ended = worlds.terminal
        if ended.any():
            done, on = np.flatnonzero(ended), np.flatnonzero(~ended)
            returns[alive[done]] = worlds.select(done).returns
            alive, worlds, rng = alive[on], worlds.select(on), rng.select(on)
            memories = tuple(take(memory, on) for memory in memories)
            actors, actions = actors[on], actions[on]
        memories = observe_all(worlds, actors, actions, blueprint, memories)
        moves += 1
    returns[alive] = worlds.returns
    return Rollout(returns, alive, worlds, memories, rng)


def action_values(
    worlds: Worlds,
    actions: IntArray,
    blueprint: Blueprint,
    memories: tuple[Memory, ...],
    seat: int,
    rng: Streams,
    *,
    depth: int | None = None,
    threads: int = 1,
) -> FloatArray:
    """[M, B] ``seat``'s return if it plays actions[m] in world b and then all play the blueprint.

    ``actions`` are [M], or [M, B] where they differ by world; SKIP is not tried, its value nan.
    ``memories[p]`` are seat p's, before the action. Every action meets the same chance and the same
    policy randomness (``rng``, one stream a world). ``threads`` never changes the numbers.

    With a ``depth`` games are played on for that many moves, the action's own among them, and the
    blueprint's values say what is still to come. Raises UnsupportedError where a policy of the
    blueprint has no values (``Value``).
    """
    game = worlds.game
    if depth is None and isinstance(game, CompilesRollouts):
        values = game.compiled_action_values(
            worlds, actions, blueprint, memories, seat, rng, threads=threads
        )
        if values is not None:
            return values
    return plain_action_values(worlds, actions, blueprint, memories, seat, rng, depth=depth)


def play_out(
    worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
) -> FloatArray:
    """[B, P] every seat's return once the blueprint has played the worlds to their end.

    ``worlds`` and ``rng`` (one stream a world) are left as they were.
    """
    game = worlds.game
    if isinstance(game, CompilesRollouts):
        returns = game.compiled_play_out(worlds, blueprint, memories, rng)
        if returns is not None:
            return returns
    return rollout(worlds, blueprint, memories, rng).returns


def likelihood(
    worlds: Worlds, policy: Policy, seat: int, memory: Memory, actions: IntArray
) -> FloatArray:
    """[B] probability that ``policy`` at ``seat``, which is to move, plays ``actions`` [B]."""
    view = worlds.view(seat)
    chance = policy.probabilities(view, view.legal, memory)
    return np.asarray(chance[np.arange(len(worlds)), actions], dtype=np.float64)


def plain_action_values(
    worlds: Worlds,
    actions: IntArray,
    blueprint: Blueprint,
    memories: tuple[Memory, ...],
    seat: int,
    rng: Streams,
    *,
    depth: int | None = None,
) -> FloatArray:
    """[M, B] as ``action_values``, in lockstep for any game and any policies.

    Plays as many actions at a time as ``LOCKSTEP`` allows, or a policy that ``PlaysOn`` likes.
    """
    ahead = None if depth is None else depth - 1
    if depth is not None:
        combination(blueprint)  # before any game is played
    size = len(worlds)
    values = np.full((len(actions), size), np.nan)
    at_once = max(policy.at_once if isinstance(policy, PlaysOn) else 0 for policy in blueprint)
    together = max(1, max(at_once, LOCKSTEP) // max(size, 1))
    for first in range(0, len(actions), together):
        part = [np.broadcast_to(action, size) for action in actions[first : first + together]]
        played = np.stack(part)
        move, row = np.nonzero(played != SKIP)
        if len(row) == 0:
            continue
        branch, tried = worlds.select(row), played[move, row]
        actors = branch.current_player
        branch.step(tried)
        after = tuple(take(memory, row) for memory in memories)
        after = observe_all(branch, actors, tried, blueprint, after)
        ended = rollout(branch, blueprint, after, rng.select(row), depth=ahead)
        returns = ended.returns[:, seat]
        if len(ended.alive):
            returns[ended.alive] += still_to_come(ended.worlds, blueprint, ended.memories, seat)
        values[first + move, row] = returns
    return values


def still_to_come(
    worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], seat: int
) -> FloatArray:
    """[B] what ``seat`` may expect from here on, by the values of the blueprint.

    Where one policy with a critic plays all seats, that says so. Else the values of all seats are
    added or averaged, as the policies declare; where one value is central, it is that of ``seat``.
    Raises UnsupportedError as ``combination``.
    """
    combine = combination(blueprint)
    policy = blueprint[seat]
    if isinstance(policy, Value) and policy.critic_id and all(each is policy for each in blueprint):
        return policy.world_value(worlds, memories, seat)
    asked = [seat] if combine == "central" else range(len(blueprint))
    values = [
        policy.value(worlds.view(p), memories[p])
        for p, policy in enumerate(blueprint)
        if p in asked and isinstance(policy, Value)
    ]
    total = np.sum(values, axis=0)
    return np.asarray(total / len(values) if combine == "mean" else total, dtype=np.float64)


def combination(blueprint: Blueprint) -> Literal["sum", "mean", "central"]:
    """How the values of a blueprint make the team's.

    Raises UnsupportedError where a policy has none, or they declare different things.
    """
    for policy in blueprint:
        if not isinstance(policy, Value):
            raise UnsupportedError(
                f"rollouts can only be cut short where the blueprint has values, which "
                f"{policy!r} has not: use depth None, to the end of the game"
            )
    kinds = {policy.combine for policy in blueprint if isinstance(policy, Value)}
    if len(kinds) > 1:
        raise UnsupportedError(
            f"values of a blueprint must combine alike, got {' and '.join(sorted(kinds))}"
        )
    (combine,) = kinds
    return combine
