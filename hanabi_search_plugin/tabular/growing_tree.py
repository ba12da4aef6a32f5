"""The part of a game's tree that tables have reached so far, for games too large to list whole.

Each move is played once, when a table first needs it, and kept for the tables that come after.
Letters: N nodes of a level, C moves of its nodes that were played, E edges, A actions, P players.
"""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.capabilities import Enumerable, SharesFutures
from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.ranges import entries_of
from hanabi_search_plugin.tabular.game_tree import (
    MAX_EDGES,
    OVER,
    Frontier,
    GameTree,
    Layer,
    check_edges,
    expanded,
    first_frontier,
    renumbered,
)
from hanabi_search_plugin.tabular.information_states import InformationStates

MOST_NODES = 1_000_000  # kept; a state of OpenSpiel is about a kilobyte


class _Level:
    """The nodes met after so many moves, and the moves of theirs that were played."""

    def __init__(self, game: Enumerable, frontier: Frontier) -> None:
        self.game = game
        self._parts = [frontier.worlds]  # as they were met; N worlds together
        self.seen = frontier.seen  # [N, P] each seat's information state
        self.mover = frontier.mover  # [N]
        self._known = {key: node for node, key in enumerate(self._keys(frontier))}
        self.cell: IntArray = np.zeros(0, dtype=np.int64)  # [C] node x A + action, ascending
        self.first = self.number = self.cell  # [C] where the edges of each begin, and how many
        self.child = self.cell  # [E] a node of the next level, OVER at the end
        self.chance: FloatArray = np.zeros(0)  # [E]
        self.reward: FloatArray = np.zeros(0)  # [E]

    def _keys(self, frontier: Frontier) -> list[bytes]:
        """What tells nodes apart that may be one; none where the game does not say."""
        if not isinstance(self.game, SharesFutures) or len(frontier.worlds) == 0:
            return []
        rows = np.column_stack([frontier.seen, self.game.futures(frontier.worlds)])
        return [row.tobytes() for row in rows]

    def frontier(self, node: IntArray) -> Frontier:
        """Nodes [B], ascending, with their worlds."""
        first = np.cumsum([0, *map(len, self._parts)])
        part = np.searchsorted(first, node, side="right") - 1
        worlds = [self._parts[k].select(node[part == k] - first[k]) for k in np.unique(part)]
        return Frontier(self.game.concat(worlds), self.seen[node])

    def add_nodes(self, frontier: Frontier) -> IntArray:
        """[N'] the nodes that these are, added where they are new."""
        keys, known = self._keys(frontier), len(self.mover)
        node = np.arange(len(frontier.worlds)) + known
        if keys:
            node = np.array([self._known.setdefault(key, len(self._known)) for key in keys])
            frontier = frontier.select(np.flatnonzero(node >= known))
        self._parts.append(frontier.worlds)
        self.seen = np.concatenate([self.seen, frontier.seen])
        self.mover = np.concatenate([self.mover, frontier.mover])
        return node

    def add_edges(self, cell: IntArray, child: IntArray, layer: Layer) -> None:
        """``cell`` [E'] of each new edge, whose edges lie together; ``child`` [E']."""
        new, first, number = np.unique(cell, return_index=True, return_counts=True)
        cells = np.concatenate([self.cell, new])
        order = np.argsort(cells, kind="stable")
        self.cell = cells[order]
        self.first = np.concatenate([self.first, first + len(self.child)])[order]
        self.number = np.concatenate([self.number, number])[order]
        self.child = np.concatenate([self.child, child])
        self.chance = np.concatenate([self.chance, layer.chance])
        self.reward = np.concatenate([self.reward, layer.reward])


class GrowingTree:
    """The moves of a game that tables have needed. Raises as ``GameTree.of``."""

    def __init__(self, states: InformationStates) -> None:
        frontier, self._start = first_frontier(states.game, states)
        assert isinstance(states.game, Enumerable)
        self.states, self.game = states, states.game
        self._levels = [_Level(self.game, frontier)]

    @property
    def nodes(self) -> int:
        """Decisions that are kept."""
        return sum(len(level.mover) for level in self._levels)

    def part(
        self,
        table: FloatArray,
        free: int | None = None,
        *,
        beyond: bool = False,
        max_edges: int = MAX_EDGES,
    ) -> GameTree:
        """The tree of all moves that ``table`` [I, A] may play, and all of the seat ``free``.

        With ``beyond`` also all moves where the table has no row. Raises UnsupportedError where it
        has more than ``max_edges`` moves. Where over MOST_NODES decisions are kept, it forgets them
        and begins anew.
        """
        if self.nodes > MOST_NODES:
            first = self._levels[0]
            self._levels = [_Level(self.game, first.frontier(np.arange(len(first.mover))))]
        kept, layers, depth, moves, ends = np.flatnonzero(self._start), [], 0, 0, 0
        while len(kept):
            level = self._levels[depth]
            mover, seen = level.mover[kept], level.seen[kept]
            own = seen[np.arange(len(kept)), mover]
            allowed = self.states.legal[own]
            bound = np.flatnonzero((mover != free) & ((own < len(table)) | (not beyond)))
            allowed[bound] &= self.states.rows(table, own[bound]) > 0
            row, action = np.nonzero(allowed)
            moves += len(row)
            check_edges(self.game, moves, max_edges)
            cell = kept[row] * self.game.num_actions + action
            self._play(depth, np.setdiff1d(cell, level.cell, assume_unique=True))
            place = np.searchsorted(level.cell, cell)
            move, edge = entries_of(level.first[place], level.number[place])
            after, child = renumbered(level.child[edge])
            layers.append(
                Layer(
                    mover, seen, row[move], action[move], child, level.chance[edge],
                    level.reward[edge],
                )
            )  # fmt: skip
            ends += int((child == OVER).sum())
            kept, depth = after, depth + 1
        return GameTree(self.states, layers, self._start[self._start > 0], ends)

    def _play(self, depth: int, cell: IntArray) -> None:
        """Play moves of a level that were not played yet, ``cell`` ascending."""
        if len(cell) == 0:
            return
        level, actions = self._levels[depth], self.game.num_actions
        node, row = np.unique(cell // actions, return_inverse=True)
        allowed = np.zeros((len(node), actions), dtype=np.bool_)
        allowed[row, cell % actions] = True
        layer, after, _ = expanded(self.states, level.frontier(node), allowed)
        if depth + 1 == len(self._levels):
            self._levels.append(_Level(self.game, after.select(np.zeros(0, dtype=np.int64))))
        child = np.append(self._levels[depth + 1].add_nodes(after), OVER)[layer.child]
        level.add_edges(node[layer.parent] * actions + layer.action, child, layer)
