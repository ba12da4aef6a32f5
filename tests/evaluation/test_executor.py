"""Who computes changes nothing: order, retries, failures, threads and processes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hanabi_search_plugin import HanabiGame, Sparta, UniformPolicy, evaluate, upgrade
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import (
    ConfigError,
    UnsupportedError,
    WorkerLostError,
)
from hanabi_search_plugin.evaluation import once_a_node
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from hanabi_search_plugin.evaluation.executor import AHEAD, Crew, Executor, Outcome, Place, Work
from hanabi_search_plugin.evaluation.match import GameResult, Match, deal_game
from hanabi_search_plugin.evaluation.processes import Processes
from hanabi_search_plugin.evaluation.threads import Threads

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, life_tokens=3)


def line_up() -> tuple[Any, Any]:
    return "random", upgrade("random", GAME, Sparta(rollouts=20, min_rollouts=4))


def same(evaluation: Evaluation) -> list[GameResult]:
    """Its games, without what differs from run to run."""
    games = (*evaluation.games, *(evaluation.baseline or ()))
    return [dataclasses.replace(game, cpu_seconds=0.0) for game in games]


class Scripted(Crew, Executor):
    """Ends chunks in an order that a test decides; a worker is lost where it is told so."""

    workers = 2
    at_once = 2

    def __init__(self, losses: dict[int, int] | None = None) -> None:
        super().__init__()
        self.losses = losses or {}
        self.open: list[tuple[int, Any]] = []
        self.most_open = 0
        self.last_first = False
        self.closed = False

    def crew(self, work: Work, *, timed: bool, kernels: str) -> Crew:
        self.work = work
        return self

    def submit(self, number: int, chunk: Any) -> None:
        self.open.append((number, chunk))
        self.most_open = max(self.most_open, number)

    def collect(self, wait: bool) -> list[Outcome]:
        if not self.open or not wait:
            return []
        number, chunk = self.open.pop(-1 if self.last_first else 0)
        if self.losses.get(number, 0):
            self.losses[number] -= 1
            return [Outcome(number, chunk, error=WorkerLostError("gone"))]
        return [Outcome(number, chunk, self.work(chunk, Place(True, lambda: False)))]

    def close(self) -> None:
        self.closed = True


def square(chunk: int, place: Place) -> int:
    return chunk * chunk


def test_outcomes_come_in_order_and_not_many_wait_for_their_turn() -> None:
    executor = Scripted()
    executor.last_first = True  # the oldest chunk is always the slowest
    with executor.run(square, range(100)) as run:
        first = next(iter(run))
        assert first.value == 0
        assert executor.most_open <= AHEAD * executor.at_once
        assert [outcome.value for outcome in run] == [n * n for n in range(1, 100)]
    assert executor.closed


def test_a_lost_chunk_is_computed_again_three_times_at_most() -> None:
    executor = Scripted({3: 2, 5: 3})
    with executor.run(square, range(8)) as run:
        outcomes = list(run)
    assert [o.value for o in outcomes] == [0, 1, 4, 9, 16, None, 36, 49]
    assert executor.retried == 4
    assert isinstance(outcomes[5].error, WorkerLostError)
    assert "lost 3 workers in turn: gone" in str(outcomes[5].error)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as executor:
        yield executor


def test_processes_play_what_one_thread_plays(processes: Processes) -> None:
    one = evaluate(GAME, line_up(), games=5, seed=3)
    found = evaluate(GAME, line_up(), games=5, seed=3, executor=processes)
    assert same(found) == same(one)
    assert all(game.cpu_seconds > 0 for game in found.games)
    decisions: list[int] = []
    with_decisions = evaluate(
        GAME, line_up(), games=2, seed=3, executor=Processes(1, chunk_size=2),
        on_game=lambda game: decisions.append(len(game.decisions)),
    )  # fmt: skip
    assert same(with_decisions)[:2] == same(one)[:2] and decisions[-1] > 0


def test_a_policy_and_a_search_of_ones_own_go_along(processes: Processes) -> None:
    class Highest(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            return legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)

    found = evaluate(GAME, Highest(), games=300, seed=1, executor=processes)
    assert same(found) == same(evaluate(GAME, Highest(), games=300, seed=1))
    assert found.threads == 2
    with pytest.raises(UnsupportedError, match="what is played must be picklable"):
        holds = Highest()
        holds.lock = threading.Lock()  # type: ignore[attr-defined]
        evaluate(GAME, holds, games=1, executor=processes)


class Fails(UniformPolicy):
    """Raises in game ``at`` of seed 3, which it knows by the game's stream."""

    def __init__(self, at: int) -> None:
        self._stream = deal_game(GAME, 3, at)[1].state

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        if self._stream in rng.state:
            raise RuntimeError("broken policy")
        return super().act(view, legal, memory, rng)


@pytest.mark.parametrize("searched", [False, True])
def test_a_game_that_fails_is_named_and_the_others_are_kept(tmp_path: Path, searched: bool) -> None:
    policies: Any = Fails(4)
    if searched:
        policies = (Fails(4), line_up()[1])
    for executor in (Threads(), Threads(2)):
        path = tmp_path / f"{executor.workers}.jsonl"
        with pytest.raises(RuntimeError, match=r"^broken policy") as raised:
            evaluate(
                GAME, policies, games=7, seed=3, baseline=UniformPolicy(), resume=path,
                executor=executor,
            )  # fmt: skip
        (note,) = raised.value.__notes__
        assert re.fullmatch(r"in act of .*Fails.*, seat \d, turn \d+, game 4 of seed 3", note)
        line = traceback.extract_tb(raised.value.__traceback__)[-1].line
        assert line == 'raise RuntimeError("broken policy")'
        kept = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        numbers = [line["game"] for line in kept if line["side"] == "policies"]
        assert numbers[:4] == [0, 1, 2, 3] and 4 not in numbers
        whole = evaluate(
            GAME, policies, games=7, seed=3, baseline=UniformPolicy(), resume=path,
            executor=executor, skip_failed=True,
        )  # fmt: skip
        assert [game.game for game in whole.games] == [0, 1, 2, 3, 5, 6]
        assert not whole.interrupted
        (skipped,) = whole.skipped
        says = r"game 4 of seed 3: RuntimeError: broken policy \(in act of .*, turn \d+\)"
        assert re.fullmatch(says, str(skipped))
        assert whole.to_dict()["skipped"][0]["games"] == [4]
        assert "6 games of 7, 1 skipped, seed 3" in str(whole)


def test_an_error_of_another_process_says_where_it_was_raised(processes: Processes) -> None:
    class Breaks(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            raise ZeroDivisionError("by whom")

    with pytest.raises(ZeroDivisionError, match=r"^by whom") as raised:
        evaluate(GAME, Breaks(), games=3, seed=3, executor=processes)
    (note,) = raised.value.__notes__
    assert re.fullmatch(r"in act of .*Breaks.*, seat 0, turn 0, game 0 of seed 3", note)
    assert "in act" in str(raised.value.__cause__)


def test_a_worker_killed_in_a_game_plays_it_again(processes: Processes, tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")

    class KillsOnce(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            with suppress(FileExistsError):
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            return super().act(view, legal, memory, rng)

    before = processes.retried
    found = evaluate(GAME, KillsOnce(), games=600, seed=3, executor=processes)
    assert processes.retried == before + 1
    assert same(found) == same(evaluate(GAME, UniformPolicy(), games=600, seed=3))


def test_a_chunk_that_kills_its_worker_every_time_is_named(processes: Processes) -> None:
    class Kills(UniformPolicy):
        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            os._exit(7)

    with pytest.raises(WorkerLostError, match=r"lost 3 workers in turn: .* exit code 7") as raised:
        evaluate(GAME, Kills(), games=3, seed=3, executor=processes)
    assert raised.value.__notes__ == ["in games 0 to 2 of seed 3"]
    skipping = evaluate(GAME, Kills(), games=3, seed=3, executor=processes, skip_failed=True)
    assert skipping.skipped[0].games == (0, 1, 2) and not skipping.games


def test_an_interrupt_keeps_what_is_finished_and_ends_the_workers(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def stop(result: GameResult) -> None:
        if result.side == "policies" and result.game == 1:
            raise KeyboardInterrupt

    with Processes(2) as executor:
        found = evaluate(
            GAME, line_up(), games=40, seed=3, executor=executor, on_game=stop, resume=path
        )
    assert found.interrupted and [game.game for game in found.games][:2] == [0, 1]
    resumed = evaluate(GAME, line_up(), games=4, seed=3, resume=path)
    assert same(resumed) == same(evaluate(GAME, line_up(), games=4, seed=3))


def test_a_killed_run_goes_on_with_other_workers(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    program = f"""
from hanabi_search_plugin import HanabiGame, Sparta, evaluate, upgrade
from hanabi_search_plugin.evaluation.processes import Processes
game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, life_tokens=3)
agent = upgrade("random", game, Sparta(rollouts=20, min_rollouts=4))
evaluate(game, ("random", agent), games=100_000, seed=3, executor=Processes(1),
         resume={str(path)!r}, baseline="random")
"""
    with subprocess.Popen([sys.executable, "-c", program]) as run:
        until = time.monotonic() + 60
        while not path.exists() or b'"policies"' not in path.read_bytes():
            assert run.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        run.kill()
    games = sum(b'"policies"' in line for line in path.read_bytes().splitlines())
    heard: list[GameResult] = []
    options: dict[str, Any] = {"games": games + 3, "seed": 3, "baseline": "random"}
    resumed = evaluate(GAME, line_up(), **options, threads=2, resume=path, on_game=heard.append)
    assert len([game for game in heard if game.side == "policies"]) <= 4
    assert same(resumed) == same(evaluate(GAME, line_up(), **options))


def test_the_first_of_a_machine_goes_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once_a_node.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(once_a_node, "_gone_ahead", set())
    order: list[str] = []
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with once_a_node.first_alone("kernels"):
            inside.set()
            go_on.wait()
            order.append("first")

    def second() -> None:
        with once_a_node.first_alone("kernels"):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    inside.wait()
    threads[1].start()
    time.sleep(0.2)
    assert order == []
    go_on.set()
    for thread in threads:
        thread.join()
    assert order == ["first", "second"]
    once_a_node._gone_ahead.clear()  # another process, later: nobody holds it up
    held = threading.Event()

    def third() -> None:
        with once_a_node.first_alone("kernels"), once_a_node.first_alone("kernels"):
            held.set()

    threading.Thread(target=third).start()
    assert held.wait(10)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--workers", "2"], "workers needs --cluster, got 2 without"),
        (["--chunk-size", "2"], "chunk-size needs --cluster"),
        (["--cluster", "processes", "--threads", "2"], "threads must be left out with --cluster"),
        (["--cluster", "processes", "--workers", "0"], "processes must be an integer of at least"),
        (["--cluster", "processes", "--gpus-per-worker", "1"], "gpus-per-worker is of a cluster"),
    ],
)
def test_bad_options(options: list[str], says: str) -> None:
    result = CliRunner().invoke(app, ["evaluate", "--games", "1", *options])
    assert result.exit_code == 2 and says in result.stderr


def test_the_command_line_plays_on_processes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.json", "two.json")]
    small = [
        "--colors",
        "2",
        "--ranks",
        "2",
        "--hand-size",
        "2",
        "--games",
        "3",
        "--policy",
        "random",
    ]
    search = ["--search", "sparta", "--rollouts", "20"]
    for path, where in zip(files, ([], ["--cluster", "processes", "--workers", "2"]), strict=True):
        result = CliRunner().invoke(app, ["evaluate", *small, *search, *where, "--json", str(path)])
        assert result.exit_code == 0, result.stderr
    one, two = (json.loads(path.read_text()) for path in files)
    assert one["scores"] == two["scores"] and two["threads"] == 2


def test_bad_numbers_of_an_executor() -> None:
    for make in (lambda: Processes(0), lambda: Threads(0), lambda: Processes(1, chunk_size=0)):
        with pytest.raises(ConfigError, match="must be an integer of at least 1"):
            make()


def test_a_match_takes_no_decisions_home_where_nobody_asks() -> None:
    searching = upgrade("random", GAME, Sparta(rollouts=20, min_rollouts=4))
    match = Match(GAME, (UniformPolicy(), searching), "policies", 1, 3)
    heard: list[GameResult] = []
    match.play([0, 1], Threads(), heard.append, decisions=False)
    assert [game.decisions for game in heard] == [(), ()] and heard[0].searched_moves > 0


def test_the_page_shows_what_was_measured() -> None:
    scale = pytest.importorskip("benchmarks.cluster_scale")
    if not scale.RESULTS.exists():
        pytest.skip("nothing is recorded yet")
    text = scale.PAGE.read_text(encoding="utf-8")
    assert scale.page(text) == text
