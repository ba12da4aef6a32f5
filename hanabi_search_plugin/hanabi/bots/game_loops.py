"""Compiled loops over bots: one decision, one observation, whole games.

The bot of each seat is data, its ``script``, so that any mix of bots shares one compiled loop.
Rows are those of ``hanabi.engine.layout``; memories int32 [B or 1, P, words], one row where they
are the same in every world. Streams are uint64 [B], SplitMix64 states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.bots import smartbot
from hanabi_search_plugin.hanabi.bots.routines import call_common, call_decide, call_observe
from hanabi_search_plugin.hanabi.bots.script import (
    COMMON,
    DECIDE,
    KIND,
    LEGAL_ANY,
    OBSERVE,
    ROUTINES,
    SILENT,
    SMARTBOT,
    chance_of_code,
    settle,
)
from hanabi_search_plugin.hanabi.engine.layout import INFO, LAST_CARD, TURN, copy_words, players
from hanabi_search_plugin.hanabi.engine.rules import final_return, legal_mask, step
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "games of bots"

NOT_TRIED, NO_MOVE = -1, -2  # as first moves


@inline
def decide_as(dims: Any, script: Any, row: Any, memory: Any) -> int:
    """The decision of the player to move: an action, or the code of a random choice."""
    if script[DECIDE] != 0:
        return call_decide(script[DECIDE], dims, row, memory, script)
    return LEGAL_ANY


@inline
def observe_as(dims: Any, script: Any, row: Any, seat: int, memory: Any) -> bool:
    """Update a seat's memory with the last move. True: it may depend on cards others do not see."""
    if script[OBSERVE] != 0:
        return call_observe(script[OBSERVE], dims, row, seat, memory, script)
    return False


@kernel
def act_rows(dims: Any, script: Any, rows: Any, memory: Any, streams: Any, out: Any) -> None:
    """out[b] = the action of the player to move in row b."""
    state = np.empty(1, np.uint64)
    for b in range(len(rows)):
        mem = memory[b if len(memory) > 1 else 0]
        code = decide_as(dims, script, rows[b], mem)
        state[0] = streams[b]
        out[b] = settle(dims, rows[b], code, legal_mask(dims, rows[b]), state)
        streams[b] = state[0]


@kernel
def chance_rows(dims: Any, script: Any, rows: Any, memory: Any, out: Any) -> None:
    """out[b, a] = the probability that the player to move in row b plays a."""
    for b in range(len(rows)):
        mem = memory[b if len(memory) > 1 else 0]
        code = decide_as(dims, script, rows[b], mem)
        legal = legal_mask(dims, rows[b])
        for a in range(out.shape[1]):
            out[b, a] = 0.0
            if (legal >> a) & 1:
                out[b, a] = chance_of_code(dims, rows[b], code, legal, a)


@kernel
def observe_rows(dims: Any, script: Any, rows: Any, seat: int, memory: Any) -> None:
    """Update memories [B, words] of one seat with the last move of each row, in place."""
    for b in range(len(rows)):
        observe_as(dims, script, rows[b], seat, memory[b])


@inline
def common_finesse(dims: Any, row: Any, mem: Any, seat: int, play: int) -> int:
    """Whom the last move points at if it was a finesse of SmartBots; -2 where seats disagree."""
    common = -1
    if smartbot.is_finesse(dims, row, mem, play):
        card = np.int64(row[LAST_CARD]) & 31
        common = smartbot.finesse_target(dims, row, 0, seat, card)
        for other in range(1, players(dims)):
            if smartbot.finesse_target(dims, row, other, seat, card) != common:
                common = -2
    return common


@inline
def play_by_routines(
    dims: Any,
    row: Any,
    first: int,
    scripts: Any,
    mem: Any,
    one_mind: bool,
    resign: bool,
    keep_hints: bool,
    state: Any,
) -> None:
    """``play_on`` without what is SmartBot's own, which is most of what there is to compile."""
    while row[TURN] >= 0:
        seat = np.int64(row[TURN]) & 7
        action = np.int64(first)
        if first < 0:
            code = decide_as(dims, scripts[seat], row, mem[0 if one_mind else seat])
            if resign and code == SILENT:
                break
            action = settle(dims, row, code, legal_mask(dims, row), state)
        first = -1
        step(dims, row, action, keep_hints)
        if row[TURN] < 0:
            break
        if one_mind:
            one_mind = call_common(scripts[seat, COMMON], dims, row, mem[0], scripts[seat])
            if not one_mind:
                for other in range(1, players(dims)):
                    copy_words(mem[0], mem[other])
        if not one_mind:
            for other in range(players(dims)):
                observe_as(dims, scripts[other], row, other, mem[other])


@inline
def play_on(
    dims: Any,
    row: Any,
    first: int,
    scripts: Any,
    mem: Any,
    one_mind: bool,
    resign: bool,
    keep_hints: bool,
    state: Any,
) -> None:
    """Play a row to its end, beginning with ``first`` unless it is negative.

    ``mem`` int32 [P, words]. ``one_mind``: all seats are the same bot and their memories are equal;
    then row 0 serves for all until a move that the seats read differently parts them. ``resign``:
    the game ends where a bot has no move to make. ``keep_hints`` as in ``rules.step``.
    """
    p = players(dims)
    board = smartbot.planes(row)
    while row[TURN] >= 0:
        seat = np.int64(row[TURN]) & 7
        script = scripts[seat]
        mine = mem[0 if one_mind else seat]
        due = -1
        if script[KIND] == SMARTBOT:
            due = smartbot.expected_discard(dims, row, mine, board)
        if first >= 0:
            action = np.int64(first)
            first = -1
        else:
            if script[KIND] == SMARTBOT:
                code = smartbot.decide(dims, row, mine, board, due)
            else:
                code = decide_as(dims, script, row, mine)
            if resign and code == SILENT:
                break
            action = code
            if script[KIND] != SMARTBOT:
                action = settle(dims, row, code, legal_mask(dims, row), state)
        tokens = np.int64(row[INFO])
        step(dims, row, action, keep_hints)
        if row[TURN] < 0:
            break
        common = -1
        if one_mind:
            if script[KIND] == SMARTBOT:
                common = common_finesse(dims, row, mem[0], seat, board[0])
                one_mind = common != -2
            elif script[KIND] == ROUTINES:
                one_mind = call_common(script[COMMON], dims, row, mem[0], script)
            if not one_mind:
                for other in range(1, p):
                    copy_words(mem[0], mem[other])
        after = seat + 1 if seat + 1 < p else 0
        for other in range(1 if one_mind else p):
            hers = scripts[other]
            if hers[KIND] == SMARTBOT:
                pointed = common
                if not one_mind:
                    pointed = due = -1
                    if tokens > 0:
                        due = smartbot.next_discard(
                            dims, mem[other], after, board[0], board[1], board[2]
                        )
                    if smartbot.is_finesse(dims, row, mem[other], board[0]):
                        card = np.int64(row[LAST_CARD]) & 31
                        pointed = smartbot.finesse_target(dims, row, other, seat, card)
                smartbot.observe(dims, row, mem[other], board, due, pointed)
            elif not one_mind:
                observe_as(dims, hers, row, other, mem[other])
        board = smartbot.planes(row)


@inline
def alike(scripts: Any, memory: Any, one: int, other: int) -> bool:
    """True if two seats have one script and equal memories."""
    same = True
    for j in range(scripts.shape[1]):
        same &= scripts[other, j] == scripts[one, j]
    for j in range(memory.shape[1]):
        same &= memory[other, j] == memory[one, j]
    return same


@inline
def same_bots(scripts: Any, memory: Any) -> bool:
    """True if all seats have one script and equal memories, and one memory can serve them all."""
    kind = scripts[0, KIND]
    same = kind == SMARTBOT or (kind == ROUTINES and scripts[0, COMMON] != 0)
    for seat in range(1, len(scripts)):
        same &= alike(scripts, memory, 0, seat)
    return same


@kernel
def play_rows(
    dims: Any,
    rows: Any,
    actions: Any,
    scripts: Any,
    memories: Any,
    resign: bool,
    smart: Any,
    streams: Any,
    values: Any,
    final: Any,
) -> None:
    """values[b, m] = the return if actions[m, b] is played in row b and then the bots play on.

    ``actions`` int64 [M, B], or [M, 1] where they are the same in every row. NOT_TRIED has
    the value nan; NO_MOVE plays no first move. ``scripts`` int64 [B or 1, P, SCRIPT].
    ``resign`` as in ``play_on``. ``smart`` is True if somebody may be SmartBot, and None if nobody
    is: the type decides what is compiled. ``final`` int32 [B * M or 0, W] receives the last rows.
    ``streams`` is left as it was: every action meets the same randomness.
    """
    row = np.empty_like(rows[0])
    mem = np.empty_like(memories[0])
    state = np.empty(1, np.uint64)
    for b in range(len(rows)):
        at = b if len(memories) > 1 else 0
        table = scripts[b if len(scripts) > 1 else 0]
        same = same_bots(table, memories[at])
        keep_hints = len(final) > 0
        for seat in range(len(table)):
            keep_hints |= table[seat, KIND] != SMARTBOT  # which reads its memory in their place
        for m in range(len(actions)):
            first = actions[m, b if actions.shape[1] > 1 else 0]
            if first == NOT_TRIED:
                values[b, m] = np.nan
                continue
            copy_words(rows[b], row)
            for seat in range(len(mem)):
                copy_words(memories[at, seat], mem[seat])
            state[0] = streams[b]
            if smart is None:
                play_by_routines(dims, row, first, table, mem, same, resign, keep_hints, state)
            else:
                play_on(dims, row, first, table, mem, same, resign, keep_hints, state)
            values[b, m] = final_return(row)
            if len(final) > 0:
                copy_words(row, final[b * len(actions) + m])
