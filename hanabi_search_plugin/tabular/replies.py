"""Exact best replies of one seat to the others' table, and the seats replying in turn.

Letters: N nodes, K information states of a layer, I of all, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

import numpy as np

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, Game, IntArray
from hanabi_search_plugin.tabular.game_tree import GameTree, first_frontier, summed
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
        weight = np.bincount(place, weights=reach[mine], minlength=len(states))
        free = np.flatnonzero(layer.mover[layer.parent] == seat)  # edges
        parent = layer.parent[free]
        cell = np.searchsorted(states, layer.own[parent]) * actions + layer.action[free]
        total = summed(cell, reach[parent] * gains[free], len(states) * actions)
        mean = np.where(legal[states], total.reshape(-1, actions) / weight[:, None], -np.inf)
        mean[np.arange(len(states)), table[states].argmax(axis=1)] += TIE
        found[states] = np.eye(actions)[mean.argmax(axis=1)]
        worth = layer.worths(found, gains)
    return found, float(worth @ tree.start)


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

    def _part(self, table: FloatArray, free: int | None = None) -> GameTree:
        """The tree of the moves that ``table`` may play, and all of the seat ``free``."""
        if self.tree is not None:
            return self.tree.pruned(self.states.filled(table), free)
        assert self._growing is not None
        return self._growing.part(table, free)
