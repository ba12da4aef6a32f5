"""A game of one's own, written for one state at a time.

``PlainGame`` makes batches, views, chance streams and the lists of worlds of exact beliefs out of
six plain methods. For small games: every state is a Python object. Letters: B worlds, P players,
A actions, K numbers that a player sees.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.errors import ContractError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import (
    NOBODY,
    BoolArray,
    Event,
    FloatArray,
    IntArray,
    View,
    Worlds,
    as_actions,
    require_game,
)
from hanabi_search_plugin.core.streams import Streams

TOLERANCE = 1e-6  # that a sum of probabilities may miss 1 by

State = Any  # a value that is never changed: a tuple, say, or a frozen dataclass
Outcomes = Sequence[tuple[State, float]]  # states and their probabilities, whose sum is 1


class PlainGame(Enumerable):
    """Set the six attributes below, write the six methods, and see that ``testing.check_game``
    passes.

    Where the players are not paid the same, set ``rewards``, too. The one encoding, "observation",
    is what ``observation`` gives.
    """

    name: str
    num_players: int
    num_actions: int
    return_range: tuple[float, float]  # the lowest and the highest return
    max_length: int  # moves in the longest game
    # True where every player sees the others' actions. Then ``observation`` must show each right
    # after it is played. False is right wherever somebody does not, or hears of it through noise.
    public_actions: bool

    rewards: Literal["identical", "zero_sum", "general_sum"] = "identical"
    encodings = ("observation",)

    @abstractmethod
    def initial_states(self) -> Outcomes:
        """Every state at the first decision, and its probability."""

    @abstractmethod
    def current_player(self, state: State) -> int:
        """Whose turn it is, NOBODY where the game is over."""

    @abstractmethod
    def legal_actions(self, state: State) -> Sequence[int]:
        """The legal actions of a state that is not over."""

    @abstractmethod
    def next_states(self, state: State, action: int) -> Outcomes:
        """Every state that a legal action can lead to, at its next decision or end, and its
        probability."""

    @abstractmethod
    def returns(self, state: State) -> Sequence[float]:
        """[P] score points so far."""

    @abstractmethod
    def observation(self, state: State, player: int) -> Sequence[float]:
        """[K] all that a player sees now, but for whose turn it is and its own legal moves."""

    # ------------------------------------------------------------------------------ the contract

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def deal(self, rng: np.random.Generator, n: int) -> PlainWorlds:
        """Takes one 64-bit draw a world from ``rng``, and one of the world's own stream."""
        streams, starts = Streams.spawn(rng, n), _initial_states(self)
        return PlainWorlds(self, [_drawn(starts, u) for u in streams.uniform().tolist()], streams)

    def action_to_string(self, player: int, action: int) -> str:
        return f"player {player} plays {action}"

    def deals(self) -> tuple[PlainWorlds, FloatArray]:
        states, chance = zip(*_initial_states(self), strict=True)
        return PlainWorlds(self, states, _streams(len(states))), np.array(chance, dtype=float)

    def branch(self, worlds: Worlds, actions: IntArray) -> tuple[PlainWorlds, IntArray, FloatArray]:
        parents, states, chances = [], [], []
        for b, (state, action) in enumerate(
            zip(_ours(worlds).states, actions.tolist(), strict=True)
        ):
            for following, chance in _next_states(self, state, action):
                parents.append(b)
                states.append(following)
                chances.append(chance)
        after = PlainWorlds(self, states, _streams(len(states)))
        return after, np.array(parents, dtype=np.int64), np.array(chances, dtype=np.float64)

    def concat(self, parts: Sequence[Worlds]) -> PlainWorlds:
        states = [state for part in parts for state in _ours(part).states]
        streams = np.concatenate([_ours(part).streams.state for part in parts])
        return PlainWorlds(self, states, Streams(streams))

    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> PlainWorlds:
        return PlainWorlds(self, _ours(worlds).states, Streams.spawn(rng, len(worlds)))


class PlainView(View):
    """What one player sees of a batch of states."""

    def __init__(self, game: PlainGame, player: int, states: Sequence[State]) -> None:
        self.game: PlainGame = game
        self.player = player
        self._states = tuple(states)

    def __len__(self) -> int:
        return len(self._states)

    def select(self, index: IntArray | BoolArray) -> PlainView:
        return PlainView(self.game, self.player, _at(self._states, index))

    @property
    def current_player(self) -> IntArray:
        return _movers(self.game, self._states)

    @property
    def legal(self) -> BoolArray:
        return _legal(self.game, self._states, self.current_player == self.player)

    def observation(self, encoding: str) -> NDArray[Any]:
        """[B, K]"""
        if encoding not in self.game.encodings:
            raise UnsupportedError(
                f"{self.game.name} has the encodings {self.game.encodings}, got {encoding!r}"
            )
        seen = [tuple(self.game.observation(state, self.player)) for state in self._states]
        lengths = {len(each) for each in seen}
        if len(lengths) > 1:
            raise ContractError(
                f"{self.game.name} must show a player as many numbers in every state, got "
                f"{sorted(lengths)}"
            )
        return np.array(seen)

    def keys(self) -> Sequence[Hashable]:
        return [
            (mover, legal.tobytes(), tuple(self.game.observation(state, self.player)))
            for mover, legal, state in zip(
                self.current_player.tolist(), self.legal, self._states, strict=True
            )
        ]


class PlainWorlds(Worlds):
    """A batch of states, each with a chance stream, of which every step takes one number."""

    def __init__(self, game: PlainGame, states: Sequence[State], streams: Streams) -> None:
        self.game: PlainGame = game
        self.states = tuple(states)
        self.streams = streams

    def __len__(self) -> int:
        return len(self.states)

    @property
    def current_player(self) -> IntArray:
        return _movers(self.game, self.states)

    @property
    def returns(self) -> FloatArray:
        paid = np.array([self.game.returns(state) for state in self.states], dtype=np.float64)
        return paid.reshape(len(self), self.game.num_players)

    @property
    def legal(self) -> BoolArray:
        return _legal(self.game, self.states, ~self.terminal)

    def step(self, actions: IntArray) -> Event:
        actions = as_actions(actions, len(self))
        movers, legal = self.current_player, self.legal
        for b, action in enumerate(actions.tolist()):
            if not (0 <= action < self.game.num_actions and legal[b, action]):
                raise IllegalActionError(
                    f"world {b} allows the actions {np.flatnonzero(legal[b]).tolist()}, "
                    f"got {action}"
                )
        streams = self.streams.select(np.arange(len(self)))
        self.states = tuple(
            _drawn(_next_states(self.game, state, action), u)
            for state, action, u in zip(
                self.states, actions.tolist(), streams.uniform().tolist(), strict=True
            )
        )
        self.streams = streams
        return Event(movers, actions)

    def select(self, index: IntArray | BoolArray) -> PlainWorlds:
        return PlainWorlds(self.game, _at(self.states, index), Streams(self.streams.state[index]))

    def view(self, player: int) -> PlainView:
        return PlainView(self.game, player, self.states)


def _initial_states(game: PlainGame) -> Outcomes:
    """Checked, as the game is. Raises ContractError."""
    require_game(game)
    return _checked(game, "initial_states", game.initial_states())


def _next_states(game: PlainGame, state: State, action: int) -> Outcomes:
    """Checked. Raises ContractError."""
    return _checked(game, "next_states", game.next_states(state, action))


def _checked(game: PlainGame, method: str, outcomes: object) -> Outcomes:
    """What ``method`` gave, if it is pairs of a state and its probability, whose sum is 1."""
    pairs = outcomes if isinstance(outcomes, Sequence) else ()
    right = all(
        isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[1], Real)
        for pair in pairs
    )
    if not (pairs and right):
        raise ContractError(
            f"{game.name}: {method} must list pairs of a state and its probability, got "
            f"{outcomes!r}"
        )
    total = sum(chance for _, chance in pairs)
    if abs(total - 1) > TOLERANCE:
        raise ContractError(
            f"{game.name}: the probabilities of {method} must sum to 1, got {total} of {outcomes!r}"
        )
    return pairs


def _drawn(outcomes: Outcomes, u: float) -> State:
    """The outcome at ``u`` of the cumulative probabilities."""
    for state, chance in outcomes:
        u -= chance
        if u < 0:
            return state
    return outcomes[-1][0]


def _streams(n: int) -> Streams:
    return Streams(np.zeros(n, dtype=np.uint64))


def _ours(worlds: Worlds) -> PlainWorlds:
    if not isinstance(worlds, PlainWorlds):
        raise UnsupportedError(f"expected PlainWorlds, got {type(worlds).__name__}")
    return worlds


def _at(states: tuple[State, ...], index: IntArray | BoolArray) -> list[State]:
    rows = np.flatnonzero(index) if index.dtype == np.bool_ else index
    return [states[row] for row in rows]


def _movers(game: PlainGame, states: Sequence[State]) -> IntArray:
    return np.fromiter((game.current_player(s) for s in states), dtype=np.int64, count=len(states))


def _legal(game: PlainGame, states: Sequence[State], shown: BoolArray) -> BoolArray:
    legal = np.zeros((len(states), game.num_actions), dtype=np.bool_)
    for b, state in enumerate(states):
        if shown[b] and game.current_player(state) != NOBODY:
            moves = list(game.legal_actions(state))
            if not all(move in range(game.num_actions) for move in moves):
                raise ContractError(
                    f"{game.name} must have moves from 0 to {game.num_actions - 1}, got {moves}"
                )
            legal[b, moves] = True
    return legal
