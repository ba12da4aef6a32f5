"""States of OpenSpiel with what has been asked of them, so that nothing is asked twice.

Whoever plays the same moves and chance from one ``KnownState`` comes to one and the same
``KnownState``: worlds of a belief, iterations of a tree and rollouts share what lies below. A small
game is soon known as a whole, and hardly calls OpenSpiel any more. In a large one few states are
met again, so that a state keeps what follows it only from the second time on that it is played on.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pyspiel

State = Any  # pyspiel.State

CHANCE, END = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)
MOST_KEPT = 20_000  # states kept below those of one batch; some 3 kB each


class Room:
    """For so many more states below those of one batch."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_KEPT


class KnownState:
    """A ``pyspiel.State``, which is not to be changed, and what is known of it."""

    __slots__ = ("_after", "_outcomes", "_room", "keys", "legal", "mover", "returns", "state")

    def __init__(self, state: State, room: Room) -> None:
        self.state = state
        self.mover: int = state.current_player()  # chance and the end have negative numbers
        self._room = room
        self._after: dict[int, KnownState | None] | None = None  # None: not played on, not kept
        self.legal: list[int] | None = None  # None: ``ask_legal`` has not been called
        self._outcomes: list[tuple[int, float]] | None = None
        self.keys: dict[int, Hashable] = {}  # of players, as far as a walk has asked for them
        self.returns: list[float] | None = None  # as far as a walk has asked for them

    def __repr__(self) -> str:
        return str(self.state)

    def __reduce__(self) -> tuple[Any, ...]:
        return KnownState, (self.state, Room())

    def __deepcopy__(self, memo: dict[int, Any]) -> KnownState:
        return self  # its state is never changed

    def ask_legal(self) -> list[int]:
        """Find ``legal``, the actions of the player, or of chance, to move. Not to be changed."""
        self.legal = [] if self.mover == END else self.state.legal_actions()
        return self.legal

    def outcomes(self) -> list[tuple[int, float]]:
        """What chance, which is to move, may do, and how likely that is. Not to be changed."""
        if self._outcomes is None:
            self._outcomes = self.state.chance_outcomes()
        return self._outcomes

    def after(self, action: int) -> KnownState:
        """The state that a legal action, or an outcome of chance, leads to."""
        after = self._after
        if after is None:
            self._after = {}
            return KnownState(self.state.child(action), self._room)
        return after.get(action) or self._follow(action, after)

    def after_again(self, action: int) -> KnownState | None:
        """The same from the second time on; None the first time, and where there is no room."""
        after = self._after
        if after is None:
            after = self._after = {}
        elif found := after.get(action):
            return found
        if action in after and self._room.left > 0:
            return self._follow(action, after)
        after[action] = None
        return None

    def _follow(self, action: int, after: dict[int, KnownState | None]) -> KnownState:
        found = KnownState(self.state.child(action), self._room)
        if self._room.left > 0:
            self._room.left -= 1
            after[action] = found
        return found


def outcome_at(outcomes: Sequence[tuple[int, float]], u: float) -> int:
    """The outcome of chance at ``u`` of the cumulative probabilities."""
    for action, chance in outcomes:
        u -= chance
        if u < 0:
            return action
    return outcomes[-1][0]
