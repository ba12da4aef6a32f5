"""Many games side by side: one seat is played from outside, the others by policies.

Vector environments step them. ``HanabiGame.tables`` makes them: in one compiled loop where every
partner is a compiled bot (``compiled_tables``), else in lockstep, here. Both play the same games.
Letters: N tables, W words of a row, P players.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.policy import Memory, Policy, join, moves_of, observed, started, take
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine import row_kernels
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import TURN


class Tables(ABC):
    """``size`` games; ``partners`` has a policy for every seat but ``seat``.

    Every table has to ``begin`` before it moves.
    """

    def __init__(
        self, game: HanabiRules, seat: int, partners: Mapping[int, Policy], size: int
    ) -> None:
        self.game, self.seat, self.partners = game, seat, dict(partners)
        self.worlds = HanabiWorlds(game, np.tile(game.template, (size, 1)))  # [N]
        self.streams = np.zeros(size, dtype=np.uint64)  # [N], of the partners

    @abstractmethod
    def begin(
        self, which: BoolArray, decks: NDArray[np.uint64], streams: NDArray[np.uint64]
    ) -> None:
        """Deal games from the seeds ``decks`` [N] at the tables ``which`` [N] and let the partners
        move until the seat's first turn, or the end. Partners draw from ``streams`` [N]."""

    @abstractmethod
    def move(self, which: BoolArray, actions: IntArray) -> FloatArray:
        """Play the seat's legal ``actions`` [N] at the tables ``which`` [N], and the partners'
        answers. Returns what the return changed by [N]; 0 elsewhere."""


class LockstepTables(Tables):
    """Partners of any kind: each acts for all tables at once where it is to move."""

    def __init__(
        self, game: HanabiRules, seat: int, partners: Mapping[int, Policy], size: int
    ) -> None:
        super().__init__(game, seat, partners, size)
        self._memories: dict[int, Memory] = {}  # [N] by player

    def begin(
        self, which: BoolArray, decks: NDArray[np.uint64], streams: NDArray[np.uint64]
    ) -> None:
        index = np.flatnonzero(which)
        fresh = np.empty((len(index), self.worlds.rows.shape[1]), dtype=np.int32)
        start = self.game.config.random_start_player
        row_kernels.deal_rows(self.game.dims, self.game.template, decks[index], start, fresh)
        self.worlds.rows[index] = fresh
        self.streams[index] = streams[index]
        part = self.worlds.select(index)
        for p, policy in self.partners.items():
            self._keep(p, index, started(policy, part.view(p)))
        self._partners_move(index)

    def move(self, which: BoolArray, actions: IntArray) -> FloatArray:
        index = np.flatnonzero(which)
        before = self.worlds.returns[:, self.seat]
        if len(index):
            self._step(index, actions[index])
            self._partners_move(index)
        return self.worlds.returns[:, self.seat] - before

    def _partners_move(self, index: IntArray) -> None:
        while True:
            turns = self.worlds.rows[index, TURN]
            waiting = index[(turns >= 0) & (turns != self.seat)]
            if len(waiting) == 0:
                return
            for p, policy in self.partners.items():
                mine = waiting[self.worlds.rows[waiting, TURN] == p]
                if len(mine):
                    view = self.worlds.select(mine).view(p)
                    streams = Streams(self.streams[mine])
                    memory = take(self._memories[p], mine)
                    actions = moves_of(policy, view, memory, streams)
                    self.streams[mine] = streams.state
                    self._step(mine, actions)

    def _step(self, index: IntArray, actions: IntArray) -> None:
        part = self.worlds.select(index)
        event = part.step(actions)
        self.worlds.rows[index] = part.rows
        on = np.flatnonzero(~part.terminal)
        if len(on):
            event, part = event.select(on), part.select(on)
            for p, policy in self.partners.items():
                memory = take(self._memories[p], index[on])
                self._keep(p, index[on], observed(policy, part.view(p), event, memory))

    def _keep(self, p: int, index: IntArray, memory: Memory) -> None:
        """``memory`` [len(index)] in place of those rows of player ``p``'s."""
        size = len(self.worlds)
        if len(index) < size:
            rows = np.arange(size)
            rows[index] = size + np.arange(len(index))
            memory = take(join([self._memories[p], memory]), rows)
        self._memories[p] = memory
