"""The contract of whoever computes many chunks of work: threads, processes or a cluster.

A chunk is a short description of work, the numbers of some games, say. The work is a function of
the chunk alone: its chance follows from seeds that it holds. So nobody can tell from what comes out
who computed a chunk, when, and for which time. Outcomes come in the order of the chunks, and each
chunk counts once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hanabi_search_plugin.core.errors import UnsupportedError, WorkerLostError
from hanabi_search_plugin.core.require import class_given
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.closing import Closing

TRIES = 3  # of a chunk whose worker is lost
AHEAD = 4  # times as many chunks as are at work may be begun beyond the oldest unfinished one


@dataclass(frozen=True)
class Place:
    """Where a chunk is computed."""

    alone: bool  # nothing else of this run compiles in the process meanwhile
    stopped: Callable[[], bool]  # has everybody stopped waiting for the chunk?


Work = Callable[[Any, Place], Any]
"""Takes a chunk, returns its value; pure but for what it measures."""


@dataclass(frozen=True)
class Outcome:
    """What became of a chunk."""

    number: int  # chunks count from 0
    chunk: Any
    value: Any = None
    error: BaseException | None = None  # that the work raised; WorkerLostError: it never ended


class Crew(ABC):
    """The workers of one run: chunks go in, outcomes come out in any order."""

    @property
    @abstractmethod
    def at_once(self) -> int:
        """How many chunks it should have now, in work or next in line."""

    @abstractmethod
    def submit(self, number: int, chunk: Any) -> None:
        """Begin a chunk, or begin it again after its worker was lost."""

    @abstractmethod
    def collect(self, wait: bool) -> list[Outcome]:
        """Those that have ended since the last call; with ``wait`` not before there is one."""

    @abstractmethod
    def close(self) -> None:
        """Stop what is still at work, without waiting for it."""


class Executor(Closing):
    """Computes chunks. ``chunk_size`` searched games make one, which changes no result."""

    chunk_size: int = 1

    def __init__(self) -> None:
        self.compile_seconds = 0.0  # CPU seconds that workers in other processes compiled
        self.retried = 0  # chunks begun again because their worker was lost

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many chunks are computed at the same time, as far as is known now."""

    @abstractmethod
    def crew(self, work: Work, *, timed: bool, kernels: str) -> Crew:
        """Give the workers ``work``; see ``run``."""

    def run(
        self, work: Work, chunks: Iterable[Any], *, timed: bool = False, kernels: str = ""
    ) -> ChunkRun:
        """The outcomes of ``chunks``, in their order. To be used in a ``with`` block.

        ``timed``: the work takes its CPU time, so workers that share a process let the first chunk
        go alone, which then bears the compilation. ``kernels`` names what the work compiles: the
        first chunk of that name on a machine goes ahead of the others there.
        """
        return ChunkRun(self, self.crew(work, timed=timed, kernels=kernels), chunks)

    def map(self, work: Work, chunks: Iterable[Any], *, kernels: str = "") -> Iterator[Any]:
        """The values of ``chunks``, in their order. Raises the first error of one."""
        with self.run(work, chunks, kernels=kernels) as run:
            for outcome in run:
                if outcome.error is not None:
                    raise outcome.error
                yield outcome.value

    def status(self) -> str:
        """For people who wait: workers and retries; nothing where all is said by the command."""
        return ""

    def close(self) -> None:
        """Let go of workers that outlive a run."""


class ChunkRun(Closing):
    """Outcomes in order. Not many chunks are begun beyond the oldest unfinished one, so that what
    waits for its turn stays small."""

    def __init__(self, executor: Executor, crew: Crew, chunks: Iterable[Any]) -> None:
        self._executor, self._crew = executor, crew
        self._chunks = enumerate(chunks)
        self._next = 0  # the number of the next outcome
        self._open: dict[int, Any] = {}  # chunks that are begun
        self._tries: dict[int, int] = {}  # of those whose worker was lost
        self._ended: dict[int, Outcome] = {}  # which wait for their turn

    def __iter__(self) -> Iterator[Outcome]:
        while True:
            self._fill()
            if self._next in self._ended:
                outcome = self._ended.pop(self._next)
                self._next += 1
                yield outcome
            elif self._open:
                self._take(self._crew.collect(wait=True))
            else:
                return

    def finished(self) -> list[Outcome]:
        """What has ended and was not handed out, in order: for those who stop early."""
        self._take(self._crew.collect(wait=False))
        left, self._ended = self._ended, {}
        return [left[number] for number in sorted(left)]

    def _fill(self) -> None:
        at_once = self._crew.at_once
        while len(self._open) < at_once:
            if len(self._open) + len(self._ended) >= AHEAD * at_once:
                return
            number, chunk = next(self._chunks, (-1, None))
            if number < 0:
                return
            self._open[number] = chunk
            self._crew.submit(number, chunk)

    def _take(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            number = outcome.number
            if isinstance(outcome.error, WorkerLostError):
                tries = self._tries[number] = self._tries.get(number, 0) + 1
                if tries < TRIES:
                    self._executor.retried += 1
                    self._crew.submit(number, self._open[number])
                    continue
                lost = WorkerLostError(f"lost {counted(TRIES, 'worker')} in turn: {outcome.error}")
                outcome = replace(outcome, error=lost)
            self._tries.pop(number, None)
            del self._open[number]
            self._ended[number] = outcome

    def close(self) -> None:
        self._crew.close()


def require_executor(given: object) -> Executor:
    """``given``. Raises UnsupportedError for what is no Executor."""
    if not isinstance(given, Executor):
        came = class_given(given) if isinstance(given, type) else repr(given)
        raise UnsupportedError(f"executor must be an Executor, as Processes(4), got {came}")
    return given
