"""Threads in which games go on, so that no table waits for another's search.

Compiled kernels release Python's lock, so threads of one process share its cores, kernels and
networks. There are three lanes: moves that cost no search, which never wait for one; searches; and
the analysis of finished games. Each has so many threads and no more; what comes then waits in line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Literal, TypeVar

from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.watching import Abandoned, Watch, watched

T = TypeVar("T")

Lane = Literal["moves", "searches", "analyses"]


class Job(Generic[T]):
    """One piece of work in a lane. ``watch`` is what it tells; any thread may abandon it."""

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> None:
        self.watch = Watch()
        self._future: Future[T] = pool.submit(self._run, work)

    def _run(self, work: Callable[[], T]) -> T:
        self.watch.require_wanted()
        with watched(self.watch):
            return work()

    def abandon(self) -> None:
        """Let it end where it tells something next, or not begin at all."""
        self.watch.stop()
        self._future.cancel()

    @property
    def done(self) -> bool:
        """Has it ended, however?"""
        return self._future.done()

    async def result(self) -> T:
        """What it brings. Raises what it raises, Abandoned where it was abandoned before its end.

        The work itself goes on where whoever waits here is cancelled.
        """
        waiting = asyncio.wrap_future(self._future)
        await asyncio.wait([waiting])
        if waiting.cancelled():
            raise Abandoned
        return waiting.result()


class Workers:
    """The threads of a server: ``threads`` for searches, one each for the other lanes."""

    def __init__(self, threads: int) -> None:
        require_integer("threads", threads, 1)
        sizes: dict[Lane, int] = {"moves": 1, "searches": threads, "analyses": 1}
        self._pools = {
            lane: ThreadPoolExecutor(size, thread_name_prefix=lane) for lane, size in sizes.items()
        }
        self._jobs: set[Job[object]] = set()
        self.ready: set[str] = set()  # kinds of tables whose kernels are loaded

    def run(self, lane: Lane, work: Callable[[], T]) -> Job[T]:
        """Begin work when its turn comes."""
        self._jobs = {job for job in self._jobs if not job.done}
        job = Job(self._pools[lane], work)
        self._jobs.add(job)  # type: ignore[arg-type]  # whatever it brings
        return job

    @property
    def busy(self) -> int:
        """Pieces of work that run or wait."""
        return sum(not job.done for job in self._jobs)

    def close(self) -> None:
        """Abandon all work; what computes now ends at its next round."""
        for job in self._jobs:
            job.abandon()
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
