"""Threads that nobody waits for."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from hanabi_search_plugin.evaluation.daemon_pool import DaemonPool


def test_results_and_errors_come_back() -> None:
    with DaemonPool(2) as pool:
        futures = [pool.submit(divmod, 7, n) for n in (2, 3, 0)]
        assert [future.result() for future in futures[:2]] == [(3, 1), (2, 1)]
        with pytest.raises(ZeroDivisionError):
            futures[2].result()


def test_leaving_does_not_wait_for_what_runs() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait()

    with DaemonPool(1) as pool:
        running, waiting = pool.submit(slow), pool.submit(slow)
        begun.wait()
    assert not running.done()  # the block has been left all the same
    with pytest.raises(CancelledError):
        waiting.result()
    go_on.set()
    assert running.result() is None


def test_threads_end_with_the_block() -> None:
    before = set(threading.enumerate())
    with DaemonPool(3) as pool:
        pool.submit(int)
        new = set(threading.enumerate()) - before
        assert len(new) == 3 and all(thread.daemon for thread in new)
    for thread in new:
        thread.join()
    assert not new & set(threading.enumerate())
