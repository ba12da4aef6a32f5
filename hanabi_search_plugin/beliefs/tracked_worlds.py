"""Worlds followed through a game: what exact beliefs of any game and particle filters share.

Every world that an event and then chance can lead to is listed, weighted by the probability of the
move and of the chance, and kept if it shows what the seat sees. Letters: N worlds followed,
B worlds of a chunk, A actions, K possible moves in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hanabi_search_plugin.core.belief import Belief, require_one_view
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
from hanabi_search_plugin.core.policy import Blueprint, Memory, probabilities_of, take
from hanabi_search_plugin.core.rollout import likelihood, observe_all, start_memories

MAX_WORLDS = 50_000  # the most worlds followed at a time; some 3 kB each for OpenSpiel's states
DRAWN = "belief=Particles(1_000), on the command line --belief particles, draws worlds instead"
BEGINS = "a belief begins at the first view of a game, and update(event, view) follows it"
CHUNK = 4_096  # worlds whose moves and chance are listed at a time


@dataclass(frozen=True)
class TrackedWorlds:
    """Weighted worlds, with each seat's policy memory in them."""

    worlds: Worlds  # [N]
    weights: FloatArray  # [N] positive
    memories: tuple[Memory, ...]  # each seat's [N]; () where no policy is followed

    def __len__(self) -> int:
        return len(self.worlds)

    def select(self, index: IntArray) -> TrackedWorlds:
        memories = tuple(take(memory, index) for memory in self.memories)
        return TrackedWorlds(self.worlds.select(index), self.weights[index], memories)

    def normalised(self) -> TrackedWorlds:
        return TrackedWorlds(self.worlds, self.weights / self.weights.sum(), self.memories)


@dataclass(frozen=True)
class TrackedStep:
    """The worlds after an event, and the world before it that each came from."""

    after: TrackedWorlds | None  # [N] None if no world is left
    parent: IntArray  # [N] row of the worlds before
    action: IntArray  # [N] the move that was made in each
    likelihoods: int  # policy evaluations spent


def not_listed(game: Game) -> UnsupportedError:
    """The error of a belief that lists worlds in a game that cannot."""
    return UnsupportedError(
        f"{game.name} cannot list its chance (it is not Enumerable), which an exact belief "
        f"needs: {game.belief_to_use or DRAWN}"
    )


def track_deals(
    game: Game, blueprint: Blueprint, view: View | None, max_worlds: int
) -> TrackedWorlds:
    """List every world at the first decision that shows ``view`` (None: every world).

    Raises UnsupportedError if the game is not Enumerable or has more than ``max_worlds`` of them,
    ContractError if it has none.
    """
    if not isinstance(game, Enumerable):
        raise not_listed(game)
    worlds, weights = game.deals()
    if view is not None:
        rows = np.flatnonzero(showing(worlds, view))
        worlds, weights = worlds.select(rows), weights[rows]
    _check_size(game, len(worlds), max_worlds)
    if len(worlds) == 0:
        raise ContractError(
            f"no deal of {game.name} shows what player {view and view.player} sees: {BEGINS}"
        )
    return TrackedWorlds(worlds, weights, start_memories(worlds, blueprint))


def track_event(
    game: Enumerable,
    blueprint: Blueprint,
    before: TrackedWorlds,
    event: Event,
    view: View | None,
    *,
    evidence: bool,
    epsilon: float,
    max_worlds: int,
    uncertainty: float = 0.0,
) -> TrackedStep:
    """List every world that ``event`` (a batch of one) and then chance can lead to.

    Weights are multiplied by the probability of the chance and, with ``evidence``, by that of the
    move: the mover's policy with ``epsilon`` and ``uncertainty``, see ``beliefs.exact``. An UNSEEN
    action may be any legal one. Only worlds that show ``view`` are kept (None: all).

    Raises UnsupportedError for more than ``max_worlds`` worlds.
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
            chance, spent = _likelihood(blueprint, part, actor, row, action_of, epsilon)
            chance = chance + uncertainty * (1.0 - chance)
            likelihoods += spent
        likely = np.flatnonzero(chance > 0)
        row, action_of, chance = row[likely], action_of[likely], chance[likely]
        if len(row) == 0:
            continue
        worlds, source, outcome = game.branch(part.worlds.select(row), action_of)
        shown = np.arange(len(worlds)) if view is None else np.flatnonzero(showing(worlds, view))
        source = source[shown]
        total += len(shown)
        _check_size(game, total, max_worlds)
        parts.append(worlds.select(shown))
        parents.append(rows[row[source]])
        moves.append(action_of[source])
        weights.append(part.weights[row[source]] * chance[source] * outcome[shown])
    if total == 0:
        return TrackedStep(None, np.zeros(0, np.int64), np.zeros(0, np.int64), likelihoods)
    worlds, parent, moved = game.concat(parts), np.concatenate(parents), np.concatenate(moves)
    memories = tuple(take(memory, parent) for memory in before.memories)
    memories = observe_all(worlds, np.full(total, actor), moved, blueprint, memories)
    after = TrackedWorlds(worlds, np.concatenate(weights), memories)
    return TrackedStep(after, parent, moved, likelihoods)


def track_observations(
    game: Game, blueprint: Blueprint, history: History, *, max_worlds: int = MAX_WORLDS
) -> TrackedWorlds:
    """List every world that the seat's observations allow; the others' moves are no evidence.

    Weights are the probability of the chance alone, not normalised. ``blueprint`` keeps the seats'
    memories along each world's own trajectory; () keeps none.

    Raises ContractError if no world agrees, UnsupportedError as ``track_deals``.
    """
    tracked = track_deals(game, blueprint, history.views[0], max_worlds)
    assert isinstance(game, Enumerable)
    for event, view in zip(history.events, history.views[1:], strict=True):
        step = track_event(
            game, blueprint, tracked, event, view, evidence=False, epsilon=0.0,
            max_worlds=max_worlds,
        )  # fmt: skip
        if step.after is None:
            raise ContractError(f"no world of {game.name} agrees with seat {history.seat}'s views")
        tracked = step.after
    return tracked


class TrackedBelief(Belief):
    """A private belief that keeps weighted worlds and the seat's own history."""

    def __init__(
        self,
        game: Game,
        blueprint: Blueprint,
        history: History,
        tracked: TrackedWorlds,
        memory: Memory,
        *,
        epsilon: float,
        likelihoods: int,
        recovered: int,
    ) -> None:
        """``memory`` is that of the blueprint's policy at the seat after ``history``, one row."""
        self.game = game
        self.blueprint = blueprint
        self.seat = history.seat
        self.view = history.views[-1]
        self.history = history  # what the seat has seen so far
        self.tracked = tracked.normalised()
        self.epsilon = epsilon
        self.likelihoods = likelihoods
        self.recovered = recovered
        self._memory = memory

    @property
    def size(self) -> int:
        return len(self.tracked)

    @property
    def memory(self) -> Memory:
        return self._memory

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """See ``Belief.sample``. Takes n doubles from ``rng`` and what ``game.reseed`` takes.

        Worlds of a game that is not ``Enumerable`` keep their own future chance.
        """
        draw = rng.random(n) * self._cumulative[-1]
        drawn = self.tracked.select(np.searchsorted(self._cumulative, draw, side="right"))
        if isinstance(self.game, Enumerable):
            return self.game.reseed(drawn.worlds, rng), drawn.memories
        return drawn.worlds, drawn.memories

    @cached_property
    def _cumulative(self) -> FloatArray:
        return np.cumsum(self.tracked.weights)


def showing(worlds: Worlds, view: View) -> BoolArray:
    """[B] True where the seat of ``view`` (a batch of one) sees the same in ``worlds``.

    And may do the same: where a move can fail and is made again (phantom games), that tells whose
    turn it is.
    """
    seen = worlds.view(view.player)
    key, keys = view.keys()[0], seen.keys()
    shown = np.fromiter((k == key for k in keys), dtype=np.bool_, count=len(keys))
    return np.asarray(shown & (seen.legal == view.legal[0]).all(axis=1))


def one_view(view: View) -> View:
    """A copy of a view that outlives its worlds' next step. Raises as ``require_one_view``."""
    require_one_view(view)
    return view.select(np.array([0]))


def _likelihood(
    blueprint: Blueprint,
    part: TrackedWorlds,
    actor: int,
    row: IntArray,
    action: IntArray,
    epsilon: float,
) -> tuple[FloatArray, int]:
    """[K] the probability of action[k] in world row[k] of ``part``; and policy evaluations."""
    rows, where = np.unique(row, return_inverse=True)
    movers = part.select(rows)
    policy, memory = blueprint[actor], movers.memories[actor]
    if len(rows) == len(row):  # one candidate move per world: games may compile this
        chance = likelihood(movers.worlds, policy, actor, memory, action)
    else:
        chance = probabilities_of(policy, movers.worlds.view(actor), memory)[where, action]
    if epsilon > 0:
        choices = movers.worlds.legal.sum(axis=1)[where]
        chance = (1 - epsilon) * chance + epsilon / choices
    return np.asarray(chance, dtype=np.float64), len(rows)


def _chunks(n: int) -> Iterator[IntArray]:
    return (np.arange(i, min(i + CHUNK, n)) for i in range(0, n, CHUNK))


def _check_size(game: Game, n: int, max_worlds: int) -> None:
    if n > max_worlds:
        raise UnsupportedError(
            f"an exact belief that lists worlds follows at most {max_worlds}, got {n} or more: "
            f"{game.belief_to_use or DRAWN}"
        )
