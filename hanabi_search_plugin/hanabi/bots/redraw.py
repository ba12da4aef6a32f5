"""Hands drawn anew by what the convention of a rule agent says; see ``policy.RedrawingGuide``."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.bots.action_rules import EMPTY, possible_under_convention, slot_of
from hanabi_search_plugin.hanabi.engine.layout import hand_size, plausible
from hanabi_search_plugin.hanabi.engine.redeterminize import collect_pool, redraw_hands
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "determinisations by a convention"


@inline
def conventional(
    dims: Any, row: Any, mem: Any, script: Any, player: int, pool: Any, allowed: Any
) -> None:
    """Put into ``allowed`` [H] the plane of what each of the player's cards may be.

    ``pool`` is written over.
    """
    there: Any = np.int64(0)  # a copy is in the player's pool
    for i in range(collect_pool(dims, row, player, pool)):
        there |= 1 << pool[i]
    for position in range(hand_size(dims)):
        word: Any = np.int64(mem[player * hand_size(dims) + position])
        if slot_of(word) != EMPTY:
            possible = plausible(dims, word) & there
            allowed[slot_of(word)] = possible_under_convention(
                dims, row, mem, script, player, position, possible
            )


@kernel
def redraw_rows(
    dims: Any, script: Any, rows: Any, mem: Any, player: int, keep_hand: bool, states: Any
) -> None:
    """``redraw_hands`` in rows [B, W] by the convention; ``mem`` int32 [B or 1, words]."""
    pool = np.empty(rows.shape[1], np.int64)
    allowed = np.full(hand_size(dims), -1)
    for b in range(len(rows)):
        memory = mem[b if len(mem) > 1 else 0]
        conventional(dims, rows[b], memory, script, player, pool, allowed)
        redraw_hands(dims, rows[b : b + 1], player, keep_hand, allowed, states[b : b + 1])
