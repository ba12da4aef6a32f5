"""Read safetensors that others wrote.

safetensors checks the header against the bytes that there are. What it leaves to its readers is
checked here: types that NumPy does not have, and numbers that are none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.plain_json import parse_json

_KINDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_BFLOAT16 = "BF16"  # the upper half of a float32


def read_tensors(content: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Tensors and metadata of a file, by name. Raises ValueError for anything else.

    Tensors are finite numbers. Those of bfloat16, which NumPy does not have, become float32.
    """
    from safetensors import SafetensorError, deserialize

    try:
        parts: list[tuple[str, dict[str, Any]]] = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    tensors = {name: _array(name, part) for name, part in parts}
    header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return tensors, header.get("__metadata__") or {}


def _array(name: str, part: dict[str, Any]) -> NDArray[Any]:
    kind = part["dtype"]
    if kind == _BFLOAT16:
        halves = np.frombuffer(part["data"], dtype="<u2").astype(np.uint32)
        array = (halves << 16).view(np.float32)
    elif kind in _KINDS:
        array = np.frombuffer(part["data"], dtype=_KINDS[kind])
    else:
        known = ", ".join((*_KINDS, _BFLOAT16))
        raise ValueError(f"the type of {name} must be one of {known}, got {kind}")
    if not np.isfinite(array).all():
        odd = array[~np.isfinite(array)][0]
        raise ValueError(f"{name} must hold finite numbers, got {odd}")
    return array.reshape(part["shape"]).copy()
