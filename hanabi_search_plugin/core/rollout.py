"""Rollouts: play worlds on by the blueprint, which takes nearly all the time of a search.

``action_values``, ``play_out`` and ``likelihood`` are what searches and beliefs call. The first two
use a game's compiled loops where it has them (``CompilesRollouts``), else those of this file, which
step all worlds of a batch together. The numbers are the same.

Letters: B worlds, M first actions, P players, N worlds not yet over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from hanabi_search_plugin.core.capabilities import CompilesRollouts
from hanabi_search_plugin.core.error_places import asking
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import (
    SKIP,
    Event,
    FloatArray,
    Game,
    IntArray,
    Worlds,
    require_legal,
    returns_of,
)
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Combination,
    Memory,
    Policy,
    UniformPolicy,
    Value,
    has_values,
    moves_of,
    observed,
    observes,
    probabilities_of,
    require_values,
    started,
    take,
    values_of,
)
from hanabi_search_plugin.core.streams import Stream, Streams
from hanabi_search_plugin.core.walk import Walk, Walkable
from hanabi_search_plugin.core.watching import report_rollouts

MOVES_AHEAD = 32  # moves of a walk whose chance is drawn with that of others, in a long game
LOCKSTEP = 1_000  # worlds stepped together; more where the worlds of one action are more


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
    """[M, B] the return of ``seat``, in score points, if it plays actions[m] in world b and then
    all play the blueprint to the end.

    ``actions`` are [M], or [M, B] where they differ by world; SKIP is not tried, its value nan.
    ``memories[p]`` are those of seat p before the action. All actions meet the same chance and the
    same policy randomness (``rng``, one stream per world, left unchanged): common random numbers.
    ``threads`` never changes the numbers. Rollouts are reported to ``core.watching``.

    With a ``depth``, rollouts end after that many moves, the action among them, and the blueprint's
    values estimate the rest. Raises UnsupportedError where its policies have none (``Value``).
    """
    game, values = worlds.game, None
    if depth is None and isinstance(game, CompilesRollouts):
        values = game.compiled_action_values(
            worlds, actions, blueprint, memories, seat, rng, threads=threads
        )
    if values is None:
        values = plain_action_values(worlds, actions, blueprint, memories, seat, rng, depth=depth)
    report_rollouts(int(np.isfinite(values).sum()))
    return values


def play_out(
    worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
) -> FloatArray:
    """[B, P] each seat's return, in score points, after the blueprint has played to the end.

    ``memories[p]`` [B] are those of seat p now. Policies draw from ``rng``, one stream a world,
    and chance is the worlds' own; both, and the worlds, are left unchanged. Raises ContractError
    or IllegalActionError where a policy or the game breaks its contract.
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
    """[B] the probability that ``policy`` at ``seat``, which is to move, plays ``actions`` [B].

    ``memory`` [B] is the policy's. Raises UnsupportedError where it gives no probabilities.
    """
    report_rollouts(0)
    chance = probabilities_of(policy, worlds.view(seat), memory)
    return np.asarray(chance[np.arange(len(worlds)), actions], dtype=np.float64)


# ------------------------------------------------------------------------- for any game


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
    """[M, B] as ``action_values``, for any game and any policies.

    Steps the worlds of several actions together: up to LOCKSTEP worlds, or ``rollout_batch`` of a
    policy that ``PlaysRollouts``.
    """
    ahead, legal = None if depth is None else depth - 1, worlds.legal
    if depth is not None:
        _value_combination(blueprint, seat)  # raises before any game is played
    size = len(worlds)
    values = np.full((len(actions), size), np.nan)
    batches = [policy.rollout_batch for policy in blueprint if isinstance(policy, PlaysRollouts)]
    step = max(1, max([LOCKSTEP, *batches]) // max(size, 1))  # actions played together
    for first in range(0, len(actions), step):
        part = [np.broadcast_to(action, size) for action in actions[first : first + step]]
        played = np.stack(part)
        move, row = np.nonzero(played != SKIP)
        if len(row) == 0:
            continue
        tried = played[move, row]
        branch = worlds.select(row)
        if depth is None and isinstance(branch, Walkable) and uniform(blueprint):
            require_legal(tried, legal[row])
            returns = _walked(branch, rng.select(row), tried)
            values[first + move, row] = returns[:, seat]
            continue
        actors = branch.current_player
        branch.step(tried)
        after = tuple(take(memory, row) for memory in memories)
        after = observe_all(branch, actors, tried, blueprint, after)
        ended = rollout(branch, blueprint, after, rng.select(row), depth=ahead)
        returns = ended.returns[:, seat]
        if len(ended.alive):
            returns[ended.alive] += remaining_return(ended.worlds, blueprint, ended.memories, seat)
        values[first + move, row] = returns
    return values


def remaining_return(
    worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], seat: int
) -> FloatArray:
    """[B] the remaining return of ``seat`` from here on, estimated by the blueprint's values.

    Where one policy with a critic plays all seats, its critic estimates. Else the values of all
    seats are added or averaged, as the policies declare, or the value of ``seat`` alone is taken
    ("central"), or that of the player to move ("mover"). Raises UnsupportedError where policies
    have no values or combine them differently, and for "mover" unless rewards are identical.
    """
    combine = _value_combination(blueprint, seat)
    policy = blueprint[seat]
    if isinstance(policy, Value) and policy.critic_id and all(each is policy for each in blueprint):
        with asking(policy, seat):
            given = policy.world_value(worlds, memories, seat)
            return require_values(policy, given, len(worlds))
    if combine == "mover":
        return _values_of_movers(worlds, blueprint, memories)
    asked = [seat] if combine == "central" else range(len(blueprint))
    values = [
        values_of(policy, worlds.view(p), memories[p])
        for p, policy in enumerate(blueprint)
        if p in asked and has_values(policy)
    ]
    total = np.sum(values, axis=0)
    return np.asarray(total / len(values) if combine == "mean" else total, dtype=np.float64)


def _values_of_movers(
    worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...]
) -> FloatArray:
    """[B] the value of the player to move in each world, which may differ by world."""
    _require_identical(worlds.game)
    current = worlds.current_player
    values = np.empty(len(worlds))
    for p in np.unique(current).tolist():
        policy, rows = blueprint[p], np.flatnonzero(current == p)
        assert has_values(policy)  # by ``_value_combination``
        values[rows] = values_of(policy, worlds.view(p).select(rows), take(memories[p], rows))
    return values


def can_cut(blueprint: Blueprint) -> bool:
    """Can rollouts of some seat be cut short, since the policies have the values that takes?"""
    values = [has_values(policy) for policy in blueprint]
    central = any(has_values(one) and one.combine == "central" for one in blueprint)
    return central or all(values)


def _require_identical(game: Game) -> None:
    if game.rewards != "identical":
        raise UnsupportedError(
            f"values of the player to move need identical rewards, got {game.rewards} in "
            f"{game.name}: combine them otherwise"
        )


def require_values_of_some_seat(blueprint: Blueprint, game: Game) -> None:
    """Raises UnsupportedError where rollouts of no seat can be cut short, since the policies lack
    values, combine them differently, or take the mover's where rewards are not identical."""
    refused: UnsupportedError | None = None
    for seat in range(len(blueprint)):
        try:
            if _value_combination(blueprint, seat) == "mover":
                _require_identical(game)
            return
        except UnsupportedError as error:
            refused = error
    assert refused is not None
    raise refused


def without_values(blueprint: Blueprint) -> UnsupportedError:
    """The error of rollouts that are to be cut short where policies have no values."""
    lacking = next((one for one in blueprint if not has_values(one)), blueprint[0])
    return UnsupportedError(
        f"rollouts can only be cut short where the blueprint has values, which {lacking!r} has "
        f"not ({lacking.to_have_values}): use depth None, to the end of the game (--depth 0 on the "
        "command line)"
    )


def _value_combination(blueprint: Blueprint, seat: int) -> Combination:
    """How the blueprint's policies declare that their values combine.

    Where the values of ``seat`` stand alone, the others need none.
    """
    own = blueprint[seat]
    if has_values(own) and own.combine == "central":
        return "central"
    if not all(has_values(policy) for policy in blueprint):
        raise without_values(blueprint)
    kinds = {policy.combine for policy in blueprint if has_values(policy)}
    if len(kinds) > 1:
        raise UnsupportedError(
            f"values of a blueprint must combine alike, got {' and '.join(sorted(kinds))}"
        )
    (combine,) = kinds
    return combine


@dataclass
class Rollout:
    """The result of ``rollout``: all returns, and the worlds that are not yet over."""

    returns: FloatArray  #: [B, P] final returns; those so far in the worlds at ``alive``
    alive: IntArray  #: [N] rows of the batch that are not over
    worlds: Worlds  #: [N] the worlds at ``alive``
    memories: tuple[Memory, ...]  #: [N] each seat's memory in them
    rng: Streams  #: [N] their streams


def rollout(
    worlds: Worlds,
    blueprint: Blueprint,
    memories: tuple[Memory, ...],
    rng: Streams,
    *,
    depth: int | None = None,
) -> Rollout:
    """Play ``worlds`` on by the blueprint, to the end of the game or for ``depth`` moves.

    ``worlds`` and ``rng`` are left unchanged. A policy that ``PlaysRollouts`` may do it all.
    """
    for policy in blueprint:
        if isinstance(policy, PlaysRollouts):
            played = policy.play_rollouts(worlds, blueprint, memories, rng, depth)
            if played is not None:
                return played
    if depth is None and isinstance(worlds, Walkable) and uniform(blueprint):
        none = np.zeros(0, dtype=np.int64)
        left = tuple(take(memory, none) for memory in memories)
        return Rollout(_walked(worlds, rng), none, worlds.select(none), left, rng.select(none))
    returns = returns_of(worlds).copy()
    alive = np.flatnonzero(~worlds.terminal)
    worlds, rng = worlds.select(alive), rng.select(alive)
    memories = tuple(take(memory, alive) for memory in memories)
    moves = 0
    while len(alive) and (depth is None or moves < depth):
        report_rollouts(0)
        actors = worlds.current_player
        actions = choose(worlds, blueprint, memories, rng)
        worlds.step(actions)
        ended = worlds.terminal
        if ended.any():
            done, on = np.flatnonzero(ended), np.flatnonzero(~ended)
            returns[alive[done]] = returns_of(worlds.select(done))
            alive, worlds, rng = alive[on], worlds.select(on), rng.select(on)
            memories = tuple(take(memory, on) for memory in memories)
            actors, actions = actors[on], actions[on]
        memories = observe_all(worlds, actors, actions, blueprint, memories)
        moves += 1
    returns[alive] = returns_of(worlds)
    return Rollout(returns, alive, worlds, memories, rng)


def _walked(worlds: Walkable, rng: Streams, actions: IntArray | None = None) -> FloatArray:
    """[B, P] the returns after ``actions`` [B], if any, and then ``UniformPolicy`` at all seats."""
    returns = []
    tried = repeat(None, len(worlds)) if actions is None else actions.tolist()
    streams = rng.singles(min(MOVES_AHEAD, worlds.game.max_length))
    for walk, action, stream in zip(worlds.walks(), tried, streams, strict=True):
        report_rollouts(0)
        if action is not None:
            walk.step(action)
        returns.append(walk.play_uniformly(stream))
    return np.array(returns, dtype=np.float64).reshape(len(worlds), worlds.game.num_players)


def uniform(blueprint: Blueprint) -> bool:
    """True if all seats play ``UniformPolicy``, which asks for legal moves alone, not for views."""
    return {UniformPolicy}.issuperset(map(type, blueprint))


def play_on(
    walk: Walk, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Stream
) -> Sequence[float]:
    """[P] as ``play_out``, for one world; ``walk`` is not to be used afterwards."""
    if uniform(blueprint):
        return walk.play_uniformly(rng)
    with rng.batch() as streams:
        returns: list[float] = play_out(walk.worlds(), blueprint, memories, streams)[0].tolist()
    return returns


def move_of(walk: Walk, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Stream) -> int:
    """The blueprint's move in one world; takes its draws from ``rng``, as in ``choose``."""
    policy = blueprint[walk.player]
    if type(policy) is UniformPolicy:
        legal = walk.legal()
        return legal[int(rng.draw() * len(legal))]
    view = walk.worlds().view(walk.player)
    with rng.batch() as streams:
        return int(moves_of(policy, view, memories[walk.player], streams)[0])


def choose(
    worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
) -> IntArray:
    """[B] the blueprint's move in each world. The player to move may differ by world.

    Each acting policy takes its draws from ``rng``, one stream per world.
    """
    current = worlds.current_player
    if (current == current[0]).all():  # nearly always: one call for all
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


def start_memories(worlds: Worlds, blueprint: Blueprint) -> tuple[Memory, ...]:
    """Each seat's memory [B] at the start of a game."""
    return tuple(started(policy, worlds.view(p)) for p, policy in enumerate(blueprint))


def observe_all(
    worlds: Worlds,
    actors: IntArray,
    actions: IntArray,
    blueprint: Blueprint,
    memories: tuple[Memory, ...],
) -> tuple[Memory, ...]:
    """Each seat's memory [B] after players ``actors`` [B] made moves ``actions`` [B].

    ``worlds`` are those after the moves.
    """
    event = Event(actors, actions)
    game = worlds.game
    return tuple(
        observed(policy, worlds.view(p), event.seen_by(p, game), memory)
        if observes(policy)
        else memory
        for p, (policy, memory) in enumerate(zip(blueprint, memories, strict=True))
    )


# ------------------------------------------------------------- advanced: policies on a device


class PlaysRollouts(ABC):
    """A policy that can play whole rollouts by itself: on a GPU, or by a loop of its own."""

    @property
    @abstractmethod
    def rollout_batch(self) -> int:
        """Worlds that it prefers to play in one call; 0 for no preference."""

    @abstractmethod
    def play_rollouts(
        self,
        worlds: Worlds,
        blueprint: Blueprint,
        memories: tuple[Memory, ...],
        rng: Streams,
        depth: int | None,
    ) -> Rollout | None:
        """The result of ``rollout``; None if the generic loop should play this blueprint."""
