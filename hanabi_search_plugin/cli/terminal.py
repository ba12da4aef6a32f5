"""What the commands show on a terminal: the console, warnings and progress."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from rich.console import Console

from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.evaluation.evaluate import warn_of_independent_searches

INTERRUPTED = 130  # the exit code


def open_console(json_file: str | None) -> Console:
    """The standard output, or the standard error where the former carries JSON."""
    return Console(stderr=json_file == "-", highlight=False)


def say(text: str) -> None:
    """A line about the run, no result, on the standard error."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def show_warnings(console: Console, policies: Blueprint | None = None) -> None:
    """Show the package's warnings, and those of ``policies``, on the standard error, each once."""
    shown: set[str] = set()

    class Once(logging.Handler):
        def emit(self, entry: logging.LogRecord) -> None:
            if str(entry.msg) not in shown:
                shown.add(str(entry.msg))
                errors.print(f"warning: {entry.getMessage()}", markup=False)

    errors = console if console.stderr else Console(stderr=True, highlight=False)
    logger = logging.getLogger("hanabi_search_plugin")
    logger.handlers = [Once(logging.WARNING)]
    logger.propagate = False
    if policies is not None:
        warn_of_independent_searches(policies)


def progress_bar(
    console: Console, what: str, total: int | None, *, done: int = 0
) -> AbstractContextManager[Callable[[int], None]]:
    """As ``evaluation.progress.progress_bar``, which is imported now."""
    from hanabi_search_plugin.evaluation.progress import progress_bar

    return progress_bar(what, total, done=done, console=console)
