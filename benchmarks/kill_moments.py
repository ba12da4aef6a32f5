"""The moments at which a program that writes files can be killed: around every write and rename.

``Moments`` goes into a process that runs one command, in place of the functions that open, rename
and remove files, and counts what they do below a folder. At the moment asked for, the process sends
itself a signal. Nothing of the package knows of it.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Moments:
    """Counts moments below ``folder``; at the one numbered ``last`` it sends ``sent``."""

    def __init__(self, folder: Path, last: int | None = None, sent: int = signal.SIGKILL) -> None:
        self._folder, self._last, self._sent = f"{folder.resolve()}{os.sep}", last, sent
        self.passed: list[str] = []

    def reach(self, what: str, path: Any) -> None:
        absolute = os.path.abspath(os.fsdecode(path))
        if not absolute.startswith(self._folder):
            return
        self.passed.append(f"{what} {absolute.removeprefix(self._folder)}")
        if len(self.passed) - 1 == self._last:
            os.kill(os.getpid(), self._sent)

    def install(self) -> None:
        """From here on, for the rest of the process."""
        self._open = io.open
        io.open = self._opened  # what pathlib uses
        import builtins

        builtins.open = self._opened
        for name in ("replace", "rename", "unlink", "remove"):
            setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def watched(path: Any, *more: Any, **options: Any) -> Any:
            shown = more[0] if more else path  # of a rename, the new name
            self.reach(f"before {name}", shown)
            try:
                return do(path, *more, **options)
            finally:
                self.reach(f"after {name}", shown)

        return watched

    def _opened(
        self, file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
        errors: str | None = None, newline: str | None = None, closefd: bool = True,
        opener: Any = None,
    ) -> Any:  # fmt: skip
        writes = set(mode) & set("wax") and "+" not in mode and not isinstance(file, int)
        if not writes or buffering == 0:
            return self._open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        self.reach("before open", file)
        flags = mode.replace("t", "").replace("b", "") + "b"
        raw = self._open(file, flags, 0, closefd=closefd, opener=opener)
        written = _Halved(raw, self, file)
        if "b" in mode:
            return written
        return io.TextIOWrapper(written, encoding, errors, newline)


class _Halved(io.BufferedWriter):
    """Writes in two halves: between them the first is on the disk and the second is not."""

    def __init__(self, raw: Any, moments: Moments, path: Any) -> None:
        super().__init__(raw)
        self._moments, self._path = moments, path

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        half = len(view) // 2
        super().write(view[:half])
        super().flush()
        self._moments.reach("amid write", self._path)
        super().write(view[half:])
        return len(view)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._moments.reach("after close", self._path)
