"""Runs on a cluster of Ray: several machines, played by processes of this one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster

from hanabi_search_plugin import HanabiGame, Sparta, UniformPolicy, evaluate, upgrade
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import (
    ConfigError,
    UnsupportedError,
    WorkerLostError,
)
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from hanabi_search_plugin.evaluation.executor import Place
from hanabi_search_plugin.evaluation.match import GameResult
from hanabi_search_plugin.wrappers import ray as module
from hanabi_search_plugin.wrappers.ray import Ray

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, life_tokens=3)
MEMORY = {"object_store_memory": 80 * 2**20, "include_dashboard": False}


def line_up() -> tuple[Any, Any]:
    return "random", upgrade("random", GAME, Sparta(rollouts=20, min_rollouts=4))


def played(evaluation: Evaluation) -> list[tuple[Any, ...]]:
    games = (*evaluation.games, *(evaluation.baseline or ()))
    return [(game.side, game.game, game.score, game.actions, game.rollouts) for game in games]


@pytest.fixture(scope="module")
def machines() -> Iterator[Cluster]:
    """A head without workers, and a machine with two."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0} | MEMORY)
    cluster.add_node(num_cpus=2, object_store_memory=MEMORY["object_store_memory"])
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def executor(machines: Cluster) -> Iterator[Ray]:
    with Ray(machines.address) as executor:
        yield executor


@pytest.fixture(scope="module")
def alone() -> Evaluation:
    return evaluate(GAME, line_up(), games=6, seed=3)


def test_a_cluster_plays_what_one_thread_plays(executor: Ray, alone: Evaluation) -> None:
    for workers in (1, 2, None):
        executor.most_workers = workers
        executor.chunk_size = 2 if workers is None else 1
        found = evaluate(GAME, line_up(), games=6, seed=3, executor=executor)
        assert played(found) == played(alone)
        assert found.threads == (workers or 2)
        assert all(game.cpu_seconds > 0 for game in found.games)
    executor.chunk_size = 1


def test_policies_and_games_of_ones_own_go_along(executor: Ray) -> None:
    class Highest(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            return legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)

    class Renamed(HanabiGame):
        pass

    game = Renamed(GAME.config)
    found = evaluate(game, Highest(), games=300, seed=1, executor=executor)
    assert played(found) == played(evaluate(game, Highest(), games=300, seed=1))


def test_the_work_travels_once(executor: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[int] = []
    real = ray.put

    def counted(content: bytes) -> Any:
        put.append(len(content))
        return real(content)

    monkeypatch.setattr(module.ray, "put", counted)
    evaluate(GAME, UniformPolicy(), games=1500, executor=executor)
    assert len(put) == 1


def test_a_game_that_fails_is_named(executor: Ray) -> None:
    class Breaks(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            raise ZeroDivisionError("by whom")

    with pytest.raises(ZeroDivisionError, match="by whom") as raised:
        evaluate(GAME, Breaks(), games=3, seed=3, executor=executor)
    (note,) = raised.value.__notes__
    assert re.fullmatch(r"in act of .*Breaks.*, seat 0, turn 0, game 0 of seed 3", note)
    found = evaluate(GAME, Breaks(), games=3, seed=3, executor=executor, skip_failed=True)
    assert [one.games for one in found.skipped] == [(0,), (1,), (2,)] and not found.interrupted


def test_a_worker_killed_in_a_game_plays_it_again(executor: Ray, tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")

    class KillsOnce(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            with suppress(FileExistsError):
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            return super().act(view, legal, memory, rng)

    before = executor.retried
    found = evaluate(GAME, KillsOnce(), games=600, seed=3, executor=executor)
    assert executor.retried == before + 1
    assert played(found) == played(evaluate(GAME, UniformPolicy(), games=600, seed=3))


def test_a_chunk_that_kills_its_worker_every_time_is_named(executor: Ray) -> None:
    class Kills(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            os._exit(7)

    with pytest.raises(WorkerLostError, match="lost 3 workers in turn") as raised:
        evaluate(GAME, Kills(), games=3, seed=3, executor=executor)
    assert raised.value.__notes__ == ["in games 0 to 2 of seed 3"]


def test_a_machine_that_goes_away_loses_nothing(
    machines: Cluster, executor: Ray, tmp_path: Path
) -> None:
    going = machines.add_node(num_cpus=1, object_store_memory=MEMORY["object_store_memory"])
    machines.wait_for_nodes()
    executor._looked = 0.0
    assert executor.workers == 3

    doomed, reached = going.node_id, tmp_path / "reached"

    def work(chunk: int, place: Place) -> int:
        """Never ends on the machine that goes away, and nowhere before that one has a chunk."""
        if ray.get_runtime_context().get_node_id() == doomed:
            reached.touch()
            time.sleep(3600)
        until = time.monotonic() + 60
        while not reached.exists() and time.monotonic() < until:
            time.sleep(0.05)
        return chunk * chunk

    def remove() -> None:
        while not reached.exists():
            time.sleep(0.05)
        machines.remove_node(going, allow_graceful=False)

    before = executor.retried
    threading.Thread(target=remove, daemon=True).start()
    with executor.run(work, range(10)) as run:
        assert [outcome.value for outcome in run] == [n * n for n in range(10)]
    assert reached.exists() and executor.retried > before


def test_other_versions_are_one_clear_line(executor: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    other = module.fingerprint() | {"hanabi-search-plugin": "99.0"}
    monkeypatch.setattr(module, "fingerprint", lambda: other)
    says = r"workers must have what the driver has, hanabi-search-plugin 99\.0, got .* on \d+\."
    with pytest.raises(ConfigError, match=says):
        evaluate(GAME, UniformPolicy(), games=3, executor=executor)


def test_what_a_worker_cannot_read_is_one_clear_line(executor: Ray) -> None:
    class Lost(UniformPolicy):
        def __reduce__(self) -> Any:
            return __import__, ("no_such_module_anywhere",)

    with pytest.raises(UnsupportedError, match="got ModuleNotFoundError: No module named"):
        evaluate(GAME, Lost(), games=3, executor=executor)


def test_an_interrupt_keeps_what_is_finished_and_frees_the_workers(executor: Ray) -> None:
    def endless(chunk: int, place: Place) -> int:
        if chunk > 2:
            time.sleep(3600)
        return chunk

    with executor.run(endless, range(8)) as run:
        outcomes = iter(run)
        assert [next(outcomes).value for _ in range(3)] == [0, 1, 2]
    with executor.run(lambda chunk, place: chunk, range(3)) as run:  # there is room again
        assert [outcome.value for outcome in run] == [0, 1, 2]


def test_a_killed_driver_goes_on_anywhere(machines: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    small = ["--colors", "2", "--ranks", "2", "--hand-size", "2", "--life-tokens", "3"]
    options = [
        *small,
        "--policy",
        "random",
        "--search",
        "sparta",
        "--rollouts",
        "20",
        "--seed",
        "3",
    ]
    command = [sys.executable, "-m", "hanabi_search_plugin", "evaluate", *options]
    command += ["--games", "20000", "--resume", str(path), "--cluster", machines.address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        until = time.monotonic() + 120
        while not path.exists() or path.read_bytes().count(b'"policies"') < 5:
            assert run.poll() is None and time.monotonic() < until, run.stderr
            time.sleep(0.05)
        run.kill()
    lines = path.read_bytes().splitlines()
    games = sum(b'"policies"' in line for line in lines)
    assert len(set(lines)) == len(lines)
    whole = evaluate(GAME, _as_commanded(), games=games + 2, seed=3)
    heard: list[int] = []

    def hear(result: GameResult) -> None:
        if result.side == "policies":
            heard.append(result.game)

    resumed = evaluate(
        GAME, _as_commanded(), games=games + 2, seed=3, resume=path, on_game=hear, threads=2
    )
    assert played(resumed) == played(whole)
    assert len(heard) <= 3


def _as_commanded() -> tuple[Any, Any]:
    return "random", upgrade("random", GAME, Sparta(rollouts=20))


@contextmanager
def _unconnected() -> Iterator[None]:
    """As if this program had no cluster."""
    patch = pytest.MonkeyPatch()
    patch.setattr(module.ray, "is_initialized", lambda: False)
    try:
        yield
    finally:
        patch.undo()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("nowhere", "local, auto or the HOST:PORT of a cluster of Ray, got 'nowhere'"),
        ("127.0.0.1:1", "got '127.0.0.1:1': .*refused"),
        ("127.0.0.1:99999", "got '127.0.0.1:99999'"),
    ],
)
def test_a_bad_address_is_one_line(address: str, says: str) -> None:
    with _unconnected(), pytest.raises(ConfigError, match=says):
        Ray(address)
    with _unconnected():
        result = CliRunner().invoke(app, ["evaluate", "--games", "1", "--cluster", address])
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1


def test_a_cluster_of_the_program_is_taken_and_left(machines: Cluster, executor: Ray) -> None:
    with Ray("auto") as mine:
        assert mine.workers == executor.workers
    assert ray.is_initialized()
    with pytest.raises(ConfigError, match="address must be auto where the program is connected"):
        Ray("local")
    with pytest.raises(ConfigError, match="room for workers with 1 GPUs each, got none"):
        evaluate(GAME, UniformPolicy(), games=1, executor=Ray("auto", gpus_per_worker=1))
