"""What the commands show on a terminal: the console, warnings and progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hanabi_search_plugin.cli import every_command
from hanabi_search_plugin.cli.plain_text import printable
from hanabi_search_plugin.core.policy import Blueprint

INTERRUPTED = 130  # the exit code


def open_console(json_file: str | None) -> Console:
    """The standard output, or the standard error where the former carries JSON."""
    return Console(stderr=json_file == "-", highlight=False)


def notes(console: Console) -> Console:
    """Where progress and advice go: ``console``, or nowhere with ``--quiet``."""
    return Console(quiet=True) if every_command.quiet() else console


def compile_progress(console: Console) -> AbstractContextManager[None]:
    """As ``jit.compile_progress``, which is imported now; nothing with ``--quiet``."""
    from hanabi_search_plugin.jit import compile_progress

    # On a terminal a spinner: without one the standard error would get a line.
    silent = Console(quiet=True, force_terminal=True)
    return compile_progress(silent if every_command.quiet() else console)


def show_warnings(console: Console, policies: Blueprint | None = None) -> None:
    """Show the package's warnings, and those of ``policies``, on the standard error, each once."""
    shown: set[str] = set()

    class Once(logging.Handler):
        def emit(self, entry: logging.LogRecord) -> None:
            if str(entry.msg) not in shown:
                shown.add(str(entry.msg))
                errors.print(f"warning: {printable(entry.getMessage())}", markup=False)

    errors = notes(console if console.stderr else Console(stderr=True, highlight=False))
    logger = logging.getLogger("hanabi_search_plugin")
    logger.handlers = [Once(logging.WARNING)]
    logger.propagate = False
    if policies is not None:
        from hanabi_search_plugin.evaluation.evaluate import warn_of_independent_searches

        warn_of_independent_searches(policies)


@contextmanager
def progress_bar(console: Console, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that takes how much is done, shown as a bar on a terminal and not elsewhere."""
    if not console.is_terminal or every_command.quiet():
        yield lambda done: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
