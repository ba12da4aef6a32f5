"""Batches of Python objects as worlds and views, for games that are played one state at a time.

A ``StateGame`` answers questions about one state; ``StateWorlds`` and ``StateView`` ask them for a
whole batch, each once. For small games. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.error_places import ask_each
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import (
    NOBODY,
    BoolArray,
    Event,
    FloatArray,
    Game,
    IntArray,
    View,
    Worlds,
    as_actions,
    require_legal,
)
from hanabi_search_plugin.core.words import counted

State = Any  # a value: never changed once it is in a batch, so worlds and views share it


class StateGame(Game):
    """A game whose batches are lists of states."""

    @abstractmethod
    def current_player(self, state: State) -> int:
        """Whose turn it is, NOBODY or another negative number where nobody is to move."""

    @abstractmethod
    def legal_mask(self, state: State) -> Sequence[int] | BoolArray:
        """[A] nonzero for the legal actions of a state in which somebody is to move."""

    @abstractmethod
    def returns(self, state: State) -> Sequence[float]:
        """[P] score points so far."""


class StateList(list[State]):
    """The states of a batch, with what has been asked of them. Not to be changed."""

    def __init__(
        self, game: StateGame, states: Iterable[State], movers: IntArray | None = None
    ) -> None:
        super().__init__(states)
        self._game = game
        self._movers = movers
        self._legal: BoolArray | None = None

    @classmethod
    def of(cls, game: StateGame, states: Sequence[State]) -> StateList:
        """``states`` themselves where they are a StateList, else a new one."""
        return states if isinstance(states, StateList) else cls(game, states)

    @property
    def movers(self) -> IntArray:
        """[B] whose turn it is, as the game says. Not to be changed."""
        if self._movers is None:
            movers = ask_each(self._game, "current_player", self._game.current_player, self)
            try:
                self._movers = np.fromiter(movers, dtype=np.int64, count=len(movers))
            except (TypeError, ValueError, OverflowError) as error:
                raise ContractError(
                    f"{self._game.name}: current_player must give a player's number, or NOBODY, "
                    f"got {_first_wrong(movers)!r}"
                ) from error
        return self._movers

    @property
    def legal(self) -> BoolArray:
        """[B, A] for the player to move; all False where nobody is. Not to be changed."""
        if self._legal is None:
            self._legal = np.zeros((len(self), self._game.num_actions), dtype=np.bool_)
            moving = np.flatnonzero(self.movers >= 0)
            asked = [self[b] for b in moving.tolist()]
            masks = ask_each(self._game, "legal_actions", self._game.legal_mask, asked)
            # By way of bytes: twice as fast as an array of lists.
            flat = np.frombuffer(b"".join(map(bytes, masks)), dtype=np.bool_)
            self._legal[moving] = flat.reshape(len(moving), self._game.num_actions)
        return self._legal

    def take(self, index: IntArray | BoolArray) -> StateList:
        """The states at ``index`` (int [N] or bool [B]) and what is known of them."""
        rows = rows_at(index)
        movers = None if self._movers is None else self._movers[rows]
        part = StateList(self._game, [self[b] for b in rows.tolist()], movers)
        if self._legal is not None:
            part._legal = self._legal[rows]
        return part


class StateView(View):
    """What one player sees of a batch of states."""

    game: StateGame

    def __init__(self, game: StateGame, player: int, states: Sequence[State]) -> None:
        self.game = game
        self.player = player
        self._states = StateList.of(game, states)

    def __len__(self) -> int:
        return len(self._states)

    def select(self, index: IntArray | BoolArray) -> Self:
        return type(self)(self.game, self.player, self._states.take(index))

    @property
    def current_player(self) -> IntArray:
        return np.maximum(self._states.movers, NOBODY)

    @property
    def legal(self) -> BoolArray:
        mine = self._states.movers == self.player
        return np.asarray(self._states.legal & mine[:, None])

    def observation(self, encoding: str = "") -> NDArray[Any]:
        if encoding not in self.game.encodings:
            raise UnsupportedError(
                f"{self.game.name} has the encodings {self.game.encodings}, got {encoding!r}"
            )
        return self.shown(encoding)

    @abstractmethod
    def shown(self, encoding: str) -> NDArray[Any]:
        """[B, ...] the observation in an encoding that the game has."""


class StateWorlds(Worlds):
    """A batch of states."""

    game: StateGame

    def __init__(self, game: StateGame, states: Sequence[State]) -> None:
        self.game = game
        self._states = StateList.of(game, states)

    def __len__(self) -> int:
        return len(self._states)

    @property
    def states(self) -> StateList:
        """[B] as now; other states may be set in their place."""
        return self._states

    @states.setter
    def states(self, states: Sequence[State]) -> None:
        self._states = StateList.of(self.game, states)

    @property
    def current_player(self) -> IntArray:
        return np.maximum(self.states.movers, NOBODY)

    @property
    def returns(self) -> FloatArray:
        returns = ask_each(self.game, "returns", self.game.returns, self.states)
        size = (len(self), self.game.num_players)
        try:
            found = np.array(returns, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)
        if returns and found.shape != size:
            state, wrong = next(
                (state, given)
                for state, given in zip(self.states, returns, strict=True)
                if np.shape(given) != size[1:]
            )
            raise ContractError(
                f"{self.game.name}: returns must give {counted(size[1], 'number')}, one a player, "
                f"also before the end, got {wrong!r} in the state {state!r}"
            )
        return found.reshape(size)

    @property
    def legal(self) -> BoolArray:
        return self.states.legal.copy()

    def step(self, actions: IntArray) -> Event:
        actions = as_actions(actions, len(self))
        require_legal(actions, self.states.legal)
        event = Event(self.current_player, actions)
        self.play(actions)
        return event

    @abstractmethod
    def play(self, actions: IntArray) -> None:
        """Replace the states by those after legal actions [B] and the chance that follows."""


def _first_wrong(movers: Sequence[object]) -> object:
    return next((each for each in movers if not isinstance(each, Integral)), movers[0])


def rows_at(index: IntArray | BoolArray) -> IntArray:
    """[N] the rows that ``index`` (int [N] or bool [B]) stands for."""
    return np.flatnonzero(index) if index.dtype == np.bool_ else index.astype(np.int64)
