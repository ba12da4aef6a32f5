"""Linear layers on a processor whose result for a row never depends on the batch that it is in.

PyTorch adds up a product in an order that depends on the number of rows, so that the last digits of
a row do, too. Here every number of a row is one chain of fused multiply-adds, in order of its
inputs, whatever the rows around it: the batch decides only which rows are computed at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from hanabi_search_plugin.jit import kernel

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

ROWS, LANES = 6, 16  # rows and outputs computed at once: as many as registers hold


def packed(weight: Floats) -> Floats:
    """Weights [N, K] as [N / LANES, K, LANES], the last panel filled up with zeros."""
    panels = -(-len(weight) // LANES)
    full = np.zeros((panels * LANES, weight.shape[1]), dtype=np.float32)
    full[: len(weight)] = weight
    return np.ascontiguousarray(full.reshape(panels, LANES, -1).transpose(0, 2, 1))


def padded(rows: Floats) -> Floats:
    """Rows [..., N] filled up with zeros to whole panels."""
    n = rows.shape[-1]
    full = np.zeros((*rows.shape[:-1], -(-n // LANES) * LANES), dtype=np.float32)
    full[..., :n] = rows
    return full


def linear(
    x: Floats, weights: Floats, *starts: Floats | tuple[Floats, Ints], relu: bool = False
) -> Floats:
    """[n, N] the sum of ``starts`` + x W, cut off below 0 if asked.

    ``x`` [n, K or more], ``weights`` ``packed``. One or two starts: rows [S, N] ``padded``, and
    which of them is whose, int64 [n]; without these one row serves all, or each has its own. All
    are C-contiguous.
    """
    n, panels = len(x), len(weights)
    nothing = np.zeros((1, panels * LANES), dtype=np.float32)
    given = [_start(n, start) for start in (*starts, nothing)[:2]]
    out = np.empty((n, panels * LANES), dtype=np.float32)
    fits = x.shape[1] >= weights.shape[1]
    for rows, which in given:
        fits &= rows.shape[1] == out.shape[1] and len(which) == n
    if not fits:
        shapes = ", ".join(str(rows.shape) for rows, _ in given)
        raise ValueError(f"shapes do not fit: {x.shape}, {weights.shape}, {shapes}")
    linear_rows(x, weights, *given[0], *given[1], np.float32(0.0 if relu else -np.inf), out)
    return out


def _start(n: int, start: Floats | tuple[Floats, Ints]) -> tuple[Floats, Ints]:
    if isinstance(start, tuple):
        return start
    return start, np.zeros(n, np.int64) if len(start) == 1 else np.arange(n)


@intrinsic  # type: ignore[untyped-decorator]
def tile(typingctx: Any, x: Any, weights: Any, out: Any, inputs: Any, floor: Any) -> Any:
    """LANES outputs of ROWS rows: ``out`` = max(``out`` + x W, ``floor``).

    ``x`` and ``out`` are tuples of ROWS addresses of float32, ``weights`` is the address of a
    panel. The accumulators stay in registers, which loops of Numba do not achieve. All sums are
    read before any is written: the last row may stand there several times.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir
        from numba.core import cgutils

        x, weights, out, inputs, floor = args
        single, whole = ir.FloatType(), ir.VectorType(ir.FloatType(), LANES)
        nowhere = ir.Constant(whole, ir.Undefined)
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(whole, [whole] * 3), f"llvm.fma.v{LANES}f32"
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)

        def at(address: Any, kind: Any) -> Any:
            return builder.inttoptr(address, kind.as_pointer())

        def spread(value: Any) -> Any:
            first = builder.insert_element(nowhere, value, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(first, nowhere, zeros)

        def load(pointer: Any) -> Any:
            value = builder.load(pointer)
            value.align = 4
            return value

        def row(addresses: Any, r: int, kind: Any) -> Any:
            return at(builder.extract_value(addresses, r), kind)

        sums = [cgutils.alloca_once(builder, whole) for _ in range(ROWS)]
        for r in range(ROWS):
            builder.store(load(row(out, r, whole)), sums[r])
        panel = at(weights, whole)
        with cgutils.for_range(builder, inputs) as loop:
            weight = load(builder.gep(panel, [loop.index]))
            for r in range(ROWS):
                value = spread(load(builder.gep(row(x, r, single), [loop.index])))
                builder.store(builder.call(fused, [value, weight, builder.load(sums[r])]), sums[r])
        lowest = spread(floor)
        for r in range(ROWS):
            value = builder.load(sums[r])
            value = builder.select(builder.fcmp_ordered(">", value, lowest), value, lowest)
            builder.store(value, row(out, r, whole)).align = 4
        return context.get_dummy_value()

    addresses = types.UniTuple(types.int64, ROWS)
    return types.void(addresses, types.int64, addresses, types.int64, types.float32), (codegen)


@kernel
def linear_rows(
    x: Any, weights: Any, start: Any, which: Any, more: Any, whose: Any, floor: Any, out: Any
) -> None:
    """See ``linear``. Beyond the last row a block computes that one again."""
    n, panels, inputs = len(x), weights.shape[0], weights.shape[1]
    x_at, weights_at = np.int64(x.ctypes.data), np.int64(weights.ctypes.data)
    out_at, x_row, out_row = np.int64(out.ctypes.data), 4 * x.shape[1], 4 * out.shape[1]
    for first in range(0, n, ROWS):
        for b in range(first, min(first + ROWS, n)):
            one, other, row = start[which[b]], more[whose[b]], out[b]
            for j in range(len(row)):
                row[j] = one[j] + other[j]
        b0, b1, b2 = first, min(first + 1, n - 1), min(first + 2, n - 1)
        b3, b4, b5 = min(first + 3, n - 1), min(first + 4, n - 1), min(first + 5, n - 1)
        xs = (
            x_at + b0 * x_row, x_at + b1 * x_row, x_at + b2 * x_row,
            x_at + b3 * x_row, x_at + b4 * x_row, x_at + b5 * x_row,
        )  # fmt: skip
        for panel in range(panels):
            here = 4 * LANES * panel
            o = out_at + here
            outs = (
                o + b0 * out_row, o + b1 * out_row, o + b2 * out_row,
                o + b3 * out_row, o + b4 * out_row, o + b5 * out_row,
            )  # fmt: skip
            tile(xs, weights_at + here * inputs, outs, inputs, floor)
