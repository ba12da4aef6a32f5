"""A world of Hanabi as one row of int32 words, and the helpers every kernel uses.

Card identities are ``ranks * colour + rank``; a set of identities is a bit mask ("plane").
``dims`` = (players, hand size, colours, ranks). Each entry is a number, or a tuple of that length:
tuples carry the number in their type, so that LLVM unrolls loops for the standard games.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.jit import inline

# Words of the header.
TURN = 0  # player to move, -1 when the game is over
LIVES = 1
INFO = 2  # information tokens left
DECK_NEXT = 3  # index of the next card of the deck
DECK_SIZE = 4  # cards in the whole deck
COUNTDOWN = 5  # moves left once the deck is empty
PLAYED = 6  # plane: identities on the fireworks
PLAYABLE = 7  # plane: identities that would score now
LEFT0 = 8  # planes: identities with at most 0, 1, 2 copies not yet played or discarded
LEFT1 = 9
LEFT2 = 10
LAST_PLAYER = 11  # the last move, for observers; -1 before the first
LAST_ACTION = 12
LAST_CARD = 13  # identity played or discarded, -1 for a hint
LAST_TOUCHED = 14  # bit i: slot i of the hinted hand was touched
LAST_FLAGS = 15  # SCORED | GAINED_INFO | DREW
MAX_INFO = 16
MAX_LIVES = 17
BOMB = 18  # 0 zero, 1 keep, 2 minus one
ALL = 19  # plane of all identities
ABOVE0 = 20  # plane: ranks 1 and up
ABOVE1 = 21  # plane: ranks 2 and up
TOP = 22  # plane: the last rank of every colour
MOVES = 23  # moves played
HANDS = 24  # players x hand size cards, oldest first, NO_CARD past the end; then as many words of
# hint knowledge, then the deck, first dealt first

SCORED, GAINED_INFO, DREW = 1, 2, 4
NO_CARD = 31
HIDDEN_CARD = 30  # in a view: a card is there, its identity is not shown

# Hint knowledge of a card: plausible colours (bits 0-4), ranks (5-9), and what was told outright.
TOLD_COLOR, TOLD_RANK = 1 << 10, 1 << 11


@intrinsic  # type: ignore[untyped-decorator]
def popcount(typingctx: Any, x: Any) -> Any:
    """Number of set bits of an integer."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typingctx: Any, x: Any) -> Any:
    """Index of the lowest set bit; undefined for 0."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


def extent(entry: Any) -> int:
    """An entry of ``dims`` as a number."""
    return len(entry) if isinstance(entry, tuple) else int(entry)


@overload(extent)
def _extent(entry):  # type: ignore[no-untyped-def]  # Numba compares the signatures
    if isinstance(entry, types.BaseTuple):
        return lambda entry: len(entry)
    return lambda entry: entry


@inline
def copy_words(source: Any, target: Any) -> None:
    """``target[:] = source`` for two rows; written out, it compiles in a tenth of the time."""
    for j in range(len(source)):
        target[j] = source[j]


@inline
def players(dims: Any) -> int:
    return extent(dims[0])


@inline
def hand_size(dims: Any) -> int:
    return extent(dims[1])


@inline
def colors(dims: Any) -> int:
    return extent(dims[2])


@inline
def ranks(dims: Any) -> int:
    return extent(dims[3])


@inline
def hand_at(dims: Any, player: int) -> int:
    """Index of the first card of a hand."""
    return HANDS + player * hand_size(dims)


@inline
def knowledge_at(dims: Any, player: int) -> int:
    """Index of the first word of hint knowledge of a hand."""
    return HANDS + (players(dims) + player) * hand_size(dims)


@inline
def deck_at(dims: Any) -> int:
    """Index of the deck's first card."""
    return HANDS + 2 * players(dims) * hand_size(dims)


@inline
def color_plane(dims: Any, color: Any) -> Any:
    """The identities of a colour."""
    r = ranks(dims)
    return ((1 << r) - 1) << (r * color)


@inline
def rank_plane(dims: Any, rank: Any) -> Any:
    """The identities of a rank."""
    r = ranks(dims)
    first = 0
    for k in range(colors(dims)):
        first |= 1 << (r * k)
    return first << rank


@inline
def plausible(dims: Any, word: int) -> int:
    """The identities that hints leave open for a card, from its word of hint knowledge."""
    r = ranks(dims)
    of_one_color = (word >> 5) & ((1 << r) - 1)
    plane = 0
    for k in range(colors(dims)):
        plane |= (of_one_color << (r * k)) & -((word >> k) & 1)
    return plane


def row_width(config: HanabiConfig) -> int:
    """Words in a world's row."""
    return HANDS + 2 * config.players * config.hand_size + config.deck_size


TYPED_PLAYERS = {2, 3, 4, 5}
"""Numbers of players for which the standard game's ``dims`` are typed.

SPARTA over SmartBot with 4 players takes 1.3 to 1.5 times as long where they are numbers, and the
kernels of each number of players that has types are compiled apart. Tests take 2 alone.
"""


def dims_of(config: HanabiConfig) -> tuple[Any, ...]:
    """``dims`` of a configuration: typed lengths for the standard games, numbers for others."""
    sizes = (config.players, config.hand_size, config.colors, config.ranks)
    standard = (config.players, 5 if config.players <= 3 else 4, 5, 5)
    typed = sizes == standard and config.players in TYPED_PLAYERS
    return tuple((0,) * n for n in sizes) if typed else sizes


def empty_row(config: HanabiConfig) -> np.ndarray[Any, np.dtype[np.int32]]:
    """The row before the deal: header set, hands and deck to be filled."""
    row = np.full(row_width(config), NO_CARD, dtype=np.int32)
    row[:HANDS] = 0
    row[LIVES] = row[MAX_LIVES] = config.life_tokens
    row[INFO] = row[MAX_INFO] = config.information_tokens
    row[DECK_SIZE] = config.deck_size
    row[COUNTDOWN] = config.players
    row[LAST_PLAYER] = row[LAST_ACTION] = row[LAST_CARD] = -1
    row[BOMB] = ("zero", "keep", "minus_one").index(config.bomb)
    for color in range(config.colors):
        for rank, copies in enumerate(config.copies):
            bit = 1 << (config.ranks * color + rank)
            row[ALL] |= bit
            row[ABOVE0] |= bit if rank >= 1 else 0
            row[ABOVE1] |= bit if rank >= 2 else 0
            row[TOP] |= bit if rank == config.ranks - 1 else 0
            row[PLAYABLE] |= bit if rank == 0 else 0
            row[LEFT1] |= bit if copies <= 1 else 0
            row[LEFT2] |= bit if copies <= 2 else 0
    knowledge = HANDS + config.players * config.hand_size
    all_plausible = ((1 << config.colors) - 1) | ((1 << config.ranks) - 1) << 5
    row[knowledge : knowledge + config.players * config.hand_size] = all_plausible
    return row
