"""Rules of thumb for Hanabi, compiled: each looks at the table and proposes a move, or none.

A rule is one word (``Rule.word`` of ``bots.rulebook`` builds them), ``propose`` the one entry to
all of them, and a bot is a list of words in its ``script``; the first that proposes a move makes
it. ``bots.rulebook`` and ``bots.rule_agents`` say which rules and lists there are, where they come
from, and how the two readings of them differ.

A seat's memory is public, so it is the same for all seats. Hands are kept by *position*: a card
stays where it was drawn, and a new one comes where a card has just left ("first", "last" and ties
refer to positions), or, in scripts with ``BY_AGE``, positions are the slots, oldest first. The
memory, int32:

* one word for each position of each hand: the colours and ranks that hints leave open (bits 0-4
  and 5-9, as in the rows), the slot of the card there (4 bits; ``EMPTY`` if none), and ``SINGLED``;
* with convention ``ANY_GIVER`` then ``PLANES`` words for each position: the cards that were
  playable at the hints that touched this card alone, newest first, equal ones once, 0 past the
  last. Were there more than ``PLANES`` of them, the oldest are forgotten;
* with ``RECENT`` then ``RECENT_WORDS`` words: the last ``3 * RECENT_WORDS`` moves, a byte each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.bots.script import (
    COIN,
    DISCARD_ANY,
    PARAMS,
    SCRIPT,
    SILENT,
    TELL_ANY,
    chance_of_code,
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
    lowest_bit,
    plausible,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import hint_action, hint_of, legal_mask
from hanabi_search_plugin.jit import inline, kernel, routine

COMPILES = "rule agents"

# ------------------------------------------------------------------------------- words of a script

RULES = PARAMS  # how many rules the list has
SETTINGS = PARAMS + 1  # convention (2 bits) | BY_AGE | RECENT
FIRST_RULE = PARAMS + 2
WEIGHTS = SCRIPT - 1  # address of the numbers of a network that values moves, 0: none
MAX_RULES = WEIGHTS - FIRST_RULE

NO_CONVENTION, ANY_GIVER, PREVIOUS_PLAYER = 0, 1, 2
BY_AGE, RECENT = 4, 8

# The word of a rule: operation (8 bits), threshold in millionths (20), then the guards, 6 bits
# each, then options.
THRESHOLD = 8
LIVES_ABOVE, LIVES_AT_MOST, HINTS_BELOW, DECK_AT_MOST = 28, 34, 40, 46
NO_LIMIT = 63  # in the last three of these
OPTIONS = 52
HINTS_FULL = 1 << 52  # only with all hint tokens there
TWO_PLAYERS = 1 << 53  # only in games of two
NEXT_ONLY = 1 << 54  # hints to the next player alone
BY_ID = 1 << 55  # players from 0 up, not in turn order
NEW_ONLY = 1 << 56  # no hint that tells nothing
FALL_BACK = 1 << 57  # the first card where none reaches the threshold
NOT_TWICE = 1 << 58  # not what was told before, see ``told_lately``
LITERAL = 1 << 59  # hints mean what they say, whatever the convention
OBEYS = 1 << 60  # gives no hint that the convention bans
TRUE_DECK = 1 << 61  # the deck does not include the own hand

# Operations: plays, then discards, then hints (and the one that is not of one kind).
PLAY_CERTAIN, PLAY_SAFE, PLAY_PROBABLE = 0, 1, 2
DISCARD_OSAWA, DISCARD_SAFE, DISCARD_USELESS = 8, 9, 10
DISCARD_PROBABLE, DISCARD_UNNECESSARY, DISCARD_OLDEST = 11, 12, 13
DISCARD_UNIDENTIFIED, DISCARD_HIGHEST, DISCARD_RANDOM = 14, 15, 16
UNBLOCK = 31
TELL_USEFUL, TELL_ILL_INFORMED, TELL_NOT_DISCARDABLE, TELL_USELESS = 32, 33, 34, 35
TELL_UNKNOWN, TELL_OLDEST_USEFUL, TELL_PLAYABLE, TELL_DISPENSABLE, TELL_SINGLE = 36, 37, 38, 39, 40
COMPLETE_USEFUL, COMPLETE_DISPENSABLE, COMPLETE_UNPLAYABLE = 41, 42, 43
TELL_NEW_CARD, TELL_MOST, TELL_RANDOM = 44, 45, 46
DISCARDS, TELLS = DISCARD_OSAWA, TELL_USEFUL

MILLION = 1_000_000

# ------------------------------------------------------------------------------ words of a memory

SLOT = 10  # shift of the slot in a position's word
EMPTY = 15  # in place of a slot
SINGLED = 1 << 14  # touched alone by the previous player's hint, and nothing played since
PLANES = 4
RECENT_WORDS = 5  # of three bytes
NEW_CARD_COLORS = (0, 3)  # red and orange of the program that the rules come from


@inline
def slot_of(word: int) -> int:
    return (word >> SLOT) & 15


@inline
def color_known(word: int) -> bool:
    return (word & 31 & ((word & 31) - 1)) == 0


@inline
def rank_known(word: int) -> bool:
    return ((word >> 5) & 31 & (((word >> 5) & 31) - 1)) == 0


# ------------------------------------------------------------------------------------- the table


@inline
def board_of(dims: Any, row: Any) -> tuple[int, int, int, int, int, int]:
    """What all rules need of the table as the player to move sees it, as planes.

    Cards of which at least 1, 2, 3 copies are in the pool (the deck and the own hand); cards that
    would score now; cards on the fireworks; cards out of reach, because all copies of one below, or
    all their own, were discarded.
    """
    p, h = players(dims), hand_size(dims)
    me = np.int64(row[TURN]) & 7
    one = two = three = 0  # copies in the others' hands
    for offset in range(1, p):
        other = me + offset
        other = other if other < p else other - p
        hand = hand_at(dims, other)
        for i in range(h):
            bit = 1 << (np.int64(row[hand + i]) & 31)
            three |= two & bit
            two |= one & bit
            one |= bit
    everything = np.int64(row[ALL])
    left0 = np.int64(row[LEFT0])
    left1, left2, left3 = (
        everything & ~left0,
        everything & ~np.int64(row[LEFT1]),
        everything & ~np.int64(row[LEFT2]),
    )
    pool1 = (left1 & ~one) | (left2 & ~two) | (left3 & ~three)
    pool2 = (left2 & ~one) | (left3 & ~two)
    pool3 = left3 & ~one
    played, above0 = np.int64(row[PLAYED]), np.int64(row[ABOVE0])
    dead = left0 & ~played
    beyond = dead | ((dead << 1) & above0)
    beyond |= (beyond << 1) & above0
    beyond |= (beyond << 2) & np.int64(row[ABOVE1])
    return pool1, pool2, pool3, np.int64(row[PLAYABLE]), played, beyond


@inline
def planes_at(dims: Any, player: int, position: int) -> int:
    """Index in a memory of a position's planes (``ANY_GIVER``)."""
    h = hand_size(dims)
    return players(dims) * h + (player * h + position) * PLANES


@inline
def recent_at(dims: Any, script: Any) -> int:
    """Index in a memory of the recent moves."""
    n = players(dims) * hand_size(dims)
    return n + n * PLANES if (script[SETTINGS] & 3) == ANY_GIVER else n


@inline
def possible_under_convention(
    dims: Any, row: Any, mem: Any, script: Any, player: int, position: int, possible: int
) -> int:
    """What a card may be, given what it may be by the letter of the hints (a plane).

    ``possible`` holds identities with a copy in the pool of whoever asks. The readings never leave
    nothing: one that would is skipped.
    """
    convention = script[SETTINGS] & 3
    if convention == ANY_GIVER:
        at = planes_at(dims, player, position)
        for j in range(PLANES):
            fits = possible & np.int64(mem[at + j])
            possible = fits if fits != 0 else possible
    elif convention == PREVIOUS_PLAYER:
        fits = possible & np.int64(row[PLAYABLE])
        singled = np.int64(mem[player * hand_size(dims) + position]) & SINGLED
        possible = fits if (singled != 0) & (fits != 0) else possible
    return possible


@inline
def banned(
    dims: Any, row: Any, mem: Any, script: Any, board: Any, target: int, offset: int, plane: int
) -> bool:
    """True if the convention bans this hint. ``plane``: the identities that it tells of."""
    pool1, _, _, play, _, _ = board
    h = hand_size(dims)
    hand = hand_at(dims, target)
    count = 0
    only = word = np.int64(0)
    for q in range(h):
        at = np.int64(mem[target * h + q])
        bit = 1 << (np.int64(row[hand + (slot_of(at) & 7)]) & 31)
        bit = bit if slot_of(at) != EMPTY else 0
        hit = (bit & plane) != 0
        count += np.int64(hit)
        only = bit if hit else only
        word = at if hit else word
    if count != 1:
        return False
    if (script[SETTINGS] & 3) == PREVIOUS_PLAYER:
        return offset == 1
    # Its other cards would have been touched: what the giver does not see is all it could be.
    misread = plausible(dims, word) & plane & play & pool1
    return (only & play) == 0 and misread != 0


@inline
def known_useless(dims: Any, word: int, played: int, beyond: int) -> bool:
    """True if the hints alone show that the card cannot score any more."""
    color, rank = color_known(word), rank_known(word)
    told = word | (0 if color else (1 << colors(dims)) - 1)
    told |= 0 if rank else ((1 << ranks(dims)) - 1) << 5
    useless = played | beyond if color and rank else played
    return (plausible(dims, told) & ~useless) == 0


# ---------------------------------------------------------------------- rules about the own hand


@inline
def own_slot(dims: Any, row: Any, mem: Any, script: Any, rule: int, board: Any) -> int:
    """The slot that a rule plays or discards, or -1."""
    pool1, pool2, pool3, play, played, beyond = board
    h = hand_size(dims)
    me = np.int64(row[TURN]) & 7
    op = rule & 255
    last = np.int64(row[LEFT1]) & ~np.int64(row[LEFT0])
    useless = played | beyond
    wanted = play
    if op == DISCARD_PROBABLE:
        wanted = useless
    elif op == DISCARD_UNNECESSARY:
        wanted = ~last | useless
    convention = (script[SETTINGS] & 3) != NO_CONVENTION and (rule & LITERAL) == 0
    best, best_of = (rule >> THRESHOLD) & 0xFFFFF, np.int64(MILLION)
    if op == DISCARD_HIGHEST:
        best, best_of = np.int64(16), np.int64(1)
    filled_at = 0  # bit q: position q
    first = second = 0
    chosen = -1
    for q in range(h):
        word = np.int64(mem[me * h + q])
        filled = slot_of(word) != EMPTY
        filled_at |= np.int64(filled) << q
        color, rank = color_known(word), rank_known(word)
        literal = plausible(dims, word)
        possible = literal & pool1
        if convention:
            possible = possible_under_convention(dims, row, mem, script, me, q, possible)
        if op in (PLAY_PROBABLE, DISCARD_PROBABLE, DISCARD_UNNECESSARY):
            fits = possible & wanted
            share = popcount(fits) + popcount(fits & pool2) + popcount(fits & pool3)
            of = popcount(possible) + popcount(possible & pool2) + popcount(possible & pool3)
            # share / of >= best / best_of, exactly; ties go to the last.
            better = filled & (of > 0) & (share * best_of >= best * of)
            chosen = q if better else chosen
            best = share if better else best
            best_of = of if better else best_of
        elif op == DISCARD_HIGHEST:
            # Highest known rank; ties go to the first.
            key = (lowest_bit((word >> 5) & 31) + 1) * 16 + 15 - q if rank else np.int64(0)
            better = filled & (key >= best)
            chosen = q if better else chosen
            best = key if better else best
        else:
            yes = False
            if op == PLAY_CERTAIN:
                yes = color & rank & ((literal & play) != 0)
            elif op == PLAY_SAFE:
                yes = (possible != 0) & ((possible & ~play) == 0)
            elif op == DISCARD_OLDEST:
                yes = slot_of(word) == 0
            elif op == DISCARD_UNIDENTIFIED:
                yes = (not color) & (not rank)
            else:
                if op != DISCARD_USELESS:
                    yes = known_useless(dims, word, played, beyond)
                if op != DISCARD_SAFE:
                    out = (possible != 0) & ((possible & ~beyond) == 0)
                    out |= rank & ((literal & ~beyond) == 0)
                    second |= np.int64(filled & color & out) << q
            first |= np.int64(filled & yes) << q
    if chosen < 0:
        if rule & FALL_BACK:
            first = filled_at
        if first | second:
            chosen = lowest_bit(first if first != 0 else second)
    return slot_of(np.int64(mem[me * h + chosen])) if chosen >= 0 else -1


@inline
def unblock(dims: Any, row: Any, mem: Any, board: Any) -> int:
    """With no hint token left: gain one, if a player is stuck before another could gain one."""
    _, _, _, play, played, beyond = board
    p, h, r = players(dims), hand_size(dims), ranks(dims)
    me = np.int64(row[TURN]) & 7
    mine = SILENT
    for offset in range(p):
        player = me + offset
        player = player if player < p else player - p
        gains = SILENT
        plays = False
        for back in range(h):
            word = np.int64(mem[player * h + h - 1 - back])
            if slot_of(word) != EMPTY:
                sure = plausible(dims, word) if color_known(word) & rank_known(word) else 0
                plays |= (sure & play) != 0
                if known_useless(dims, word, played, beyond):
                    gains = slot_of(word)
                elif (sure & play & rank_plane(dims, r - 1)) != 0 and (gains < 0 or gains >= h):
                    gains = h + slot_of(word)
        if offset == 0:
            mine = gains
            if mine < 0:
                return SILENT
        elif gains >= 0:
            return SILENT
        elif not plays:
            return mine
    return SILENT


# ---------------------------------------------------------------------------- rules that give hints


@inline
def offset_of(rule: int, p: int, me: int, k: int) -> int:
    """How far on the k-th player sits whom a rule considers, k from 1."""
    if rule & BY_ID:
        return p - me + k - 1 if k <= me else k - me
    return k


@inline
def told_lately(dims: Any, mem: Any, script: Any, target: int, by_rank: bool, value: int) -> bool:
    """True if it was hinted since the last play and ``target``'s last discard, within 3 rounds."""
    at = recent_at(dims, script)
    code = hint_code(target, by_rank, value)
    found = False
    for k in range(3 * players(dims)):
        byte = (np.int64(mem[at + k // 3]) >> (8 * (k % 3))) & 255
        if byte == 255 or byte == 128 + target:
            break
        found |= byte == code
    return found


@inline
def hint_code(target: int, by_rank: bool, value: int) -> int:
    """A hint as a byte of the recent moves: 1 to 50."""
    return 1 + target * 10 + (5 if by_rank else 0) + value


@inline
def sought(row: Any, op: int, board: Any) -> int:
    """The identities of which a rule of ``tell_card`` wants to tell."""
    _, _, _, play, played, beyond = board
    if op == TELL_ILL_INFORMED:
        return play if row[INFO] == row[MAX_INFO] else play | played | beyond
    if op == TELL_NOT_DISCARDABLE:
        return np.int64(row[LEFT1]) & ~np.int64(row[LEFT0]) & ~played
    if op == TELL_USELESS:
        return played | beyond
    if op == TELL_UNKNOWN:
        return np.int64(row[ALL])
    if op in (TELL_DISPENSABLE, COMPLETE_DISPENSABLE):
        return played
    return ~(played | play) if op == COMPLETE_UNPLAYABLE else play


@inline
def worth_telling(
    dims: Any, row: Any, hand: int, word: int, card: int, rule: int, played: int
) -> tuple[bool, bool, bool]:
    """Would a rule tell the colour of a card, would it the rank, and which of them first?"""
    op = rule & 255
    r = ranks(dims)
    color = card // r
    rank = card - r * color
    color_open, rank_open = not color_known(word), not rank_known(word)
    color_first = (op == TELL_UNKNOWN) | (op == TELL_OLDEST_USEFUL) | (op == TELL_DISPENSABLE)
    by_color = color_open & (color_first | (not rank_open))
    by_rank = rank_open & ((not color_first) | (not color_open))
    if op == TELL_DISPENSABLE:
        finished = (color_plane(dims, color) & ~played) == 0
        low = (rank_plane(dims, rank) & ~played) == 0
        by_color = color_open & (finished | (not rank_open))
        by_rank = rank_open & (low | (not color_open))
    elif op == TELL_SINGLE:
        known = (rule & NEW_ONLY) == 0  # may be told again
        same_color = same_rank = 0
        for i in range(hand_size(dims)):
            bit = 1 << (np.int64(row[hand + i]) & 31)
            same_color += np.int64((bit & color_plane(dims, color)) != 0)
            same_rank += np.int64((bit & rank_plane(dims, rank)) != 0)
        by_rank = (same_rank == 1) & (rank_open | known)
        by_color = (same_color == 1) & (color_open | known) & (not by_rank)
    return by_color, by_rank, color_first


@inline
def tell_card(dims: Any, row: Any, mem: Any, script: Any, rule: int, board: Any) -> int:
    """The rules that look for one card and tell of it."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    me = np.int64(row[TURN]) & 7
    op = rule & 255
    new = (rule & NEW_ONLY) != 0
    wanted = sought(row, op, board)
    known_too = (op == TELL_USELESS) | (op == TELL_OLDEST_USEFUL) | (op == TELL_PLAYABLE)
    least = 0 if (known_too | (op == TELL_SINGLE)) and not new else 1  # unknown attributes
    most = 1 if op >= COMPLETE_USEFUL else 2
    obeys = (rule & OBEYS) != 0 and (script[SETTINGS] & 3) != NO_CONVENTION
    for k in range(1, 2 if rule & NEXT_ONLY else p):
        offset = offset_of(rule, p, me, k)
        target = me + offset if me + offset < p else me + offset - p
        hand = hand_at(dims, target)
        candidates = 0
        for q in range(h):
            word = np.int64(mem[target * h + q])
            card = np.int64(row[hand + (slot_of(word) & 7)]) & 31
            unknown = 2 - np.int64(color_known(word)) - np.int64(rank_known(word))
            fits = (slot_of(word) != EMPTY) & (((wanted >> card) & 1) != 0)
            candidates |= np.int64(fits & (unknown >= least) & (unknown <= most)) << q
        if op == TELL_OLDEST_USEFUL and not new:
            while candidates & (candidates - 1):  # the last playable card alone
                candidates &= candidates - 1
        while candidates:
            q = lowest_bit(candidates)
            candidates &= candidates - 1
            word = np.int64(mem[target * h + q])
            card = np.int64(row[hand + (slot_of(word) & 7)]) & 31
            color = card // r
            rank = card - r * color
            by_color, by_rank, color_first = worth_telling(
                dims, row, hand, word, card, rule, board[4]
            )
            if op == TELL_PLAYABLE and (not new or not (color_known(word) | rank_known(word))):
                color_hint = hint_action(dims, offset, color)
                return -(COIN + COIN * color_hint + hint_action(dims, offset, c + rank))
            for attempt in range(2):
                ranked = (attempt == 0) != color_first
                if by_rank if ranked else by_color:
                    plane = rank_plane(dims, rank) if ranked else color_plane(dims, color)
                    skip = False
                    if obeys:
                        skip = banned(dims, row, mem, script, board, target, offset, plane)
                    if op == TELL_SINGLE and rule & NOT_TWICE:
                        value = rank if ranked else color
                        skip |= told_lately(dims, mem, script, target, ranked, value)
                    if not skip:
                        return hint_action(dims, offset, c + rank if ranked else color)
            if op == TELL_USELESS and not new:
                return SILENT
    return SILENT


@inline
def tell_most(dims: Any, row: Any, mem: Any, script: Any, rule: int, board: Any) -> int:
    """The hint that tells most cards something; ties go to the earlier player, to ranks, to low."""
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    me = np.int64(row[TURN]) & 7
    obeys = (rule & OBEYS) != 0 and (script[SETTINGS] & 3) != NO_CONVENTION
    best = 0 if rule & NEW_ONLY else -1
    choice = SILENT
    for k in range(1, 2 if rule & NEXT_ONLY else p):
        offset = offset_of(rule, p, me, k)
        target = me + offset if me + offset < p else me + offset - p
        hand = hand_at(dims, target)
        told = news = 0  # cards by rank, then by colour: 4 bits each
        for q in range(h):
            word = np.int64(mem[target * h + q])
            here = slot_of(word) != EMPTY
            card = np.int64(row[hand + (slot_of(word) & 7)]) & 31 if here else np.int64(0)
            color = card // r
            by_rank, by_color = 1 << (4 * (card - r * color)), 1 << (4 * (5 + color))
            filled = -np.int64(here)
            told += filled & (by_rank | by_color)
            news += filled & ~-np.int64(rank_known(word)) & by_rank
            news += filled & ~-np.int64(color_known(word)) & by_color
        for attribute in range(r + c):
            ranked = attribute < r
            value = attribute if ranked else attribute - r
            at = 4 * (value if ranked else 5 + value)
            if ((news >> at) & 15) > best:
                skip = False
                if obeys and ((told >> at) & 15) == 1:
                    plane = rank_plane(dims, value) if ranked else color_plane(dims, value)
                    skip = banned(dims, row, mem, script, board, target, offset, plane)
                if not skip:
                    best = (news >> at) & 15
                    touches = ((told >> at) & 15) > 0
                    hint = hint_action(dims, offset, c + value if ranked else value)
                    choice = hint if touches else SILENT
    return choice


@inline
def tell_new_card(dims: Any, row: Any, mem: Any, board: Any) -> int:
    """Red, else orange, to the first player whose newest card would score and is not known."""
    play = board[3]
    p, h, c = players(dims), hand_size(dims), colors(dims)
    me = np.int64(row[TURN]) & 7
    for offset in range(1, p):
        target = me + offset if me + offset < p else me + offset - p
        hand = hand_at(dims, target)
        newest = held = 0
        for q in range(h):
            word = np.int64(mem[target * h + q])
            open_ = not (color_known(word) & rank_known(word))
            if slot_of(word) != EMPTY:
                bit = 1 << (np.int64(row[hand + (slot_of(word) & 7)]) & 31)
                held |= bit
                last = slot_of(word) + 1 == h or row[hand + slot_of(word) + 1] == NO_CARD
                newest |= bit if last & open_ else 0
        if newest & play:
            for color in NEW_CARD_COLORS:
                if color < c and (held & color_plane(dims, color)) != 0:
                    return hint_action(dims, offset, color)
    return SILENT


# ------------------------------------------------------------------------------------ the routines


@inline
def applies(dims: Any, row: Any, rule: int) -> bool:
    """True if the guards of a rule, and the tokens, let it propose."""
    lives, tokens = np.int64(row[LIVES]), np.int64(row[INFO])
    full = tokens == row[MAX_INFO]
    ok = lives > ((rule >> LIVES_ABOVE) & 63)
    ok &= lives <= ((rule >> LIVES_AT_MOST) & 63)
    ok &= tokens < ((rule >> HINTS_BELOW) & 63)
    limit = (rule >> DECK_AT_MOST) & 63
    if limit != NO_LIMIT:
        deck = np.int64(row[DECK_SIZE] - row[DECK_NEXT])
        if (rule & TRUE_DECK) == 0:
            me = np.int64(row[TURN]) & 7
            for i in range(hand_size(dims)):
                deck += np.int64(row[hand_at(dims, me) + i] != NO_CARD)
        ok &= deck <= limit
    ok &= ((rule & HINTS_FULL) == 0) | full
    ok &= ((rule & TWO_PLAYERS) == 0) | (players(dims) == 2)
    op = rule & 255
    ok &= (op < DISCARDS) | (op >= UNBLOCK) | (not full)
    ok &= (op < TELLS) | (tokens > 0)
    return ok


@inline
def propose(dims: Any, row: Any, mem: Any, script: Any, rule: int, board: Any) -> int:
    """What one rule proposes: a legal action, a choice code, or ``SILENT``.

    ``board`` = board_of(dims, row); of ``script`` only the settings are read.
    """
    h = hand_size(dims)
    op = rule & 255
    if not applies(dims, row, rule):
        return SILENT
    if op == DISCARD_RANDOM:
        return DISCARD_ANY
    if op < UNBLOCK:
        slot = own_slot(dims, row, mem, script, rule, board)
        return slot + h if (slot >= 0) & (op < DISCARDS) else slot
    if op == TELL_MOST:
        return tell_most(dims, row, mem, script, rule, board)
    if op < TELL_NEW_CARD and op != UNBLOCK:
        return tell_card(dims, row, mem, script, rule, board)
    if op == TELL_NEW_CARD:
        return tell_new_card(dims, row, mem, board)
    if op == TELL_RANDOM:
        me = np.int64(row[TURN]) & 7
        after = me + 1 if me + 1 < players(dims) else 0
        return TELL_ANY if row[hand_at(dims, after)] != NO_CARD else SILENT
    if row[INFO] == 0 and row[MAX_INFO] > 0:
        return unblock(dims, row, mem, board)
    return SILENT


@routine
def decide(dims: Any, row: Any, mem: Any, script: Any) -> int:
    """What the first rule of the list that proposes something proposes."""
    board = board_of(dims, row)
    for k in range(np.int64(script[RULES])):
        code = propose(dims, row, mem, script, np.int64(script[FIRST_RULE + k]), board)
        if code != SILENT:
            return code
    return SILENT


@inline
def remember_hint(
    dims: Any, row: Any, mem: Any, convention: int, target: int, by_rank: bool, value: int
) -> None:
    """Update a memory with a hint."""
    h = hand_size(dims)
    hits = np.int64(row[LAST_TOUCHED])
    shift = 5 if by_rank else 0
    one = 1 << (value + shift)
    rest = (31 << shift) & ~one
    single = (hits & (hits - 1)) == 0
    after = np.int64(row[LAST_PLAYER]) + 1
    after = after if after < players(dims) else 0
    singled = SINGLED if single & (target == after) & (convention == PREVIOUS_PLAYER) else 0
    for q in range(h):
        word = np.int64(mem[target * h + q])
        hit = (hits >> slot_of(word)) & 1
        mem[target * h + q] = (word & ~rest) | singled if hit else word & ~one
        if convention == ANY_GIVER and single and hit:
            at = planes_at(dims, target, q)
            plane = np.int64(row[PLAYABLE])
            if mem[at] != plane:  # what was playable never comes back: no other can be equal
                for j in range(PLANES - 1, 0, -1):
                    mem[at + j] = mem[at + j - 1]
                mem[at] = plane


@inline
def remember_gap(dims: Any, mem: Any, settings: int, player: int, slot: int, drew: bool) -> None:
    """Update a memory with a card that left a hand, and the one that replaced it."""
    h = hand_size(dims)
    base = player * h
    by_age = (settings & BY_AGE) != 0
    drawn = h - 1 if drew else EMPTY
    fresh = ((1 << colors(dims)) - 1) | ((1 << ranks(dims)) - 1) << 5 | drawn << SLOT
    for q in range(h):
        if by_age:
            after = np.int64(mem[base + min(q + 1, h - 1)])
            moves = q + 1 < h and slot_of(after) != EMPTY
            moved = after & ~(15 << SLOT) | q << SLOT
            new = fresh if q + 1 == h else fresh | EMPTY << SLOT
            if q >= slot:
                mem[base + q] = moved if moves else new
        else:
            word = np.int64(mem[base + q])
            at = slot_of(word)
            moved = word - (np.int64((at > slot) & (at != EMPTY)) << SLOT)
            mem[base + q] = fresh if at == slot else moved
    if (settings & 3) == ANY_GIVER:
        for q in range(h):
            at = planes_at(dims, player, q)
            gone = q >= slot if by_age else slot_of(np.int64(mem[base + q])) == drawn
            for j in range(PLANES):
                after = np.int64(mem[at + PLANES + j]) if by_age and q + 1 < h else np.int64(0)
                mem[at + j] = after if gone else mem[at + j]


@inline
def remember(dims: Any, row: Any, mem: Any, script: Any) -> None:
    """Update a memory with the last move."""
    p, h, c = players(dims), hand_size(dims), colors(dims)
    actor = np.int64(row[LAST_PLAYER]) & 7
    action = np.int64(row[LAST_ACTION])
    settings = np.int64(script[SETTINGS])
    if action >= 2 * h:
        offset, attribute = hint_of(dims, action)
        target = actor + offset
        target = target if target < p else target - p
        by_rank = attribute >= c
        value = attribute - c if by_rank else attribute
        remember_hint(dims, row, mem, settings & 3, target, by_rank, value)
        recent = hint_code(target, by_rank, value)
    else:
        slot = action - h if action >= h else action
        remember_gap(dims, mem, settings, actor, slot, (row[LAST_FLAGS] & DREW) != 0)
        recent = np.int64(255) if action >= h else 128 + actor
        if action >= h and (settings & 3) == PREVIOUS_PLAYER:
            for i in range(p * h):
                mem[i] &= ~SINGLED
    if settings & RECENT:
        at = recent_at(dims, script)
        for j in range(RECENT_WORDS):
            word = np.int64(mem[at + j])
            mem[at + j] = (word << 8 | recent) & 0xFFFFFF
            recent = (word >> 16) & 255


@routine
def observe(dims: Any, row: Any, seat: int, mem: Any, script: Any) -> bool:
    remember(dims, row, mem, script)
    return False


@routine
def common(dims: Any, row: Any, mem: Any, script: Any) -> bool:
    remember(dims, row, mem, script)
    return True


@inline
def proposed_mask(dims: Any, row: Any, mem: Any, script: Any, legal: int) -> int:
    """Bit a set where some rule of the script may make the legal action a."""
    board = board_of(dims, row)
    mask = 0
    for k in range(np.int64(script[RULES])):
        code = propose(dims, row, mem, script, np.int64(script[FIRST_RULE + k]), board)
        if code >= 0:
            mask |= 1 << code
        elif code != SILENT:
            for a in range(63):
                if (legal >> a) & 1 and chance_of_code(dims, row, code, legal, a) > 0:
                    mask |= 1 << a
    return mask & legal


@kernel
def proposed_rows(dims: Any, script: Any, rows: Any, memory: Any, out: Any) -> None:
    """out[b, a] = may some rule make the legal action a in row b?"""
    for b in range(len(rows)):
        mem = memory[b if len(memory) > 1 else 0]
        mask = proposed_mask(dims, rows[b], mem, script, legal_mask(dims, rows[b]))
        for a in range(out.shape[1]):
            out[b, a] = (mask >> a) & 1


@kernel
def propose_rows(dims: Any, script: Any, rows: Any, memory: Any, out: Any) -> None:
    """out[b, k] = what the k-th rule of the script proposes in row b, an action or a code."""
    for b in range(len(rows)):
        mem = memory[b if len(memory) > 1 else 0]
        board = board_of(dims, rows[b])
        for k in range(out.shape[1]):
            rule = np.int64(script[FIRST_RULE + k])
            out[b, k] = propose(dims, rows[b], mem, script, rule, board)
