"""The 38 features of a move that the evaluation function reads, compiled.

They are those of Table V of arXiv:1902.06075, in the order of its program. All are what the player
to move sees: what other players may hold is their own knowledge, in the eyes of the player to move.

==================== ===================================================================
index                feature
==================== ===================================================================
SCORE                score, of the best possible
INFORMATION, LIVES   tokens, of all
DECK                 cards in the deck, of those after the deal
PLAYERS + 4 k        of player k seats on (0: the mover), over its cards, the highest
  PLAYABLE           probability that one scores now
  ALMOST             that it lacks one card below it, which can still come
  USELESS            that it can never score
  KNOWN              share of colours and ranks that are known of its cards
PLAYS                1 for a play; its probability
  PLAYS_PLAYABLE     to score
  PLAYS_COMPLETES    to score as the last card that its colour can still take
DISCARDS             1 for a discard; its probability
  DISCARDS_USELESS   to be of no use
  DISCARDS_LAST      to be the last copy of a useful card
  DISCARDS_POINTS    the points that go with it, expected
MOVES_LEFT           moves left once the deck is empty, of the players; before, players + 1
UNAVAILABLE          points out of reach, of the best possible
ON_TABLE + k         share of colours whose fireworks have rank 5 - k
==================== ===================================================================

A hint is read where it leads: as the table is after it, seen by the one who gave it, and no action.
A play or a discard is read as the table is before it, and its action. Players that are not there
have zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.bots.action_rules import (
    EMPTY,
    board_of,
    color_known,
    possible_under_convention,
    rank_known,
    remember,
    slot_of,
)
from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    ALL,
    COUNTDOWN,
    DECK_NEXT,
    DECK_SIZE,
    INFO,
    LEFT0,
    LEFT1,
    LIVES,
    MAX_INFO,
    MAX_LIVES,
    NO_CARD,
    PLAYED,
    TOP,
    TURN,
    colors,
    copy_words,
    hand_at,
    hand_size,
    plausible,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import hint_of, score, step
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "evaluation functions"

SCORE, INFORMATION, LIVES_LEFT, DECK, PLAYERS = 0, 1, 2, 3, 4
PLAYABLE_BY, ALMOST_BY, USELESS_BY, KNOWN_BY = 0, 1, 2, 3  # added to PLAYERS + 4 k
PLAYS, PLAYS_PLAYABLE, PLAYS_COMPLETES = 24, 25, 26
DISCARDS, DISCARDS_USELESS, DISCARDS_LAST, DISCARDS_POINTS = 27, 28, 29, 30
MOVES_LEFT, UNAVAILABLE, ON_TABLE = 31, 32, 33
FEATURES = 38
ACTION = slice(PLAYS, MOVES_LEFT)  # those of the action; the other 31 are of the state


@inline
def counted(plane: int, pool2: int, pool3: int) -> int:
    """Cards of a plane of the pool, with their copies."""
    return popcount(plane) + popcount(plane & pool2) + popcount(plane & pool3)


@inline
def player_features(
    dims: Any, row: Any, mem: Any, script: Any, board: Any, me: int, k: int, x: Any, at: int
) -> None:
    """x[at + PLAYERS + 4 k ...] of the player k seats after ``me``, in the eyes of ``me``.

    ``board`` = board_of of the row in which ``me`` is to move.
    """
    p, h = players(dims), hand_size(dims)
    pool1, pool2, pool3, play, played, beyond = board
    player = me + k if me + k < p else me + k - p
    if k > 0:  # this player does not see its own hand, either
        hand = hand_at(dims, player)
        for i in range(h):
            bit = (1 << (np.int64(row[hand + i]) & 31)) if row[hand + i] != NO_CARD else 0
            pool3 |= pool2 & bit
            pool2 |= pool1 & bit
            pool1 |= bit
    useless = played | beyond
    almost = ((play & ~np.int64(row[LEFT0])) << 1) & np.int64(row[ABOVE0])
    best_play = best_almost = best_useless = 0.0
    held = known = 0
    for q in range(h):
        word = np.int64(mem[player * h + q])
        if slot_of(word) != EMPTY:
            held += 1
            known += np.int64(color_known(word)) + np.int64(rank_known(word))
            possible = plausible(dims, word) & pool1
            possible = possible_under_convention(dims, row, mem, script, player, q, possible)
            of = max(counted(possible, pool2, pool3), 1)
            best_play = max(best_play, counted(possible & play, pool2, pool3) / of)
            best_almost = max(best_almost, counted(possible & almost, pool2, pool3) / of)
            best_useless = max(best_useless, counted(possible & useless, pool2, pool3) / of)
    at += PLAYERS + 4 * k
    x[at + PLAYABLE_BY] = best_play
    x[at + ALMOST_BY] = best_almost
    x[at + USELESS_BY] = best_useless
    x[at + KNOWN_BY] = 0.5 * known / held if held > 0 else 0.0


@inline
def moves_left(dims: Any, row: Any) -> float:
    p = players(dims)
    return (p + 1 if row[DECK_NEXT] < row[DECK_SIZE] else row[COUNTDOWN]) / p


@inline
def share(count: Any, of: Any) -> float:
    return count / of if of > 0 else 0.0


@inline
def state_features(dims: Any, row: Any, mem: Any, script: Any, board: Any, x: Any, at: int) -> None:
    """x[at : at + FEATURES] of the table as the player to move sees it, without an action."""
    p, c, r = players(dims), colors(dims), ranks(dims)
    me = np.int64(row[TURN]) & 7
    best = popcount(np.int64(row[ALL]))
    for i in range(FEATURES):
        x[at + i] = 0.0
    x[at + SCORE] = score(row) / best
    x[at + INFORMATION] = share(row[INFO], row[MAX_INFO])
    x[at + LIVES_LEFT] = share(row[LIVES], row[MAX_LIVES])
    size = np.int64(row[DECK_SIZE])
    x[at + DECK] = share(size - row[DECK_NEXT], size - p * hand_size(dims))
    for k in range(p):
        player_features(dims, row, mem, script, board, me, k, x, at)
    x[at + MOVES_LEFT] = moves_left(dims, row)
    x[at + UNAVAILABLE] = popcount(board[5]) / best
    for k in range(5):
        if 4 - k < r:
            x[at + ON_TABLE + k] = popcount(np.int64(row[PLAYED]) & rank_plane(dims, 4 - k)) / c


@inline
def card_features(
    dims: Any, row: Any, mem: Any, script: Any, board: Any, action: int, x: Any, at: int
) -> None:
    """The features of a play or a discard, written over those of no action."""
    h = hand_size(dims)
    pool1, pool2, pool3, play, played, beyond = board
    me = np.int64(row[TURN]) & 7
    slot = action - h if action >= h else action
    possible = 0
    for q in range(h):
        word = np.int64(mem[me * h + q])
        if slot_of(word) == slot:
            possible = plausible(dims, word) & pool1
            possible = possible_under_convention(dims, row, mem, script, me, q, possible)
    of = max(counted(possible, pool2, pool3), 1)
    left0, above0 = np.int64(row[LEFT0]), np.int64(row[ABOVE0])
    dead = left0 & ~played
    if action >= h:
        scores = possible & play
        last = np.int64(row[TOP]) | ((dead & above0) >> 1)
        x[at + PLAYS] = 1.0
        x[at + PLAYS_PLAYABLE] = counted(scores, pool2, pool3) / of
        x[at + PLAYS_COMPLETES] = counted(scores & last, pool2, pool3) / of
        return
    useless = played | beyond
    only = possible & np.int64(row[LEFT1]) & ~left0 & ~useless
    # Cards with at least one, two ... cards above them in a row that can still come.
    one = (np.int64(row[ALL]) & ~dead & above0) >> 1
    two = one & (one >> 1)
    three = two & (one >> 2)
    four = three & (one >> 3)
    points = counted(only, pool2, pool3)
    for above in (one, two, three, four):
        points += counted(only & above, pool2, pool3)
    x[at + DISCARDS] = 1.0
    x[at + DISCARDS_USELESS] = counted(possible & useless, pool2, pool3) / of
    x[at + DISCARDS_LAST] = counted(only, pool2, pool3) / of
    x[at + DISCARDS_POINTS] = points / of


@inline
def move_features(
    dims: Any,
    row: Any,
    mem: Any,
    script: Any,
    board: Any,
    action: int,
    ahead: Any,
    ahead_mem: Any,
    x: Any,
    state_at: int,
    at: int,
) -> None:
    """x[at : at + FEATURES] of a legal move; x[state_at ...] = state_features of the row.

    ``ahead`` and ``ahead_mem``, shaped like the row and the memory, are written over.
    """
    for i in range(FEATURES):
        x[at + i] = x[state_at + i]
    if action < 2 * hand_size(dims):
        card_features(dims, row, mem, script, board, action, x, at)
        return
    copy_words(row, ahead)
    copy_words(mem, ahead_mem)
    step(dims, ahead, action, True)
    remember(dims, ahead, ahead_mem, script)
    x[at + INFORMATION] = share(ahead[INFO], ahead[MAX_INFO])
    x[at + MOVES_LEFT] = moves_left(dims, ahead)
    told, _ = hint_of(dims, action)
    me = np.int64(row[TURN]) & 7
    player_features(dims, ahead, ahead_mem, script, board, me, told, x, at)


@kernel
def state_feature_rows(dims: Any, script: Any, rows: Any, memory: Any, out: Any) -> None:
    """out[b] = the features of row b without an action."""
    for b in range(len(rows)):
        mem = memory[b if len(memory) > 1 else 0]
        board = board_of(dims, rows[b])
        state_features(dims, rows[b], mem, script, board, out[b], 0)


@kernel
def feature_rows(dims: Any, script: Any, rows: Any, memory: Any, actions: Any, out: Any) -> None:
    """out[b] = the features of the legal move actions[b] in row b."""
    x = np.empty(2 * FEATURES)
    ahead = np.empty_like(rows[0])
    ahead_mem = np.empty_like(memory[0])
    for b in range(len(rows)):
        row, mem = rows[b], memory[b if len(memory) > 1 else 0]
        board = board_of(dims, row)
        state_features(dims, row, mem, script, board, x, 0)
        move_features(dims, row, mem, script, board, actions[b], ahead, ahead_mem, x, 0, FEATURES)
        out[b] = x[FEATURES:]
