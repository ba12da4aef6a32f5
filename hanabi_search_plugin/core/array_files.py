"""Read NumPy's files, NPY and NPZ, that others wrote.

A header is believed only as far as the file has the bytes for it, and nothing is unpickled.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
MAX_BYTES = 1 << 30  # bytes that the arrays of one NPZ file may take; a file is compressed
_READ_HEADER = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(content: bytes) -> NDArray[Any]:
    """The array of numbers in an NPY file. Raises ValueError for anything else."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        shape, by_column, kind = _READ_HEADER[version](stream)
    # The header is a Python literal: what NumPy meets in it has errors of any kind.
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(f"its header cannot be read: {type(error).__name__} {reason}") from None
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"its shape must be lengths, got {shape}")
    if kind.kind not in "biuf" or kind.subdtype is not None:
        raise ValueError(f"it must hold numbers, got {kind}")
    body = content[stream.tell() :]
    size = math.prod(shape) * kind.itemsize
    if size != len(body):
        raise ValueError(f"its header says {size:,} bytes of {kind}, it has {len(body):,}")
    array = np.frombuffer(body, dtype=kind)
    return array.reshape(shape, order="F" if by_column else "C").copy()


def read_npz(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of numbers in an NPZ file, by name. Raises ValueError for anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(one.file_size for one in archive.infolist())
            if size > MAX_BYTES:
                raise ValueError(f"its arrays must take at most {MAX_BYTES:,} bytes, got {size:,}")
            parts = {one.filename: archive.read(one) for one in archive.infolist()}
    except ValueError:
        raise
    # Every field of a ZIP file may be damaged, and what reads it has errors of any kind.
    except Exception as error:
        raise ValueError(f"it is no whole ZIP file: {type(error).__name__} {error}") from None
    found = {}
    for name, part in parts.items():
        try:
            found[name.removesuffix(".npy")] = read_npy(part)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found
