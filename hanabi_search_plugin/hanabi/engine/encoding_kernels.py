"""Compiled encoders of observations.

Each observation is first written as a string of bits into 64-bit words, first element in the lowest
bit; the words are then spread to bytes or floats, or their bytes reversed for ``np.packbits``
order. Letters: B worlds, W words of a row, N elements of an observation, Q = ceil(N / 64).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    DECK_NEXT,
    DECK_SIZE,
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
    MAX_LIVES,
    NO_CARD,
    PLAYED,
    SCORED,
    TOLD_COLOR,
    TOLD_RANK,
    colors,
    hand_at,
    hand_size,
    knowledge_at,
    players,
    popcount,
    ranks,
)
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "observations"


@inline
def read(row: Any, at: int) -> int:
    """A word of a row as a 64-bit number."""
    return np.int64(row[at])  # type: ignore[return-value]  # an int to compiled code


@inline
def put(words: Any, pending: int, at: int, value: int, width: int) -> tuple[int, int]:
    """Append ``width`` bits (at most 63) at bit ``at``.

    ``pending`` are the bits of the word not yet full, kept in a register: full words are stored.
    Returns the pending bits and the position after them.
    """
    bit = at & 63
    pending |= value << bit
    if bit + width >= 64:
        words[at >> 6] = pending
        pending = value >> (64 - bit)
    return pending, at + width


@inline
def put_table(
    dims: Any, tables: Any, row: Any, words: Any, pending: int, at: int
) -> tuple[int, int]:
    """Append deck, fireworks, tokens and discards."""
    c, r = colors(dims), ranks(dims)
    size = read(row, DECK_SIZE)
    undealt = size - players(dims) * hand_size(dims)
    pending, at = put(words, pending, at, (1 << (size - row[DECK_NEXT])) - 1, undealt)
    played = read(row, PLAYED)
    # Fireworks have no gaps: the last card of each is the one whose successor is not there.
    tops = played & ~((played & read(row, ABOVE0)) >> 1)
    pending, at = put(words, pending, at, tops, c * r)
    info, lives = read(row, INFO), read(row, LIVES)
    pending, at = put(words, pending, at, (1 << info) - 1, read(row, MAX_INFO))
    pending, at = put(words, pending, at, (1 << lives) - 1, read(row, MAX_LIVES))
    # Of the copies that have left the hands, one is on the fireworks if the identity was played.
    left0, left1, left2 = read(row, LEFT0), read(row, LEFT1), read(row, LEFT2)
    gone0 = left0 & ~played
    gone1 = (left1 & ~played) | (left0 & played)
    gone2 = (left2 & ~played) | (left1 & played)
    copies = size // c
    every = (1 << r) - 1
    for k in range(c):
        shift = k * r
        bits = tables[0, gone0 >> shift & every]
        bits |= tables[1, gone1 >> shift & every]
        bits |= tables[2, gone2 >> shift & every]
        pending, at = put(words, pending, at, bits, copies)
    return pending, at


@inline
def put_last_action(
    dims: Any, row: Any, seat: int, words: Any, pending: int, at: int
) -> tuple[int, int]:
    """Append the last move; all zero before the first."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    head = 0  # who, which kind, to whom, colour, rank
    slots = 0  # touched, then the one played or discarded
    card_bits = 0
    if row[LAST_PLAYER] >= 0:
        who = read(row, LAST_PLAYER) - seat
        who = who + p if who < 0 else who
        action = read(row, LAST_ACTION)
        if action < 2 * h:
            play = action >= h
            head = 1 << (p if play else p + 1)
            slots = 1 << (action if play else action + h)
            card_bits = 1 << read(row, LAST_CARD)
            if play:
                flags = read(row, LAST_FLAGS) & (SCORED | GAINED_INFO)
                card_bits |= flags << (c * r)
        else:
            hint = action - 2 * h
            by_rank = hint >= (p - 1) * c
            hint = hint - (p - 1) * c if by_rank else hint
            values = r if by_rank else c
            offset = hint // values
            target = who + offset + 1
            target = target - p if target >= p else target
            value_at = 2 * p + 4 + c if by_rank else 2 * p + 4
            head = 1 << (p + 3 if by_rank else p + 2)
            head |= 1 << (p + 4 + target) | 1 << (value_at + hint - offset * values)
            slots = read(row, LAST_TOUCHED)
        head |= 1 << who
    pending, at = put(words, pending, at, head, 2 * p + 4 + c + r)
    pending, at = put(words, pending, at, slots, 2 * h)
    return put(words, pending, at, card_bits, c * r + 2)


@inline
def knowledge_bits(dims: Any, tables: Any, word: Any) -> Any:
    """A card's plausible identities, then the colour and the rank it was told to be."""
    c, r = colors(dims), ranks(dims)
    color_set = word & 31
    rank_set = word >> 5 & 31
    bits = tables[3, color_set] * rank_set
    bits |= (color_set if word & TOLD_COLOR else 0) << (c * r)
    return bits | (rank_set if word & TOLD_RANK else 0) << (c * r + c)


@inline
def full_knowledge(dims: Any, card: Any) -> Any:
    """The word of a card that was told both its colour and its rank."""
    color = card // ranks(dims)
    rank = card - color * ranks(dims)
    return 1 << color | 1 << (rank + 5) | TOLD_COLOR | TOLD_RANK


@kernel
def write_bits(
    dims: Any, tables: Any, rows: Any, seat: int, minimal: bool, seer: bool, words: Any
) -> None:
    """Observations of ``seat`` in rows [B, W] as bits into words, int64 [B, Q]."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    for b in range(len(rows)):
        row = rows[b]
        out = words[b]
        pending, at = 0, 0
        missing: Any = 0
        for offset in range(p):
            player = seat + offset
            player = player - p if player >= p else player
            hand = hand_at(dims, player)
            missing |= np.int64(row[hand + h - 1] == NO_CARD) << offset
            if offset > 0:
                for i in range(h):
                    card = read(row, hand + i)
                    bits = 0 if card == NO_CARD else 1 << card
                    pending, at = put(out, pending, at, bits, c * r)
        pending, at = put(out, pending, at, missing, p)
        pending, at = put_table(dims, tables, row, out, pending, at)
        pending, at = put_last_action(dims, row, seat, out, pending, at)
        if not minimal:
            for offset in range(p):
                player = seat + offset
                player = player - p if player >= p else player
                hand = hand_at(dims, player)
                knowledge = knowledge_at(dims, player)
                for i in range(h):
                    card = read(row, hand + i)
                    word = read(row, knowledge + i)
                    if seer:
                        word = full_knowledge(dims, card)
                    bits = 0 if card == NO_CARD else knowledge_bits(dims, tables, word)
                    pending, at = put(out, pending, at, bits, c * r + c + r)
        if at & 63:
            out[at >> 6] = pending


@kernel
def spread_bytes(byte_table: Any, words: Any, out: Any) -> None:
    """Bits of words [B, Q] into bytes, eight in a word of out, int64 [B, 8 Q]."""
    for b in range(len(words)):
        for q in range(words.shape[1]):
            word = words[b, q]
            for i in range(8):
                out[b, 8 * q + i] = byte_table[word >> (8 * i) & 255]


@kernel
def reverse_bytes(words: Any) -> None:
    """Reverse the bits of every byte of words [B, Q] in place."""
    for b in range(len(words)):
        for q in range(words.shape[1]):
            x = words[b, q]
            x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1
            x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2
            words[b, q] = (x >> 4 & 0x0F0F0F0F0F0F0F0F) | (x & 0x0F0F0F0F0F0F0F0F) << 4


@kernel
def spread_floats(float_table: Any, words: Any, out: Any) -> None:
    """Bits of words [B, Q] into float32 [B, 64 Q]."""
    for b in range(len(words)):
        for q in range(words.shape[1]):
            word = words[b, q]
            for i in range(8):
                byte = word >> (8 * i) & 255
                for j in range(8):
                    out[b, 64 * q + 8 * i + j] = float_table[byte, j]


@kernel
def weigh(dims: Any, rows: Any, words: Any, first: int, out: Any) -> None:
    """V0 beliefs in place of plausible identities, in out [B, 64 Q] from element ``first`` on.

    Each identity weighs its copies that are neither on the fireworks nor discarded; cards seen in
    hands are not subtracted. The slot of an absent card stays zero.
    """
    identities = colors(dims) * ranks(dims)
    every = (1 << identities) - 1
    width = identities + colors(dims) + ranks(dims)
    left = np.empty(identities, dtype=np.float32)
    for b in range(len(rows)):
        row = rows[b]
        left0, left1, left2 = read(row, LEFT0), read(row, LEFT1), read(row, LEFT2)
        for k in range(identities):
            left[k] = 3 - (left0 >> k & 1) - (left1 >> k & 1) - (left2 >> k & 1)
        for card in range(players(dims) * hand_size(dims)):
            start = first + card * width
            word, bit = start >> 6, start & 63
            bits = words[b, word] >> bit
            if bit + identities > 64:
                bits = (bits & ((1 << (64 - bit)) - 1)) | words[b, word + 1] << (64 - bit)
            bits &= every
            total = 3 * popcount(bits) - popcount(bits & left0)
            total -= popcount(bits & left1) + popcount(bits & left2)
            if total > 0:
                scale = np.float32(total)
                for k in range(identities):
                    out[b, start + k] = out[b, start + k] * left[k] / scale
