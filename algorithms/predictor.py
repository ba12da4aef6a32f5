"""Predictor IS-MCTS (Walton-Rivers et al. 2017; Goodman 2019, section VII).

The tree branches over the searching seat's own moves alone. The others move by their policies, in
the tree and in the rollouts from its leaves. If a partner's policy is unknown, each iteration draws
one from its posterior together with the world (``PartnersBelief``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hanabi_search_plugin.algorithms.ismcts import TreeSearch, span
from hanabi_search_plugin.algorithms.search_tree import Tree
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import NOBODY, Event, Game
from hanabi_search_plugin.core.objective import utility
from hanabi_search_plugin.core.policy import Memory, observes
from hanabi_search_plugin.core.rollout import move_of, observe_all, play_on
from hanabi_search_plugin.core.settings import described, setting
from hanabi_search_plugin.core.streams import Stream
from hanabi_search_plugin.core.tree import MoveStats
from hanabi_search_plugin.core.walk import Walk


@described
@dataclass(frozen=True, kw_only=True, repr=False)
class Predictor(TreeSearch):
    """IS-MCTS over one seat's moves; the others are predicted by the belief's blueprint.

    See ``TreeSearch``. A node is the sequence of the seat's own moves, with
    ``nodes="observations"`` also of what it has seen; ``depth`` counts its own moves. The others'
    moves are those of their policies in that world, so nothing that this seat knows leaks into
    them, and nothing is redrawn.
    """

    evidence: bool = setting(True, "Take the others' moves as evidence of what they see.")

    predicts: ClassVar[bool] = True

    def tree(self, game: Game, seat: int) -> Tree:
        return Tree(game, (seat,), (0,) * game.num_players, self.nodes)

    def _iterate(
        self,
        tree: Tree,
        belief: Belief,
        walk: Walk,
        memories: tuple[Memory, ...],
        guide_memory: Memory,
        rng: Stream,
    ) -> None:
        """One iteration in one world: the tree selects for ``belief.seat``, policies for others."""
        game, seat, guide = belief.game, belief.seat, self.guide
        has_memory = any(map(observes, belief.blueprint))
        node = tree.node(tree.start(walk), walk)
        path: list[MoveStats] = []
        move = None  # the seat's last one
        while walk.player != NOBODY:
            entered = False
            player = walk.player
            if player != seat:
                action = move_of(walk, belief.blueprint, memories, rng)
            else:
                if move is not None:
                    node = node.child(move if self.nodes == "moves" else (move, walk.key(seat)))
                if (path and not node.reached and self._rolls_out) or len(path) == self.depth:
                    node.reached = True
                    break
                actions, entered = self._open(node, walk, guide_memory)
                action = move = node.select(actions, self.exploration * span(game), rng)
                path.append(node.moves[move])
            walk.step(action)
            if entered and not self._rolls_out:
                break
            if has_memory:
                moved = np.array([player]), np.array([action])
                memories = observe_all(walk.worlds(), *moved, belief.blueprint, memories)
            if guide is not None:
                event = Event(np.array([player]), np.array([action])).seen_by(seat, game)
                guide_memory = guide.observe(walk.worlds().view(seat), event, guide_memory)
        if self._rolls_out or walk.player == NOBODY:
            played = np.array(play_on(walk, belief.blueprint, memories, rng))
            value = float(utility(self.objective, played, game)[seat])
        else:
            value = path[-1].mean
        for each in path:
            each.add(value)
        tree.iterations += 1
        tree.depth = max(tree.depth, len(path))
