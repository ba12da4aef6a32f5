"""Results of very many games in little memory: some 130 bytes each, where objects take 1,500."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import BoolArray, IntArray
from hanabi_search_plugin.core.plain_json import typed
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.match import Decisions, GameResult, Side

_NONE = -1  # of the columns that may be None
_MOST = 10**9  # games that a file may number
_COLUMNS = {
    "score": "f8", "lives_left": "i2", "cpu_seconds": "f8", "rollouts": "i8", "likelihoods": "i8",
    "searched_moves": "i4", "changed_moves": "i4", "fallback_moves": "i4",
    "recovered_moves": "i4", "depth": "f8", "start": "i8", "moves": "i4", "known": "?",
}  # fmt: skip
_MAY_BE_NONE = ("lives_left", "likelihoods", "depth")


class GameTable(Sequence[GameResult]):
    """One side's results; a sequence of those that ``select`` has chosen.

    Holds games numbered 0 to ``games`` - 1 of actions 0 to ``num_actions`` - 1, without their
    decisions unless ``decisions`` are to be kept.
    """

    def __init__(
        self, side: Side, games: int, num_actions: int, *, decisions: bool = False
    ) -> None:
        self._side = side
        # Zeros that are never written take no memory: one side has few of these columns.
        self._columns = {name: np.zeros(games, dtype=kind) for name, kind in _COLUMNS.items()}
        self._moves = array("b" if num_actions <= 128 else "q")
        self._decisions: dict[int, Decisions] | None = {} if decisions else None  # by game
        self._chosen: IntArray = np.arange(0)

    @property
    def known(self) -> BoolArray:
        """[games] which numbers have a result."""
        return self._columns["known"]

    @classmethod
    def of_columns(cls, side: Side, numbers: Sequence[int], columns: Mapping[str, Any]) -> Self:
        """The results of games ``numbers``, by what ``column`` gave; their ``actions`` are empty.

        Raises ValueError for other columns, or values that do not fit them.
        """
        last = max(numbers, default=-1)
        if (
            sorted(set(numbers)) != list(numbers)
            or not -1 <= last < _MOST
            or min(numbers, default=0) < 0
        ):
            raise ValueError("numbers must be those of games, in order")
        table = cls(side, last + 1, 1)
        chosen = np.array(numbers, dtype=np.int64)
        for name, values in columns.items():
            if name not in _COLUMNS or name in ("start", "known"):
                raise ValueError(f"{name!r} is no column of results")
            for value in typed(name, values, tuple[float | None, ...]):
                if value is None and name not in _MAY_BE_NONE:
                    raise ValueError(f"{name} must be numbers, got null")
            if len(values) != len(chosen):
                raise ValueError(f"{name} must have {len(chosen)} values, got {len(values)}")
            try:
                table._columns[name][chosen] = [_NONE if one is None else one for one in values]
            except OverflowError:
                raise ValueError(f"{name} must be smaller numbers") from None
        table.known[chosen] = True
        return table.select(chosen)

    def put(self, result: GameResult) -> None:
        """Keep a result, by its number."""
        if self._decisions is not None:
            self._decisions[result.game] = result.decisions
        own = {"start": len(self._moves), "known": True}
        self._moves.extend(result.actions)
        for name, values in self._columns.items():
            value = own[name] if name in own else getattr(result, name)
            if value != 0:
                values[result.game] = _NONE if value is None else value

    def select(self, numbers: IntArray) -> Self:
        """The results of these games, in this order; the table behind them is the same."""
        chosen = object.__new__(type(self))
        chosen.__dict__ |= self.__dict__ | {"_chosen": numbers}
        return chosen

    def column(self, name: str) -> NDArray[Any] | list[Any]:
        """A field of every result."""
        if name == "game":
            return self._chosen
        values = self._columns[name][self._chosen]
        if name in _MAY_BE_NONE and (values == _NONE).any():
            return [None if value == _NONE else value for value in values.tolist()]
        return values

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, place: int) -> GameResult: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[GameResult, ...]: ...

    def __getitem__(self, place: int | slice) -> GameResult | tuple[GameResult, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        number = int(self._chosen[place])
        row: dict[str, Any] = {name: v[number].item() for name, v in self._columns.items()}
        row |= {name: None for name in _MAY_BE_NONE if row[name] == _NONE}
        start = row.pop("start")
        del row["known"]
        actions = tuple(self._moves[start : start + row["moves"]])
        decisions = (self._decisions or {}).get(number, ())
        return GameResult(side=self._side, game=number, actions=actions, decisions=decisions, **row)

    def __eq__(self, other: object) -> bool:
        """Are the results those of another sequence?"""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'result')}>"


def column(games: Sequence[GameResult], name: str) -> NDArray[Any] | list[Any]:
    """A field of every result."""
    if isinstance(games, GameTable):
        return games.column(name)
    return [getattr(game, name) for game in games]
