"""Exact best replies of one seat to the others' table, and the seats replying in turn.

Letters: N nodes, K information states of a layer, I of all, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

import numpy as np

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, Game, IntArray
from hanabi_search_plugin.tabular.game_tree import GameTree, first_frontier
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
    tree = tree.pruned(table, seat)
    legal, actions = tree.states.legal, tree.game.num_actions
    reaches = tree.reaches(table, seat)
    found = table.copy()
    worth: FloatArray = np.zeros(0)
    for layer, reach in zip(reversed(tree.layers), reversed(reaches), strict=True):
        q = tree.action_worths(layer, worth)  # [N, A]
        cell = layer.place[:, None] * actions + np.arange(actions)
        weighted = (reach[:, None] * q).ravel()
        total = np.bincount(cell.ravel(), weights=weighted, minlength=len(layer.states) * actions)
        weight = np.bincount(layer.place, weights=reach, minlength=len(layer.states))
        replies = tree.states.owner[layer.states] == seat
        states = layer.states[replies]
        mean = total.reshape(-1, actions)[replies] / weight[replies, None]
        mean = np.where(legal[states], mean, -np.inf)
        mean[np.arange(len(states)), table[states].argmax(axis=1)] += TIE
        found[states] = np.eye(actions)[mean.argmax(axis=1)]
        worth = (found[layer.own] * q).sum(axis=1)
    return found, float(worth @ tree.start)


@dataclass
class Replies:
    """Best replies in a game: in its complete tree, or in the part that each reply needs.

    Where the tree is too large tables should be deterministic, and missing rows play the lowest
    legal move.
    """

    states: InformationStates  #: the information states met so far
    tree: GameTree | None  #: None: too large

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
        tree = self._tree(table)
        table = self.states.filled(table)
        return tree.pruned(table).value(table)

    def reached(self, table: FloatArray) -> IntArray:
        """The information states in which a table's own play has somebody move."""
        layers = self._tree(table).pruned(self.states.filled(table)).layers
        return np.concatenate([layer.states for layer in layers])

    def best(self, table: FloatArray, seat: int) -> tuple[FloatArray, float]:
        """See ``best_reply``."""
        tree = self._tree(table, seat)
        return best_reply(tree, self.states.filled(table), seat)

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

    def _tree(self, table: FloatArray, free: int | None = None) -> GameTree:
        if self.tree is not None:
            return self.tree
        return GameTree.of(self.states.game, self.states, table=table, free=free)
