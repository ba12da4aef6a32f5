"""Compiled features of ``PublicBeliefNet`` (``networks.nets.public_belief_net``), row by row.

They equal what ``networks.encodings.card_beliefs`` and ``PublicBeliefNet`` compute with tensors, up
to rounding, and a row is computed from its own words alone. Letters as in ``card_beliefs``: P
players, H slots, K = P x H cards, V identities, X numbers of a card's memory; F of ``card_size``.
Numbers of identities stand in rows of WIDTH, of which V count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    color_plane,
    colors,
    hand_size,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.jit import inline, kernel
from hanabi_search_plugin.networks.encodings.belief_parts import (
    ACTION,
    AGE,
    CARD,
    COMMON,
    COUNTS,
    EVER,
    FEATURES,
    HIGHEST,
    INFO,
    LONGEST,
    LOWEST,
    PLAYER,
    RECEIVED,
    SHOWN,
    SINCE,
    TURN,
    UNITS,
    WORTHS,
    is_present,
    is_touched,
    left_open,
    likelihood_of,
    normalised,
    put_card_features,
    put_event,
    put_identities,
    put_left,
    put_traces,
    put_weight,
    put_whole_board,
    put_worths,
    put_worths_before,
    settle_beliefs,
    share_of,
)
from hanabi_search_plugin.networks.encodings.lanes import (
    WIDTH,
    exp_of,
    kept,
    larger,
    minus,
    most,
    plus,
    read,
    smaller,
    spread,
    times,
    write,
)
from hanabi_search_plugin.networks.encodings.mask_features import (
    looking,
    put_margins_of,
    put_one,
    touch_mask,
    turned,
    word,
)

COMPILES = "networks of public beliefs"

LEAST, GREATEST = np.float32(LOWEST), np.float32(HIGHEST)


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
    ``identities`` [B, W, WIDTH].
    """
    p, h = players(dims), hand_size(dims)
    cards, every = p * h, colors(dims) * ranks(dims)
    size, each = every + COUNTS, slots.shape[2]
    planes, after = np.empty(WORTHS, np.int64), np.empty(WORTHS, np.int64)
    open_, left = np.empty(cards, np.int64), np.empty(WIDTH, np.float32)
    weight, free = np.empty((cards, WIDTH), np.float32), np.empty((cards, WIDTH), np.float32)
    belief = np.empty((cards, WIDTH), np.float32)
    for b in range(len(public)):
        words, row = public[b], table[b]
        put_worths_before(dims, words, planes)
        put_worths(dims, words, after)
        put_left(dims, words, left)
        action, mover = word(words, ACTION), word(words, PLAYER)
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
            put_weight(dims, moved[b, k], open_[k], likely, weight[k])
            place = at + k * each
            row[place] = here
            row[place + 1] = is_touched(dims, words, source)
            put_traces(moved[b, k, every:], fading, row, place + 2)
        settle_beliefs(weight, left, belief, free)
        for player in range(p):
            first = at + player * h * each + COMMON
            put_card_features(dims, belief, open_, player * h, planes, row, first, each)
        for k in range(h, cards):
            for i in range(each):
                slots[b, k - h, i] = row[at + k * each + i]
        put_identities(dims, planes, after, word(words, CARD), belief, identities[b])


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
    before = np.zeros(WIDTH, np.float32)
    for b in range(len(public)):
        words = public[b]
        happened = word(words, PLAYER) >= 0
        for k in range(cards):
            source = turned(dims, max(word(words, PLAYER), 0), k)
            card, to = moved[b, k], source * size
            open_ = left_open(dims, words, source)
            for i in range(size):
                out[b, to + i] = card[i]
            if not happened:
                continue
            if k >= h and open_ != 0:
                for v in range(every):
                    before[v] = np.float32(card[v]) / np.float32(UNITS)
                heard = likelihood_of(weights[b, k - h], identities[b], before)
                top = spread(most(kept(heard, open_, np.float32(-1e9))))
                units = times(minus(heard, top), spread(np.float32(UNITS)))
                units = smaller(larger(units, spread(LEAST)), spread(GREATEST))
                write(before, units)
                for v in range(every):
                    out[b, to + v] = np.int16(np.rint(before[v]))
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
    cell without the hint; log W, exp log W, p and free copies [U, K, WIDTH]; ``identities``
    [U, W, WIDTH] of a hint.
    """
    p, h = players(dims), hand_size(dims)
    cards, every = p * h, colors(dims) * ranks(dims)
    size, each = every + COUNTS, COMMON + FEATURES + ranks(dims)
    planes = np.empty(WORTHS, np.int64)
    open_, left = np.empty(cards, np.int64), np.empty(WIDTH, np.float32)
    for u in range(len(public)):
        words, seat = public[u], seats[u]
        put_worths_before(dims, words, planes)
        at = put_event(dims, words, planes, table[u])
        at = put_whole_board(dims, words, sizes, table[u], at)
        at = put_one(table[u], at, (max(word(words, TURN), 0) - seat + p) % p - 1, p - 1)
        place = put_whole_board(dims, words, sizes, before[u], 0)
        put_one(before[u], 0, word(words, INFO) - 1, sizes[0] + 1)
        put_worths(dims, words, planes)
        put_left(dims, words, left)
        for k in range(cards):
            source = turned(dims, seat, k)
            units = memory[u, source * size : (source + 1) * size]
            open_[k] = left_open(dims, words, source)
            put_weight(dims, units, open_[k], likely, weight[u, k])
            for v in range(every):
                log_weight[u, k, v] = np.float32(units[v]) / np.float32(UNITS)
            slot = place + k * each
            before[u, slot] = is_present(dims, words, source)
            before[u, slot + 1] = 0
            put_traces(units[every:], fading, before[u], slot + 2)
        settle_beliefs(weight[u], left, belief[u], free[u])
        for player in range(p):
            first = place + player * h * each + COMMON
            put_card_features(dims, belief[u], open_, player * h, planes, before[u], first, each)
        for k in range(h, cards):
            to, slot = at + (k - h) * each, place + k * each
            for i in range(each):
                table[u, to + i] = before[u, slot + i]
            table[u, to + 1] = is_touched(dims, words, turned(dims, seat, k))
        put_identities(dims, planes, planes, -1, belief[u], identities[u])


@kernel
def own_features(
    dims: Any,
    public: Any,
    private: Any,
    which: Any,
    seats: Any,
    before: Any,
    weight: Any,
    own: Any,
    held: Any,
) -> None:
    """What a seat believes of its own cards, from the cards that it sees [B, K].

    ``which`` [B] public row they belong to; ``before`` and ``weight`` as ``public_features`` wrote
    them. Written: ``own`` [B, H x own_size]; ``held`` [B, WIDTH] how many of each identity the seat
    believes to hold. Both are the same in whatever order the others hold their cards.
    """
    p, h, r = players(dims), hand_size(dims), ranks(dims)
    cards, every, each = p * h, colors(dims) * r, COMMON + FEATURES + r
    size = own.shape[1] // h
    place = before.shape[1] - cards * each
    planes = np.empty(WORTHS, np.int64)
    open_, left = np.empty(h, np.int64), np.empty(WIDTH, np.float32)
    seen, mine = np.empty(WIDTH, np.float32), np.empty((h, WIDTH), np.float32)
    free = np.empty((h, WIDTH), np.float32)
    last = -1
    for b in range(len(private)):
        u = which[b]
        words, seat = public[u], seats[u]
        if u != last:
            put_worths(dims, words, planes)
            for i in range(h):
                open_[i] = left_open(dims, words, seat * h + i)
            last = u
        put_left(dims, words, left)
        put_seen(dims, private[b], seat, seen)
        write(left, minus(read(left), read(seen)))
        settle_beliefs(weight[u, :h], left, mine, free)
        all_held = spread(np.float32(0))
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
            all_held = plus(all_held, read(mine[i]))
        write(held[b], all_held)
        put_card_features(dims, mine, open_, 0, planes, own[b], COMMON, size)


@kernel
def others_features(
    dims: Any,
    public: Any,
    private: Any,
    which: Any,
    seats: Any,
    heights: Any,
    belief: Any,
    held: Any,
    alike: Any,
    others: Any,
    receivers: Any,
) -> None:
    """What a seat sees of the others' cards [B, K].

    ``held`` as ``own_features`` wrote it, of which row ``alike`` [B] is whose, the rest as there;
    ``heights`` [R] a number for each rank. Written: ``others`` [B, T x H x OTHER]; ``receivers``
    [B, T, H x RECEIVED], what the rows of all hints to a player hold of the cards' truth.
    """
    h, r = hand_size(dims), ranks(dims)
    cards, every = players(dims) * h, colors(dims) * r
    planes, seen = np.empty(WORTHS, np.int64), np.empty(WIDTH, np.float32)
    last = -1
    for b in range(len(private)):
        u, all_held = which[b], held[alike[b]]
        words, seat = public[u], seats[u]
        if u != last:
            put_worths(dims, words, planes)
            last = u
        put_seen(dims, private[b], seat, seen)
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
                row[at + s] = to[hint + 3 + s] = (planes[s] >> card) & 1
            row[at + WORTHS + card % r] = 1
            end = at + WORTHS + r
            row[end] = belief[u, k, card]
            row[end + 1] = min(elsewhere, np.float32(1))
            row[end + 2] = min(all_held[card], np.float32(1))
            to[hint] = belief[u, k, card]
            to[hint + 1] = min(elsewhere + all_held[card], np.float32(1))
            to[hint + 2] = heights[card % r]


@kernel
def hint_touches(
    dims: Any, public: Any, private: Any, which: Any, seats: Any, touches: Any
) -> None:
    """Into ``touches`` [B, T, N] the slots that a hint touches, 0 for one that is not allowed.

    The others as ``own_features`` takes them.
    """
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    for b in range(len(private)):
        words, seat = public[which[b]], seats[which[b]]
        allowed = word(words, INFO) > 0 and max(word(words, TURN), 0) == seat
        for t in range(p - 1):
            first = turned(dims, seat, (t + 1) * h)
            for n in range(c + r):
                plane = color_plane(dims, n) if n < c else rank_plane(dims, n - c)
                touches[b, t, n] = touch_mask(dims, private[b], first, plane) if allowed else 0


@inline
def put_seen(dims: Any, cards: Any, seat: int, seen: Any) -> None:
    """How many of each identity the others hold, [WIDTH]."""
    h, every = hand_size(dims), colors(dims) * ranks(dims)
    write(seen, spread(np.float32(0)))
    for k in range(h, players(dims) * h):
        card = word(cards, turned(dims, seat, k))
        if card < every:
            seen[card] += 1


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
    h, each = hand_size(dims), COMMON + FEATURES + ranks(dims)
    place = before.shape[1] - (players(dims) * h - (t + 1) * h) * each
    planes = np.empty(WORTHS, np.int64)
    open_, told = np.empty(h, np.int64), np.empty((h, WIDTH), np.float32)
    last = -1
    for m in range(len(hints)):
        u, n, touch = hints[m, 0], hints[m, 1], hints[m, 2]
        words = public[u]
        if u != last:
            put_worths(dims, words, planes)
            last = u
        first = turned(dims, seats[u], (t + 1) * h)
        for i in range(h):
            k, hit = (t + 1) * h + i, (touch >> i) & 1
            open_[i] = open_after(dims, words, first + i, n, hit)
            believed = times(read(weight[u, k]), read(free[u, k]))
            write(told[i], normalised(kept(believed, open_[i], np.float32(0))))
            for j in range(COMMON):
                slots[m, i * each + j] = before[u, place + i * each + j]
            slots[m, i * each + 1] = hit
        put_card_features(dims, told, open_, 0, planes, slots[m], COMMON, each)
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
    """What all believe ``after`` hints [M, H, WIDTH], by the cell's weights ``said`` [M, H, ..].

    ``out`` [M, H x SHOWN + 2]: the part of a hint's row that does not depend on what cards are.
    """
    h, each = hand_size(dims), COMMON + FEATURES + ranks(dims)
    place = before.shape[1] - (players(dims) * h - (t + 1) * h) * each
    planes = np.empty(WORTHS, np.int64)
    last = -1
    for m in range(len(hints)):
        u, n, touch = hints[m, 0], hints[m, 1], hints[m, 2]
        words, believed = public[u], after[m]
        if u != last:
            put_worths(dims, words, planes)
            last = u
        first = turned(dims, seats[u], (t + 1) * h)
        new = np.float32(0)
        for i in range(h):
            k, hit = (t + 1) * h + i, (touch >> i) & 1
            open_ = open_after(dims, words, first + i, n, hit)
            likelihood = likelihood_of(said[m, i], identities[u], log_weight[u, k])
            top = spread(most(kept(likelihood, open_, np.float32(-1e9))))
            likely = exp_of(smaller(minus(likelihood, top), spread(np.float32(0))))
            likely = kept(times(likely, read(free[u, k])), open_, np.float32(0))
            likely = normalised(likely)
            write(believed[i], likely)
            to, slot = i * SHOWN, place + i * each
            out[m, to] = hit
            for s in range(3):
                out[m, to + 1 + s] = share_of(likely, planes[s])
            out[m, to + 4] = most(likely)
            out[m, to + 6] = before[u, slot + COMMON]
            out[m, to + 7] = before[u, slot + COMMON + 1]
            out[m, to + 8] = before[u, slot]
            if hit:
                new += np.float32(1) - before[u, slot + 3]
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
