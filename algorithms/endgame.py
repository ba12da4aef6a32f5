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
from hanabi_search_plugin.core.objective import Objective, utility
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    join,
    observed,
    probabilities_of,
    take,
)
from hanabi_search_plugin.core.solving import Solution, SolvesEndgames

ESTIMATE_SLACK = 16  # a game's estimate may be so many times the budget: pruning leaves much out


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
    estimated = 0.0
    if isinstance(game, SolvesEndgames):
        estimated = game.likely_states(belief.view, belief.size)
    if belief.size * moves > budget or estimated > ESTIMATE_SLACK * budget:
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
    frontier: _Frontier | None = _Frontier(worlds, weights, own, nowhere, nowhere)
    levels: list[_Level] = []
    try:
        while frontier is not None:
            level, frontier = solver.own_moves(frontier)
            levels.append(level)
    except _OverBudgetError:
        return Solution(None, solver.states)
    best = np.zeros(0)
    for level in reversed(levels):
        values = level.ended.copy()
        np.add.at(values, level.parent, best)
        best = np.full(int(level.state[-1]) + 1, -np.inf)
        np.maximum.at(best, level.state, values)
    return Solution(values, solver.states)


@dataclass(frozen=True)
class _Frontier:
    """N worlds that are not over, as far as they have been played."""

    worlds: Worlds  # [N]
    weights: FloatArray  # [N] their probabilities, the seat's own moves apart
    memories: tuple[Memory, ...]  # each seat's [N]; None for the searching seat
    choice: IntArray  # [N] the latest choice of the seat
    infostate: IntArray  # [N] equal where the seat has seen the same up to now

    def select(self, index: IntArray) -> _Frontier:
        memories = tuple(take(memory, index) for memory in self.memories)
        return _Frontier(
            self.worlds.select(index), self.weights[index], memories, self.choice[index],
            self.infostate[index],
        )  # fmt: skip


@dataclass(frozen=True)
class _Level:
    """One move of the seat: C choices, and what comes of them."""

    state: IntArray  # [C] the information state of each, in order
    ended: FloatArray  # [C] return where the game ends before the seat moves again, times weights
    parent: IntArray  # [K] the choice that led to each information state of its next move


class _OverBudgetError(Exception):
    """More states than the budget."""


class _Solver:
    """Plays worlds on, and counts them."""

    def __init__(self, blueprint: Blueprint, seat: int, budget: int, objective: Objective) -> None:
        self.blueprint, self.seat, self.budget = blueprint, seat, budget
        self.objective = objective
        self.states = 0

    def own_moves(self, frontier: _Frontier) -> tuple[_Level, _Frontier | None]:
        """Play every legal move, then the others until the seat is to move again.

        ``frontier.infostate`` numbers information states from 0 on. None: every game has ended.
        """
        row, action = np.nonzero(frontier.worlds.legal)
        number = frontier.worlds.game.num_actions
        pairs, choice = np.unique(frontier.infostate[row] * number + action, return_inverse=True)
        level = _Level(pairs // number, np.zeros(len(pairs)), np.zeros(0, dtype=np.int64))
        frontier = replace(frontier.select(row), choice=choice, infostate=choice)
        returned: list[_Frontier] = []  # where the seat is to move again
        while len(action):
            frontier = self._play(frontier, action, level.ended)
            own_turn = frontier.worlds.current_player == self.seat
            if own_turn.any():
                returned.append(frontier.select(np.flatnonzero(own_turn)))
                frontier = frontier.select(np.flatnonzero(~own_turn))
            frontier, action = self._others(frontier)
        if not returned:
            return level, None
        after = _merged(returned)
        _, first = np.unique(after.infostate, return_index=True)
        return replace(level, parent=after.choice[first]), after

    def _play(self, frontier: _Frontier, actions: IntArray, ended: FloatArray) -> _Frontier:
        """The worlds after ``actions`` and every outcome of the chance that follows.

        Where the game is over the return is added to ``ended`` [C]; the others are left.
        """
        if self.states + len(actions) > self.budget:
            raise _OverBudgetError
        game, seat = frontier.worlds.game, self.seat
        assert isinstance(game, Branches)
        worlds, parent, chance = game.branch(frontier.worlds, actions)
        self.states += len(worlds)
        if self.states > self.budget:
            raise _OverBudgetError
        weights = frontier.weights[parent] * chance
        over = worlds.terminal
        done = np.flatnonzero(over)
        returns = utility(self.objective, returns_of(worlds.select(done))[:, seat], game)
        np.add.at(ended, frontier.choice[parent[done]], weights[done] * returns)
        on = np.flatnonzero(~over)
        worlds, parent = worlds.select(on), parent[on]
        event = Event(frontier.worlds.current_player[parent], actions[parent])
        seen_event = event.seen_by(seat, game)
        infostates: dict[object, int] = {}
        observations = zip(
            frontier.infostate[parent].tolist(), seen_event.player.tolist(),
            seen_event.action.tolist(), worlds.view(seat).keys(), strict=True,
        )  # fmt: skip
        numbers = [infostates.setdefault(each, len(infostates)) for each in observations]
        memories = tuple(
            None
            if p == seat
            else observed(policy, worlds.view(p), event.seen_by(p, game), take(memory, parent))
            for p, (policy, memory) in enumerate(
                zip(self.blueprint, frontier.memories, strict=True)
            )
        )
        infostate = np.array(numbers, dtype=np.int64)
        return _Frontier(worlds, weights[on], memories, frontier.choice[parent], infostate)

    def _others(self, frontier: _Frontier) -> tuple[_Frontier, IntArray]:
        """Every move that the others may make, one a row, weighted by its probability."""
        current = frontier.worlds.current_player
        rows, moves, chances = [], [], []
        for p in np.unique(current).tolist():
            part = np.flatnonzero(current == p)
            view = frontier.worlds.view(p).select(part)
            given = probabilities_of(self.blueprint[p], view, take(frontier.memories[p], part))
            given = np.where(view.legal, given, 0.0)  # what rounding gave to illegal moves goes
            chance = given / given.sum(axis=1, keepdims=True)
            row, move = np.nonzero(chance)
            rows.append(part[row])
            moves.append(move)
            chances.append(chance[row, move])
        if not rows:
            return frontier, np.zeros(0, dtype=np.int64)
        after = frontier.select(np.concatenate(rows))
        weighted = replace(after, weights=after.weights * np.concatenate(chances))
        return weighted, np.concatenate(moves)


def _merged(parts: list[_Frontier]) -> _Frontier:
    """One frontier of all, whose information states are numbered from 0 on."""
    game = parts[0].worlds.game
    assert isinstance(game, Branches)
    infostates, total = [], 0
    for part in parts:
        states, number = np.unique(part.infostate, return_inverse=True)
        infostates.append(number + total)
        total += len(states)
    memories = tuple(join(column) for column in zip(*(p.memories for p in parts), strict=True))
    return _Frontier(
        game.concat([part.worlds for part in parts]),
        np.concatenate([part.weights for part in parts]),
        memories,
        np.concatenate([part.choice for part in parts]),
        np.concatenate(infostates),
    )
