"""Exact best replies of one seat to the others' table, and the seats replying in turn.

Letters: N nodes, K information states of a layer, I of all, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

import numpy as np

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, Game, IntArray
from hanabi_search_plugin.tabular.game_tree import OVER, GameTree, Layer, first_frontier, summed
from hanabi_search_plugin.tabular.growing_tree import GrowingTree
from hanabi_search_plugin.tabular.information_states import InformationStates

TIE = 1e-12  # by which a move must be better to be played in place of the table's
GAIN = 1e-9  # what counts as a gain in exact values
COMPLETE = 3_000_000  # edges of a tree that is listed once; larger ones in part, for each reply


def best_reply(tree: GameTree, table: FloatArray, seat: int) -> tuple[FloatArray, float]:
    """The table [I, A] in which ``seat`` replies best to the others; and the exact expected return.

    A row of ``table`` is the probabilities of the actions in an information state; a best reply is
    deterministic. No randomness. Where moves are equally good the likeliest of ``table`` stays.
    Information states to which the others never lead keep their row.
    """
    return _reply(tree.pruned(table, seat), table, seat)


def _reply(tree: GameTree, table: FloatArray, seat: int) -> tuple[FloatArray, float]:
    """``best_reply`` in a tree that has no other moves than it needs."""
    legal, actions = tree.states.legal, tree.game.num_actions
    reaches = tree.reaches(table, seat)
    found = table.copy()
    worth: FloatArray = np.zeros(0)
    for layer, reach in zip(reversed(tree.layers), reversed(reaches), strict=True):
        gains = layer.gains(worth)
        mine = np.flatnonzero(layer.mover == seat)  # nodes
        states, place = np.unique(layer.own[mine], return_inverse=True)  # [K]
        weight = summed(place, reach[mine], len(states))
        free = np.flatnonzero(layer.mover[layer.parent] == seat)  # edges
        parent = layer.parent[free]
        cell = np.searchsorted(states, layer.own[parent]) * actions + layer.action[free]
        total = summed(cell, reach[parent] * gains[free], len(states) * actions)
        mean = np.where(legal[states], total.reshape(-1, actions) / weight[:, None], -np.inf)
        mean[np.arange(len(states)), table[states].argmax(axis=1)] += TIE
        found[states] = np.eye(actions)[mean.argmax(axis=1)]
        worth = layer.worths(found, gains)
    return found, float(worth @ tree.start)


def best_in_hindsight(tree: GameTree, table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The table [I, A] whose every move in ``tree`` is best if all was seen from then on.

    A move is worth the mean, over what its seat cannot tell apart, of the best play of a team that
    sees everything: the Q_MDP of Littman, Cassandra and Kaelbling (ICML 1995). Such a team has
    nothing to tell, so of moves that are equally good the one is chosen that tells most: after
    which the next mover is least likely to take it for what else is played. Moves that the tree
    lacks are not considered; information states that it lacks keep their rows. ``rng`` draws the
    order in which information states choose, and between moves that tell as much.
    """
    actions = tree.game.num_actions
    worth: FloatArray = np.zeros(0)
    worths = []  # of each layer's moves, from the last on: the places of moves [M], and their worth
    for layer in reversed(tree.layers):
        gains = layer.gains(worth)
        cell = layer.parent * actions + layer.action
        moves, place = np.unique(cell, return_inverse=True)
        q = summed(place, gains, len(moves))
        worths.append((moves // actions, moves % actions, q))
        worth = np.full(len(layer.mover), -np.inf)
        np.maximum.at(worth, moves // actions, q)
    found, reach = table.copy(), tree.start
    after = [layer.own for layer in tree.layers[1:]] + [np.zeros(0, dtype=np.int64)]
    for layer, own, (node, action, q) in zip(tree.layers, after, reversed(worths), strict=True):
        led = reach > 0  # by the moves chosen before
        states, place = np.unique(layer.own[led], return_inverse=True)
        of_led = led[node]
        node, action, q = node[of_led], action[of_led], q[of_led]
        cell = np.searchsorted(states, layer.own[node]) * actions + action
        mean = np.full(len(states) * actions, -np.inf)
        mean[cell] = 0.0
        mean += summed(cell, reach[node] * q, len(mean))
        weight = summed(place, reach[led], len(states))
        worths_of = mean.reshape(-1, actions) / weight[:, None]
        best = worths_of >= worths_of.max(axis=1, keepdims=True) - TIE
        found[states] = np.eye(actions)[_most_told(layer, own, reach, states, best, rng)]
        reach = layer.onward(reach, found[layer.own[layer.parent], layer.action])
    return found


def _most_told(
    layer: Layer,
    after: IntArray,
    reach: FloatArray,
    states: IntArray,
    best: BoolArray,
    rng: np.random.Generator,
) -> IntArray:
    """[K] of each information state's ``best`` moves [K, A] the one that is confused least.

    One state after another chooses, and counts how likely the next mover, whose information states
    ``after`` has for the next layer's nodes [N'], comes by the moves chosen before to where each
    move leads.
    """
    actions = best.shape[1]
    used = np.flatnonzero((reach[layer.parent] > 0) & (layer.child != OVER))  # edges
    cell = np.searchsorted(states, layer.own[layer.parent[used]]) * actions + layer.action[used]
    order = np.argsort(cell, kind="stable")
    used, cell = used[order], cell[order]
    heard, place = np.unique(after[layer.child[used]], return_inverse=True)
    chance = reach[layer.parent[used]] * layer.chance[used]
    first = np.searchsorted(cell, np.arange(best.size + 1))
    taken = np.zeros(len(heard))
    chosen = np.zeros(len(states), dtype=np.int64)
    alike = best.sum(axis=1) > 1
    for state in (*np.flatnonzero(~alike), *rng.permutation(np.flatnonzero(alike))):
        moves = np.flatnonzero(best[state])
        edges = [slice(*first[[cell, cell + 1]]) for cell in state * actions + moves]
        confused = np.array([chance[e] @ taken[place[e]] for e in edges])
        least = rng.choice(np.flatnonzero(confused <= confused.min() + TIE))
        chosen[state] = moves[least]
        np.add.at(taken, place[edges[least]], chance[edges[least]])
    return chosen


@dataclass
class Replies:
    """Best replies in a game: in its complete tree, or in one that grows by what each reply needs.

    Where the tree is too large tables should be deterministic, and missing rows play the lowest
    legal move.
    """

    states: InformationStates  #: the information states met so far
    tree: GameTree | None  #: None: too large

    def __post_init__(self) -> None:
        self._growing = GrowingTree(self.states) if self.tree is None else None

    @classmethod
    def of(cls, game: Game, *, complete: int = COMPLETE) -> Replies:
        """Raises UnsupportedError as ``GameTree.of``, but for a tree of over ``complete`` moves."""
        states = InformationStates(game)
        first_frontier(game, states)  # refuses what no tree can list
        try:
            return cls(states, GameTree.of(game, states, max_edges=complete))
        except UnsupportedError:
            return cls(InformationStates(game, lowest=True), None)

    def value(self, table: FloatArray) -> float:
        """The expected return of a table [I, A]."""
        tree = self._part(table)
        return tree.value(self.states.filled(table))

    def reached(self, table: FloatArray) -> IntArray:
        """The information states in which a table's own play has somebody move."""
        return np.concatenate([layer.states for layer in self._part(table).layers])

    def chances(self, table: FloatArray) -> FloatArray:
        """[I] how likely a table's own play has somebody move in each information state."""
        tree = self._part(table)
        table = self.states.filled(table)
        found = np.zeros(len(table))
        for layer, reach in zip(tree.layers, tree.reaches(table), strict=True):
            found += summed(layer.own, reach, len(table))
        return found

    def understood(
        self, table: FloatArray, state: int, action: int, rng: np.random.Generator
    ) -> FloatArray:
        """The table with another action in one information state, and everybody ready for it.

        Where play leads by ``state`` alone, all seats move as is best in hindsight
        (``best_in_hindsight``). Elsewhere rows stay, and so does what play earns there. Raises
        UnsupportedError where too many moves may follow, as ``GameTree.of``.
        """
        without = self.states.filled(table).copy()
        without[state] = 0.0
        kept = self.reached(without)
        table = self.states.filled(table)
        followed = self.states.legal.astype(np.float64)
        followed[kept] = table[kept] > 0
        followed[state] = np.arange(table.shape[1]) == action
        tree = self._part(followed, beyond=True)
        return best_in_hindsight(tree, self.states.filled(table), rng)

    def best(self, table: FloatArray, seat: int) -> tuple[FloatArray, float]:
        """See ``best_reply``."""
        tree = self._part(table, seat)
        return _reply(tree, self.states.filled(table), seat)

    def in_turn(self, table: FloatArray, first: int = 0) -> tuple[FloatArray, float]:
        """The seats reply in turn, from ``first`` on, until none gains; the table, and its value.

        No seat alone can improve on the outcome: it is an equilibrium of the team.
        """
        players = self.states.game.num_players
        value, still = -np.inf, 0
        for seat in cycle((first + k) % players for k in range(players)):
            table, now = self.best(table, seat)
            still = 1 if now > value + GAIN else still + 1
            value = max(value, now)
            if still == players:
                return table, value
        raise AssertionError("the seats reply in turn")

    def _part(
        self, table: FloatArray, free: int | None = None, *, beyond: bool = False
    ) -> GameTree:
        """The tree of the moves that ``table`` may play, and all of the seat ``free``.

        With ``beyond`` also of all moves where the table has no row.
        """
        if self.tree is not None:
            return self.tree.pruned(self.states.filled(table), free)
        assert self._growing is not None
        return self._growing.part(table, free, beyond=beyond)
