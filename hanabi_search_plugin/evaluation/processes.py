"""Chunks on processes of this machine: for policies in plain Python, which hold the interpreter's
lock.

A process is a fresh interpreter that runs this module, so a program needs no guard around its main
part, and nothing is forked while threads run.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing import connection as connections
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any
from uuid import uuid4

from hanabi_search_plugin.core.errors import UnsupportedError, WorkerLostError
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.chunk_worker import Bench, outcome_of, packed
from hanabi_search_plugin.evaluation.executor import Crew, Executor, Outcome, Work


class Processes(Executor):
    """``processes`` of them, begun when they are needed; ``close`` ends them.

    Raises ConfigError for fewer than one.
    """

    def __init__(self, processes: int, *, chunk_size: int = 1) -> None:
        super().__init__()
        self.processes = require_integer("processes", processes, 1)
        self.chunk_size = require_integer("chunk_size", chunk_size, 1)
        self._idle: list[_Process] = []

    @property
    def workers(self) -> int:
        return self.processes

    def crew(self, work: Work, *, timed: bool, kernels: str) -> Crew:
        return _ProcessCrew(self, packed("what is played", (work, kernels)))

    def status(self) -> str:
        return f"{counted(self.processes, 'worker')}, {self.retried} retried"

    def take(self) -> _Process:
        """A process that has nothing to do."""
        return self._idle.pop() if self._idle else _Process()

    def give_back(self, process: _Process) -> None:
        """Keep an idle process for the next work."""
        self._idle.append(process)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().end()

    def __repr__(self) -> str:
        return f"Processes({self.processes})"


class _Process:
    """One worker, and what it has to do."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            environment = {"OMP_NUM_THREADS": "1"} | os.environ
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL
            )
        self.connection = Connection(ours.detach())
        self.number, self.chunk = -1, None
        self._key = ""

    def begin(self, number: int, chunk: Any, key: str, work: bytes) -> None:
        self.number, self.chunk = number, chunk
        new = None if key == self._key else work
        self._key = key
        with contextlib.suppress(OSError):  # it is gone: whoever waits for it will see
            self.connection.send_bytes(packed("a chunk", (key, new, chunk)))

    def result(self) -> tuple[Outcome, float]:
        """What it has brought, waiting for it; and CPU seconds of compilation."""
        try:
            return outcome_of(self.number, self.chunk, self.connection.recv_bytes())
        except (EOFError, OSError):
            code = self._process.wait()
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            error = WorkerLostError(f"process {self._process.pid} ended {how}")
            return Outcome(self.number, self.chunk, error=error), 0.0

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self.connection.close()
        self._process.kill()
        self._process.wait()


class _ProcessCrew(Crew):
    """A process has one chunk; with the next it waits until the driver has heard of the last."""

    def __init__(self, executor: Processes, work: bytes) -> None:
        self._executor, self._work, self._key = executor, work, uuid4().hex
        self._busy: dict[Connection, _Process] = {}

    @property
    def at_once(self) -> int:
        return self._executor.processes

    def submit(self, number: int, chunk: Any) -> None:
        process = self._executor.take()
        self._busy[process.connection] = process
        process.begin(number, chunk, self._key, self._work)

    def collect(self, wait: bool) -> list[Outcome]:
        outcomes = []
        for connection in connections.wait(list(self._busy), None if wait else 0):
            assert isinstance(connection, Connection)
            process = self._busy.pop(connection)
            outcome, compiled = process.result()
            self._executor.compile_seconds += compiled
            if process.alive:
                self._executor.give_back(process)
            else:
                process.end()
            outcomes.append(outcome)
        return outcomes

    def close(self) -> None:
        while self._busy:
            self._busy.popitem()[1].end()


def _serve(connection: Connection) -> None:
    """Compute what comes in, until the driver is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the driver's business
    messages: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        try:
            while True:
                messages.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    bench = Bench()
    while True:
        try:
            key, work, chunk = pickle.loads(messages.get())
            bench.take(key, functools.partial(bytes, work))
        except UnsupportedError as error:
            reply = bench.refuse(error)
        else:
            reply = bench.compute(chunk)
        connection.send_bytes(reply)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
