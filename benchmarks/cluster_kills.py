"""Kill workers, machines and the program of runs at random moments, and look what comes out.

python -m benchmarks.cluster_kills --count 50

A cluster of Ray with a head and two machines of one worker each, all processes of this machine,
plays the same evaluation again and again, resumably, while a killer strikes: a worker process by
SIGKILL, a whole machine (another comes in its place), or the program by SIGKILL (the same command
goes on). A kill is survived if the run it struck ends with every game once, and each as one thread
plays it. Writes docs/results/cluster-kills.json.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from ray.cluster_utils import Cluster

from benchmarks.command_line import CommandLine
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.provenance import versions

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "cluster-kills.json"
OPTIONS = ["--policy", "smartbot", "--search", "sparta", "--rollouts", "2000", "--seed", "7"]
KINDS = ("worker", "machine", "program")
STORE = {"object_store_memory": 80 * 2**20}
MEASURED = ("cpu_seconds",)  # of a game: differs from run to run

app = CommandLine(__doc__)


@dataclass
class Killer:
    """Strikes a run at random moments. ``kills`` counts by kind, ``machines`` are there now."""

    cluster: Cluster
    rng: random.Random
    left: int
    machines: list[Any] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)

    def add_machine(self) -> None:
        self.machines.append(self.cluster.add_node(num_cpus=1, **STORE))

    def strike(self, run: subprocess.Popen[bytes]) -> str:
        """Kill something of the run; the kind, empty where there was nothing to kill."""
        kind = self.rng.choice(KINDS)
        if kind == "worker":
            workers = self._workers()
            if not workers:
                return ""
            os.kill(self.rng.choice(workers), signal.SIGKILL)
        elif kind == "machine":
            victim = self.machines.pop(self.rng.randrange(len(self.machines)))
            self.cluster.remove_node(victim, allow_graceful=False)
            self.add_machine()
        else:
            run.kill()
        self.kills[kind] += 1
        self.left -= 1
        return kind

    def _workers(self) -> list[int]:
        """Worker processes of the machines that have a chunk at work."""
        raylets = {
            process.process.pid
            for machine in self.machines
            for process in machine.all_processes.get("raylet", [])
        }
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                name = (path / "cmdline").read_bytes()
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):  # it has just ended
                continue
            if parent in raylets and name.startswith(b"ray::entry"):
                found.append(int(path.name))
        return found


def command(games: int, resume: Path, address: str | None) -> list[str]:
    words = [sys.executable, "-m", "hanabi_search_plugin", "evaluate", "--quiet", *OPTIONS]
    words += ["--games", str(games), "--resume", str(resume)]
    return words if address is None else [*words, "--cluster", address]


def results_in(path: Path) -> list[dict[str, Any]]:
    """The games of a journal, in order, without what is measured."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()[1:]]
    plain = [{k: v for k, v in line.items() if k not in MEASURED} for line in lines]
    return sorted(plain, key=lambda line: (line["side"], line["game"]))


def struck_run(killer: Killer, games: int, path: Path, every: float) -> list[str]:
    """Play to the end, whatever is killed on the way; what was."""
    struck: list[str] = []
    while True:
        with subprocess.Popen(
            command(games, path, killer.cluster.address), stdout=subprocess.DEVNULL
        ) as run:
            while run.poll() is None:
                time.sleep(killer.rng.uniform(0.2, 2 * every))
                if killer.left and run.poll() is None and path.exists():
                    struck += filter(None, [killer.strike(run)])
        if run.returncode == 0:
            return struck
        if run.returncode != -signal.SIGKILL:
            raise SystemExit(f"the run ended with {run.returncode} after {struck}")


@app.command()
def main(
    count: Annotated[int, typer.Option(help="Kills.")] = 50,
    games: Annotated[int, typer.Option(help="Games of a run.")] = 60,
    every: Annotated[float, typer.Option(help="Seconds between kills, on average.")] = 4.0,
    seed: Annotated[int, typer.Option(help="Of the moments and victims.")] = 0,
    out: Annotated[Path, typer.Option(help="The results.")] = RESULTS,
) -> None:
    """Play and kill until there were so many kills; status 1 if one was not survived."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, "alone.jsonl")
        subprocess.run(command(games, alone, None), check=True, stdout=subprocess.DEVNULL)
        expected = results_in(alone)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0} | STORE)
        killer = Killer(cluster, random.Random(seed), count)
        survived, runs = 0, 0
        try:
            for _ in range(2):
                killer.add_machine()
            while killer.left:
                path = Path(folder, f"run-{runs}.jsonl")
                struck = struck_run(killer, games, path, every)
                runs += 1
                survived += len(struck) * (results_in(path) == expected)
                print(f"run {runs}: {', '.join(struck) or 'no kills'}: {survived} survived so far")
        finally:
            cluster.shutdown()
    content = {
        "kills": count, "by_kind": dict(sorted(killer.kills.items())), "survived": survived,
        "runs": runs, "games": games, "options": OPTIONS, "seed": seed,
        "wall_seconds": round(time.monotonic() - began), "versions": versions(),
    }  # fmt: skip
    with atomic_write(out) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())
    print(f"{survived} of {count} kills survived")
    raise SystemExit(survived != count)


if __name__ == "__main__":
    app()
