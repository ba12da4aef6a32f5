"""The tree of IS-MCTS: information sets, statistics of their moves, and selection among them.

Letters: T trees, P players.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import inf, log, sqrt
from typing import Literal

from hanabi_search_plugin.core.game import UNSEEN, Game, View
from hanabi_search_plugin.core.streams import Stream
from hanabi_search_plugin.core.tree import MoveStats
from hanabi_search_plugin.core.walk import Walk

Nodes = Literal["moves", "observations"]


class Node:
    """One information set: what a tree's observer has seen, and its moves' statistics."""

    __slots__ = ("children", "moves", "reached")

    def __init__(self) -> None:
        self.moves: dict[int, MoveStats] = {}
        self.children: dict[Hashable, Node] = {}  # by what the observer sees next
        self.reached = False  # True once an iteration has come here with its player to move

    def child(self, observation: Hashable) -> Node:
        """The node that follows what the observer sees next, made if it is new."""
        node = self.children.get(observation)
        if node is None:
            node = self.children[observation] = Node()
        return node

    def select(self, actions: Sequence[int], exploration: float, rng: Stream) -> int:
        """Select one of ``actions``: one never tried, or the best by the bound of equation 1.

        N of the equation counts how often the move was available, since not all moves always are.
        ``exploration`` is in score points. Takes one draw from ``rng`` if several are as good.
        """
        moves, most, best = self.moves, -inf, []
        for action in actions:
            move = moves.get(action)
            if move is None:
                move = moves[action] = MoveStats()
            visits, bound = move.visits, inf
            if visits:
                bound = move.total / visits + exploration * sqrt(log(move.available) / visits)
            move.available += 1
            if bound > most:
                most, best = bound, [action]
            elif bound == most:
                best.append(action)
        return best[0] if len(best) == 1 else best[int(rng.draw() * len(best))]


class Tree:
    """The trees of one decision: tree t is of what seat ``observers[t]`` sees.

    Moves of seat p are selected in tree ``of[p]``. Where nodes are observations and a key tells all
    that its seat has seen, every node is found at once, by its key, as a child of the root.
    """

    def __init__(
        self, game: Game, observers: tuple[int, ...], of: tuple[int, ...], nodes: Nodes
    ) -> None:
        self.game = game
        self.observers = observers  # [T]
        self.of = of  # [P]
        self.nodes = nodes
        self.by_key = nodes == "observations" and game.remembers
        self.roots = tuple(Node() for _ in observers)
        self.iterations = 0
        self.depth = 0  # moves from the root to the deepest node

    def root(self, view: View) -> Node:
        """The node at which the searching seat, with this view (a batch of one), is to move."""
        root = self.roots[self.of[view.player]]
        return root if self.nodes == "moves" else root.child(view.keys()[0])

    def start(self, walk: Walk) -> list[Node]:
        """[T] the nodes at which an iteration begins that goes this walk."""
        if self.nodes == "moves" or self.by_key:
            return list(self.roots)
        seen = zip(self.observers, self.roots, strict=True)
        return [root.child(walk.key(observer)) for observer, root in seen]

    def node(self, places: list[Node], walk: Walk) -> Node:
        """The node of the player to move, where ``places`` are those of the trees."""
        tree = self.of[walk.player]
        place = places[tree]
        return place.child(walk.key(self.observers[tree])) if self.by_key else place

    def after(self, places: list[Node], player: int, action: int, walk: Walk) -> list[Node]:
        """[T] the nodes that a move of ``player`` leads to from ``places``.

        ``walk`` is where it has led the world.
        """
        if self.by_key:
            return places
        public, by_moves = self.game.public_actions, self.nodes == "moves"
        after = []
        for observer, place in zip(self.observers, places, strict=True):
            seen = action if public or observer == player else UNSEEN
            after.append(place.child(seen if by_moves else (seen, walk.key(observer))))
        return after
