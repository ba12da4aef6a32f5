"""What the adapters of OpenSpiel's policies, bots and learning agents share.

A policy or bot that reads a whole ``pyspiel.State`` is given a hypothetical one: a state drawn from
what its seat has seen, so that hidden cards cannot leak. All states that look the same to the seat
give the same one. On the native engine it is built from the seat's own history.
Letters: B worlds, A actions.
"""

from __future__ import annotations

import copy
import functools
import operator
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import pyspiel

from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy, sample_actions
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame, digest, same_spiel
from hanabi_search_plugin.wrappers._openspiel_hanabi import (
    HistoryRecord,
    history_of,
    hypothetical_state,
)
from hanabi_search_plugin.wrappers._openspiel_rules import State
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielView

Reads = Literal["state", "information_state"]

TOLERANCE = 1e-5  # that probabilities may miss a sum of 1 by: those of float32 networks do


class Adapted(Policy):
    """A policy that asks a thing of OpenSpiel's, and checks its answers."""

    deterministic = False

    def __init__(self, thing: Any, game: HanabiGame | OpenSpielGame) -> None:
        self.thing = thing
        self.game = game

    def __repr__(self) -> str:
        name = getattr(self.thing, "__name__", type(self.thing).__name__)
        return f"as_policy({name}, {self.game!r})"

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return sample_actions(self.probabilities(view, legal, memory), rng)

    @abstractmethod
    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray: ...

    def check_view(self, view: View) -> None:
        same = view.game == self.game
        if isinstance(self.game, OpenSpielGame) and isinstance(view.game, OpenSpielGame):
            same = view.game is self.game or same_spiel(view.game.spiel, self.game.spiel)
        if not same:
            raise UnsupportedError(f"{self!r} got a view of {view.game!r}")

    def no_chance(self, view: View, legal: BoolArray) -> FloatArray:
        """[B, A] zeros to fill in. Raises ContractError for legal moves of another shape."""
        expected = (len(view), self.game.num_actions)
        if legal.shape != expected:
            raise ContractError(f"legal moves must be of shape {expected}, got {legal.shape}")
        return np.zeros(expected)

    def certain(self, action: Any, legal: BoolArray) -> FloatArray:
        """[A] 1 for the one action that was given, checked as by ``row``."""
        return self.row([(action, 1.0)], legal)

    def row(self, chance: Any, legal: BoolArray) -> FloatArray:
        """[A] the probabilities in a mapping, a list of (action, probability) or a vector.

        Raises UnsupportedError unless they are of legal actions and sum to 1.
        """
        row, name = np.zeros(len(legal)), type(self.thing).__name__
        if isinstance(chance, Mapping):
            chance = list(chance.items())
        pairs = isinstance(chance, Sequence) and all(isinstance(x, tuple) for x in chance)
        if pairs:
            for action, probability in chance:
                row[_action(action, len(row), name)] = _numbers(probability, name)
        else:
            vector = _numbers(chance, name)
            if vector.shape != row.shape:
                raise UnsupportedError(
                    f"{name} must give {len(row)} probabilities, one an action of "
                    f"{self.game.name}, got an array of shape {vector.shape}"
                )
            row = vector
        wrong = np.flatnonzero((row > TOLERANCE) & ~legal)
        if len(wrong):
            raise UnsupportedError(
                f"{name} must move within {np.flatnonzero(legal).tolist()}, got probability "
                f"{row[wrong[0]]:.3g} of {wrong[0]}"
            )
        row[~legal] = 0.0
        total = row.sum()
        if total == 0 and isinstance(self.thing, pyspiel.Bot):
            raise UnsupportedError(
                f"{name} knows no move here, as a bot made for another seat: give a bot a seat, or "
                "a function (player, seed) that makes them"
            )
        if not (abs(total - 1) <= TOLERANCE and bool((row >= 0).all())):
            raise UnsupportedError(
                f"{name} must give probabilities that sum to 1, got a sum of {total}"
            )
        return np.asarray(row / total)


class ReadsStates(Adapted):
    """Asks about a ``pyspiel.State``. Memory: on the native engine a HistoryRecord a world."""

    def __init__(self, thing: Any, game: HanabiGame | OpenSpielGame, reads: Reads) -> None:
        super().__init__(thing, game)
        self.reads = reads

    def __getstate__(self) -> dict[str, Any]:
        compiled = isinstance(self.thing, pyspiel.Bot | pyspiel.Policy)
        kinds = type(self.thing).__mro__[:-1]
        if compiled and not any("__reduce__" in kind.__dict__ for kind in kinds):
            what = "a policy of open_spiel.python.policy"
            if isinstance(self.thing, pyspiel.Bot):
                what = "a function (player, seed) that makes the bot"
            raise UnsupportedError(
                f"a {type(self.thing).__name__} cannot be pickled; give as_policy {what}"
            )
        return self.__dict__

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Policy:
        """Share bots and compiled policies, which cannot be copied and are asked anew each time."""
        shared = isinstance(self.thing, pyspiel.Bot | pyspiel.Policy)
        twin = copy.copy(self)
        twin.thing = self.thing if shared else copy.deepcopy(self.thing, memo)
        return twin

    def start(self, view: View) -> Memory:
        self.check_view(view)
        if isinstance(self.game, OpenSpielGame):
            return None  # the views hold the history
        return [HistoryRecord.start(view.select(np.array([b]))) for b in range(len(view))]

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        if memory is None:
            return None
        moves = zip(event.player.tolist(), event.action.tolist(), strict=True)
        return [
            record.observe(view.select(np.array([b])), player, action)
            for b, (record, (player, action)) in enumerate(zip(memory, moves, strict=True))
        ]

    def states(
        self, view: View, memory: Memory
    ) -> Iterator[tuple[list[int], Callable[[], State], Callable[[], int]]]:
        """Groups of rows whose seat has seen the same, so that each is asked about once.

        With each group come a function that makes the state to ask about, and one that gives a
        digest of what the seat has seen.
        """
        seat = view.player
        if isinstance(view, OpenSpielView):
            assert isinstance(view.game, OpenSpielGame)
            states = view.states()
            for rows in equal([id(state) for state in states]):
                which = (view.game, states[rows[0]], seat)
                make = functools.partial(self._hypothetical, *which)
                yield rows, make, functools.partial(_digest_of, *which)
            return
        records = [record.showing(view.select(np.array([b]))) for b, record in enumerate(memory)]
        for rows in equal(records):
            record = records[rows[0]]
            make = functools.partial(record.state, view.select(np.array(rows[:1])))
            yield rows, make, functools.partial(record.digest, 0)

    def _hypothetical(self, game: OpenSpielGame, state: State, seat: int) -> State:
        if self.reads == "information_state":
            return state
        if game.spiel.get_type().short_name == "hanabi":
            return hypothetical_state(history_of(state, seat))
        return game.hypothetical(state, seat)


def _digest_of(game: OpenSpielGame, state: State, seat: int) -> int:
    hanabi = game.spiel.get_type().short_name == "hanabi"
    return digest(history_of(state, seat) if hanabi else game.history(state, seat), 0)


def _action(given: Any, count: int, name: str) -> int:
    try:
        action = operator.index(given)
    except TypeError:
        action = -1
    if not 0 <= action < count:
        raise UnsupportedError(f"{name} must give actions from 0 to {count - 1}, got {given!r}")
    return action


def _numbers(given: Any, name: str) -> FloatArray:
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise UnsupportedError(f"{name} must give probabilities, got {given!r}") from None


def equal(keys: Sequence[Hashable]) -> list[list[int]]:
    """The positions of each key, in groups of equal keys."""
    places: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    return list(places.values())
