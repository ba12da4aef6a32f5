"""Numbers for the information states of all seats, under perfect recall.

A seat's information state is its first view, and then every event as the seat sees it with the view
after it. Each gets a number when it is first met, the same whoever meets it again. Letters: B
worlds, I information states, A actions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, Game, IntArray, View

UNKNOWN = -1  # the number of an information state that has never been met


class InformationStates:
    """The information states of a game met so far: a tree of what each seat has seen.

    A table is an array [I, A] with a row for each, read where its seat is to move. Rows that it
    lacks, since their information states were met later, are uniform; with ``lowest`` they play the
    lowest legal move, so that a large game need not be listed whole.
    """

    def __init__(self, game: Game, *, lowest: bool = False) -> None:
        self.game = game
        self.lowest = lowest
        self._numbers: dict[Hashable, int] = {}
        self._legal: list[BoolArray] = []
        self._owner: list[int] = []
        self._before: list[int] = []
        self._arrays: tuple[BoolArray, IntArray, IntArray] | None = None  # of the lists

    def __len__(self) -> int:
        return len(self._legal)

    @property
    def legal(self) -> BoolArray:
        """[I, A] what the seat may play there; all False where it is not to move."""
        return self._as_arrays()[0]

    @property
    def owner(self) -> IntArray:
        """[I] whose information state it is."""
        return self._as_arrays()[1]

    @property
    def before(self) -> IntArray:
        """[I] the one an event before, whose number is lower; UNKNOWN at the start."""
        return self._as_arrays()[2]

    def _as_arrays(self) -> tuple[BoolArray, IntArray, IntArray]:
        if self._arrays is None or len(self._arrays[1]) < len(self):
            legal = np.array(self._legal).reshape(len(self), self.game.num_actions)
            self._arrays = legal, np.array(self._owner), np.array(self._before)
        return self._arrays

    def started(self, view: View, *, add: bool = False) -> IntArray:
        """[B] the numbers at a seat's first view; ``add`` numbers those that are new."""
        keys = ((UNKNOWN, view.player, key) for key in view.keys())
        return self._find(view, keys, add)

    def after(self, before: IntArray, view: View, event: Event, *, add: bool = False) -> IntArray:
        """[B] the numbers after an event, given those before it; ``view`` is what follows."""
        seen = event.seen_by(view.player, self.game)
        keys = zip(
            before.tolist(), seen.player.tolist(), seen.action.tolist(), view.keys(), strict=True
        )
        return self._find(view, keys, add)

    def _find(self, view: View, keys: Iterable[tuple[Any, ...]], add: bool) -> IntArray:
        numbers = self._numbers
        if not add:
            found = (numbers.get(key, UNKNOWN) for key in keys)
            return np.fromiter(found, dtype=np.int64, count=len(view))
        new: list[int] = []
        known = len(self)
        ids = np.empty(len(view), dtype=np.int64)
        for b, key in enumerate(keys):
            number = numbers.setdefault(key, len(numbers))
            ids[b] = number
            if number == known + len(new):
                new.append(b)
                self._before.append(key[0])
        if new:
            self._legal.extend(view.select(np.array(new)).legal)
            self._owner.extend([view.player] * len(new))
        return ids

    def uniform(self) -> FloatArray:
        """[I, A] the uniform policy; zeros where the seat is not to move."""
        return _uniform(self.legal)

    def spare(self, legal: BoolArray) -> FloatArray:
        """[B, A] what is played where a table has no row."""
        if self.lowest:
            first = legal & (np.cumsum(legal, axis=1) == 1)
            return np.asarray(first, dtype=np.float64)
        return _uniform(legal)

    def filled(self, table: FloatArray) -> FloatArray:
        """[I, A] ``table`` with a row for each information state met since it was made.

        The table itself where there is none.
        """
        if len(table) == len(self):
            return table
        return np.concatenate([table, self.spare(self.legal[len(table) :])])

    def rows(self, table: FloatArray, state: IntArray) -> FloatArray:
        """[B, A] the rows of information states [B], as ``filled`` has them."""
        found = np.empty((len(state), self.game.num_actions))
        known = state < len(table)
        found[known] = table[state[known]]
        found[~known] = self.spare(self.legal[state[~known]])
        return found

    def empty(self) -> FloatArray:
        """[0, A] the table that has no row."""
        return np.zeros((0, self.game.num_actions))


def _uniform(legal: BoolArray) -> FloatArray:
    """[B, A] equal shares of the legal moves; zeros where there are none."""
    return np.asarray(legal / np.maximum(legal.sum(axis=1, keepdims=True), 1), dtype=np.float64)
