"""Show how far a long piece of work is: a bar on a terminal and in a notebook, elsewhere a line now
and then on the standard error. Rich is loaded when something is shown."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hanabi_search_plugin.core.words import duration

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[[int], None]
"""Takes how much is done."""

SOON, LATE = 10.0, 30.0  # seconds between lines: at least, and at most where work goes on


@contextmanager
def progress_bar(
    what: str,
    total: int | None,
    *,
    done: int = 0,
    console: Console | bool = True,
    status: Callable[[], str] = str,
) -> Iterator[Show]:
    """A function that takes how many of ``total`` (None: not known) are done, shown as ``what``.

    ``done`` of them are done before, which the rate leaves out. ``console`` shows the bar (True:
    the standard error; False, or a quiet one: nothing is shown). ``status`` says what else there is
    to say at the moment.
    """
    if console is False:
        yield lambda done: None
        return
    from rich.console import Console

    screen = Console(stderr=True) if console is True else console
    if screen.quiet:
        yield lambda done: None
        return
    if screen.is_terminal or screen.is_jupyter:
        with _bar(what, total, done, screen, status) as show:
            yield show
        return
    lines = ProgressLines(what, total, done=done, write=_to_stderr, status=status)
    ended = threading.Event()
    threading.Thread(target=_tick, args=(lines, ended), daemon=True).start()
    try:
        yield lines.show
    finally:
        ended.set()


@contextmanager
def _bar(
    what: str, total: int | None, done: int, console: Console, status: Callable[[], str]
) -> Iterator[Show]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        *(TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()),
        *(TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()),
        TextColumn("{task.fields[status]}", markup=False),
    )
    before, began = done, time.monotonic()

    def now(done: int) -> str:
        said = status()
        if not said or done == before:
            return said
        return f"{_rate((time.monotonic() - began) / (done - before))}, {said}"

    # A game may take minutes: the rate is that of the last thousand, whenever they were.
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=float("inf")
    ) as bar:
        task = bar.add_task(what, total=total, completed=done, status=status())
        yield lambda done: bar.update(task, completed=done, status=now(done))


class ProgressLines:
    """Says how far the work is after ``SOON`` seconds, then at each tenth that is complete ``SOON``
    or more after the line before, and where no line came for ``LATE`` seconds.

    ``clock`` gives seconds.
    """

    def __init__(
        self,
        what: str,
        total: int | None,
        *,
        done: int = 0,
        write: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
        status: Callable[[], str] = str,
    ) -> None:
        self._what, self._total, self._write, self._clock = what, total, write, clock
        self._status = status
        self._before = self._done = self._said_at = done
        self._began = clock()
        self._written, self._due = self._began, self._began + SOON
        self._lock = threading.Lock()  # of the work and of the thread that ticks

    def show(self, done: int) -> None:
        """Note what is done; a line where a tenth is complete."""
        with self._lock:
            self._done = done
            early = self._clock() < self._written + SOON
            if self._total and not early and self._tenths(done) > self._tenths(self._said_at):
                self._say()

    def tick(self) -> None:
        """A line where one is due."""
        with self._lock:
            if self._clock() >= self._due:
                self._say()

    def _tenths(self, done: int) -> int:
        assert self._total
        return 10 * done // self._total

    def _say(self) -> None:
        now = self._clock()
        self._written, self._due, self._said_at = now, now + LATE, self._done
        seconds, new = now - self._began, self._done - self._before
        text = f"{self._what}: {self._done:,}"
        if self._total is not None:
            text += f" of {self._total:,} ({100 * self._done // max(self._total, 1)} %)"
        said = f", {status}" if (status := self._status()) else ""
        if not new:
            self._write(f"{text} after {duration(seconds)}{said}")
            return
        each = seconds / new
        text += f", {_rate(each)}"
        if self._total is not None and self._done < self._total:
            text += f", about {duration(each * (self._total - self._done))} left"
        self._write(text + said)


def _rate(each: float) -> str:
    """Of things that take so many seconds each."""
    return f"{1 / each:,.1f} a second" if each < 1 else f"{duration(each)} each"


def _tick(lines: ProgressLines, ended: threading.Event) -> None:
    while not ended.wait(1.0):
        lines.tick()


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
