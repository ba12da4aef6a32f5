"""Work that somebody watches: it tells how far it has come, and ends where nobody waits for it.

Searches and rollouts call ``tell`` as they go on. Whoever runs them in a thread of its own does so
within ``watched``; for all others ``tell`` does nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Abandoned(BaseException):
    """Nobody waits for this work any more; no error, so nothing on the way keeps it."""


class Watch:
    """What one piece of work has told; any thread may read it, and stop the work."""

    def __init__(self) -> None:
        self.rollouts = 0  # that it has played, or iterations of a tree
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the work end with Abandoned where it tells something next."""
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
    """What is told within, by this thread, is told to ``watch``."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def tell(rollouts: int) -> None:
    """Say that so many more rollouts are played. Raises Abandoned where nobody waits for more."""
    watch = _watch.get()
    if watch is not None:
        watch.rollouts += rollouts
        watch.require_wanted()
