"""x"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.core.belief import ExplicitBelief
from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import (
    UNSEEN,
    BoolArray,
    Event,
    FloatArray,
    Game,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory, take
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.core.rollout import likelihood, observe_all, start_memories

MAX_WORLDS = 50_000  # the most worlds followed at a time; some 3 kB each for OpenSpiel's states


CHUNK = 4_096  # worlds whose moves are explained, and whose chance is listed, at a time


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tracked:
    """Worlds followed through a game, their weights, and each seat's memory in them."""

    worlds: Worlds  # [N]
    weights: FloatArray  # [N] positive
    memories: tuple[Memory, ...]  # [N] a seat; () where no policy is followed

    def __len__(self) -> int:
        return len(self.worlds)

    def select(self, index: IntArray) -> Tracked:
        memories = tuple(take(memory, index) for memory in self.memories)
        return Tracked(self.worlds.select(index), self.weights[index], memories)

    def normalised(self) -> Tracked:
        return Tracked(self.worlds, self.weights / self.weights.sum(), self.memories)


@dataclass(frozen=True)
class FollowedStep:
    """The worlds after an event, and where each came from."""

    after: Tracked | None  # [N] None where no world is left
    parent: IntArray  # [N] row of the worlds before
    action: IntArray  # [N] the move that was made in each
    likelihoods: int  # policy evaluations spent


def dealt(game: Game, blueprint: Blueprint, view: View | None, max_worlds: int) -> Tracked:
    """Every world at the first decision, of those that show ``view`` where one is given."""
    if not isinstance(game, Enumerable):
        raise UnsupportedError(
            f"{game.name} cannot list its chance (it is not Enumerable), which an enumerated "
            "belief needs"
        )
    worlds, weights = game.deals()
    if view is not None:
        rows = _showing(worlds, view)
        worlds, weights = worlds.select(rows), weights[rows]
    _check_size(len(worlds), max_worlds)
    if len(worlds) == 0:
        raise ContractError(f"no deal of {game.name} shows what player {view and view.player} sees")
    return Tracked(worlds, weights, start_memories(worlds, blueprint))


def follow(
    game: Enumerable,
    blueprint: Blueprint,
    before: Tracked,
    event: Event,
    view: View | None,
    *,
    evidence: bool,
    epsilon: float,
    max_worlds: int,
    uncertainty: float = 0.0,
) -> FollowedStep:
    """Every world that can follow ``before`` by ``event`` (a batch of one) and then chance.

    Weights are multiplied by the probability of the move (where ``evidence`` is taken: by the
    mover's policy with ``epsilon`` and ``uncertainty``, see ``Game.belief``) and of the chance. A
    hidden action is every legal one. Only worlds that show ``view``, where one is given, are kept.
    """
    actor, action = int(event.player[0]), int(event.action[0])
    parts, parents, moves, weights = [], [], [], []
    likelihoods = total = 0
    for rows in _chunks(len(before)):
        part = before.select(rows)
        to_move = part.worlds.current_player == actor
        possible = part.worlds.legal & to_move[:, None]  # [B, A]
        if action != UNSEEN:
            possible &= np.arange(game.num_actions) == action
        row, action_of = np.nonzero(possible)
        chance = np.ones(len(row))
        if evidence:
            chance, spent = _likelihood(game, blueprint, part, actor, row, action_of, epsilon)
            chance = chance + uncertainty * (1.0 - chance)
            likelihoods += spent
        likely = np.flatnonzero(chance > 0)
        row, action_of, chance = row[likely], action_of[likely], chance[likely]
        if len(row) == 0:
            continue
        worlds, grown_from, outcome = game.branch(part.worlds.select(row), action_of)
        kept = np.arange(len(worlds)) if view is None else _showing(worlds, view)
        grown_from = grown_from[kept]
        total += len(kept)
        _check_size(total, max_worlds)
        parts.append(worlds.select(kept))
        parents.append(rows[row[grown_from]])
        moves.append(action_of[grown_from])
        weights.append(part.weights[row[grown_from]] * chance[grown_from] * outcome[kept])
    if total == 0:
        return FollowedStep(None, np.zeros(0, np.int64), np.zeros(0, np.int64), likelihoods)
    worlds, parent, moved = game.concat(parts), np.concatenate(parents), np.concatenate(moves)
    memories = tuple(take(memory, parent) for memory in before.memories)
    memories = observe_all(worlds, np.full(total, actor), moved, blueprint, memories)
    after = Tracked(worlds, np.concatenate(weights), memories)
    return FollowedStep(after, parent, moved, likelihoods)


def consistent(
    game: Game, blueprint: Blueprint, history: History, *, max_worlds: int = MAX_WORLDS
) -> Tracked:
    """Every world the seat's observations alone allow, however unlikely the others' moves.

    Weights are the probability of the chance alone, not normalised. ``blueprint`` only keeps the
    memories, which each world's own trajectory decides; () keeps none.
    """
    tracked = dealt(game, blueprint, history.views[0], max_worlds)
    assert isinstance(game, Enumerable)
    for event, view in zip(history.events, history.views[1:], strict=True):
        step = follow(
            game, blueprint, tracked, event, view, evidence=False, epsilon=0.0,
            max_worlds=max_worlds,
        )  # fmt: skip
        if step.after is None:
            raise ContractError(f"no world of {game.name} agrees with seat {history.seat}'s views")
        tracked = step.after
    return tracked


class EnumeratedBelief(ExplicitBelief):
    """The exact private belief of any ``Enumerable`` game, by following every world.

    The seat's own moves carry no evidence; the others' multiply a world by the probability that
    their policy, with ``epsilon`` and ``uncertainty``, makes them there. When no world is left, the
    belief becomes every world the observations alone allow, weighted by chance alone: the evidence
    of all earlier moves is dropped, too, and later moves count as evidence again.
    """

    game: Enumerable

    def __init__(
        self,
        game: Enumerable,
        blueprint: Blueprint,
        history: History,
        tracked: Tracked,
        memory: Memory,
        *,
        epsilon: float = 0.0,
        uncertainty: float = 0.0,
        max_worlds: int = MAX_WORLDS,
        likelihoods: int = 0,
        recovered: int = 0,
    ) -> None:
        """``start`` makes the first; ``memory`` is the blueprint's at the seat after ``history``"""
        self.game = game
        self.blueprint = blueprint
        self.seat = history.seat
        self.view = history.views[-1]
        self.epsilon = epsilon
        self.uncertainty = uncertainty
        self.max_worlds = max_worlds
        self.likelihoods = likelihoods
        self.recovered = recovered
        self._history = history
        self._tracked = tracked.normalised()
        self._cumulative = np.cumsum(self._tracked.weights)
        self._memory = memory

    @classmethod
    def start(
        cls,
        game: Game,
        blueprint: Blueprint,
        view: View,
        *,
        epsilon: float = 0.0,
        uncertainty: float = 0.0,
        max_worlds: int = MAX_WORLDS,
    ) -> EnumeratedBelief:
        """The belief at the first decision, from the seat's first view (a batch of one).

        Raises UnsupportedError where the game is not Enumerable or has more than ``max_worlds``
        worlds that agree with the view, ConfigError where ``epsilon`` or ``uncertainty`` is
        not from 0 to 1.
        """
        require_share("epsilon", epsilon)
        require_share("uncertainty", uncertainty)
        view = _one(view)
        tracked = dealt(game, blueprint, view, max_worlds)
        assert isinstance(game, Enumerable)
        memory = blueprint[view.player].start(view)
        history = History(view.player, (view,))
        return cls(
            game, blueprint, history, tracked, memory, epsilon=epsilon, uncertainty=uncertainty,
            max_worlds=max_worlds,
        )  # fmt: skip

    @property
    def size(self) -> int:
        return len(self._tracked)

    @property
    def memory(self) -> Memory:
        return self._memory

    @property
    def history(self) -> History:
        """What the seat has seen so far."""
        return self._history

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> EnumeratedBelief:
        event, view = event.seen_by(self.seat, self.game), _one(view)
        history = self._history.append(event, view)
        step = follow(
            self.game, self.blueprint, self._tracked, event, view, epsilon=self.epsilon,
            evidence=by_blueprint and int(event.player[0]) != self.seat,
            max_worlds=self.max_worlds, uncertainty=self.uncertainty,
        )  # fmt: skip
        after, recovered = step.after, self.recovered
        if after is None:
            _log.warning(
                "%s: no world explains player %d's move %d to seat %d; the belief falls back to "
                "every world its observations allow",
                self.game.name, event.player[0], event.action[0], self.seat,
            )  # fmt: skip
            recovered += 1
            after = consistent(self.game, self.blueprint, history, max_worlds=self.max_worlds)
        return EnumeratedBelief(
            self.game, self.blueprint, history, after,
            self.blueprint[self.seat].observe(view, event, self._memory),
            epsilon=self.epsilon, uncertainty=self.uncertainty, max_worlds=self.max_worlds,
            recovered=recovered, likelihoods=self.likelihoods + step.likelihoods,
        )  # fmt: skip

    def support(self) -> tuple[Worlds, FloatArray]:
        worlds = self._tracked.worlds
        return worlds.select(np.arange(len(worlds))), self._tracked.weights.copy()

    def support_memories(self) -> tuple[Memory, ...]:
        return self._tracked.memories

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """See ``Belief.sample``; takes n doubles from ``rng`` and what ``game.reseed`` takes."""
        draw = rng.random(n) * self._cumulative[-1]
        drawn = self._tracked.select(np.searchsorted(self._cumulative, draw, side="right"))
        return self.game.reseed(drawn.worlds, rng), drawn.memories


def _likelihood(
    game: Game,
    blueprint: Blueprint,
    part: Tracked,
    actor: int,
    row: IntArray,
    action: IntArray,
    epsilon: float,
) -> tuple[FloatArray, int]:
    """Probability [K] of action[k] in world row[k] of ``part``; and policy evaluations spent."""
    rows, where = np.unique(row, return_inverse=True)
    movers = part.select(rows)
    policy, memory = blueprint[actor], movers.memories[actor]
    if len(rows) == len(row):  # one candidate move a world: what games compile
        chance = likelihood(movers.worlds, policy, actor, memory, action)
    else:
        view = movers.worlds.view(actor)
        chance = policy.probabilities(view, view.legal, memory)[where, action]
    if epsilon > 0:
        choices = movers.worlds.legal.sum(axis=1)[where]
        chance = (1 - epsilon) * chance + epsilon / choices
    return np.asarray(chance, dtype=np.float64), len(rows)


def _showing(worlds: Worlds, view: View) -> IntArray:
    """Rows of ``worlds`` in which the seat of ``view`` (a batch of one) sees the same."""
    key = view.keys()[0]
    keys = worlds.view(view.player).keys()
    same: BoolArray = np.fromiter((k == key for k in keys), dtype=np.bool_, count=len(keys))
    return np.flatnonzero(same)


def _one(view: View) -> View:
    """A view that outlives its worlds' next step; it must be a batch of one."""
    if len(view) != 1:
        raise ContractError(f"a belief follows one game: expected one view, got {len(view)}")
    return view.select(np.array([0]))


def _chunks(n: int) -> Iterator[IntArray]:
    return (np.arange(i, min(i + CHUNK, n)) for i in range(0, n, CHUNK))


def _check_size(n: int, max_worlds: int) -> None:
    if n > max_worlds:
        raise UnsupportedError(
            f"an enumerated belief follows at most {max_worlds} worlds, got {n} or more; raise "
            "max_worlds or use a belief made for this game"
        )
