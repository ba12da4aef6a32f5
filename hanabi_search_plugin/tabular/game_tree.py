"""A small game of identical rewards as arrays, layer by layer, and the exact values of tables.

A layer has the nodes after so many moves. A node is a world together with what every seat has seen
on the way; where the game says which worlds have one future (``core.SharesFutures``), worlds that
every seat sees alike and that have one are the same node. Letters: N nodes of a layer, E edges, I
information states, A actions, P players.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hanabi_search_plugin.core.capabilities import Enumerable, SharesFutures
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    Game,
    IntArray,
    Worlds,
    returns_of,
)
from hanabi_search_plugin.core.ranges import entries_of
from hanabi_search_plugin.tabular.information_states import InformationStates

MAX_EDGES = 20_000_000  # some 60 bytes each
CHUNK = 1 << 16  # moves played at a time
OVER = -1  # in place of a node where the game is over


@dataclass(frozen=True)
class Frontier:
    """The nodes of a layer while the tree is made."""

    worlds: Worlds  # [N]
    seen: IntArray  # [N, P] each seat's information state

    @cached_property
    def mover(self) -> IntArray:
        return self.worlds.current_player

    def select(self, index: IntArray) -> Frontier:
        return Frontier(self.worlds.select(index), self.seen[index])

    @property
    def own(self) -> IntArray:
        """[N] the information state of the seat to move."""
        return self.seen[np.arange(len(self.seen)), self.mover]


@dataclass(frozen=True)
class Layer:
    """The nodes after so many moves, and the edges that leave them."""

    mover: IntArray  # [N]
    seen: IntArray  # [N, P] each seat's information state
    parent: IntArray  # [E] a node of this layer
    action: IntArray  # [E]
    child: IntArray  # [E] a node of the next layer, OVER at the end
    chance: FloatArray  # [E] of what follows the action
    reward: FloatArray  # [E]

    @cached_property
    def own(self) -> IntArray:
        """[N] the mover's information state."""
        return self.seen[np.arange(len(self.seen)), self.mover]

    @cached_property
    def first(self) -> IntArray:
        """[N + 1] where each node's edges begin; they are sorted by parent."""
        return np.searchsorted(self.parent, np.arange(len(self.mover) + 1))

    @cached_property
    def states(self) -> IntArray:
        """The information states of movers in this layer, each once."""
        return np.unique(self.own)

    def gains(self, after: FloatArray) -> FloatArray:
        """[E] what each edge brings to the end, times its chance, given the next layer's worths."""
        future = np.append(after, 0.0)[self.child]  # OVER is the last
        found: FloatArray = self.chance * (self.reward + future)
        return found

    def worths(self, table: FloatArray, gains: FloatArray) -> FloatArray:
        """[N] the expected return still to come under a table, from the gains of edges."""
        chosen = table[self.own[self.parent], self.action]
        return summed(self.parent, chosen * gains, len(self.mover))

    def onward(self, reach: FloatArray, chosen: FloatArray) -> FloatArray:
        """The probabilities of the next layer's nodes, by those of these [N] and of moves [E]."""
        weight = reach[self.parent] * chosen * self.chance
        inside = self.child != OVER
        size = int(self.child.max(initial=OVER)) + 1
        return summed(self.child[inside], weight[inside], size)


class GameTree:
    """All that can happen in a game, or all that a table leaves possible."""

    def __init__(
        self, states: InformationStates, layers: list[Layer], start: FloatArray, ends: int
    ) -> None:
        self.states = states
        self.layers = layers
        self.start = start  # [N] the chance of each node of the first layer
        self.ends = ends  # worlds in which the game is over

    def __repr__(self) -> str:
        return f"<tree of {self.game!r}: {self.nodes} decisions, {self.ends} ends>"

    @property
    def game(self) -> Game:
        """The game that the tree is of."""
        return self.states.game

    @property
    def nodes(self) -> int:
        """Decisions in the tree, of all players."""
        return sum(len(layer.mover) for layer in self.layers)

    @classmethod
    def of(
        cls,
        game: Game,
        states: InformationStates | None = None,
        *,
        max_edges: int = MAX_EDGES,
    ) -> GameTree:
        """List the game.

        Raises UnsupportedError for a game whose chance cannot be listed, whose rewards are not
        identical, or that has more than ``max_edges`` moves.
        """
        states = InformationStates(game) if states is None else states
        frontier, start = first_frontier(game, states)
        layers, edges, ends = [], 0, 0
        while len(frontier.worlds):
            allowed = frontier.worlds.legal
            edges += int(allowed.sum())
            check_edges(game, edges, max_edges)
            layer, frontier, over = expanded(states, frontier, allowed)
            layers.append(layer)
            ends += over
        return cls(states, layers, start, ends)

    def pruned(self, table: FloatArray, free: int | None = None) -> GameTree:
        """What remains if only moves that ``table`` may play are followed, and all of ``free``."""
        kept, layers, ends = np.flatnonzero(self.start), [], 0
        start = self.start[kept]
        for layer in self.layers:
            first = layer.first[kept]
            number = layer.first[kept + 1] - first
            parent, edge = entries_of(first, number)
            own = layer.own[kept]
            played = (table[own[parent], layer.action[edge]] > 0) | (
                layer.mover[kept][parent] == free
            )
            parent, edge = parent[played], edge[played]
            after, child = renumbered(layer.child[edge])
            ends += int((child == OVER).sum())
            layers.append(
                Layer(
                    layer.mover[kept], layer.seen[kept], parent, layer.action[edge], child,
                    layer.chance[edge], layer.reward[edge],
                )
            )  # fmt: skip
            kept = after
        return GameTree(self.states, layers, start, ends)

    def value(self, table: FloatArray) -> float:
        """The expected return of a table [I, A]."""
        worth: FloatArray = np.zeros(0)
        for layer in reversed(self.layers):
            worth = layer.worths(table, layer.gains(worth))
        return float(worth @ self.start)

    def reaches(self, table: FloatArray, apart: int | None = None) -> list[FloatArray]:
        """[N] for each layer: the probability of each node, without the choices of ``apart``."""
        reach, found = self.start, []
        for layer in self.layers:
            found.append(reach)
            chosen = table[layer.own[layer.parent], layer.action]
            if apart is not None:
                chosen = np.where(layer.mover[layer.parent] == apart, 1.0, chosen)
            reach = layer.onward(reach, chosen)
        return found


def renumbered(child: IntArray) -> tuple[IntArray, IntArray]:
    """The nodes that edges lead to, ascending, and each edge's place among them or OVER [E]."""
    place = np.full(len(child), OVER)
    inside = child != OVER
    nodes, place[inside] = np.unique(child[inside], return_inverse=True)
    return nodes, place


def check_edges(game: Game, edges: int, max_edges: int) -> None:
    """Raises UnsupportedError for more than ``max_edges``."""
    if edges > max_edges:
        raise UnsupportedError(
            f"a tree has at most max_edges={max_edges} moves, got more of {game.name}"
        )


def summed(place: IntArray, what: FloatArray, size: int) -> FloatArray:
    """[size] the sum of ``what`` at each place."""
    return np.bincount(place, weights=what, minlength=size).astype(np.float64, copy=False)


def first_frontier(game: Game, states: InformationStates) -> tuple[Frontier, FloatArray]:
    """The nodes of the first layer, and the chance of each. Raises as ``GameTree.of``."""
    if not isinstance(game, Enumerable) or game.rewards != "identical":
        raise UnsupportedError(
            "a tree needs a game of identical rewards that lists its chance (core.Enumerable), "
            f"got {game.name}"
        )
    worlds, start = game.deals()
    seen = [states.started(worlds.view(p), add=True) for p in range(game.num_players)]
    frontier, node = _merged(game, worlds, np.stack(seen, axis=1))
    return frontier, summed(node, start, len(frontier.worlds))


def expanded(
    states: InformationStates, before: Frontier, allowed: BoolArray
) -> tuple[Layer, Frontier, int]:
    """Play the moves ``allowed`` [N, A]: the layer, the next nodes, and the worlds that ended."""
    game = states.game
    assert isinstance(game, Enumerable)
    row, action = np.nonzero(allowed)
    paid = returns_of(before.worlds)[:, 0]
    parts, edges = [], []
    for first in range(0, max(len(row), 1), CHUNK):
        here, move = row[first : first + CHUNK], action[first : first + CHUNK]
        after, source, chance = game.branch(before.worlds.select(here), move)
        parent, moved = here[source], move[source]
        reward = returns_of(after)[:, 0] - paid[parent]
        inside = np.flatnonzero(~after.terminal)
        edges.append((parent, moved, chance, reward, after.terminal))
        event = Event(before.mover[parent[inside]], moved[inside])
        kept = after.select(inside)
        seen = [
            states.after(before.seen[parent[inside], p], kept.view(p), event, add=True)
            for p in range(game.num_players)
        ]
        parts.append((kept, np.stack(seen, axis=1)))
    parent, moved, chance, reward, over = (
        np.concatenate(each) for each in zip(*edges, strict=True)
    )
    worlds = game.concat([part[0] for part in parts])
    frontier, node = _merged(game, worlds, np.concatenate([part[1] for part in parts]))
    child = np.full(len(parent), OVER)
    child[~over] = node
    layer = Layer(before.mover, before.seen, parent, moved, child, chance, reward)
    return layer, frontier, int(over.sum())


def _merged(game: Enumerable, worlds: Worlds, seen: IntArray) -> tuple[Frontier, IntArray]:
    """The nodes that worlds make, and the node of each world."""
    if not isinstance(game, SharesFutures) or len(worlds) == 0:
        return Frontier(worlds, seen), np.arange(len(worlds))
    key = np.column_stack([seen, game.futures(worlds)])
    order = np.lexsort(key.T)
    new = np.ones(len(key), dtype=np.bool_)
    new[1:] = (key[order[1:]] != key[order[:-1]]).any(axis=1)
    node = np.empty(len(key), dtype=np.int64)
    node[order] = np.cumsum(new) - 1
    first = order[new]
    return Frontier(worlds.select(first), seen[first]), node
