"""Compiled features of ``MaskNet`` (``networks.nets.mask_net``), by counting bits.

They equal, number for number, what ``networks.encodings.status`` and ``MaskNet`` compute with
tensors. Where all worlds have one public part, as under the hands of a belief, equal inputs to a
layer are written once. Letters: B worlds, N
words, P players, T others, H slots, K = P x H cards, V identities, S = 3 statuses (playable,
worthless, critical), U different tables, L hints to a player.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
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
    NO_CARD,
    PLAYED,
    SCORED,
    TURN,
    color_plane,
    colors,
    hand_at,
    hand_size,
    knowledge_at,
    plausible,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.row_kernels import num_actions
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "what networks read"

HEADER = (
    *(TURN, LIVES, INFO, DECK_NEXT, PLAYED, LEFT0, LEFT1, LEFT2),
    *(LAST_PLAYER, LAST_ACTION, LAST_CARD, LAST_TOUCHED, LAST_FLAGS),
)
"""Words of a row that everybody sees, in their order in the public words."""

HEADS = len(HEADER)
_TURN, _LIVES, _INFO, _DECK_NEXT, _PLAYED = 0, 1, 2, 3, 4
_LEFT0, _LEFT1, _LEFT2 = 5, 6, 7
_PLAYER, _ACTION, _CARD, _TOUCHED, _FLAGS = 8, 9, 10, 11, 12

LATE = 6  # cards left in the deck are told one by one below this number
TOLD = 11  # numbers in a summary of a mask
EACH = TOLD + 3  # and its margins
IDENTITY = 9  # what is known of an identity in the question whether it goes
KEY, TABLE, HINT = 0, 1, 2  # what a place of a hash table holds, beside its index
KEPT = 4.0  # the logit with which an identity stays before anything is learned


@inline
def word(words: Any, at: int) -> int:
    """A word as a 64-bit number."""
    return np.int64(words[at])  # type: ignore[return-value]  # an int to compiled code


@kernel
def public_words(dims: Any, rows: Any, out: Any) -> None:
    """HEADER, hint knowledge, and which slots hold cards: rows [B, W] into int32 [B, N]."""
    p, h = players(dims), hand_size(dims)
    hand, knowledge = hand_at(dims, 0), knowledge_at(dims, 0)
    for b in range(len(rows)):
        for i in range(HEADS):
            out[b, i] = rows[b, HEADER[i]]
        for i in range(p * h):
            out[b, HEADS + i] = rows[b, knowledge + i]
        for player in range(p):
            present = 0
            for i in range(h):
                present |= int(rows[b, hand + player * h + i] != NO_CARD) << i
            out[b, HEADS + p * h + player] = present


@inline
def statuses(dims: Any, left0: int, left1: int, played: int) -> tuple[int, int, int]:
    """Planes of the playable, worthless and critical identities."""
    playable, worthless = 0, 0
    for color in range(colors(dims)):
        below, reached = True, True
        for rank in range(ranks(dims)):
            bit = 1 << (color * ranks(dims) + rank)
            on = (played & bit) != 0
            if on or not reached:
                worthless |= bit
            if below and not on:
                playable |= bit
            below &= on
            reached &= on or (left0 & bit) == 0
    return playable, worthless, left1 & ~left0 & ~worthless


@inline
def one_more(mask: int, once: int, twice: int, thrice: int) -> tuple[int, int, int]:
    """Planes of the identities counted at least once, twice, thrice, with one more of ``mask``."""
    return once | mask, twice | (once & mask), thrice | (twice & mask)


@inline
def share(part: int, whole: int) -> Any:
    return np.float32(part) / np.float32(max(whole, 1))


@inline
def put_summary(out: Any, at: int, mask: int, planes: Any, every: int) -> None:
    """out[at : at + TOLD]: how many identities, if one, and of each status share, all and none."""
    size = popcount(mask)
    put_counts(
        out, at, size, popcount(mask & planes[0]), popcount(mask & planes[1]),
        popcount(mask & planes[2]), every,
    )  # fmt: skip


@inline
def put_counts(out: Any, at: int, size: int, a: int, b: int, c: int, every: int) -> None:
    out[at] = np.float32(size) / np.float32(every)
    out[at + 1] = size == 1
    out[at + 2] = share(a, size)
    out[at + 3] = share(b, size)
    out[at + 4] = share(c, size)
    out[at + 5] = a == size
    out[at + 6] = b == size
    out[at + 7] = c == size
    out[at + 8] = a == 0
    out[at + 9] = b == 0
    out[at + 10] = c == 0


@inline
def put_margins_of(out: Any, first: int, to: int, slots: int, each: int) -> None:
    """Numbers at ``first`` of each slot, less the best of the other slots, to ``to``."""
    best, second = np.float32(-1.0), np.float32(-1.0)
    for i in range(slots):
        x = out[first + i * each]
        second = max(second, min(x, best))
        best = max(best, x)
    for i in range(slots):
        x = out[first + i * each]
        rival = np.float32(0.0)
        if slots > 1:
            rival = second if x == best else best
        out[to + i * each] = x - rival


@inline
def put_margins(out: Any, at: int, slots: int, each: int) -> None:
    """After each slot's summary: its shares less the best of the other slots of the hand."""
    for s in range(3):
        put_margins_of(out, at + 2 + s, at + TOLD + s, slots, each)


@inline
def put_ranks(dims: Any, out: Any, at: int, mask: int) -> int:
    """The share of each rank; returns the place after them."""
    size = popcount(mask)
    for rank in range(ranks(dims)):
        out[at + rank] = share(popcount(mask & rank_plane(dims, rank)), size)
    return at + ranks(dims)


@inline
def put_one(out: Any, at: int, which: int, n: int) -> int:
    """A one among n numbers; returns the place after them."""
    for i in range(n):
        out[at + i] = i == which
    return at + n


@inline
def put_board(dims: Any, words: Any, sizes: Any, out: Any, at: int) -> int:
    """Tokens, the deck and the fireworks; ``sizes``: tokens, lives, cards. Returns the end."""
    at = put_one(out, at, word(words, _INFO), sizes[0] + 1)
    at = put_one(out, at, word(words, _LIVES), sizes[1] + 1)
    deck = sizes[2] - word(words, _DECK_NEXT)
    at = put_one(out, at, min(deck, LATE - 1), LATE)
    out[at] = np.float32(deck) / np.float32(sizes[2])
    at += 1
    for card in range(colors(dims) * ranks(dims)):
        out[at + card] = (word(words, _PLAYED) >> card) & 1
    return at + colors(dims) * ranks(dims)


@inline
def without_located(dims: Any, words: Any, masks: Any) -> None:
    """Leave out identities all of whose copies are located in masks of one; two rounds."""
    cards = players(dims) * hand_size(dims)
    left0, left1, left2 = (
        word(words, _LEFT0),
        word(words, _LEFT1),
        word(words, _LEFT2),
    )
    for _ in range(2):
        once, twice, thrice = 0, 0, 0
        for k in range(cards):
            if popcount(masks[k]) == 1:
                once, twice, thrice = one_more(masks[k], once, twice, thrice)
        gone = left0 | (left1 & once) | (left2 & twice) | thrice
        for k in range(cards):
            rest = masks[k] & ~gone
            if popcount(masks[k]) != 1 and rest != 0:
                masks[k] = rest


@inline
def move_along(dims: Any, words: Any, memory: Any, masks: Any, open_: Any, planes: Any) -> None:
    """Masks [K] as they lie after the last move, and what hints and the table leave of them.

    ``planes`` [6]: the statuses before the move and after it.
    """
    p, h = players(dims), hand_size(dims)
    every = (1 << (colors(dims) * ranks(dims))) - 1
    left0, left1 = word(words, _LEFT0), word(words, _LEFT1)
    played, card = word(words, _PLAYED), word(words, _CARD)
    planes[3], planes[4], planes[5] = statuses(dims, left0, left1, played)
    if card >= 0:
        bit = 1 << card
        left1 = (left1 & ~bit) | (left0 & bit)
        left0 &= ~bit
        if word(words, _FLAGS) & SCORED:
            played &= ~bit
    planes[0], planes[1], planes[2] = statuses(dims, left0, left1, played)
    mover, action = word(words, _PLAYER), word(words, _ACTION)
    for player in range(p):
        present = word(words, HEADS + p * h + player)
        gone = action % h if player == mover and action < 2 * h else h
        for i in range(h):
            k = player * h + i
            mask, hinted = 0, 0
            if (present >> i) & 1:
                source = i + int(i >= gone)
                mask = word(memory, player * h + source) if source < h else every
                hinted = plausible(dims, word(words, HEADS + k))
            masks[k] = mask
            open_[k] = mask & hinted if mask & hinted else hinted
    without_located(dims, words, open_)


@inline
def turned(dims: Any, first: int, k: int) -> int:
    """The card that stands at place k when player ``first`` is put before the others."""
    h = hand_size(dims)
    player = first + k // h
    player = player - players(dims) if player >= players(dims) else player
    return player * h + k % h


@kernel
def memory_features(dims: Any, sizes: Any, public: Any, memory: Any, out: Any) -> None:
    """Inputs of the memory's layers, from public words [B, N] and masks [B, K] before the event.

    ``out`` float32 [B, event, board, then K x (2 EACH + 2) numbers a card, from the mover on].
    """
    p, h = players(dims), hand_size(dims)
    every = colors(dims) * ranks(dims)
    each = 2 * EACH + 2
    masks, open_ = np.empty(p * h, np.int64), np.empty(p * h, np.int64)
    planes = np.empty(6, np.int64)
    for b in range(len(public)):
        words, row = public[b], out[b]
        move_along(dims, words, memory[b], masks, open_, planes)
        action, card = word(words, _ACTION), word(words, _CARD)
        at = put_one(row, 0, action, num_actions(dims))
        for flag in range(3):
            row[at + flag] = int(action >= 0) & (word(words, _FLAGS) >> flag)
        for s in range(3):
            row[at + 3 + s] = int(card >= 0) & (planes[s] >> max(card, 0))
        at = put_board(dims, words, sizes, row, at + 6)
        hint = action - 2 * h
        offset = 0
        if hint >= 0:
            by_rank = hint - (p - 1) * colors(dims)
            offset = 1 + (by_rank // ranks(dims) if by_rank >= 0 else hint // colors(dims))
        first = max(word(words, _PLAYER), 0)
        for k in range(p * h):
            source = turned(dims, first, k)
            put_summary(row, at + k * each, masks[source], planes, every)
            put_summary(row, at + k * each + EACH, open_[source], planes, every)
            hit = (word(words, _TOUCHED) >> (k % h)) & 1
            row[at + k * each + 2 * EACH] = hit if hint >= 0 and k // h == offset else 0
            present = word(words, HEADS + p * h + source // h) >> (source % h)
            row[at + k * each + 2 * EACH + 1] = present & 1
        for player in range(p):
            put_margins(row, at + player * h * each, h, each)
            put_margins(row, at + player * h * each + EACH, h, each)


@kernel
def settle(dims: Any, public: Any, memory: Any, weights: Any, out: Any) -> None:
    """Masks after the event, int32 [B, K], by weights float32 [B, K, IDENTITY] from the mover on.

    An identity stays where KEPT + what its weights sum up to is above 0; a card that would be
    nothing keeps what is open.
    """
    p, h = players(dims), hand_size(dims)
    every = colors(dims) * ranks(dims)
    masks, open_ = np.empty(p * h, np.int64), np.empty(p * h, np.int64)
    planes = np.empty(6, np.int64)
    codes, groups = np.empty(32, np.int64), np.empty(32, np.int64)
    for b in range(len(public)):
        words = public[b]
        move_along(dims, words, memory[b], masks, open_, planes)
        first, card = max(word(words, _PLAYER), 0), word(words, _CARD)
        n = 0  # groups of identities of which the same is known
        for v in range(every):
            code = 1 << 6
            for s in range(6):
                code |= ((planes[s] >> v) & 1) << s
            code |= int(v == card) << 7
            code |= (code & (code >> 2) & 1) << 8
            at = 0
            while at < n and codes[at] != code:
                at += 1
            if at == n:
                codes[n], groups[n] = code, 0
                n += 1
            groups[at] |= 1 << v
        for k in range(p * h):
            kept = 0
            for g in range(n):
                logit = np.float32(KEPT)
                for i in range(IDENTITY):
                    if (codes[g] >> i) & 1:
                        logit += weights[b, k, i]
                if logit > 0:
                    kept |= groups[g]
            source = turned(dims, first, k)
            kept &= open_[source]
            masks[source] = kept if kept else open_[source]
        without_located(dims, words, masks)
        for k in range(p * h):
            out[b, k] = masks[k]


@inline
def mixed(z: Any, word: Any) -> Any:
    """A hash with one more word."""
    z = (z ^ np.uint64(word)) * np.uint64(0xFF51AFD7ED558CCD)
    return z ^ (z >> np.uint64(29))


@inline
def located(dims: Any, words: Any, private: Any, memory: Any, me: int) -> int:
    """The identities of which a seat sees or all know every copy."""
    p, h, every = players(dims), hand_size(dims), colors(dims) * ranks(dims)
    once, twice, thrice = 0, 0, 0
    for i in range(h):
        mask = word(memory, me * h + i)
        if popcount(mask) == 1:
            once, twice, thrice = one_more(mask, once, twice, thrice)
    for k in range(h, p * h):
        card = word(private, turned(dims, me, k))
        if card < every:
            once, twice, thrice = one_more(1 << card, once, twice, thrice)
    gone = word(words, _LEFT0) | (word(words, _LEFT1) & once)
    return gone | (word(words, _LEFT2) & twice) | thrice


@inline
def newest(dims: Any, private: Any, first: int) -> int:
    """The newest card of a hand, from place ``first`` on, as a mask."""
    found = 0
    for i in range(hand_size(dims)):
        card = word(private, first + i)
        found = 1 << card if card < colors(dims) * ranks(dims) else found
    return found


@inline
def put_own_slots(
    dims: Any, private: Any, memory: Any, me: int, gone: int, planes: Any, out: Any, at: int
) -> int:
    """The own cards, by what all know and by what the seat sees besides; returns the end."""
    p, h, every = players(dims), hand_size(dims), colors(dims) * ranks(dims)
    each = 2 * EACH + ranks(dims) + p
    for i in range(h):
        own = word(memory, me * h + i)
        size, rest = popcount(own), own & ~gone
        seen = own if size == 1 or rest == 0 else rest
        start = at + i * each
        put_summary(out, start, own, planes, every)
        put_summary(out, start + EACH, seen, planes, every)
        end = put_ranks(dims, out, start + 2 * EACH, seen)
        for t in range(p - 1):
            last = newest(dims, private, turned(dims, me, (t + 1) * h))
            out[end + t] = share(popcount(own & last), size)
        out[end + p - 1] = size > 0
    put_margins(out, at, h, each)
    put_margins(out, at + EACH, h, each)
    return at + h * each


@inline
def put_other_slots(
    dims: Any, private: Any, memory: Any, me: int, planes: Any, out: Any, at: int
) -> int:
    """The others' cards: what they are and what all know of them; returns the end."""
    p, h, every = players(dims), hand_size(dims), colors(dims) * ranks(dims)
    each = EACH + 2 * ranks(dims) + 6
    for k in range(h, p * h):
        source = turned(dims, me, k)
        card, mask = word(private, source), word(memory, source)
        held = 1 << card if card < every else 0
        start = at + (k - h) * each
        put_summary(out, start, mask, planes, every)
        end = put_ranks(dims, out, start + EACH, mask)
        for s in range(3):
            out[end + s] = (planes[s] & held) != 0
        end = put_ranks(dims, out, end + 3, held)
        out[end] = (mask & held) != 0
        out[end + 1] = held != 0
        out[end + 2] = mask != 0
    for t in range(p - 1):
        put_margins(out, at + t * h * each, h, each)
    return at + (p - 1) * h * each


@inline
def touch_mask(dims: Any, private: Any, first: int, plane: int) -> int:
    """Bit i set where a hint touches slot i of the hand whose first card is at ``first``."""
    mask = 0
    for i in range(hand_size(dims)):
        mask |= ((plane >> word(private, first + i)) & 1) << i
    return mask


@inline
def put_hint(
    dims: Any, private: Any, memory: Any, first: int, plane: int, planes: Any, out: Any
) -> None:
    """The slots of the hand whose first card is at ``first``, as a hint would leave them."""
    h, every = hand_size(dims), colors(dims) * ranks(dims)
    at = 0
    for i in range(h):
        card, mask = word(private, first + i), word(memory, first + i)
        held = 1 << card if card < every else 0
        touch = (held & plane) != 0
        left = mask & plane if touch else mask & ~plane
        out[at] = touch
        out[at + 1] = np.float32(popcount(mask) - popcount(left)) / np.float32(every)
        put_summary(out, at + 2, left, planes, every)
        at += 2 + TOLD
        out[at] = (mask & ~planes[0]) == 0
        out[at + 1] = (mask & planes[0]) == 0
        for s in range(3):
            out[at + 2 + s] = (planes[s] & held) != 0
        at += 5


@inline
def looking(dims: Any, words: Any, private: Any) -> int:
    """The seat that sees these cards: it has some and sees none of them; else who is to move."""
    p, h = players(dims), hand_size(dims)
    for player in range(p):
        seen = False
        for i in range(h):
            seen |= private[player * h + i] != NO_CARD
        if words[HEADS + p * h + player] != 0 and not seen:
            return player
    return max(word(words, _TURN), 0)


@inline
def put_key(dims: Any, private: Any, memory: Any, me: int, gone: int, planes: Any, key: Any) -> Any:
    """What a table depends on where public words and masks are the same; returns its hash."""
    p, h, every = players(dims), hand_size(dims), colors(dims) * ranks(dims)
    z = np.uint64(0x9E3779B97F4A7C15)
    for k in range(h, p * h):
        source = turned(dims, me, k)
        card, code = word(private, source), 0
        if card < every:
            code = 1 | (card % ranks(dims)) << 1 | ((word(memory, source) >> card) & 1) << 4
            for s in range(3):
                code |= ((planes[s] >> card) & 1) << (5 + s)
        key[k - h] = code
        z = mixed(z, code)
    mine, fits = 0, 0
    for i in range(h):
        own = word(memory, me * h + i)
        mine |= own
        for t in range(p - 1):
            last = newest(dims, private, turned(dims, me, (t + 1) * h))
            fits |= int((own & last) != 0) << (t * h + i)
    key[(p - 1) * h] = mine & gone
    key[(p - 1) * h + 1] = fits
    return mixed(mixed(z, mine & gone), fits)


@inline
def same_row(rows: Any, a: int, b: int, width: int) -> bool:
    same = True
    for i in range(width):
        same &= rows[a, i] == rows[b, i]
    return same


@inline
def hash_row(row: Any) -> Any:
    """Of numbers as words of 32 bits; every fourth in a chain of its own."""
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    whole = len(row) // 4 * 4
    for i in range(0, whole, 4):
        a, b = mixed(a, row[i]), mixed(b, row[i + 1])
        c, d = mixed(c, row[i + 2]), mixed(d, row[i + 3])
    for i in range(whole, len(row)):
        a = mixed(a, row[i])
    return mixed(mixed(mixed(a, b), c), d)


@kernel
def decision_features(
    dims: Any,
    sizes: Any,
    public: Any,
    private: Any,
    memory: Any,
    table: Any,
    tables: Any,
    hints: Any,
    hints_at: Any,
    hint_of: Any,
    keys: Any,
    slots: Any,
) -> tuple[int, int]:
    """Inputs of the decision's layers, from words [B, N], [B, K], [B, K]; (U, hints written).

    ``table`` float32 [B, ...]: board, own slots, others' slots and whose turn it is; ``tables``
    int64 [B]: which is whose. ``hints`` float32 [B x T x L, ...]; ``hints_at`` int64
    [B x T x L, 3]: its table, which hint it is, what it touches; ``hint_of`` int64 [B, T x L]: a
    world's rows, -1 for a hint that is not allowed.

    ``public`` and ``memory`` may be one row for all worlds. Then each different table and hint is
    written once; ``keys`` int64 [B, T x H + 3] and ``slots`` int64 [2**k], more than twice as many
    as there are hints and worlds, are room to find them. Else every world has its own, and these
    may be empty.
    """
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    planes = np.empty(3, np.int64)
    shared, mask = len(public) == 1, len(slots) - 1
    slots[:] = -1
    found, written, known = 0, 0, 0
    table_bits, width = table.view(np.uint32), keys.shape[1] - 1  # of a key; its last is its table
    for b in range(len(private)):
        words = public[0] if shared else public[b]
        masks = memory[0] if shared else memory[b]
        me = looking(dims, words, private[b])
        turn = max(word(words, _TURN), 0)
        if b == 0 or not shared:
            planes[0], planes[1], planes[2] = statuses(
                dims, word(words, _LEFT0), word(words, _LEFT1), word(words, _PLAYED)
            )
        gone = located(dims, words, private[b], masks, me)
        which, fresh = found, True
        place: Any = 0
        if shared:
            place = np.int64(put_key(dims, private[b], masks, me, gone, planes, keys[known])) & mask
            while slots[place] >= 0 and not (
                slots[place] % 3 == KEY and same_row(keys, slots[place] // 3, known, width)
            ):
                place = (place + 1) & mask
            if slots[place] >= 0:
                which, fresh = keys[slots[place] // 3, width], False
        if fresh:
            row = table[found]
            at = put_board(dims, words, sizes, row, 0)
            at = put_own_slots(dims, private[b], masks, me, gone, planes, row, at)
            at = put_other_slots(dims, private[b], masks, me, planes, row, at)
            put_one(row, at, (turn - me + p) % p - 1, p - 1)
            if shared:
                slots[place] = 3 * known + KEY
                place = np.int64(hash_row(table_bits[found])) & mask
                while slots[place] >= 0 and not (
                    slots[place] % 3 == TABLE
                    and same_row(table_bits, slots[place] // 3, found, table.shape[1])
                ):
                    place = (place + 1) & mask
                if slots[place] >= 0:
                    which = slots[place] // 3
                else:
                    slots[place] = 3 * found + TABLE
                keys[known, width] = which
                known += 1
            found += int(which == found)
        tables[b] = which
        for t in range(p - 1):
            first = turned(dims, me, (t + 1) * h)
            for n in range(c + r):
                kind = t * (c + r) + n
                hint_of[b, kind] = -1
                plane = color_plane(dims, n) if n < c else rank_plane(dims, n - c)
                touch = touch_mask(dims, private[b], first, plane)
                if words[_INFO] == 0 or turn != me or touch == 0:
                    continue
                mine = written
                if shared:
                    place = np.int64(mixed(mixed(np.uint64(touch), which), kind)) & mask
                    while slots[place] >= 0 and not (
                        slots[place] % 3 == HINT
                        and hints_at[slots[place] // 3, 0] == which
                        and hints_at[slots[place] // 3, 1] == kind
                        and hints_at[slots[place] // 3, 2] == touch
                    ):
                        place = (place + 1) & mask
                    if slots[place] >= 0:
                        mine = slots[place] // 3
                if mine == written:
                    if shared:
                        slots[place] = 3 * written + HINT
                    put_hint(dims, private[b], masks, first, plane, planes, hints[written])
                    hints_at[written, 0], hints_at[written, 1] = which, kind
                    hints_at[written, 2] = touch
                    written += 1
                hint_of[b, kind] = mine
    return found, written


@kernel
def add_context(rows: Any, context: Any, places: Any, at: Any) -> None:
    """Adds to rows [m, N] their context [U, N] and place [K, N], and cuts off below 0, in place.

    All float32; ``at`` int64 [m, 2 or more]: which context, which place.
    """
    for i in range(len(rows)):
        row, around, place = rows[i], context[at[i, 0]], places[at[i, 1]]
        for j in range(len(row)):
            row[j] = max(row[j] + around[j] + place[j], np.float32(0))
