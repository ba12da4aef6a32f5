"""Batches of Hanabi worlds and what a seat sees of them, as packed rows.

Letters: B worlds, W words of a row (see ``layout``), A actions, P players.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.errors import IllegalActionError
from hanabi_search_plugin.game import BoolArray, Event, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.hanabi import kernels
from hanabi_search_plugin.hanabi.encoding import encode
from hanabi_search_plugin.hanabi.layout import TURN
from hanabi_search_plugin.hanabi.text import action_in_words, why_illegal

if TYPE_CHECKING:
    from hanabi_search_plugin.hanabi.game import HanabiGame

Rows = NDArray[np.int32]


class HanabiWorlds(Worlds):
    """B complete worlds. The chance stream of a world is the rest of its deck."""

    game: HanabiGame

    def __init__(self, game: HanabiGame, rows: Rows) -> None:
        self.game = game
        self.rows = rows  # [B, W], C-contiguous

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{len(self)} worlds of {self.game!r}>"

    @property
    def current_player(self) -> IntArray:
        return self.rows[:, TURN].astype(np.int64)

    @property
    def returns(self) -> FloatArray:
        returns = np.empty((len(self), self.game.num_players))
        kernels.return_rows(self.rows, returns)
        return returns

    @property
    def legal(self) -> BoolArray:
        return _legal(self.game, self.rows, -1)

    def step(self, actions: IntArray) -> Event:
        """Play actions [B] in place.

        Raises IllegalActionError naming the first illegal one; then no world has moved.
        """
        actions = np.array(actions, dtype=np.int64)
        if actions.shape != (len(self),):
            raise IllegalActionError(f"expected {len(self)} actions, got shape {actions.shape}")
        movers = self.current_player
        wrong = kernels.step_rows(self.game.dims, self.rows, actions)
        if wrong >= 0:
            raise IllegalActionError(self._explain(wrong, int(actions[wrong])))
        return Event(movers, actions)

    def _explain(self, index: int, action: int) -> str:
        config, row = self.game.config, self.rows[index]
        known = 0 <= action < config.num_actions and row[TURN] >= 0
        words = action_in_words(config, int(row[TURN]), action) if known else f"action {action}"
        reason = why_illegal(config, row, action)
        return f'"{words}" is not legal in world {index}: {reason}'

    def select(self, index: IntArray | BoolArray) -> HanabiWorlds:
        return HanabiWorlds(self.game, self.rows[index])

    def view(self, player: int) -> HanabiView:
        config = self.game.config
        if not 0 <= player < config.players:
            raise IndexError(f"player must be from 0 to {config.players - 1}, got {player}")
        hide_hand = config.observation_type != "seer"
        hide_hints = config.observation_type == "minimal"
        rows = self.rows.copy()
        kernels.hide_rows(self.game.dims, rows, player, hide_hand, hide_hints)
        return HanabiView(self.game, player, rows)


class HanabiView(View):
    """What ``player`` sees of B worlds: rows in which all else is wiped.

    The undealt deck is NO_CARD, and so are the cards that were dealt from it. The own hand is
    HIDDEN_CARD, but for a ``"seer"``. Hint knowledge is there, except in a ``"minimal"``
    observation, where a player has to remember hints itself.
    """

    game: HanabiGame

    def __init__(self, game: HanabiGame, player: int, rows: Rows) -> None:
        self.game = game
        self.player = player
        self.rows = rows  # [B, W]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<view of P{self.player} on {len(self)} worlds of {self.game!r}>"

    def select(self, index: IntArray | BoolArray) -> HanabiView:
        return HanabiView(self.game, self.player, self.rows[index])

    @property
    def current_player(self) -> IntArray:
        return self.rows[:, TURN].astype(np.int64)

    @property
    def legal(self) -> BoolArray:
        return _legal(self.game, self.rows, self.player)

    def observation(self, encoding: str) -> NDArray[Any]:
        """The observation in one of ``game.encodings``; ``encoding.encode`` says what each is."""
        return encode(self.game.config, self.rows, self.player, encoding)

    def keys(self) -> Sequence[bytes]:
        return [row.tobytes() for row in self.rows]


def _legal(game: HanabiGame, rows: Rows, seat: int) -> BoolArray:
    legal = np.empty((len(rows), game.num_actions), dtype=np.bool_)
    kernels.legal_rows(game.dims, rows, seat, legal)
    return legal
