"""The command line of a benchmark: an error of the package is one line, with exit status 2."""

from __future__ import annotations

import sys
from typing import Any

import typer

from hanabi_search_plugin.cli.plain_text import one_line
from hanabi_search_plugin.core.errors import HanabiSearchError


class CommandLine(typer.Typer):
    """Commands with ``doc``, the module's text, as their help."""

    def __init__(self, doc: str | None) -> None:
        super().__init__(add_completion=False, pretty_exceptions_enable=False, help=doc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except HanabiSearchError as error:
            print(one_line(str(error)), file=sys.stderr)
            raise SystemExit(2) from None
