"""Numbers of all identities of a card as one vector, in compiled code: a lane an identity.

Loops over 25 identities are not turned into vectors, or with a tail of single numbers; these
functions are, on any processor, and add up in one fixed order. Masks say by bit v whether an
identity is meant. To be called from kernels. V <= WIDTH; what lies beyond V is nobody's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

WIDTH = 32

_SINGLE, _WORD, _PLACE = ir.FloatType(), ir.IntType(WIDTH), ir.IntType(32)
_VECTOR, _WHOLE = ir.VectorType(_SINGLE, WIDTH), ir.VectorType(_PLACE, WIDTH)
_BITS = ir.VectorType(ir.IntType(1), WIDTH)


class Lanes(types.Type):
    """WIDTH float32 numbers, as a value."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


_LANES = Lanes()


def _constant(x: float) -> Any:
    return ir.Constant(_VECTOR, [x] * WIDTH)


def _whole(n: int) -> Any:
    return ir.Constant(_WHOLE, [n] * WIDTH)


def _spread(builder: Any, x: Any) -> Any:
    nowhere = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nowhere, x, ir.Constant(_PLACE, 0))
    return builder.shuffle_vector(first, nowhere, _whole(0))


def _call(builder: Any, name: str, *args: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(args))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f32")
    return builder.call(function, args)


def _chosen(builder: Any, how: str, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(how, a, b), a, b)


def _folded(builder: Any, x: Any, join: Callable[[Any, Any], Any]) -> Any:
    """One number of all, by halves."""
    n = WIDTH
    while n > 1:
        n //= 2
        nowhere = ir.Constant(x.type, ir.Undefined)
        halves = [
            builder.shuffle_vector(
                x, nowhere, ir.Constant(ir.VectorType(_PLACE, n), list(range(at, at + n)))
            )
            for at in (0, n)
        ]
        x = join(*halves)
    return builder.extract_element(x, ir.Constant(_PLACE, 0))


def _address(context: Any, builder: Any, kind: Any, row: Any) -> Any:
    data = context.make_array(kind)(context, builder, row).data
    return builder.bitcast(data, _VECTOR.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def read(typingctx: Any, row: Any) -> Any:
    """The first WIDTH numbers of a contiguous float32 row."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(_address(context, builder, signature.args[0], args[0]))
        value.align = 4
        return value

    return _LANES(row), codegen


@intrinsic  # type: ignore[untyped-decorator]
def write(typingctx: Any, row: Any, x: Any) -> Any:
    """Into the first WIDTH numbers of a contiguous float32 row."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], _address(context, builder, signature.args[0], args[0])).align = 4
        return context.get_dummy_value()

    return types.void(row, _LANES), codegen


@intrinsic  # type: ignore[untyped-decorator]
def spread(typingctx: Any, x: Any) -> Any:
    """The same number in every lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _spread(builder, args[0])

    return _LANES(types.float32), codegen


@intrinsic  # type: ignore[untyped-decorator]
def kept(typingctx: Any, x: Any, mask: Any, otherwise: Any) -> Any:
    """x where the mask has a bit, ``otherwise`` elsewhere."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(builder.trunc(args[1], _WORD), _BITS)
        return builder.select(bits, args[0], _spread(builder, args[2]))

    return _LANES(_LANES, types.int64, types.float32), codegen


def _of_two(how: Callable[[Any, Any, Any], Any]) -> Any:
    """A function of two vectors, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return how(builder, args[0], args[1])

    def lane_by_lane(typingctx, a, b):  # type: ignore[no-untyped-def]
        return _LANES(_LANES, _LANES), codegen

    return intrinsic(lane_by_lane)


plus = _of_two(lambda builder, a, b: builder.fadd(a, b))
minus = _of_two(lambda builder, a, b: builder.fsub(a, b))
times = _of_two(lambda builder, a, b: builder.fmul(a, b))
larger = _of_two(lambda builder, a, b: _chosen(builder, ">", a, b))
smaller = _of_two(lambda builder, a, b: _chosen(builder, "<", a, b))


@intrinsic  # type: ignore[untyped-decorator]
def times_plus(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call(builder, "fma", *args)

    return _LANES(_LANES, _LANES, _LANES), codegen


def _of_all(join: Callable[[Any, Any, Any], Any]) -> Any:
    """A function that makes one number of all lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _folded(builder, args[0], lambda a, b: join(builder, a, b))

    def one_number(typingctx, x):  # type: ignore[no-untyped-def]
        return types.float32(_LANES), codegen

    return intrinsic(one_number)


total = _of_all(lambda builder, a, b: builder.fadd(a, b))
most = _of_all(lambda builder, a, b: _chosen(builder, ">", a, b))


def _of_one(how: Callable[[Any, Any], Any]) -> Any:
    """A function of one vector, lane by lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return how(builder, args[0])

    def lane_by_lane(typingctx, x):  # type: ignore[no-untyped-def]
        return _LANES(_LANES), codegen

    return intrinsic(lane_by_lane)


def _polynomial(builder: Any, x: Any, *factors: float) -> Any:
    """factors[0] + factors[1] x + ..."""
    value = _constant(factors[-1])
    for factor in factors[-2::-1]:
        value = _call(builder, "fma", value, x, _constant(factor))
    return value


def _log(builder: Any, x: Any) -> Any:
    """x = 2**e m with m from about 0.7 to 1.4, and log m = 2 artanh((m - 1) / (m + 1))."""
    root = _whole(0x3F3504F3)  # of 1/2
    bits = builder.sub(builder.bitcast(x, _WHOLE), root)
    e = builder.sitofp(builder.ashr(bits, _whole(23)), _VECTOR)
    m = builder.bitcast(builder.add(builder.and_(bits, _whole(0x7FFFFF)), root), _VECTOR)
    s = builder.fdiv(builder.fsub(m, _constant(1.0)), builder.fadd(m, _constant(1.0)))
    z = builder.fmul(s, s)
    tail = builder.fmul(z, _polynomial(builder, z, 1 / 3, 1 / 5, 1 / 7, 1 / 9))
    log_m = builder.fmul(_constant(2.0), _call(builder, "fma", s, tail, s))
    return _call(builder, "fma", e, _constant(0.6931471805599453), log_m)


def _exp(builder: Any, x: Any) -> Any:
    """2**n exp y with y from about -0.35 to 0.35; nothing below -80."""
    x = _chosen(builder, ">", x, _constant(-80.0))
    n = _call(builder, "fma", x, _constant(1.4426950408889634), _constant(0.5))
    n = _call(builder, "floor", n)
    # The logarithm of 2 in two parts, so that little is lost of what remains.
    y = _call(builder, "fma", n, _constant(-0.693145751953125), x)
    y = _call(builder, "fma", n, _constant(-1.42860682030941723e-6), y)
    value = _polynomial(builder, y, 1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040)
    power = builder.add(builder.fptosi(n, _WHOLE), _whole(127))
    power = builder.bitcast(builder.shl(power, _whole(23)), _VECTOR)
    return builder.fmul(value, power)


log_of = _of_one(_log)  # of positive numbers
exp_of = _of_one(_exp)  # of numbers that are at most 0
