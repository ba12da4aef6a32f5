"""Kill every command that goes on where it was stopped, let it go on, compare its files.

python -m benchmarks.kills --count 200 --seed 1 --json docs/results/kills.json --page

Each kill is one of SIGKILL, SIGTERM and SIGINT, at a random time or at one of the moments around a
write or a rename. The same command then goes on to the end, one in four times after a second kill.
Its files must be those of a run that nobody disturbed, byte for byte but for times, memory and
TensorBoard's files (which carry the time in their names), and nothing else may be left
(docs/results/robustness.md).

Commands run in processes forked from this one, which has imported everything and run each command
once: a start then takes milliseconds.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from benchmarks.command_line import CommandLine
from benchmarks.kill_cases import CASES, INPUTS, Case, make_small
from benchmarks.kill_files import UNFINISHED, contents, differences
from benchmarks.kill_moments import Moments
from benchmarks.pages import fill
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.cli.command_line import app as program
from hanabi_search_plugin.cli.command_line import main as console_script
from hanabi_search_plugin.evaluation.provenance import versions

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
INTERRUPTED = 130
PAGE = Path("docs/results/robustness.md")
LONGEST = 120.0  # seconds of one command
app = CommandLine(__doc__)


@dataclass
class Kill:
    """One kill, and what was wrong in the end."""

    command: str
    signal: str
    moment: str
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Whole:
    """A run that nobody disturbed."""

    files: dict[str, bytes]
    moments: list[str]
    seconds: float


@dataclass(frozen=True)
class End:
    """How a process ended."""

    code: int  # minus the signal where one ended it
    seconds: float
    said: str


def started(case: Case, folder: Path, moments: Moments) -> int:
    """The process that runs the case in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    # Before the command has begun, a KeyboardInterrupt could be lost in what forks call.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    child = os.fork()
    if child == 0:
        _run(case, folder, moments)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return child


def _run(case: Case, folder: Path, moments: Moments) -> NoReturn:
    code: Any = 1
    try:
        os.chdir(folder)
        said = os.open(_beside(folder, "said"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for stream in (1, 2):
            os.dup2(said, stream)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.argv = ["hanabi-search", *case.words]
        moments.install()
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            console_script()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        _beside(folder, "moments").write_text("\n".join(moments.passed))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def warm(case: Case, folder: Path) -> None:
    """Run a case in this process: what it imports and loads is there for those forked later."""
    folder.mkdir(parents=True, exist_ok=True)
    before = os.getcwd()
    os.chdir(folder)
    CliRunner().invoke(program, case.words, catch_exceptions=False)
    os.chdir(before)


def _beside(folder: Path, what: str) -> Path:
    return folder.with_name(f"{folder.name}.{what}")


def ended(child: int, folder: Path, kill_at: float | None = None, sent: int = 0) -> End:
    """Wait for a process, and send it a signal after ``kill_at`` seconds."""
    began = time.monotonic()
    pause = 0.002
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        passed = time.monotonic() - began
        if done:
            code = os.waitstatus_to_exitcode(status)
            return End(code, passed, _beside(folder, "said").read_text(errors="replace"))
        if kill_at is not None and passed >= kill_at:
            os.kill(child, sent)
            kill_at = None
        if passed > LONGEST:
            os.kill(child, signal.SIGKILL)
        time.sleep(pause)


def undisturbed(case: Case, folder: Path) -> Whole:
    """Run a case to its end, to compare with."""
    end = ended(started(case, folder, Moments(folder)), folder)
    if end.code != 0:
        raise RuntimeError(f"{' '.join(case.words)} ended with {end.code}:\n{end.said}")
    moments = _beside(folder, "moments").read_text().splitlines()
    return Whole(contents(folder), moments, end.seconds)


def killed(
    case: Case, whole: Whole, folder: Path, sent: signal.Signals, rng: random.Random, at_once: bool
) -> tuple[str, list[str]] | None:
    """Kill a run; the moment, and what was wrong then. None where it had ended before."""
    if at_once:
        kind = rng.choice(sorted({_kind(moment) for moment in whole.moments}))
        number = rng.choice([i for i, m in enumerate(whole.moments) if _kind(m) == kind])
        end = ended(started(case, folder, Moments(folder, number, sent)), folder)
        moment = whole.moments[number]
    else:
        seconds = rng.uniform(0, whole.seconds)
        end = ended(started(case, folder, Moments(folder)), folder, seconds, sent)
        moment = f"after {seconds / whole.seconds:.0%} of the time"
    wrong = list(_badly_ended(end, sent))
    if end.code == 0:
        return None
    if sent == signal.SIGINT:
        wrong += [f"left over at once: {name}" for name in contents(folder) if UNFINISHED in name]
    return moment, wrong


def _kind(moment: str) -> str:
    return moment.rpartition(" ")[0]


def _badly_ended(end: End, sent: signal.Signals) -> Iterator[str]:
    expected = (0, INTERRUPTED) if sent == signal.SIGINT else (0, -sent)
    if end.code not in expected:
        yield f"ended with {end.code}: {end.said[-500:]}"
    if "Traceback" in end.said:
        yield f"a traceback: {end.said[-1500:]}"


def survived(
    case: Case, whole: Whole, folder: Path, sent: signal.Signals, rng: random.Random, at_once: bool
) -> Iterator[Kill]:
    """Kill a run once or twice, let it go on, and compare."""
    kills = []
    for _ in range(2 if rng.random() < 0.25 else 1):
        told = killed(case, whole, folder, sent, rng, at_once)
        if told is None:
            break
        kills.append(Kill(case.name, sent.name, *told))
    if not kills:
        return
    end = ended(started(case, folder, Moments(folder)), folder)
    if end.code != 0:
        kills[-1].wrong.append(f"did not go on: {end.code}: {end.said[-500:]}")
    elif "Traceback" in end.said:
        kills[-1].wrong.append(f"went on with a traceback: {end.said[-1500:]}")
    kills[-1].wrong += differences(contents(folder), whole.files)
    yield from kills


def counted_of(kills: list[Kill]) -> list[list[str]]:
    """Kills survived, of all, by command and signal: a heading, a row a command, and all."""
    signals = [*(sent.name for sent in SIGNALS), "all"]
    every, good = Counter[Any](), Counter[Any]()
    for kill in kills:
        for cell in itertools.product((kill.command, "all"), (kill.signal, "all")):
            every[cell] += 1
            good[cell] += not kill.wrong
    commands = [*dict.fromkeys(case.name for case in CASES), "all"]
    rows = [[c, *(f"{good[c, s]} of {every[c, s]}" for s in signals)] for c in commands]
    return [["command", *signals], *rows]


def page_table(kills: list[Kill]) -> Iterator[str]:
    """The same in Markdown."""
    heading, *rows = counted_of(kills)
    yield f"| {' | '.join(heading)} |"
    yield "|---" * len(heading) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


@app.command()
def main(
    count: Annotated[int, typer.Option(help="Kills.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the moments.")] = 0,
    only: Annotated[str, typer.Option(help="Commands with these words.")] = "",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write every kill.")] = None,
    page: Annotated[bool, typer.Option("--page", help=f"Write the table into {PAGE}.")] = False,
    keep: Annotated[Path | None, typer.Option(help="Keep folders of failed runs here.")] = None,
) -> None:
    console = Console(highlight=False)
    make_small()
    cases = [case for case in CASES if only in case.name]
    kills: list[Kill] = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for case in INPUTS:
            warm(case, root / "inputs")
        wholes = []
        for number, case in enumerate(cases):
            warm(case, root / "warm" / str(number))
            wholes.append(undisturbed(case, root / "whole" / str(number)))
            console.print(
                f"{case.name}: {wholes[-1].seconds:.1f} s, {len(wholes[-1].moments)} moments"
            )
        rng, turn = random.Random(seed), 0
        while len(kills) < count:
            place, sent = turn % len(cases), SIGNALS[turn // len(cases) % len(SIGNALS)]
            at_once = rng.random() < 0.7
            folder = root / "killed" / str(turn)
            case = cases[place]
            for kill in survived(case, wholes[place], folder, sent, rng, at_once):
                kills.append(kill)
                if kill.wrong:
                    console.print(f"{kill}", markup=False, soft_wrap=True)
                    if keep is not None:
                        shutil.copytree(folder, keep / str(turn), dirs_exist_ok=True)
            shutil.rmtree(folder)
            turn += 1
    heading, *rows = counted_of(kills)
    table = Table(*heading, box=None)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    if json_file is not None:
        content = {"seed": seed, "versions": versions(), "kills": [asdict(kill) for kill in kills]}
        with atomic_write(json_file) as file:
            file.write(json.dumps(content, indent=1).encode() + b"\n")
    if page:
        with atomic_write(PAGE) as file:
            file.write(fill(PAGE.read_text(), {"kills": page_table(kills)}).encode())
    raise typer.Exit(1 if any(kill.wrong for kill in kills) else 0)


if __name__ == "__main__":
    app()
