"""Two-suit mini-bridge: an auction for the suit and the level that two hands make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanabi_search_plugin.core.game import NOBODY, require_said
from hanabi_search_plugin.core.plain_game import Outcomes, PlainGame
from hanabi_search_plugin.core.require import require_integer

PASS = 0
NOTHING = -1  # in place of a call not yet made

State = tuple[tuple[int, int], tuple[int, ...]]  # the hearts of both players, the calls so far


@dataclass(frozen=True, repr=False)
class MiniBridge(PlainGame):
    """2-Suit Mini-Bridge of Joint Policy Search: an auction over hearts and spades

    Each player has ``cards`` cards of two suits; how many are hearts is uniform from 0 to
    ``cards``. Calls are a pass and the bids 1H, 1S, 2H, 2S and so on to level ``cards``, each
    higher than the last. A pass ends the auction, but for one that opens it; two passes score
    nothing. Level k of a suit is made with cards + k cards of it in both hands, and scores
    2^(k-1), else -1. Raises ConfigError for cards out of 1 to 8.
    """

    cards: int = 3

    num_players = 2
    public_actions = True

    def __post_init__(self) -> None:
        require_integer("cards", self.cards, 1, 8)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"mini_bridge(cards={self.cards})"

    @property
    def num_actions(self) -> int:  # type: ignore[override]
        return 2 * self.cards + 1

    @property
    def max_length(self) -> int:  # type: ignore[override]
        return 2 * self.cards + 2

    @property
    def return_range(self) -> tuple[float, float]:  # type: ignore[override]
        return -1.0, float(1 << (self.cards - 1))

    def initial_states(self) -> Outcomes:
        hearts = range(self.cards + 1)
        return [(((a, b), ()), 1 / (self.cards + 1) ** 2) for a in hearts for b in hearts]

    def current_player(self, state: State) -> int:
        calls = state[1]
        return NOBODY if PASS in calls[1:] else len(calls) % 2

    def legal_actions(self, state: State) -> Sequence[int]:
        calls = state[1]
        return [PASS, *range(max(calls, default=PASS) + 1, self.num_actions)]

    def next_states(self, state: State, action: int) -> Outcomes:
        return [((state[0], (*state[1], action)), 1.0)]

    def returns(self, state: State) -> Sequence[float]:
        (a, b), calls = state
        if PASS not in calls[1:] or max(calls) == PASS:
            return [0.0, 0.0]
        level, spades = (calls[-2] + 1) // 2, calls[-2] % 2 == 0
        held = 2 * self.cards - a - b if spades else a + b
        return [float(1 << (level - 1)) if held >= self.cards + level else -1.0] * 2

    def observation(self, state: State, player: int) -> Sequence[float]:
        """How many hearts the player has, then the calls so far."""
        hearts, calls = state
        return [hearts[player], *calls, *(NOTHING,) * (self.max_length - len(calls))]

    def action_to_string(self, player: int, action: int) -> str:
        require_said(player, action, self)
        return "pass" if action == PASS else f"{(action + 1) // 2}{'HS'[(action - 1) % 2]}"
