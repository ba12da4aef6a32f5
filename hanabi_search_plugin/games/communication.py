"""Comm(L): one player says a number in bits, the other guesses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanabi_search_plugin.core.game import NOBODY
from hanabi_search_plugin.core.plain_game import Outcomes, PlainGame
from hanabi_search_plugin.core.require import require_integer

NOTHING = -1  # in place of a bit not yet said

State = tuple[int, tuple[int, ...]]  # the number, and the moves so far


@dataclass(frozen=True, repr=False)
class Communication(PlainGame):
    """Comm(L) of Joint Policy Search: player 0 says a number of ``bits`` bits, player 1 guesses it

    Player 0 sees a number from 0 to 2^bits - 1, each equally likely, and says as many bits, one a
    move; player 1 hears them and guesses: 1 point if that is right. Every code that tells all
    numbers apart is best. Raises ConfigError for bits out of 1 to 12.
    """

    bits: int = 3

    num_players = 2
    return_range = (0.0, 1.0)
    public_actions = True

    def __post_init__(self) -> None:
        require_integer("bits", self.bits, 1, 12)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"communication(bits={self.bits})"

    @property
    def numbers(self) -> int:
        """How many there are."""
        return 1 << self.bits

    @property
    def num_actions(self) -> int:  # type: ignore[override]
        return self.numbers

    @property
    def max_length(self) -> int:  # type: ignore[override]
        return self.bits + 1

    def initial_states(self) -> Outcomes:
        return [((number, ()), 1 / self.numbers) for number in range(self.numbers)]

    def current_player(self, state: State) -> int:
        sent = len(state[1])
        return 0 if sent < self.bits else 1 if sent == self.bits else NOBODY

    def legal_actions(self, state: State) -> Sequence[int]:
        return range(2) if len(state[1]) < self.bits else range(self.numbers)

    def next_states(self, state: State, action: int) -> Outcomes:
        return [((state[0], (*state[1], action)), 1.0)]

    def returns(self, state: State) -> Sequence[float]:
        number, moves = state
        return [float(len(moves) > self.bits and moves[-1] == number)] * 2

    def observation(self, state: State, player: int) -> Sequence[float]:
        """The number for player 0, then the moves so far."""
        number, moves = state
        unsaid = (NOTHING,) * (self.max_length - len(moves))
        return [number if player == 0 else NOTHING, *moves, *unsaid]
