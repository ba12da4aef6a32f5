"""Batches of ``pyspiel.State`` as worlds and views; see ``openspiel``.

A state is never changed once it is in a batch (a step makes children), so copies are free and views
stay as they were. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.game import HIDDEN, BoolArray, Event, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.streams import Streams

if TYPE_CHECKING:
    from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

State = Any  # pyspiel.State
Script = tuple[int, ...]  # chance actions still to come, in order


class OpenSpielView(View):
    """What one player sees of a batch of states."""

    def __init__(self, game: OpenSpielGame, player: int, states: Sequence[State]) -> None:
        self.game: OpenSpielGame = game
        self.player = player
        self._states = list(states)

    def __len__(self) -> int:
        return len(self._states)

    def states(self) -> list[State]:
        """The true states behind the view, hidden parts and all, for adapters alone.

        Not to be changed. What reads a whole state must not get these but what
        ``OpenSpielGame.hypothetical`` makes of them, or hidden cards leak.
        """
        return list(self._states)

    def select(self, index: IntArray | BoolArray) -> OpenSpielView:
        return OpenSpielView(self.game, self.player, [self._states[i] for i in _rows(index)])

    @property
    def current_player(self) -> IntArray:
        return _current_player(self._states)

    @property
    def legal(self) -> BoolArray:
        mine = [s.current_player() == self.player for s in self._states]
        return _legal(self._states, mine, self.game.num_actions)

    def observation(self, encoding: str) -> NDArray[Any]:
        """[B, ...] ``"tensor"``: float32, ``"string"``: str objects.

        The information state (all the player has seen) where the game provides one, else the
        current observation.
        """
        if encoding not in self.game.encodings:
            raise UnsupportedError(
                f"{self.game.name} has the encodings {self.game.encodings}, got {encoding!r}"
            )
        if encoding == "string":
            strings = np.empty(len(self), dtype=object)
            strings[:] = [self.game.string(s, self.player) for s in self._states]
            return strings
        return np.array(
            [self.game.tensor(s, self.player) for s in self._states], dtype=np.float32
        ).reshape(len(self), *self.game.tensor_shape)

    def keys(self) -> Sequence[Hashable]:
        """[B] the information state, or all encodings of the current observation together."""
        strings = [self.game.string(s, self.player) for s in self._states]
        if self.game.remembers or "tensor" not in self.game.encodings:
            return strings
        tensors = [self.game.tensor(s, self.player).tobytes() for s in self._states]
        return list(zip(strings, tensors, strict=True))


class OpenSpielWorlds(Worlds):
    """A batch of states at decisions or ends, each with a chance stream.

    The k-th chance event of a world takes the k-th number of its stream and the outcome at that
    place of the cumulative probabilities; or the next action of its script, where it has one.
    """

    def __init__(
        self,
        game: OpenSpielGame,
        states: Sequence[State],
        streams: Streams,
        scripts: Sequence[Script | None] | None = None,
    ) -> None:
        """Takes the states as they are: at chance nodes, chance is played on children of them."""
        self.game: OpenSpielGame = game
        self.states = list(states)
        self.streams = streams.select(np.arange(len(self.states)))
        self.scripts: list[Script | None] = list(scripts or [None] * len(self.states))
        self._play_chance()

    def __len__(self) -> int:
        return len(self.states)

    @property
    def current_player(self) -> IntArray:
        return _current_player(self.states)

    @property
    def returns(self) -> FloatArray:
        nothing = [0.0] * self.game.num_players
        early = self.game.scores_early
        returns = [s.returns() if early or s.is_terminal() else nothing for s in self.states]
        return np.array(returns, dtype=np.float64).reshape(len(self), self.game.num_players)

    @property
    def legal(self) -> BoolArray:
        return _legal(
            self.states, [not s.is_terminal() for s in self.states], self.game.num_actions
        )

    def step(self, actions: IntArray) -> Event:
        actions = np.asarray(actions, dtype=np.int64)
        if len(actions) != len(self):
            raise IllegalActionError(f"expected {len(self)} actions, got {len(actions)}")
        for b, (state, action) in enumerate(zip(self.states, actions.tolist(), strict=True)):
            if action not in state.legal_actions():
                raise IllegalActionError(
                    f"world {b} allows the actions {state.legal_actions()}, got {action}"
                )
        event = Event(self.current_player, actions.copy())
        self.states = [s.child(a) for s, a in zip(self.states, actions.tolist(), strict=True)]
        self._play_chance()
        return event

    def select(self, index: IntArray | BoolArray) -> OpenSpielWorlds:
        rows = _rows(index)
        return OpenSpielWorlds(
            self.game,
            [self.states[i] for i in rows],
            self.streams.select(np.array(rows, dtype=np.int64)),
            [self.scripts[i] for i in rows],
        )

    def view(self, player: int) -> OpenSpielView:
        return OpenSpielView(self.game, player, self.states)

    def _play_chance(self) -> None:
        while rows := [b for b, state in enumerate(self.states) if state.is_chance_node()]:
            index = np.array(rows)
            streams = self.streams.select(index)
            for b, u in zip(rows, streams.uniform().tolist(), strict=True):
                self.states[b] = self.states[b].child(self._outcome(b, u))
            self.streams.state[index] = streams.state

    def _outcome(self, b: int, u: float) -> int:
        outcomes, script = self.states[b].chance_outcomes(), self.scripts[b]
        if script is not None:
            if not script or script[0] not in [action for action, _ in outcomes]:
                raise IllegalActionError(
                    f"world {b}'s script must go on with one of the chance actions "
                    f"{[action for action, _ in outcomes]}, got {list(script[:1])}"
                )
            self.scripts[b] = script[1:]
            return script[0]
        for action, chance in outcomes:
            u -= chance
            if u < 0:
                return int(action)
        return int(outcomes[-1][0])


def ours(worlds: Worlds) -> OpenSpielWorlds:
    if not isinstance(worlds, OpenSpielWorlds):
        raise UnsupportedError(f"expected OpenSpielWorlds, got {type(worlds).__name__}")
    return worlds


def _rows(index: IntArray | BoolArray) -> list[int]:
    rows = np.flatnonzero(index) if index.dtype == np.bool_ else index
    return [int(row) for row in rows]


def _current_player(states: Sequence[State]) -> IntArray:
    players = (HIDDEN if s.is_terminal() else s.current_player() for s in states)
    return np.fromiter(players, dtype=np.int64, count=len(states))


def _legal(states: Sequence[State], shown: Sequence[bool], num_actions: int) -> BoolArray:
    legal = np.zeros((len(states), num_actions), dtype=np.bool_)
    for b, (state, show) in enumerate(zip(states, shown, strict=True)):
        if show:
            legal[b, state.legal_actions()] = True
    return legal
