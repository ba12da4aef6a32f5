"""The game contract: the only things that algorithms may know of a game.

``Game``     the immutable rules of one configuration.
``Worlds``   a batch of complete states, hidden parts included.
``View``     what one seat sees of a batch of worlds; policies get views only.
``Event``    one move in each world of a batch: who moved and how.
``History``  one seat's action-observation history.

A game declares what it can do beyond this contract by inheriting from ``core.capabilities``.

Letters in shapes: B worlds in a batch, A actions, P players, N rows of an index or a result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    IllegalActionError,
    UnsupportedError,
)
from hanabi_search_plugin.core.require import class_given
from hanabi_search_plugin.core.words import an, counted

IntArray = NDArray[np.int64]  #: Arrays of ids and counts.
FloatArray = NDArray[np.float64]  #: Arrays of scores and probabilities.
BoolArray = NDArray[np.bool_]  #: Masks.

Rewards = Literal["identical", "zero_sum", "general_sum"]
"""How the returns of the players go together."""

UNSEEN = -1  #: An action that the observer does not see.
NOBODY = -1  #: The player to move where the game is over.
PAD = -1  #: Fills arrays past the end of a shorter row: tokens of a factor, moves of a game.
SKIP = -1  #: An action that is not to be tried.


@dataclass(frozen=True)
class Event:
    """One move in each world of a batch, as one observer sees it."""

    player: IntArray  #: [B] who moved
    action: IntArray  #: [B] the action's id, UNSEEN where the observer does not see it

    def __len__(self) -> int:
        return len(self.player)

    def select(self, index: IntArray) -> Event:
        """The event in the worlds at ``index`` (int [N] or bool [B])."""
        return Event(self.player[index], self.action[index])

    def seen_by(self, player: int, game: Game) -> Event:
        """The event as ``player`` sees it: UNSEEN for others' actions that the game hides.

        Raises as ``require_game`` for what is no game.
        """
        try:
            public = game.public_actions
        except AttributeError:
            require_game(game, player, call="event.seen_by(player, game)")
            raise
        if public:
            return self
        return Event(self.player, np.where(self.player == player, self.action, UNSEEN))


class View(ABC):
    """The current observation of one seat in a batch of B worlds, and nothing else.

    A view may share memory with its worlds. Views made by ``select`` outlive their next step.

    * ``game``: the game that is played
    * ``player``: the seat whose view it is, 0 .. P - 1
    """

    game: Game
    player: int

    def __repr__(self) -> str:
        return f"<view of P{self.player} on {counted(len(self), 'world')} of {self.game!r}>"

    def require_player(self, seat: int) -> None:
        """Raise ContractError for the view of another seat."""
        if self.player != seat:
            raise ContractError(f"expected a view of seat {seat}, got one of {self.player}")

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def select(self, index: IntArray) -> View:
        """A copy of the view in the worlds at ``index`` (int [N] or bool [B])."""

    @property
    @abstractmethod
    def current_player(self) -> IntArray:
        """[B] whose turn it is, NOBODY where the game is over."""

    @property
    @abstractmethod
    def legal(self) -> BoolArray:
        """[B, A] True where this seat may play the action; all False where it is not to move."""

    @abstractmethod
    def observation(self, encoding: str) -> NDArray[Any]:
        """[B, ...] the seat's observation in the encoding of this name.

        Raises UnsupportedError for a name that ``game.encodings`` does not list.
        """

    @abstractmethod
    def keys(self) -> Sequence[Hashable]:
        """[B] a key of each observation: equal keys exactly where the seat observes the same."""

    def describe(self) -> str:
        """What the seat sees, as text to print; see ``Game.describe``.

        Raises ContractError unless the view is of one world.
        """
        if len(self) != 1:
            raise ContractError(
                f"describe shows one world, got {len(self)}: view.select(np.array([0])).describe()"
            )
        return self.game.describe(self)


class Worlds(ABC):
    """A batch of B complete states, each at a decision or at the end of a game.

    Chance happens inside ``step``. Each world carries its own chance stream, which ``select``
    copies: copies of a world meet the same chance whatever is played (common random numbers).
    ``game`` is the game that is played.
    """

    game: Game

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'world')} of {self.game!r}>"

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def current_player(self) -> IntArray:
        """[B] whose turn it is, NOBODY where the game is over."""

    @property
    def terminal(self) -> BoolArray:
        """[B] True where the game is over."""
        return np.asarray(self.current_player == NOBODY)

    @property
    @abstractmethod
    def returns(self) -> FloatArray:
        """[B, P] each player's return so far, in score points."""

    @property
    @abstractmethod
    def legal(self) -> BoolArray:
        """[B, A] True where the player to move may play the action; all False at the end."""

    @abstractmethod
    def step(self, actions: IntArray) -> Event:
        """Play actions [B] in place, then the chance that follows; return the moves made.

        No world may be over. Raises IllegalActionError. Takes all randomness from the worlds' own
        chance streams.
        """

    @abstractmethod
    def select(self, index: IntArray) -> Worlds:
        """A copy of the worlds at ``index`` (int [N] or bool [B]) and their chance streams."""

    @abstractmethod
    def view(self, player: int) -> View:
        """What ``player`` sees in these worlds now."""


@dataclass(frozen=True)
class History:
    """One seat's action-observation history in one game: T events between T + 1 views."""

    seat: int  #: whose history it is
    views: tuple[View, ...]  #: each a batch of one
    events: tuple[Event, ...] = field(default=())  #: as this seat sees them

    def append(self, event: Event, view: View) -> History:
        """The history after one more event and the view that followed it.

        Raises ContractError for the view of another seat.
        """
        view.require_player(self.seat)
        return History(self.seat, (*self.views, view), (*self.events, event))


class Game(ABC):
    """The immutable rules of one configuration.

    * ``name``: a short name, for tables and errors
    * ``num_players``: P
    * ``num_actions``: A; action ids are 0 .. A - 1
    * ``return_range``: lowest and highest return, in score points
    * ``max_length``: moves of all players in the longest game
    * ``rewards``: how the returns of the players go together: "identical", "zero_sum" or
      "general_sum"
    * ``public_actions``: True if every seat sees the actions of all others
    * ``encodings``: names that ``View.observation`` accepts
    * ``unit`` (""): what returns are counted in, in words ("IMPs"); "": points of no special kind
    * ``remembers`` (False): True if a view's key tells all that its seat has ever seen and done
    """

    name: str
    num_players: int
    num_actions: int
    return_range: tuple[float, float]
    max_length: int
    rewards: Rewards
    public_actions: bool
    encodings: tuple[str, ...]
    unit: str = ""
    remembers: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        """A class with a ``deal`` of its own deals some by it, whatever its base class does."""
        super().__init_subclass__(**options)
        if "deal" in vars(cls) and "deal_some" not in vars(cls):
            cls.deal_some = Game.deal_some  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({repr(self.name) if hasattr(self, 'name') else ''})"

    @abstractmethod
    def deal(self, rng: np.random.Generator, n: int) -> Worlds:
        """Deal n worlds: at their first decision, each with a chance stream of its own."""

    def deal_some(self, rng: np.random.Generator, n: int, rows: IntArray) -> Worlds:
        """The worlds at ``rows`` (int [N]) of those that ``deal(rng, n)`` gives.

        By default all n are dealt. A game in which a deal costs something deals these alone.
        """
        return self.deal(rng, n).select(rows)

    @abstractmethod
    def action_to_string(self, player: int, action: int) -> str:
        """The action in words, for a move of ``player``.

        The games of this package raise as ``require_said``.
        """

    def describe(self, view: View) -> str:
        """What ``view``, of one world, shows its seat, as text to print.

        By default the encoding "string" where there is one, as OpenSpiel's games have, else the
        numbers of the first. ``HanabiGame`` shows the table in lines.
        """
        encoding = "string" if "string" in self.encodings else self.encodings[0]
        seen = view.observation(encoding)[0]
        return seen if isinstance(seen, str) else repr(np.asarray(seen).tolist())

    @property
    def belief_to_use(self) -> str:
        """Words for refusals: what draws worlds where they are too many to list, or "".

        A game says it where ``Particles``, which deal whole worlds until some show what a seat
        sees, do not find any.
        """
        return ""

    def outcome(self, worlds: Worlds) -> Mapping[str, IntArray]:
        """Integers [B] by name, to be recorded of finished games beside their returns.

        By default there are none.
        """
        return {}


def returns_of(worlds: Worlds) -> FloatArray:
    """[B, P] the returns of ``worlds``. Raises ContractError unless they are finite."""
    returns = np.asarray(worlds.returns)
    shape = (len(worlds), worlds.game.num_players)
    if returns.shape != shape or returns.dtype.kind not in "fiub":
        raise ContractError(
            f"{worlds.game!r} must give returns as numbers of shape {shape}, got {returns.dtype} "
            f"of shape {returns.shape}"
        )
    right = np.isfinite(returns).all(axis=1)
    if not right.all():
        got = returns[int(right.argmin())].tolist()
        raise ContractError(f"{worlds.game!r} must give finite returns, one a seat, got {got}")
    return returns.astype(np.float64, copy=False)


def as_actions(actions: object, worlds: int) -> IntArray:
    """A copy of ``actions``, [worlds] int64. Raises IllegalActionError for other things."""
    given = np.array(actions)
    if given.shape != (worlds,):
        came = f"shape {given.shape}"
        if given.ndim == 0:
            came = repr(given.item())
        if given.ndim == 0 and given.dtype.kind in "iu":
            alike = f"[{came}]" if worlds == 1 else f"[{came}] * {worlds}"
            came += f": write np.array({alike})"
        raise IllegalActionError(f"expected {counted(worlds, 'action')}, got {came}")
    if worlds and given.dtype.kind not in "iu":
        raise IllegalActionError(f"expected actions in integers, got {given.dtype}")
    return given.astype(np.int64)


def require_legal(actions: IntArray, legal: BoolArray) -> None:
    """Raises IllegalActionError unless each of ``actions`` [B] is legal, by masks [B, A]."""
    known = (actions >= 0) & (actions < legal.shape[1])
    wrong = ~(known & legal[np.arange(len(legal)), np.where(known, actions, 0)])
    if wrong.any():
        b = int(wrong.argmax())
        if not legal[b].any():
            raise IllegalActionError(
                f"the game of world {b} is over, so no action is legal, got {actions[b]}: "
                "worlds.terminal tells where it is"
            )
        raise IllegalActionError(
            f"world {b} allows the actions {np.flatnonzero(legal[b]).tolist()}, got {actions[b]}"
        )


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


def same_game(a: Game, b: Game) -> bool:
    """False if two games surely differ: in class, in a setting, or by their own ``==``.

    A game that does not say what makes it equal counts as equal to another of its class with the
    same settings.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a).__eq__ is not object.__eq__:
        return bool(a == b)
    return all(getattr(a, name) == getattr(b, name) for name in SETTINGS)


def require_seat(player: object, game: Game) -> None:
    """Raises UnsupportedError for what is no integer, ConfigError for no player of the game."""
    last = game.num_players - 1
    if not isinstance(player, Integral) or isinstance(player, bool):
        raise UnsupportedError(
            f"player must be an integer from 0 to {last}, got {player!r}; current_player has one "
            "for each world"
        )
    if not 0 <= int(player) <= last:
        raise ConfigError(f"player must be from 0 to {last}, got {player}")


def require_said(player: object, action: object, game: Game) -> None:
    """Raises as ``require_seat``, and IllegalActionError for what is no action of the game: what
    ``Game.action_to_string`` cannot say."""
    require_seat(player, game)
    known = isinstance(action, Integral) and not isinstance(action, bool)
    if not (known and 0 <= int(action) < game.num_actions):  # type: ignore[call-overload]
        raise IllegalActionError(
            f"action must be an integer from 0 to {game.num_actions - 1}, got {action!r}"
        )


def require_game(game: object, *instead: object, call: str = "") -> None:
    """Raises UnsupportedError for what is no Game, ContractError for one that lacks a setting.

    Where one of ``instead``, other arguments, is a Game, the error says how the function is called.
    """
    if isinstance(game, type):
        raise UnsupportedError(f"expected a Game of this package, got {class_given(game)}")
    if not isinstance(game, Game):
        if any(isinstance(one, Game) for one in instead):
            raise UnsupportedError(
                f"arguments must come as in {call}, got {an(type(game).__name__)} in the place of "
                "the game"
            )
        kind = type(game)
        if kind.__module__.startswith("pyspiel"):
            raise UnsupportedError(
                f"expected a Game of this package, got a pyspiel.{kind.__name__}: load_game(game) "
                "or OpenSpielGame(game) of hanabi_search_plugin.wrappers.openspiel wraps it"
            )
        raise UnsupportedError(
            f"expected a Game of this package, got {an(kind.__name__)}: HanabiGame(players=2) "
            "is one, and wrappers.openspiel.load_game makes one of OpenSpiel's"
        )
    missing = [f"{name} ({about})" for name, about in SETTINGS.items() if not hasattr(game, name)]
    if missing:
        raise ContractError(f"{type(game).__name__} must set {', '.join(missing)}")
    if not isinstance(game.name, str):
        raise ContractError(f"{type(game).__name__} must set name to a text, got {game.name!r}")
    for name in ("num_players", "num_actions", "max_length"):
        value = getattr(game, name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ContractError(
                f"{type(game).__name__} must set {name} to an integer of at least 1, got {value!r}"
            )
    if not _is_range(game.return_range):
        raise ContractError(
            f"{type(game).__name__} must set return_range to the lowest return and the highest, "
            f"as (0.0, 25.0), got {game.return_range!r}"
        )
    if game.rewards not in get_args(Rewards):
        raise ContractError(
            f"{type(game).__name__} must set rewards to {SETTINGS['rewards']}, got {game.rewards!r}"
        )
    if not isinstance(game.public_actions, bool | np.bool_):
        raise ContractError(
            f"{type(game).__name__} must set public_actions to True or False, got "
            f"{game.public_actions!r}"
        )


def _is_range(given: object) -> bool:
    """Are these two numbers, the first not above the second?"""
    if not isinstance(given, Sequence | np.ndarray) or len(given) != 2:
        return False
    numbers = all(isinstance(one, Real) and not isinstance(one, bool) for one in given)
    return numbers and bool(given[0] <= given[1])
