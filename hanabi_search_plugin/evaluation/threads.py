"""Chunks on threads of this process, which share what it compiles: for policies that compute in
compiled code, which lets go of the interpreter's lock."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.evaluation.daemon_pool import DaemonPool
from hanabi_search_plugin.evaluation.executor import Crew, Executor, Outcome, Place, Work


class Threads(Executor):
    """``threads`` threads. Raises ConfigError for fewer than one."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__()
        self.threads = require_integer("threads", threads, 1)

    @property
    def workers(self) -> int:
        return self.threads

    def crew(self, work: Work, *, timed: bool, kernels: str) -> Crew:
        return _ThreadCrew(work, self.threads, timed)

    def __repr__(self) -> str:
        return f"Threads({self.threads})"


WAIT = 0.5  # seconds, at most, until a Ctrl-C is seen


class _ThreadCrew(Crew):
    """Each thread has a chunk at work and one in line; ``timed``, the first chunk goes alone."""

    def __init__(self, work: Work, threads: int, timed: bool) -> None:
        self._work, self._threads = work, threads
        self._alone = timed
        self._pool = DaemonPool(threads)
        self._stopped = threading.Event()
        self._chunks: dict[int, Any] = {}
        self._ended: SimpleQueue[tuple[int, Future[Any]]] = SimpleQueue()

    @property
    def at_once(self) -> int:
        return 1 if self._alone else 2 * self._threads

    def submit(self, number: int, chunk: Any) -> None:
        place = Place(self._alone or self._threads == 1, self._stopped.is_set)
        self._chunks[number] = chunk
        future = self._pool.submit(self._work, chunk, place)
        future.add_done_callback(lambda future: self._ended.put((number, future)))

    def collect(self, wait: bool) -> list[Outcome]:
        outcomes = [self._outcome(*self._next())] if wait else []
        try:
            while True:
                outcomes.append(self._outcome(*self._ended.get_nowait()))
        except Empty:
            return outcomes

    def _next(self) -> tuple[int, Future[Any]]:
        while True:  # a Ctrl-C that comes just before the wait begins does not end it
            with suppress(Empty):
                return self._ended.get(timeout=WAIT)

    def _outcome(self, number: int, future: Future[Any]) -> Outcome:
        self._alone = False
        chunk, error = self._chunks.pop(number), future.exception()
        value = None if error is not None else future.result()
        return Outcome(number, chunk, value, error)

    def close(self) -> None:
        self._stopped.set()
        self._pool.close()
