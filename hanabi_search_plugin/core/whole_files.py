"""Read whole files that others name: a device or a pipe that never ends is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from hanabi_search_plugin.core.errors import RecordError

ENDLESS = 64 << 20  # bytes; what has no length of its own may bring so many


def read_whole(path: str | Path) -> bytes:
    """All bytes of a file. Raises OSError where it cannot be read, and as ``read_stream``."""
    with Path(path).open("rb") as stream:
        return read_stream(stream, str(path))


def read_stream(stream: IO[bytes], name: str) -> bytes:
    """All bytes of an open file. Raises RecordError for a pipe or device with over ``ENDLESS``."""
    if _is_file(stream):
        return stream.read()
    content = stream.read(ENDLESS + 1)
    if len(content) > ENDLESS:
        raise RecordError(f"{name}: expected at most {ENDLESS >> 20} MiB from a pipe or a device")
    return content


def _is_file(stream: IO[bytes]) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # a stream of Python's own
        return False
