"""Compiled loops over the hands a player may hold: enumerate, weigh, sample, filter.

A hand is one integer, 5 bits a card, the oldest lowest: int32, or int64 for 7 and 8 cards. The
``known`` oldest slots of a belief's hands are spelled out; newer slots are *pending*: anything
unseen, not yet enumerated. ``unseen`` int64 [32] counts, for each identity, the copies in the deck
and in the player's own hand.
Letters: N hands, G groups of hands under which the other seats' memories are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.bots.game_loops import alike, decide_as, observe_as
from hanabi_search_plugin.hanabi.bots.routines import call_common
from hanabi_search_plugin.hanabi.bots.script import COMMON, KIND, NO_BOT, chance_of_code
from hanabi_search_plugin.hanabi.engine.hands import kept, load_hand, next_hand
from hanabi_search_plugin.hanabi.engine.layout import (
    colors,
    copy_words,
    hand_at,
    players,
    popcount,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import legal_mask
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "exact beliefs"

PARENT, DEPTH, EVALUATED = 0, 1, 2  # words of an enumeration's cursor
TOO_MANY, DEPENDS_ON_PENDING = -1, -2  # answers of ``regroup``


@inline
def chance_of(
    dims: Any,
    script: Any,
    epsilon: float,
    uncertainty: float,
    row: Any,
    mem: Any,
    action: int,
) -> float:
    """P(the player to move plays ``action``), which is legal; see ``beliefs.exact``."""
    if script[KIND] == NO_BOT:
        return 1.0
    code = decide_as(dims, script, row, mem)
    if code >= 0 and epsilon == 0.0:
        chance = 1.0 if code == action else 0.0
    else:
        legal = legal_mask(dims, row)
        chance = (1.0 - epsilon) * chance_of_code(dims, row, code, legal, action)
        chance += epsilon / popcount(legal)
    return chance + uncertainty * (1.0 - chance)


@kernel
def filter_hands(
    dims: Any,
    row: Any,
    seat: int,
    hands: Any,
    likelihood: Any,
    groups: Any,
    memories: Any,
    known: int,
    present: int,
    unseen: Any,
    allowed: Any,
    script: Any,
    epsilon: float,
    uncertainty: float,
    action: int,
    coarse: int,
    thin: int,
    salt: int,
    cursor: Any,
    cards: Any,
    counts: Any,
    out_hands: Any,
    out_likelihood: Any,
    out_parents: Any,
) -> int:
    """Enumerate the pending slots and keep the hands under which the bot may make its move.

    ``row`` is the seat's own view before the move (its hand is overwritten). ``likelihood`` and
    ``groups`` may be empty: all 1 and all 0; ``out_likelihood``, ``out_parents`` empty: not wanted.
    ``memories`` int32 [G, words]: the mover's. ``allowed`` int64 [H]: identities a slot may have.
    ``coarse`` and ``thin`` leave hands out, see ``next_hand`` and ``kept``. Fills at most
    len(out_hands) hands and returns how many, with the parent each grew from; call again until
    cursor[PARENT] == len(hands).
    """
    kinds = colors(dims) * ranks(dims)
    mine = hand_at(dims, seat)
    n = 0
    parent, depth = cursor[PARENT], cursor[DEPTH]
    while parent < len(hands) and n < len(out_hands):
        if depth < 0:  # a new parent
            fits = load_hand(np.int64(hands[parent]), cards, counts, unseen, allowed, known)
            depth = known
            if known < present:
                cards[depth] = -1
            leaf = fits and known == present
            if not fits:
                depth = -1
                parent += 1
                continue
        else:
            leaf = False
        if not leaf:
            depth = next_hand(cards, counts, allowed, known, present, kinds, depth, coarse, salt)
            if depth < 0:
                parent += 1
                continue
        packed = 0
        for i in range(present):
            row[mine + i] = cards[i]
            packed |= cards[i] << (5 * i)
        group = groups[parent] if len(groups) > 0 else 0
        like = likelihood[parent] if len(likelihood) > 0 else 1.0
        if thin == 0 or kept(packed, thin, salt):
            cursor[EVALUATED] += np.int64(script[KIND] != NO_BOT)
            like *= chance_of(dims, script, epsilon, uncertainty, row, memories[group], action)
            if like > 0.0:
                out_hands[n] = packed
                if len(out_parents) > 0:
                    out_parents[n] = parent
                if len(out_likelihood) > 0:
                    out_likelihood[n] = like
                n += 1
        if leaf:
            depth = -1
            parent += 1
    cursor[PARENT], cursor[DEPTH] = parent, depth
    return n


@inline
def of_one_mind(scripts: Any, memories: Any, seat: int) -> int:
    """The first other seat, if the others are one bot with equal memories and a COMMON; or -1."""
    one = 1 if seat == 0 else 0
    same = len(scripts) > 2 and scripts[one, COMMON] != 0
    for other in range(len(scripts)):
        if other != seat:
            same &= alike(scripts, memories, one, other)
    return one if same else -1


@inline
def observe_others(dims: Any, scripts: Any, row: Any, seat: int, one: int, memories: Any) -> bool:
    """``observe_as`` for all other seats; ``memories`` [P, words]. True: cards were read.

    ``one`` is a seat whose memory serves for all of them (``of_one_mind``), or -1. With it the move
    has to be one whose reading depends on cards.
    """
    p = players(dims)
    if one >= 0 and call_common(scripts[one, COMMON], dims, row, memories[one], scripts[one]):
        for other in range(p):
            if other != seat and other != one:
                copy_words(memories[one], memories[other])
        return True
    hidden = False
    for other in range(p):
        if other != seat:
            hidden |= observe_as(dims, scripts[other], row, other, memories[other])
    return hidden


@kernel
def regroup(
    dims: Any,
    row: Any,
    seat: int,
    hands: Any,
    known: int,
    groups: Any,
    memories: Any,
    scripts: Any,
    pending: bool,
    new_groups: Any,
    new_memories: Any,
) -> int:
    """Update the other seats' memories by the last move, under every hand.

    ``row`` is the seat's view after the move (its hand is overwritten), ``memories`` int32
    [G, P, words] and ``groups`` [N] (empty: all 0) those before it. Hands whose memories come out
    equal share a group. Returns the number of groups, TOO_MANY if ``new_memories`` is too short, or
    DEPENDS_ON_PENDING if slots are ``pending`` and the hand matters; ``new_groups`` is left alone
    where one group stays one.
    """
    p = players(dims)
    mine = hand_at(dims, seat)
    parents = np.empty(len(new_memories), np.int64)
    hidden = np.zeros(len(memories), np.bool_)  # does the hand matter at all?
    first = np.full(len(memories), -1, np.int64)
    one = np.full(len(memories), -1, np.int64)  # as ``observe_others`` takes it
    scratch = np.empty_like(memories[0])
    size = 0
    for n in range(len(hands)):
        old = groups[n] if len(groups) > 0 else 0
        if first[old] >= 0 and not hidden[old]:
            new_groups[n] = first[old]
            continue
        for i in range(known):
            row[mine + i] = (np.int64(hands[n]) >> (5 * i)) & 31
        for other in range(p):
            copy_words(memories[old, other], scratch[other])
        hidden[old] |= observe_others(dims, scripts, row, seat, one[old], scratch)
        if pending and hidden[old]:
            return DEPENDS_ON_PENDING
        found = -1
        for g in range(size):
            if found < 0 and parents[g] == old:
                same = True
                for other in range(p):
                    for j in range(scratch.shape[1]):
                        same &= new_memories[g, other, j] == scratch[other, j]
                if same:
                    found = g
        if found < 0:
            if size == len(new_memories):
                return TOO_MANY
            for other in range(p):
                copy_words(scratch[other], new_memories[size, other])
            parents[size] = old
            found = size
            size += 1
        if first[old] < 0:
            first[old] = found
            one[old] = of_one_mind(scripts, memories[old], seat)
        if len(memories) == 1 and not hidden[0]:
            return 1
        new_groups[n] = found
    return size
