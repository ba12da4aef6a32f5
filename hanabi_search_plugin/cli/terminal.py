"""What the commands show on a terminal: the console, warnings and progress."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.console import Console

from hanabi_search_plugin.cli import every_command
from hanabi_search_plugin.cli.plain_text import printable
from hanabi_search_plugin.core.policy import Blueprint

INTERRUPTED = 130  # the exit code


def open_console(json_file: str | None) -> Console:
    """The standard output, or the standard error where the former carries JSON."""
    return Console(stderr=json_file == "-", highlight=False)


def say(text: str) -> None:
    """A line about the run, no result, on the standard error; nothing with ``--quiet``."""
    notes(Console(stderr=True, highlight=False)).print(text, markup=False, soft_wrap=True)


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
                text = printable(entry.getMessage())
                notice = text.startswith("compiling ")  # as ``compile_progress`` writes it
                errors.print(text if notice else f"warning: {text}", markup=False)

    errors = notes(console if console.stderr else Console(stderr=True, highlight=False))
    logger = logging.getLogger("hanabi_search_plugin")
    logger.handlers = [Once(logging.WARNING)]
    logger.propagate = False
    if policies is not None:
        from hanabi_search_plugin.evaluation.seating import warn_of_independent_searches

        warn_of_independent_searches(policies)


def progress_bar(
    console: Console,
    what: str,
    total: int | None,
    *,
    done: int = 0,
    status: Callable[[], str] = str,
) -> AbstractContextManager[Callable[[int], None]]:
    """As ``evaluation.progress.progress_bar``, which is imported now."""
    from hanabi_search_plugin.evaluation.progress import progress_bar

    return progress_bar(what, total, done=done, console=notes(console), status=status)
