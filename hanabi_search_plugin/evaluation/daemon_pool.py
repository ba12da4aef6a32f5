"""Threads that nobody waits for: an interrupted program ends while one is still at work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from hanabi_search_plugin.evaluation.closing import Closing

T = TypeVar("T")

_Task = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]


class DaemonPool(Closing):
    """Runs tasks in order on ``threads`` threads.

    ``close`` cancels what has not begun and returns at once, where a
    ``ThreadPoolExecutor`` waits for the tasks that run, some of which cannot be stopped for
    minutes: a joint search is one decision, a compilation one call.
    """

    def __init__(self, threads: int) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Callable[..., T], *arguments: Any) -> Future[T]:
        future: Future[T] = Future()
        self._tasks.put((future, task, arguments))
        return future

    def close(self) -> None:
        try:
            while (left := self._tasks.get_nowait()) is not None:
                left[0].cancel()
        except Empty:
            pass
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (next_task := self._tasks.get()) is not None:
            future, task, arguments = next_task
            del next_task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(task(*arguments))
                except BaseException as error:
                    future.set_exception(error)
            del future, task, arguments  # nothing is kept alive while the thread waits
