"""Linear layers on a processor whose result for a row never depends on the batch that it is in.

PyTorch adds up a product in an order that depends on the number of rows, so that the last digits of
a row do, too. Here every number of a row is one chain of fused multiply-adds, in order of its
inputs, whatever the rows around it: the batch decides only which rows are computed at once. An
input that is 0 in all of these is left out, which changes nothing: half of all features are 0, and
most of what a layer with a floor of 0 passes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from hanabi_search_plugin.jit import kernel

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

ROWS, LANES = 4, 16  # rows and outputs of a tile
CHUNK = 64  # inputs of which it is noted in one word whether they are 0
# Tiles that stand side by side: as many as registers hold.
WIDE = bool(get_host_cpu_features().get("avx512f", False))


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


def _tile(panels: int) -> Any:
    """The function ``tile`` for so many panels of weights.

    ``tile(x, used, weights, one, other, out, inputs, floor)`` makes LANES x panels outputs of ROWS
    rows: ``out`` = max(``one`` + ``other`` + x W, ``floor``). All but the last two are addresses of
    float32, tuples of ROWS or, for ``weights``, of the first panel; that of ``used`` is of the
    words of ``used_of``. The sums stay in registers, which loops of Numba do not achieve. Rows
    may stand there several times.
    """

    rows = types.UniTuple(types.int64, ROWS)
    place = types.int64
    signature = types.void(rows, place, place, rows, rows, rows, types.int64, types.float32)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _write_tile(builder, panels, *args)
        return context.get_dummy_value()

    def tile(typingctx, x, used, weights, one, other, out, inputs, floor):  # type: ignore[no-untyped-def]
        return signature, codegen

    return intrinsic(tile)


def _write_tile(
    builder: Any,
    panels: int,
    x: Any,
    used: Any,
    weights: Any,
    one: Any,
    other: Any,
    out: Any,
    inputs: Any,
    floor: Any,
) -> None:
    """The machine code of ``_tile``."""
    from llvmlite import ir
    from numba.core import cgutils

    single, word, bit = ir.FloatType(), ir.IntType(64), ir.IntType(1)
    whole = ir.VectorType(single, LANES)
    fused = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(whole, [whole] * 3), f"llvm.fma.v{LANES}f32"
    )

    def number(n: int) -> Any:
        return ir.Constant(word, n)

    def at(address: Any, offset: Any, kind: Any) -> Any:
        return builder.inttoptr(builder.add(address, offset), kind.as_pointer())

    def load(address: Any, offset: Any) -> Any:
        value = builder.load(at(address, offset, whole))
        value.align = 4
        return value

    def row(addresses: Any, r: int) -> Any:
        return builder.extract_value(addresses, r)

    sums = {(r, p): cgutils.alloca_once(builder, whole) for r in range(ROWS) for p in range(panels)}
    for (r, p), place in sums.items():
        start = number(4 * LANES * p)
        builder.store(builder.fadd(load(row(one, r), start), load(row(other, r), start)), place)
    left = cgutils.alloca_once(builder, word)
    chunks = cgutils.for_range_slice(builder, number(0), inputs, number(CHUNK), intp=word)
    with chunks as (first, _):
        builder.store(builder.load(at(used, builder.udiv(first, number(8)), word)), left)
        more, body, end = (builder.append_basic_block(name) for name in ("more", "body", "end"))
        builder.branch(more)
        builder.position_at_end(more)
        bits = builder.load(left)
        builder.cbranch(builder.icmp_unsigned("!=", bits, number(0)), body, end)
        builder.position_at_end(body)
        k = builder.add(first, builder.cttz(bits, ir.Constant(bit, 1)))
        builder.store(builder.and_(bits, builder.sub(bits, number(1))), left)
        panel = builder.mul(inputs, number(4 * LANES))
        here = builder.mul(k, number(4 * LANES))
        weight = [
            load(weights, builder.add(here, builder.mul(panel, number(p)))) for p in range(panels)
        ]
        for r in range(ROWS):
            given = builder.load(at(row(x, r), builder.mul(k, number(4)), single))
            value = _spread(builder, given, whole)
            for p in range(panels):
                place = sums[r, p]
                builder.store(builder.call(fused, [value, weight[p], builder.load(place)]), place)
        builder.branch(more)
        builder.position_at_end(end)
    lowest = _spread(builder, floor, whole)
    for (r, p), place in sums.items():
        value = builder.load(place)
        value = builder.select(builder.fcmp_ordered(">", value, lowest), value, lowest)
        builder.store(value, at(row(out, r), number(4 * LANES * p), whole)).align = 4


tile_of_1, tile_of_2, tile_of_4 = _tile(1), _tile(2), _tile(4)


@intrinsic
def used_of(typingctx, x, first, inputs):  # type: ignore[no-untyped-def]
    """Bit i set where one of the ROWS rows at ``x`` has a number in input ``first`` + i."""
    rows = types.UniTuple(types.int64, ROWS)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _write_used(builder, *args)

    return types.int64(rows, types.int64, types.int64), codegen


def _write_used(builder: Any, x: Any, first: Any, inputs: Any) -> Any:
    """The machine code of ``used_of``."""
    from llvmlite import ir
    from numba.core import cgutils

    half, word = ir.IntType(32), ir.IntType(64)
    whole, places = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(half, LANES)
    lanes = ir.VectorType(ir.IntType(1), LANES)
    pointer, nothing = whole.as_pointer(), ir.Constant(whole, None)
    # Reads nothing where a lane is off.
    masked = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(whole, [pointer, half, lanes, whole]),
        f"llvm.masked.load.v{LANES}f32.p0",
    )
    found = ir.Constant(word, 0)
    for part in range(0, CHUNK, LANES):
        start = builder.add(first, ir.Constant(word, part))
        left = builder.trunc(builder.sub(inputs, start), half)
        inside = builder.icmp_signed(
            "<", ir.Constant(places, list(range(LANES))), _spread(builder, left, places)
        )
        offset = builder.mul(start, ir.Constant(word, 4))
        some = ir.Constant(ir.IntType(LANES), 0)
        for r in range(ROWS):
            address = builder.add(builder.extract_value(x, r), offset)
            address = builder.inttoptr(address, pointer)
            value = builder.call(masked, [address, ir.Constant(half, 4), inside, nothing])
            other_than_0 = builder.fcmp_unordered("!=", value, nothing)
            some = builder.or_(some, builder.bitcast(other_than_0, ir.IntType(LANES)))
        found = builder.or_(found, builder.shl(builder.zext(some, word), ir.Constant(word, part)))
    return found


def _spread(builder: Any, value: Any, kind: Any) -> Any:
    """``value`` in every lane of a vector of this kind."""
    from llvmlite import ir

    nowhere = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nowhere, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(first, nowhere, zeros)


@kernel
def linear_rows(
    x: Any, weights: Any, start: Any, which: Any, more: Any, whose: Any, floor: Any, out: Any
) -> None:
    """See ``linear``. Beyond the last row a block computes that one again."""
    n, panels, inputs = len(x), weights.shape[0], weights.shape[1]
    x_at, weights_at = np.int64(x.ctypes.data), np.int64(weights.ctypes.data)
    one_at, other_at = np.int64(start.ctypes.data), np.int64(more.ctypes.data)
    out_at, x_row, out_row = np.int64(out.ctypes.data), 4 * x.shape[1], 4 * out.shape[1]
    used = np.empty((-(-n // ROWS), -(-inputs // CHUNK)), np.int64)
    used_at, used_row = np.int64(used.ctypes.data), 8 * used.shape[1]
    panel = 0
    # Rows within panels: the weights of a few panels stay in the innermost cache.
    while panel < panels:
        side = 4 if WIDE and panel + 4 <= panels else 2 if WIDE and panel + 2 <= panels else 1
        here = 4 * LANES * panel
        w, a, b, o = weights_at + here * inputs, one_at + here, other_at + here, out_at + here
        for b0 in range(0, n, ROWS):
            b1, b2, b3 = min(b0 + 1, n - 1), min(b0 + 2, n - 1), min(b0 + 3, n - 1)
            xs = x_at + b0 * x_row, x_at + b1 * x_row, x_at + b2 * x_row, x_at + b3 * x_row
            ones = (
                a + which[b0] * out_row, a + which[b1] * out_row,
                a + which[b2] * out_row, a + which[b3] * out_row,
            )  # fmt: skip
            others = (
                b + whose[b0] * out_row, b + whose[b1] * out_row,
                b + whose[b2] * out_row, b + whose[b3] * out_row,
            )  # fmt: skip
            outs = o + b0 * out_row, o + b1 * out_row, o + b2 * out_row, o + b3 * out_row
            u = used_at + b0 // ROWS * used_row
            if panel == 0:  # noted once; named here, the array lives as long as the loop
                for chunk in range(used.shape[1]):
                    used[b0 // ROWS, chunk] = used_of(xs, CHUNK * chunk, inputs)
            if side == 4:
                tile_of_4(xs, u, w, ones, others, outs, inputs, floor)
            elif side == 2:
                tile_of_2(xs, u, w, ones, others, outs, inputs, floor)
            else:
                tile_of_1(xs, u, w, ones, others, outs, inputs, floor)
        panel += side
