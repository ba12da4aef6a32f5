"""The networks that value moves or choose among rules, compiled: one hidden layer of HIDDEN.

A network is float64 numbers at an address that stands in a script (``WEIGHTS``): for each of the
features HIDDEN weights, the HIDDEN biases, then for each output HIDDEN weights, and the outputs'
biases. The features are as they come: normalisation is in the first layer's weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from hanabi_search_plugin.hanabi.bots.action_rules import (
    FIRST_RULE,
    RULES,
    WEIGHTS,
    board_of,
    propose,
    proposed_mask,
)
from hanabi_search_plugin.hanabi.bots.features import FEATURES, move_features, state_features
from hanabi_search_plugin.hanabi.bots.script import SILENT
from hanabi_search_plugin.hanabi.engine.layout import ALL, lowest_bit, popcount
from hanabi_search_plugin.hanabi.engine.rules import legal_mask, score
from hanabi_search_plugin.jit import inline, kernel, routine

COMPILES = "evaluation functions"

HIDDEN = 30  # (paper, VI)
BIASES = FEATURES * HIDDEN
OUTPUTS = BIASES + HIDDEN
ALL_MOVES = -1  # as a mask

# What the helpers write over: features of the state, of a move, and the hidden layer of each.
STATE, MOVE, STATE_HIDDEN, MOVE_HIDDEN = 0, FEATURES, 2 * FEATURES, 2 * FEATURES + HIDDEN
WORK = 2 * (FEATURES + HIDDEN)


@intrinsic  # type: ignore[untyped-decorator]
def number_at(typingctx: Any, address: Any, index: Any) -> Any:
    """The float64 that stands ``index`` places behind an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        pointer = builder.inttoptr(args[0], ir.DoubleType().as_pointer())
        return builder.load(builder.gep(pointer, [args[1]]))

    return types.float64(types.int64, types.int64), codegen


@inline
def hidden_of_state(weights: int, work: Any) -> None:
    """The hidden layer of the state's features, before it is rectified."""
    for j in range(HIDDEN):
        work[STATE_HIDDEN + j] = number_at(weights, BIASES + j)
    for i in range(FEATURES):
        value = work[STATE + i]
        for j in range(HIDDEN):
            work[STATE_HIDDEN + j] += value * number_at(weights, i * HIDDEN + j)


@inline
def output_of(weights: int, outputs: int, k: int, work: Any, hidden: int) -> float:
    """Output k of as many, from the hidden layer at ``hidden``."""
    value = number_at(weights, OUTPUTS + outputs * HIDDEN + k)
    for j in range(HIDDEN):
        value += max(work[hidden + j], 0.0) * number_at(weights, OUTPUTS + k * HIDDEN + j)
    return value


@inline
def estimate_moves(
    dims: Any,
    row: Any,
    mem: Any,
    script: Any,
    mask: int,
    work: Any,
    ahead: Any,
    ahead_mem: Any,
    values: Any,
) -> None:
    """values[a] = the score expected at the end after each legal move a of a mask.

    ``work`` float64 [WORK]; ``ahead`` and ``ahead_mem`` as in ``move_features``.
    """
    weights = script[WEIGHTS]
    board = board_of(dims, row)
    state_features(dims, row, mem, script, board, work, STATE)
    hidden_of_state(weights, work)
    best, now = popcount(np.int64(row[ALL])), score(row)
    for a in range(len(values)):
        if (mask >> a) & 1:
            move_features(dims, row, mem, script, board, a, ahead, ahead_mem, work, STATE, MOVE)
            for j in range(HIDDEN):
                work[MOVE_HIDDEN + j] = work[STATE_HIDDEN + j]
            for i in range(FEATURES):  # a move changes few of them
                change = work[MOVE + i] - work[STATE + i]
                if change != 0.0:
                    for j in range(HIDDEN):
                        work[MOVE_HIDDEN + j] += change * number_at(weights, i * HIDDEN + j)
            values[a] = now + best * output_of(weights, 1, 0, work, MOVE_HIDDEN)


@routine
def decide_by_value(dims: Any, row: Any, mem: Any, script: Any) -> int:
    """The move of the highest value among those that the rules propose, or else all legal ones."""
    legal = legal_mask(dims, row)
    mask = proposed_mask(dims, row, mem, script, legal)
    mask = mask if mask != 0 else legal
    best = lowest_bit(mask)
    if (mask & (mask - 1)) != 0:
        values = np.empty(64)
        estimate_moves(
            dims, row, mem, script, mask, np.empty(WORK), np.empty_like(row), np.empty_like(mem),
            values,
        )  # fmt: skip
        for a in range(len(values)):
            if (mask >> a) & 1 and values[a] > values[best]:
                best = a
    return best


@routine
def decide_by_rule(dims: Any, row: Any, mem: Any, script: Any) -> int:
    """The move of the rule with the highest output among those that propose one."""
    weights, rules = script[WEIGHTS], np.int64(script[RULES])
    work = np.empty(WORK)
    board = board_of(dims, row)
    state_features(dims, row, mem, script, board, work, STATE)
    hidden_of_state(weights, work)
    choice = SILENT
    best = -np.inf
    for k in range(rules):
        code = propose(dims, row, mem, script, np.int64(script[FIRST_RULE + k]), board)
        value = output_of(weights, rules, k, work, STATE_HIDDEN)
        if code != SILENT and value > best:
            choice, best = code, value
    return choice


@kernel
def estimate_rows(dims: Any, script: Any, rows: Any, memory: Any, mask: int, out: Any) -> None:
    """out[b, a] = the score expected after move a in row b, nan unless it is legal and masked."""
    work = np.empty(WORK)
    ahead, ahead_mem = np.empty_like(rows[0]), np.empty_like(memory[0])
    for b in range(len(rows)):
        mem = memory[b if len(memory) > 1 else 0]
        out[b] = np.nan
        moves = mask & legal_mask(dims, rows[b])
        estimate_moves(dims, rows[b], mem, script, moves, work, ahead, ahead_mem, out[b])
