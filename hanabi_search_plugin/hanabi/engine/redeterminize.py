"""Drawing the hidden part of worlds anew: a chosen hand, a hand that fits its hints, the truth.

What a player cannot see is its pool: its own hand and the undealt deck. Worlds reached by play
always have a hand that agrees with its hints, so a draw always exists. Letters: B worlds, W words
of a row, L cards of a hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DECK_SIZE,
    DREW,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    MOVES,
    NO_CARD,
    colors,
    deck_at,
    hand_at,
    hand_size,
    knowledge_at,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import next_below, shuffle
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "determinisations"

RETRIES = 64  # of a hand whose slots drew the same card, before what narrows it is dropped


@inline
def plausible(dims: Any, word: Any) -> Any:
    """Plane of the identities that agree with a word of hint knowledge."""
    rank_set = word >> 5 & 31
    plane = 0
    for color in range(colors(dims)):
        plane |= (rank_set if word >> color & 1 else 0) << (color * ranks(dims))
    return plane


@inline
def cards_held(dims: Any, row: Any, player: int) -> int:
    """How many cards a hand has; they are its first slots."""
    hand = hand_at(dims, player)
    held = 0
    for i in range(hand_size(dims)):
        held += row[hand + i] != NO_CARD
    return held


@inline
def collect_pool(dims: Any, row: Any, player: int, pool: Any) -> int:
    """Put the player's hand, then the undealt deck into ``pool``; returns how many they are."""
    hand, deck = hand_at(dims, player), deck_at(dims)
    n = cards_held(dims, row, player)
    for i in range(n):
        pool[i] = row[hand + i]
    for i in range(row[DECK_NEXT], row[DECK_SIZE]):
        pool[n] = row[deck + i]
        n += 1
    return n


@inline
def shuffle_deck(dims: Any, row: Any, state: Any) -> None:
    """Shuffle the undealt deck."""
    deck = deck_at(dims)
    start: Any = deck + np.int64(row[DECK_NEXT])
    stop: Any = deck + np.int64(row[DECK_SIZE])
    shuffle(row, start, stop, state)


@kernel
def set_hands(dims: Any, rows: Any, player: int, tokens: Any, states: Any, possible: Any) -> None:
    """Give ``player`` the hands tokens [B, L] (-1 past the end) in rows [B, W], in place.

    The rest of the pool is shuffled into the deck, by one draw of states (uint64 [B]) for each
    card of it but one. Writes possible [B]: a hand of the wrong length, against its hints or with
    cards that are not in the pool is not, and its row and stream stay as they were.
    """
    h = hand_size(dims)
    identities = colors(dims) * ranks(dims)
    hand, knowledge, deck = hand_at(dims, player), knowledge_at(dims, player), deck_at(dims)
    pool = np.empty(rows.shape[1], dtype=np.int64)
    count = np.empty(identities, dtype=np.int64)
    state = np.empty(1, dtype=np.uint64)
    for b in range(len(rows)):
        row = rows[b]
        held = cards_held(dims, row, player)
        count[:] = 0
        for i in range(collect_pool(dims, row, player, pool)):
            count[pool[i]] += 1
        good = True
        for i in range(h):
            card = tokens[b, i]
            if i >= held:
                good &= card == -1
            elif card < 0 or card >= identities:
                good = False
            else:
                count[card] -= 1
                fits = plausible(dims, np.int64(row[knowledge + i])) >> card & 1
                good &= count[card] >= 0 and fits == 1
        possible[b] = good
        if good:
            for i in range(held):
                row[hand + i] = tokens[b, i]
            at = deck + row[DECK_NEXT]
            for card in range(identities):
                for _ in range(count[card]):
                    row[at] = card
                    at += 1
            state[0] = states[b]
            shuffle_deck(dims, row, state)
            states[b] = state[0]


@inline
def list_fitting(
    dims: Any, row: Any, player: int, held: int, pool: Any, n: int, allowed: Any, out: Any
) -> None:
    """Which of the n cards of ``pool`` fit each slot's hints and its plane of ``allowed`` [H].

    ``out`` [H, n and one more]: their places in the pool, and in the last place how many they are.
    """
    knowledge = knowledge_at(dims, player)
    for i in range(held):
        count = 0
        fits = plausible(dims, np.int64(row[knowledge + i])) & allowed[i]
        for j in range(n):  # without branches: written in any case, counted if it fits
            out[i, count] = j
            count += fits >> pool[j] & 1
        out[i, n] = count


@kernel
def redraw_hands(
    dims: Any, rows: Any, player: int, keep_hand: bool, allowed: Any, states: Any
) -> None:
    """Draw ``player``'s hand anew by its hints, and the order of the deck, in rows [B, W] in place.

    Uniform over all orders of the pool in which the hand agrees with its hints, exactly: each slot
    draws a card of the pool that fits it, and all slots draw again when two drew the same card.
    Each draw and each card of the deck but one takes a number from states (uint64 [B]).
    ``allowed`` int64 [H] narrows what each slot may hold: planes, -1 for what the hints say. Where
    a slot has no card then, or slots drew the same one RETRIES times, hints alone count.
    ``keep_hand``: only the deck is shuffled.
    """
    h = hand_size(dims)
    hand, deck = hand_at(dims, player), deck_at(dims)
    pool = np.empty(rows.shape[1], dtype=np.int64)
    fitting = np.empty((h, rows.shape[1] + 1), dtype=np.int64)
    anything = np.full(h, -1, dtype=np.int64)
    state = np.empty(1, dtype=np.uint64)
    for b in range(len(rows)):
        row = rows[b]
        state[0] = states[b]
        if not keep_hand:
            held = cards_held(dims, row, player)
            n = collect_pool(dims, row, player, pool)
            list_fitting(dims, row, player, held, pool, n, allowed, fitting)
            collisions = 0
            for i in range(held):
                collisions = RETRIES if fitting[i, n] == 0 else collisions
            taken = 0
            i = 0
            while i < held:
                if collisions == RETRIES:
                    list_fitting(dims, row, player, held, pool, n, anything, fitting)
                    collisions += 1
                j = fitting[i, next_below(state, fitting[i, n])]
                if taken >> j & 1:
                    taken = 0
                    i = 0
                    collisions += 1
                else:
                    taken |= 1 << j
                    row[hand + i] = pool[j]
                    i += 1
            at = deck + row[DECK_NEXT]
            for j in range(n):
                if not taken >> j & 1:
                    row[at] = pool[j]
                    at += 1
        shuffle_deck(dims, row, state)
        states[b] = state[0]


@kernel
def restore_hands(dims: Any, rows: Any, player: int, saved: Any, states: Any) -> None:
    """Put ``player``'s true cards of saved [B, W] back into rows [B, W] in place.

    ``saved`` are the worlds before `redraw_hands` and one move of the player in rows. The card
    that was played or discarded stays on the table. If it was the copy that the true hand holds in
    another slot, the oldest such slot draws a card of the pool that fits its hints, or, where there
    is none, any card, and the slot's hints are forgotten. The replacement card is drawn last.
    Takes numbers from states (uint64 [B]): one for a conflict, and one for each card of the rest
    but one.
    """
    identities = colors(dims) * ranks(dims)
    hand, knowledge, deck = hand_at(dims, player), knowledge_at(dims, player), deck_at(dims)
    everything = ((1 << colors(dims)) - 1) | ((1 << ranks(dims)) - 1) << 5
    pool = np.empty(rows.shape[1], dtype=np.int64)
    count = np.empty(identities, dtype=np.int64)
    state = np.empty(1, dtype=np.uint64)
    for b in range(len(rows)):
        row = rows[b]
        state[0] = states[b]
        moved = row[MOVES] != saved[b, MOVES] and row[LAST_PLAYER] == player
        used: Any = np.int64(row[LAST_ACTION])
        used = used - hand_size(dims) if used >= hand_size(dims) else used
        if not moved or row[LAST_CARD] < 0:  # no move, or a hint: no slot was used
            used = hand_size(dims)
        count[:] = 0
        for i in range(collect_pool(dims, row, player, pool)):
            count[pool[i]] += 1
        drew = moved and row[LAST_FLAGS] & DREW != 0
        kept = cards_held(dims, row, player) - np.int64(drew)
        conflict = -1
        for i in range(kept - 1, -1, -1):  # from the newest, so that the oldest gives way
            card = saved[b, hand + (i if i < used else i + 1)]
            if count[card] > 0:
                count[card] -= 1
                row[hand + i] = card
            else:
                conflict = i
        if conflict >= 0:
            fits = plausible(dims, np.int64(row[knowledge + conflict]))
            choices = 0
            for card in range(identities):
                choices += count[card] if fits >> card & 1 else 0
            if choices == 0:
                row[knowledge + conflict] = everything
                fits = plausible(dims, everything)
                for card in range(identities):
                    choices += count[card]
            draw = next_below(state, choices)
            for card in range(identities):
                if draw >= 0 and fits >> card & 1:
                    draw -= count[card]
                    if draw < 0:
                        count[card] -= 1
                        row[hand + conflict] = card
        n = 0
        for card in range(identities):
            for _ in range(count[card]):
                pool[n] = card
                n += 1
        shuffle(pool, 0, n, state)
        if drew:
            n -= 1
            row[hand + kept] = pool[n]
        for i in range(n):
            row[deck + row[DECK_NEXT] + i] = pool[i]
        states[b] = state[0]
