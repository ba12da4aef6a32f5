"""One game of hanab.live, followed by what the table tells one seat.

A table tells every draw, play, discard and hint as a message of its own, with cards by their places
in the deck and -1 for what the seat does not see. Together they make the views and events that
policies take. What a message says of the seat's own new cards is never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.game import Event, History
from hanabi_search_plugin.core.plain_json import short
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.decoding import Row, after_move
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DECK_SIZE,
    HANDS,
    HIDDEN_CARD,
    INFO,
    LAST_ACTION,
    LAST_FLAGS,
    LAST_PLAYER,
    NO_CARD,
    PLAYED,
    SCORED,
    TURN,
    empty_row,
)
from hanabi_search_plugin.hanabi.engine.text import action_from_dict, action_to_dict
from hanabi_search_plugin.hanabi.files.hanab_live_json import (
    COLOR_CLUE,
    DISCARD,
    PLAY,
    RANK_CLUE,
)
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame


@dataclass(frozen=True)
class _Move:
    """A card on its way out of a hand, which draws another next."""

    action: int
    card: int
    scores: bool


class FollowedGame:
    """What ``seat`` knows of a running game.

    ``take`` one message after the other, from the deal on. ``history`` begins when the hands are
    dealt, and grows with each move. ``over`` is True once the table has said so.
    """

    def __init__(self, config: HanabiConfig, seat: int, first_player: int) -> None:
        self.game = HanabiGame(config)
        self.config, self.seat = config, seat
        self.history: History | None = None  # None during the deal
        self.over = False
        self._orders: list[list[int]] = [[] for _ in range(config.players)]  # oldest first
        self._drawn = 0  # cards that have left the deck
        self._pending: _Move | None = None
        self._row: Row = empty_row(config)
        self._row[TURN] = first_player
        self._row[DECK_NEXT] = config.players * config.hand_size

    @property
    def view(self) -> HanabiView:
        """The seat's last view, once there is a history."""
        return HanabiView(self.game, self.seat, self._row[None])

    @property
    def to_move(self) -> bool:
        """Is it the seat's turn?"""
        settled = self.history is not None and self._pending is None
        return settled and not self.over and int(self._row[TURN]) == self.seat

    def take(self, message: Mapping[str, Any]) -> None:
        """Take in a message; unknown ones say nothing that is needed.

        Raises RecordError for one that cannot follow from those before.
        """
        kind = message.get("type")
        if kind == "gameOver":
            self.over = True
        elif kind == "draw":
            self._draw(message)
        elif kind in ("play", "discard"):
            self._play_or_discard(message, kind)
        elif kind == "clue":
            self._clue(message)
        elif kind in ("turn", "status") and self.history is not None and not self.over:
            self._compare(message, kind)

    def message_of(self, action: int) -> dict[str, int]:
        """An action of the seat, type, target and value, as the table takes it."""
        what = action_to_dict(self.config, action)
        if "slot" in what:
            kind = PLAY if what["type"] == "play" else DISCARD
            return {"type": kind, "target": self._orders[self.seat][what["slot"]]}
        target = (self.seat + what["target"]) % self.config.players
        if "color" in what:
            return {"type": COLOR_CLUE, "target": target, "value": what["color"]}
        return {"type": RANK_CLUE, "target": target, "value": what["rank"] + 1}

    # ------------------------------------------------------------------------------- messages

    def _draw(self, message: Mapping[str, Any]) -> None:
        player, order = integer(message, "playerIndex"), integer(message, "order")
        h, hands = self.config.hand_size, self.config.players * self.config.hand_size
        dealing = self.history is None
        mover = self._drawn // h if dealing else int(self._row[TURN])
        expected = dealing or self._pending is not None
        if not expected or (player, order) != (mover, self._drawn):
            raise RecordError(
                f"a draw must be of card {self._drawn} by player {mover}, got "
                f"{short(dict(message))}"
            )
        drawn = HIDDEN_CARD if player == self.seat else self._card(message)
        self._orders[player].append(order)
        self._drawn += 1
        if self._pending is not None:
            self._finish(self._pending, drawn)
        else:
            self._row[HANDS + order] = drawn
            if self._drawn == hands:
                self.history = History(self.seat, (self.view,))

    def _play_or_discard(self, message: Mapping[str, Any], kind: str) -> None:
        player, order = integer(message, "playerIndex"), integer(message, "order")
        self._require_turn(player, message)
        hand = self._orders[player]
        if order not in hand:
            raise RecordError(f"order must be a card in the hand {hand}, got {order}")
        slot, failed = hand.index(order), kind == "discard" and bool(message.get("failed"))
        played = kind == "play" or failed
        move = _Move(
            action=slot + self.config.hand_size * played,
            card=self._card(message),
            scores=played and not failed,
        )
        hand.pop(slot)
        if self._row[DECK_NEXT] < self._row[DECK_SIZE]:
            self._pending = move
        else:
            self._finish(move, NO_CARD)

    def _finish(self, move: _Move, drawn: int) -> None:
        self._pending = None
        self._step(move.action, card=move.card, drawn=drawn)
        if move.action >= self.config.hand_size and move.scores != bool(
            self._row[LAST_FLAGS] & SCORED
        ):
            raise RecordError(
                f"card {move.card} must {'score' if move.scores else 'fail'}, as the table says, "
                "got a board on which it does not"
            )

    def _clue(self, message: Mapping[str, Any]) -> None:
        giver, target = integer(message, "giver"), integer(message, "target")
        self._require_turn(giver, message)
        clue, orders = message.get("clue"), message.get("list")
        if not isinstance(clue, Mapping) or not isinstance(orders, list):
            raise RecordError(f"a hint must have clue and list, got {short(dict(message))}")
        kind, value = integer(clue, "type"), integer(clue, "value")
        if kind not in (0, 1) or not 0 <= target < self.config.players:
            raise RecordError(f"a hint must be of type 0 or 1, got {short(dict(message))}")
        hand = self._orders[target]
        if not all(order in hand for order in orders):
            raise RecordError(f"a hint must touch cards of the hand {hand}, got {short(orders)}")
        named = {"type": "reveal_color", "color": value} if kind == 0 else {
            "type": "reveal_rank", "rank": value - 1
        }  # fmt: skip
        offset = (target - giver) % self.config.players
        action = action_from_dict(self.config, named | {"target": offset})
        touched = sum(1 << hand.index(order) for order in set(orders))
        self._step(action, touched=touched)

    def _compare(self, message: Mapping[str, Any], kind: str) -> None:
        """Raises RecordError where the table counts otherwise than the game that was followed."""
        if self._pending is not None:
            return
        names = {"turn": ("currentPlayerIndex",), "status": ("clues", "score")}[kind]
        ours = {
            "currentPlayerIndex": int(self._row[TURN]),
            "clues": int(self._row[INFO]),
            "score": int(self._row[PLAYED]).bit_count(),
        }
        for name in names:
            if integer(message, name) != ours[name]:
                raise RecordError(f"{name} must be {ours[name]}, got {message[name]}")

    # -------------------------------------------------------------------------------- helpers

    def _require_turn(self, player: int, message: Mapping[str, Any]) -> None:
        turn = int(self._row[TURN])
        if self.history is None or self._pending is not None or player != turn or turn < 0:
            raise RecordError(f"expected a move of player {turn}, got {short(dict(message))}")

    def _card(self, message: Mapping[str, Any]) -> int:
        suit, rank = integer(message, "suitIndex"), integer(message, "rank")
        colors, ranks = self.config.colors, self.config.ranks
        if not (0 <= suit < colors and 1 <= rank <= ranks):
            raise RecordError(
                f"a card must be of suits 0 to {colors - 1} and ranks 1 to {ranks}, got suit "
                f"{suit} and rank {rank}"
            )
        return ranks * suit + rank - 1

    def _step(self, action: int, **told: int) -> None:
        assert self.history is not None
        self._row = after_move(self.config, self._row, action, self.seat, **told)
        move = self._row[[LAST_PLAYER, LAST_ACTION]].astype(np.int64)
        self.history = self.history.append(Event(move[:1], move[1:]), self.view)


def integer(message: Mapping[str, Any], name: str) -> int:
    """A field of a message. Raises RecordError where it is no integer."""
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RecordError(f"{name} must be an integer, got {short(value)}")
    return value
