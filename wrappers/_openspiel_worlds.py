"""Batches of ``pyspiel.State`` as worlds and views.

A state is never changed once it is in a batch (a step makes children), so copies are free and views
stay as they were. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, BoolArray, IntArray, Worlds, require_seat
from hanabi_search_plugin.core.state_list import StateList, StateView, StateWorlds, rows_at
from hanabi_search_plugin.core.streams import Stream, Streams
from hanabi_search_plugin.core.walk import Walk, Walkable
from hanabi_search_plugin.wrappers._openspiel_rules import OpenSpielRules, State

Script = tuple[int, ...]  # chance actions still to come, in order

CHANCE_AHEAD = 16  # numbers of a walk's chance hashed with those of others, in a long game

_CHANCE = int(pyspiel.PlayerId.CHANCE)


class OpenSpielView(StateView):
    """What one player sees of a batch of states."""

    game: OpenSpielRules

    def states(self) -> list[State]:
        """The true states with all that is hidden, for adapters alone. Not to be changed.

        Hidden cards leak to whatever reads a whole one: give it ``OpenSpielGame.hypothetical`` of
        the state instead.
        """
        return list(self._states)

    def shown(self, encoding: str) -> NDArray[Any]:
        """[B, ...] float32 for "tensor", [B] str objects for "string".

        The information state, all that the player has seen, if the game has one; else what it
        observes now.
        """
        if encoding == "string":
            strings = np.empty(len(self), dtype=object)
            strings[:] = [self.game.string(s, self.player) for s in self._states]
            return strings
        return np.array(
            [self.game.tensor(s, self.player) for s in self._states], dtype=np.float32
        ).reshape(len(self), *self.game.tensor_shape)

    def keys(self) -> Sequence[Hashable]:
        """[B] the information state if the game has one, else all encodings of the observation."""
        return [self.game.key(state, self.player) for state in self._states]


class OpenSpielWorlds(StateWorlds, Walkable):
    """A batch of states at decisions or ends, each with a chance stream, and perhaps a script.

    A chance event takes the next number of the world's stream, and the outcome at that place of the
    cumulative probabilities. A world with a script takes the next action of the script instead.
    """

    game: OpenSpielRules

    def __init__(
        self,
        game: OpenSpielRules,
        states: Sequence[State],
        streams: Streams,
        scripts: Sequence[Script | None] | None = None,
    ) -> None:
        """The states are kept as they are; at chance nodes, copies of them are played on."""
        super().__init__(game, states)
        self.streams = streams.select(np.arange(len(self.states)))
        self.scripts = None if scripts is None else list(scripts)  # None: no world has one
        if (self.states.movers == _CHANCE).any():
            self._play_chance([state.clone() for state in self.states])

    def play(self, actions: IntArray) -> None:
        played = zip(self.states, actions.tolist(), strict=True)
        self._play_chance([state.child(action) for state, action in played])

    def select(self, index: IntArray | BoolArray) -> OpenSpielWorlds:
        rows = rows_at(index)
        return OpenSpielWorlds(
            self.game,
            self.states.take(rows),
            self.streams.select(rows),
            None if self.scripts is None else [self.scripts[i] for i in rows.tolist()],
        )

    def view(self, player: int) -> OpenSpielView:
        require_seat(player, self.game)
        return OpenSpielView(self.game, player, self.states)

    def walks(self) -> Iterator[OpenSpielWalk]:
        copies = (state.clone() for state in self.states)
        chance = self.streams.singles(min(CHANCE_AHEAD, self.game.max_length))
        scripts = repeat(None) if self.scripts is None else self.scripts
        return map(OpenSpielWalk, repeat(self.game), copies, chance, scripts)

    def _play_chance(self, states: list[State]) -> None:
        """Play the chance in ``states``, which nobody else holds, and keep them."""
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
        self.states = StateList(self.game, states, players)

    def _outcome(self, outcomes: list[tuple[int, float]], b: int, u: float) -> int:
        script = None if self.scripts is None else self.scripts[b]
        if script is None:
            return outcome_at(outcomes, u)
        assert self.scripts is not None
        self.scripts[b] = script[1:]
        return scripted(outcomes, script, b)


class OpenSpielWalk(Walk):
    """One world, a state that is played on in place."""

    __slots__ = ("_chance", "_game", "_script", "_state", "player")

    def __init__(
        self, game: OpenSpielRules, state: State, chance: Stream, script: Script | None
    ) -> None:
        """``state`` and ``chance`` are the walk's own."""
        self._game, self._state, self._chance, self._script = game, state, chance, script
        player = state.current_player()
        self.player = player if player >= 0 else NOBODY

    def legal(self) -> Sequence[int]:
        legal: list[int] = self._state.legal_actions()
        return legal

    def key(self, observer: int) -> Hashable:
        if self._game.remembers:
            key: str = self._state.information_state_string(observer)
            return key
        return self._game.key(self._state, observer)

    def returns(self) -> Sequence[float]:
        return self._game.returns(self._state)

    def step(self, action: int) -> None:
        state = self._state
        state.apply_action(action)
        while (player := state.current_player()) == _CHANCE:
            state.apply_action(self._outcome(state.chance_outcomes()))
        self.player = player if player >= 0 else NOBODY

    def worlds(self) -> OpenSpielWorlds:
        scripts = None if self._script is None else [self._script]
        with self._chance.batch() as streams:
            return OpenSpielWorlds(self._game, [self._state.clone()], streams, scripts)

    def play_uniformly(self, rng: Stream) -> Sequence[float]:
        if self._script is not None:
            return super().play_uniformly(rng)
        state, draw, ahead = self._state, rng.draw, rng.ahead
        draw_chance, chance_ahead = self._chance.draw, self._chance.ahead
        mover, play = state.current_player, state.apply_action
        legal_actions, chance_outcomes = state.legal_actions, state.chance_outcomes
        while True:
            player = mover()
            if player >= 0:
                legal = legal_actions()
                u = ahead.pop() if ahead else draw()
                play(legal[int(u * len(legal))])
            elif player == _CHANCE:
                u = chance_ahead.pop() if chance_ahead else draw_chance()
                for outcome, probability in chance_outcomes():  # noqa: B007  # as ``outcome_at``
                    if u < probability:
                        break
                    u -= probability
                play(outcome)
            else:
                returns: list[float] = state.returns()
                return returns

    def _outcome(self, outcomes: list[tuple[int, float]]) -> int:
        u = self._chance.draw()
        if self._script is None:
            return outcome_at(outcomes, u)
        script, self._script = self._script, self._script[1:]
        return scripted(outcomes, script, 0)


def outcome_at(outcomes: list[tuple[int, float]], u: float) -> int:
    """The outcome of chance at ``u`` of the cumulative probabilities."""
    for action, probability in outcomes:
        if u < probability:
            return action
        u -= probability
    return outcomes[-1][0]


def scripted(outcomes: list[tuple[int, float]], script: Script, b: int) -> int:
    """The next action of the script of world ``b``. Raises IllegalActionError."""
    possible = [action for action, _ in outcomes]
    if not script or script[0] not in possible:
        raise IllegalActionError(
            f"world {b}'s script must go on with one of the chance actions {possible}, got "
            f"{list(script[:1])}"
        )
    return script[0]


def ours(worlds: Worlds) -> OpenSpielWorlds:
    if not isinstance(worlds, OpenSpielWorlds):
        raise UnsupportedError(f"expected OpenSpielWorlds, got {type(worlds).__name__}")
    return worlds
