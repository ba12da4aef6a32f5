"""How a compiled bot is told to the compiled loops: a script, int64 [SCRIPT], one row a seat.

A seat's moves are found by routines that are called by address. KIND says what the loops know of
them besides: RANDOM has none and plays any legal move; SMARTBOT's are written into the loops of
whole games, too, where the seats share what they have in common. From PARAMS on a script holds
whatever the bot wants to read.

A bot answers with an action, or with a *choice* it leaves to chance, a code below 0:

========================  =====================================================================
SILENT                    it has no move to make: the lowest legal action is played
DISCARD_ANY               uniform over the cards of its own hand
TELL_ANY                  a uniform card of the next player, then its colour or rank, a fair coin
LEGAL_ANY                 uniform over the legal actions
-(COIN + COIN * a + b)    action a or b, a fair coin
========================  =====================================================================

Choices are data, so that beliefs know the exact probability of every action.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import IllegalActionError
from hanabi_search_plugin.hanabi.engine.layout import (
    NO_CARD,
    TURN,
    colors,
    hand_at,
    hand_size,
    lowest_bit,
    players,
    popcount,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.row_kernels import random_action
from hanabi_search_plugin.hanabi.engine.rules import hint_action, next_uniform
from hanabi_search_plugin.jit import inline

SCRIPT = 64  # words
KIND = 0
DECIDE, OBSERVE, COMMON = 1, 2, 3  # addresses of the routines, 0: none
WORDS = 4  # of a seat's memory
STOCHASTIC = 5  # 1 where a choice may be left to chance
PARAMS = 8

NO_BOT, RANDOM, SMARTBOT, ROUTINES = -1, 0, 1, 2  # kinds; NO_BOT: no move to explain

SILENT, DISCARD_ANY, TELL_ANY, LEGAL_ANY = -1, -2, -3, -4
COIN = 64

NO_MEMORY = np.zeros((1, 1), dtype=np.int32)  # of bots that have none: read in every world


@inline
def cards_held(dims: Any, row: Any, player: int) -> int:
    """Cards in a hand; they fill its oldest slots."""
    hand = hand_at(dims, player)
    count = 0
    for i in range(hand_size(dims)):
        count += np.int64(row[hand + i] != NO_CARD)
    return count


@inline
def tell_action(dims: Any, row: Any, k: int) -> int:
    """The k-th of TELL_ANY's hints: card k // 2 of the next player, its colour or (odd) rank."""
    c, r = colors(dims), ranks(dims)
    me = np.int64(row[TURN]) & 7
    after = me + 1 if me + 1 < players(dims) else 0
    card = np.int64(row[hand_at(dims, after) + (k >> 1)]) & 31
    return hint_action(dims, 1, c + card % r if k & 1 else card // r)


@inline
def settle(dims: Any, row: Any, code: int, legal: int, state: Any) -> int:
    """The action a code comes to. One draw of the stream for a choice, none for an action.

    Raises IllegalActionError where it is not legal.
    """
    action = np.int64(code)
    if code < 0:
        me = np.int64(row[TURN]) & 7
        p = players(dims)
        if code == LEGAL_ANY:
            action = random_action(legal, state)
        elif code == SILENT:
            action = lowest_bit(legal)
        elif code == DISCARD_ANY:
            action = np.int64(next_uniform(state) * cards_held(dims, row, me))
        elif code == TELL_ANY:
            after = me + 1 if me + 1 < p else 0
            k = np.int64(next_uniform(state) * (2 * cards_held(dims, row, after)))
            action = tell_action(dims, row, k)
        else:
            pair = -code - COIN
            either = pair // COIN if next_uniform(state) < 0.5 else pair % COIN
            action = either if pair >= 0 else np.int64(-1)
    if action < 0 or action >= 63 or not (legal >> action) & 1:
        raise IllegalActionError("a compiled bot chose an action that is not legal")
    return action


@inline
def chance_of_code(dims: Any, row: Any, code: int, legal: int, action: int) -> float:
    """Probability that a code comes to ``action``, which is legal."""
    if code >= 0:
        return 1.0 if code == action else 0.0
    if code == LEGAL_ANY:
        return 1.0 / popcount(legal)
    if code == SILENT:
        return 1.0 if lowest_bit(legal) == action else 0.0
    me = np.int64(row[TURN]) & 7
    if code == DISCARD_ANY:
        return 1.0 / cards_held(dims, row, me) if action < hand_size(dims) else 0.0
    if code == TELL_ANY:
        p = players(dims)
        after = me + 1 if me + 1 < p else 0
        hints = 2 * cards_held(dims, row, after)
        hit = 0
        for k in range(hints):
            hit += np.int64(tell_action(dims, row, k) == action)
        return hit / hints
    pair = -code - COIN
    return 0.5 * np.int64(pair // COIN == action) + 0.5 * np.int64(pair % COIN == action)
