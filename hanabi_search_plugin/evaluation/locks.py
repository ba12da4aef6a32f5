"""Keep other processes out of files and folders that are being written.

A lock is the system's: it ends with its process, however that ends. On a file system without locks
nobody is kept out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from hanabi_search_plugin.core.errors import ConfigError


def lock_file(file: IO[bytes], path: Path) -> None:
    """Until it is closed. Raises ConfigError where it is locked already."""
    _lock(file.fileno(), path, "name another file")


class FolderLock:
    """Keeps other processes out of a folder for as long as it lives."""

    def __init__(self, handle: int) -> None:
        weakref.finalize(self, os.close, handle)


_Key = tuple[int, int, int]  # of a process, a device and an inode
_held: weakref.WeakValueDictionary[_Key, FolderLock] = weakref.WeakValueDictionary()


def lock_folder(folder: Path) -> FolderLock:
    """Raises ConfigError where another process has locked it; this one may have it again."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    lock = FolderLock(handle)  # closes it, whatever happens
    status = os.fstat(handle)
    key = (os.getpid(), status.st_dev, status.st_ino)
    held = _held.get(key)
    if held is not None:
        return held
    _lock(handle, folder, "name another folder")
    _held[key] = lock
    return lock


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """``lock_folder`` while the block lasts."""
    lock = lock_folder(folder)
    yield
    del lock


def _lock(handle: int, path: Path, else_do: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(
            f"{path} is being written by another process: wait for it, or {else_do}"
        ) from None
    except OSError:  # a file system without locks
        pass
