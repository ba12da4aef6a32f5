"""Fuzz the command line: generated lines for every command, and damaged files of every kind.

    python -m benchmarks.fuzz --minutes 10            # until the time is over
    python -m benchmarks.fuzz --cases 10000 --jobs 4  # so many, four at a time
    python -m benchmarks.fuzz --seed 1 --case 123     # one again, with all it says

A case is a command line with its files. It runs in a forked child of this process, in a folder of
its own, with limits of memory and time, and fails on a traceback, the last net (exit code 1),
another exit code than 0, 2 and 130, a control character in the output, more than one line for bad
input, memory beyond the limit, a hang, a run that cannot be interrupted, or a temporary file left.
A run of a valid line that plays on is interrupted. Case K of a seed is the same by itself.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Before NumPy and PyTorch are imported: no threads, which a fork would not take along.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["OMP_STACKSIZE"] = "1M"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.modules["tensorboard"] = None  # type: ignore[assignment]  # its writers are threads

from benchmarks import fuzz_child, fuzz_lines, fuzz_samples  # noqa: E402


@dataclass
class Report:
    """What became of the cases."""

    seed: int
    cases: int = 0
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: int = 0  # bytes
    failures: dict[str, list[int]] = field(default_factory=dict)  # cases by what is wrong

    @property
    def failed(self) -> int:
        return sum(map(len, self.failures.values()))

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"failed": self.failed}

    def add(self, other: dict[str, Any]) -> None:
        """Take in the ``to_dict`` of a report of other cases, made at the same time."""
        self.cases += other["cases"]
        for name in ("kinds", "commands", "files"):
            getattr(self, name).update(other[name])
        for name in ("seconds", "slowest", "memory"):
            setattr(self, name, max(getattr(self, name), other[name]))
        for failure, numbers in other["failures"].items():
            self.failures[failure] = sorted([*self.failures.get(failure, ()), *numbers])


class Bench:
    """Runs cases of a seed in ``folder``."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        self.samples = folder / "samples"
        self.samples.mkdir()
        fuzz_samples.make_samples(self.samples)
        self.known = fuzz_lines.commands()
        self.report = Report(seed)
        _start_no_cluster()
        fuzz_child.freeze()

    def run(self, number: int) -> tuple[fuzz_lines.Case, fuzz_child.Verdict]:
        """One case."""
        case, rng = fuzz_lines.case_of(self.seed, number, self.known)
        folder = self.folder / "case"
        work = fuzz_child.prepare(folder, self.samples, case, rng)
        return case, fuzz_child.run(folder, work, case)

    def run_all(self, numbers: Iterable[int], seconds: float) -> None:
        """These cases, until the time is over."""
        began = time.monotonic()
        for number in numbers:
            if time.monotonic() - began > seconds:
                break
            case, verdict = self.run(number)
            self.note(number, case, verdict)
            if self.report.cases % 500 == 0:
                print(f"{self.report.cases:,} cases, {self.report.failed:,} failed", flush=True)
            if verdict.failure is not None:
                print(f"{number}: {_shown(case.words)}\n    {verdict.failure}", flush=True)
        self.report.seconds = round(time.monotonic() - began, 1)

    def note(self, number: int, case: fuzz_lines.Case, verdict: fuzz_child.Verdict) -> None:
        report = self.report
        report.cases += 1
        report.kinds[verdict.kind] += 1
        named = [c.name for c in self.known if case.words[: len(c.name.split())] == c.name.split()]
        report.commands[named[0] if named else "none"] += 1
        for name, damaged in case.samples.items():
            if damaged:
                report.files[name] += 1
        report.slowest = max(report.slowest, verdict.seconds)
        report.memory = max(report.memory, verdict.memory)
        if verdict.failure is not None:
            report.failures.setdefault(_alike(verdict.failure), []).append(number)


def _side_by_side(bench: Bench, most: int, seconds: float, jobs: int) -> None:
    """The first ``most`` cases by ``jobs`` forks of this process, since a case mostly waits."""
    children = []
    for job in range(jobs):
        report = bench.folder / f"report-{job}.json"
        child = os.fork()
        if child == 0:
            code = 1
            try:
                bench.folder = bench.folder / f"job-{job}"
                bench.folder.mkdir()
                bench.run_all(range(job, most, jobs), seconds)
                report.write_text(json.dumps(bench.report.to_dict()))
                code = 0
            except BaseException:
                traceback.print_exc()
            os._exit(code)
        children.append((child, report))
    for child, report in children:
        if os.waitpid(child, 0)[1]:
            sys.exit("a job of the bench has failed")
        bench.report.add(json.loads(report.read_text()))


def _start_no_cluster() -> None:
    """``--cluster`` is read and checked, and then nothing answers: a cluster outlives a case."""
    try:
        import ray
    except ImportError:
        return

    def init(**options: Any) -> None:
        raise ConnectionError("no cluster is started here")

    ray.init = init


def _alike(failure: str) -> str:
    """The same text for failures that differ in numbers and names alone."""
    import re

    return re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"|work/\S*", "*", failure)[:160]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--cases", type=int, help="run so many; default: 1,000")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run this one and show what it says")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--json", type=Path, help="write the report")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        bench = Bench(Path(name), given.seed)
        if given.case is not None:
            sys.exit(_show(bench, given.case))
        most = given.cases or (10**9 if given.minutes else 1000)
        seconds = 60 * given.minutes if given.minutes else math.inf
        if given.jobs == 1:
            bench.run_all(range(most), seconds)
        else:
            _side_by_side(bench, most, seconds, given.jobs)
    _print(bench.report)
    if given.json is not None:
        given.json.write_text(json.dumps(bench.report.to_dict(), indent=1) + "\n")
    sys.exit(1 if bench.report.failures else 0)


def _shown(words: list[str]) -> str:
    text = " ".join(ascii(w)[1:-1] if w and " " not in w else ascii(w) for w in words)
    return text if len(text) < 600 else text[:600] + " ..."


def _show(bench: Bench, number: int) -> int:
    """One case with its output; what failed runs again with --debug."""
    case, verdict = bench.run(number)
    print(f"case {number}: hanabi-search {_shown(case.words)}")
    print(f"files: {case.samples}\n{verdict.output}\n{verdict.kind}, {verdict.seconds:.2f} s")
    if verdict.failure is None:
        return 0
    print(f"FAILURE: {verdict.failure}")
    command = 2 if case.words[:1] == ["train"] else 1
    case, rng = fuzz_lines.case_of(bench.seed, number, bench.known)
    work = fuzz_child.prepare(bench.folder / "case", bench.samples, case, rng)
    case.words.insert(command, "--debug")
    print(fuzz_child.run(bench.folder / "case", work, case).output)
    return 1


def _print(report: Report) -> None:
    print(f"\n{report.cases:,} cases of seed {report.seed} in {report.seconds:,.0f} s")
    for title in ("kinds", "commands", "files"):
        found = getattr(report, title).most_common()
        print(f"{title}: " + ", ".join(f"{name} {count:,}" for name, count in found))
    print(f"slowest {report.slowest:.1f} s, at most {report.memory >> 20:,} MB")
    print(f"failed: {report.failed:,}")
    for failure, numbers in sorted(report.failures.items(), key=lambda one: -len(one[1])):
        print(f"  {len(numbers):>5}  {failure}")
        print(f"         python -m benchmarks.fuzz --seed {report.seed} --case {numbers[0]}")


if __name__ == "__main__":
    main()
