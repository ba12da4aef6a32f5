"""Batches of ``pyspiel.State`` as worlds, views and walks.

A state is never changed once it is in a batch (a step makes children), so copies are free and views
stay as they were. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, BoolArray, IntArray, Worlds
from hanabi_search_plugin.core.state_list import StateList, StateView, StateWorlds, rows_at
from hanabi_search_plugin.core.streams import Stream, Streams
from hanabi_search_plugin.core.walk import Walk, Walkable
from hanabi_search_plugin.wrappers._openspiel_known import (
    CHANCE,
    KnownState,
    Room,
    State,
    outcome_at,
)
from hanabi_search_plugin.wrappers._openspiel_rules import OpenSpielRules

Script = tuple[int, ...]  # chance actions still to come, in order


class OpenSpielView(StateView):
    """What one player sees of a batch of states."""

    game: OpenSpielRules

    def __init__(
        self, game: OpenSpielRules, player: int, states: Iterable[State | KnownState]
    ) -> None:
        super().__init__(game, player, known_states(game, states))

    def states(self) -> list[State]:
        """The true states with all that is hidden, for adapters alone. Not to be changed.

        Hidden cards leak to whatever reads a whole one: give it ``OpenSpielGame.hypothetical`` of
        the state instead.
        """
        return [known.state for known in self._states]

    def shown(self, encoding: str) -> NDArray[Any]:
        """[B, ...] float32 for "tensor", [B] str objects for "string".

        The information state, all that the player has seen, if the game has one; else what it
        observes now.
        """
        if encoding == "string":
            strings = np.empty(len(self), dtype=object)
            strings[:] = [self.game.string(s, self.player) for s in self.states()]
            return strings
        return np.array(
            [self.game.tensor(s, self.player) for s in self.states()], dtype=np.float32
        ).reshape(len(self), *self.game.tensor_shape)

    def keys(self) -> Sequence[Hashable]:
        """[B] the information state if the game has one, else all encodings of the observation."""
        return [self.game.key(state, self.player) for state in self.states()]


class OpenSpielWorlds(StateWorlds, Walkable):
    """A batch of states at decisions or ends, each with a chance stream, and perhaps a script.

    A chance event takes the next number of the world's stream, and the outcome at that place of the
    cumulative probabilities. A world with a script takes the next action of the script instead.
    """

    game: OpenSpielRules

    def __init__(
        self,
        game: OpenSpielRules,
        states: Iterable[State | KnownState],
        streams: Streams,
        scripts: Sequence[Script | None] | None = None,
    ) -> None:
        """The states are kept as they are; at chance nodes, copies of them are played on."""
        super().__init__(game, known_states(game, states))
        self.streams = streams.select(np.arange(len(self)))
        self.scripts = None if scripts is None else list(scripts)  # None: no world has one
        if (self.known.movers == CHANCE).any():
            self._play_chance(self.known)

    @property
    def known(self) -> StateList:
        """[B] the ``KnownState`` of each world."""
        return self._states

    @property
    def states(self) -> list[State]:  # type: ignore[override]
        """[B] as now. Not to be changed."""
        return [known.state for known in self._states]

    def play(self, actions: IntArray) -> None:
        played = zip(self.known, actions.tolist(), strict=True)
        self._play_chance([known.after(action) for known, action in played])

    def select(self, index: IntArray | BoolArray) -> OpenSpielWorlds:
        rows = rows_at(index)
        return OpenSpielWorlds(
            self.game,
            self.known.take(rows),
            self.streams.select(rows),
            None if self.scripts is None else [self.scripts[i] for i in rows.tolist()],
        )

    def view(self, player: int) -> OpenSpielView:
        return OpenSpielView(self.game, player, self.known)

    def walks(self) -> Iterator[OpenSpielWalk]:
        scripts = repeat(None) if self.scripts is None else self.scripts
        return map(OpenSpielWalk, repeat(self.game), self.known, self.streams.singles(8), scripts)

    def _play_chance(self, states: Sequence[KnownState]) -> None:
        """Play the chance in ``states``, and keep them."""
        found = list(states)
        movers = np.array([known.mover for known in found], dtype=np.int64)
        index = np.flatnonzero(movers == CHANCE)
        while len(index):
            streams = self.streams.select(index)
            for b, u in zip(index.tolist(), streams.uniform().tolist(), strict=True):
                outcomes, script = found[b].outcomes(), self.scripts and self.scripts[b]
                if script is None:
                    found[b] = found[b].after(outcome_at(outcomes, u))
                else:
                    assert self.scripts is not None
                    found[b] = found[b].after(_scripted(outcomes, script, b))
                    self.scripts[b] = script[1:]
                movers[b] = found[b].mover
            self.streams.state[index] = streams.state
            index = index[movers[index] == CHANCE]
        self._states = StateList(self.game, found, movers)


class OpenSpielWalk(Walk):
    """One world, from ``KnownState`` to ``KnownState``."""

    __slots__ = ("_chance", "_game", "_known", "_script", "player")

    def __init__(
        self, game: OpenSpielRules, known: KnownState, chance: Stream, script: Script | None
    ) -> None:
        self._game, self._known, self._chance, self._script = game, known, chance, script
        self.player = known.mover if known.mover >= 0 else NOBODY

    def legal(self) -> Sequence[int]:
        return self._known.legal or self._known.ask_legal()

    def key(self, observer: int) -> Hashable:
        known = self._known
        key = known.keys.get(observer)
        if key is None:
            key = known.keys[observer] = self._game.key(known.state, observer)
        return key

    def returns(self) -> Sequence[float]:
        known = self._known
        if known.returns is None:
            known.returns = self._game.returns(known)
        return known.returns

    def step(self, action: int) -> None:
        known = self._known.after(action)
        while known.mover == CHANCE:
            known = known.after(self._outcome(known.outcomes()))
        self._known = known
        self.player = known.mover if known.mover >= 0 else NOBODY

    def worlds(self) -> OpenSpielWorlds:
        scripts = None if self._script is None else [self._script]
        with self._chance.batch() as streams:
            return OpenSpielWorlds(self._game, [self._known], streams, scripts)

    def play_uniformly(self, rng: Stream, action: int | None = None) -> Sequence[float]:
        """See ``Walk``. Beyond the states that are known, one is played to the end in place."""
        if self._script is not None:
            return super().play_uniformly(rng, action)
        known = self._known
        draw, chance = rng.numbers().__next__, self._chance.numbers().__next__
        while True:
            if action is None:
                if known.mover >= 0:
                    legal = known.legal or known.ask_legal()
                    action = legal[int(draw() * len(legal))]
                elif known.mover == CHANCE:
                    action = outcome_at(known.outcomes(), chance())
                else:
                    self._known = known
                    return self.returns()
            after = known.after_again(action)
            if after is None:
                return _played(known.state.child(action), draw, chance)
            known, action = after, None

    def _outcome(self, outcomes: list[tuple[int, float]]) -> int:
        if self._script is None:
            return outcome_at(outcomes, self._chance.draw())
        action = _scripted(outcomes, self._script, 0)
        self._chance.draw()
        self._script = self._script[1:]
        return action


def known_states(game: OpenSpielRules, states: Iterable[State | KnownState]) -> StateList:
    """``states`` with what is known of them; those of one call share the room for more."""
    if isinstance(states, StateList):
        return states
    room = Room()
    return StateList(
        game,
        [known if isinstance(known, KnownState) else KnownState(known, room) for known in states],
    )


def ours(worlds: Worlds) -> OpenSpielWorlds:
    if not isinstance(worlds, OpenSpielWorlds):
        raise UnsupportedError(f"expected OpenSpielWorlds, got {type(worlds).__name__}")
    return worlds


def _scripted(outcomes: list[tuple[int, float]], script: Script, b: int) -> int:
    """The next action of the script of world ``b``. Raises IllegalActionError."""
    possible = [action for action, _ in outcomes]
    if not script or script[0] not in possible:
        raise IllegalActionError(
            f"world {b}'s script must go on with one of the chance actions {possible}, got "
            f"{list(script[:1])}"
        )
    return script[0]


def _played(state: State, draw: Callable[[], float], chance: Callable[[], float]) -> list[float]:
    """[P] the returns after random moves have played ``state``, which nobody else holds."""
    mover, legal_actions, outcomes = state.current_player, state.legal_actions, state.chance_outcomes
    play = state.apply_action
    while True:
        player = mover()
        if player >= 0:
            legal = legal_actions()
            play(legal[int(draw() * len(legal))])
        elif player == CHANCE:
            u = chance()
            for action, share in outcomes():  # as ``outcome_at``
                u -= share
                if u < 0:
                    break
            play(action)
        else:
            returns: list[float] = state.returns()
            return returns
