"""``PublicBeliefNet`` compiled as a whole: memories, decisions, and worlds played on by them.

Features are those of ``belief_kernels``, layers of ``row_layers``: what comes of a row follows from
its own inputs alone, so that a world played on meets the moves that are chosen view by view.
Letters as in ``belief_kernels``; B worlds, U public rows, T others, N hints to one player.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.engine.layout import (
    HANDS,
    NO_CARD,
    TURN,
    colors,
    copy_words,
    hand_size,
    players,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import legal_mask, step
from hanabi_search_plugin.jit import inline, kernel, routine
from hanabi_search_plugin.networks.encodings.belief_kernels import (
    hint_features,
    hint_touches,
    list_hints,
    memory_features,
    others_features,
    own_features,
    public_features,
    remember_heard,
    told_features,
    true_shares,
)
from hanabi_search_plugin.networks.encodings.belief_parts import (
    COMMON,
    COUNTS,
    FEATURES,
    RECEIVED,
    SHOWN,
)
from hanabi_search_plugin.networks.encodings.lanes import WIDTH
from hanabi_search_plugin.networks.encodings.mask_features import HEADS, public_words
from hanabi_search_plugin.networks.row_layers import linear_rows

COMPILES = "networks of public beliefs"

MOST_SLOTS = 10  # of a hand for which the hints that touch the same slots are looked up
PLAY, DISCARD, COLOR, RANK = 0, 1, 2, 3  # kinds of moves, as in ``MoveHeads``

Floats = NDArray[np.float32]
Layer = tuple[Floats, Floats]  # weights and bias, as ``row_layers`` takes them

RELU, LINEAR = np.float32(0), np.float32(-np.inf)


class Layers(NamedTuple):
    """A network's weights, its columns set apart where inputs come from several places."""

    cell_first: Layer
    cell_second: Layer
    cell_around: Layer
    cell_slot: Floats
    cell_places: Floats  # [T, H, scorer]
    cell_weights: Layer
    foreseen: Layer  # what the first layer of the cell has for a table
    told: Floats  # [T, ...] and for a hand in it
    hint_events: Floats  # [T, N, hidden] and for the event of a hint
    table: Layer  # what all see of the table, the own slots, what the others' cards are
    table_own: Floats
    table_others: Floats
    context: Layer
    kinds_and_value: Layer
    own_context: Layer
    own: Floats
    own_places: Floats  # [H, scorer]
    own_rest: Layer
    own_heads: Layer
    hint_context: Layer
    hint_shown: Layer  # what all know of a hint, what its cards are, what both make
    hint_received: Floats
    hint_both: Floats
    hint_rows: Floats  # [T, N, scorer]
    hint_rest: Layer
    hint_heads: Layer
    likely: Floats  # see ``memory_features``
    fading: Floats
    heights: Floats  # see ``others_features``


@kernel
def layer(x: Any, weights: Any, floor: Any) -> Any:
    """x W + b, cut off below ``floor``."""
    nobody = np.zeros(len(x), np.int64)
    nothing = np.zeros((1, weights[1].shape[1]), np.float32)
    return layer_from(x, weights[0], weights[1], nobody, nothing, nobody, floor)


@kernel
def layer_from(
    x: Any, weights: Any, start: Any, which: Any, more: Any, whose: Any, floor: Any
) -> Any:
    """x W + start[which] + more[whose], cut off below ``floor``."""
    out = np.empty((len(x), start.shape[1]), np.float32)
    linear_rows(x, weights, start, which, more, whose, floor, out)
    return out


@routine
def around_cards(layers: Any, hidden: Any) -> Any:
    """What the cell's first outputs [n, hidden] add to every card's scorer."""
    context = layer(hidden, layers.cell_second, RELU)
    return layer(context, layers.cell_around, LINEAR)


@routine
def said_of_cards(layers: Any, slots: Any, around: Any, places: Any) -> Any:
    """The cell's weights [n x S, W + 1 or more] for slots [n x S, COMMON + F] of n contexts.

    ``around`` [n, scorer] and ``places`` [S, scorer].
    """
    every = np.arange(len(slots))
    row, place = every // len(places), every % len(places)
    hidden = layer_from(slots, layers.cell_slot, around, row, places, place, RELU)
    return layer(hidden, layers.cell_weights, LINEAR)


@kernel
def remember_rows(dims: Any, sizes: Any, layers: Any, public: Any, memory: Any, after: Any) -> None:
    """Memories ``after`` the event, int16 [B, K x X], from words [B, N] and those before it."""
    n, p, h, r = len(public), players(dims), hand_size(dims), ranks(dims)
    cards, every, each = p * h, colors(dims) * r, COMMON + FEATURES + r
    others = cards - h
    table = np.empty((n, layers.cell_first[0].shape[1]), np.float32)
    slots = np.empty((n, others, each), np.float32)
    moved = np.empty((n, cards, every + COUNTS), np.int16)
    identities = np.empty((n, 11 + r, WIDTH), np.float32)
    memory_features(
        dims, sizes, public, memory, layers.likely, layers.fading, table, slots, moved, identities
    )
    around = around_cards(layers, layer(table, layers.cell_first, RELU))
    places = layers.cell_places.reshape(others, -1)
    said = said_of_cards(layers, slots.reshape(n * others, each), around, places)
    remember_heard(dims, public, moved, identities, said.reshape(n, others, -1), after)


@routine
def foresee(
    dims: Any,
    layers: Any,
    public: Any,
    seats: Any,
    told: Any,
    t: int,
    before: Any,
    log_weight: Any,
    weight: Any,
    free: Any,
    identities: Any,
    foreseen: Any,
) -> Any:
    """What all would believe after hints ``told`` [M, 3] to the t-th other player [M, H, WIDTH].

    And what the scorer of hints makes of it, [M, scorer]. ``told`` as ``list_hints`` writes it,
    ``foreseen`` [U, hidden] what the cell's first layer has for the table, the others as
    ``public_features`` wrote them.
    """
    different, h = len(told), hand_size(dims)
    each = COMMON + FEATURES + ranks(dims)
    row, hint = told[:, 0].copy(), told[:, 1].copy()
    slot = np.empty((different, h * each), np.float32)
    change = np.empty((different, h * each), np.float32)
    told_features(dims, public, seats, told, t, before, weight, free, slot, change)
    hidden = layer_from(change, layers.told[t], foreseen, row, layers.hint_events[t], hint, RELU)
    said = said_of_cards(
        layers,
        slot.reshape(different * h, each),
        around_cards(layers, hidden),
        layers.cell_places[t],
    )
    after = np.empty((different, h, WIDTH), np.float32)
    shown = np.empty((different, h * SHOWN + 2), np.float32)
    hint_features(
        dims, public, seats, told, t, before, log_weight, free, identities,
        said.reshape(different, h, -1), after, shown,
    )  # fmt: skip
    nobody = np.zeros(different, np.int64)
    shown = layer_from(
        shown, layers.hint_shown[0], layers.hint_shown[1], nobody, layers.hint_rows[t], hint, LINEAR
    )
    return after, shown


@kernel
def decide_rows(
    dims: Any,
    sizes: Any,
    layers: Any,
    public: Any,
    memory: Any,
    seats: Any,
    private: Any,
    which: Any,
    shared: bool,
) -> Any:
    """Scores of own cards [B x H, 4 ..], of hints [B, T, N, 2], and kinds and value [B, 9 ..].

    Public words [U, N], memories [U, K x X] and the ``seats`` [U] that look; cards [B, K] and
    ``which`` public row is whose, int64 [B]. ``shared``: equal hints are foreseen once. A hint
    that is not allowed gets 0.
    """
    m, n, p, h = len(public), len(private), players(dims), hand_size(dims)
    c, r = colors(dims), ranks(dims)
    cards, kinds = p * h, c + r
    table = np.empty((m, layers.table[0].shape[1]), np.float32)
    before = np.empty((m, layers.foreseen[0].shape[1]), np.float32)
    log_weight = np.empty((m, cards, WIDTH), np.float32)
    weight = np.empty((m, cards, WIDTH), np.float32)
    belief = np.empty((m, cards, WIDTH), np.float32)
    free = np.empty((m, cards, WIDTH), np.float32)
    identities = np.empty((m, 11 + r, WIDTH), np.float32)
    public_features(
        dims, sizes, public, memory, seats, layers.likely, layers.fading, table, before, log_weight,
        weight, belief, free, identities,
    )  # fmt: skip

    rows, nobody = np.arange(n), np.zeros(n, np.int64)
    own = np.empty((n, layers.table_own.shape[1]), np.float32)
    held = np.empty((n, WIDTH), np.float32)
    others = np.empty((n, layers.table_others.shape[1]), np.float32)
    received = np.empty((n, p - 1, h * RECEIVED), np.float32)
    touches = np.empty((n, p - 1, kinds), np.int64)
    own_features(dims, public, private, which, seats, before, weight, own, held)
    others_features(
        dims, public, private, which, seats, layers.heights, belief, held, rows, others, received
    )
    hint_touches(dims, public, private, which, seats, touches)

    start = layer(table, layers.table, LINEAR)
    nothing = np.zeros((1, start.shape[1]), np.float32)
    start = layer_from(own, layers.table_own, start, which, nothing, nobody, LINEAR)
    start = layer_from(others, layers.table_others, start, rows, nothing, nobody, RELU)
    context = layer(start, layers.context, RELU)

    slots = np.arange(n * h)
    around = layer(context, layers.own_context, LINEAR)
    of_own = own.reshape(n * h, -1)
    of_own = layer_from(of_own, layers.own, around, slots // h, layers.own_places, slots % h, RELU)
    of_own = layer(layer(of_own, layers.own_rest, RELU), layers.own_heads, LINEAR)

    hinted = np.zeros((n, p - 1, kinds, 2), np.float32)
    around = layer(context, layers.hint_context, LINEAR)
    foreseen = layer(before, layers.foreseen, LINEAR)
    hints, written = np.empty((n * kinds, 3), np.int64), np.empty((n * kinds, 3), np.int64)
    room = (m, kinds, 1 << h) if shared and h <= MOST_SLOTS else (0, 0, 0)
    found = np.empty(room, np.int64)
    for t in range(p - 1):
        touch = touches[:, t].copy()
        different, allowed = list_hints(touch, which, found, hints, written)
        if allowed == 0:
            continue
        told, asked = hints[:different], written[:allowed]
        after, shown = foresee(
            dims, layers, public, seats, told, t, before, log_weight, weight, free, identities,
            foreseen,
        )  # fmt: skip
        truly = np.empty((allowed, h), np.float32)
        true_shares(dims, private, which, seats, t, asked, after, truly)
        world, same = asked[:, 0].copy(), asked[:, 2].copy()
        of_world = layer_from(
            received[:, t].copy(), layers.hint_received, around, rows, nothing_like(around),
            nobody, LINEAR,
        )  # fmt: skip
        scores = layer_from(truly, layers.hint_both, shown, same, of_world, world, RELU)
        scores = layer(layer(scores, layers.hint_rest, RELU), layers.hint_heads, LINEAR)
        for i in range(allowed):
            hinted[asked[i, 0], t, asked[i, 1], 0] = scores[i, 0]
            hinted[asked[i, 0], t, asked[i, 1], 1] = scores[i, 1]
    return of_own, hinted, layer(context, layers.kinds_and_value, LINEAR)


@routine
def nothing_like(rows: Any) -> Any:
    """[1, N] zeros for rows [n, N]."""
    return np.zeros((1, rows.shape[1]), np.float32)


# ------------------------------------------------------------------------------ worlds played on


@inline
def best_move(dims: Any, row: Any, own: Any, hints: Any, kinds: Any) -> int:
    """The legal move of the highest logit, the first of equals; -1 where logits are no numbers.

    Scores of own cards [H, 4 ..] and of hints [T, N, 2], and of kinds of moves [4 ..].
    """
    h, c, r = hand_size(dims), colors(dims), ranks(dims)
    legal, by_rank = legal_mask(dims, row), 2 * h + (players(dims) - 1) * c
    best, most = -1, np.float32(-np.inf)
    for action in range(by_rank + (players(dims) - 1) * r):
        if not (legal >> action) & 1:
            continue
        if action < h:
            logit = own[action, 2] + kinds[DISCARD]
        elif action < 2 * h:
            logit = own[action - h, 0] + kinds[PLAY]
        elif action < by_rank:
            hint = action - 2 * h
            logit = hints[hint // c, hint % c, 0] + kinds[COLOR]
        else:
            hint = action - by_rank
            logit = hints[hint // r, c + hint % r, 0] + kinds[RANK]
        if np.isnan(logit):
            return -1
        if logit > most:
            best, most = action, logit
    return best


@kernel
def play_rows(dims: Any, sizes: Any, layers: Any, rows: Any, memory: Any, depth: int) -> bool:
    """Plays worlds [B, W] on in place, to the end or for ``depth`` moves where that is not below 0.

    ``memory`` int16 [B, K x X] is kept up to date, but for games that end. False where a
    logit is no number.
    """
    worlds, cards = len(rows), players(dims) * hand_size(dims)
    h = hand_size(dims)
    alive = np.empty(worlds, np.int64)
    words = np.empty((worlds, HEADS + cards + players(dims)), np.int32)
    before, after = np.empty_like(memory), np.empty_like(memory)
    private = np.empty((worlds, cards), np.int32)
    seats, every = np.empty(worlds, np.int64), np.arange(worlds)
    n = 0
    for b in range(worlds):
        if rows[b, TURN] >= 0:
            alive[n] = b
            n += 1
    move = 0
    while n > 0 and move != depth:
        for i in range(n):
            b = alive[i]
            row, seats[i] = rows[b], np.int64(rows[b, TURN])
            public_words(dims, rows[b : b + 1], words[i : i + 1])
            copy_words(memory[b], before[i])
            for k in range(cards):
                mine = k // h == seats[i]
                private[i, k] = NO_CARD if mine else row[HANDS + k]
        own, hints, kinds = decide_rows(
            dims, sizes, layers, words[:n], before[:n], seats[:n], private[:n], every[:n], False
        )
        left = 0
        for i in range(n):
            b = alive[i]
            action = best_move(dims, rows[b], own[i * h : (i + 1) * h], hints[i], kinds[i])
            if action < 0:
                return False
            step(dims, rows[b], action, True)
            if rows[b, TURN] >= 0:
                alive[left] = b
                left += 1
        n = left
        for i in range(n):
            b = alive[i]
            public_words(dims, rows[b : b + 1], words[i : i + 1])
            copy_words(memory[b], before[i])
        remember_rows(dims, sizes, layers, words[:n], before[:n], after[:n])
        for i in range(n):
            copy_words(after[i], memory[alive[i]])
        move += 1
    return True
