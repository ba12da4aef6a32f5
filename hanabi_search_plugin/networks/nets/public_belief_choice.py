"""Under which hands ``PublicBeliefNet`` would make one move: what a belief asks after it was made.

The logits are those of ``decide_rows``, bit for bit, but few are computed: a hand is dropped as
soon as some other move is better there, and what does not depend on the order of the cards is
computed once for all hands of the same cards. Letters as in ``belief_kernels``: B hands, all with
one public row; D different ones but for the order of their cards, A those still left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    NO_CARD,
    colors,
    copy_words,
    hand_size,
    players,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import hint_action
from hanabi_search_plugin.jit import inline, kernel, routine
from hanabi_search_plugin.networks.encodings.belief_kernels import (
    hint_touches,
    others_features,
    own_features,
    public_features,
    true_shares,
)
from hanabi_search_plugin.networks.encodings.belief_parts import (
    INFO,
    RECEIVED,
    is_present,
)
from hanabi_search_plugin.networks.encodings.lanes import WIDTH
from hanabi_search_plugin.networks.encodings.mask_features import turned, word
from hanabi_search_plugin.networks.nets.public_belief_kernels import (
    COLOR,
    DISCARD,
    LINEAR,
    PLAY,
    RANK,
    RELU,
    foresee,
    layer,
    layer_from,
    nothing_like,
)

COMPILES = "networks of public beliefs"

BLOCK = 256  # hands at a time, so that what layers pass on stays in the caches of a core


@kernel
def lay_hands(dims: Any, cards: Any, seat: int, hands: Any, private: Any) -> None:
    """Into ``private`` [B, K] what is seen where ``seat`` holds each of ``hands`` [B].

    Five bits a card, oldest lowest. ``cards`` [K] are those seen under one of the hands.
    """
    h = hand_size(dims)
    for b in range(len(hands)):
        hand = np.int64(hands[b])
        for k in range(len(cards)):
            private[b, k] = cards[k]
        for i in range(h):
            if cards[seat * h + i] != NO_CARD:
                private[b, seat * h + i] = (hand >> (5 * i)) & 31


@kernel
def hand_codes(dims: Any, private: Any, seat: int, codes: Any) -> None:
    """Into ``codes`` uint64 [B] a number that is the same for the same cards in any order.

    Of cards [B, K] that ``seat`` sees. Different cards may share a number, which costs time alone.
    """
    p, h, every = players(dims), hand_size(dims), colors(dims) * ranks(dims)
    for b in range(len(private)):
        code = np.uint64(0)
        for t in range(p - 1):
            cards = np.uint64(0)
            for i in range(h):
                card = word(private[b], turned(dims, seat, (t + 1) * h + i))
                if card < every:
                    cards += np.uint64(1) << np.uint64(2 * card)
            code = code * np.uint64(0x9E3779B97F4A7C15) + cards
        codes[b] = code


@routine
def group_alike(dims: Any, private: Any, seat: int, alike: Any, first: Any) -> int:
    """Into ``alike`` [B] the group of each row, into ``first`` the first row of each; how many.

    A group are neighbours in which every player holds the same cards, in any order.
    """
    groups = 0
    for b in range(len(private)):
        if b == 0 or not same_cards(dims, private[b - 1], private[b], seat):
            first[groups] = b
            groups += 1
        alike[b] = groups - 1
    return groups


@inline
def same_cards(dims: Any, one: Any, other: Any, seat: int) -> bool:
    """Does every other player than ``seat`` hold the same cards in both rows, in any order?"""
    h = hand_size(dims)
    for t in range(players(dims) - 1):
        start = turned(dims, seat, (t + 1) * h)
        for i in range(h):
            here, there = 0, 0
            for j in range(h):
                here += one[start + j] == one[start + i]
                there += other[start + j] == one[start + i]
            if here != there:
                return False
    return True


@kernel
def chosen_rows(
    dims: Any,
    sizes: Any,
    layers: Any,
    public: Any,
    memory: Any,
    seats: Any,
    private: Any,
    action: int,
    chosen: Any,
) -> bool:
    """Into ``chosen`` bool [B] whether ``action`` is the move that the network chooses.

    The legal one of the highest logit, the first of equals. Public words [1, N], memory [1, K x X]
    and the seat [1] to move; cards [B, K], best with those of the same cards side by side. False
    where the logit of ``action`` is no number: layers make the least there is of such.
    """
    p, h, c, r = players(dims), hand_size(dims), colors(dims), ranks(dims)
    cards, kinds = p * h, c + r
    table = np.empty((1, layers.table[0].shape[1]), np.float32)
    before = np.empty((1, layers.foreseen[0].shape[1]), np.float32)
    log_weight = np.empty((1, cards, WIDTH), np.float32)
    weight = np.empty((1, cards, WIDTH), np.float32)
    belief = np.empty((1, cards, WIDTH), np.float32)
    free = np.empty((1, cards, WIDTH), np.float32)
    identities = np.empty((1, 11 + r, WIDTH), np.float32)
    public_features(
        dims, sizes, public, memory, seats, layers.likely, layers.fading, table, before, log_weight,
        weight, belief, free, identities,
    )  # fmt: skip
    table = layer(table, layers.table, LINEAR)
    foreseen = layer(before, layers.foreseen, LINEAR)

    n = len(private)
    nobody, touches = np.zeros(n, np.int64), np.empty((n, p - 1, kinds), np.int64)
    hint_touches(dims, public, private, nobody, seats, touches)
    after, shown = [], []  # of the hints to the t-th other player
    place = np.full((p - 1, kinds, 1 << h), -1, np.int64)  # in these: by hint and slots touched
    told = np.empty((kinds << h, 3), np.int64)
    for t in range(p - 1):
        different = list_different(touches[:, t], told, place[t])
        believed, row = foresee(
            dims, layers, public, seats, told[:different], t, before, log_weight, weight, free,
            identities, foreseen,
        )  # fmt: skip
        after.append(believed)
        shown.append(row)

    alike, first = np.empty(n, np.int64), np.empty(n, np.int64)
    group_alike(dims, private, seats[0], alike, first)
    legal = own_moves(dims, sizes, public[0], seats[0])
    mine = hint_of(dims, action)
    every = (p - 1) * kinds
    dropped = np.zeros(every + 1)
    order: Any = np.empty(every + 1, np.int64)
    for i in range(every + 1):
        order[i] = every - i
    chosen[:] = False
    if mine < 0 and not legal[action]:
        return True
    best, scores = np.empty(BLOCK, np.float32), np.empty((BLOCK, 2 * h), np.float32)
    logits, at = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.int64)
    left, asked = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        size, group = end - start, alike[start]
        groups, whose = first[group : alike[end - 1] + 1], alike[start:end] - group
        seen, touched, same = private[start:end], touches[start:end], nobody[: end - start]
        own = np.empty((len(groups), layers.table_own.shape[1]), np.float32)
        held = np.empty((len(groups), WIDTH), np.float32)
        others = np.empty((size, layers.table_others.shape[1]), np.float32)
        received = np.empty((size, p - 1, h * RECEIVED), np.float32)
        own_features(dims, public, private[groups], nobody, seats, before, weight, own, held)
        others_features(
            dims, public, seen, same, seats, layers.heights, belief, held, whose, others, received
        )
        nothing = nothing_like(table)
        hidden = layer_from(own, layers.table_own, table, nobody, nothing, nobody, LINEAR)
        hidden = layer_from(others, layers.table_others, hidden, whose, nothing, same, RELU)
        context = layer(hidden, layers.context, RELU)
        of_kinds = layer(context, layers.kinds_and_value, LINEAR)

        count = 0
        for i in range(size):
            if mine < 0 or touched[i, mine // kinds, mine % kinds] != 0:
                left[count] = i
                count += 1
        if mine < 0:
            score_own(dims, layers, context, own, whose, left[:count], of_kinds, scores)
            for a in range(count):
                best[left[a]] = scores[a, action]
                if not scores[a, action] > LINEAR:
                    return False
            count = kept_by_own(dims, legal, action, scores, best, left[:count])
        # What hints read of each hand, of those that are left before the first is looked at.
        of_world = hint_worlds(layers, context, received, left[:count], at)
        if mine >= 0:
            score_hint(
                dims, layers, mine, seen, seats, touched, place, after, shown, of_world, at,
                left[:count], of_kinds, logits,
            )  # fmt: skip
            for a in range(count):
                best[left[a]] = logits[a]
                if not logits[a] > LINEAR:
                    return False
        for stage in order:
            if count == 0:
                break
            before_it = count
            if stage == every:
                if mine < 0:
                    continue
                score_own(dims, layers, context, own, whose, left[:count], of_kinds, scores)
                count = kept_by_own(dims, legal, action, scores, best, left[:count])
            elif stage != mine:
                t, k = stage // kinds, stage % kinds
                some = 0
                for a in range(count):
                    if touched[left[a], t, k] != 0:
                        asked[some] = left[a]
                        some += 1
                if some == 0:
                    continue
                score_hint(
                    dims, layers, stage, seen, seats, touched, place, after, shown, of_world, at,
                    asked[:some], of_kinds, logits,
                )  # fmt: skip
                count = kept_by_hint(
                    hint_action(dims, t + 1, k), action, logits, asked[:some], best, left[:count]
                )
            dropped[stage] += (before_it - count) / (h if stage == every else 1)
        sort_by_most(dropped, order)
        for a in range(count):
            chosen[start + left[a]] = True
    return True


@inline
def sort_by_most(dropped: Any, order: Any) -> None:
    """Sorts ``order`` in place: the stages that have dropped most hands first."""
    for i in range(1, len(order)):
        stage, j = order[i], i
        while j > 0 and dropped[order[j - 1]] < dropped[stage]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = stage


@routine
def list_different(touches: Any, told: Any, place: Any) -> int:
    """Lists the hints to one player that touch different slots, as ``list_hints``; how many.

    ``touches`` [B, N]. Into ``place`` [N, 2**H], -1 before, where a hint stands in ``told``.
    """
    different = 0
    for b in range(len(touches)):
        for k in range(touches.shape[1]):
            touch = touches[b, k]
            if touch != 0 and place[k, touch] < 0:
                place[k, touch] = different
                told[different, 0], told[different, 1], told[different, 2] = 0, k, touch
                different += 1
    return different


@inline
def hint_of(dims: Any, action: int) -> int:
    """The number of a hint among those to all players, by player; -1 for a play or discard."""
    c, r = colors(dims), ranks(dims)
    by_color = action - 2 * hand_size(dims)
    by_rank = by_color - (players(dims) - 1) * c
    if by_rank >= 0:
        return by_rank // r * (c + r) + c + by_rank % r
    return by_color // c * (c + r) + by_color % c if by_color >= 0 else -1


@routine
def own_moves(dims: Any, sizes: Any, words: Any, seat: int) -> Any:
    """bool [2 H] which discards and plays are legal."""
    h = hand_size(dims)
    legal = np.empty(2 * h, np.bool_)
    for i in range(h):
        here = is_present(dims, words, seat * h + i) != 0
        legal[i] = here and word(words, INFO) < sizes[0]
        legal[h + i] = here
    return legal


@routine
def score_own(
    dims: Any,
    layers: Any,
    context: Any,
    own: Any,
    whose: Any,
    left: Any,
    of_kinds: Any,
    scores: Any,
) -> None:
    """Into ``scores`` [A, 2 H] the logits of discards and plays of the hands ``left``."""
    h, n = hand_size(dims), len(left)
    size = own.shape[1] // h
    slots, row = np.arange(n * h), np.empty((n * h, size), np.float32)
    for a in range(n):
        for i in range(h):
            copy_words(own[whose[left[a]], i * size : (i + 1) * size], row[a * h + i])
    around = layer(context[left], layers.own_context, LINEAR)
    found = layer_from(row, layers.own, around, slots // h, layers.own_places, slots % h, RELU)
    found = layer(layer(found, layers.own_rest, RELU), layers.own_heads, LINEAR)
    for a in range(n):
        for i in range(h):
            scores[a, i] = found[a * h + i, 2] + of_kinds[left[a], DISCARD]
            scores[a, h + i] = found[a * h + i, 0] + of_kinds[left[a], PLAY]


@routine
def hint_worlds(layers: Any, context: Any, received: Any, left: Any, at: Any) -> Any:
    """[T, A, scorer] what the scorer of hints has for each of the hands ``left``, at ``at``."""
    around = layer(context[left], layers.hint_context, LINEAR)
    rows, nobody = np.arange(len(left)), np.zeros(len(left), np.int64)
    out = np.empty((received.shape[1], len(left), around.shape[1]), np.float32)
    for t in range(len(out)):
        cards = received[:, t].copy()[left]
        found = layer_from(
            cards, layers.hint_received, around, rows, nothing_like(around), nobody, LINEAR
        )
        for a in range(len(left)):
            copy_words(found[a], out[t, a])
    for a in range(len(left)):
        at[left[a]] = a
    return out


@routine
def score_hint(
    dims: Any,
    layers: Any,
    hint: int,
    seen: Any,
    seats: Any,
    touched: Any,
    place: Any,
    after: Any,
    shown: Any,
    of_world: Any,
    at: Any,
    left: Any,
    of_kinds: Any,
    logits: Any,
) -> None:
    """Into ``logits`` [A] those of a hint that is legal under all of the hands ``left``."""
    h, n, kinds = hand_size(dims), len(left), colors(dims) + ranks(dims)
    t, k = hint // kinds, hint % kinds
    rows, truly = np.empty((n, 3), np.int64), np.empty((n, h), np.float32)
    for a in range(n):
        rows[a, 0], rows[a, 1], rows[a, 2] = left[a], k, place[t, k, touched[left[a], t, k]]
    nobody = np.zeros(len(seen), np.int64)
    true_shares(dims, seen, nobody, seats, t, rows, after[t], truly)
    found = layer_from(
        truly, layers.hint_both, shown[t], rows[:, 2].copy(), of_world[t], at[left], RELU
    )
    found = layer(layer(found, layers.hint_rest, RELU), layers.hint_heads, LINEAR)
    kind = COLOR if k < colors(dims) else RANK
    for a in range(n):
        logits[a] = found[a, 0] + of_kinds[left[a], kind]


@routine
def kept_by_own(dims: Any, legal: Any, action: int, scores: Any, best: Any, left: Any) -> int:
    """Takes from ``left`` hands with a better move of an own card; how many stay."""
    stay = 0
    for a in range(len(left)):
        better = False
        for move in range(2 * hand_size(dims)):
            if legal[move]:
                better |= is_better(scores[a, move], move, best[left[a]], action)
        left[stay] = left[a]
        stay += not better
    return stay


@routine
def kept_by_hint(move: int, action: int, logits: Any, asked: Any, best: Any, left: Any) -> int:
    """Takes from ``left`` those ``asked`` about a better hint; how many stay."""
    stay, a = 0, 0
    for i in range(len(left)):
        better = False
        if a < len(asked) and asked[a] == left[i]:
            better = is_better(logits[a], move, best[left[i]], action)
            a += 1
        left[stay] = left[i]
        stay += not better
    return stay


@inline
def is_better(logit: Any, move: int, best: Any, action: int) -> bool:
    """Is a move preferred to ``action``, whose logit is ``best``? The first of equals is."""
    return logit > best or (logit == best and move < action)
