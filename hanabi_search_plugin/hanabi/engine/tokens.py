"""Weigh and lay out the cards that a player may hold, slot by slot; see ``PrivateTokens``."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.hands import count_cards, fill_world
from hanabi_search_plugin.hanabi.engine.layout import (
    colors,
    hand_size,
    knowledge_at,
    plausible,
    popcount,
    ranks,
)
from hanabi_search_plugin.jit import kernel

COMPILES = "beliefs as tokens"


@kernel
def weigh_tokens(dims: Any, rows: Any, seat: int, before: Any, weights: Any) -> None:
    """weights[b] [V] = copies of each card that slot j of ``seat``'s hand may be.

    ``rows`` [B, W] are what the seat sees, ``before`` int64 [B, j] the cards of its slots before j.
    A card counts if hints leave it, copies of it are unseen and not in ``before``, and every later
    slot can still have a card of its own: for every set of later slots, the copies that fit some
    of them must be as many as they are (Hall's theorem).
    """
    kinds, j = colors(dims) * ranks(dims), before.shape[1]
    counts = np.empty(32, np.int64)
    told = np.empty(hand_size(dims), np.int64)
    for b in range(len(rows)):
        row = rows[b]
        weights[b] = 0.0
        present = count_cards(dims, row, seat, counts)
        good = j < present
        for i in range(present):
            word: Any = np.int64(row[knowledge_at(dims, seat) + i])
            told[i] = plausible(dims, word)
            if i < j:
                card = before[b, i]
                if card < 0 or card >= kinds or not (told[i] >> card) & 1:
                    good = False
                else:
                    counts[card] -= 1
                    good &= counts[card] >= 0
        if not good:
            continue
        later = present - j - 1
        fits = told[j]
        for chosen in range(1, 1 << later):
            union: Any = np.int64(0)
            for i in range(later):
                if (chosen >> i) & 1:
                    union |= told[j + 1 + i]
            copies = 0
            for card in range(kinds):
                if (union >> card) & 1:
                    copies += counts[card]
            if copies < popcount(chosen):
                fits = 0
            elif copies == popcount(chosen):
                fits &= ~union
        for card in range(kinds):
            if (fits >> card) & 1:
                weights[b, card] = counts[card]


@kernel
def lay_out(dims: Any, view: Any, seat: int, tokens: Any, seeds: Any, rows: Any) -> None:
    """rows[b] = the seat's view with the hand tokens[b] in it and the rest shuffled.

    ``tokens`` int64 [B, hand size], -1 past the end of the hand; ``seeds`` uint64 [B].
    """
    unseen, counts = np.empty(32, np.int64), np.empty(32, np.int64)
    rest, state = np.empty(64, np.int64), np.empty(1, np.uint64)
    present = count_cards(dims, view, seat, unseen)
    for b in range(len(tokens)):
        hand = 0
        for i in range(present):
            hand |= tokens[b, i] << (5 * i)
        state[0] = seeds[b]
        fill_world(dims, view, seat, hand, present, present, unseen, state, counts, rest, rows[b])
