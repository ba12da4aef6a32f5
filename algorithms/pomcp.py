"""POMCP over exact beliefs (Silver and Veness, 2010): SPARTA, and a tree of the seat's later moves.

The others follow the blueprint, so one seat faces a game of chance that it sees a part of. SPARTA
comes first, with a share of the rollouts. Then a tree is grown under the moves that it found best:
its nodes are what the seat will have seen, worlds are drawn from the belief at the root, others
move by the blueprint, the seat by the upper confidence bound, and each iteration adds a node, from
which all follow the blueprint to the end. A node considers few moves at first, the blueprint's own
before all, and more with its visits (progressive widening).

What a tree says of its own best moves is too high. So the policy that it stands for, the best move
at a node where that is clear and else the blueprint's, is then played in fresh worlds, as another
continuation beside the blueprint (``continuation``). Another move than SPARTA's is played only
where these worlds show a clear gain, in pairs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

import numpy as np

from hanabi_search_plugin.algorithms.continuation import Portfolio, PortfolioTally
from hanabi_search_plugin.algorithms.rounds import next_round
from hanabi_search_plugin.algorithms.search_tree import Node, Nodes
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ConfigError, TooFewWorldsError
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    IntArray,
    Worlds,
    returns_of,
)
from hanabi_search_plugin.core.objective import utility
from hanabi_search_plugin.core.policy import Memory, take
from hanabi_search_plugin.core.require import (
    require_choice,
    require_integers,
    require_positive_or_0,
)
from hanabi_search_plugin.core.result import Reason, SearchResult
from hanabi_search_plugin.core.rollout import action_values, choose, observe_all, play_out
from hanabi_search_plugin.core.settings import described, setting
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.tree import MoveStats
from hanabi_search_plugin.core.watching import report_rollouts

DRAWS_AT_ONCE = 2  # numbers of an iteration that are drawn with those of others
NOTHING_TO_SEARCH = ("single_move", "budget_too_small", "belief_too_small")  # as reasons of SPARTA


@described
@dataclass(frozen=True, kw_only=True, repr=False)
class Pomcp(Sparta):
    """SPARTA that looks at its own later moves: ``Pomcp(rollouts=10_000)(rng, belief)``.

    ``tree`` is the share of the rollouts that is not SPARTA's: half of it grows the tree, half
    judges it. ``promising`` moves are looked into, the best by SPARTA's means, its own choice and
    the blueprint's move besides. ``nodes="moves"`` tells nodes apart by the moves that the seat has
    seen, ``"observations"`` by all that it has. At a node of n visits 1 + n ** ``widening`` moves
    are considered: the blueprint's, then those that SPARTA found best at the root.
    ``exploration`` is that of ``TreeSearch``. The other settings are those of ``Sparta``; what a
    later move must gain in the tree, and a move over SPARTA's choice in fresh worlds, goes by
    ``errors``, the latter by ``threshold``, too. Decisions solved by ``endgame`` need no tree.

    Raises ConfigError for settings out of range, and for a ``depth``.
    """

    tree: float = setting(0.5, "Share of the rollouts for a tree of the seat's later moves.")
    promising: int = setting(3, "Moves that a tree is grown under, the best by one ply.")
    nodes: Nodes = setting(
        "moves", "What tells the nodes of a tree apart: moves, or all that an observer sees."
    )
    exploration: float = setting(0.1, "The constant C of a tree, of the range of returns.")
    widening: float = setting(0.5, "Moves that a node considers: 1 + its visits to this power.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.tree < 1.0:
            raise ConfigError(f"tree must be a share from 0 to less than 1, got {self.tree!r}")
        if self.depth is not None:
            raise ConfigError(
                f"depth must be None, since rollouts from a tree go to the end, got {self.depth}"
            )
        require_integers(self, ("promising",), 1)
        require_choice("nodes", self.nodes, ("moves", "observations"))
        for name in ("exploration", "widening"):
            require_positive_or_0(name, getattr(self, name))
        if self._budget < 1:
            raise ConfigError(
                f"rollouts must leave one besides tree and confirm, got {self.rollouts}"
            )

    @property
    def _budget(self) -> int:
        return super()._budget - int(self.rollouts * self.tree)

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        """Decide for ``belief.seat``, which is to move. Takes what ``Sparta`` takes, then more.

        That is for each round of the tree what ``belief.sample`` takes, and draws for each world.
        """
        started = time.monotonic()
        one_ply = super().__call__(rng, belief)
        budget = int(self.rollouts * self.tree)
        if one_ply.exact or one_ply.reason in NOTHING_TO_SEARCH:
            return one_ply
        tree = _OwnMovesTree(self, Portfolio.of(belief, self.continuation).belief, one_ply)
        if budget // 2 < len(tree.actions):
            return one_ply
        end = None if self.seconds is None else started + self.seconds
        try:
            tree.grow(rng, budget // 2, end)
            return tree.judged(rng, budget - budget // 2, end)
        except TooFewWorldsError as error:
            return replace(one_ply, note="; ".join(filter(None, (one_ply.note, str(error)))))


Decide = Callable[[int, Node, int, BoolArray], int | None]
"""Of a world's row, its node, the blueprint's move and the legal moves [A]: the move; None: end."""


class _OwnMovesTree:
    """The tree of one decision, under K moves; ``one_ply`` is SPARTA's result."""

    def __init__(self, search: Pomcp, belief: Belief, one_ply: SearchResult) -> None:
        self.search, self.belief, self.one_ply = search, belief, one_ply
        mean = np.nan_to_num(one_ply.mean, nan=-np.inf)
        best = one_ply.actions[np.argsort(-mean, kind="stable")]
        kept = {one_ply.action, one_ply.blueprint_action, *best[: search.promising].tolist()}
        self.actions: IntArray = np.array(sorted(kept), dtype=np.int64)  # [K]
        self.order = best.tolist()  # the moves at the root, the best first
        self.root = Node()
        self.rollouts = 0
        self.depth = 0
        low, high = belief.game.return_range
        self.exploration = search.exploration * (high - low)

    def grow(self, rng: np.random.Generator, budget: int, end: float | None) -> None:
        """Make ``budget`` iterations at most, as many under each move, in the same worlds."""
        done, most = 0, budget // len(self.actions)
        while (n := self._round(done, most - done)) and not _out_of_time(end):
            self._iterate(rng, n)
            done += n

    def _round(self, done: int, left: int) -> int:
        """Worlds of the next round after ``done``, as SPARTA's, of those that are left."""
        return min(next_round(self.search.round_size, done), left)

    def _iterate(self, rng: np.random.Generator, n: int) -> None:
        """One iteration for each move in each of n worlds."""
        worlds, memories = self.belief.sample(rng, n)
        paths: list[list[MoveStats]] = [[] for _ in range(n * len(self.actions))]
        chance = Streams.spawn(rng, n)
        draws = list(Streams.spawn(rng, len(paths)).singles(DRAWS_AT_ONCE))

        def select(row: int, node: Node, own: int, legal: BoolArray) -> int | None:
            if not node.reached:
                node.reached = True
                return None
            considered = self._considered(node, own, legal)
            move = node.select(considered, self.exploration, draws[row])
            paths[row].append(node.moves[move])
            return move

        values = self._walk(worlds, memories, chance, select, Node.child, None)
        for path, value in zip(paths, values.ravel().tolist(), strict=True):
            for each in path:
                each.add(value)
            self.depth = max(self.depth, 1 + len(path))

    def judged(self, rng: np.random.Generator, budget: int, end: float | None) -> SearchResult:
        """The decision by fresh worlds: each move with the blueprint and with the tree after it."""
        moves, limit = len(self.actions), self.rollouts + budget
        returns = PortfolioTally(moves, 2)
        while n := self._round(returns.worlds, (limit - self.rollouts) // (2 * moves)):
            if _out_of_time(end) or not self._compare(rng, n, returns):
                break
        return self._decided(returns)

    def _compare(self, rng: np.random.Generator, n: int, returns: PortfolioTally) -> bool:
        """Add a round of n worlds; False if in the first ones the tree changes no move."""
        worlds, memories = self.belief.sample(rng, n)
        streams, moves = Streams.spawn(rng, n), len(self.actions)
        deviates = np.zeros(n * moves, dtype=np.bool_)  # [n * K] the tree leaves the blueprint

        def follow_tree(row: int, node: Node, own: int, legal: BoolArray) -> int | None:
            move = self._tree_policy_move(node, own, legal)
            deviates[row] |= move != own
            return move

        by_tree = self._walk(worlds, memories, streams, follow_tree, _existing_child, deviates)
        if not deviates.any() and not returns.worlds and n == self.search.round_size:
            return False
        by_blueprint = action_values(
            worlds, self.actions, self.belief.blueprint, memories, self.belief.seat, streams,
            threads=self.search.threads,
        )  # fmt: skip
        by_blueprint = utility(self.search.objective, by_blueprint, self.belief.game)
        self.rollouts += by_blueprint.size
        by_tree = np.where(np.isnan(by_tree), by_blueprint, by_tree)
        returns.add(np.arange(2 * moves), np.concatenate([by_blueprint, by_tree]))
        return True

    def _decided(self, returns: PortfolioTally) -> SearchResult:
        found = replace(
            self.one_ply, rollouts=self.one_ply.rollouts + self.rollouts, depth=self.depth or None
        )
        if not returns.worlds:
            return found
        tally = returns.cross_fitted()
        at = int(np.searchsorted(self.actions, found.action))
        base = int(np.searchsorted(self.actions, found.blueprint_action))
        best = int(tally.mean.argmax())
        gain, error = tally.difference(best)
        if best == at or not gain[at] > self.search._required(tally, best, at, len(self.actions)):
            return found
        mean, stderr, count = found.mean.copy(), found.stderr.copy(), found.count.copy()
        places = np.searchsorted(found.actions, self.actions)
        mean[places], stderr[places] = tally.mean, tally.stderr
        count[places] += returns.count
        reason: Reason = "blueprint_best" if best == base else "tree_choice"
        note = f"by one ply {found.action}, whose gain is {float(gain[at]):.3f} less by the tree"
        return replace(
            found, action=int(self.actions[best]), reason=reason, mean=mean, stderr=stderr,
            count=count, gain=0.0 if best == base else float(gain[base]),
            gain_stderr=0.0 if best == base else float(error[base]),
            note="; ".join(filter(None, (found.note, note))),
        )  # fmt: skip

    def _walk(
        self,
        worlds: Worlds,
        memories: tuple[Memory, ...],
        rng: Streams,
        decide: Decide,
        child: Callable[[Node, Hashable], Node | None],
        deviates: BoolArray | None,
    ) -> FloatArray:
        """[K, n] the seat's return after each move in n worlds, then by ``decide`` at its nodes.

        Where ``decide`` ends, or there is no ``child``, the blueprint plays to the end. With
        ``deviates`` [K * n] only rows in which it is True are then played; others are nan.
        """
        blueprint, size = self.belief.blueprint, len(worlds)
        actions = np.repeat(self.actions, size)
        rows = np.arange(len(actions))
        active = _ActiveWorlds(worlds, memories, rng, rows, [self.root] * size)
        active = active.select(rows % size, rows)
        values = np.full(len(rows), np.nan)
        while len(active.rows):
            event = active.worlds.step(actions)
            over = active.worlds.terminal
            if over.any():
                done = active.select(np.flatnonzero(over))
                values[done.rows] = self._utility(returns_of(done.worlds))
                counted = done.rows if deviates is None else np.flatnonzero(deviates[done.rows])
                self.rollouts += len(counted)
                alive = np.flatnonzero(~over)
                active, event = active.select(alive), event.select(alive)
                if not len(alive):
                    break
            self._observe(active, event, child)
            before = active.rng.state.copy()
            actions = np.array(choose(active.worlds, blueprint, active.memories, active.rng))
            ends = self._decide_at_nodes(active, actions, decide)
            if ends.any():
                played = ends if deviates is None else ends & deviates[active.rows]
                leaving = active.select(np.flatnonzero(played))
                if len(leaving.rows):
                    # The blueprint's move is drawn again, from the same chance.
                    chance = Streams(before[played])
                    returns = play_out(leaving.worlds, blueprint, leaving.memories, chance)
                    values[leaving.rows] = self._utility(returns)
                    self.rollouts += len(leaving.rows)
                    report_rollouts(len(leaving.rows))
                active, actions = active.select(np.flatnonzero(~ends)), actions[~ends]
        return values.reshape(len(self.actions), size)

    def _observe(
        self, active: _ActiveWorlds, event: Event, child: Callable[[Node, Hashable], Node | None]
    ) -> None:
        """Bring memories and nodes up to date with the moves just made."""
        belief, worlds = self.belief, active.worlds
        active.memories = observe_all(
            worlds, event.player, event.action, belief.blueprint, active.memories
        )
        seen: list[Hashable] = event.seen_by(belief.seat, belief.game).action.tolist()
        if self.search.nodes == "observations":
            seen = list(zip(seen, worlds.view(belief.seat).keys(), strict=True))
        active.nodes = [
            None if node is None else child(node, observation)
            for node, observation in zip(active.nodes, seen, strict=True)
        ]

    def _decide_at_nodes(
        self, active: _ActiveWorlds, actions: IntArray, decide: Decide
    ) -> BoolArray:
        """[N] True where the tree ends. Elsewhere sets the seat's own moves in ``actions`` [N]."""
        legal, own_turn = active.worlds.legal, active.worlds.current_player == self.belief.seat
        ends = np.zeros(len(actions), dtype=np.bool_)
        for i, node in enumerate(active.nodes):
            if node is None:
                ends[i] = True
            elif own_turn[i]:
                move = decide(int(active.rows[i]), node, int(actions[i]), legal[i])
                ends[i] = move is None
                actions[i] = actions[i] if move is None else move
        return ends

    def _utility(self, returns: FloatArray) -> FloatArray:
        """[B] what the seat's returns of [B, P] are worth."""
        return utility(self.search.objective, returns[:, self.belief.seat], self.belief.game)

    def _considered(self, node: Node, own: int, legal: BoolArray) -> list[int]:
        """The moves to select from at a node where the blueprint plays ``own``."""
        visits = sum(move.visits for move in node.moves.values())
        wide = 1 + int(visits**self.search.widening)
        known = [move for move in self.order if legal[move] and move != own]
        if 1 + len(known) < wide:
            rest = np.flatnonzero(legal).tolist()
            known += [move for move in rest if move != own and move not in known]
        return [own, *known[: wide - 1]]

    def _tree_policy_move(self, node: Node, own: int, legal: BoolArray) -> int:
        """The best move at a node where that is clear; else the blueprint's, ``own``."""
        tried = {a: move for a, move in node.moves.items() if move.visits > 1 and legal[a]}
        if own not in tried or len(tried) < 2:
            return own
        best = max(tried, key=lambda a: tried[a].mean)
        if best == own:
            return own
        # Each move's own variance is of few visits: all moves of the node share one.
        spread = sum(move.squares - move.total * move.mean for move in tried.values())
        freedom = sum(move.visits - 1 for move in tried.values())
        parts = 1 / tried[best].visits + 1 / tried[own].visits
        error = math.sqrt(max(spread, 0.0) / freedom * parts)
        needed = self.search.errors * math.sqrt(math.log(len(tried))) * error
        return best if tried[best].mean - tried[own].mean > needed else own


@dataclass
class _ActiveWorlds:
    """N worlds that go on."""

    worlds: Worlds
    memories: tuple[Memory, ...]  # each seat's [N]
    rng: Streams  # [N]
    rows: IntArray  # [N] their places in what ``_walk`` returns
    nodes: list[Node | None]  # [N] None: outside the tree

    def select(self, index: IntArray, rows: IntArray | None = None) -> _ActiveWorlds:
        """Copies of those at ``index``; ``rows`` are their places, if they change."""
        memories = tuple(take(memory, index) for memory in self.memories)
        nodes = [self.nodes[i] for i in index.tolist()]
        places = self.rows[index] if rows is None else rows
        return _ActiveWorlds(
            self.worlds.select(index), memories, self.rng.select(index), places, nodes
        )


def _existing_child(node: Node, observation: Hashable) -> Node | None:
    return node.children.get(observation)


def _out_of_time(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end
