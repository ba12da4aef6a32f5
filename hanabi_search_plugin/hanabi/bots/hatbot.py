"""The hat-guessing bot of the SPARTA paper: "info bot", Arthur O'Dwyer's C++ port of hanabi.rs.

Every hint, and every discard of a player with two or more useless cards, announces a number to all
others: the sum of their *hand values*, modulo something that everybody knows. A hand value holds
the answers to questions about a hand, which follow from public knowledge. Whoever sees all the
other hands takes their values away and has the answers to the questions about the own one.

A seat's memory is public knowledge: a mask of identities for every slot of every hand, int32
[players * hand size], bit ``ranks * colour + rank``. Each seat keeps its own copy and decodes every
move from what it sees itself: it takes the move for conventional, so for the others it reads their
true answers off their cards; only about the giver's copy more is known, since the giver sees what
everybody will make of the number. Counting is over copies: an identity weighs as much as copies of
it are neither played nor discarded.

When a partner breaks the conventions an update could empty a mask. It never does: such a mask
becomes all that the plain hints about the card, which are always true, and the copies left allow.

This module holds the bot and what its descendant, ``hatbot_b``, shares with it. A *board* is the
tuple (PLAY, DEAD, NONE, ONE, TWO) of planes: identities that would score now, that never will, and
of which at most 0, 1, 2 copies count. ``base`` is where a hand's masks begin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from hanabi_search_plugin.hanabi.bots.script import SILENT
from hanabi_search_plugin.hanabi.bots.smartbot import (
    ABSENT,
    color_projection,
    rank_projection,
    worthless_plane,
)
from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    ABOVE1,
    ALL,
    DECK_NEXT,
    DECK_SIZE,
    DREW,
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
    TURN,
    color_plane,
    colors,
    hand_at,
    hand_size,
    knowledge_at,
    lowest_bit,
    plausible,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import hint_action, hint_of
from hanabi_search_plugin.jit import inline, routine

COMPILES = "the hat bot"

Board = tuple[int, int, int, int, int]
Sight = tuple[int, int, int, int, int, int]

FIRST = np.int64(0)  # as an argument, a plain 0 has a type of its own and means another compilation


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def stack_array(typingctx: Any, count: Any, dtype: Any) -> Any:
    """An array of ``count`` (a literal) items on the caller's stack, which must not leave it."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    n = count.literal_value
    array_type = types.Array(dtype.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import cgutils
        from numba.np.arrayobj import make_array, populate_array

        item = context.get_data_type(array_type.dtype)
        size = context.get_constant(types.intp, context.get_abi_sizeof(item))
        length = context.get_constant(types.intp, n)
        array = make_array(array_type)(context, builder)
        populate_array(
            array,
            data=cgutils.alloca_once(builder, item, size=n),
            shape=(length,),
            strides=(size,),
            itemsize=size,
            meminfo=None,
        )
        return array._getvalue()

    return array_type(count, dtype), codegen


# ------------------------------------------------------------------------------- board and masks


@inline
def board_now(row: Any) -> Board:
    """PLAY, DEAD, NONE, ONE, TWO of the table."""
    none = np.int64(row[LEFT0])
    dead = worthless_plane(
        np.int64(row[PLAYED]), none, np.int64(row[ABOVE0]), np.int64(row[ABOVE1])
    )
    return np.int64(row[PLAYABLE]), dead, none, np.int64(row[LEFT1]), np.int64(row[LEFT2])


@inline
def board_before(row: Any) -> Board:
    """The board as it was before the last move, which was no play."""
    none, one, two = np.int64(row[LEFT0]), np.int64(row[LEFT1]), np.int64(row[LEFT2])
    if row[LAST_CARD] >= 0:
        bit = 1 << (np.int64(row[LAST_CARD]) & 31)
        two &= one | ~bit
        one &= none | ~bit
        none &= ~bit
    dead = worthless_plane(
        np.int64(row[PLAYED]), none, np.int64(row[ABOVE0]), np.int64(row[ABOVE1])
    )
    return np.int64(row[PLAYABLE]), dead, none, one, two


@inline
def weight(mask: int, board: Board) -> int:
    """The copies that a mask stands for."""
    return popcount(mask & ~board[2]) + popcount(mask & ~board[3]) + popcount(mask & ~board[4])


@inline
def determined(mask: int) -> bool:
    """One identity; so are the mask of a slot without a card and, midway, an emptied one."""
    return (mask & (mask - 1)) == 0


@inline
def share(real: Any, part: int, whole: int) -> Any:
    """part / whole in the given precision; 0 of 0 is 0."""
    return real(part) / real(max(whole, 1))


@inline
def in_sight(dims: Any, row: Any, me: int) -> Sight:
    """What ``me`` sees in the other hands, as planes.

    Identities of which there are at least 1, 2, 3 copies; then bits 0, 1, 2 of how many players
    hold one.
    """
    p, h = players(dims), hand_size(dims)
    everything = np.int64(row[ALL])
    one = two = three = 0
    holders0 = holders1 = holders2 = 0
    for offset in range(1, p):
        other = me + offset
        if other >= p:
            other -= p
        hand = hand_at(dims, other)
        held = 0
        for i in range(h):
            bit = (1 << (np.int64(row[hand + i]) & 31)) & everything
            three |= two & bit
            two |= one & bit
            one |= bit
            held |= bit
        carry = holders0 & held
        holders0 ^= held
        holders2 |= holders1 & carry
        holders1 ^= carry
    return one, two, three, holders0, holders1, holders2


@inline
def private_board(board: Board, one: int, two: int, three: int) -> Board:
    """The board with the copies in sight no longer counting."""
    none = board[2] | board[3] & one | board[4] & two | three
    return board[0], board[1], none, board[3] | board[4] & one | two, board[4] | one


@inline
def private_masks(dims: Any, row: Any, mem: Any, me: int, none: int, mine: Any) -> None:
    """Private masks of the mover's hand: the public ones less what it sees all copies of."""
    h = hand_size(dims)
    empty = 0
    for i in range(h):
        left = np.int64(mem[me * h + i]) & ~none
        mine[i] = left
        empty |= np.int64(left == 0) << i
    while empty:
        i = lowest_bit(empty)
        empty &= empty - 1
        mine[i] = plausible(dims, np.int64(row[knowledge_at(dims, me) + i])) & ~none


@inline
def useless_slots(dims: Any, masks: Any, base: int, dead: int) -> int:
    """USELESS as bits: slots that are dead, or determined twice over in the hand."""
    h = hand_size(dims)
    once = twice = found = 0
    for i in range(h):
        mask = np.int64(masks[base + i])
        found |= np.int64((mask & ~dead) == 0) << i
        bit = mask & ~ABSENT if determined(mask) else 0
        twice |= once & bit
        once |= bit
    for i in range(h):
        mask = np.int64(masks[base + i])
        found |= np.int64(determined(mask) and (mask & twice) != 0) << i
    return found


@inline
def nth_bit(bits: int, n: int) -> int:
    """Index of the n-th set bit from below."""
    for _ in range(n):
        bits &= bits - 1
    return lowest_bit(bits)


# -------------------------------------------------------------------------- the questions of a hand


@inline
def partition(mask: int, dead: int, most: int) -> tuple[int, int, int]:
    """PARTITION(slot, most): what a live identity's index is taken modulo of; blocks; modulus."""
    has_dead = np.int64((mask & dead) != 0)
    period = most - has_dead
    blocks = min(popcount(mask & ~dead), period)
    return period, blocks, blocks + has_dead


@inline
def partition_answer(mask: int, dead: int, most: int, card: int) -> int:
    """The block of a card. One that the mask excludes counts as its neighbours do."""
    period, blocks, modulus = partition(mask, dead, most)
    bit = 1 << card
    index = popcount(mask & ~dead & (bit - 1))
    if index >= period:
        index -= index // period * period
    return min(blocks if dead & bit else index, modulus - 1)


@inline
def partition_block(mask: int, dead: int, most: int, answer: int) -> int:
    """The identities of a block."""
    period, blocks, _ = partition(mask, dead, most)
    if answer == blocks:
        return mask & dead
    live = mask & ~dead
    block = index = 0
    while live:
        bit = live & -live
        live ^= bit
        block |= bit if index == answer else 0
        index = index + 1 if index + 1 < period else 0
    return block


@inline
def questions(dims: Any, masks: Any, base: int, total: int, board: Board) -> int:
    """The questions of a hand, packed, the first lowest; there are at most 5, as total < 64.

    10 bits each: slot (3), whether it is PLAYABLE? (1), the maximum when it was asked (6).
    """
    h = hand_size(dims)
    play, dead = board[0], board[1]
    shares = stack_array(8, np.float64)
    eligible = 0
    playable = True  # step 1, PLAYABLE?, is on: not in a hand with a certain play
    for i in range(h):
        mask = np.int64(masks[base + i])
        shares[i] = share(np.float64, weight(mask & play, board), weight(mask, board))
        eligible |= np.int64(not determined(mask) and (mask & ~dead) != 0) << i
        playable &= (mask & ~play) != 0
    packed = shift = 0
    left = total
    pending = eligible
    while left > 1:
        slot = -1
        likeliest = 0.2 if playable else 0.0
        for back in range(h):
            i = h - 1 - back
            likelier = (pending >> i) & 1 != 0 and shares[i] >= likeliest
            slot = i if likelier else slot
            likeliest = shares[i] if likelier else likeliest
        if slot >= 0:
            pending &= ~(1 << slot)
            packed |= (slot | np.int64(playable) << 3 | left << 4) << shift
            shift += 10
            modulus = 2
            if not playable:
                modulus = partition(np.int64(masks[base + slot]), dead, left)[2]
            left //= modulus
        elif playable:
            playable = False
            pending = eligible
        else:
            break
    return packed


@inline
def hand_value(
    dims: Any,
    row: Any,
    hand: int,
    masks: Any,
    base: int,
    packed: int,
    board: Board,
) -> tuple[int, int]:
    """The answers of the hand at row[hand] to its questions, as a number, and their product.

    ``hand`` -1 for a hand that is not seen: the product alone.
    """
    play, dead = board[0], board[1]
    value = 0
    product = 1
    while packed:
        slot, most = packed & 7, (packed >> 4) & 63
        mask = np.int64(masks[base + slot])
        card = np.int64(row[hand + slot]) & 31 if hand >= 0 else np.int64(NO_CARD)
        if packed & 8:
            modulus = 2
            answer = (play >> card) & 1
        else:
            modulus = partition(mask, dead, most)[2]
            answer = partition_answer(mask, dead, most, card)
        value = value * modulus + answer
        product *= modulus
        packed >>= 10
    return value, product


@inline
def acknowledge(
    masks: Any,
    base: int,
    packed: int,
    value: int,
    product: int,
    board: Board,
) -> None:
    """Apply the answers that a hand value holds to the hand's masks."""
    play, dead = board[0], board[1]
    product = max(product, value + 1)  # of an unconventional move: the answer is capped below
    yes = no = 0  # slots
    while packed:
        slot, most = packed & 7, (packed >> 4) & 63
        mask = np.int64(masks[base + slot])
        modulus = 2 if packed & 8 else partition(mask, dead, most)[2]
        product //= modulus
        answer = min(value // product, modulus - 1)
        value %= product
        if packed & 8:  # applied last: a partition is one of the mask as it was
            yes |= answer << slot
            no |= (1 - answer) << slot
        else:
            masks[base + slot] = partition_block(mask, dead, most, answer)
        packed >>= 10
    while yes:
        masks[base + lowest_bit(yes)] &= play
        yes &= yes - 1
    while no:
        masks[base + lowest_bit(no)] &= ~play
        no &= no - 1


# ------------------------------------------------------------------------------- hints as numbers

# An *attribute* is a colour, or a rank counted on from the colours. A hint strategy is (N, key):
# N types of hints; key is the index slot of a card-index strategy (N is 3 or 4), else (N > 4, a
# packing) the type of each attribute, 4 bits each. N is 0 for a player without cards.


@inline
def largest_disjoint(dims: Any, projections: Any, at: int, usable: int) -> int:
    """The first largest set of slots, as bits, whose projections do not overlap.

    Slot 0 alone stands unless a larger set is found. ``usable``: slots that may be in a set.
    """
    h = hand_size(dims)
    best = size = 1
    rows = usable & -usable
    while rows:
        count = popcount(rows)
        if count > size:
            seen = 0
            total = 0
            for i in range(h):
                projection = projections[at + i] if (rows >> i) & 1 else 0
                seen |= projection
                total += popcount(projection)
            if popcount(seen) == total:
                best = rows
                size = count
        rows = (rows - usable) & usable  # the next subset of the usable slots
    return best


@inline
def packing(dims: Any, projections: Any, color_rows: int, rank_rows: int) -> tuple[int, int]:
    """The set packing of two sets of slots: colours, then ranks, of a slot make one type."""
    h, c, r = hand_size(dims), colors(dims), ranks(dims)
    n = key = mapped = 0
    for i in range(h):
        for kind in range(2):
            if ((rank_rows if kind else color_rows) >> i) & 1:
                attributes = projections[8 + i] << c if kind else projections[i]
                for a in range(c + r):
                    if (attributes >> a) & 1:
                        key = key & ~(15 << (4 * a)) | n << (4 * a)
                mapped |= attributes
                n += 1
    filler = 0
    for a in range(c + r):
        if not (mapped >> a) & 1:
            key |= filler << (4 * a)
            filler = filler + 1 if filler + 1 < n else 0
    return n, key


@inline
def hint_strategy(dims: Any, mem: Any, player: int, board: Board, pack: bool) -> tuple[int, int]:
    """(N, key) of a receiver. ``pack``: with packings, and index scores that count attributes."""
    h, c, r = hand_size(dims), colors(dims), ranks(dims)
    base = player * h
    if mem[base] == ABSENT:
        return 0, 0
    dead = board[1]
    projections = stack_array(16, np.int64)
    color_everywhere, rank_everywhere = (1 << c) - 1, (1 << r) - 1
    usable_colors = usable_ranks = FIRST
    index = 0
    best = 0
    projected = np.int64(-1)  # the mask that ``of_colors`` and ``of_ranks`` are of
    of_colors = of_ranks = FIRST
    for i in range(h):
        mask = np.int64(mem[base + i])
        if mask != projected:  # neighbours often have the same
            projected = mask
            of_colors, of_ranks = color_projection(dims, mask), rank_projection(dims, mask)
        projections[i] = of_colors
        projections[8 + i] = of_ranks
        n, n_colors, n_ranks = popcount(mask), popcount(of_colors), popcount(of_ranks)
        if mask != ABSENT:
            color_everywhere &= of_colors
            rank_everywhere &= of_ranks
            usable_colors |= np.int64(n == n_colors) << i
            usable_ranks |= np.int64(n == n_ranks) << i
        score = n_colors + n_ranks
        if not pack:
            score = 1 + np.int64(n_colors > 1) + np.int64(n_ranks > 1)
        score = 0 if determined(mask) or (mask & ~dead) == 0 else score
        index = i if score > best else index
        best = max(score, best)
    if pack and max(popcount(usable_colors), 1) + max(popcount(usable_ranks), 1) > 4:
        color_rows = rank_rows = FIRST
        for kind in range(2):
            rows = largest_disjoint(
                dims, projections, 8 * kind, usable_ranks if kind else usable_colors
            )
            color_rows = color_rows if kind else rows
            rank_rows = rows
        if popcount(color_rows) + popcount(rank_rows) > 4:
            return packing(dims, projections, color_rows, rank_rows)
    return (4 if color_everywhere == 0 and rank_everywhere == 0 else 3), index


@inline
def hint_type(dims: Any, n: int, key: int, attribute: int, touched: int) -> int:
    """What a hint, given its attribute and the slots that it touches, counts as."""
    if n > 4:
        return (key >> (4 * attribute)) & 15
    by_rank = np.int64(attribute >= colors(dims))
    if (touched >> key) & 1:
        return 1 - by_rank
    return 3 - by_rank if n == 4 else 2


@inline
def attributes_of_type(dims: Any, n: int, key: int, kind: int, hand: int, row: Any) -> int:
    """The attributes, as bits, whose hints count as that type; some may touch no card."""
    c, r = colors(dims), ranks(dims)
    found = 0
    if n > 4:
        for a in range(c + r):
            found |= np.int64((key >> (4 * a)) & 15 == kind) << a
        return found
    card = np.int64(row[hand + key]) & 31
    color = card // r
    all_colors, all_ranks = (1 << c) - 1, ((1 << r) - 1) << c
    of_color, of_rank = (1 << color), (1 << (c + card - r * color))
    if kind == 0:
        return of_rank
    if kind == 1:
        return of_color
    if kind == 3:
        return all_colors & ~of_color
    return (all_ranks if n == 4 else all_ranks | all_colors) & ~(of_rank | of_color)


@inline
def attribute_plane(dims: Any, attribute: int) -> int:
    c = colors(dims)
    if attribute >= c:
        return rank_plane(dims, attribute - c)
    return color_plane(dims, attribute)


@inline
def goodness(
    dims: Any,
    row: Any,
    hand: int,
    masks: Any,
    base: int,
    attribute: int,
    board: Board,
    real: Any,
) -> Any:
    """How much a hint narrows the open slots down: the product of their weights before / after."""
    dead = board[1]
    plane = attribute_plane(dims, attribute)
    good = real(1)
    for i in range(hand_size(dims)):
        mask = np.int64(masks[base + i])
        if not determined(mask) and (mask & ~dead) != 0:
            outside = ((plane >> (np.int64(row[hand + i]) & 31)) & 1) - 1  # untouched: all ones
            after = mask & (plane ^ outside)
            if after != 0:  # else the mask was wrong: nothing that the hint would narrow down
                bonus = 2 if determined(after) or (after & ~dead) == 0 else 1
                good *= share(real, bonus * weight(mask, board), weight(after, board))
    return good


@inline
def attributes_of_hand(dims: Any, row: Any, hand: int) -> int:
    c, r = colors(dims), ranks(dims)
    found = 0
    for i in range(hand_size(dims)):
        card = np.int64(row[hand + i]) & 31
        color = card // r
        both = (1 << color) | (1 << (c + card - r * color))
        found |= both if card != NO_CARD else 0
    return found


@inline
def best_attribute(
    dims: Any,
    row: Any,
    hand: int,
    masks: Any,
    base: int,
    options: int,
    board: Board,
    real: Any,
) -> int:
    """The option of the highest goodness; of equals the first, oldest card and colour first."""
    c, r = colors(dims), ranks(dims)
    best = real(-1)
    choice = 0
    for both in range(2 * hand_size(dims)):
        card = np.int64(row[hand + (both >> 1)]) & 31
        color = card // r
        attribute = c + card - r * color if both & 1 else color
        if card != NO_CARD and (options >> attribute) & 1:
            options &= ~(1 << attribute)
            good = goodness(dims, row, hand, masks, base, attribute, board, real)
            if good > best:
                best = good
                choice = attribute
    return choice


# ---------------------------------------------------------------------------------- decisions


@inline
def is_early(dims: Any, row: Any, board: Board) -> bool:
    """Are there few discards: at most as many as can be spared when the hands are put aside?"""
    left = weight(np.int64(row[ALL]), board)
    discarded = np.int64(row[DECK_SIZE]) - left - popcount(np.int64(row[PLAYED]))
    spare = np.int64(row[DECK_SIZE]) - colors(dims) * ranks(dims)
    return discarded <= spare - players(dims) * hand_size(dims)


@inline
def certain_play(
    dims: Any,
    row: Any,
    mine: Any,
    eye: Board,
    sight: Sight,
    real: Any,
) -> int:
    """Rule 1: a slot certain to score, or -1: low ranks first, and what few others hold."""
    certain = 0
    for i in range(hand_size(dims)):
        certain |= np.int64((np.int64(mine[i]) & ~eye[0]) == 0) << i
    if determined(certain):
        return lowest_bit(certain) if certain else -1
    last_round = row[DECK_NEXT] == row[DECK_SIZE]
    best = real(-1)
    slot = -1
    while certain:
        i = lowest_bit(certain)
        certain &= certain - 1
        mask = np.int64(mine[i])
        score = real(0)
        while mask:
            card = lowest_bit(mask)
            bit = mask & -mask
            mask ^= bit
            holders = np.int64((sight[3] & bit) != 0) + 2 * np.int64((sight[4] & bit) != 0)
            holders += 4 * np.int64((sight[5] & bit) != 0)
            holders = 0 if last_round else holders
            worth = share(real, 9 - card % ranks(dims), holders + 1)
            score += real(weight(bit, eye)) * worth
        score /= real(max(weight(np.int64(mine[i]), eye), 1))
        if score > best:
            best = score
            slot = i
    return slot


@inline
def risky_play(dims: Any, mine: Any, eye: Board) -> int:
    """Rule 2: the likeliest of the slots that are playable or dead, if likelier than 3/4; or -1."""
    slot = -1
    best = 0.75
    for i in range(hand_size(dims)):
        mask = np.int64(mine[i])
        if (mask & ~(eye[0] | eye[1])) == 0:
            p = share(np.float64, weight(mask & eye[0], eye), weight(mask, eye))
            if p > best:
                best = p
                slot = i
    return slot


@inline
def least_bad_discard(dims: Any, mine: Any, valuable: int, held: int, eye: Board, real: Any) -> int:
    """Rule 7: likely to be held by others, dispensable, high. -1 from an empty hand.

    ``valuable``: last copies of what can score; ``held``: what is in the other hands.
    """
    slot = -1
    best = real(-1)
    for i in range(hand_size(dims)):
        mask = np.int64(mine[i])
        if mask != ABSENT:
            whole = weight(mask, eye)
            values = whole
            for k in range(1, ranks(dims)):
                values += k * weight(mask & rank_plane(dims, k), eye)
            score = real(20) * share(real, weight(mask & held, eye), whole)
            score += real(10) * share(real, weight(mask & ~valuable, eye), whole)
            score += share(real, values, whole)
            if score > best:
                best = score
                slot = i
    return slot


@inline
def announced_sum(dims: Any, row: Any, mem: Any, me: int, total: int, board: Board) -> int:
    """SUM(me, total)."""
    p, h = players(dims), hand_size(dims)
    value = 0
    for player in range(p):
        if player != me:
            base = player * h
            packed = questions(dims, mem, base, total, board)
            value += hand_value(dims, row, hand_at(dims, player), mem, base, packed, board)[0]
    return value % total


@inline
def receivers(
    dims: Any,
    mem: Any,
    giver: int,
    board: Board,
    pack: bool,
    strategies: Any,
) -> int:
    """The sum of all N; strategies[2 * offset], [2 * offset + 1] = (N, key) by offset from me."""
    p = players(dims)
    total = 0
    for offset in range(1, p):
        player = giver + offset
        if player >= p:
            player -= p
        n, key = hint_strategy(dims, mem, player, board, pack)
        strategies[2 * offset] = n
        strategies[2 * offset + 1] = key
        total += n
    return total


@inline
def hint_options(
    dims: Any, row: Any, me: int, announced: int, strategies: Any
) -> tuple[int, int, int]:
    """Who (offset, player) has to get a hint that announces a number, and with which attributes.

    Where no hint has the type, as after hints that meant nothing, any to that player has to do.
    """
    p = players(dims)
    offset = 1
    while announced >= strategies[2 * offset] and offset < p - 1:
        announced -= strategies[2 * offset]
        offset += 1
    player = me + offset
    if player >= p:
        player -= p
    hand = hand_at(dims, player)
    n, key = strategies[2 * offset], strategies[2 * offset + 1]
    there = attributes_of_hand(dims, row, hand)
    options = there & attributes_of_type(dims, n, key, announced, hand, row)
    return offset, player, (options if options != 0 else there)


@inline
def choose_attribute(dims: Any, row: Any, mem: Any, player: int, options: int, board: Board) -> int:
    """The hint, of those to one player that announce the same, to give.

    Good is what helps beyond the answers: the true ones, as if the total were 3 for each receiver.
    """
    if determined(options):
        return lowest_bit(options)
    h = hand_size(dims)
    hand = hand_at(dims, player)
    masks = stack_array(8, np.int32)
    for i in range(h):
        masks[i] = mem[player * h + i]
    packed = questions(dims, masks, FIRST, 3 * (players(dims) - 1), board)
    value, product = hand_value(dims, row, hand, masks, FIRST, packed, board)
    acknowledge(masks, FIRST, packed, value, product, board)
    return best_attribute(dims, row, hand, masks, FIRST, options, board, np.float64)


@inline
def choose_action(dims: Any, row: Any, mem: Any) -> int:
    """The action of the player to move, or SILENT."""
    h = hand_size(dims)
    me = np.int64(row[TURN]) & 7
    board = board_now(row)
    sight = in_sight(dims, row, me)
    eye = private_board(board, sight[0], sight[1], sight[2])
    mine = stack_array(8, np.int32)
    private_masks(dims, row, mem, me, eye[2], mine)
    slot = certain_play(dims, row, mine, eye, sight, np.float64)
    if slot >= 0:
        return h + slot
    early = is_early(dims, row, board)
    if early and row[LIVES] > 1:
        slot = risky_play(dims, mine, eye)
        if slot >= 0:
            return h + slot
    can_hint = row[INFO] > 0 and sight[0] != 0
    can_discard = row[INFO] < row[MAX_INFO] and mine[0] != ABSENT
    public = useless_slots(dims, mem, me * h, board[1])
    useless = useless_slots(dims, mine, FIRST, board[1])
    coded = popcount(public) > 1
    if not can_discard and not can_hint:
        return SILENT
    somebody_can_play = (sight[0] & board[0]) != 0
    discard = (early and (coded or useless != 0)) or not (can_hint and somebody_can_play)
    discard = discard and can_discard
    if discard and not coded:
        if useless:
            return lowest_bit(useless)
        valuable = board[3] & ~board[2] & ~board[1]
        return least_bad_discard(dims, mine, valuable, sight[0], eye, np.float64)
    strategies = stack_array(10, np.int64)
    total = popcount(public)
    if not discard:
        total = receivers(dims, mem, me, board, True, strategies)
    announced = announced_sum(dims, row, mem, me, total, board)
    if discard:
        return nth_bit(public, announced)
    offset, player, options = hint_options(dims, row, me, announced, strategies)
    return hint_action(dims, offset, choose_attribute(dims, row, mem, player, options, board))


# -------------------------------------------------------------------------------- observations


@inline
def announcement(dims: Any, row: Any, mem: Any, board: Board, pack: bool) -> tuple[int, int]:
    """(total, number) that the last move announced; total 0 where it announced nothing."""
    h = hand_size(dims)
    giver = np.int64(row[LAST_PLAYER]) & 7
    action = np.int64(row[LAST_ACTION])
    if action < h:
        useless = useless_slots(dims, mem, giver * h, board[1])
        total = popcount(useless)
        below = popcount(useless & ((1 << action) - 1))
        return (total if total > 1 else 0), (below if (useless >> action) & 1 else 0)
    if action < 2 * h:
        return 0, 0
    strategies = stack_array(10, np.int64)
    total = receivers(dims, mem, giver, board, pack, strategies)
    target, attribute = hint_of(dims, np.int64(row[LAST_ACTION]))
    n, key = strategies[2 * target], strategies[2 * target + 1]
    number = hint_type(dims, n, key, attribute, np.int64(row[LAST_TOUCHED]))
    for offset in range(1, target):
        number += strategies[2 * offset]
    return total, number


@inline
def learn(
    dims: Any,
    row: Any,
    mem: Any,
    seat: int,
    total: int,
    announced: int,
    board: Board,
) -> bool:
    """LEARN as a seat does it; as all do it for seat -1, if the number is the sum of all.

    False, and nothing changed, if it is not: then each takes something else for its own answers.
    Of two players the one decodes the number, and the other knows it: no hand need be looked at.
    """
    p, h = players(dims), hand_size(dims)
    giver = np.int64(row[LAST_PLAYER]) & 7
    asked = stack_array(5, np.int64)
    values = stack_array(5, np.int64)
    products = stack_array(5, np.int64)
    rest = announced
    for player in range(p):
        if player != giver:
            base = player * h
            seen = player != seat and p > 2
            hand = hand_at(dims, player) if seen else -1
            packed = questions(dims, mem, base, total, board)
            value, product = hand_value(dims, row, hand, mem, base, packed, board)
            value = value if seen else 0
            asked[player] = packed
            values[player] = value
            products[player] = product
            rest -= value
    rest %= total
    if seat < 0 and rest != 0 and p > 2:
        return False
    for player in range(p):
        if player != giver:
            value = values[player]
            if player == seat or seat == giver or p == 2:  # the giver knows what each will decode
                value = (value + rest) % total
            acknowledge(mem, player * h, asked[player], value, products[player], board)
    return True


@inline
def take_hint(dims: Any, row: Any, mem: Any) -> None:
    """The plain content of the last move, a hint."""
    p, h = players(dims), hand_size(dims)
    offset, attribute = hint_of(dims, np.int64(row[LAST_ACTION]))
    target = (np.int64(row[LAST_PLAYER]) & 7) + offset
    if target >= p:
        target -= p
    plane = attribute_plane(dims, attribute)
    touched = np.int64(row[LAST_TOUCHED])
    for i in range(h):
        mask = np.int64(mem[target * h + i])
        outside = ((touched >> i) & 1) - 1
        mem[target * h + i] = mask if mask == ABSENT else mask & (plane ^ outside)


@inline
def take_card(dims: Any, row: Any, mem: Any) -> None:
    """A card has left the mover's hand; a new one may be anything."""
    h = hand_size(dims)
    action = np.int64(row[LAST_ACTION])
    slot = action - h if action >= h else action
    base = (np.int64(row[LAST_PLAYER]) & 7) * h
    for i in range(h - 1):
        mem[base + i] = mem[base + i + 1] if i >= slot else mem[base + i]
    mem[base + h - 1] = row[ALL] if row[LAST_FLAGS] & DREW else ABSENT


@inline
def tidy(dims: Any, row: Any, mem: Any) -> None:
    """No mask keeps an identity that is all on the table, and none is left empty."""
    n = players(dims) * hand_size(dims)
    none = np.int64(row[LEFT0])
    empty = 0
    for j in range(n):
        left = np.int64(mem[j]) & ~none
        mem[j] = left
        empty |= np.int64(left == 0) << j
    while empty:
        j = lowest_bit(empty)
        empty &= empty - 1
        mem[j] = plausible(dims, np.int64(row[knowledge_at(dims, 0) + j])) & ~none


@inline
def take_move(dims: Any, row: Any, mem: Any) -> None:
    """What a move shows to everybody, after what it announced."""
    if row[LAST_ACTION] >= 2 * hand_size(dims):
        take_hint(dims, row, mem)
    else:
        take_card(dims, row, mem)
    tidy(dims, row, mem)


@inline
def take_announcement(dims: Any, row: Any, seat: int, mem: Any) -> tuple[bool, bool]:
    """What a hint or discard announced: is the memory up to date with it; were hands read?"""
    board = board_before(row)
    total, announced = announcement(dims, row, mem, board, True)
    done = total == 0 or learn(dims, row, mem, seat, total, announced, board)
    return done, total > 0 and players(dims) > 2


# The routines are no more than wrappers: arrays, even on the stack, cost less in inlined helpers.


@routine
def decide(dims: Any, row: Any, mem: Any, script: Any) -> int:
    """The action of the player to move, or SILENT where no rule has one."""
    return choose_action(dims, row, mem)


@routine
def observe(dims: Any, row: Any, seat: int, mem: Any, script: Any) -> bool:
    """Update a seat's memory with the last move.

    True where it came to depend on hands that not everybody sees: with more than two players, when
    a number was announced. Of two, the giver's hand does not matter and the other's is not read.
    """
    _, depends = take_announcement(dims, row, seat, mem)
    take_move(dims, row, mem)
    return depends


@routine
def observe_common(dims: Any, row: Any, mem: Any, script: Any) -> bool:
    """``observe`` for all seats at once, where they come to the same; else nothing, and False."""
    done, _ = take_announcement(dims, row, -1, mem)
    if done:
        take_move(dims, row, mem)
    return done
