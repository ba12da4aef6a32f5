"""Compiled loops over the information states of a public belief, for two players.

An information state of a player is the hand that it sees: the other's. Given that hand, its own is
one of its range, weighted by the ways to draw it from the cards that are unseen then. Letters:
E information states, n worlds of each, N hands of the range.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.hands import BLOCK, count_cards, fill_world, ways_of
from hanabi_search_plugin.hanabi.engine.layout import NO_CARD, hand_at, hand_size
from hanabi_search_plugin.hanabi.engine.rules import next_uniform
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "beliefs of joint search"

# A range of at most LISTED hands is weighed anew for every information state. From longer ranges
# hands are drawn by their public weights and accepted with the ratio of the two weights; after
# TRIES rejections the range is weighed after all.
LISTED, TRIES = 1024, 1000


@kernel
def fill_views(dims: Any, view: Any, player: int, hands: Any, rows: Any) -> None:
    """Write rows[e]: the public view with hand e (5 bits a card) in the slots of ``player``."""
    at = hand_at(dims, player)
    for e in range(len(hands)):
        rows[e] = view
        for i in range(hand_size(dims)):
            if view[at + i] == NO_CARD:
                break
            rows[e, at + i] = (np.int64(hands[e]) >> (5 * i)) & 31


@kernel
def possible_infostates(
    dims: Any, views: Any, seat: int, hands: Any, known: int, possible: Any
) -> None:
    """Write possible[e]: True if ``seat``, which sees views[e], can hold any of the hands."""
    unseen = np.empty(32, np.int64)
    for e in range(len(views)):
        count_cards(dims, views[e], seat, unseen)
        possible[e] = False
        for n in range(len(hands)):
            if ways_of(int(hands[n]), known, unseen) > 0:
                possible[e] = True
                break


@inline
def weigh_all(hands: Any, likelihood: Any, known: int, unseen: Any, sums: Any) -> float:
    """Write sums[n], the weight of hands 0 to n; return the weight of all hands."""
    total = 0.0
    for n in range(len(hands)):
        like = likelihood[n] if len(likelihood) > 0 else 1.0
        total += ways_of(int(hands[n]), known, unseen) * like
        sums[n] = total
    return total


@inline
def first_above(sums: Any, draw: float) -> int:
    """The first index whose cumulative sum exceeds ``draw``; the last index if none does."""
    low, high = 0, len(sums) - 1
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] > draw:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def sample_worlds(
    dims: Any,
    views: Any,
    seat: int,
    hands: Any,
    likelihood: Any,
    known: int,
    public: Any,
    blocks: Any,
    seeds: Any,
    rows: Any,
    picks: Any,
) -> None:
    """Write rows[e * n + i]: a world drawn for information state e with stream i.

    ``picks`` [E * n] receives the index of the hand drawn. ``views`` int32 [E, W]: what ``seat``
    sees. ``public`` int64 [32]: the copies unseen by the public; ``blocks`` [K]: the public weights
    of the hands up to the end of each BLOCK. ``seeds`` uint64 [n]: all information states meet the
    same chance. Every information state must be possible.
    """
    unseen, counts = np.empty(32, np.int64), np.empty(32, np.int64)
    rest = np.empty(64, np.int64)
    state = np.empty(1, np.uint64)
    sums = np.empty(len(hands))
    n = len(seeds)
    for e in range(len(views)):
        present = count_cards(dims, views[e], seat, unseen)
        total = 0.0
        weighed = len(hands) <= LISTED
        if weighed:
            total = weigh_all(hands, likelihood, known, unseen, sums)
        for i in range(n):
            state[0] = seeds[i]
            pick = -1
            tries = 0
            while pick < 0 and not weighed:
                draw = next_uniform(state) * blocks[-1]
                block = first_above(blocks, draw)
                draw -= blocks[block - 1] if block > 0 else 0.0
                at = block * BLOCK
                for k in range(at, min(at + BLOCK, len(hands))):
                    like = likelihood[k] if len(likelihood) > 0 else 1.0
                    weight = ways_of(int(hands[k]), known, public) * like
                    if weight > 0.0:
                        at = k
                        draw -= weight
                        if draw < 0.0:
                            break
                hand = int(hands[at])
                ratio = ways_of(hand, known, unseen) / ways_of(hand, known, public)
                if next_uniform(state) < ratio:
                    pick = at
                tries += 1
                if tries == TRIES:
                    weighed = True
                    total = weigh_all(hands, likelihood, known, unseen, sums)
            if pick < 0:
                pick = first_above(sums, next_uniform(state) * total)
            picks[e * n + i] = pick
            hand = int(hands[pick])
            fill_world(
                dims, views[e], seat, hand, known, present, unseen, state, counts, rest,
                rows[e * n + i],
            )  # fmt: skip
