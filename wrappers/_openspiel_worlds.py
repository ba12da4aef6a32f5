"""Batches of ``pyspiel.State`` as worlds and views.

A state is never changed once it is in a batch (a step makes children), so copies are free and views
stay as they were. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, IntArray, Worlds
from hanabi_search_plugin.core.state_list import StateList, StateView, StateWorlds, rows_at
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers._openspiel_rules import OpenSpielRules, State

Script = tuple[int, ...]  # chance actions still to come, in order

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
        strings = [self.game.string(s, self.player) for s in self._states]
        if self.game.remembers or "tensor" not in self.game.encodings:
            return strings
        tensors = [self.game.tensor(s, self.player).tobytes() for s in self._states]
        return list(zip(strings, tensors, strict=True))


class OpenSpielWorlds(StateWorlds):
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
        return OpenSpielView(self.game, player, self.states)

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
