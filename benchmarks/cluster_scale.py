"""What a driver can feed: its cost of a chunk, its memory, and how well many workers are used.

python -m benchmarks.cluster_scale driver                   # one chunk on Ray: milliseconds
python -m benchmarks.cluster_scale simulate                 # 10, 100 and 1,000 workers
python -m benchmarks.cluster_scale memory                   # a million games
python -m benchmarks.cluster_scale pairs                    # 2 workers beside 2 threads
python -m benchmarks.cluster_scale start                    # seconds to a new worker's first game
python -m benchmarks.cluster_scale page                     # its page from what was measured

Simulated workers wait instead of playing. Everything else is real: the executor, the messages, the
journal, and for each chunk the time that ``driver`` has measured Ray to take. Writes
docs/results/cluster-scale.json, a part a command.
"""

from __future__ import annotations

import heapq
import json
import math
import os
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.command_line import CommandLine
from benchmarks.pages import rewrite
from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, evaluate, upgrade
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.chunk_worker import Bench, outcome_of, packed
from hanabi_search_plugin.evaluation.executor import Crew, Executor, Outcome, Place, Work
from hanabi_search_plugin.evaluation.match import GameResult
from hanabi_search_plugin.evaluation.provenance import peak_rss_mb, versions
from hanabi_search_plugin.evaluation.threads import Threads

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "cluster-scale.json"
KILLS = ROOT / "docs" / "results" / "cluster-kills.json"
PAGE = ROOT / "docs" / "results" / "cluster.md"
MARK, END = "<!-- measured -->", "<!-- end -->"
GAME = HanabiGame(players=2)
SPREAD = 0.5  # standard deviation of a chunk's seconds, as a share of their mean
IN_LINE = 2

app = CommandLine(__doc__)


class Waiting(Executor):
    """Workers that wait: ``seconds`` a chunk on average, by no clock of their own.

    ``cost`` seconds of the driver's processor stand for what Ray takes for each chunk.
    """

    def __init__(self, workers: int, seconds: float, cost: float) -> None:
        super().__init__()
        self._workers, self.seconds, self.cost = workers, seconds, cost
        self.spans: list[tuple[float, float]] = []  # when chunks that take time began and ended
        self.handed_out = 0.0  # when the last chunk was

    @property
    def workers(self) -> int:
        return self._workers

    def crew(self, work: Work, *, timed: bool, kernels: str) -> Crew:
        return _Waiting(self, packed("what is played", (work, kernels)))


class _Waiting(Crew):
    def __init__(self, executor: Waiting, content: bytes) -> None:
        self._executor = executor
        self._bench = Bench()
        self._bench.take("work", lambda: content)
        self._free = [time.monotonic()] * executor.workers  # when each worker is through
        self._line: list[tuple[float, int, Any, bytes]] = []  # by the time that they end

    @property
    def at_once(self) -> int:
        return IN_LINE * self._executor.workers

    def submit(self, number: int, chunk: Any) -> None:
        until = time.perf_counter() + self._executor.cost
        packed("a chunk", chunk)
        reply = self._bench.compute(chunk)
        mean = self._executor.seconds
        draw = ((number * 0.6180339887) % 1.0 - 0.5) * math.sqrt(12)  # even, of variance 1
        takes = mean * (1 + SPREAD * draw)
        begins = max(heapq.heappop(self._free), time.monotonic())
        ends = begins + takes
        self._executor.handed_out = time.monotonic()
        if takes:
            self._executor.spans.append((begins, ends))
        heapq.heappush(self._free, ends)
        heapq.heappush(self._line, (ends, number, chunk, reply))
        while time.perf_counter() < until:
            pass

    def collect(self, wait: bool) -> list[Outcome]:
        if wait and self._line:
            time.sleep(max(0.0, self._line[0][0] - time.monotonic()))
        outcomes = []
        while self._line and self._line[0][0] <= time.monotonic():
            _, number, chunk, reply = heapq.heappop(self._line)
            outcomes.append(outcome_of(number, chunk, reply)[0])
        return outcomes

    def close(self) -> None:
        self._line.clear()


def searched_game(chunk: tuple[int, ...], place: Place) -> list[GameResult]:
    """What searched games bring, without a search."""
    return [
        GameResult(
            side="policies", game=i, score=float(i % 26), lives_left=2,
            actions=tuple((i + turn) % 20 for turn in range(60)), cpu_seconds=1.0 + i % 7 / 10,
            rollouts=190_000 + i % 1000, likelihoods=1_900_000 + i % 1000, searched_moves=30,
            changed_moves=12,
        )
        for i in chunk
    ]  # fmt: skip


def _keep(part: str, content: Any) -> None:
    """Write a part of the results beside the others."""
    whole = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    whole |= {part: content, "versions": versions()}
    with atomic_write(RESULTS) as file:
        file.write((json.dumps(dict(sorted(whole.items())), indent=1) + "\n").encode())
    print(json.dumps({part: content}, indent=1))


@app.command()
def driver(
    chunks: Annotated[int, typer.Option(help="Chunks a round.")] = 3000,
    rounds: Annotated[int, typer.Option(help="Rounds; the median counts.")] = 3,
) -> None:
    """The driver's processor time for a chunk on a cluster of Ray, whose work is none."""
    from hanabi_search_plugin.wrappers.ray import Ray

    costs = []
    with Ray("local", workers=2) as executor:
        for _ in range(rounds + 1):
            began = time.process_time()
            with executor.run(searched_game, ((i,) for i in range(chunks))) as run:
                assert sum(len(outcome.value) for outcome in run) == chunks
            costs.append((time.process_time() - began) / chunks)
    _keep("driver", {"chunks": chunks, "ms_a_chunk": 1e3 * statistics.median(costs[1:])})


@app.command()
def simulate(
    seconds: Annotated[float, typer.Option(help="Of a chunk, on average.")] = 10.0,
    chunks_each: Annotated[int, typer.Option(help="Chunks for each worker.")] = 20,
) -> None:
    """The share of workers' time that is work, while there is some, for 10, 100 and 1,000."""
    cost = json.loads(RESULTS.read_text())["driver"]["ms_a_chunk"] / 1e3
    rows = []
    for workers in (10, 100, 1000):
        for mean in (seconds / 10, seconds):
            executor = Waiting(workers, mean, cost)
            chunks = ((i,) for i in range(workers * chunks_each))
            began, busy = time.monotonic(), time.process_time()
            with executor.run(searched_game, chunks) as run:
                for _ in run:
                    pass
            wall = time.monotonic() - began
            until = executor.handed_out  # from then on nobody can be kept at work
            work = sum(max(0.0, min(end, until) - start) for start, end in executor.spans)
            rows.append({
                "workers": workers, "chunk_seconds": mean, "chunks": workers * chunks_each,
                "wall_seconds": round(wall, 2),
                "efficiency": round(work / (workers * (until - began)), 4),
                "driver_busy": round((time.process_time() - busy) / wall, 4),
            })  # fmt: skip
            print(rows[-1])
    _keep("simulate", {"ms_a_chunk": 1e3 * cost, "rows": rows})


@app.command()
def memory(games: Annotated[int, typer.Option(help="Simulated games.")] = 1_000_000) -> None:
    """The driver's memory after an evaluation of many games with a journal, none of them played."""
    from unittest.mock import patch

    from hanabi_search_plugin.evaluation import match

    agent = upgrade(SmartBot(), GAME, Sparta())
    before = peak_rss_mb()
    with tempfile.TemporaryDirectory() as folder, patch.object(match, "_Games", _Simulated):
        began = time.monotonic()
        found = evaluate(
            GAME, (SmartBot(), agent), games=games, baseline=SmartBot(),
            executor=Waiting(100, 0.0, 0.0), resume=Path(folder, "run.jsonl"),
        )  # fmt: skip
        journal = Path(folder, "run.jsonl").stat().st_size
        figures = found.to_dict()
    assert len(figures["scores"]) == games
    _keep("memory", {
        "games": games, "peak_mb": round(peak_rss_mb()), "before_mb": round(before),
        "journal_mb": round(journal / 2**20), "wall_seconds": round(time.monotonic() - began),
    })  # fmt: skip


class _Simulated:
    """In place of the work of a match."""

    def __init__(self, matches: Any, searched: bool, decisions: bool, every: bool) -> None:
        self.side = matches[0].side

    def __call__(self, chunk: tuple[int, ...], place: Place) -> list[Any]:
        found = searched_game(chunk, place)
        if self.side == "policies":
            return list(found)
        costs: dict[str, Any] = {
            "cpu_seconds": 0.0,
            "rollouts": 0,
            "searched_moves": 0,
            "changed_moves": 0,
        }
        return [replace(one, side=self.side, likelihoods=0, **costs) for one in found]


@app.command()
def pairs(
    games: Annotated[int, typer.Option(help="Games of a run.")] = 200,
    rounds: Annotated[int, typer.Option(help="Runs of each, in turn.")] = 3,
    rollouts: Annotated[int, typer.Option(help="Of a decision.")] = 10_000,
) -> None:
    """SPARTA over SmartBot on 2 workers beside 2 threads: wall and processor time, in turn."""
    from hanabi_search_plugin.wrappers.ray import Ray

    # Ray's workers yield to everything else on a machine; beside threads they must not.
    os.environ["RAY_worker_niceness"] = str(os.nice(0))  # noqa: SIM112  # Ray's own spelling
    seats = (SmartBot(), upgrade(SmartBot(), GAME, Sparta(rollouts=rollouts)))
    rows = []
    with Ray("local", workers=2) as cluster:
        for executor in (Threads(2), cluster):  # once without a clock: compile, start workers
            evaluate(GAME, seats, games=4, seed=1, executor=executor)
        for _ in range(rounds):
            row: dict[str, float] = {}
            for name, executor in (("threads", Threads(2)), ("ray", cluster)):
                began = time.monotonic()
                found = evaluate(GAME, seats, games=games, seed=7, executor=executor)
                row[f"{name}_wall"] = time.monotonic() - began
                row[f"{name}_cpu"] = sum(game.cpu_seconds for game in found.games)
            row["wall"] = row["threads_wall"] / row["ray_wall"]
            row["cpu"] = row["threads_cpu"] / row["ray_cpu"]
            rows.append({key: round(value, 4) for key, value in row.items()})
            print(rows[-1])
    median = {key: statistics.median(row[key] for row in rows) for key in ("wall", "cpu")}
    _keep("pairs", {"games": games, "rollouts": rollouts, "rows": rows, "median": median})


@app.command()
def start(rounds: Annotated[int, typer.Option(help="Workers.")] = 5) -> None:
    """How much longer a new worker takes for its first game, kernels being compiled."""
    from hanabi_search_plugin.wrappers.ray import Ray

    seats = (SmartBot(), upgrade(SmartBot(), GAME, Sparta(rollouts=2000)))
    seconds = []
    for _ in range(rounds + 1):
        with Ray("local", workers=1) as executor:
            times = []
            for _ in range(2):
                began = time.monotonic()
                evaluate(GAME, seats, games=1, baseline=SmartBot(), executor=executor)
                times.append(time.monotonic() - began)
            seconds.append(times[0] - times[1])
    _keep("start", {"rounds": rounds, "seconds": statistics.median(seconds[1:])})


def model(workers: int, seconds: float, cost: float) -> float:
    """The share of their time that workers are at work, in a long run.

    ``seconds`` of a chunk, of which each takes ``cost`` seconds of the driver.
    """
    return min(1.0, seconds / (workers * cost))


def page(text: str) -> str:
    """docs/results/cluster.md with the tables of what was measured."""
    if not RESULTS.exists():
        return text
    results = json.loads(RESULTS.read_text())
    kills = json.loads(KILLS.read_text()) if KILLS.exists() else None
    lines = ["| measured | |", "|---|---|"]
    if "driver" in results:
        lines.append(
            f"| processor time of the driver for a chunk on Ray | "
            f"{results['driver']['ms_a_chunk']:.1f} ms |"
        )
    if "start" in results:
        lines.append(
            f"| a new worker's first game, beside its second | "
            f"+{results['start']['seconds']:.1f} s |"
        )
    if "pairs" in results:
        pairs = results["pairs"]
        lines.append(
            f"| 2 workers of Ray beside 2 threads, {pairs['games']} games of SPARTA | "
            f"{100 * pairs['median']['wall']:.1f} % by the clock, "
            f"{100 * pairs['median']['cpu']:.1f} % by processor time |"
        )
    if "memory" in results:
        memory = results["memory"]
        lines.append(
            f"| memory of the driver, {memory['games']:,} simulated paired games | "
            f"{memory['peak_mb']} MB; the journal {memory['journal_mb']} MB |"
        )
    if kills is not None:
        told = ", ".join(f"{n} of a {kind}" for kind, n in kills["by_kind"].items())
        lines.append(f"| kills survived | {kills['survived']} of {kills['kills']} ({told}) |")
    if "simulate" in results:
        cost = results["simulate"]["ms_a_chunk"] / 1e3
        lines += ["", "| workers | seconds of a chunk | at work, simulated | by the model |"]
        lines.append("|---|---|---|---|")
        lines += [
            f"| {row['workers']:,} | {row['chunk_seconds']:g} | {100 * row['efficiency']:.1f} % | "
            f"{100 * model(row['workers'], row['chunk_seconds'], cost):.1f} % |"
            for row in results["simulate"]["rows"]
        ]
    before, rest = text.split(f"{MARK}\n", 1)
    after = rest.split(END, 1)[1]
    return before + "\n".join([MARK, *lines, END]) + after


@app.command(name="page")
def write_page() -> None:
    """Put what was measured into docs/results/cluster.md."""
    rewrite(PAGE, page)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    app()
