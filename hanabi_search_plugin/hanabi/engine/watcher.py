"""Following one seat of a game from the observation vectors that it is shown.

Whoever plays a seat in an environment of somebody else's sees vectors alone. ``Watcher`` turns them
into the views and events that policies take. N = elements of a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.game import Event, History
from hanabi_search_plugin.hanabi.engine.decoding import Row, between, first, follow, opening
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView
from hanabi_search_plugin.hanabi.engine.layout import LAST_ACTION, LAST_PLAYER, TURN


class Watcher:
    """The history of one seat in the running game, by its "openspiel" observations.

    ``look`` takes one vector after the other, from the first moment of the game on and after every
    move. In a game of 2 players the vectors of the seat's own turns are enough, if ``acted`` tells
    what it played at each; and one that cannot follow from the last, but can be that of a first
    turn, begins a new game. ``games`` counts the games begun.
    """

    games = 0

    def __init__(self, game: HanabiRules, seat: int) -> None:
        self.game = game
        self.seat = seat
        self.begin()

    def begin(self) -> None:
        """Forget the game: the next vector is of a new one."""
        self.games += 1
        self.history: History | None = None  # None before the first vector
        self.view: HanabiView | None = None  # the last of the history
        self._vector: NDArray[Any] = np.empty(0)  # the last one
        self._acted: int | None = None  # the seat's move since then

    def acted(self, action: int) -> None:
        """Tell the move that the seat has made since the last vector."""
        self._acted = int(action)

    def look(self, vector: Any, mover: int) -> History:
        """Take in a vector [N] after which ``mover`` is to move; returns the history up to it.

        The same vector again changes nothing. Raises RecordError where the vector does not follow
        from what was seen before, and ConfigError for one that no such game shows; then the history
        is as it was.
        """
        seen = np.array(vector)
        if self.history is None or not np.array_equal(seen, self._vector):
            for row in self._following_or_first(seen, mover):
                self._add(row)
            self._vector, self._acted = seen, None
        assert self.history is not None
        return self.history

    def _following_or_first(self, seen: NDArray[Any], mover: int) -> list[Row]:
        """As ``_following``; begins a new game where only that explains the vector."""
        try:
            return self._following(seen, mover)
        except RecordError:
            if self.history is None or self.game.num_players != 2 or mover != self.seat:
                raise
            anew = Watcher(self.game, self.seat)
            try:
                rows = anew._following(seen, mover)
            except RecordError:
                rows = []
            if not rows:
                raise
        self.begin()
        return rows

    def _following(self, seen: NDArray[Any], mover: int) -> list[Row]:
        """The rows after each move since the last vector: of 2 players it may be two."""
        config, seat = self.game.config, self.seat
        own_turns = self.game.num_players == 2 and mover == seat
        if self.view is None:
            row = opening(config, seen, seat) if own_turns else first(config, seen, seat, mover)
            return [row] if row[TURN] == mover else [row, follow(config, row, seen, seat)]
        last = self.view.rows[0]
        if own_turns and last[TURN] == seat:
            if self._acted is None:
                raise RecordError(
                    "expected the seat's move between two observations of its own turns, got none"
                )
            row = between(config, last, self._acted, seen, seat)
            return [row, follow(config, row, seen, seat)]
        return [follow(config, last, seen, seat)]

    def _add(self, row: Row) -> None:
        self.view = HanabiView(self.game, self.seat, row[None])
        if self.history is None:
            self.history = History(self.seat, (self.view,))
        else:
            move = row[[LAST_PLAYER, LAST_ACTION]].astype(np.int64)
            self.history = self.history.append(Event(move[:1], move[1:]), self.view)
