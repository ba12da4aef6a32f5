"""What happens in a worker process: read the work once, compute its chunks, tell what came of each.

Work, chunks and outcomes travel between the processes of one run as cloudpickle makes them, so that
games and policies of a program's own travel, too; nothing of it is written to a file. A worker
whose versions are not those of the driver computes nothing: it could bring other results.
"""

from __future__ import annotations

import functools
import pickle
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import cloudpickle

from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.evaluation.executor import Outcome, Place, Work
from hanabi_search_plugin.evaluation.once_a_node import first_alone
from hanabi_search_plugin.evaluation.provenance import kernel_hash, versions
from hanabi_search_plugin.jit import compile_seconds


@functools.cache
def fingerprint() -> dict[str, str]:
    """What must be equal where results must be: versions, and the sources of compiled code."""
    return versions() | {"sources of compiled code": kernel_hash()}


def require_same(driver: dict[str, str], where: str) -> None:
    """Raises ConfigError unless this process has the versions of the driver."""
    here = fingerprint()
    for name, version in driver.items():
        if here.get(name) != version:
            raise ConfigError(
                f"workers must have what the driver has, {name} {version}, got "
                f"{here.get(name, 'none')} on {where}"
            )


def packed(what: str, value: Any) -> bytes:
    """Raises UnsupportedError for what cannot leave its process."""
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise UnsupportedError(
            f"{what} must be picklable to go to other processes: {error}"
        ) from error


class Bench:
    """Where a worker process keeps the work it has: the latest one."""

    def __init__(self) -> None:
        self._key, self._work, self._kernels = "", None, ""
        self._compiled = compile_seconds()

    def take(self, key: str, fetch: Callable[[], bytes]) -> None:
        """Read the work ``key``, which ``fetch`` brings, unless it is there.

        Raises UnsupportedError for what cannot be read here.
        """
        if key == self._key:
            return
        self._key, content = "", fetch()
        try:
            self._work, self._kernels = pickle.loads(content)
        except Exception as error:
            raise UnsupportedError(
                f"a worker must have what the driver has, got {type(error).__name__}: {error}"
            ) from error
        self._key = key

    def compute(self, chunk: Any) -> bytes:
        """The value of a chunk, or the error it raised, and CPU seconds of compilation."""
        value, error, trace = None, None, ""
        try:
            work: Work | None = self._work
            assert work is not None
            with first_alone(self._kernels) if self._kernels else nullcontext():
                value = work(chunk, Place(alone=True, stopped=lambda: False))
        except BaseException as raised:
            error, trace = raised, traceback.format_exc()
        return self._reply(value, error, trace)

    def refuse(self, error: BaseException) -> bytes:
        """The reply where a chunk cannot even be begun."""
        return self._reply(None, error, "".join(traceback.format_exception(error)))

    def _reply(self, value: Any, error: BaseException | None, trace: str) -> bytes:
        before, self._compiled = self._compiled, compile_seconds()
        try:
            return packed("a result", (value, portable(error), trace, self._compiled - before))
        except UnsupportedError as failed:
            return bytes(cloudpickle.dumps((None, failed, "", self._compiled - before)))


def outcome_of(number: int, chunk: Any, reply: bytes) -> tuple[Outcome, float]:
    """What a worker's reply says, and the CPU seconds that it compiled."""
    value, error, trace, compiled = pickle.loads(reply)
    if error is not None and trace:
        error.__cause__ = RemoteTraceback(trace)
    return Outcome(number, chunk, value, error), compiled


class RemoteTraceback(Exception):
    """Where an error was raised in another process, for ``--debug``."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def portable(error: BaseException | None) -> BaseException | None:
    """``error`` where it can leave its process, else a RuntimeError that says the same."""
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        plain = RuntimeError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            plain.add_note(note)
        return plain
    return error
