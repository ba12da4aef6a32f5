"""A game of one's own, written for one state at a time.

``PlainGame`` makes batches, views, chance streams and the lists of worlds of exact beliefs out of
six plain methods. For small games: every state is a Python object. Letters: B worlds, P players,
A actions, K numbers that a player sees.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.error_places import ask_each, short_repr
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import (
    BoolArray,
    FloatArray,
    IntArray,
    Worlds,
    require_game,
    require_said,
    require_seat,
)
from hanabi_search_plugin.core.state_list import (
    StateGame,
    StateList,
    StateView,
    StateWorlds,
    rows_at,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted

TOLERANCE = 1e-6  # that a sum of probabilities may miss 1 by

State = Any  # a value that is never changed: a tuple, say, or a frozen dataclass
Outcomes = Sequence[tuple[State, float]]  # states and their probabilities, whose sum is 1


class PlainGame(StateGame, Enumerable):
    """Set six attributes, write the six methods, and see that ``testing.check_game`` passes.

    * ``name``: a short name, for tables and errors
    * ``num_players``: P; players are 0 .. P - 1
    * ``num_actions``: A; actions are 0 .. A - 1
    * ``return_range``: the lowest and the highest return
    * ``max_length``: moves in the longest game
    * ``public_actions``: True where every player sees the others' actions. Then ``observation``
      must show each right after it is played. False is right wherever somebody does not, or hears
      of it through noise.

    Where the players are not paid the same, set ``rewards``, too: "zero_sum" or "general_sum". The
    one encoding, "observation", is what ``observation`` gives.
    """

    name: str
    num_players: int
    num_actions: int
    return_range: tuple[float, float]
    max_length: int
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
        """The legal actions of a state that is not over, each once, or bools [A], True where legal.

        Numbers are never read as a mask: for ``mask`` of 0 and 1 give ``np.flatnonzero(mask)``.
        ``check_game`` and all play refuse such a mask by its double entries. With two actions
        alone it may have none: [0, 1] stands for both actions, and nothing can tell that a mask
        was meant.
        """

    @abstractmethod
    def next_states(self, state: State, action: int) -> Outcomes:
        """Every state that a legal action can lead to, at its next decision or end, and its
        probability."""

    @abstractmethod
    def returns(self, state: State) -> Sequence[float]:
        """[P] score points so far, at the end and before it."""

    @abstractmethod
    def observation(self, state: State, player: int) -> Sequence[float]:
        """[K] all that a player sees now, but for whose turn it is and its own legal moves."""

    # ------------------------------------------------------------------------------ the contract

    def legal_mask(self, state: State) -> BoolArray:
        given = self.legal_actions(state)
        moves = list(given) if isinstance(given, Iterable) else []
        kinds = set(map(type, moves))
        if kinds and kinds <= {bool, np.bool_} and len(moves) == self.num_actions:
            return np.array(moves, dtype=np.bool_)
        try:
            numbers = sorted(map(operator.index, moves))
        except TypeError:
            numbers = [-1]  # no moves
        known = not numbers or 0 <= numbers[0] <= numbers[-1] < self.num_actions
        once = len(set(numbers)) == len(numbers)
        if not (isinstance(given, Iterable) and known and once) or bool in kinds:
            like_a_mask = len(moves) == self.num_actions and all(
                isinstance(move, Real) and move in (0, 1) for move in moves
            )
            advice = ": it looks like a mask: give np.flatnonzero(mask)" if like_a_mask else ""
            raise ContractError(
                f"{self.name}: legal_actions must list moves from 0 to {self.num_actions - 1}, "
                f"each once, or give {counted(self.num_actions, 'bool')}, got "
                f"{short_repr(moves if isinstance(given, Iterator) else given)} in the state "
                f"{short_repr(state)}{advice}"
            )
        mask = np.zeros(self.num_actions, dtype=np.bool_)
        mask[numbers] = True
        return mask

    def deal(self, rng: np.random.Generator, n: int) -> PlainWorlds:
        """Takes one 64-bit draw a world from ``rng``, and one of the world's own stream."""
        streams, starts = Streams.spawn(rng, n), _initial_states(self)
        return PlainWorlds(self, [_drawn(starts, u) for u in streams.uniform().tolist()], streams)

    def action_to_string(self, player: int, action: int) -> str:
        require_said(player, action, self)
        return f"player {player} plays {action}"

    def deals(self) -> tuple[PlainWorlds, FloatArray]:
        states, chance = zip(*_initial_states(self), strict=True)
        return PlainWorlds(self, states, Streams.still(len(states))), np.array(chance, dtype=float)

    def branch(self, worlds: Worlds, actions: IntArray) -> tuple[PlainWorlds, IntArray, FloatArray]:
        parents, states, chances = [], [], []
        for b, (state, action) in enumerate(
            zip(_ours(worlds).states, actions.tolist(), strict=True)
        ):
            for following, chance in _next_states(self, state, action):
                parents.append(b)
                states.append(following)
                chances.append(chance)
        after = PlainWorlds(self, states, Streams.still(len(states)))
        return after, np.array(parents, dtype=np.int64), np.array(chances, dtype=np.float64)

    def concat(self, parts: Sequence[Worlds]) -> PlainWorlds:
        states = [state for part in parts for state in _ours(part).states]
        streams = np.concatenate([_ours(part).streams.state for part in parts])
        return PlainWorlds(self, states, Streams(streams))

    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> PlainWorlds:
        return PlainWorlds(self, _ours(worlds).states, Streams.spawn(rng, len(worlds)))


class PlainView(StateView):
    """What one player sees of a batch of states."""

    game: PlainGame

    def shown(self, encoding: str) -> NDArray[Any]:
        """[B, K]"""
        seen = self._all_seen()
        lengths = {len(each) for each in seen}
        if len(lengths) > 1:
            raise ContractError(
                f"{self.game.name} must show a player as many numbers in every state, got "
                f"{sorted(lengths)}"
            )
        try:
            rows = np.array(seen)
        except ValueError:  # lists within lists, of several lengths
            rows = np.array([], dtype=object)
        if rows.dtype.kind not in "fiub":
            raise ContractError(
                f"{self.game.name}: observation must list numbers, got {list(seen[0])!r} for "
                f"player {self.player}"
            )
        return rows

    def keys(self) -> Sequence[Hashable]:
        return [
            (mover, legal.tobytes(), seen)
            for mover, legal, seen in zip(
                self.current_player.tolist(), self.legal, self._all_seen(), strict=True
            )
        ]

    def _all_seen(self) -> list[tuple[float, ...]]:
        """[B, K]"""
        return ask_each(self.game, "observation", self._seen, self._states)

    def _seen(self, state: State) -> tuple[float, ...]:
        """[K]"""
        seen = self.game.observation(state, self.player)
        if isinstance(seen, str) or not isinstance(seen, Iterable):
            raise ContractError(
                f"{self.game.name}: observation must list numbers, got {seen!r} for player "
                f"{self.player}"
            )
        return tuple(seen)


class PlainWorlds(StateWorlds):
    """A batch of states, each with a chance stream, of which every step takes one number."""

    game: PlainGame

    def __init__(self, game: PlainGame, states: Sequence[State], streams: Streams) -> None:
        super().__init__(game, states)
        self.streams = streams

    def play(self, actions: IntArray) -> None:
        streams = self.streams.select(np.arange(len(self)))
        draws = zip(self.states, actions.tolist(), streams.uniform().tolist(), strict=True)
        after = [_drawn(_next_states(self.game, state, action), u) for state, action, u in draws]
        self.states = StateList(self.game, after)
        self.streams = streams

    def select(self, index: IntArray | BoolArray) -> PlainWorlds:
        rows = rows_at(index)
        return PlainWorlds(self.game, self.states.take(rows), self.streams.select(rows))

    def view(self, player: int) -> PlainView:
        require_seat(player, self.game)
        return PlainView(self.game, player, self.states)


def _initial_states(game: PlainGame) -> Outcomes:
    """Checked, as the game is. Raises ContractError."""
    require_game(game)
    return _checked(game, "initial_states", game.initial_states())


def _next_states(game: PlainGame, state: State, action: int) -> Outcomes:
    """Checked. Raises ContractError."""
    (given,) = ask_each(game, "next_states", game.next_states, [state], [action])
    return _checked(game, "next_states", given)


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


def _ours(worlds: Worlds) -> PlainWorlds:
    if not isinstance(worlds, PlainWorlds):
        raise UnsupportedError(f"expected PlainWorlds, got {type(worlds).__name__}")
    return worlds
