"""A listed game played from its tree: batches are arrays, whatever the game's own code is.

Searches of a small game written in Python, or of OpenSpiel, are many times faster in its tree. A
seat is shown the number of its information state, which is all that it has seen so far. Letters: B
worlds, N nodes, A actions, P players.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import (
    NOBODY,
    BoolArray,
    Event,
    FloatArray,
    IntArray,
    View,
    Worlds,
    as_actions,
    require_legal,
    require_seat,
)
from hanabi_search_plugin.core.ranges import entries_of
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.tabular.game_tree import OVER, GameTree
from hanabi_search_plugin.tabular.information_states import InformationStates


class TreeGame(Enumerable):
    """The game of a complete ``GameTree``, with the same deals, moves, chance and returns.

    Its one encoding, "information_state", is [B, 1], the number of the seat's information state in
    ``tree.states``; OVER at the end.
    """

    rewards = "identical"
    encodings = ("information_state",)

    def __init__(self, tree: GameTree) -> None:
        game = tree.game
        self.tree = tree
        self.name = game.name
        self.num_players, self.num_actions = game.num_players, game.num_actions
        self.return_range, self.max_length = game.return_range, game.max_length
        self.public_actions = game.public_actions
        sizes = [len(layer.mover) for layer in tree.layers]
        ends = np.cumsum(sizes)  # where the nodes of each layer end
        self.mover = np.concatenate([layer.mover for layer in tree.layers])  # [N]
        self.seen = np.concatenate([layer.seen for layer in tree.layers])  # [N, P]
        # Edges, sorted by the node and the action that they belong to.
        begins = ends - sizes
        cell = [
            (layer.parent + begin) * self.num_actions + layer.action
            for layer, begin in zip(tree.layers, begins, strict=True)
        ]
        self.first = np.searchsorted(
            np.concatenate(cell), np.arange(len(self.mover) * self.num_actions + 1)
        )
        self.child = np.concatenate(
            [
                np.where(layer.child == OVER, OVER, layer.child + end)
                for layer, end in zip(tree.layers, ends, strict=True)
            ]
        )
        self.chance = np.concatenate([layer.chance for layer in tree.layers])
        self.reward = np.concatenate([layer.reward for layer in tree.layers])
        self.passed = np.cumsum(self.chance)

    @cached_property
    def states(self) -> TreeStates:
        """The information states of the tree, by the same numbers."""
        return TreeStates(self)

    def deal(self, rng: np.random.Generator, n: int) -> TreeWorlds:
        """Takes one 64-bit draw a world from ``rng``, and one of the world's own stream."""
        streams = Streams.spawn(rng, n)
        chance = np.cumsum(self.tree.start)
        node = np.searchsorted(chance, streams.uniform() * chance[-1], side="right")
        return TreeWorlds(self, node.astype(np.int64), np.zeros(n), streams)

    def deals(self) -> tuple[TreeWorlds, FloatArray]:
        node = np.flatnonzero(self.tree.start)
        return TreeWorlds(
            self, node, np.zeros(len(node)), Streams.still(len(node))
        ), self.tree.start[node]

    def branch(self, worlds: Worlds, actions: IntArray) -> tuple[TreeWorlds, IntArray, FloatArray]:
        before = _ours(worlds)
        cell = before.cells(actions)
        first, last = self.first[cell], self.first[cell + 1]
        parent, edge = entries_of(first, last - first)
        total = before.total[parent] + self.reward[edge]
        after = TreeWorlds(self, self.child[edge], total, Streams.still(len(edge)))
        return after, parent, self.chance[edge]

    def concat(self, parts: Sequence[Worlds]) -> TreeWorlds:
        ours = [_ours(part) for part in parts]
        streams = Streams(np.concatenate([part.streams.state for part in ours]))
        node = np.concatenate([part.node for part in ours])
        return TreeWorlds(self, node, np.concatenate([part.total for part in ours]), streams)

    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> TreeWorlds:
        """See ``Enumerable``. Takes one 64-bit draw a world."""
        ours = _ours(worlds)
        return TreeWorlds(self, ours.node, ours.total, Streams.spawn(rng, len(ours)))

    def action_to_string(self, player: int, action: int) -> str:
        return self.tree.game.action_to_string(player, action)

    def legal_at(self, node: IntArray) -> BoolArray:
        """[B, A] what the seat to move may play; all False where the game is over."""
        own = self.seen[node, self.mover[node]]
        return np.asarray((node != OVER)[:, None] & self.tree.states.legal[own])


class TreeStates(InformationStates):
    """The information states of a ``TreeGame``, read off its views."""

    def __init__(self, game: TreeGame) -> None:
        super().__init__(game, lowest=game.tree.states.lowest)
        self._of = game.tree.states

    def __len__(self) -> int:
        return len(self._of)

    def _as_arrays(self) -> tuple[BoolArray, IntArray, IntArray]:
        return self._of._as_arrays()

    def started(self, view: View, *, add: bool = False) -> IntArray:
        return np.asarray(view.observation("information_state")[:, 0])

    def after(self, before: IntArray, view: View, event: Event, *, add: bool = False) -> IntArray:
        return np.asarray(view.observation("information_state")[:, 0])


class TreeView(View):
    """What one seat sees: its information state."""

    game: TreeGame

    def __init__(self, game: TreeGame, player: int, node: IntArray) -> None:
        self.game = game
        self.player = player
        self._node = node

    def __len__(self) -> int:
        return len(self._node)

    def select(self, index: IntArray | BoolArray) -> TreeView:
        return TreeView(self.game, self.player, self._node[index])

    @property
    def current_player(self) -> IntArray:
        return np.where(self._node == OVER, NOBODY, self.game.mover[self._node])

    @property
    def legal(self) -> BoolArray:
        mine = self.current_player == self.player
        return np.asarray(mine[:, None] & self.game.legal_at(self._node))

    def observation(self, encoding: str = "") -> NDArray[Any]:
        if encoding not in self.game.encodings:
            raise UnsupportedError(
                f"{self.game.name} has the encodings {self.game.encodings}, got {encoding!r}"
            )
        seen = self.game.seen[self._node, self.player]
        return np.where(self._node == OVER, OVER, seen)[:, None]

    def keys(self) -> Sequence[Hashable]:
        return list(self.observation("information_state")[:, 0].tolist())


class TreeWorlds(Worlds):
    """A batch of nodes, and the return on the way to each."""

    game: TreeGame

    def __init__(self, game: TreeGame, node: IntArray, total: FloatArray, streams: Streams) -> None:
        self.game = game
        self.node = node  # [B] OVER at the end
        self.total = total  # [B]
        self.streams = streams

    def __len__(self) -> int:
        return len(self.node)

    @property
    def current_player(self) -> IntArray:
        return np.where(self.node == OVER, NOBODY, self.game.mover[self.node])

    @property
    def returns(self) -> FloatArray:
        return np.repeat(self.total[:, None], self.game.num_players, axis=1)

    @property
    def legal(self) -> BoolArray:
        return self.game.legal_at(self.node)

    def cells(self, actions: IntArray) -> IntArray:
        """[B] where the edges of legal actions begin. Raises IllegalActionError."""
        require_legal(actions, self.legal)
        return self.node * self.game.num_actions + actions

    def step(self, actions: IntArray) -> Event:
        actions = as_actions(actions, len(self))
        game, cell = self.game, self.cells(actions)
        event = Event(self.current_player, actions)
        streams = self.streams.select(np.arange(len(self)))
        first, last = game.first[cell], game.first[cell + 1]
        before = np.where(first > 0, game.passed[first - 1], 0.0)
        target = before + streams.uniform() * (game.passed[last - 1] - before)
        edge = np.clip(np.searchsorted(game.passed, target, side="right"), first, last - 1)
        self.total = self.total + game.reward[edge]
        self.node = game.child[edge]
        self.streams = streams
        return event

    def select(self, index: IntArray | BoolArray) -> TreeWorlds:
        streams = Streams(self.streams.state[index])
        return TreeWorlds(self.game, self.node[index], self.total[index], streams)

    def view(self, player: int) -> TreeView:
        require_seat(player, self.game)
        return TreeView(self.game, player, self.node)


def _ours(worlds: Worlds) -> TreeWorlds:
    if not isinstance(worlds, TreeWorlds):
        raise UnsupportedError(f"expected TreeWorlds, got {type(worlds).__name__}")
    return worlds
