"""Routines: compiled functions that the loops call by address.

A bot's routines are compiled once for each kind of ``dims``, apart from the loops that use them: a
new bot compiles itself and nothing else, and any mix of bots shares the same loops. What the loops
read is an address in the bot's script, so they stay cacheable, whoever sits at the table.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from hanabi_search_plugin.core.errors import UnsupportedError

ROW = types.Array(types.int32, 1, "C")
SCRIPT_ROW = types.Array(types.int64, 1, "C")
CODE, FLAG = types.int64, types.boolean  # what routines return


def _by_address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Call the function at args[0] with the rest, by Numba's own calling convention."""
    returned, inputs = signature.return_type, signature.args[1:]
    convention = context.call_conv
    pointer = convention.get_function_type(returned, inputs).as_pointer()
    callee = builder.inttoptr(args[0], pointer)
    status, result = convention.call_function(builder, callee, returned, inputs, args[1:])
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result


@intrinsic  # type: ignore[untyped-decorator]
def call_decide(typingctx: Any, address: Any, dims: Any, row: Any, memory: Any, script: Any) -> Any:
    return types.int64(types.int64, dims, ROW, ROW, SCRIPT_ROW), _by_address


@intrinsic  # type: ignore[untyped-decorator]
def call_observe(
    typingctx: Any, address: Any, dims: Any, row: Any, seat: Any, memory: Any, script: Any
) -> Any:
    return types.boolean(types.int64, dims, ROW, types.int64, ROW, SCRIPT_ROW), _by_address


@intrinsic  # type: ignore[untyped-decorator]
def call_common(typingctx: Any, address: Any, dims: Any, row: Any, memory: Any, script: Any) -> Any:
    return types.boolean(types.int64, dims, ROW, ROW, SCRIPT_ROW), _by_address


def address_of(routine: Any, dims: tuple[Any, ...], *, seat: bool, returns: Any) -> int:
    """Where a routine is, compiled for these ``dims``; 0 for None.

    ``seat``: it takes a seat after the row; ``returns``: CODE or FLAG. Raises UnsupportedError for
    what is not a routine, and Numba's own errors where it does not compile.
    """
    if routine is None:
        return 0
    if not isinstance(routine, Dispatcher):
        name = getattr(routine, "__name__", repr(routine))
        raise UnsupportedError(f"a compiled bot needs functions under @routine, {name} is not one")
    inputs = [numba.typeof(dims), ROW, *([types.int64] if seat else []), ROW, SCRIPT_ROW]
    signature = returns(*inputs)
    routine.compile(signature)
    compiled = routine.overloads[signature.args]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
