"""A person at a seat: a policy that asks on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.text import (
    COLOR_LETTERS,
    COLOR_NAMES,
    action_from_dict,
    action_in_words,
)
from hanabi_search_plugin.rendering import colored_text

if TYPE_CHECKING:
    from rich.console import Console

HELP = """\
play 2       play the card in slot 2 (slots count from 0, the oldest card first); also p2
discard 0    discard the card in slot 0; also d0
hint red     tell the next player about its red cards; also hint r, hr, h red
hint 3       tell it about its cards of rank 3; also h3
hint P2 red  with more than two players, say whom
moves        list the moves that are allowed
quit         leave the game"""


class HumanPolicy(Policy):
    """Shows what the seat sees, then asks for a move until it is a legal one.

    ``ask`` returns a line that was typed; EOFError and "quit" end the game as KeyboardInterrupt.
    """

    deterministic = False

    def __init__(self, console: Console, seats: tuple[str, ...], ask: Callable[[], str]) -> None:
        self._console = console
        self._seats = seats
        self._ask = ask

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        if not isinstance(view, HanabiView) or len(view) != 1:
            raise UnsupportedError("a person plays one game of native Hanabi at a time")
        config, player = view.game.config, view.player
        self._console.print(
            colored_text.board(config, view.rows[0], self._seats, you=player), end=""
        )
        while True:
            try:
                line = self._ask().strip().lower()
            except EOFError:
                raise KeyboardInterrupt from None
            if line in ("quit", "q", "exit"):
                raise KeyboardInterrupt
            if line in ("", "help", "h", "?"):
                self._console.print(HELP, highlight=False, markup=False)
                continue
            if line == "moves":
                moves = [
                    action_in_words(config, player, a) for a in np.flatnonzero(legal[0]).tolist()
                ]
                self._console.print("\n".join(moves), highlight=False)
                continue
            action = parse_move(config, player, line)
            if action is None:
                self._console.print(f"{line!r} is not a move: help lists them", markup=False)
            elif not legal[0, action]:
                words = action_in_words(config, player, action)
                self._console.print(f"not allowed now: {words} (moves lists what is)")
            else:
                return np.array([action])


def parse_move(config: HanabiConfig, player: int, line: str) -> int | None:
    """The action that a typed line means, or None."""
    words = line.lower().split()
    if len(words) == 1 and len(words[0]) >= 2:
        words = [words[0][0], words[0][1:]]  # p2, d0, h3, hr
    verbs = {"play": "play", "p": "play", "discard": "discard", "d": "discard"}
    if len(words) == 2 and words[0] in verbs and words[1].isdecimal():
        return _action(config, {"type": verbs[words[0]], "slot": int(words[1])})
    if len(words) < 2 or words[0] not in ("hint", "h"):
        return None
    offset = 1
    if len(words) == 3:
        seats = [str(seat) for seat in range(config.players)]
        if words[1].removeprefix("p") not in seats:
            return None
        offset = (seats.index(words[1].removeprefix("p")) - player) % config.players
    if len(words) > 3 or (len(words) == 2 and config.players > 2):
        return None
    what = words[-1]
    if what.isdecimal():
        return _action(config, {"type": "reveal_rank", "target": offset, "rank": int(what) - 1})
    colors = [*COLOR_NAMES, *COLOR_LETTERS.lower()]
    if what not in colors:
        return None
    color = colors.index(what) % len(COLOR_NAMES)
    return _action(config, {"type": "reveal_color", "target": offset, "color": color})


def _action(config: HanabiConfig, fields: dict[str, object]) -> int | None:
    try:
        return action_from_dict(config, fields)
    except ValueError:
        return None
