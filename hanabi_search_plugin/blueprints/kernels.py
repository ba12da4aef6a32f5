"""Compiled loops over the built-in bots: one decision, one observation, whole games.

A bot is a number; one kernel dispatches on it, so that any mix of bots shares one compiled loop.
Rows are those of ``hanabi.layout``; memories int32 [B or 1, P, words], one row where they are the
same in every world. Streams are uint64 [B], SplitMix64 states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.blueprints import smartbot
from hanabi_search_plugin.hanabi.kernels import random_action
from hanabi_search_plugin.hanabi.layout import (
    INFO,
    LAST_CARD,
    TURN,
    players,
)
from hanabi_search_plugin.hanabi.rules import final_return, legal_mask, step
from hanabi_search_plugin.jit import inline, kernel

RANDOM = 0  # uniform over the legal moves, no memory
SMARTBOT = 1


@kernel
def act_rows(dims: Any, bot: int, rows: Any, memory: Any, streams: Any, out: Any) -> None:
    """out[b] = the action of the player to move in row b."""
    state = np.empty(1, np.uint64)
    for b in range(len(rows)):
        mem = memory[b if len(memory) > 1 else 0]
        if bot == SMARTBOT:
            board = smartbot.planes(rows[b])
            due = smartbot.expected_discard(dims, rows[b], mem, board)
            out[b] = smartbot.decide(dims, rows[b], mem, board, due)
        else:
            state[0] = streams[b]
            out[b] = random_action(legal_mask(dims, rows[b]), state)
            streams[b] = state[0]


@kernel
def observe_rows(dims: Any, bot: int, rows: Any, seat: int, memory: Any) -> None:
    """Bring memories [B, words] of one seat over the last move of each row, in place."""
    if bot == SMARTBOT:
        for b in range(len(rows)):
            smartbot.observe_alone(dims, rows[b], seat, memory[b])


@inline
def play_on(
    dims: Any, row: Any, first: int, bots: Any, mem: Any, one_mind: bool, state: Any
) -> None:
    """Play a row to its end, beginning with ``first`` unless it is -1. ``mem`` int32 [P, words].

    ``one_mind``: all seats are SmartBots and their memories are equal; then row 0 serves for all
    until a move that the seats read differently (a finesse that points nowhere) parts them.
    """
    p = players(dims)
    board = smartbot.planes(row)
    while row[TURN] >= 0:
        seat = np.int64(row[TURN]) & 7
        due = -1
        if bots[seat] == SMARTBOT:
            mine = mem[0 if one_mind else seat]
            due = smartbot.expected_discard(dims, row, mine, board)
        if first >= 0:
            action = np.int64(first)
            first = -1
        elif bots[seat] == SMARTBOT:
            action = smartbot.decide(dims, row, mem[0 if one_mind else seat], board, due)
        else:
            action = random_action(legal_mask(dims, row), state)
        tokens = np.int64(row[INFO])
        step(dims, row, action)
        if row[TURN] < 0:
            break
        after = seat + 1 if seat + 1 < p else 0
        card = np.int64(row[LAST_CARD]) & 31
        common = -1  # whom the finesse points at, where all agree
        if one_mind and smartbot.is_finesse(dims, row, mem[0], board[0]):
            common = smartbot.finesse_target(dims, row, 0, seat, card)
            for other in range(1, p):
                if smartbot.finesse_target(dims, row, other, seat, card) != common:
                    one_mind = False
            if not one_mind:
                for other in range(1, p):
                    for j in range(mem.shape[1]):
                        mem[other, j] = mem[0, j]
        for other in range(1 if one_mind else p):
            if bots[other] == SMARTBOT:
                pointed = common
                if not one_mind:
                    pointed = due = -1
                    if tokens > 0:
                        due = smartbot.next_discard(
                            dims, mem[other], after, board[0], board[1], board[2]
                        )
                    if smartbot.is_finesse(dims, row, mem[other], board[0]):
                        pointed = smartbot.finesse_target(dims, row, other, seat, card)
                smartbot.observe(dims, row, mem[other], board, due, pointed)
        board = smartbot.planes(row)


@kernel
def play_rows(
    dims: Any,
    rows: Any,
    actions: Any,
    bots: Any,
    memories: Any,
    streams: Any,
    values: Any,
    final: Any,
) -> None:
    """values[b, m] = the return if actions[m] is played in row b and then the bots play on.

    Action -1 plays no first move. ``final`` int32 [B * M or 0, W] receives the last rows.
    ``streams`` is left as it was: every action meets the same randomness.
    """
    p = players(dims)
    row = np.empty_like(rows[0])
    mem = np.empty_like(memories[0])
    state = np.empty(1, np.uint64)
    smart = True
    for seat in range(p):
        smart &= bots[seat] == SMARTBOT
    for b in range(len(rows)):
        at = b if len(memories) > 1 else 0
        same = smart
        if smart:
            for seat in range(1, p):
                for j in range(memories.shape[2]):
                    same &= memories[at, seat, j] == memories[at, 0, j]
        for m in range(len(actions)):
            row[:] = rows[b]
            mem[:] = memories[at]
            state[0] = streams[b]
            play_on(dims, row, actions[m], bots, mem, same, state)
            values[b, m] = final_return(row)
            if len(final) > 0:
                final[b * len(actions) + m] = row
