"""One game played move by move: a move, and what the next player sees, in a single compiled call.

For environments that step one game at a time, where calls cost more than the rules.
Letters: W words of a row, A actions, N elements of an observation, Q = ceil(N / 64).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.hanabi.encoding import encoder_tables
from hanabi_search_plugin.hanabi.encoding_kernels import write_bits
from hanabi_search_plugin.hanabi.kernels import num_actions
from hanabi_search_plugin.hanabi.layout import TURN
from hanabi_search_plugin.hanabi.rules import final_return, legal_mask, step
from hanabi_search_plugin.jit import kernel

REWARD_SHIFT = 64  # makes rewards positive in the number that ``advance`` returns


def encoding_tables(config: HanabiConfig) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """``tables`` and ``spread`` of the kernels below: the encoder's bit patterns, and float64
    [256, 8] the bits of a byte, lowest first."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return encoder_tables(config), bits.astype(np.float64)


@kernel
def show(
    dims: Any,
    tables: Any,
    spread: Any,
    rows: Any,
    words: Any,
    seat: int,
    minimal: bool,
    seer: bool,
    mask: Any,
    observation: Any,
) -> int:
    """What ``seat`` sees in rows [1, W]: its legal moves int8 [A] and observation float64 [N].

    ``words`` int64 [1, Q] is scratch. Returns the player to move.
    """
    row = rows[0]
    legal = legal_mask(dims, row) if row[TURN] == seat else 0
    for a in range(len(mask)):
        mask[a] = (legal >> a) & 1
    write_bits(dims, tables, rows, seat, minimal, seer, words)
    size = len(observation)
    for k in range(size >> 3):
        byte = words[0, k >> 3] >> (8 * (k & 7)) & 255
        for j in range(8):
            observation[8 * k + j] = spread[byte, j]
    k = size >> 3
    for j in range(size & 7):
        byte = words[0, k >> 3] >> (8 * (k & 7)) & 255
        observation[8 * k + j] = spread[byte, j]
    return np.int64(row[TURN])  # type: ignore[return-value]  # an int to compiled code


@kernel
def advance(
    dims: Any,
    tables: Any,
    spread: Any,
    rows: Any,
    words: Any,
    action: int,
    minimal: bool,
    seer: bool,
    mask: Any,
    observation: Any,
) -> int:
    """Play ``action`` in rows [1, W], then ``show`` what the next player sees (player 0 at an end).

    Returns -1 for an illegal action, with nothing changed; else 8 * (reward + REWARD_SHIFT) + 1 +
    the player to move.
    """
    row = rows[0]
    if action < 0 or action >= num_actions(dims) or not (legal_mask(dims, row) >> action) & 1:
        return -1
    before = final_return(row)
    step(dims, row, action)
    reward = final_return(row) - before
    turn = np.int64(row[TURN])
    seat: Any = turn if turn >= 0 else 0
    show(dims, tables, spread, rows, words, seat, minimal, seer, mask, observation)
    return 8 * (reward + REWARD_SHIFT) + 1 + turn  # type: ignore[return-value]
