"""Continuations: what the searching seat itself plays after the move that is tried.

The others follow the blueprint, and read the seat's moves by it. So the seat faces a game of chance
of which it sees a part, and any policy of its own may play on in a rollout: the value of a move is
at least that of the best. A ``Portfolio`` is a few such policies, the blueprint's first.

The best of several noisy means is too high. So which one plays on after a move is chosen by every
second world, and valued in the others; and the other way round (cross-fitting).

Letters: M moves, K continuations. An arm is a move and a continuation: arm k * M + m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.algorithms.tally import Tally
from hanabi_search_plugin.core.belief import Belief, WrappedBelief
from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.core.game import Event, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.core.policy import Memory, Policy, observed, started, take
from hanabi_search_plugin.core.require import class_given
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.streams import Streams

Continuation = Policy | str | Sequence[Policy | str]
"""One continuation or several. A text is the name of a policy, or several between commas."""


def listed_continuations(given: Continuation | None) -> tuple[Policy | str, ...]:
    """One by one. Raises ConfigError for what is neither a policy nor a name, and for none."""
    if given is None:
        return ()
    parts = (given,) if isinstance(given, Policy | str) else given
    if not isinstance(parts, Sequence) or not parts:
        came = class_given(given) if isinstance(given, type) else repr(given)
        raise ConfigError(f"continuation must be a policy, its name, or several, got {came}")
    listed: list[Policy | str] = []
    for part in parts:
        if not isinstance(part, Policy | str):
            raise ConfigError(f"continuation must be of policies or names, got {part!r}")
        listed += [name.strip() for name in part.split(",")] if isinstance(part, str) else [part]
    if "" in listed:
        raise ConfigError(f"continuation must be names between commas, got {given!r}")
    return tuple(listed)


class Continued(WrappedBelief):
    """The belief ``inner``, and what the continuations of its seat remember."""

    def __init__(
        self, inner: Belief, policies: tuple[Policy, ...], continuation_memories: tuple[Memory, ...]
    ):
        """``continued`` makes the first. ``continuation_memories`` are one row each."""
        super().__init__(inner)
        self.policies = policies
        self.continuation_memories = continuation_memories

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> Continued:
        seen = event.seen_by(self.seat, self.game)
        memories = tuple(
            observed(policy, view, seen, memory)
            for policy, memory in zip(self.policies, self.continuation_memories, strict=True)
        )
        after = self.inner.update(event, view, by_blueprint=by_blueprint)
        return Continued(after, self.policies, memories)


def continued(belief: Belief, continuation: Continuation | None) -> Belief:
    """``belief`` at its first view, with the memories of the continuations but for its blueprint's.

    Raises ConfigError for a name, which ``upgrade`` loads.
    """
    policies = _others_than_blueprint(belief, continuation)
    if not policies:
        return belief
    return Continued(belief, policies, tuple(started(each, belief.view) for each in policies))


def _others_than_blueprint(belief: Belief, continuation: Continuation | None) -> tuple[Policy, ...]:
    """The continuations that are not the blueprint's own policy."""
    others: list[Policy] = []
    for each in listed_continuations(continuation):
        if isinstance(each, str):
            raise ConfigError(
                f"continuation must be a policy where upgrade does not load it, got {each!r}"
            )
        if each is not belief.blueprint[belief.seat]:
            others.append(each)
    return tuple(others)


@dataclass(frozen=True)
class Portfolio:
    """K policies that may play on for the seat of ``belief``, the blueprint's own first."""

    belief: Belief  # without what remembers for the continuations
    policies: tuple[Policy, ...]
    continuation_memories: tuple[Memory, ...]  # one row each; the first is not read

    @classmethod
    def of(cls, belief: Belief, continuation: Continuation | None) -> Portfolio:
        """Raises ContractError for a belief that ``continued`` has not made for these."""
        own = belief.blueprint[belief.seat]
        others = _others_than_blueprint(belief, continuation)
        if not others:
            return cls(belief, (own,), (None,))
        if not isinstance(belief, Continued) or belief.policies != others:
            raise ContractError(
                "expected a belief made by this search's wrap, for its continuations, got "
                f"{type(belief).__name__}"
            )
        return cls(belief.inner, (own, *others), (None, *belief.continuation_memories))

    def __len__(self) -> int:
        return len(self.policies)

    def values(
        self,
        worlds: Worlds,
        actions: IntArray,
        arms: IntArray,
        memories: tuple[Memory, ...],
        rng: Streams,
        *,
        depth: int | None,
        threads: int,
    ) -> FloatArray:
        """[len(arms), B] the seat's return of each arm, of the moves ``actions`` [M].

        See ``core.rollout.action_values``. All arms meet the same chance.
        """
        seat, policies = self.belief.seat, list(self.belief.blueprint)
        seat_memories = list(memories)
        values = np.empty((len(arms), len(worlds)))
        for k, policy in enumerate(self.policies):
            rows = np.flatnonzero(arms // len(actions) == k)
            if not len(rows):
                continue
            if k:
                policies[seat] = policy
                row = np.zeros(len(worlds), dtype=np.int64)
                seat_memories[seat] = take(self.continuation_memories[k], row)
            values[rows] = action_values(
                worlds, actions[arms[rows] % len(actions)], tuple(policies), tuple(seat_memories),
                seat, rng, depth=depth, threads=threads,
            )  # fmt: skip
        return values


class PortfolioTally:
    """The returns of a portfolio's arms in the same worlds, and of each move with its best arm.

    Every second world is of one half, the rest of the other.
    """

    def __init__(self, moves: int, continuations: int) -> None:
        self.moves = moves
        self.tally = Tally(moves * continuations)
        self._halves = Tally(moves * continuations), Tally(moves * continuations)
        self._rounds: list[tuple[IntArray, FloatArray, int]] = []
        self.worlds = 0

    def add(self, arms: IntArray, values: FloatArray) -> None:
        """Add the returns [len(arms), n] of these arms in n more worlds."""
        self.tally.add(arms, values)
        before = self.worlds
        self.worlds += values.shape[1]
        if len(self.tally.count) == self.moves:  # one arm a move: there is no choice to cross-fit
            return
        for half, tally in enumerate(self._halves):
            tally.add(arms, values[:, (before + half) % 2 :: 2])
        self._rounds.append((arms, values, before))

    @property
    def count(self) -> IntArray:
        """[M] rollouts of each move."""
        return np.asarray(self.tally.count.reshape(-1, self.moves).sum(axis=0))

    def best(self) -> IntArray:
        """[M] the best arm of each move, by all worlds."""
        return self._best_by(self.tally)

    def cross_fitted(self) -> Tally:
        """The returns of each move, the arm of a world chosen by the worlds of the other half."""
        if len(self.tally.count) == self.moves:
            return self.tally
        chosen = [self._best_by(other) for other in reversed(self._halves)]
        crossed = Tally(self.moves)
        for arms, values, before in self._rounds:
            row = np.full(len(self.tally.count), -1)
            row[arms] = np.arange(len(arms))
            moves = np.unique(arms % self.moves)
            together = np.empty((len(moves), values.shape[1]))
            for half, best in enumerate(chosen):
                worlds = slice((before + half) % 2, None, 2)
                together[:, worlds] = values[row[best[moves]], worlds]
            crossed.add(moves, together)
        return crossed

    def _best_by(self, tally: Tally) -> IntArray:
        """[M] the best arm of each move by these worlds, of those that were tried longest.

        The blueprint's where it is as good.
        """
        tried = self.tally.count.reshape(-1, self.moves)
        mean = np.where(tally.count > 0, tally.mean, -np.finfo(np.float64).max)
        longest = tried == tried.max(axis=0)
        k = np.where(longest, mean.reshape(tried.shape), -np.inf).argmax(axis=0)
        return np.asarray(k * self.moves + np.arange(self.moves), dtype=np.int64)
