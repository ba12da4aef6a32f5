"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast


def _resolved(path: Path) -> Path:
    """Where links lead. Raises OSError where they lead in a circle, in any version of Python."""
    try:
        return path.resolve()
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None


@contextmanager
def atomic_write(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends without an error.

    It is compressed where ``path`` ends in ``.gz``. A path that is no regular file (a pipe, a
    terminal) is written to directly. Raises OSError where it cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = _resolved(path)  # a link keeps pointing at its file
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
