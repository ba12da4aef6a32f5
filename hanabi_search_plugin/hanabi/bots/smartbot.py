"""SmartBot (Arthur O'Dwyer, 2017-2019): the hand-written blueprint of the SPARTA paper.

A seat's memory is what everybody is known to know: a mask of identities for every slot of every
hand, ``K[p][i]``, int32 [players * hand size], bit ``ranks * colour + rank``. Each seat keeps its
own copy and decodes every move from what it sees itself: a searched move does not mean what the
convention says, and only a seat's own eyes may tell it more. Counting is over identities, not
copies. A slot is *known* if its mask holds one identity; PLAY, WORTH, VALUE are the planes of
identities that would score now, never again, or are the last copy of a card still needed.

When a partner breaks the conventions an update could empty a mask. It never does: a hint leaves the
identities of the hint alone, a refresh all that are not exhausted, a missing warning is not read.

``decide`` and ``observe`` work on one row of ``hanabi.engine.layout``, ``observe`` on the row after
the move. Loops over slots avoid branches: what they ask is as good as random to the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    ABOVE1,
    ALL,
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
    NO_CARD,
    PLAYABLE,
    PLAYED,
    SCORED,
    TURN,
    color_plane,
    colors,
    hand_at,
    hand_size,
    lowest_bit,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import hint_action, legal_mask
from hanabi_search_plugin.jit import inline, routine

COMPILES = "SmartBot"

ABSENT = 1 << 25  # the mask of a slot without a card: known, and in no plane

# popcount(a) / popcount(b) as an exact integer: popcount(a) * SHARE[popcount(b)].
_LCM = 26771144400  # of 1 .. 25
SHARE = np.array([0] + [_LCM // n for n in range(1, 27)], dtype=np.int64)


@inline
def worthless_plane(played: int, left0: int, above0: int, above1: int) -> int:
    """Identities on the fireworks, or above one of which no copy is left."""
    dead = left0 & ~played
    over = (dead << 1) & above0
    over |= (over << 1) & above0
    over |= (over << 2) & above1
    return played | over


@inline
def planes(row: Any) -> tuple[int, int, int]:
    """PLAY, WORTH, VALUE of the board."""
    left0, left1 = np.int64(row[LEFT0]), np.int64(row[LEFT1])
    worth = worthless_plane(
        np.int64(row[PLAYED]), left0, np.int64(row[ABOVE0]), np.int64(row[ABOVE1])
    )
    return np.int64(row[PLAYABLE]), worth, left1 & ~left0 & ~worth


@inline
def planes_before(row: Any) -> tuple[int, int, int]:
    """PLAY, WORTH, VALUE of the board as it was before the last move."""
    left0, left1, left2 = np.int64(row[LEFT0]), np.int64(row[LEFT1]), np.int64(row[LEFT2])
    played, play = np.int64(row[PLAYED]), np.int64(row[PLAYABLE])
    above0 = np.int64(row[ABOVE0])
    if row[LAST_CARD] >= 0:
        bit = 1 << np.int64(row[LAST_CARD])
        if left0 & bit:
            left0 &= ~bit
        elif left1 & bit:
            left1 &= ~bit
        else:
            left2 &= ~bit
        if row[LAST_FLAGS] & SCORED:
            played &= ~bit
            play = (play & ~((bit << 1) & above0)) | bit
    worth = worthless_plane(played, left0, above0, np.int64(row[ABOVE1]))
    return play, worth, left1 & ~left0 & ~worth


@inline
def rank_projection(dims: Any, mask: int) -> int:
    """Bit r set where the mask has an identity of rank r."""
    r = ranks(dims)
    out = mask
    for k in range(1, colors(dims)):
        out |= mask >> (r * k)
    return out & ((1 << r) - 1)


@inline
def color_projection(dims: Any, mask: int) -> int:
    """Bit k set where the mask has an identity of colour k."""
    r = ranks(dims)
    if r == 5:
        any_rank = (mask | mask >> 1 | mask >> 2 | mask >> 3 | mask >> 4) & 0x108421
        return ((any_rank * 0x111110) >> 20) & 31  # gathers bits 0, 5, 10, 15, 20
    out = 0
    for k in range(colors(dims)):
        out |= np.int64((mask >> (r * k)) & ((1 << r) - 1) != 0) << k
    return out


@inline
def attributes(dims: Any, one: int, two: int) -> tuple[int, int]:
    """Of two masks: bit k set where it has an identity of colour k, bit colours + r of rank r."""
    c, r = colors(dims), ranks(dims)
    if r == 5:  # both at once, in the halves of a word
        both = one | two << 32
        any_rank = both | both >> 1
        any_rank = (any_rank | any_rank >> 2 | both >> 4) & 0x0010842100108421
        any_color = both | both >> 5
        any_color |= any_color >> 10 | both >> 20
        of_one = (((any_rank & 0x108421) * 0x111110) >> 20) & 31
        of_two = (((any_rank >> 32) * 0x111110) >> 20) & 31
        return of_one | (any_color & 31) << c, of_two | ((any_color >> 32) & 31) << c
    return (
        color_projection(dims, one) | rank_projection(dims, one) << c,
        color_projection(dims, two) | rank_projection(dims, two) << c,
    )


@inline
def next_discard(dims: Any, mem: Any, player: int, play: int, worth: int, value: int) -> int:
    """The slot everybody expects ``player`` to discard, or -1 (publicly known alone)."""
    h = hand_size(dims)
    base = player * h
    blocked = False
    for i in range(h):
        mask = np.int64(mem[base + i])
        blocked |= ((mask & ~play) == 0) | ((mask & ~worth) == 0)
    if blocked:
        return -1
    best = -1
    best_key = np.int64(-1)
    for i in range(h):
        mask = np.int64(mem[base + i])
        skip = ((mask & ~value) == 0) | (mask == ABSENT)
        share = popcount(mask & worth) * SHARE[popcount(mask) & 31]
        key = np.int64(-1) if skip else share
        best = i if key > best_key else best
        best_key = max(key, best_key)
    return best


@inline
def could_be_valuable(dims: Any, mask: int, rank: int, value: int) -> bool:
    return (mask & rank_plane(dims, rank) & value) != 0 and (mask & ~value) != 0


@inline
def best_hint(
    dims: Any, row: Any, mem: Any, me: int, target: int, due: int, play: int, value: int
) -> tuple[int, int]:
    """(fitness, action) of the most informative hint that does not mislead; fitness -1: none.

    ``due``: the target's expected discard if it is the next player, else -1; a rank hint that would
    be read as a warning about it is avoided. Where a hint contradicts a mask, the hint alone
    counts, as it will for those who read it.
    """
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    everything = np.int64(row[ALL])
    hand = hand_at(dims, target)
    base = target * h
    all_colors = (1 << c) - 1
    all_ranks = ((1 << r) - 1) << c
    touching = 0  # candidates, bit k: colour k, bit c + r: rank r
    reveals = 0  # proves a slot playable that was uncertain
    good = 0  # the newest touched uncertain slot is playable
    unset = all_colors | all_ranks
    rest = everything & ~play
    any_yes, any_no = attributes(dims, play, rest)
    for back in range(h):
        i = h - 1 - back
        card = np.int64(row[hand + i]) & 31
        mask = np.int64(mem[base + i])
        color = card // r
        touch = (1 << color) | (1 << (c + card - r * color))
        touch = touch if card != NO_CARD else 0
        touching |= touch
        yes, no = mask & play, mask & ~play
        maybe = -np.int64((yes != 0) & (no != 0))  # all ones or zero: no branch to mispredict
        has_yes, has_no = attributes(dims, yes & maybe, no & maybe)
        # Untouched: certain if all that is not playable has the hinted attribute.
        miss = has_no & all_colors
        alone = miss if (miss & (miss - 1)) == 0 else 0
        alone = alone if (has_yes & all_colors & ~alone) != 0 else 0
        reveals |= alone & ~touch
        miss = has_no & all_ranks
        alone = miss if (miss & (miss - 1)) == 0 else 0
        alone = alone if (has_yes & all_ranks & ~alone) != 0 else 0
        reveals |= alone & ~touch
        wrong = maybe & touch & ~(has_yes | has_no)  # the mask has nothing of what the card is
        has_yes |= wrong & any_yes
        has_no |= wrong & any_no
        reveals |= touch & has_yes & ~has_no
        hit = touch & has_no & has_yes & unset
        unset &= ~hit
        good |= hit if (play >> card) & 1 else 0
    ok = touching & (reveals | good)
    if due >= 0:
        rank = np.int64(row[hand + due]) % r
        if could_be_valuable(dims, np.int64(mem[base + due]), rank, value):
            ok &= ~(1 << (c + rank))
    best = -1
    choice = 0
    while ok:
        candidate = lowest_bit(ok)
        ok &= ok - 1
        by_rank = candidate >= c
        plane = rank_plane(dims, candidate - c) if by_rank else color_plane(dims, candidate)
        fitness = 0
        for i in range(h):
            card = np.int64(row[hand + i]) & 31
            flip = -((plane >> card) & 1)  # touched slots lose what is outside the plane
            mask = np.int64(mem[base + i])
            lost = mask & (plane ^ flip)
            fitness += popcount(lost)
            fitness -= popcount(everything & ~(plane ^ flip)) if lost == mask else 0
        if fitness > best:
            best = fitness
            choice = candidate
    offset = target - me
    if offset < 0:
        offset += p
    return best, hint_action(dims, offset, choice)


@inline
def eyesight_exhausted(dims: Any, row: Any, mem: Any, me: int) -> int:
    """Identities of which ``me`` sees, or publicly knows in its own hand, every copy."""
    p, h = players(dims), hand_size(dims)
    one = two = three = 0
    for offset in range(1, p):
        other = me + offset
        if other >= p:
            other -= p
        hand = hand_at(dims, other)
        for i in range(h):
            bit = 1 << np.int64(row[hand + i])
            three |= two & bit
            two |= one & bit
            one |= bit
    for i in range(h):
        mask = np.int64(mem[me * h + i])
        bit = mask if (mask & (mask - 1)) == 0 else 0
        three |= two & bit
        two |= one & bit
        one |= bit
    left0, left1, left2 = np.int64(row[LEFT0]), np.int64(row[LEFT1]), np.int64(row[LEFT2])
    return left0 | left1 & one | left2 & two | three


@inline
def seen_through(mask: int, gone: int, everything: int) -> int:
    """A slot's mask less the exhausted identities; known slots stay, none becomes empty."""
    left = mask if (mask & (mask - 1)) == 0 else mask & ~gone
    if left == 0:
        left = everything & ~gone
        left = left if left != 0 else mask
    return left


@inline
def find_play(dims: Any, mem: Any, me: int, gone: int, everything: int, play: int) -> int:
    """Rule 3: a slot certain to score, what others do not know about first, then low ranks."""
    h = hand_size(dims)
    certain = 0
    for i in range(h):
        mask = np.int64(mem[me * h + i])
        certain |= np.int64(((mask & play) != 0) & ((mask & ~play & ~gone) == 0)) << i
    best = 0
    slot = -1
    while certain:
        i = lowest_bit(certain)
        certain &= certain - 1
        mask = np.int64(mem[me * h + i])
        eye = seen_through(mask, gone, everything)
        one_rank = rank_projection(dims, eye)
        fitness = 5 - lowest_bit(one_rank) if (one_rank & (one_rank - 1)) == 0 else 7
        fitness += 100 if (mask & ~play) != 0 else 0
        fitness = fitness if (eye & ~play) == 0 else 0  # where the mask says what cannot be
        if fitness > best:
            best = fitness
            slot = i
    return slot


@inline
def find_mystery(dims: Any, mem: Any, me: int, gone: int, everything: int, play: int) -> int:
    """Rule 5: the likeliest uncertain slot, newest first."""
    h = hand_size(dims)
    best = np.int64(0)
    slot = -1
    for back in range(h):
        i = h - 1 - back
        eye = seen_through(np.int64(mem[me * h + i]), gone, everything)
        if (eye & play) != 0 and (eye & ~play) != 0:
            key = popcount(eye & play) * SHARE[popcount(eye)]
            if key > best:
                best = key
                slot = i
    return slot


@inline
def find_discard(
    dims: Any, mem: Any, me: int, gone: int, everything: int, play: int, worth: int, value: int
) -> int:
    """Rules 7 to 9: worthless (what only I know first), else the expected, else the highest."""
    h = hand_size(dims)
    slot = -1
    best = np.int64(_LCM + 1)
    for i in range(h):
        mask = np.int64(mem[me * h + i])
        eye = seen_through(mask, gone, everything)
        useless = ((mask & worth) != 0) & (((mask & ~worth) == 0) | ((eye & ~worth) == 0))
        share = popcount(mask & worth) * SHARE[popcount(mask) & 31]
        key = share if useless else np.int64(_LCM + 1)
        slot = i if key < best else slot
        best = min(key, best)
    if slot >= 0:
        return slot
    slot = next_discard(dims, mem, me, play, worth, value)
    if slot >= 0:
        return slot
    highest = -2
    for i in range(h):
        mask = np.int64(mem[me * h + i])
        if mask != ABSENT:
            one_rank = rank_projection(dims, mask)
            rank = lowest_bit(one_rank) if (one_rank & (one_rank - 1)) == 0 else -1
            if rank > highest:
                highest = rank
                slot = i
    return slot


@inline
def expected_discard(dims: Any, row: Any, mem: Any, board: tuple[int, int, int]) -> int:
    """NEXTDISCARD of the next player, which matters while there are tokens; else -1."""
    p = players(dims)
    after = (np.int64(row[TURN]) & 7) + 1
    after = after if after < p else 0
    if row[INFO] == 0:
        return -1
    return next_discard(dims, mem, after, board[0], board[1], board[2])


@inline
def decide(dims: Any, row: Any, mem: Any, board: tuple[int, int, int], due: int) -> int:
    """The action of the player to move. ``board`` = planes(row), ``due`` = expected_discard."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    me = np.int64(row[TURN]) & 7  # the & tells the compiler that it is not negative
    play, worth, value = board
    info = np.int64(row[INFO])
    deck = np.int64(row[DECK_SIZE] - row[DECK_NEXT])
    everything = np.int64(row[ALL])
    gone = eyesight_exhausted(dims, row, mem, me)
    # Each helper is called at one place: it is inlined, and a copy costs compile time and memory.
    certain = find_play(dims, mem, me, gone, everything, play)
    mystery = -1
    if deck <= (3 if row[LIVES] >= 3 else 1):
        mystery = find_mystery(dims, mem, me, gone, everything, play)
    if deck == 0:
        if certain >= 0:
            return h + certain
        if mystery >= 0:
            return h + mystery
    after = me + 1 if me + 1 < p else 0
    warned_card = np.int64(NO_CARD)
    if due >= 0:
        warned_card = np.int64(row[hand_at(dims, after) + (due & 7)]) & 31
    warn = (value >> warned_card) & 1 != 0
    if not warn:
        if info < row[MAX_INFO]:
            slot = find_finesse(dims, row, mem, me, play & ~value)
            if slot >= 0:
                return slot
        if certain >= 0:
            return h + certain
    if info > 0:
        best = 0
        choice = -1
        for offset in range(1, 2 if warn else p):
            target = me + offset
            target = target if target < p else target - p
            avoid = due if offset == 1 else -1
            fitness, action = best_hint(dims, row, mem, me, target, avoid, play, value)
            if fitness > best:
                best = fitness
                choice = action
        if choice >= 0:
            return choice
        if warn:
            return hint_action(dims, 1, c + warned_card % r)
    if mystery >= 0:
        return h + mystery
    if info == row[MAX_INFO]:
        right = me - 1 if me > 0 else p - 1
        card = np.int64(row[hand_at(dims, right)]) & 31
        if card != NO_CARD and info > 0:
            return hint_action(dims, p - 1, c + card % r)
    else:
        slot = find_discard(dims, mem, me, gone, everything, play, worth, value)
        if slot >= 0:
            return slot
    return lowest_bit(legal_mask(dims, row))  # an empty hand somewhere: any legal move


@routine
def choose(dims: Any, row: Any, mem: Any, script: Any) -> int:
    """``decide``, all that it needs worked out from the row."""
    board = planes(row)
    return decide(dims, row, mem, board, expected_discard(dims, row, mem, board))


@inline
def find_finesse(dims: Any, row: Any, mem: Any, me: int, wanted: int) -> int:
    """Rule 2: my oldest slot known to be of ``wanted`` that one other player holds newest."""
    p, h = players(dims), hand_size(dims)
    known = 0
    for i in range(h):
        mask = np.int64(mem[me * h + i])
        known |= mask & wanted if (mask & (mask - 1)) == 0 else 0
    if known == 0:
        return -1
    for i in range(h):
        mask = np.int64(mem[me * h + i])
        if (mask & known) == mask:
            holders = 0
            for other in range(p):
                newest = newest_card(dims, row, other)
                holders += np.int64((other != me) & ((1 << newest) == mask))
            if holders == 1:
                return i
    return -1


@inline
def newest_card(dims: Any, row: Any, player: int) -> int:
    """The identity in a player's newest slot, NO_CARD for an empty hand."""
    hand = hand_at(dims, player)
    newest = np.int64(NO_CARD)
    for j in range(hand_size(dims)):
        card = np.int64(row[hand + j]) & 31
        newest = card if card != NO_CARD else newest
    return newest


@inline
def refresh(dims: Any, row: Any, mem: Any, drawn: int) -> None:
    """Remove identities whose copies are all on the table or publicly located, to the end.

    ``drawn``: the slot of the card that was just drawn, which alone can hold what was removed from
    all others before; -1 if there is none.
    """
    n = players(dims) * hand_size(dims)
    left0, left1, left2 = np.int64(row[LEFT0]), np.int64(row[LEFT1]), np.int64(row[LEFT2])
    everything = np.int64(row[ALL])
    again = True
    while again:
        one = two = three = several = 0
        for j in range(n):
            mask = np.int64(mem[j])
            single = (mask & (mask - 1)) == 0
            bit = mask if single else 0
            several |= 0 if single else mask
            three |= two & bit
            two |= one & bit
            one |= bit
        gone = left0 | left1 & one | left2 & two | three
        again = False
        if several & gone:
            for j in range(n):
                mask = np.int64(mem[j])
                left = seen_through(mask, gone, everything)
                mem[j] = left
                again |= (left != mask) & ((left & (left - 1)) == 0)
        if drawn >= 0:
            left = seen_through(everything, gone, everything)
            mem[drawn] = left
            again |= (left & (left - 1)) == 0
            drawn = -1


@inline
def finesse_target(dims: Any, row: Any, seat: int, actor: int, card: int) -> int:
    """Whose newest card a discard of a known playable card points at, as ``seat`` sees it.

    The first player, other than the actor and the seat, whose newest card it is; if the seat sees
    none, the seat itself; nobody (-1) for the actor.
    """
    p = players(dims)
    found = -1
    for back in range(p):
        other = p - 1 - back
        if other != actor and other != seat:
            found = other if newest_card(dims, row, other) == card else found
    return found if found >= 0 or seat == actor else seat


@inline
def is_finesse(dims: Any, row: Any, mem: Any, play: int) -> bool:
    """Was the last move (``mem`` is from before it) a discard of a card known to be playable?"""
    h = hand_size(dims)
    action = np.int64(row[LAST_ACTION])
    if action >= h:
        return False
    mask = np.int64(mem[(np.int64(row[LAST_PLAYER]) & 7) * h + (action & 7)])
    return (mask & (mask - 1)) == 0 and (mask & play) != 0


@inline
def tokens_before(row: Any) -> int:
    """Information tokens before the last move."""
    flags = np.int64(row[LAST_FLAGS])
    hinted = row[LAST_CARD] < 0
    return np.int64(row[INFO]) + np.int64(hinted) - np.int64((flags & GAINED_INFO) != 0)


@routine
def observe_alone(dims: Any, row: Any, seat: int, mem: Any, script: Any) -> bool:
    """``observe`` for one seat, all that it needs worked out from the row after the move.

    True where the memory depends on more than everybody sees: at a finesse.
    """
    before = planes_before(row)
    actor = np.int64(row[LAST_PLAYER]) & 7
    after = actor + 1 if actor + 1 < players(dims) else 0
    due = -1
    if tokens_before(row) > 0:
        due = next_discard(dims, mem, after, before[0], before[1], before[2])
    pointed = -1
    finesse = is_finesse(dims, row, mem, before[0])
    if finesse:
        pointed = finesse_target(dims, row, seat, actor, np.int64(row[LAST_CARD]) & 31)
    observe(dims, row, mem, before, due, pointed)
    return finesse


@inline
def mark_newest(dims: Any, mem: Any, player: int, card: int) -> None:
    """The newest slot of ``player`` is ``card``."""
    h = hand_size(dims)
    newest = -1
    for i in range(h):
        newest = i if mem[player * h + i] != ABSENT else newest
    if newest >= 0:
        mem[player * h + newest] = 1 << card


@inline
def read_hint(dims: Any, row: Any, mem: Any, due: int, board: tuple[int, int, int]) -> None:
    """Sections 'colour hint' and 'rank hint': what a hint tells about the target's hand."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    play, _, value = board
    actor = np.int64(row[LAST_PLAYER]) & 7
    hint = np.int64(row[LAST_ACTION]) - 2 * h
    by_rank = hint >= (p - 1) * c
    if by_rank:
        hint -= (p - 1) * c
        offset = hint // r
        attribute = hint - offset * r
        plane = rank_plane(dims, attribute)
    else:
        offset = hint // c
        attribute = hint - offset * c
        plane = color_plane(dims, attribute)
    target = actor + offset + 1
    if target >= p:
        target -= p
    base = target * h
    hit = np.int64(row[LAST_TOUCHED])
    promise = True  # does the newest touched uncertain slot become playable?
    if by_rank:
        full = row[INFO] + 1 == row[MAX_INFO]
        reclaim = full and offset == p - 2 and (hit & 1) != 0
        warning = False
        if not reclaim and offset == 0 and due >= 0 and (hit >> due) & 1:
            mask = np.int64(mem[base + due])
            warning = could_be_valuable(dims, mask, attribute, value)
            if warning:
                mem[base + due] = mask & value
        promise = not (reclaim or warning)
    everything = np.int64(row[ALL])
    identified = False
    inferred = -1
    for back in range(h):
        i = h - 1 - back
        mask = np.int64(mem[base + i])
        touch = (hit >> i) & 1
        allowed = plane if touch else everything & ~plane
        left = mask & allowed
        if left == 0:
            left = allowed if allowed != 0 else mask
        left = mask if mask == ABSENT else left
        mem[base + i] = left
        was_maybe = ((mask & play) != 0) & ((mask & ~play) != 0)
        identified |= was_maybe & ((left & ~play) == 0)
        maybe = was_maybe & ((left & play) != 0) & ((left & ~play) != 0)
        inferred = i if maybe & (touch != 0) & (inferred < 0) else inferred
    if promise and not identified and inferred >= 0:
        mem[base + (inferred & 7)] &= play


@inline
def observe(
    dims: Any, row: Any, mem: Any, before: tuple[int, int, int], due: int, pointed: int
) -> None:
    """Update a seat's memory with the last move and refresh it.

    ``before``: the planes before the move; ``due``: expected_discard before it; ``pointed``:
    finesse_target as the seat sees it if the move was a finesse, else -1.
    """
    p, h = players(dims), hand_size(dims)
    value = before[2]
    actor = np.int64(row[LAST_PLAYER]) & 7
    after = actor + 1 if actor + 1 < p else 0
    action = np.int64(row[LAST_ACTION])
    card = np.int64(row[LAST_CARD])
    flags = np.int64(row[LAST_FLAGS])
    hinted = action >= 2 * h
    deck_left = (flags & DREW) != 0 or row[DECK_NEXT] < row[DECK_SIZE]
    warned = False  # could the move be a warning, or leave no doubt that none was due?
    if hinted:
        hint = action - 2 * h
        c, r = colors(dims), ranks(dims)
        warned = hint < c or (p - 1) * c <= hint < (p - 1) * c + r  # the next player was hinted
        read_hint(dims, row, mem, due, before)
    if not warned and due >= 0 and deck_left:
        at = after * h + (due & 7)
        mask = np.int64(mem[at])
        mem[at] = mask & ~value if (mask & ~value) != 0 else mask
    drawn = -1
    if not hinted:
        if pointed >= 0:
            mark_newest(dims, mem, pointed, card)
        slot = (action - h if action >= h else action) & 7
        base = actor * h
        for i in range(h - 1):
            mem[base + i] = mem[base + i + 1] if i >= slot else mem[base + i]
        mem[base + h - 1] = ABSENT
        drawn = base + h - 1 if flags & DREW else -1
        # The slot behind the last card: a hand that shrinks was full or ends in ABSENT already.
    refresh(dims, row, mem, drawn)
