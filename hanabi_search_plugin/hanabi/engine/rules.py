"""The rules of Hanabi on one row, compiled. Bit-exact to OpenSpiel's hanabi.

Slot 0 is the oldest card; a new card is appended. No replacement is drawn on the last move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    ALL,
    BOMB,
    COUNTDOWN,
    DECK_NEXT,
    DECK_SIZE,
    DREW,
    GAINED_INFO,
    INFO,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    LAST_TOUCHED,
    LEFT0,
    LEFT1,
    LEFT2,
    LIVES,
    MAX_INFO,
    MOVES,
    NO_CARD,
    PLAYABLE,
    PLAYED,
    SCORED,
    TOLD_COLOR,
    TOLD_RANK,
    TOP,
    TURN,
    color_plane,
    colors,
    deck_at,
    hand_at,
    hand_size,
    knowledge_at,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.jit import inline


@inline
def next_random(state: Any) -> Any:
    """Advance a SplitMix64 stream (uint64 [1]) and return 64 random bits; see ``streams``."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def next_uniform(state: Any) -> float:
    """A number in [0, 1): the same as ``Streams.uniform`` draws."""
    return float(np.int64(next_random(state) >> np.uint64(11))) * 2.0**-53


@inline
def next_below(state: Any, n: int) -> int:
    """An integer in [0, n), n < 2**31."""
    return np.int64((next_random(state) >> np.uint64(33)) * np.uint64(n) >> np.uint64(31))


@inline
def shuffle(row: Any, start: int, stop: int, state: Any) -> None:
    """Shuffle row[start:stop] (Fisher and Yates)."""
    for i in range(stop - 1, start, -1):
        j = start + next_below(state, i - start + 1)
        row[i], row[j] = row[j], row[i]


@inline
def deal_hands(dims: Any, row: Any) -> None:
    """Deal from a full deck in place: all of player 0's hand first, as OpenSpiel does."""
    deck = deck_at(dims)
    n = players(dims) * hand_size(dims)
    for i in range(n):
        row[hand_at(dims, 0) + i] = row[deck + i]
    row[DECK_NEXT] = n


@inline
def score(row: Any) -> int:
    """Cards on the fireworks."""
    return popcount(np.int64(row[PLAYED]))


@inline
def final_return(row: Any) -> int:
    """The return so far: the score, or what losing the last life leaves of it."""
    points = score(row)
    if row[LIVES] > 0 or row[BOMB] == 1:
        return points
    return 0 if row[BOMB] == 0 else points - 1


@inline
def touched(dims: Any, row: Any, target: int, value: int, by_rank: bool) -> int:
    """Bit i set where slot i of ``target`` has that colour or rank."""
    hand = hand_at(dims, target)
    plane = rank_plane(dims, value) if by_rank else color_plane(dims, value)
    mask = 0
    for i in range(hand_size(dims)):
        mask |= ((plane >> (np.int64(row[hand + i]) & 31)) & 1) << i
    return mask


@inline
def legal_mask(dims: Any, row: Any) -> int:
    """Bit a set where action a is legal for the player to move; 0 when the game is over."""
    me = row[TURN]
    if me < 0:
        return 0
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    hand = hand_at(dims, me)
    held = 0
    for i in range(h):
        held |= np.int64(row[hand + i] != NO_CARD) << i
    mask = held << h
    if row[INFO] < row[MAX_INFO]:
        mask |= held
    if row[INFO] > 0:
        for offset in range(1, p):
            target = me + offset
            if target >= p:
                target -= p
            other = hand_at(dims, target)
            color_bits = 0
            rank_bits = 0
            for i in range(h):
                card = row[other + i]
                if card != NO_CARD:
                    color_bits |= 1 << (card // r)
                    rank_bits |= 1 << (card % r)
            mask |= color_bits << (2 * h + (offset - 1) * c)
            mask |= rank_bits << (2 * h + (p - 1) * c + (offset - 1) * r)
    return mask


@inline
def hint_action(dims: Any, offset: int, attribute: int) -> int:
    """The hint to the player ``offset`` seats on: of colour ``attribute``, or rank from C on."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    if attribute >= c:
        return 2 * h + (p - 1) * c + (offset - 1) * r + attribute - c
    return 2 * h + (offset - 1) * c + attribute


@inline
def hint_of(dims: Any, action: int) -> tuple[int, int]:
    """(offset, attribute) of a hint: the arguments of ``hint_action`` that give it."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    hint = action - 2 * h
    if hint >= (p - 1) * c:
        hint -= (p - 1) * c
        return hint // r + 1, c + hint - hint // r * r
    return hint // c + 1, hint - hint // c * c


@inline
def see_card(row: Any, bit: int) -> None:
    """One more copy of a card has left the hands for the table."""
    row[LEFT0] |= row[LEFT1] & bit
    row[LEFT1] |= row[LEFT2] & bit
    row[LEFT2] |= bit


@inline
def step(dims: Any, row: Any, action: int, keep_hints: bool) -> None:
    """Play a legal action on a row that is not over.

    ``keep_hints``: else the words of hint knowledge stay as they are, for loops that read none.
    """
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    me = np.int64(row[TURN]) & 7  # the & tells the compiler that it is not negative
    row[MOVES] += 1
    row[LAST_PLAYER] = me
    row[LAST_ACTION] = action
    flags = 0
    if row[DECK_NEXT] == row[DECK_SIZE]:
        row[COUNTDOWN] -= 1
    if action < 2 * h:
        play = action >= h
        slot = action - h if play else action
        hand = hand_at(dims, me)
        knowledge = knowledge_at(dims, me)
        card = np.int64(row[hand + (slot & 7)]) & 31
        bit = 1 << card
        see_card(row, bit)
        if not play:
            row[INFO] += 1
            flags |= GAINED_INFO
        elif row[PLAYABLE] & bit:
            row[PLAYED] |= bit
            row[PLAYABLE] = (row[PLAYABLE] & ~bit) | ((bit << 1) & row[ABOVE0])
            flags |= SCORED
            if (row[TOP] & bit) and row[INFO] < row[MAX_INFO]:
                row[INFO] += 1
                flags |= GAINED_INFO
        else:
            row[LIVES] -= 1
        for i in range(h - 1):
            from_next = i >= slot
            row[hand + i] = row[hand + i + 1] if from_next else row[hand + i]
        row[hand + h - 1] = NO_CARD
        if keep_hints:
            for i in range(h - 1):
                word = row[knowledge + i]
                row[knowledge + i] = row[knowledge + i + 1] if i >= slot else word
            row[knowledge + h - 1] = ((1 << c) - 1) | (((1 << r) - 1) << 5)
        row[LAST_CARD] = card
        row[LAST_TOUCHED] = 0
    else:
        hint = action - 2 * h
        by_rank = hint >= (p - 1) * c
        if by_rank:
            hint -= (p - 1) * c
            offset = hint // r
            value = hint - offset * r
        else:
            offset = hint // c
            value = hint - offset * c
        target = me + offset + 1
        if target >= p:
            target -= p
        hit = touched(dims, row, target, value, by_rank)
        if keep_hints:
            shift = 5 if by_rank else 0
            group = 31 << shift
            one = 1 << (value + shift)
            told = TOLD_RANK if by_rank else TOLD_COLOR
            knowledge = knowledge_at(dims, target)
            for i in range(h):
                word = row[knowledge + i]
                yes = (word & ~(group & ~one)) | told
                no = word & ~one
                row[knowledge + i] = yes if (hit >> i) & 1 else no
        row[INFO] -= 1
        row[LAST_CARD] = -1
        row[LAST_TOUCHED] = hit
    if row[LIVES] == 0 or row[PLAYED] == row[ALL] or row[COUNTDOWN] == 0:
        row[TURN] = -1
    else:
        if action < 2 * h and row[DECK_NEXT] < row[DECK_SIZE]:
            row[hand_at(dims, me) + h - 1] = row[deck_at(dims) + (np.int64(row[DECK_NEXT]) & 63)]
            row[DECK_NEXT] += 1
            flags |= DREW
        row[TURN] = me + 1 if me + 1 < p else 0
    row[LAST_FLAGS] = flags
