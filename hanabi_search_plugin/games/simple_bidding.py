"""Simple bidding: two players find the highest contract that their cards make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanabi_search_plugin.core.game import NOBODY
from hanabi_search_plugin.core.plain_game import Outcomes, PlainGame
from hanabi_search_plugin.core.require import require_integer

PASS = 0
NOTHING = -1  # in place of a call not yet made

State = tuple[tuple[int, int], tuple[int, ...]]  # both cards, and the calls so far


@dataclass(frozen=True, repr=False)
class SimpleBidding(PlainGame):
    """Simple Bidding of Joint Policy Search: contracts of 1, 2, 4 ... for the sum of two cards

    Each player sees a card from 0 to ``cards`` - 1, all equally likely. Player 0 opens with a bid,
    then each passes or bids higher: bid k is for 2^(k-1) points. A pass ends it. The last bid is
    scored if the sum of both cards reaches it, else nothing. Raises ConfigError for cards out of 2
    to 1,024.
    """

    cards: int = 4

    num_players = 2
    public_actions = True

    def __post_init__(self) -> None:
        require_integer("cards", self.cards, 2, 1024)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"simple_bidding(cards={self.cards})"

    @property
    def bids(self) -> int:
        """How many there are: the highest is the first that two top cards may make."""
        return (self.cards - 1).bit_length() + 1

    @property
    def num_actions(self) -> int:  # type: ignore[override]
        return self.bids + 1

    @property
    def max_length(self) -> int:  # type: ignore[override]
        return self.bids + 1

    @property
    def return_range(self) -> tuple[float, float]:  # type: ignore[override]
        return 0.0, float(1 << (self.bids - 1))

    def initial_states(self) -> Outcomes:
        dealt = range(self.cards)
        return [(((a, b), ()), 1 / self.cards**2) for a in dealt for b in dealt]

    def current_player(self, state: State) -> int:
        calls = state[1]
        return NOBODY if PASS in calls else len(calls) % 2

    def legal_actions(self, state: State) -> Sequence[int]:
        calls = state[1]
        return [PASS, *range(calls[-1] + 1, self.bids + 1)] if calls else range(1, self.bids + 1)

    def next_states(self, state: State, action: int) -> Outcomes:
        return [((state[0], (*state[1], action)), 1.0)]

    def returns(self, state: State) -> Sequence[float]:
        dealt, calls = state
        if PASS not in calls:
            return [0.0, 0.0]
        contract = 1 << (calls[-2] - 1)
        return [float(contract if contract <= sum(dealt) else 0)] * 2

    def observation(self, state: State, player: int) -> Sequence[float]:
        """The player's card, then the calls so far."""
        dealt, calls = state
        return [dealt[player], *calls, *(NOTHING,) * (self.max_length - len(calls))]
