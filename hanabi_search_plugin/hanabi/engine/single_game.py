"""One game played move by move: a move, and what the next player sees, in a single compiled call.

For environments that step one game at a time, where a call from Python costs more than the rules:
so these kernels take few arguments, all of them plain arrays and numbers.
Letters: W words of a row, A actions, N elements of an observation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import encoder_tables, observation_size
from hanabi_search_plugin.hanabi.engine.encoding_kernels import write_bits
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.hanabi.engine.row_kernels import num_actions
from hanabi_search_plugin.hanabi.engine.rules import final_return, legal_mask, step
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "the rules, one game at a time"

REWARD_SHIFT = 64  # makes rewards positive in the number that ``advance`` returns

# A setup is int64 [6, 32]. Its first row: the four entries of ``dims``, then
MINIMAL, SEER = 4, 5  # 1 for that type of observations
TABLES, SCRATCH = 1, 5  # the four rows of the encoder's bit patterns; a row to work in

# [256, 8] the bits of a byte, lowest first
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little") * 1.0


def setup(config: HanabiConfig) -> NDArray[np.int64]:
    """All that the kernels below need to know of a configuration."""
    tables = encoder_tables(config)
    kind = config.observation_type
    head = np.zeros_like(tables[:1])
    head[0, :6] = (config.players, config.hand_size, config.colors, config.ranks,
                   kind == "minimal", kind == "seer")  # fmt: skip
    scratch = np.zeros_like(head)
    assert observation_size(config) <= 64 * scratch.size
    return np.concatenate((head, tables, scratch))


@inline
def write_view(dims: Any, setup: Any, rows: Any, seat: int, mask: Any, observation: Any) -> None:
    """What ``seat`` sees in rows [1, W]."""
    row, words = rows[0], setup[SCRATCH:]
    legal = legal_mask(dims, row) if row[TURN] == seat else 0
    for a in range(len(mask)):
        mask[a] = (legal >> a) & 1
    minimal, seer = setup[0, MINIMAL] == 1, setup[0, SEER] == 1
    write_bits(dims, setup[TABLES:SCRATCH], rows, seat, minimal, seer, words)
    size = len(observation)
    for k in range(size >> 3):
        byte = words[0, k >> 3] >> (8 * (k & 7)) & 255
        for j in range(8):
            observation[8 * k + j] = BITS[byte, j]
    k = size >> 3
    for j in range(size & 7):
        byte = words[0, k >> 3] >> (8 * (k & 7)) & 255
        observation[8 * k + j] = BITS[byte, j]


@kernel
def show(setup: Any, rows: Any, seat: int, mask: Any, observation: Any) -> int:
    """What ``seat`` sees in rows [1, W]: its legal moves int8 [A] and observation float64 [N].

    Returns the player to move.
    """
    dims = (setup[0, 0], setup[0, 1], setup[0, 2], setup[0, 3])
    write_view(dims, setup, rows, seat, mask, observation)
    return np.int64(rows[0, TURN])  # type: ignore[return-value]  # an int to compiled code


@kernel
def advance(setup: Any, rows: Any, action: int, mask: Any, observation: Any) -> int:
    """Play ``action`` in rows [1, W], then ``show`` what the next player sees (player 0 at an end).

    Returns -1 for an illegal action, with nothing changed; else 8 * (reward + REWARD_SHIFT) + 1 +
    the player to move.
    """
    dims, row = (setup[0, 0], setup[0, 1], setup[0, 2], setup[0, 3]), rows[0]
    if action < 0 or action >= num_actions(dims) or not (legal_mask(dims, row) >> action) & 1:
        return -1
    before = final_return(row)
    step(dims, row, action, True)
    reward = final_return(row) - before
    turn = np.int64(row[TURN])
    seat: Any = turn if turn >= 0 else 0
    write_view(dims, setup, rows, seat, mask, observation)
    return 8 * (reward + REWARD_SHIFT) + 1 + turn  # type: ignore[return-value]
