"""Progress of a search in another thread: how many rollouts it has played, and a way to stop it.

Searches and rollouts call ``report_rollouts`` as they go on. It counts for work that runs within
``watched``, and does nothing elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Abandoned(BaseException):
    """The work was stopped. Not an Exception, so that no handler on the way swallows it."""


class Watch:
    """The progress of one piece of work; any thread may read it, and stop the work."""

    def __init__(self) -> None:
        self.rollouts = 0  # that it has played, or iterations of a tree
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the work end with Abandoned at its next ``report_rollouts``."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def require_wanted(self) -> None:
        """Raises Abandoned if the work was stopped."""
        if self.stopped:
            raise Abandoned


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Rollouts that this thread reports within are counted by ``watch``."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def report_rollouts(rollouts: int) -> None:
    """Report so many more rollouts. Raises Abandoned where the work was stopped."""
    watch = _watch.get()
    if watch is not None:
        watch.rollouts += rollouts
        watch.require_wanted()
