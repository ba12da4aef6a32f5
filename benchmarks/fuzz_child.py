"""Run one case in a forked child, with limits, and judge how it ended."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import math
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fuzz_damage import damage_path
from benchmarks.fuzz_lines import Case

MEMORY = 2 << 30  # bytes of address space beyond what the parent has
PATIENCE = 1.5  # seconds after which a run that makes progress is interrupted
LIMIT = 30.0  # seconds for everything else
COMPILING = 180.0  # the same while kernels are compiled, which is done once
FILE_SIZE = 256 << 20

PLAYS = (
    "match.py", "playing.py", "shown_game.py", "bench.py", "compile_kernels.py", "fit.py",
    "tree_examples.py", "evalfn_training.py", "partner_training.py", "tensor_rollout.py",
    "measure.py", "measured_beliefs.py", "distillation_games.py", "belief_games.py",
    "selfplay_games.py", "exploration_games.py", "self_play.py", "rollout.py", "web_server.py",
)  # fmt: skip
"""Files of the package in which time is spent on what was asked for."""
LEARNS = ("in iterate", "in measured", "in learn")  # functions of trainings


@dataclass(frozen=True)
class Verdict:
    """How a case ended. ``failure``: what is wrong with that, or None."""

    kind: str
    failure: str | None
    output: str
    seconds: float
    cpu: float  # seconds
    memory: int  # bytes, at most


def prepare(folder: Path, samples: Path, case: Case, rng: random.Random) -> Path:
    """The working folder of a case, with its files; returns it."""
    work = folder / "work"
    shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True)
    for name, damaged in case.samples.items():
        if (samples / name).is_dir():
            shutil.copytree(samples / name, work / name)
        else:
            shutil.copy(samples / name, work / name)
        if damaged:
            damage_path(rng, work / name)
    if case.kind == "line":
        (work / "folder").mkdir()
        (work / "file").write_text("text\n")
        (work / "text.txt").write_text("one line\n")
        (work / "loop").symlink_to("loop")
        (work / "dangling").symlink_to("none/none")
        (work / "full").symlink_to("/dev/full")
    return work


def run(folder: Path, work: Path, case: Case) -> Verdict:
    """Fork, run, wait, judge."""
    files = {name: folder / name for name in ("stdin", "stdout", "stderr", "stack")}
    files["stdin"].write_bytes(case.stdin)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_the_child(work, files, case)
    status, usage, stopped, stack = _wait(child, files["stack"], began)
    seconds = time.monotonic() - began
    out, err = files["stdout"].read_bytes(), files["stderr"].read_bytes()
    kind, failure = _judged(case, status, out, err, stopped, stack)
    if failure is None:
        left = [p.name for p in work.rglob(".*.tmp")]
        if left:
            failure = f"left over: {left[0]}"
    shown = (out[-1500:] + err[-3000:]).decode("utf-8", "backslashreplace")
    if stopped and failure:
        shown += "\n" + stack
    cpu = usage.ru_utime + usage.ru_stime
    return Verdict(kind, failure, shown, seconds, cpu, usage.ru_maxrss * 1024)


# -------------------------------------------------------------------------------------- the child


def _be_the_child(work: Path, files: dict[str, Path], case: Case) -> None:
    """Runs the command line and ends this process."""
    code = 99
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, name, flags in (
            (0, "stdin", os.O_RDONLY),
            (1, "stdout", os.O_WRONLY | os.O_CREAT),
            (2, "stderr", os.O_WRONLY | os.O_CREAT),
        ):
            os.dup2(os.open(files[name], flags), number)
        stack = os.open(files["stack"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
        os.chdir(work)
        for name in ("HOME", "TMPDIR"):
            os.environ[name] = str(work.parent)
        os.environ["COLUMNS"] = "80"
        _limit()
        if "site" in case.samples:
            sys.path.insert(0, "site")
        _keep_inside(work.parent)
        code = _command(case.words)
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    with contextlib.suppress(BaseException):
        sys.stderr.flush()
    os._exit(code)


def _limit() -> None:
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _command(words: list[str]) -> int:
    """The exit code; with --debug errors that are meant come as exceptions."""
    from hanabi_search_plugin.cli import command_line
    from hanabi_search_plugin.cli.plain_text import one_line
    from hanabi_search_plugin.core.errors import HanabiSearchError

    sys.argv = ["hanabi-search", *words]
    try:
        command_line.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except HanabiSearchError as error:
        print(f"hanabi-search: {one_line(str(error))}", file=sys.stderr)
        return 2
    except (command_line._USAGE_ERROR, OSError) as error:
        print(f"hanabi-search: {one_line(str(error))}", file=sys.stderr)
        return 2
    return 0


def _keep_inside(folder: Path) -> None:
    """From now on Python opens nothing for writing, makes, moves or removes nothing, outside.

    The cache of compiled kernels is as it always is.
    """
    from hanabi_search_plugin import jit

    roots = [str(folder.resolve()), "/dev/full", "/dev/null", str(jit._cache_root())]
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    changing = {"os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.rename": 2, "os.link": 2,
                "os.symlink": 2, "os.truncate": 1, "os.chmod": 1, "os.chown": 1}  # fmt: skip

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            paths = [path] if isinstance(flags, int) and flags & writing else []
        else:
            paths = list(arguments[: changing.get(event, 0)])
        for path in paths:
            if isinstance(path, str | bytes | os.PathLike):
                real = os.path.realpath(os.fsdecode(path))
                if not any(real == root or real.startswith(root + "/") for root in roots):
                    raise PermissionError(13, "Permission denied", os.fsdecode(path))

    sys.addaudithook(watch)


# ------------------------------------------------------------------------------------- the parent


def _wait(child: int, stack: Path, began: float) -> tuple[int, Any, str, str]:
    """Status, usage, why it was stopped ("": it was not), and its last stack."""
    due, stopped, told = PATIENCE, "", ""
    step = 0.001
    try:
        while True:
            spent = time.monotonic() - began  # before it is asked, so that it was alive then
            done, status, usage = os.wait4(child, os.WNOHANG)
            if done:
                return status, usage, stopped, told
            if spent < due:
                time.sleep(step)
                step = min(step * 1.2, 0.02)
                continue
            told = _stack(child, stack)
            if _compiles(told) and spent < COMPILING:
                due = spent + 1
            elif _compiles(told):  # for the first time here: no fault of the case
                stopped, due = "compiling", math.inf
            elif stopped == "interrupted":  # long ago, and it goes on
                stopped, due = "hang", math.inf
            elif _progresses(told):
                stopped, due = "interrupted", spent + LIMIT
                os.kill(child, signal.SIGINT)
            elif spent > LIMIT:
                stopped, due = "late", math.inf
            else:
                due = spent + 0.5
            if due == math.inf:
                os.killpg(child, signal.SIGKILL)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)


def _stack(child: int, file: Path) -> str:
    """Where the child is, innermost first; nothing where it has not begun."""
    if not file.exists():
        return ""
    before = file.stat().st_size
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGUSR1)
    time.sleep(0.1)
    return file.read_text(errors="replace")[before:]


def _compiles(stack: str) -> bool:
    return "numba" in stack or "llvmlite" in stack


def _progresses(stack: str) -> bool:
    return any(f'/{name}"' in stack for name in PLAYS) or any(name in stack for name in LEARNS)


def _judged(
    case: Case, status: int, out: bytes, err: bytes, stopped: str, stack: str
) -> tuple[str, str | None]:
    """The kind of ending, and what is wrong with it."""
    text = err.decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if line]
    told = [line for line in lines if line.startswith("hanabi-search: ")]
    if stopped in ("late", "hang"):
        return stopped, f"{stopped}: {_where(stack)}"
    if stopped == "compiling":
        return stopped, None
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if stopped and number == signal.SIGINT:
            return "interrupted", None
        return "killed", f"killed by {signal.Signals(number).name}"
    code = os.waitstatus_to_exitcode(status)
    if "Traceback (most recent call last)" in text:
        return "traceback", f"traceback: {lines[-1][:200]}"
    if code == 1 or code not in (0, 2, 130):
        return f"exit {code}", f"exit {code}: {(told or lines or ['nothing said'])[-1][:200]}"
    for name, content in (("stdout", out), ("stderr", err)):
        try:
            shown = content.decode()
        except UnicodeDecodeError:
            return f"exit {code}", f"{name} is no UTF-8"
        raw = next((c for c in shown if not (c.isprintable() or c == "\n")), None)
        if raw is not None:
            return f"exit {code}", f"raw character {raw!r} in {name}"
    if code == 2 and not (case.words in ([], ["train"]) and not text):
        if len(told) != 1 or lines[-1] != told[0]:
            return "exit 2", f"not one line: {' / '.join(lines[-3:])[:200]}"
        if len(told[0]) > 2000:
            return "exit 2", f"a line of more than 2,000 characters: {told[0][:80]}"
        if out:
            return "refused after output", None
    if code == 130:
        return ("interrupted" if stopped else "left"), None
    return {0: "done", 2: "refused"}[code], None


def _where(stack: str) -> str:
    """The innermost function of the package."""
    for line in stack.splitlines():
        if "hanabi_search_plugin" in line or "/wrappers/" in line or "/algorithms/" in line:
            return line.strip()[-120:]
    return stack.strip().splitlines()[0][:120] if stack.strip() else "nowhere"


def freeze() -> None:
    """Before the first fork: what is there stays where it is, so that children share it."""
    gc.collect()
    gc.freeze()
