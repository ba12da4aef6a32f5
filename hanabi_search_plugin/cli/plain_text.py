"""Text of others that is printed: control characters never reach a terminal as they are."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from hanabi_search_plugin.core.errors import ConfigError

_CONTROLS = ("Cc", "Cf", "Zl", "Zp")  # categories of Unicode
LONGEST = 1_500  # characters of an error


def printable(text: str) -> str:
    r"""The text with what cannot be printed written as Python would: ``\x1b``, ``\udcff``."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """The text on one line, printable; of one that is very long, its beginning and its end."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


_NUMBERS = {
    "Input should be a valid integer": "an integer",
    "is not a valid integer": "an integer",
    "Input should be a valid number": "a number",
    "is not a valid float": "a number",
}
"""What Typer says of text that is no number, by its version, and what was expected."""


def number_expected(message: str) -> str | None:
    """ "an integer" or "a number", where that is what Typer's message wants; else None."""
    return next((kind for words, kind in _NUMBERS.items() if words in message), None)


def require_plain(arguments: Sequence[str]) -> None:
    """Raises ConfigError for an argument with bytes that are no UTF-8, or a control character.

    Those that turn or join what is written beside them are among these.
    """
    for argument in arguments:
        if any("\ud800" <= c <= "\udfff" for c in argument):
            raise ConfigError(f"arguments must be UTF-8, got {argument!r}")
        if any(unicodedata.category(c) in _CONTROLS for c in argument):
            raise ConfigError(f"arguments must have no control characters, got {argument!r}")
