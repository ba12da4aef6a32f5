"""Hands as one integer: count, list, weigh, pick and lay out what a player may hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    ALL,
    DECK_NEXT,
    DECK_SIZE,
    LAST_TOUCHED,
    LEFT0,
    LEFT1,
    LEFT2,
    NO_CARD,
    color_plane,
    colors,
    deck_at,
    hand_at,
    hand_size,
    players,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import shuffle
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "exact beliefs"

BLOCK = 64  # hands whose weights are kept as a sum alone


@inline
def count_cards(dims: Any, row: Any, seat: int, unseen: Any) -> int:
    """Fill ``unseen`` from what ``seat`` sees; returns the number of cards in its hand."""
    h, kinds = hand_size(dims), colors(dims) * ranks(dims)
    unseen[:] = 0
    for card in range(kinds):
        bit = 1 << card
        fewer = np.int64((row[LEFT0] & bit) != 0) + np.int64((row[LEFT1] & bit) != 0)
        unseen[card] = 3 - fewer - np.int64((row[LEFT2] & bit) != 0)
    present = 0
    for player in range(players(dims)):
        hand = hand_at(dims, player)
        for i in range(h):
            card = row[hand + i]
            if player == seat:
                present += np.int64(card != NO_CARD)
            elif card != NO_CARD:
                unseen[card] -= 1
    return present


@kernel
def count_unseen(dims: Any, row: Any, seat: int, unseen: Any) -> int:
    """``count_cards``, from Python."""
    return count_cards(dims, row, seat, unseen)


@inline
def kept(hand: int, thin: int, salt: int) -> bool:
    """A fixed pseudo-random 1 in 2**thin of all hands, another part for each salt.

    Parts are nested: what is kept at one ``thin`` is kept at all below. The hash is SplitMix64's.
    """
    z = np.uint64(hand) + np.uint64(salt + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) & np.uint64((1 << thin) - 1) == 0


@inline
def next_hand(
    cards: Any,
    counts: Any,
    allowed: Any,
    known: int,
    present: int,
    kinds: int,
    depth: int,
    coarse: int,
    salt: int,
) -> int:
    """Move the pending slots on to their next assignment; -1 after the last.

    Slot ``depth`` is the next to advance; ``cards`` and ``counts`` hold the state between calls.
    ``coarse`` skips all but 1 in 2**coarse of the beginnings that lack two cards.
    """
    while depth >= known:
        card = cards[depth]
        if card >= 0:
            counts[card] += 1
        card += 1
        while card < kinds and not (counts[card] > 0 and (allowed[depth] >> card) & 1):
            card += 1
        if card < kinds:
            cards[depth] = card
            counts[card] -= 1
            if depth == present - 1:
                return depth
            if coarse > 0 and depth == present - 3:
                beginning = 0
                for i in range(depth + 1):
                    beginning |= cards[i] << (5 * i)
                if not kept(beginning, coarse, salt):
                    continue
            depth += 1
            cards[depth] = -1
        else:
            cards[depth] = -1
            depth -= 1
    return -1


@inline
def load_hand(hand: int, cards: Any, counts: Any, unseen: Any, allowed: Any, known: int) -> bool:
    """Unpack the known slots; False where the hand is no longer possible."""
    for card in range(len(counts)):
        counts[card] = unseen[card]
    possible = True
    for i in range(known):
        card = (hand >> (5 * i)) & 31
        cards[i] = card
        counts[card] -= 1
        possible &= counts[card] >= 0 and ((allowed[i] >> card) & 1) != 0
    return possible


@kernel
def thin_out(hands: Any, likelihood: Any, parents: Any, thin: int, salt: int) -> int:
    """Keep 1 in 2**thin of the hands, but one at least, at the front; returns how many."""
    n = 0
    for i in range(len(hands)):
        if kept(np.int64(hands[i]), thin, salt):
            hands[n] = hands[i]
            if len(parents) > 0:
                parents[n] = parents[i]
            if len(likelihood) > 0:
                likelihood[n] = likelihood[i]
            n += 1
    return max(n, 1)


@inline
def ways_of(hand: int, known: int, unseen: Any) -> int:
    """Ways to draw the known slots from the unseen cards; pending ones add the same to all."""
    ways = 1
    for i in range(known):
        card = (hand >> (5 * i)) & 31
        left = unseen[card]
        for j in range(i):
            left -= np.int64(((hand >> (5 * j)) & 31) == card)
        ways *= max(left, 0)
    return ways


@kernel
def weigh_hands(hands: Any, likelihood: Any, known: int, unseen: Any, weights: Any) -> None:
    """weights[n] = ways to draw the known slots x the hand's likelihood."""
    for n in range(len(hands)):
        like = likelihood[n] if len(likelihood) > 0 else 1.0
        weights[n] = ways_of(np.int64(hands[n]), known, unseen) * like


@kernel
def possible_hands(hands: Any, known: int, unseen: Any, possible: Any) -> int:
    """possible[n] = do the unseen cards make up the hand? Returns how many they do."""
    count = 0
    for n in range(len(hands)):
        possible[n] = ways_of(np.int64(hands[n]), known, unseen) > 0
        count += possible[n]
    return count


@kernel
def holding(hands: Any, slot: int, card: int, same: Any) -> None:
    """same[n] = is the card in a known slot this one?"""
    for n in range(len(hands)):
        same[n] = ((np.int64(hands[n]) >> (5 * slot)) & 31) == card


@kernel
def weigh_blocks(hands: Any, likelihood: Any, known: int, unseen: Any, sums: Any) -> None:
    """sums[k] = weight of the k-th BLOCK hands together."""
    sums[:] = 0.0
    for n in range(len(hands)):
        like = likelihood[n] if len(likelihood) > 0 else 1.0
        sums[n // BLOCK] += ways_of(np.int64(hands[n]), known, unseen) * like


@kernel
def pick_hands(
    hands: Any, likelihood: Any, known: int, unseen: Any, blocks: Any, left: Any, picks: Any
) -> None:
    """picks[b] = the hand of block blocks[b] at which its running weight passes left[b]."""
    for b in range(len(blocks)):
        start = blocks[b] * BLOCK
        rest = left[b]
        for n in range(start, min(start + BLOCK, len(hands))):
            like = likelihood[n] if len(likelihood) > 0 else 1.0
            weight = ways_of(np.int64(hands[n]), known, unseen) * like
            if weight > 0.0:  # the last one stands where rounding leaves a rest
                picks[b] = n
                rest -= weight
                if rest < 0.0:
                    break


@inline
def fill_world(
    dims: Any,
    view: Any,
    seat: int,
    hand: int,
    known: int,
    present: int,
    unseen: Any,
    state: Any,
    counts: Any,
    rest: Any,
    row: Any,
) -> None:
    """row = the seat's view with a hand in it and the rest of the unseen cards shuffled.

    The first of the rest fill the pending slots, the others are the deck. ``counts`` int64 [32] and
    ``rest`` int64 [64] are room to work in.
    """
    mine, deck = hand_at(dims, seat), deck_at(dims)
    for i in range(len(row)):
        row[i] = view[i]
    for card in range(len(counts)):
        counts[card] = unseen[card]
    for i in range(known):
        card = (hand >> (5 * i)) & 31
        row[mine + i] = card
        counts[card] -= 1
    size = 0
    for card in range(colors(dims) * ranks(dims)):
        for _ in range(counts[card]):
            rest[size] = card
            size += 1
    shuffle(rest, 0, size, state)
    used = present - known
    for i in range(used):
        row[mine + known + i] = rest[i]
    start = np.int64(row[DECK_NEXT])
    for i in range(np.int64(row[DECK_SIZE]) - start):
        row[deck + start + i] = rest[used + i]


@kernel
def fill_worlds(
    dims: Any,
    view: Any,
    seat: int,
    hands: Any,
    known: int,
    present: int,
    unseen: Any,
    seeds: Any,
    rows: Any,
) -> None:
    """rows[b] = ``fill_world`` with hand b; ``seeds`` uint64 [B]."""
    rest = np.empty(64, np.int64)
    counts = np.empty(32, np.int64)
    state = np.empty(1, np.uint64)
    for b in range(len(hands)):
        state[0] = seeds[b]
        hand = np.int64(hands[b])
        fill_world(dims, view, seat, hand, known, present, unseen, state, counts, rest, rows[b])


@kernel
def touch_identities(dims: Any, row: Any, value: int, by_rank: bool, allowed: Any) -> None:
    """allowed[i] = identities that fit the last move, a hint of ``value``, in slot i."""
    plane = rank_plane(dims, value) if by_rank else color_plane(dims, value)
    everything = np.int64(row[ALL])
    hit = np.int64(row[LAST_TOUCHED])
    for i in range(len(allowed)):
        allowed[i] = plane if (hit >> i) & 1 else everything & ~plane
