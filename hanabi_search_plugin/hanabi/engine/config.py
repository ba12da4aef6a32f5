"""The parameters of a game of Hanabi, checked once, when they are made."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, TypedDict, get_args

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.core.settings import NamedOptions, described, setting

Bomb = Literal["zero", "keep", "minus_one"]
ObservationType = Literal["minimal", "card_knowledge", "seer"]

_RANGES = {
    "players": (2, 5),
    "colors": (1, 5),
    "ranks": (1, 5),
    "hand_size": (1, 8),  # OpenSpiel keeps the cards that a hint touched in eight bits
    "information_tokens": (0, 50),
    "life_tokens": (1, 50),
}


class HanabiParameters(TypedDict, total=False):
    """The fields of ``HanabiConfig``, for type checkers of ``HanabiGame(players=2)``."""

    players: int
    colors: int
    ranks: int
    hand_size: int
    information_tokens: int
    life_tokens: int
    random_start_player: bool
    observation_type: ObservationType
    bomb: Bomb


@described
@dataclass(frozen=True, kw_only=True)
class HanabiConfig(NamedOptions):
    """Parameters of the game, named as OpenSpiel's, and how losing the last life counts.

    ``bomb``: the return of a game that lost its last life: ``"zero"`` (OpenSpiel), ``"keep"`` the
    points on the table, or ``"minus_one"``: those points less one (the public SPARTA program).
    ``hand_size`` 0 takes the rule book's: 5 cards for 2 and 3 players, 4 for 4 and 5.
    Ranges: 2 to 5 players, 1 to 5 colors and ranks, 1 to 8 cards in a hand (as many as the deck
    has for all), 0 to 50 information tokens (OpenSpiel's ``max_information_tokens``), 1 to 50 life
    tokens (its ``max_life_tokens``). Inside them OpenSpiel plays the same game; it takes larger
    hands and more tokens, too, and aborts the process where a range of its own is broken.
    Raises ConfigError naming the parameter and its range.
    """

    players: int = setting(2, "Seats.")
    colors: int = setting(5, "Colours.")
    ranks: int = setting(5, "Ranks of a colour.")
    hand_size: int = setting(0, "Cards a hand; 0: the rule book's, 5 for 2 and 3 players, else 4.")
    information_tokens: int = setting(8, "Hints, at the start and at most.")
    life_tokens: int = setting(3, "Lives.")
    random_start_player: bool = setting(False, "Draw who starts.")
    observation_type: ObservationType = setting(
        "card_knowledge", "What an observation vector says, as OpenSpiel's."
    )
    bomb: Bomb = setting(
        "zero", "The score when the last life is lost: zero, keep the points, or minus_one of them."
    )

    def __post_init__(self) -> None:
        for name in _RANGES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise ConfigError(f"{name} must be an integer, got {value!r}")
            object.__setattr__(self, name, int(value))
        if self.hand_size == 0 and 2 <= self.players <= 5:
            object.__setattr__(self, "hand_size", 5 if self.players <= 3 else 4)
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(f"{name} must be from {low} to {high}, got {value}")
        if not isinstance(self.random_start_player, bool):
            raise ConfigError(
                f"random_start_player must be true or false, got {self.random_start_player!r}"
            )
        for name, kind in (("observation_type", ObservationType), ("bomb", Bomb)):
            require_choice(name, getattr(self, name), get_args(kind))
        if self.players * self.hand_size > self.deck_size:
            raise ConfigError(
                f"hand_size must let {self.players} hands fit into the deck of {self.deck_size} "
                f"cards, got {self.hand_size}"
            )

    @cached_property
    def copies(self) -> tuple[int, ...]:
        """How many of each rank a colour has: three of the first, one of the last, else two."""
        return tuple(
            1 if rank == self.ranks - 1 and rank > 0 else 3 if rank == 0 else 2
            for rank in range(self.ranks)
        )

    @cached_property
    def deck_size(self) -> int:
        """Cards in the full deck."""
        return self.colors * sum(self.copies)

    @property
    def max_score(self) -> int:
        """Points of a perfect game."""
        return self.colors * self.ranks

    @property
    def num_actions(self) -> int:
        """OpenSpiel's action ids: discards, plays, colour hints, rank hints."""
        return 2 * self.hand_size + (self.players - 1) * (self.colors + self.ranks)

    def to_dict(self) -> dict[str, Any]:
        """The settings by name, as JSON has them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
