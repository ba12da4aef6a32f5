"""Compiled features of ``PublicBeliefNet`` (``networks.nets.public_belief_net``), row by row.

They equal what ``networks.encodings.card_beliefs`` and ``PublicBeliefNet`` compute with tensors, up
to rounding, and a row is computed from its own words alone. Letters as in ``card_beliefs``: P
players, H slots, K = P x H cards, V identities, X numbers of a card's memory; F of ``card_size``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    SCORED,
    color_plane,
    colors,
    hand_size,
    plausible,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.row_kernels import num_actions
from hanabi_search_plugin.jit import inline, kernel
from hanabi_search_plugin.networks.encodings.mask_features import (
    HEADS,
    looking,
    put_board,
    put_one,
    statuses,
    touch_mask,
    turned,
    word,
)

COMPILES = "networks of public beliefs"

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

_TURN, _INFO, _DECK_NEXT, _PLAYED = 0, 2, 3, 4
_LEFT0, _LEFT1, _LEFT2 = 5, 6, 7
_PLAYER, _ACTION, _CARD, _TOUCHED, _FLAGS = 8, 9, 10, 11, 12


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
def put_margins_of(out: Any, first: int, to: int, slots: int, each: int) -> None:
    """Numbers at ``first`` of each slot, less the best of the other slots, to ``to``."""
    best, second, where = np.float32(-1.0), np.float32(-1.0), 0
    for i in range(slots):
        x = out[first + i * each]
        if x > best:
            best, second, where = x, best, i
        elif x > second:
            second = x
    for i in range(slots):
        rival = np.float32(0.0)
        if slots > 1:
            rival = second if i == where else best
        out[to + i * each] = out[first + i * each] - rival


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
    left0, left1, played = word(words, _LEFT0), word(words, _LEFT1), word(words, _PLAYED)
    card = word(words, _CARD)
    if card >= 0:
        bit = 1 << card
        left1 = (left1 & ~bit) | (left0 & bit)
        left0 &= ~bit
        if word(words, _FLAGS) & SCORED:
            played &= ~bit
    put_worths(dims, left0, left1, played, planes, worth)


@inline
def put_left(words: Any, left: Any) -> None:
    """The copies of each identity that are neither played nor discarded."""
    left0, left1, left2 = word(words, _LEFT0), word(words, _LEFT1), word(words, _LEFT2)
    for v in range(len(left)):
        left[v] = 3 - ((left0 >> v) & 1) - ((left1 >> v) & 1) - ((left2 >> v) & 1)


@inline
def put_event(dims: Any, words: Any, planes: Any, out: Any) -> int:
    """``status.event``; ``planes`` are those before the move. Returns the end."""
    action, card = word(words, _ACTION), word(words, _CARD)
    n = num_actions(dims)
    for i in range(n):
        out[i] = i == action
    for i in range(3):
        out[n + i] = int(action >= 0) & (word(words, _FLAGS) >> i)
        out[n + 3 + i] = int(card >= 0) & (planes[i] >> max(card, 0))
    return n + 6


@inline
def put_whole_board(dims: Any, words: Any, sizes: Any, out: Any, at: int) -> int:
    """``card_beliefs.board``; returns the end."""
    c, r = colors(dims), ranks(dims)
    at = put_board(dims, words, sizes, out, at)
    played, left0 = word(words, _PLAYED), word(words, _LEFT0)
    score, most = 0, 0
    for color in range(c):
        reached = True
        for rank in range(r):
            bit = 1 << (color * r + rank)
            score += (played & bit) != 0
            reached &= (played & bit) != 0 or (left0 & bit) == 0
            most += reached
    deck = sizes[2] - word(words, _DECK_NEXT)
    out[at] = np.float32(score) / np.float32(c * r)
    out[at + 1] = np.float32(c * r - most) / np.float32(r)
    out[at + 2] = np.float32(score + deck + players(dims) - most) / np.float32(10)
    return at + 3


@inline
def is_touched(dims: Any, words: Any, k: int) -> int:
    """1 where the last move is a hint that touched slot k of all."""
    h, c, r = hand_size(dims), colors(dims), ranks(dims)
    hint = word(words, _ACTION) - 2 * h
    if hint < 0:
        return 0
    by_rank = hint - (players(dims) - 1) * c
    offset = 1 + (by_rank // r if by_rank >= 0 else hint // c)
    receiver = (max(word(words, _PLAYER), 0) + offset) % players(dims)
    return (word(words, _TOUCHED) >> (k % h)) & int(k // h == receiver)


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


@kernel
def memory_features(
    dims: Any,
    sizes: Any,
    public: Any,
    memory: Any,
    likely: Any,
    fading: Any,
    table: Any,
    slots: Any,
    moved: Any,
    identities: Any,
) -> None:
    """Inputs of the cell, from public words [B, N] and memory int16 [B, K x X] before the event.

    ``likely`` [HIGHEST - LOWEST + 1]: exp of log W, from LOWEST on. Written, with players in order
    from the mover: ``table`` [B, event, board, K x (COMMON + F)], ``slots`` [B, T x H, COMMON + F]
    the last of these again, ``moved`` int16 [B, K, X] the memory as its cards lie after the event,
    ``identities`` [B, W, V].
    """
    p, h = players(dims), hand_size(dims)
    cards, every = p * h, colors(dims) * ranks(dims)
    size, each = every + COUNTS, slots.shape[2]
    logs = np.empty(every, np.float32)
    planes, after = np.empty(WORTHS, np.int64), np.empty(WORTHS, np.int64)
    worth, later = np.empty((WORTHS, every), np.float32), np.empty((WORTHS, every), np.float32)
    open_, left = np.empty(cards, np.int64), np.empty(every, np.float32)
    weight, free = np.empty((cards, every), np.float32), np.empty((cards, every), np.float32)
    belief = np.empty((cards, every), np.float32)
    for b in range(len(public)):
        words, row = public[b], table[b]
        put_worths_before(dims, words, planes, worth)
        put_worths(
            dims, word(words, _LEFT0), word(words, _LEFT1), word(words, _PLAYED), after, later
        )
        put_left(words, left)
        action, mover = word(words, _ACTION), word(words, _PLAYER)
        leaves = 0 <= action < 2 * h
        at = put_whole_board(dims, words, sizes, row, put_event(dims, words, planes, row))
        for k in range(cards):
            source = turned(dims, max(mover, 0), k)
            here, from_, blank = is_present(dims, words, source), source, False
            if leaves and source // h == mover and source % h >= action % h:
                from_, blank = source + 1, source % h == h - 1
            for i in range(size):
                moved[b, k, i] = 0
                if here and not blank:
                    moved[b, k, i] = memory[b, from_ * size + i]
            open_[k] = left_open(dims, words, source)
            put_weight(moved[b, k], open_[k], likely, weight[k])
            place = at + k * each
            row[place] = here
            row[place + 1] = is_touched(dims, words, source)
            put_traces(moved[b, k, every:], fading, row, place + 2)
        settle_beliefs(weight, left, belief, free)
        for player in range(p):
            first = at + player * h * each + COMMON
            put_card_features(
                dims, belief, open_, player * h, planes, worth, logs, row, first, each
            )
        for k in range(h, cards):
            for i in range(each):
                slots[b, k - h, i] = row[at + k * each + i]
        put_identities(dims, worth, later, word(words, _CARD), belief, identities[b])


@kernel
def remember_heard(
    dims: Any, public: Any, moved: Any, identities: Any, weights: Any, out: Any
) -> None:
    """Memory int16 [B, K x X] after the event, by the cell's ``weights`` [B, T x H, W + 1 or more].

    The others as ``memory_features`` wrote them.
    """
    p, h = players(dims), hand_size(dims)
    cards, every = p * h, colors(dims) * ranks(dims)
    size = every + COUNTS
    before, heard = np.empty(every, np.float32), np.empty(every, np.float32)
    for b in range(len(public)):
        words = public[b]
        happened = word(words, _PLAYER) >= 0
        for k in range(cards):
            source = turned(dims, max(word(words, _PLAYER), 0), k)
            card, to = moved[b, k], source * size
            open_ = left_open(dims, words, source)
            for i in range(size):
                out[b, to + i] = card[i]
            if not happened:
                continue
            if k >= h and open_ != 0:
                for v in range(every):
                    before[v] = np.float32(card[v]) / np.float32(UNITS)
                put_likelihood(weights[b, k - h], identities[b], before, heard)
                top = np.float32(-1e9)
                for v in range(every):
                    if (open_ >> v) & 1:
                        top = max(top, heard[v])
                for v in range(every):
                    unit = (heard[v] - top) * np.float32(UNITS)
                    unit = min(max(unit, np.float32(LOWEST)), np.float32(HIGHEST))
                    out[b, to + v] = np.int16(np.rint(unit))
            hit = is_touched(dims, words, source)
            counts = to + every
            out[b, counts + SINCE] = 0 if hit else min(card[every + SINCE] + 1, LONGEST)
            out[b, counts + EVER] = card[every + EVER] | hit
            out[b, counts + AGE] = min(card[every + AGE] + 1, LONGEST)


# ------------------------------------------------------------------------------- the decision


@kernel
def seats_looking(dims: Any, public: Any, private: Any, out: Any) -> None:
    """Into ``out`` [B] the seat whose view a row of ``private`` is."""
    for b in range(len(private)):
        out[b] = looking(dims, public[b if len(public) > 1 else 0], private[b])


@kernel
def public_features(
    dims: Any,
    sizes: Any,
    public: Any,
    memory: Any,
    seats: Any,
    likely: Any,
    fading: Any,
    table: Any,
    before: Any,
    log_weight: Any,
    weight: Any,
    belief: Any,
    free: Any,
    identities: Any,
) -> None:
    """What all know, from public words [U, N] and memory [U, K x X], as ``seats`` [U] look at it.

    Written, with players in order from that seat: ``table`` [U, event, board, whose turn it is,
    T x H x (COMMON + F)]; ``before`` [U, board after a hint, K x (COMMON + F)], the input of the
    cell without the hint; log W, exp log W, p and free copies [U, K, V]; ``identities`` [U, W, V]
    of a hint.
    """
    p, h = players(dims), hand_size(dims)
    cards, every = p * h, colors(dims) * ranks(dims)
    size, each = every + COUNTS, COMMON + FEATURES + ranks(dims)
    logs = np.empty(every, np.float32)
    planes, worth = np.empty(WORTHS, np.int64), np.empty((WORTHS, every), np.float32)
    open_, left = np.empty(cards, np.int64), np.empty(every, np.float32)
    for u in range(len(public)):
        words, seat = public[u], seats[u]
        put_worths_before(dims, words, planes, worth)
        at = put_event(dims, words, planes, table[u])
        at = put_whole_board(dims, words, sizes, table[u], at)
        at = put_one(table[u], at, (max(word(words, _TURN), 0) - seat + p) % p - 1, p - 1)
        place = put_whole_board(dims, words, sizes, before[u], 0)
        put_one(before[u], 0, word(words, _INFO) - 1, sizes[0] + 1)
        put_worths(
            dims, word(words, _LEFT0), word(words, _LEFT1), word(words, _PLAYED), planes, worth
        )
        put_left(words, left)
        for k in range(cards):
            source = turned(dims, seat, k)
            units = memory[u, source * size : (source + 1) * size]
            open_[k] = left_open(dims, words, source)
            put_weight(units, open_[k], likely, weight[u, k])
            for v in range(every):
                log_weight[u, k, v] = np.float32(units[v]) / np.float32(UNITS)
            slot = place + k * each
            before[u, slot] = is_present(dims, words, source)
            before[u, slot + 1] = 0
            put_traces(units[every:], fading, before[u], slot + 2)
        settle_beliefs(weight[u], left, belief[u], free[u])
        for player in range(p):
            first = place + player * h * each + COMMON
            put_card_features(
                dims, belief[u], open_, player * h, planes, worth, logs, before[u], first, each
            )
        for k in range(h, cards):
            to, slot = at + (k - h) * each, place + k * each
            for i in range(each):
                table[u, to + i] = before[u, slot + i]
            table[u, to + 1] = is_touched(dims, words, turned(dims, seat, k))
        put_identities(dims, worth, worth, -1, belief[u], identities[u])


@kernel
def private_features(
    dims: Any,
    public: Any,
    private: Any,
    which: Any,
    seats: Any,
    heights: Any,
    before: Any,
    weight: Any,
    belief: Any,
    own: Any,
    others: Any,
    receivers: Any,
    touches: Any,
) -> None:
    """What a seat sees besides, from cards [B, K] and ``which`` [B] public row they belong to.

    The others as ``public_features`` wrote them; ``heights`` [R] a number for each rank. Written:
    ``own`` [B, H x own_size]; ``others`` [B, T x H x OTHER]; ``receivers`` [B, T, H x RECEIVED],
    what the rows of all hints to a player hold of the cards' truth; ``touches`` [B, T, N] the slots
    that a hint touches, 0 for one that is not allowed.
    """
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    cards, every, each = p * h, c * r, COMMON + FEATURES + r
    size = own.shape[1] // h
    place = before.shape[1] - cards * each
    logs = np.empty(every, np.float32)
    planes, worth = np.empty(WORTHS, np.int64), np.empty((WORTHS, every), np.float32)
    open_, left = np.empty(h, np.int64), np.empty(every, np.float32)
    seen, mine = np.empty(every, np.float32), np.empty((h, every), np.float32)
    free, held = np.empty((h, every), np.float32), np.empty(every, np.float32)
    last = -1
    for b in range(len(private)):
        u = which[b]
        words, seat = public[u], seats[u]
        if u != last:
            put_worths(
                dims, word(words, _LEFT0), word(words, _LEFT1), word(words, _PLAYED), planes, worth
            )
            for i in range(h):
                open_[i] = left_open(dims, words, seat * h + i)
            last = u
        put_left(words, left)
        seen[:] = 0
        for k in range(h, cards):
            card = word(private[b], turned(dims, seat, k))
            if card < every:
                seen[card] += 1
        for v in range(every):
            left[v] -= seen[v]
        settle_beliefs(weight[u, :h], left, mine, free)
        held[:] = 0
        for i in range(h):
            row, slot = own[b, i * size : (i + 1) * size], place + i * each
            for j in range(COMMON):
                row[j] = before[u, slot + j]
            row[1] = is_touched(dims, words, seat * h + i)
            for s in range(3):
                row[each + s] = before[u, slot + COMMON + s]
            for t in range(p - 1):
                double = np.float32(0)
                for j in range(h):
                    card = word(private[b], turned(dims, seat, (t + 1) * h + j))
                    if card < every:
                        double += mine[i, card]
                row[each + 3 + t] = double
            for v in range(every):
                held[v] += mine[i, v]
        put_card_features(dims, mine, open_, 0, planes, worth, logs, own[b], COMMON, size)
        for k in range(h, cards):
            card = word(private[b], turned(dims, seat, k))
            row, at = others[b], (k - h) * (WORTHS + r + 3)
            to, hint = receivers[b, k // h - 1], (k % h) * RECEIVED
            for i in range(WORTHS + r + 3):
                row[at + i] = 0
            for i in range(RECEIVED):
                to[hint + i] = 0
            if card >= every:
                continue
            elsewhere = seen[card] - np.float32(1)
            for s in range(WORTHS):
                row[at + s] = worth[s, card]
                to[hint + 3 + s] = worth[s, card]
            row[at + WORTHS + card % r] = 1
            end = at + WORTHS + r
            row[end] = belief[u, k, card]
            row[end + 1] = min(elsewhere, np.float32(1))
            row[end + 2] = min(held[card], np.float32(1))
            to[hint] = belief[u, k, card]
            to[hint + 1] = min(elsewhere + held[card], np.float32(1))
            to[hint + 2] = heights[card % r]
        allowed = word(words, _INFO) > 0 and max(word(words, _TURN), 0) == seat
        for t in range(p - 1):
            first = turned(dims, seat, (t + 1) * h)
            for n in range(c + r):
                plane = color_plane(dims, n) if n < c else rank_plane(dims, n - c)
                touches[b, t, n] = touch_mask(dims, private[b], first, plane) if allowed else 0


@kernel
def list_hints(touches: Any, which: Any, found: Any, hints: Any, rows: Any) -> tuple[int, int]:
    """The hints to one player that are allowed, ``touches`` [B, N]; (different hints, rows).

    ``hints`` [B x N, 3]: public row, hint, slots touched; ``rows`` [B x N, 3]: world, hint, which
    of these. Equal ones are listed once where ``found`` has room for all, [U, N, 2**H]; else it is
    empty.
    """
    different, written = 0, 0
    found[:] = -1
    for b in range(len(touches)):
        for n in range(touches.shape[1]):
            touch = touches[b, n]
            if touch == 0:
                continue
            mine = different
            if found.size > 0 and found[which[b], n, touch] >= 0:
                mine = found[which[b], n, touch]
            if mine == different:
                hints[mine, 0], hints[mine, 1], hints[mine, 2] = which[b], n, touch
                different += 1
                if found.size > 0:
                    found[which[b], n, touch] = mine
            rows[written, 0], rows[written, 1], rows[written, 2] = b, n, mine
            written += 1
    return different, written


@inline
def open_after(dims: Any, words: Any, k: int, n: int, hit: int) -> int:
    """The identities that hint n leaves to slot k of all, which it touches or not."""
    c = colors(dims)
    plane = color_plane(dims, n) if n < c else rank_plane(dims, n - c)
    left: int = left_open(dims, words, k) & (plane if hit else ~plane)
    return left


@kernel
def told_features(
    dims: Any,
    public: Any,
    seats: Any,
    hints: Any,
    t: int,
    before: Any,
    weight: Any,
    free: Any,
    slots: Any,
    change: Any,
) -> None:
    """The receiver's slots [M, H x (COMMON + F)] after ``hints`` [M, 3] to the t-th other player.

    ``change`` [M, H x (COMMON + F)]: less those before. The others as ``public_features`` wrote.
    """
    h, every = hand_size(dims), colors(dims) * ranks(dims)
    each = COMMON + FEATURES + ranks(dims)
    place = before.shape[1] - (players(dims) * h - (t + 1) * h) * each
    logs = np.empty(every, np.float32)
    planes, worth = np.empty(WORTHS, np.int64), np.empty((WORTHS, every), np.float32)
    open_, told = np.empty(h, np.int64), np.empty((h, every), np.float32)
    last = -1
    for m in range(len(hints)):
        u, n, touch = hints[m, 0], hints[m, 1], hints[m, 2]
        words = public[u]
        if u != last:
            put_worths(
                dims, word(words, _LEFT0), word(words, _LEFT1), word(words, _PLAYED), planes, worth
            )
            last = u
        first = turned(dims, seats[u], (t + 1) * h)
        for i in range(h):
            k, hit = (t + 1) * h + i, (touch >> i) & 1
            open_[i] = open_after(dims, words, first + i, n, hit)
            for v in range(every):
                bit = np.float32((open_[i] >> v) & 1)
                told[i, v] = weight[u, k, v] * free[u, k, v] * bit
            for j in range(COMMON):
                slots[m, i * each + j] = before[u, place + i * each + j]
            slots[m, i * each + 1] = hit
        normalise(told)
        put_card_features(dims, told, open_, 0, planes, worth, logs, slots[m], COMMON, each)
        for i in range(h * each):
            change[m, i] = slots[m, i] - before[u, place + i]


@kernel
def hint_features(
    dims: Any,
    public: Any,
    seats: Any,
    hints: Any,
    t: int,
    before: Any,
    log_weight: Any,
    free: Any,
    identities: Any,
    said: Any,
    after: Any,
    out: Any,
) -> None:
    """What all believe ``after`` hints [M, H, V], by the cell's weights ``said`` [M, H, W + 1 ..].

    ``out`` [M, H x SHOWN + 2]: the part of a hint's row that does not depend on what cards are.
    """
    h, every = hand_size(dims), colors(dims) * ranks(dims)
    each = COMMON + FEATURES + ranks(dims)
    place = before.shape[1] - (players(dims) * h - (t + 1) * h) * each
    planes, worth = np.empty(WORTHS, np.int64), np.empty((WORTHS, every), np.float32)
    last = -1
    for m in range(len(hints)):
        u, n, touch = hints[m, 0], hints[m, 1], hints[m, 2]
        words, believed = public[u], after[m]
        if u != last:
            put_worths(
                dims, word(words, _LEFT0), word(words, _LEFT1), word(words, _PLAYED), planes, worth
            )
            last = u
        first = turned(dims, seats[u], (t + 1) * h)
        new = np.float32(0)
        for i in range(h):
            k, hit = (t + 1) * h + i, (touch >> i) & 1
            open_ = open_after(dims, words, first + i, n, hit)
            likelihood = believed[i]
            put_likelihood(said[m, i], identities[u], log_weight[u, k], likelihood)
            top = np.float32(-1e9)
            for v in range(every):
                if (open_ >> v) & 1:
                    top = max(top, likelihood[v])
            for v in range(every):
                bit = np.float32((open_ >> v) & 1)
                likelihood[v] = (
                    exp_of(min(likelihood[v] - top, np.float32(0))) * free[u, k, v] * bit
                )
            if hit:
                new += np.float32(1) - before[u, place + i * each + 3]
        normalise(believed)
        for i in range(h):
            to, slot = i * SHOWN, place + i * each
            a, b, d = np.float32(0), np.float32(0), np.float32(0)
            most = np.float32(0)
            for v in range(every):
                x = believed[i, v]
                a += x * worth[0, v]
                b += x * worth[1, v]
                d += x * worth[2, v]
                most = max(most, x)
            out[m, to] = (touch >> i) & 1
            out[m, to + 1], out[m, to + 2], out[m, to + 3] = a, b, d
            out[m, to + 4] = most
            out[m, to + 6] = before[u, slot + COMMON]
            out[m, to + 7] = before[u, slot + COMMON + 1]
            out[m, to + 8] = before[u, slot]
        put_margins_of(out[m], 1, 5, h, SHOWN)
        out[m, h * SHOWN] = np.float32(popcount(touch)) / np.float32(h)
        out[m, h * SHOWN + 1] = new / np.float32(h)


@kernel
def true_shares(
    dims: Any, private: Any, which: Any, seats: Any, t: int, rows: Any, after: Any, out: Any
) -> None:
    """What all believe of the true cards ``after`` hints, [M, H]; see ``list_hints``."""
    h, every = hand_size(dims), colors(dims) * ranks(dims)
    for m in range(len(rows)):
        b = rows[m, 0]
        first = turned(dims, seats[which[b]], (t + 1) * h)
        for i in range(h):
            card = word(private[b], first + i)
            out[m, i] = after[rows[m, 2], i, card] if card < every else np.float32(0)
