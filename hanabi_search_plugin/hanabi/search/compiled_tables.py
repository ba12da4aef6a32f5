"""Many games side by side against compiled partners, in one compiled loop.

See ``seat_tables``, also for the letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.hanabi.bots.compiled import CompiledBot, is_compiled, scripts_of
from hanabi_search_plugin.hanabi.bots.game_loops import decide_as, observe_as
from hanabi_search_plugin.hanabi.bots.script import settle
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules
from hanabi_search_plugin.hanabi.engine.layout import TURN, copy_words, players
from hanabi_search_plugin.hanabi.engine.row_kernels import deal_row
from hanabi_search_plugin.hanabi.engine.rules import final_return, legal_mask, step
from hanabi_search_plugin.hanabi.search.seat_tables import LockstepTables, Tables
from hanabi_search_plugin.jit import kernel

COMPILES = "environments"

BEGIN = -1  # in place of an action


@kernel
def play_tables(
    dims: Any,
    template: Any,
    random_start: bool,
    rows: Any,
    which: Any,
    actions: Any,
    seat: int,
    scripts: Any,
    blank: Any,
    memories: Any,
    decks: Any,
    streams: Any,
    rewards: Any,
) -> None:
    """Play actions[b] of ``seat`` in the rows ``which``, or deal there for BEGIN, and the others'
    moves up to its next turn or the end.

    ``scripts`` int64 [P, SCRIPT], ``blank`` int32 [P, words], ``memories`` int32 [N, P, words]; the
    entries of ``seat`` are not read. rewards[b] is the change of the return by the action.
    """
    state = np.empty(1, np.uint64)
    for b in range(len(rows)):
        if not which[b]:
            continue
        row, mem = rows[b], memories[b]
        action: Any = np.int64(actions[b])
        if action == BEGIN:
            state[0] = decks[b]
            deal_row(dims, template, row, state, random_start)
            for p in range(len(blank)):
                copy_words(blank[p], mem[p])
        state[0] = streams[b]
        before = final_return(row)
        while row[TURN] >= 0:
            if action < 0:
                mover = np.int64(row[TURN]) & 7
                if mover == seat:
                    break
                code = decide_as(dims, scripts[mover], row, mem[mover])
                action = settle(dims, row, code, legal_mask(dims, row), state)
            step(dims, row, action, True)
            action = np.int64(-1)
            if row[TURN] >= 0:
                for p in range(players(dims)):
                    if p != seat:
                        observe_as(dims, scripts[p], row, p, mem[p])
        streams[b] = state[0]
        rewards[b] = final_return(row) - before


class CompiledTables(Tables):
    """Partners that are compiled bots, or play uniformly."""

    def __init__(
        self, game: HanabiRules, seat: int, partners: Mapping[int, Policy], size: int
    ) -> None:
        super().__init__(game, seat, partners, size)
        bots = [self.partners.get(p, UniformPolicy()) for p in range(game.num_players)]
        blanks = [b.blank(game) if isinstance(b, CompiledBot) else np.zeros(0) for b in bots]
        words = max(1, *(len(blank) for blank in blanks))
        self._blank = np.zeros((len(bots), words), dtype=np.int32)
        for p, blank in enumerate(blanks):
            self._blank[p, : len(blank)] = blank
        self._memories = np.zeros((size, *self._blank.shape), dtype=np.int32)  # [N, P, words]
        self._scripts = self._scripts_of_bots()

    def _scripts_of_bots(self) -> IntArray:
        bots = [self.partners.get(p, UniformPolicy()) for p in range(self.game.num_players)]
        scripts = scripts_of(tuple(bots), self.game)
        assert scripts is not None
        return scripts

    def __getstate__(self) -> dict[str, Any]:
        """Without the scripts: addresses in them are of this process."""
        return {name: value for name, value in vars(self).items() if name != "_scripts"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._scripts = self._scripts_of_bots()

    def begin(
        self, which: BoolArray, decks: NDArray[np.uint64], streams: NDArray[np.uint64]
    ) -> None:
        self.streams[which] = streams[which]
        self._play(which, np.full(len(which), BEGIN), decks)

    def move(self, which: BoolArray, actions: IntArray) -> FloatArray:
        return self._play(which, actions, self.streams)  # nobody deals

    def _play(self, which: BoolArray, actions: IntArray, decks: NDArray[np.uint64]) -> FloatArray:
        game, rewards = self.game, np.zeros(len(which))
        play_tables(
            game.dims,
            game.template,
            game.config.random_start_player,
            self.worlds.rows,
            which,
            actions,
            self.seat,
            self._scripts,
            self._blank,
            self._memories,
            decks,
            self.streams,
            rewards,
        )
        return rewards


def make_tables(game: HanabiRules, seat: int, partners: Mapping[int, Policy], size: int) -> Tables:
    """Compiled where every partner is."""
    compiled = all(is_compiled(partner) for partner in partners.values())
    return (CompiledTables if compiled else LockstepTables)(game, seat, partners, size)
