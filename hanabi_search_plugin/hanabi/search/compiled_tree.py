"""Grow search trees of native Hanabi in compiled code: the twin of ``algorithms.ismcts``.

One open-loop tree for all seats, in arrays. Letters: B worlds, N nodes (room for them), A actions,
P players, W words of a row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import IntArray, Worlds
from hanabi_search_plugin.core.policy import Blueprint, EstimatingGuide, Memory
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.tree import GrownTree, MoveStats, TreeSettings
from hanabi_search_plugin.hanabi.beliefs.mixed_partners import mixes_compiled
from hanabi_search_plugin.hanabi.bots.action_rules import WEIGHTS, proposed_mask
from hanabi_search_plugin.hanabi.bots.compiled import pack_memories, table_of
from hanabi_search_plugin.hanabi.bots.evalfn import EvalFn
from hanabi_search_plugin.hanabi.bots.game_loops import NO_MOVE, act_rows, observe_rows, play_rows
from hanabi_search_plugin.hanabi.bots.memories import words_of
from hanabi_search_plugin.hanabi.bots.redraw import conventional
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.script import KIND, NO_BOT, NO_MEMORY, SCRIPT
from hanabi_search_plugin.hanabi.bots.value_kernels import estimate_rows
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import TURN, copy_words, hand_size, players
from hanabi_search_plugin.hanabi.engine.redeterminize import redraw_hands, restore_hands
from hanabi_search_plugin.hanabi.engine.rules import final_return, legal_mask, next_uniform, step
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "tree search"

NODES, DEPTH = 0, 1  # words of ``sizes``


@inline
def select_move(
    mask: int, visits: Any, totals: Any, available: Any, exploration: float, logs: Any, state: Any
) -> int:
    """A move of ``mask`` never tried, or the one with the highest upper confidence bound.

    One draw of the stream where several are as good. All moves of the mask were available.
    """
    untried = 0
    best = 0
    most = -np.inf
    for a in range(len(visits)):
        if (mask >> a) & 1:
            if visits[a] == 0:
                untried |= 1 << a
            else:
                mean = totals[a] / visits[a]
                bound = mean + exploration * math.sqrt(logs[available[a]] / visits[a])
                if bound > most:
                    most, best = bound, 1 << a
                elif bound == most:
                    best |= 1 << a
            available[a] += 1
    best = untried if untried != 0 else best
    count = 0
    for a in range(len(visits)):
        count += (best >> a) & 1
    k = np.int64(next_uniform(state) * count) if count > 1 else 0
    for a in range(len(visits)):
        if (best >> a) & 1:
            if k == 0:
                return a
            k -= 1
    return -1


@inline
def observe_move(
    dims: Any, scripts: Any, now: Any, minds: Any, guide: Any, seat: int, hints: Any
) -> None:
    """Update every seat's memory, and the guide's, with the move that led to the row of ``now``."""
    if now[0, TURN] >= 0:
        for other in range(players(dims)):
            observe_rows(dims, scripts[other], now, other, minds[other : other + 1])
        if guide[KIND] != NO_BOT:
            observe_rows(dims, guide, now, seat, hints)


@inline
def missing_moves(mask: int, available: Any) -> int:
    """The moves of a mask that a node has not had among its moves so far."""
    missing = np.int64(0)
    for a in range(len(available)):
        missing |= np.int64(available[a] == 0) << a
    return int(missing & mask)


@kernel
def grow_rows(
    dims: Any,
    rows: Any,
    scripts: Any,
    memories: Any,
    guide: Any,
    guide_memory: Any,
    seat: int,
    redeterminize: bool,
    by_convention: bool,
    predict: bool,
    keep_hand: bool,
    exploration: float,
    depth: int,
    prior_visits: int,
    rollouts: bool,
    logs: Any,
    streams: Any,
    sizes: Any,
    reached: Any,
    children: Any,
    visits: Any,
    available: Any,
    totals: Any,
    squares: Any,
    kept: Any,
    kept_memory: Any,
) -> None:
    """An iteration in each of rows [B, W], one after the other.

    ``scripts`` int64 [B or 1, P, SCRIPT] and ``memories`` int32 [B or 1, P, words] are everybody's;
    ``guide`` int64 [SCRIPT], NO_BOT for no guide, and its memory int32 [1, words]; ``logs`` the
    logarithms of 0, 1, ...; ``streams`` uint64 [B]. The tree: ``reached`` bool [N]; ``children``
    int32, -1 for none, ``visits``, ``available`` int32 and ``totals`` float64, all [N, A];
    ``squares`` float64 [A], of the root. There is room for B more nodes. ``kept`` int32 [N or 0, W]
    and ``kept_memory`` [N or 0, words] receive the world in which a node was reached first, and
    the guide's memory there.
    """
    now = np.empty_like(rows[:1])
    saved = np.empty_like(rows[:1])
    row = now[0]
    minds = np.empty_like(memories[:1])
    hints = np.empty_like(guide_memory)
    state = np.empty(1, np.uint64)
    play_on = np.full((1, 1), NO_MOVE)
    values = np.empty((1, 1))
    nothing = np.empty((0, 0), np.int32)
    path = np.empty((1024, 2), np.int64)
    predicted = np.empty(1, np.int64)
    estimates = guide[KIND] != NO_BOT and guide[WEIGHTS] != 0
    expected = np.empty((1, visits.shape[1]))
    pool = np.empty(rows.shape[1], np.int64)
    allowed = np.full(hand_size(dims), -1)
    for b in range(len(rows)):
        at = b if len(scripts) > 1 else 0
        table = scripts[at : at + 1]
        copy_words(rows[b], row)
        for p in range(minds.shape[1]):
            copy_words(memories[b if len(memories) > 1 else 0, p], minds[0, p])
        copy_words(guide_memory[0], hints[0])
        state[0] = streams[b]
        if by_convention:
            conventional(dims, row, hints[0], guide, seat, pool, allowed)
            redraw_hands(dims, now, seat, keep_hand, allowed, state)
        node: Any = np.int64(0)
        n = 0
        while row[TURN] >= 0:
            mover: Any = np.int64(row[TURN]) & 7
            if predict and mover != seat:
                mind = minds[0, mover : mover + 1]
                act_rows(dims, table[0, mover], now, mind, state, predicted)
                step(dims, row, predicted[0], True)
                observe_move(dims, table[0], now, minds[0], guide, seat, hints)
                continue
            new = n > 0 and not reached[node]
            if new and len(kept) > 0:
                copy_words(row, kept[node])
                copy_words(hints[0], kept_memory[node])
            if (new and rollouts) or n == depth:
                reached[node] = True
                break
            reached[node] = True
            anew = redeterminize and mover != seat
            if anew:
                copy_words(row, saved[0])
                if by_convention:
                    conventional(dims, row, hints[0], guide, mover, pool, allowed)
                redraw_hands(dims, now, mover, keep_hand, allowed, state)
            mask = legal_mask(dims, row)
            if guide[KIND] != NO_BOT:
                proposed = proposed_mask(dims, row, hints[0], guide, mask)
                mask = proposed if proposed != 0 else mask
            missing = missing_moves(mask, available[node]) if estimates else 0
            if missing != 0:
                estimate_rows(dims, guide, now, hints, missing, expected)
                for a in range(len(squares)):
                    if (missing >> a) & 1:
                        visits[node, a] = prior_visits
                        totals[node, a] = prior_visits * expected[0, a]
                        available[node, a] = 1
                        if node == 0:
                            squares[a] = prior_visits * expected[0, a] * expected[0, a]
            action = select_move(
                mask, visits[node], totals[node], available[node], exploration, logs, state
            )
            path[n, 0] = node
            path[n, 1] = action
            n += 1
            step(dims, row, action, True)
            if missing != 0 and not rollouts:
                break
            if anew:
                restore_hands(dims, now, mover, saved, state)
            observe_move(dims, table[0], now, minds[0], guide, seat, hints)
            if children[node, action] < 0:
                children[node, action] = sizes[NODES]
                sizes[NODES] += 1
            node = np.int64(children[node, action])
        value: Any = np.float64(0.0)
        if row[TURN] < 0:
            value = np.float64(final_return(row))
        elif rollouts:
            play_rows(dims, now, play_on, table, minds, False, True, state, values, nothing)
            value = values[0, 0]
        else:
            at = path[n - 1]
            value = totals[at[0], at[1]] / visits[at[0], at[1]]
        for i in range(n):
            visits[path[i, 0], path[i, 1]] += 1
            totals[path[i, 0], path[i, 1]] += value
        squares[path[0, 1]] += value * value
        sizes[DEPTH] = max(sizes[DEPTH], n)


class CompiledTree(GrownTree):
    """A tree of native Hanabi in arrays; see ``grow_rows``. ``start`` makes one."""

    def __init__(
        self,
        game: HanabiRules,
        seat: int,
        blueprint: Blueprint,
        settings: TreeSettings,
        guide: IntArray,
        guide_memory: NDArray[np.int32],
    ) -> None:
        """``guide`` int64 [SCRIPT] and ``guide_memory`` int32 [1, words]: its compiled form."""
        self.game = game
        self.seat = seat
        self.iterations = 0
        self._blueprint = blueprint
        keep_hand = bool(game.visible[seat, seat])
        self._settings = (
            settings.redeterminize,
            settings.by_convention,
            settings.predict,
            keep_hand,
            settings.exploration,
        )
        depth = game.max_length if settings.depth is None else settings.depth
        self._ends = (depth, settings.prior_visits, settings.rollouts)
        self._guide, self._guide_memory = guide, guide_memory
        self._sizes = np.array([1, 0])
        self._logs = np.zeros(0)
        a = game.num_actions
        self.reached = np.ones(1, dtype=np.bool_)  # [N]
        self.children = np.full((1, a), -1, dtype=np.int32)  # [N, A]
        self.visits = np.zeros((1, a), dtype=np.int32)
        self.available = np.zeros((1, a), dtype=np.int32)
        self.totals = np.zeros((1, a))
        self.squares = np.zeros(a)  # of the root
        self.kept = np.empty((0, 0), dtype=np.int32)
        self.kept_memory = np.empty((0, 0), dtype=np.int32)

    def keep(self, row: NDArray[np.int32]) -> None:
        """From now on keep the world in which a node is reached first, and the guide's memory.

        They are ``kept`` [N, W] and ``kept_memory`` [N, words]; ``row`` [1, W] is the root's.
        """
        self.kept = row.copy()
        self.kept_memory = self._guide_memory.copy()

    @property
    def depth(self) -> int:  # type: ignore[override]  # read alone
        return int(self._sizes[DEPTH])

    def grow(self, worlds: Worlds, memories: tuple[Memory, ...], rng: Streams) -> None:
        if not isinstance(worlds, HanabiWorlds):
            raise TypeError(f"expected worlds of native Hanabi, got {type(worlds).__name__}")
        table = table_of(self._blueprint, memories, self.game)
        if table is None:
            raise UnsupportedError(
                "a tree of native Hanabi needs worlds in which every partner's policy is drawn, as "
                "a PartnersBelief samples them"
            )
        self._make_room(len(worlds))
        grow_rows(
            self.game.dims, worlds.rows, table[0], pack_memories(table[1]), self._guide,
            self._guide_memory, self.seat, *self._settings, *self._ends, self._logs, rng.state,
            self._sizes, self.reached, self.children, self.visits, self.available, self.totals,
            self.squares, self.kept, self.kept_memory,
        )  # fmt: skip
        self.iterations += len(worlds)

    def moves(self) -> dict[int, MoveStats]:
        return {
            a: MoveStats(int(self.visits[0, a]), float(self.totals[0, a]), float(self.squares[a]))
            for a in np.flatnonzero(self.available[0]).tolist()
        }

    def _make_room(self, more: int) -> None:
        """For as many nodes more."""
        needed, room = int(self._sizes[NODES]) + more, len(self.reached)
        if needed > room:
            add = max(needed, 2 * room) - room
            wide = ((0, add), (0, 0))
            self.reached = np.pad(self.reached, (0, add))
            self.children = np.pad(self.children, wide, constant_values=-1)
            self.visits = np.pad(self.visits, wide)
            self.available = np.pad(self.available, wide)
            self.totals = np.pad(self.totals, wide)
            if len(self.kept):
                self.kept = np.pad(self.kept, wide)
                self.kept_memory = np.pad(self.kept_memory, wide)
        if self.iterations + more >= len(self._logs):
            counts = range(1, 2 * (self.iterations + more) + 2)
            self._logs = np.array([0.0, *map(math.log, counts)])


def start_tree(
    game: HanabiRules, seat: int, blueprint: Blueprint, settings: TreeSettings
) -> CompiledTree | None:
    """See ``GrowsTrees``: None unless all policies are compiled and the guide is a RuleAgent.

    One that estimates has to be an EvalFn.
    """
    if not all(mixes_compiled(policy) for policy in blueprint):
        return None
    words, memory = np.zeros(SCRIPT, dtype=np.int64), NO_MEMORY
    words[KIND] = NO_BOT
    if settings.guide is not None:
        known = EvalFn if isinstance(settings.guide, EstimatingGuide) else RuleAgent
        if not isinstance(settings.guide, known):
            return None
        words, memory = settings.guide.script(game), words_of(settings.guide_memory)
    return CompiledTree(game, seat, blueprint, settings, words, memory)
