"""Lines that a person types: edited, remembered and completed where the terminal allows it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

COMPLETE = ("tab: complete", "bind ^I rl_complete")  # as GNU's readline and as libedit reads it


class LineReader:
    """Asks for lines on a console.

    On a terminal, where Python has ``readline``: the arrow keys edit the line and bring back
    earlier ones, and tab completes words that ``read`` is given.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._words: Sequence[str] = ()
        self._edits = console.is_terminal and console.file is sys.stdout and sys.stdin.isatty()
        try:
            import readline
        except ImportError:  # as on Windows
            self._edits = False
        if self._edits:
            readline.set_completer(self.complete)
            readline.set_completer_delims("")  # moves have spaces: the whole line is completed
            for line in COMPLETE:
                readline.parse_and_bind(line)

    def read(self, prompt: str, words: Sequence[str] = ()) -> str:
        """A line without its end. Raises EOFError where there are no more."""
        self._words = words
        if self._edits:
            return input(prompt)  # readline has to know how wide the prompt is
        return self._console.input(prompt, markup=False)

    def complete(self, text: str, state: int) -> str | None:
        """The completion number ``state`` of ``text``, as readline asks for them."""
        found = [word for word in self._words if word.startswith(text.lower())]
        return found[state] if state < len(found) else None
