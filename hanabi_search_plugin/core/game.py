"""The game contract: what algorithms may know of a game.

Letters in shapes: B worlds in a batch, A actions, P players, N any number of entries.

A ``Game`` holds immutable rules. ``Worlds`` is a batch of complete world states, hidden parts and
all; a ``View`` is what one seat sees of them, and policies get views only. ``Event`` says who moved
and how. What a game can do beyond that it declares by inheriting from ``core.capabilities``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ContractError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.require import class_given

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Rewards = Literal["identical", "zero_sum", "general_sum"]

UNSEEN = -1  # an action that the observer does not see
NOBODY = -1  # the player to move where the game is over
PAD = -1  # fills what is shorter than the array: tokens of a factor, moves of a game
SKIP = -1  # an action that is not to be tried


@dataclass(frozen=True)
class Event:
    """One move in each world of a batch, as one observer sees it."""

    player: IntArray  # [B] who moved
    action: IntArray  # [B] the action's id, UNSEEN where the observer does not see it

    def __len__(self) -> int:
        return len(self.player)

    def select(self, index: IntArray) -> Event:
        return Event(self.player[index], self.action[index])

    def seen_by(self, player: int, game: Game) -> Event:
        """The event as ``player`` sees it: others' actions only where the game shows them."""
        if game.public_actions:
            return self
        return Event(self.player, np.where(self.player == player, self.action, UNSEEN))


class View(ABC):
    """What one seat sees of a batch of worlds, now. It shows nothing else.

    A view may share memory with its worlds; ``select`` gives one that outlives their next step.
    """

    game: Game
    player: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def select(self, index: IntArray) -> View: ...

    @property
    @abstractmethod
    def current_player(self) -> IntArray:
        """[B] whose turn it is, NOBODY where the game is over."""

    @property
    @abstractmethod
    def legal(self) -> BoolArray:
        """[B, A] True = allowed to this seat; all False where it is not to move."""

    @abstractmethod
    def observation(self, encoding: str) -> NDArray[Any]:
        """[B, ...] the seat's observation in a named encoding of ``game.encodings``.

        Raises UnsupportedError for a name the game does not list.
        """

    @abstractmethod
    def keys(self) -> Sequence[Hashable]:
        """[B] equal for two worlds exactly when the seat observes the same thing now."""


class Worlds(ABC):
    """A batch of B complete worlds at decision points or ends. Chance happens inside ``step``.

    Each world carries its own chance stream, copied by ``select``: copies that are stepped with
    different actions meet the same chance.
    """

    game: Game

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def current_player(self) -> IntArray:
        """[B] whose turn it is, NOBODY where the game is over."""

    @property
    def terminal(self) -> BoolArray:
        """[B]"""
        return np.asarray(self.current_player == NOBODY)

    @property
    @abstractmethod
    def returns(self) -> FloatArray:
        """[B, P] score points so far."""

    @property
    @abstractmethod
    def legal(self) -> BoolArray:
        """[B, A] for the player to move; all False where the game is over."""

    @abstractmethod
    def step(self, actions: IntArray) -> Event:
        """Play actions [B] in place, then the chance that follows. No world may be over.

        Raises IllegalActionError. Draws from the worlds' own chance streams alone.
        """

    @abstractmethod
    def select(self, index: IntArray) -> Worlds:
        """A copy of the worlds at ``index`` (int [N] or bool [B]), chance streams included."""

    @abstractmethod
    def view(self, player: int) -> View:
        """What ``player`` sees now."""


@dataclass(frozen=True)
class History:
    """One seat's action-observation history: T events and the T + 1 views around them."""

    seat: int
    views: tuple[View, ...]  # each a batch of one
    events: tuple[Event, ...] = field(default=())  # as this seat sees them

    def append(self, event: Event, view: View) -> History:
        return History(self.seat, (*self.views, view), (*self.events, event))


class Game(ABC):
    """Immutable rules of one configuration."""

    name: str
    num_players: int
    num_actions: int
    return_range: tuple[float, float]  # score points, both ends possible
    max_length: int  # player moves in the longest game
    rewards: Rewards
    public_actions: bool  # does every seat see the others' actions?
    encodings: tuple[str, ...]

    @abstractmethod
    def deal(self, rng: np.random.Generator, n: int) -> Worlds:
        """n worlds at their first decision, each with a chance stream of its own."""

    @abstractmethod
    def action_to_string(self, player: int, action: int) -> str:
        """The action in words, as ``player`` would say it."""

    def outcome(self, worlds: Worlds) -> Mapping[str, IntArray]:
        """What else to record of finished games beside their returns: a name to integers [B].

        Hanabi gives ``lives_left``. The default is nothing.
        """
        return {}


def as_actions(actions: object, worlds: int) -> IntArray:
    """A copy of ``actions``, [worlds] int64. Raises IllegalActionError for other things."""
    given = np.array(actions)
    if given.shape != (worlds,):
        raise IllegalActionError(f"expected {worlds} actions, got shape {given.shape}")
    if worlds and given.dtype.kind not in "iu":
        raise IllegalActionError(f"expected actions in integers, got {given.dtype}")
    return given.astype(np.int64)


SETTINGS = {
    "name": "what messages call it",
    "num_players": "how many play",
    "num_actions": "one more than the highest action",
    "return_range": "the lowest and the highest return",
    "max_length": "player moves in the longest game",
    "rewards": "identical, zero_sum or general_sum",
    "public_actions": "True where every player sees the others' actions, else False",
    "encodings": "names of what View.observation gives",
}
"""The attributes that every Game must set."""


def require_game(game: object) -> None:
    """Raises UnsupportedError for what is no Game, ContractError for one that lacks a setting."""
    if isinstance(game, type):
        raise UnsupportedError(f"expected a Game of this package, got {class_given(game)}")
    if not isinstance(game, Game):
        raise UnsupportedError(
            f"expected a Game of this package, got a {type(game).__name__}: "
            "wrappers.openspiel_hanabi.load_game makes one of OpenSpiel's"
        )
    missing = [f"{name} ({about})" for name, about in SETTINGS.items() if not hasattr(game, name)]
    if missing:
        raise ContractError(f"{type(game).__name__} must set {', '.join(missing)}")
