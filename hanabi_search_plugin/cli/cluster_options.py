"""Options of who plays the games of a long run: threads, processes or a cluster of Ray."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.settings import setting

if TYPE_CHECKING:
    from hanabi_search_plugin.evaluation.executor import Executor

PROCESSES = "processes"


@dataclass(frozen=True, kw_only=True)
class ClusterChoice:
    """Who plays in place of the threads; no result depends on it."""

    cluster: str | None = setting(
        None,
        "Play on workers in place of --threads: processes of this machine, or a cluster of Ray: "
        "local starts one here, auto is the one that runs here, HOST:PORT one elsewhere. Results "
        "are the same.",
        metavar="processes|local|auto|HOST:PORT",
    )
    workers: int | None = setting(
        None, "Workers of --cluster, at most. Default: as many as there are processors."
    )
    gpus_per_worker: float = setting(
        0.0, "GPUs of Ray's that a worker has, or a part of one: 0.25 lets four share it."
    )
    chunk_size: int = setting(
        1, "Searched games that a worker of --cluster gets at a time: more where they are short."
    )

    def executor(self, threads: int) -> Executor:
        """Who plays, to be closed at the end.

        Raises ConfigError for bad numbers, for options of a cluster without one and where none
        answers, UnsupportedError where Ray is missing.
        """
        from hanabi_search_plugin.evaluation.processes import Processes
        from hanabi_search_plugin.evaluation.threads import Threads

        if self.cluster is None:
            self._require_no("needs --cluster", "workers", "gpus_per_worker", "chunk_size")
            return Threads(threads)
        if threads != 1:
            raise ConfigError(f"threads must be left out with --cluster, got {threads}")
        if self.cluster == PROCESSES:
            self._require_no("is of a cluster of Ray", "gpus_per_worker")
            workers = len(os.sched_getaffinity(0)) if self.workers is None else self.workers
            return Processes(workers, chunk_size=self.chunk_size)
        require_extra("cluster", f"--cluster {self.cluster}", "ray")
        from hanabi_search_plugin.wrappers.ray import Ray

        return Ray(
            self.cluster,
            workers=self.workers,
            gpus_per_worker=self.gpus_per_worker,
            chunk_size=self.chunk_size,
        )

    def players(self, parts: int | None, device: str) -> Executor:
        """Who plays the parts of a training's rounds; see ``executor``.

        Raises ConfigError, besides, for a cluster that has nothing to share, and for a network on a
        GPU where workers have none.
        """
        if self.cluster is not None and (parts is None or parts < 2):
            raise ConfigError(f"parts must be at least 2 with --cluster, got {parts or 1}")
        if self.cluster is not None and device != "cpu" and not self.gpus_per_worker:
            raise ConfigError(
                f"gpus-per-worker must be above 0 for games on {device}, got {self.gpus_per_worker}"
            )
        return self.executor(1)

    def _require_no(self, why: str, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value != getattr(ClusterChoice(), name):
                raise ConfigError(f"{name.replace('_', '-')} {why}, got {value} without")

    def words(self) -> list[str]:
        """The options that are not at their defaults, as words of a command."""
        found: list[str] = []
        for name in ("cluster", "workers", "gpus_per_worker", "chunk_size"):
            value = getattr(self, name)
            if value != getattr(ClusterChoice(), name):
                found += [f"--{name.replace('_', '-')}", str(value)]
        return found


def the_cluster(*without: str) -> Fields:
    """The options of ``ClusterChoice``."""
    return Fields(ClusterChoice, panel="Run", without=without)
