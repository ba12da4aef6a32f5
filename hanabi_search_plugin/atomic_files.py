"""Files that appear whole or not at all.

What is not whole yet lies beside its file, under a name that nothing else has, and is locked by the
process that writes it. A killed process leaves it there, unlocked: whoever writes that file next
takes it over. Two processes that write one file take turns.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
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
    terminal) is written to directly. Raises OSError, which names ``path``, where it cannot be
    written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with naming_errors(path), path.open("wb") as stream:
            yield stream
        return
    path = _resolved(path)  # a link keeps pointing at its file
    beside = unfinished(path)
    with naming_errors(path), _opened_alone(beside) as raw:
        try:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
            raw.flush()
            os.replace(beside, path)  # still locked: nobody takes it over before
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def remove(path: Path) -> None:
    """Remove a file, if it is there, and what a killed process left of it."""
    path.unlink(missing_ok=True)
    unfinished(path).unlink(missing_ok=True)


def unfinished(path: Path) -> Path:
    """Where a file lies until it is whole."""
    return path.with_name(f".{path.name}.hanabi-search-unfinished")


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """An OSError of the block names ``path``, which that of a full disk does not by itself."""
    try:
        yield
    except OSError as error:
        if error.filename in (None, str(unfinished(path))):
            error.filename = str(path)
        raise


def _opened_alone(beside: Path) -> IO[bytes]:
    """The file ``beside``, empty and locked. Waits for another process that writes it."""
    while True:
        file = open(beside, "wb", opener=_open_as_it_is)  # noqa: SIM115  # the caller closes it
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file, beside):
                file.truncate(0)
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # it was renamed meanwhile


def _open_as_it_is(name: str, flags: int) -> int:
    """Neither cut before it is locked, nor through a link that somebody put there."""
    return os.open(name, flags & ~os.O_TRUNC | os.O_NOFOLLOW, 0o666)


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except FileNotFoundError:
        return False
