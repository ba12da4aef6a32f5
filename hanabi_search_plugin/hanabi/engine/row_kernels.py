"""Batched kernels over rows of worlds: deal, step, legal moves, returns, hiding, random games.

Letters: B worlds, W words of a row, A actions, P players. ``dims`` as in ``layout``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_SIZE,
    HIDDEN_CARD,
    NO_CARD,
    TURN,
    colors,
    copy_words,
    deck_at,
    hand_at,
    hand_size,
    knowledge_at,
    lowest_bit,
    players,
    popcount,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.rules import (
    deal_hands,
    final_return,
    legal_mask,
    next_below,
    next_uniform,
    shuffle,
    step,
)
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "the rules"


@inline
def num_actions(dims: Any) -> int:
    """A, as ``HanabiConfig.num_actions``."""
    return 2 * hand_size(dims) + (players(dims) - 1) * (colors(dims) + ranks(dims))


@inline
def deal_row(dims: Any, template: Any, row: Any, state: Any, random_start: bool) -> None:
    """Shuffle the deck of ``template`` into ``row`` and deal the hands.

    Draws deck size - 1 numbers from the stream ``state``, then one for a random first player.
    """
    for i in range(len(template)):
        row[i] = template[i]
    deck = deck_at(dims)
    end: Any = deck + np.int64(row[DECK_SIZE])
    shuffle(row, deck, end, state)
    deal_hands(dims, row)
    if random_start:
        row[TURN] = next_below(state, players(dims))


@inline
def random_action(mask: Any, state: Any) -> Any:
    """A legal action of a mask that is not 0, uniformly; one draw, as ``UniformPolicy`` takes."""
    k = int(next_uniform(state) * popcount(mask))
    for _ in range(k):
        mask &= mask - 1
    return lowest_bit(mask)


@inline
def hide_row(dims: Any, row: Any, seat: int, hide_hand: bool, hide_hints: bool) -> None:
    """Wipe from a row, in place, what ``seat`` does not see.

    The whole deck goes, the dealt part too: it still shows the order of the seat's own cards.
    """
    p, h = players(dims), hand_size(dims)
    if hide_hand:
        hand = hand_at(dims, seat)
        for i in range(h):
            row[hand + i] = NO_CARD if row[hand + i] == NO_CARD else HIDDEN_CARD
    if hide_hints:
        everything = ((1 << colors(dims)) - 1) | ((1 << ranks(dims)) - 1) << 5
        knowledge = knowledge_at(dims, 0)
        for i in range(p * h):
            row[knowledge + i] = everything
    for i in range(deck_at(dims), len(row)):
        row[i] = NO_CARD


@kernel
def deal_rows(dims: Any, template: Any, seeds: Any, random_start: bool, rows: Any) -> None:
    """Deal a game from each seed (uint64 [B]) into rows [B, W]."""
    state = np.empty(1, dtype=np.uint64)
    for b in range(len(rows)):
        state[0] = seeds[b]
        deal_row(dims, template, rows[b], state, random_start)


@kernel
def deal_decks(dims: Any, template: Any, decks: Any, first: Any, rows: Any) -> None:
    """Deal the decks [B, deck size] into rows [B, W]; players first [B] begin."""
    deck = deck_at(dims)
    for b in range(len(rows)):
        row = rows[b]
        copy_words(template, row)
        copy_words(decks[b], row[deck:])
        deal_hands(dims, row)
        row[TURN] = first[b]


@kernel
def step_rows(dims: Any, rows: Any, actions: Any) -> int:
    """Play actions [B] on rows [B, W] in place.

    Returns -1, or the index of the first world whose action is illegal; then none has moved.
    """
    a = num_actions(dims)
    for b in range(len(rows)):
        action = actions[b]
        if action < 0 or action >= a or not (legal_mask(dims, rows[b]) >> action) & 1:
            return b
    for b in range(len(rows)):
        step(dims, rows[b], actions[b], True)
    return -1


@kernel
def legal_rows(dims: Any, rows: Any, seat: int, legal: Any) -> None:
    """Legal moves of rows [B, W] into bool [B, A].

    ``seat`` -1 asks for the player to move; a seat gets no moves where it is not its turn.
    """
    for b in range(len(rows)):
        mine = seat < 0 or rows[b, TURN] == seat
        mask = legal_mask(dims, rows[b]) if mine else 0
        for a in range(legal.shape[1]):
            legal[b, a] = (mask >> a) & 1


@kernel
def return_rows(rows: Any, returns: Any) -> None:
    """Returns so far of rows [B, W] into float64 [B, P]."""
    for b in range(len(rows)):
        returns[b, :] = final_return(rows[b])


@kernel
def hide_rows(dims: Any, rows: Any, seat: int, hide_hand: bool, hide_hints: bool) -> None:
    """``hide_row`` on rows [B, W] in place."""
    for b in range(len(rows)):
        hide_row(dims, rows[b], seat, hide_hand, hide_hints)


@kernel
def play_random(
    dims: Any, template: Any, seeds: Any, random_start: bool, returns: Any, moves: Any
) -> None:
    """Deal and play a game of uniform random legal moves from each seed (uint64 [B]).

    Writes the final returns and the numbers of moves, int64 [B] each.
    """
    row = np.empty(len(template), dtype=np.int32)
    state = np.empty(1, dtype=np.uint64)
    for b in range(len(seeds)):
        state[0] = seeds[b]
        deal_row(dims, template, row, state, random_start)
        played = 0
        mask = legal_mask(dims, row)
        while mask != 0:
            step(dims, row, random_action(mask, state), True)
            played += 1
            mask = legal_mask(dims, row)
        returns[b] = final_return(row)
        moves[b] = played
