"""Let one process of a machine compile first, so that the others find its kernels on the disk."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hanabi_search_plugin.evaluation.provenance import kernel_hash

PATIENCE = 60.0  # seconds that a process waits for the first one: a first search compiles for less
_AGAIN = 0.05  # seconds between looks

_gone_ahead: set[str] = set()  # what this process need not wait for


@contextlib.contextmanager
def first_alone(name: str) -> Iterator[None]:
    """The first process of this machine that comes with ``name`` runs the block alone.

    Others wait until it is through, or for ``PATIENCE``; who comes later does not wait. A first
    one that is killed makes way for the next. ``name`` is remembered, beside the sources of
    compiled code, in a file for temporary ones.
    """
    if name in _gone_ahead:
        yield
        return
    told = hashlib.sha256(f"{name} {os.environ.get('HANABI_SEARCH_CACHE_DIR', '')}".encode())
    line = told.hexdigest()[:24] + "\n"
    with contextlib.ExitStack() as stack:
        try:
            descriptor = os.open(
                _path(), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600
            )
        except OSError:  # nowhere to meet: each compiles by itself
            yield
            return
        file = stack.enter_context(os.fdopen(descriptor, "ab"))
        mine = _is_first(descriptor, line)
        if not mine:
            file.close()
        yield
        _gone_ahead.add(name)
        if mine:
            file.write(line.encode())


def _is_first(descriptor: int, line: str) -> bool:
    """Wait for the lock. False where the block has been run, or the wait was too long."""
    until = time.monotonic() + PATIENCE
    while True:
        if line in _lines(descriptor):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_AGAIN)
            continue
        return line not in _lines(descriptor)


def _lines(descriptor: int) -> list[str]:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode("ascii", "replace").splitlines(keepends=True)


def _path() -> Path:
    """A file of this user and of these sources."""
    return Path(tempfile.gettempdir(), f"hanabi-search-{os.getuid()}-{kernel_hash()}.lock")
