"""Exact endgames: expectimax over what one seat will know, where what is left can be listed.

The others play the blueprint, so the seat alone decides, in a game of chance that it sees a part of
(a POMDP). Each world of its belief is played on by each of its moves, by every outcome of chance,
and by every move that the others' policies may make, until the seat is to move again. Worlds in
which it has seen the same since then are one information state, in which it has to make one move;
the best one counts. Worlds are listed by what is drawn next, not by the order of a deck, so equal
cards count once, times their number.

SPARTA's rollouts let the seat itself follow the blueprint afterwards; here it plays as well as
can be. The values are those of an optimal policy, not estimates: no threshold is needed, and none
helps. What is exact is exact for partners that play the blueprint, and reads nothing but what the
seat's belief holds.

Letters: N worlds, M legal moves, C choices (pairs of an information state and a legal move),
K information states, A actions, P players.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hanabi_search_plugin.core.belief import Belief, ExplicitBelief
from hanabi_search_plugin.core.capabilities import Branches
from hanabi_search_plugin.core.game import (
    Event,
    FloatArray,
    IntArray,
    Worlds,
    returns_of,
)
from hanabi_search_plugin.core.objective import Objective, worth
from hanabi_search_plugin.core.policy import Blueprint, Memory, chances_of, join, observed, take
from hanabi_search_plugin.core.solving import Solution, SolvesEndgames

SLACK = 16  # times the budget that is tried by a game's estimate: much can be left out


def exact_values(
    belief: Belief,
    budget: int,
    *,
    base: int,
    every: bool = False,
    objective: Objective = "score",
) -> Solution | None:
    """The exact return of each legal move of ``belief.seat``, which is to move; see ``solve``.

    None where nothing was tried: the belief does not list its worlds or is not exact, the game does
    not list its chance (``Branches``), or it would seem to take more than ``budget`` states: by a
    first move in every world alone, and by the game's own estimate where it ``SolvesEndgames``.

    Raises UnsupportedError where another seat's policy is stochastic and gives no probabilities.
    """
    game, moves = belief.game, int(belief.view.legal[0].sum())
    if not (isinstance(belief, ExplicitBelief) and belief.exact and isinstance(game, Branches)):
        return None
    likely = 0.0
    if isinstance(game, SolvesEndgames):
        likely = game.likely_states(belief.view, belief.size)
    if belief.size * moves > budget or likely > SLACK * budget:
        return None
    worlds, weights = belief.support()
    memories = belief.support_memories()
    return solve(
        worlds, weights, memories, belief.blueprint, belief.seat, budget, base=base, every=every,
        objective=objective,
    )  # fmt: skip


def solve(
    worlds: Worlds,
    weights: FloatArray,
    memories: tuple[Memory, ...],
    blueprint: Blueprint,
    seat: int,
    budget: int,
    *,
    base: int,
    every: bool = False,
    objective: Objective = "score",
) -> Solution:
    """The exact return [M] of each legal move of ``seat``, if it plays its best from then on.

    ``worlds`` [N] show ``seat``, which is to move, the same; ``weights`` [N] are their
    probabilities and ``memories`` those of the seats' policies in them, [N] each. The others play
    ``blueprint``. ``worlds`` are left unchanged, and their own future chance does not matter. Once
    moves are to be played into more than ``budget`` worlds it stops: then there are no values.

    With another ``objective`` than the score values are what returns are worth.

    Compiled where the game ``SolvesEndgames``. Unless ``every`` move is asked for,
    such a game may leave out those that cannot be better than the best of the others: their value
    is nan. It tries ``base``, a legal action, first and never leaves it out.
    """
    game = worlds.game
    if isinstance(game, SolvesEndgames):
        found = game.compiled_solution(
            worlds, weights, memories, blueprint, seat, budget, base=base, every=every,
            objective=objective,
        )  # fmt: skip
        if found is not None:
            return found
    return plain_solution(worlds, weights, memories, blueprint, seat, budget, objective)


# ---------------------------------------------------------------------------------- for any game


def plain_solution(
    worlds: Worlds,
    weights: FloatArray,
    memories: tuple[Memory, ...],
    blueprint: Blueprint,
    seat: int,
    budget: int,
    objective: Objective = "score",
) -> Solution:
    """As ``solve``, for any game that ``Branches`` and any policies.

    One own move after the other, in all worlds together. The values come back from the last.
    """
    solver = _Solver(blueprint, seat, budget, objective)
    own = tuple(None if p == seat else memory for p, memory in enumerate(memories))
    nowhere = np.zeros(len(worlds), dtype=np.int64)
    front: _Front | None = _Front(worlds, weights, own, nowhere, nowhere)
    levels: list[_Level] = []
    try:
        while front is not None:
            level, front = solver.own_moves(front)
            levels.append(level)
    except _SpentError:
        return Solution(None, solver.states)
    best = np.zeros(0)
    for level in reversed(levels):
        values = level.ended.copy()
        np.add.at(values, level.before, best)
        best = np.full(int(level.state[-1]) + 1, -np.inf)
        np.maximum.at(best, level.state, values)
    return Solution(values, solver.states)


@dataclass(frozen=True)
class _Front:
    """N worlds that are not over, as far as they have been played."""

    worlds: Worlds  # [N]
    weights: FloatArray  # [N] their probabilities, the seat's own moves apart
    memories: tuple[Memory, ...]  # each seat's [N]; None for the searching seat
    choice: IntArray  # [N] the latest choice of the seat
    seen: IntArray  # [N] equal where the seat has seen the same up to now

    def select(self, index: IntArray) -> _Front:
        memories = tuple(take(memory, index) for memory in self.memories)
        return _Front(
            self.worlds.select(index), self.weights[index], memories, self.choice[index],
            self.seen[index],
        )  # fmt: skip


@dataclass(frozen=True)
class _Level:
    """One move of the seat: C choices, and what comes of them."""

    state: IntArray  # [C] the information state of each, in order
    ended: FloatArray  # [C] return where the game ends before the seat moves again, times weights
    before: IntArray  # [K] the choice that led to each information state of its next move


class _SpentError(Exception):
    """More states than the budget."""


class _Solver:
    """Plays worlds on, and counts them."""

    def __init__(self, blueprint: Blueprint, seat: int, budget: int, objective: Objective) -> None:
        self.blueprint, self.seat, self.budget = blueprint, seat, budget
        self.objective = objective
        self.states = 0

    def own_moves(self, front: _Front) -> tuple[_Level, _Front | None]:
        """Play every legal move, then the others until the seat is to move again.

        ``front.seen`` numbers information states. None: every game has ended.
        """
        row, action = np.nonzero(front.worlds.legal)
        number = front.worlds.game.num_actions
        pairs, choice = np.unique(front.seen[row] * number + action, return_inverse=True)
        level = _Level(pairs // number, np.zeros(len(pairs)), np.zeros(0, dtype=np.int64))
        front = replace(front.select(row), choice=choice, seen=choice)
        back: list[_Front] = []
        while len(action):
            front = self._play(front, action, level.ended)
            mine = front.worlds.current_player == self.seat
            if mine.any():
                back.append(front.select(np.flatnonzero(mine)))
                front = front.select(np.flatnonzero(~mine))
            front, action = self._others(front)
        if not back:
            return level, None
        after = _joined(back)
        _, first = np.unique(after.seen, return_index=True)
        return replace(level, before=after.choice[first]), after

    def _play(self, front: _Front, actions: IntArray, ended: FloatArray) -> _Front:
        """The worlds after ``actions`` and every outcome of the chance that follows.

        Where the game is over the return is added to ``ended`` [C]; the others are left.
        """
        if self.states + len(actions) > self.budget:
            raise _SpentError
        game, seat = front.worlds.game, self.seat
        assert isinstance(game, Branches)
        worlds, parent, chance = game.branch(front.worlds, actions)
        self.states += len(worlds)
        if self.states > self.budget:
            raise _SpentError
        weights = front.weights[parent] * chance
        over = worlds.terminal
        done = np.flatnonzero(over)
        returns = worth(self.objective, returns_of(worlds.select(done))[:, seat], game)
        np.add.at(ended, front.choice[parent[done]], weights[done] * returns)
        on = np.flatnonzero(~over)
        worlds, parent = worlds.select(on), parent[on]
        event = Event(front.worlds.current_player[parent], actions[parent])
        heard = event.seen_by(seat, game)
        sights: dict[object, int] = {}
        seen = zip(
            front.seen[parent].tolist(), heard.player.tolist(), heard.action.tolist(),
            worlds.view(seat).keys(), strict=True,
        )  # fmt: skip
        numbers = [sights.setdefault(sight, len(sights)) for sight in seen]
        memories = tuple(
            None
            if p == seat
            else observed(policy, worlds.view(p), event.seen_by(p, game), take(memory, parent))
            for p, (policy, memory) in enumerate(zip(self.blueprint, front.memories, strict=True))
        )
        numbered = np.array(numbers, dtype=np.int64)
        return _Front(worlds, weights[on], memories, front.choice[parent], numbered)

    def _others(self, front: _Front) -> tuple[_Front, IntArray]:
        """Every move that the others may make, one a row, weighted by its probability."""
        current = front.worlds.current_player
        rows, moves, chances = [], [], []
        for p in np.unique(current).tolist():
            part = np.flatnonzero(current == p)
            view = front.worlds.view(p).select(part)
            given = chances_of(self.blueprint[p], view, take(front.memories[p], part))
            legal = np.where(view.legal, given, 0.0)  # what rounding gave to others goes
            chance = legal / legal.sum(axis=1, keepdims=True)
            row, move = np.nonzero(chance)
            rows.append(part[row])
            moves.append(move)
            chances.append(chance[row, move])
        if not rows:
            return front, np.zeros(0, dtype=np.int64)
        after = front.select(np.concatenate(rows))
        weighted = replace(after, weights=after.weights * np.concatenate(chances))
        return weighted, np.concatenate(moves)


def _joined(parts: list[_Front]) -> _Front:
    """One front of all, whose ``seen`` numbers information states from 0 on."""
    game = parts[0].worlds.game
    assert isinstance(game, Branches)
    seen, total = [], 0
    for part in parts:
        states, number = np.unique(part.seen, return_inverse=True)
        seen.append(number + total)
        total += len(states)
    memories = tuple(join(column) for column in zip(*(p.memories for p in parts), strict=True))
    return _Front(
        game.concat([part.worlds for part in parts]),
        np.concatenate([part.weights for part in parts]),
        memories,
        np.concatenate([part.choice for part in parts]),
        np.concatenate(seen),
    )
