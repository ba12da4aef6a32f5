"""Help of a command: options under their headings, no name cropped in a narrow terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

ARGUMENTS, OPTIONS, COMMANDS = "Arguments", "Options", "Commands"
COLUMN = 26  # where texts begin; beside a longer name on the next line


def write_options(context: Any, formatter: Any) -> None:
    """Write the arguments and options of ``context.command``, by heading, as they were declared.

    ``context`` and ``formatter`` are Click's.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for one in context.command.get_params(context):
        record = one.get_help_record(context)
        if record is not None:
            usual = ARGUMENTS if one.param_type_name == "argument" else OPTIONS
            found.setdefault(getattr(one, "rich_help_panel", None) or usual, []).append(record)
    for heading, records in found.items():
        _write(formatter, heading, records)


def write_commands(context: Any, formatter: Any) -> None:
    """Write what each command of the group ``context.command`` is for, in full."""
    group = context.command
    named = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    _write(formatter, COMMANDS, [(name, one.help or "") for name, one in named if not one.hidden])


def _write(formatter: Any, heading: str, records: Iterable[tuple[str, str]]) -> None:
    with formatter.section(heading):
        margin = " " * formatter.current_indent
        for term, text in records:
            name = f"{margin}{term}"
            beside = len(name) + 2 <= COLUMN
            lines = textwrap.wrap(
                " ".join(text.split()),
                formatter.width,
                initial_indent=name.ljust(COLUMN) if beside else " " * COLUMN,
                subsequent_indent=" " * COLUMN,
                break_on_hyphens=False,
                break_long_words=False,
            )
            shown = lines if beside and lines else [name, *lines]
            formatter.write("\n".join(shown) + "\n")
