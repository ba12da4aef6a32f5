"""Parts of the compiled features of ``PublicBeliefNet``; letters as in ``belief_kernels``."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    SCORED,
    colors,
    hand_size,
    plausible,
    players,
    popcount,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.row_kernels import num_actions
from hanabi_search_plugin.jit import inline
from hanabi_search_plugin.networks.encodings.mask_features import (
    HEADS,
    put_board,
    put_margins_of,
    statuses,
    word,
)

UNITS = 256  # of a likelihood, to a nat
LOWEST, HIGHEST = -2944, 576  # log W in these units; 0 is a card of which nothing is known
SINCE, EVER, AGE = 0, 1, 2  # counts behind the likelihoods: moves since it was touched, and so on
COUNTS = 3
LONGEST = 100  # moves are counted up to here
SCARCE = 0.02  # share of the copies left that others' cards cannot take away
ROUNDS = 2  # in which cards share out the copies
WORTHS = 4  # playable, worthless, critical, one away from playable
FEATURES = WORTHS + 2 + 3 * 3  # of a card, before its ranks: see ``put_card_features``
COMMON = 5  # numbers of a slot before those of its belief
SHOWN = 9  # numbers of a slot in a hint's row that do not depend on what card it is
RECEIVED = 3 + WORTHS  # those that do, but for the one that depends on the hint as well

# Places among the words of a row.
TURN, INFO, DECK_NEXT, PLAYED = 0, 2, 3, 4
LEFT0, LEFT1, LEFT2 = 5, 6, 7
PLAYER, ACTION, CARD, TOUCHED, FLAGS = 8, 9, 10, 11, 12


@inline
def put_bits(mask: int, out: Any) -> None:
    for v in range(len(out)):
        out[v] = (mask >> v) & 1


@inline
def log_of(x: Any) -> Any:
    """The natural logarithm of a positive float32: the library's has no vector form.

    x = 2**e m with m from about 0.7 to 1.4, and log m = 2 artanh((m - 1) / (m + 1)).
    """
    bits = np.int32(np.float32(x).view(np.int32) - 0x3F3504F3)  # of the root of 1/2
    e = np.int32(bits >> 23)
    m = np.int32((bits & 0x7FFFFF) + 0x3F3504F3).view(np.float32)
    s = (m - np.float32(1)) / (m + np.float32(1))
    z = s * s
    tail = z * (
        np.float32(1 / 3)
        + z * (np.float32(1 / 5) + z * (np.float32(1 / 7) + z * np.float32(1 / 9)))
    )
    return np.float32(e) * np.float32(0.6931471805599453) + np.float32(2) * (s + s * tail)


@inline
def exp_of(x: Any) -> Any:
    """exp of a float32 that is at most 0; nothing below -80."""
    x = max(x, np.float32(-80))
    n = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
    # The logarithm of 2 in two parts, so that little is lost of what remains.
    y = x - n * np.float32(0.693145751953125) - n * np.float32(1.42860682030941723e-6)
    tail = np.float32(1 / 120) + y * (np.float32(1 / 720) + y * np.float32(1 / 5040))
    tail = np.float32(1 / 2) + y * (np.float32(1 / 6) + y * (np.float32(1 / 24) + y * tail))
    power = np.int32((np.int32(n) + 127) << 23).view(np.float32)
    return (np.float32(1) + y * (np.float32(1) + y * tail)) * power


@inline
def normalise(rows: Any) -> None:
    """Divides rows by their sums in place; a row of zeros stays."""
    for k in range(len(rows)):
        total = np.float32(0)
        for v in range(rows.shape[1]):
            total += rows[k, v]
        total = max(total, np.float32(1e-9))
        for v in range(rows.shape[1]):
            rows[k, v] /= total


@inline
def settle_beliefs(weight: Any, left: Any, p: Any, free: Any) -> None:
    """``card_beliefs.settled`` of weights [K, V] and copies [V], into ``p`` and ``free``."""
    cards, every = weight.shape
    for k in range(cards):
        for v in range(every):
            free[k, v] = left[v]
            p[k, v] = weight[k, v] * left[v]
    normalise(p)
    for _ in range(ROUNDS):
        for v in range(every):
            taken = np.float32(0)
            for k in range(cards):
                taken += p[k, v]
            for k in range(cards):
                least = np.float32(SCARCE) * left[v]
                free[k, v] = max(left[v] - taken + p[k, v], least)
        for k in range(cards):
            for v in range(every):
                p[k, v] = weight[k, v] * free[k, v]
        normalise(p)


@inline
def put_card_features(
    dims: Any,
    p: Any,
    open_: Any,
    k: int,
    planes: Any,
    worth: Any,
    logs: Any,
    out: Any,
    at: int,
    each: int,
) -> None:
    """``card_beliefs.card_features`` of the hand whose first card is k.

    ``p`` [.., V], ``open_`` masks, ``planes`` [WORTHS] masks, ``worth`` [WORTHS, V] the same as
    numbers, ``logs`` [V] room; the first slot's features go to ``at``, each next one's ``each``
    further.
    """
    h, c, r = hand_size(dims), colors(dims), ranks(dims)
    for i in range(h):
        row, start = p[k + i], at + i * each
        for v in range(len(logs)):
            logs[v] = log_of(max(row[v], np.float32(1e-9)))
        a, b = np.float32(0), np.float32(0)
        d, e = np.float32(0), np.float32(0)
        most, entropy = np.float32(0), np.float32(0)
        for rank in range(r):
            out[start + FEATURES + rank] = 0
        for color in range(c):
            for rank in range(r):
                v = color * r + rank
                x = row[v]
                a += x * worth[0, v]
                b += x * worth[1, v]
                d += x * worth[2, v]
                e += x * worth[3, v]
                most = max(most, x)
                entropy -= x * logs[v]
                out[start + FEATURES + rank] += x
        out[start], out[start + 1], out[start + 2], out[start + 3] = a, b, d, e
        out[start + 4] = most
        out[start + 5] = np.float32(0.3) * entropy
        mask = open_[k + i]
        size = popcount(mask)
        for s in range(3):
            count = popcount(mask & planes[s])
            out[start + 9 + s] = count == size
            out[start + 12 + s] = count == 0
    for s in range(3):
        put_margins_of(out, at + s, at + 6 + s, h, each)


@inline
def one_away(dims: Any, playable: int, worthless: int) -> int:
    """The identities that go on what is playable."""
    r, above = ranks(dims), 0
    for color in range(colors(dims)):
        of = (playable >> (color * r)) & ((1 << (r - 1)) - 1)
        above |= (of << 1) << (color * r)
    return above & ~worthless


@inline
def put_worths(dims: Any, left0: int, left1: int, played: int, planes: Any, worth: Any) -> None:
    """The identities of each worth, as masks and as numbers [WORTHS, V]."""
    planes[0], planes[1], planes[2] = statuses(dims, left0, left1, played)
    planes[3] = one_away(dims, planes[0], planes[1])
    for s in range(WORTHS):
        put_bits(planes[s], worth[s])


@inline
def put_worths_before(dims: Any, words: Any, planes: Any, worth: Any) -> None:
    """``put_worths`` as it was before the last move."""
    left0, left1, played = (
        word(words, LEFT0),
        word(words, LEFT1),
        word(words, PLAYED),
    )
    card = word(words, CARD)
    if card >= 0:
        bit = 1 << card
        left1 = (left1 & ~bit) | (left0 & bit)
        left0 &= ~bit
        if word(words, FLAGS) & SCORED:
            played &= ~bit
    put_worths(dims, left0, left1, played, planes, worth)


@inline
def put_left(words: Any, left: Any) -> None:
    """The copies of each identity that are neither played nor discarded."""
    left0, left1, left2 = word(words, LEFT0), word(words, LEFT1), word(words, LEFT2)
    for v in range(len(left)):
        left[v] = 3 - ((left0 >> v) & 1) - ((left1 >> v) & 1) - ((left2 >> v) & 1)


@inline
def put_event(dims: Any, words: Any, planes: Any, out: Any) -> int:
    """``status.event``; ``planes`` are those before the move. Returns the end."""
    action, card = word(words, ACTION), word(words, CARD)
    n = num_actions(dims)
    for i in range(n):
        out[i] = i == action
    for i in range(3):
        out[n + i] = int(action >= 0) & (word(words, FLAGS) >> i)
        out[n + 3 + i] = int(card >= 0) & (planes[i] >> max(card, 0))
    return n + 6


@inline
def put_whole_board(dims: Any, words: Any, sizes: Any, out: Any, at: int) -> int:
    """``card_beliefs.board``; returns the end."""
    c, r = colors(dims), ranks(dims)
    at = put_board(dims, words, sizes, out, at)
    played, left0 = word(words, PLAYED), word(words, LEFT0)
    score, most = 0, 0
    for color in range(c):
        reached = True
        for rank in range(r):
            bit = 1 << (color * r + rank)
            score += (played & bit) != 0
            reached &= (played & bit) != 0 or (left0 & bit) == 0
            most += reached
    deck = sizes[2] - word(words, DECK_NEXT)
    out[at] = np.float32(score) / np.float32(c * r)
    out[at + 1] = np.float32(c * r - most) / np.float32(r)
    out[at + 2] = np.float32(score + deck + players(dims) - most) / np.float32(10)
    return at + 3


@inline
def is_touched(dims: Any, words: Any, k: int) -> int:
    """1 where the last move is a hint that touched slot k of all."""
    h, c, r = hand_size(dims), colors(dims), ranks(dims)
    hint = word(words, ACTION) - 2 * h
    if hint < 0:
        return 0
    by_rank = hint - (players(dims) - 1) * c
    offset = 1 + (by_rank // r if by_rank >= 0 else hint // c)
    receiver = (max(word(words, PLAYER), 0) + offset) % players(dims)
    return (word(words, TOUCHED) >> (k % h)) & int(k // h == receiver)


@inline
def put_traces(counts: Any, fading: Any, out: Any, at: int) -> None:
    """How recently a card was touched, whether it ever was, how new it is.

    ``fading`` [2, LONGEST + 1]: what n moves leave of recency and of youth.
    """
    out[at] = counts[EVER] * fading[0, min(max(counts[SINCE], 0), LONGEST)]
    out[at + 1] = counts[EVER]
    out[at + 2] = fading[1, min(max(counts[AGE], 0), LONGEST)]


@inline
def is_present(dims: Any, words: Any, k: int) -> int:
    """1 where slot k of all holds a card."""
    h = hand_size(dims)
    here = word(words, HEADS + players(dims) * h + k // h)
    return (here >> (k % h)) & 1


@inline
def left_open(dims: Any, words: Any, k: int) -> int:
    """The identities that hints leave to slot k of all, none where there is no card."""
    return plausible(dims, word(words, HEADS + k)) if is_present(dims, words, k) else 0


@inline
def put_weight(units: Any, open_: int, likely: Any, out: Any) -> None:
    """exp log W [V] of a card, 0 where hints exclude an identity."""
    for v in range(len(out)):
        unit: Any = min(max(np.int64(units[v]), LOWEST), HIGHEST)
        out[v] = likely[unit - LOWEST] * np.float32((open_ >> v) & 1)


@inline
def put_identities(dims: Any, before: Any, after: Any, card: int, p: Any, out: Any) -> None:
    """``card_beliefs.identity_features`` [W, V] from worths before and after an event.

    ``p`` [K, V]: the mover's hand comes first.
    """
    h, r = hand_size(dims), ranks(dims)
    for v in range(out.shape[1]):
        out[0, v] = 1
        for s in range(3):
            out[1 + s, v] = before[s, v]
            out[4 + s, v] = after[s, v]
        out[7, v] = before[0, v] * before[2, v]
        out[8, v] = before[3, v]
        out[9, v] = v == card
        for rank in range(r):
            out[10 + rank, v] = v % r == rank
        held = np.float32(0)
        for i in range(h):
            held += p[i, v]
        out[10 + r, v] = min(held, np.float32(1))


@inline
def put_likelihood(weights: Any, identities: Any, log_weight: Any, out: Any) -> None:
    """log W [V] after an event, of a cell's ``weights`` [W + 1 or more] for a card."""
    n = len(identities)
    whole = np.float32(1) + weights[n]
    for v in range(len(out)):
        out[v] = 0
    for i in range(n):
        for v in range(len(out)):
            out[v] += weights[i] * identities[i, v]
    for v in range(len(out)):
        out[v] += whole * log_weight[v]
