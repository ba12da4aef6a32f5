"""Batches of ``pyspiel.State`` as worlds and views.

A state is never changed once it is in a batch (a step makes children), so copies are free and views
stay as they were. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import (
    NOBODY,
    BoolArray,
    Event,
    FloatArray,
    IntArray,
    View,
    Worlds,
    as_actions,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers._openspiel_rules import OpenSpielRules, State

Script = tuple[int, ...]  # chance actions still to come, in order

_CHANCE = int(pyspiel.PlayerId.CHANCE)


class States(list[State]):
    """The states of a batch, which remembers what every step and view asks of each.

    Worlds and their views share one, so nobody may change it once it is asked.
    """

    def __init__(self, states: Iterable[State], players: IntArray | None = None) -> None:
        super().__init__(states)
        self._players = players
        self._legal: BoolArray | None = None

    @property
    def players(self) -> IntArray:
        """[B] whose turn it is, by OpenSpiel's ids: chance and the end have negative ones."""
        if self._players is None:
            players = [state.current_player() for state in self]
            self._players = np.array(players, dtype=np.int64)
        return self._players

    def legal(self, num_actions: int) -> BoolArray:
        """[B, A] for the player to move; all False where the game is over. Not to be changed."""
        if self._legal is None:
            self._legal = np.zeros((len(self), num_actions), dtype=np.bool_)
            mine = np.flatnonzero(self.players >= 0)
            masks = [self[i].legal_actions_mask() for i in mine.tolist()]
            # By way of bytes: twice as fast as an array of lists.
            flat = np.frombuffer(b"".join(map(bytes, masks)), dtype=np.bool_)
            self._legal[mine] = flat.reshape(len(mine), num_actions)
        return self._legal

    def take(self, rows: IntArray) -> States:
        """The states at ``rows`` and what is known of them."""
        known = None if self._players is None else self._players[rows]
        part = States([self[i] for i in rows.tolist()], known)
        if self._legal is not None:
            part._legal = self._legal[rows]
        return part


class OpenSpielView(View):
    """What one player sees of a batch of states."""

    def __init__(self, game: OpenSpielRules, player: int, states: Sequence[State]) -> None:
        self.game: OpenSpielRules = game
        self.player = player
        self._states = states if isinstance(states, States) else States(states)

    def __len__(self) -> int:
        return len(self._states)

    def states(self) -> list[State]:
        """The true states behind the view, hidden parts and all, for adapters alone.

        Not to be changed. What reads a whole state must not get these but what
        ``OpenSpielGame.hypothetical`` makes of them, or hidden cards leak.
        """
        return list(self._states)

    def select(self, index: IntArray | BoolArray) -> OpenSpielView:
        return OpenSpielView(self.game, self.player, self._states.take(_rows(index)))

    @property
    def current_player(self) -> IntArray:
        return np.maximum(self._states.players, NOBODY)

    @property
    def legal(self) -> BoolArray:
        mine = self._states.players == self.player
        return np.asarray(self._states.legal(self.game.num_actions) & mine[:, None])

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
        game: OpenSpielRules,
        states: Sequence[State],
        streams: Streams,
        scripts: Sequence[Script | None] | None = None,
    ) -> None:
        """Takes the states as they are: at chance nodes, chance is played on children of them."""
        self.game: OpenSpielRules = game
        self.states = states if isinstance(states, States) else States(states)
        self.streams = streams.select(np.arange(len(self.states)))
        self.scripts = None if scripts is None else list(scripts)  # None: no world has one
        if (self.states.players == _CHANCE).any():
            self._play_chance([state.clone() for state in self.states])

    def __len__(self) -> int:
        return len(self.states)

    @property
    def current_player(self) -> IntArray:
        return np.maximum(self.states.players, NOBODY)

    @property
    def returns(self) -> FloatArray:
        nothing = [0.0] * self.game.num_players
        early = self.game.scores_early
        returns = [s.returns() if early or s.is_terminal() else nothing for s in self.states]
        return np.array(returns, dtype=np.float64).reshape(len(self), self.game.num_players)

    @property
    def legal(self) -> BoolArray:
        return self.states.legal(self.game.num_actions).copy()

    def step(self, actions: IntArray) -> Event:
        actions = as_actions(actions, len(self))
        legal = self.states.legal(self.game.num_actions)
        known = (actions >= 0) & (actions < self.game.num_actions)
        wrong = np.flatnonzero(~(known & legal[np.arange(len(self)), np.where(known, actions, 0)]))
        if len(wrong):
            b = int(wrong[0])
            raise IllegalActionError(
                f"world {b} allows the actions {np.flatnonzero(legal[b]).tolist()}, got "
                f"{actions[b]}"
            )
        event = Event(self.current_player, actions)
        played = zip(self.states, actions.tolist(), strict=True)
        self._play_chance([state.child(action) for state, action in played])
        return event

    def select(self, index: IntArray | BoolArray) -> OpenSpielWorlds:
        rows = _rows(index)
        return OpenSpielWorlds(
            self.game,
            self.states.take(rows),
            self.streams.select(rows),
            None if self.scripts is None else [self.scripts[i] for i in rows.tolist()],
        )

    def view(self, player: int) -> OpenSpielView:
        return OpenSpielView(self.game, player, self.states)

    def _play_chance(self, states: list[State]) -> None:
        """Take new states, nobody else's, and play the chance in them."""
        players = np.array([state.current_player() for state in states], dtype=np.int64)
        index = np.flatnonzero(players == _CHANCE)
        while len(index):
            streams = self.streams.select(index)
            now = []
            for b, u in zip(index.tolist(), streams.uniform().tolist(), strict=True):
                state = states[b]
                state.apply_action(self._outcome(state.chance_outcomes(), b, u))
                now.append(state.current_player())
            players[index] = now
            self.streams.state[index] = streams.state
            index = index[players[index] == _CHANCE]
        self.states = States(states, players)

    def _outcome(self, outcomes: list[tuple[int, float]], b: int, u: float) -> int:
        script = None if self.scripts is None else self.scripts[b]
        if script is not None:
            if not script or script[0] not in [action for action, _ in outcomes]:
                raise IllegalActionError(
                    f"world {b}'s script must go on with one of the chance actions "
                    f"{[action for action, _ in outcomes]}, got {list(script[:1])}"
                )
            assert self.scripts is not None
            self.scripts[b] = script[1:]
            return script[0]
        for action, chance in outcomes:
            u -= chance
            if u < 0:
                return action
        return outcomes[-1][0]


def ours(worlds: Worlds) -> OpenSpielWorlds:
    if not isinstance(worlds, OpenSpielWorlds):
        raise UnsupportedError(f"expected OpenSpielWorlds, got {type(worlds).__name__}")
    return worlds


def _rows(index: IntArray | BoolArray) -> IntArray:
    return np.flatnonzero(index) if index.dtype == np.bool_ else index.astype(np.int64)
