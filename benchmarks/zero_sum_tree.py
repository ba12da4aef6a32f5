"""A small two-player zero-sum game of OpenSpiel as arrays: exact values and exploitability.

``hanabi_search_plugin.tabular`` is for games of identical rewards. Letters: N decisions of a layer,
E edges, I information states, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray

OVER = -1  # in place of a decision where the game is over


@dataclass(frozen=True)
class Layer:
    """The decisions after so many moves, and what each move leads to."""

    own: IntArray  # [N] the information state of the player to move
    mover: IntArray  # [N] 0 or 1
    parent: IntArray  # [E] a decision of this layer
    action: IntArray  # [E]
    child: IntArray  # [E] a decision of the next layer, or OVER
    chance: FloatArray  # [E] of what follows the action
    payoff: FloatArray  # [E] what player 0 gets where the game is over, else 0


class ZeroSumTree:
    """Every history of a game; for those of some 100,000 at most."""

    def __init__(self, spiel: Any) -> None:
        """``spiel`` is a ``pyspiel.Game``. Raises UnsupportedError unless two players play it for
        a sum of zero, move by move, with all they have seen in their information states."""
        kind = spiel.get_type()
        if (
            spiel.num_players() != 2
            or kind.utility != pyspiel.GameType.Utility.ZERO_SUM
            or kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL
            or not kind.provides_information_state_string
        ):
            raise UnsupportedError(
                "expected a sequential zero-sum game of two players with information states, got "
                f"{spiel}"
            )
        self.spiel = spiel
        self.actions = spiel.num_distinct_actions()
        self.number: dict[str, int] = {}  # of each information state
        self._legal: list[list[int]] = []
        states, self.start = _after_chance(spiel.new_initial_state(), 1.0)
        self.layers: list[Layer] = []
        while states:
            layer, states = self._expanded(states)
            self.layers.append(layer)

    @property
    def legal(self) -> BoolArray:
        """[I, A] the moves that each information state allows."""
        found = np.zeros((len(self._legal), self.actions), dtype=np.bool_)
        for state, moves in enumerate(self._legal):
            found[state, moves] = True
        return found

    @property
    def uniform(self) -> FloatArray:
        """[I, A] the table of the policy that makes each legal move alike."""
        return self.legal / self.legal.sum(axis=1, keepdims=True)

    def action_values(self, table: FloatArray) -> FloatArray:
        """[I, A] what each move is worth to the player who makes it, if both play ``table`` [I, A]
        before and after it; NaN where it is illegal or the others' play never leads there."""
        weights, total = self._reaches(table), np.zeros(len(table))
        sums = np.zeros_like(table)
        after: FloatArray = np.zeros(0)
        for layer, weight in zip(reversed(self.layers), reversed(weights), strict=True):
            future = layer.payoff + np.append(after, 0.0)[layer.child]  # OVER is the last
            worth = np.zeros((len(layer.own), self.actions))
            np.add.at(worth, (layer.parent, layer.action), layer.chance * future)
            sign = np.where(layer.mover == 0, 1.0, -1.0)
            np.add.at(sums, layer.own, (weight * sign)[:, None] * worth)
            np.add.at(total, layer.own, weight)
            after = (table[layer.own] * worth).sum(axis=1)
        with np.errstate(invalid="ignore"):
            values = sums / total[:, None]
        return np.where(self.legal, values, np.nan)

    def exploitability(self, table: FloatArray) -> float:
        """OpenSpiel's: what a best reply to ``table`` [I, A] earns, the mean of both seats."""
        policy = {
            key: [(action, float(table[state, action])) for action in self._legal[state]]
            for key, state in self.number.items()
        }
        return float(pyspiel.exploitability(self.spiel, policy))

    def _reaches(self, table: FloatArray) -> list[FloatArray]:
        """[N] of each layer: the probability of each decision but for the mover's own moves."""
        found, reach = [], np.stack([self.start, self.start], axis=1)  # without player 0's, 1's
        for layer in self.layers:
            found.append(reach[np.arange(len(reach)), layer.mover])
            chosen = table[layer.own[layer.parent], layer.action]
            weight = reach[layer.parent] * layer.chance[:, None]
            mover = layer.mover[layer.parent]
            weight[np.arange(len(weight)), 1 - mover] *= chosen
            inside = np.flatnonzero(layer.child != OVER)
            reach = weight[inside]  # a child has one edge
        return found

    def _expanded(self, states: list[Any]) -> tuple[Layer, list[Any]]:
        own, edges = [], []
        after: list[Any] = []
        for n, state in enumerate(states):
            key, moves = state.information_state_string(), state.legal_actions()
            if key not in self.number:
                self.number[key] = len(self._legal)
                self._legal.append(moves)
            own.append(self.number[key])
            for action in moves:
                children, chances = _after_chance(state.child(action), 1.0)
                for child, chance in zip(children, chances, strict=True):
                    over = child.is_terminal()
                    payoff = child.player_return(0) if over else 0.0
                    edges.append((n, action, OVER if over else len(after), chance, payoff))
                    if not over:
                        after.append(child)
        parent, action, child, chance, payoff = zip(*edges, strict=True)
        return Layer(
            own=np.array(own),
            mover=np.array([state.current_player() for state in states]),
            parent=np.array(parent),
            action=np.array(action),
            child=np.array(child),
            chance=np.array(chance),
            payoff=np.array(payoff),
        ), after


def _after_chance(state: Any, probability: float) -> tuple[list[Any], FloatArray]:
    """Every decision or end that chance leads to from ``state``, and its probability."""
    if not state.is_chance_node():
        return [state], np.array([probability])
    states, chances = [], []
    for action, share in state.chance_outcomes():
        some, theirs = _after_chance(state.child(action), probability * share)
        states += some
        chances.append(theirs)
    return states, np.concatenate(chances)
