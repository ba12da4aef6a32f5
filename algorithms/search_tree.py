"""The tree of IS-MCTS: information sets, statistics of their moves, and selection among them.

Letters: T trees, P players.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Literal

from hanabi_search_plugin.core.game import Event, Game, View, Worlds
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.tree import MoveStats

Nodes = Literal["moves", "observations"]


class Node:
    """One information set: what a tree's observer has seen, and its moves' statistics."""

    __slots__ = ("children", "moves", "reached")

    def __init__(self) -> None:
        self.moves: dict[int, MoveStats] = {}
        self.children: dict[Hashable, Node] = {}  # by what the observer sees next
        self.reached = False  # True once an iteration has come here with its player to move

    def child(self, sight: Hashable) -> Node:
        """The node that follows what the observer sees next, made if it is new."""
        if sight not in self.children:
            self.children[sight] = Node()
        return self.children[sight]

    def select(self, actions: list[int], exploration: float, rng: Streams) -> int:
        """Select one of ``actions``: one never tried, or the best by the bound of equation 1.

        N of the equation counts how often the move was available, since not all moves always are.
        ``exploration`` is in score points. Takes one draw from ``rng`` if several are as good.
        """
        for action in actions:
            if action not in self.moves:
                self.moves[action] = MoveStats()
        best = [action for action in actions if self.moves[action].visits == 0]
        if not best:
            bounds = [_bound(self.moves[action], exploration) for action in actions]
            most = max(bounds)
            best = [a for a, bound in zip(actions, bounds, strict=True) if bound == most]
        for action in actions:
            self.moves[action].available += 1
        return best[0] if len(best) == 1 else best[int(rng.uniform()[0] * len(best))]


def _bound(move: MoveStats, exploration: float) -> float:
    return move.mean + exploration * math.sqrt(math.log(move.available) / move.visits)


class Tree:
    """The trees of one decision: tree t is of what seat ``observers[t]`` sees.

    Moves of seat p are selected in tree ``of[p]``.
    """

    def __init__(
        self, game: Game, observers: tuple[int, ...], of: tuple[int, ...], nodes: Nodes
    ) -> None:
        self.game = game
        self.observers = observers  # [T]
        self.of = of  # [P]
        self.nodes = nodes
        self.roots = tuple(Node() for _ in observers)
        self.iterations = 0
        self.depth = 0  # moves from the root to the deepest node

    def root(self, view: View) -> Node:
        """The node at which the searching seat, with this view (a batch of one), is to move."""
        root = self.roots[self.of[view.player]]
        return root if self.nodes == "moves" else root.child(view.keys()[0])

    def start(self, worlds: Worlds) -> list[Node]:
        """[T] the nodes at which an iteration in ``worlds`` (a batch of one) begins."""
        if self.nodes == "moves":
            return list(self.roots)
        sight = [worlds.view(p).keys()[0] for p in self.observers]
        return [root.child(key) for root, key in zip(self.roots, sight, strict=True)]

    def after(self, places: list[Node], event: Event, worlds: Worlds) -> list[Node]:
        """[T] the nodes that ``event`` leads to from ``places``; ``worlds`` are those after it."""
        found = []
        for observer, place in zip(self.observers, places, strict=True):
            sight: Hashable = int(event.seen_by(observer, self.game).action[0])
            if self.nodes == "observations":
                sight = sight, worlds.view(observer).keys()[0]
            found.append(place.child(sight))
        return found
