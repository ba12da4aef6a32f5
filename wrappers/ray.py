"""Chunks on a cluster of Ray. Needs the extra ``cluster``; nothing else of the package imports Ray.

The work travels once: the object store brings it to each machine, where a worker process reads it
for its first chunk. Chunks and what they bring are the messages. Ray schedules; that a chunk whose
worker is gone is begun again, and counts once, is the executor's part (``executor.ChunkRun``).
"""

from __future__ import annotations

import math
import os
import pickle
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from hanabi_search_plugin.core.extras import needing

with needing("cluster", "a cluster"):
    import ray
    from ray import exceptions

from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError, WorkerLostError
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.chunk_worker import (
    Bench,
    fingerprint,
    outcome_of,
    packed,
    require_same,
)
from hanabi_search_plugin.evaluation.executor import Crew, Executor, Outcome, Work

__all__ = ["Ray"]

LOOK_EVERY = 2.0  # seconds between looks at which machines there are
IN_LINE = 2  # chunks for each worker, one of them at work: the next is there when it ends
REACHED_WITHIN = 5.0  # seconds for the first answer of an address

_LOST = (
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.LocalRayletDiedError,
    exceptions.OutOfMemoryError,
    exceptions.ObjectLostError,
)


class Ray(Executor):
    """The workers of a cluster of Ray.

    ``address``: "local" starts one on this machine, which ``close`` stops; "auto" is the one that
    runs on this machine, HOST:PORT one elsewhere, and neither is ever stopped. Where the program
    has connected to a cluster itself, that one is taken for "auto". ``workers``: at most so many at
    once; None: as many as there are processors, and with "local" this decides how many there are.
    ``gpus_per_worker`` may be a part: 0.25 lets four workers share a GPU. Raises ConfigError for an
    address where no cluster answers, and for bad numbers.
    """

    def __init__(
        self,
        address: str = "auto",
        *,
        workers: int | None = None,
        gpus_per_worker: float = 0.0,
        chunk_size: int = 1,
    ) -> None:
        super().__init__()
        if workers is not None:
            workers = require_integer("workers", workers, 1)
        chunk_size = require_integer("chunk_size", chunk_size, 1)
        if not 0 <= gpus_per_worker < math.inf:
            raise ConfigError(f"gpus_per_worker must be at least 0, got {gpus_per_worker!r}")
        self.address, self.chunk_size = address, chunk_size
        self.most_workers, self.gpus_per_worker = workers, float(gpus_per_worker)
        self._connected_here = _connect(address, workers)
        self._looked, self._seen = -math.inf, 0

    @property
    def workers(self) -> int:
        """Those that the machines have room for now; looked up every ``LOOK_EVERY`` seconds."""
        if time.monotonic() > self._looked + LOOK_EVERY:
            self._looked = time.monotonic()
            machines = (node["Resources"] for node in ray.nodes() if node["Alive"])
            self._seen = sum(map(self._room, machines))
        return min(self._seen, self.most_workers or self._seen)

    @property
    def at_once(self) -> int:
        """Chunks to begin: with slots for more workers than wanted, no more than those."""
        workers = max(self.workers, 1)
        return workers if self._seen > workers else IN_LINE * workers

    def _room(self, resources: dict[str, float]) -> int:
        slots = resources.get("CPU", 0.0)
        if self.gpus_per_worker:
            slots = min(slots, resources.get("GPU", 0.0) / self.gpus_per_worker)
        return int(slots + 1e-9)

    def crew(self, work: Work, *, timed: bool, kernels: str) -> Crew:
        content = packed("what is played", (work, kernels))
        if not self.workers:
            needs = f" with {self.gpus_per_worker:g} GPUs each" if self.gpus_per_worker else ""
            raise ConfigError(f"the cluster must have room for workers{needs}, got none")
        return _RayCrew(self, content)

    def status(self) -> str:
        return f"{counted(self.workers, 'worker')}, {self.retried} retried"

    def close(self) -> None:
        """Stop the cluster that this started, or leave the one that this connected to."""
        if self._connected_here:
            self._connected_here = False
            ray.shutdown()

    def __repr__(self) -> str:
        return f"Ray({self.address!r})"


def _connect(address: str, workers: int | None) -> bool:
    """Was there no connection before? Raises ConfigError where nothing answers."""
    if ray.is_initialized():
        if address == "auto":
            return False
        raise ConfigError(
            f"address must be auto where the program is connected to a cluster, got {address!r}"
        )
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"num_cpus": workers, "include_dashboard": False}
    elif address != "auto":
        _require_answer(address)
    try:
        ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _no_cluster(address, str(error)) from None
    return True


def _require_answer(address: str) -> None:
    """Ray itself asks for a minute."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise _no_cluster(address, "that is no HOST:PORT")
    try:
        socket.create_connection((host, int(port)), REACHED_WITHIN).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from None


def _no_cluster(address: str, why: str) -> ConfigError:
    why = " ".join(why.split())
    return ConfigError(
        f"cluster must be local, auto or the HOST:PORT of a cluster of Ray, got {address!r}: {why}"
    )


class _RayCrew(Crew):
    def __init__(self, executor: Ray, content: bytes) -> None:
        self._executor, self._key = executor, uuid4().hex
        self._content = ray.put(content)
        options = {"num_cpus": 1, "num_gpus": executor.gpus_per_worker, "max_retries": 0}
        self._task = ray.remote(**options)(_entry(fingerprint()))
        self._open: dict[int, tuple[Any, Any]] = {}  # chunk and reference by number
        self._ended: SimpleQueue[tuple[int, Future[Any]]] = SimpleQueue()

    @property
    def at_once(self) -> int:
        return self._executor.at_once

    def submit(self, number: int, chunk: Any) -> None:
        reference = self._task.remote(self._key, [self._content], packed("a chunk", chunk))
        self._open[number] = chunk, reference
        future = reference.future()
        future.add_done_callback(lambda future: self._ended.put((number, future)))

    def collect(self, wait: bool) -> list[Outcome]:
        outcomes = [self._outcome(*self._ended.get())] if wait else []
        try:
            while True:
                outcomes.append(self._outcome(*self._ended.get_nowait()))
        except Empty:
            return outcomes

    def _outcome(self, number: int, future: Future[Any]) -> Outcome:
        chunk, _ = self._open.pop(number)
        try:
            outcome, compiled = outcome_of(number, chunk, future.result())
        except _LOST as error:
            message = str(error).strip().partition("\n")[0]
            return Outcome(number, chunk, error=WorkerLostError(message))
        except exceptions.RayError as error:
            message = str(error).strip().splitlines()[-1]
            refused = UnsupportedError(f"a worker cannot begin: {message}")
            return Outcome(number, chunk, error=refused)
        self._executor.compile_seconds += compiled
        return outcome

    def close(self) -> None:
        """Cancel what is at work. Other people's tasks, and the cluster, go on."""
        for _, reference in self._open.values():
            ray.cancel(reference, force=True)
        self._open.clear()


def _entry(driver: dict[str, str]) -> Callable[[str, list[Any], bytes], bytes]:
    """What a task does. It travels as code, so that it can tell of a machine without the package,
    or with another version of it."""

    def entry(key: str, content: list[Any], chunk: bytes) -> bytes:
        from ray.util import get_node_ip_address

        try:
            from hanabi_search_plugin.wrappers.ray import compute
        except ImportError as error:
            raise ImportError(
                f"workers must have hanabi-search-plugin {driver['hanabi-search-plugin']}, got "
                f"none on {get_node_ip_address()}: {error}"
            ) from None
        return compute(driver, key, content, chunk)

    entry.__module__ = "__main__"  # cloudpickle sends the code of what lives there
    return entry


_bench = Bench()


def compute(driver: dict[str, str], key: str, content: list[Any], chunk: bytes) -> bytes:
    """In a worker: a chunk's outcome, packed."""
    try:
        require_same(driver, ray.util.get_node_ip_address())
        _bench.take(key, lambda: ray.get(content[0]))
    except (ConfigError, UnsupportedError) as error:
        return _bench.refuse(error)
    return _bench.compute(pickle.loads(chunk))
