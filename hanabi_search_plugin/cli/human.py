"""A person at a seat, who is asked on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console

from hanabi_search_plugin.cli.line_input import LineReader
from hanabi_search_plugin.cli.typed_moves import parse_move, spelled
from hanabi_search_plugin.core.errors import HanabiSearchError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, History
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.layout import LAST_PLAYER
from hanabi_search_plugin.hanabi.engine.text import last_move, why_illegal
from hanabi_search_plugin.rendering import colored_text

HELP = """\
play 2       play the card in slot 2, also p2; slot 0 has the oldest card
discard 0    discard the card in slot 0, also d0
hint red     tell the next player about its red cards; also hint r, hr, h red
hint 3       tell it about its cards of rank 3; also h3
hint P2 red  with more than two players, say whom; also h2r
moves        list the moves that are allowed
history      the moves so far
advice       what a search would play, and what every move is worth to it; also a
undo         take back your last move, and all that followed; also u
help         these lines; also ?
quit         leave the game"""
COMMANDS = ("moves", "history", "advice", "undo", "help", "quit")


class TakenBack(BaseException):
    """A person takes back the last move of its seat; no error, so nothing on the way keeps it."""


class Left(BaseException):
    """A person leaves the game."""


@dataclass
class Screen:
    """The terminal that all people at the table share."""

    console: Console
    seats: tuple[str, ...]  # names
    reader: LineReader = field(init=False)
    looking: int | None = None  # the seat whose view was shown last

    def __post_init__(self) -> None:
        self.reader = LineReader(self.console)

    def hand_over(self, player: int) -> bool:
        """Hide what the person before has seen, and wait for ``player``. False if nobody else was.

        Raises EOFError where no more lines are to come.
        """
        before, self.looking = self.looking, player
        if before in (None, player):
            return False
        if self.console.is_terminal:
            self.console.clear()
            self.console.file.write("\x1b[3J")  # and what can be scrolled back to
        self.reader.read(f"P{player}, press Enter when only you look: ")
        return True


class Asked:
    """Shows what a person's seat sees, then asks for a move until it is a legal one.

    ``advise`` makes a search's decision from a history. "quit" raises Left, "undo" TakenBack; the
    end of the input is a KeyboardInterrupt.
    """

    def __init__(self, screen: Screen, advise: Callable[[History], SearchResult]) -> None:
        self._screen = screen
        self._advise = advise

    def move(self, history: History) -> int:
        """The move of the seat whose history this is, and who is to move."""
        view = history.views[-1]
        if not isinstance(view, HanabiView):
            raise UnsupportedError("a person plays native Hanabi")
        try:
            return self._ask(view, view.legal[0], history)
        except EOFError:
            raise KeyboardInterrupt from None

    def _ask(self, view: HanabiView, legal: BoolArray, history: History) -> int:
        console, config, player = self._screen.console, view.game.config, view.player
        row = view.rows[0]
        if self._screen.hand_over(player):
            for words in _since_own_move(history):
                console.print(words, markup=False)
        board = colored_text.board(config, row, self._screen.seats, you=player)
        console.print(board, end="")
        moves = [spelled(config, player, action) for action in np.flatnonzero(legal).tolist()]
        while True:
            prompt = f"P{player}, your move (or advice, help): "
            line = self._screen.reader.read(prompt, (*moves, *COMMANDS)).strip().lower()
            if line in ("quit", "q", "exit"):
                raise Left
            if line in ("undo", "u"):
                raise TakenBack
            if line in ("", "help", "h", "?"):
                console.print(HELP, highlight=False, markup=False)
            elif line == "moves":
                console.print("\n".join(moves), highlight=False, markup=False)
            elif line == "history":
                moves = [f"{n} {words}" for n, words in enumerate(_moves_of(history), start=1)]
                console.print("\n".join(moves) or "no moves yet", highlight=False, markup=False)
            elif line in ("advice", "advise", "a"):
                self._show_advice(view, history)
            else:
                try:
                    action = parse_move(config, player, line)
                except HanabiSearchError as error:
                    console.print(str(error), markup=False)
                    continue
                if legal[action]:
                    return action
                why = why_illegal(config, row, action)
                console.print(f"{spelled(config, player, action)} is not allowed now: {why}")

    def _show_advice(self, view: HanabiView, history: History) -> None:
        console = self._screen.console
        try:
            with console.status("searching"):
                result = self._advise(history)
        except HanabiSearchError as error:
            console.print(f"no advice: {error}", markup=False)
            return
        advice = colored_text.advice(view.game.config, view.rows[0], view.player, result)
        console.print(advice, end="")


def _moves_of(history: History) -> list[str]:
    """All moves so far, in words."""
    return [
        last_move(view.game.config, view.rows[0])
        for view in history.views
        if isinstance(view, HanabiView) and int(view.rows[0, LAST_PLAYER]) >= 0
    ]


def _since_own_move(history: History) -> list[str]:
    """What happened since the seat moved last, in words, its own move first."""
    words: list[str] = []
    for view in history.views:
        assert isinstance(view, HanabiView)
        mover = int(view.rows[0, LAST_PLAYER])
        if mover == history.seat:
            words = []
        if mover >= 0:
            words.append(last_move(view.game.config, view.rows[0]))
    return words
