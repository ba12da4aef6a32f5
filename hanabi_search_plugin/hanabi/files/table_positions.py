"""What lies on the table before each move, with cards named by the order in which they were dealt.

Its parts are those of a document (``game_document``). All of it is public, so rows of worlds and
rows of any seat's views give the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DECK_SIZE,
    HIDDEN_CARD,
    INFO,
    LAST_CARD,
    LAST_FLAGS,
    LAST_TOUCHED,
    LEFT0,
    LIVES,
    NO_CARD,
    PLAYED,
    SCORED,
    TOLD_COLOR,
    TOLD_RANK,
    TURN,
)
from hanabi_search_plugin.hanabi.engine.text import action_to_dict

Row = NDArray[np.int32]  # [W] of a world or of a view


def possible_score(config: HanabiConfig, row: Row) -> int:
    """The most points that the cards not yet lost allow, whatever the time and the lives left."""
    lost, ranks = int(row[LEFT0]) & ~int(row[PLAYED]), config.ranks
    return sum(
        next((rank for rank in range(ranks) if lost >> ranks * color + rank & 1), ranks)
        for color in range(config.colors)
    )


class TablePositions:
    """Follows one game from its deal: ask for each ``position``, and tell each move after it."""

    def __init__(self, rules: HanabiRules) -> None:
        self.rules = rules
        size = rules.config.hand_size
        self.hands = [list(range(p * size, (p + 1) * size)) for p in range(rules.num_players)]
        self.discards: list[int] = []

    def position(self, row: Row) -> dict[str, Any]:
        """The public parts of a turn, but for its move."""
        config = self.rules.config
        every = (1 << config.ranks) - 1
        fireworks = [
            (int(row[PLAYED]) >> config.ranks * color & every).bit_count()
            for color in range(config.colors)
        ]
        return {
            "mover": int(row[TURN]) if row[TURN] >= 0 else None,
            "points": sum(fireworks),
            "possible": possible_score(config, row),
            "information": int(row[INFO]),
            "lives": int(row[LIVES]),
            "deck": int(row[DECK_SIZE] - row[DECK_NEXT]),
            "fireworks": fireworks,
            "discards": list(self.discards),
            "hands": [list(hand) for hand in self.hands],
            "hints": [self._hints(row, seat) for seat in range(config.players)],
        }

    def moved(self, row: Row, mover: int, action: int) -> dict[str, Any]:
        """The move that led to ``row``."""
        what = action_to_dict(self.rules.config, action)
        move: dict[str, Any] = {"action": action, "card": None, "scored": None, "touched": []}
        if "target" in what:
            hand = self.hands[(mover + what["target"]) % self.rules.num_players]
            touched = [card for i, card in enumerate(hand) if int(row[LAST_TOUCHED]) >> i & 1]
            return move | {"touched": touched}
        hand = self.hands[mover]
        card = hand.pop(what["slot"])
        if len(hand) < int((row[self.rules.hand_slots(mover)] != NO_CARD).sum()):
            hand.append(int(row[DECK_NEXT]) - 1)
        scored = bool(row[LAST_FLAGS] & SCORED)
        if not scored:
            self.discards.append(card)
        return move | {"card": card, "scored": scored if what["type"] == "play" else None}

    def _hints(self, row: Row, seat: int) -> list[list[int]]:
        config = self.rules.config
        slots = self.rules.hand_slots(seat)
        start = slots.start + config.players * config.hand_size
        words = row[start : start + len(self.hands[seat])].tolist()
        return [
            [
                word & 31,
                word >> 5 & 31,
                int(bool(word & TOLD_COLOR)) + 2 * int(bool(word & TOLD_RANK)),
            ]
            for word in words
        ]


def seen_turns(history: History, first: int = 0) -> tuple[list[dict[str, Any]], list[int | None]]:
    """The ``turns``, from ``first`` on, and all ``cards`` of a document that one seat has seen.

    Made of the seat's views alone, of native Hanabi: a card has an identity where the seat sees it
    in another's hand, or where it has left a hand. Beliefs and searches are None.
    """
    view = history.views[0]
    assert isinstance(view, HanabiView)
    rules = view.game
    table = TablePositions(rules)
    turns: list[dict[str, Any]] = []
    cards: list[int | None] = []
    nothing = {"beliefs": [None] * rules.num_players, "move": None, "search": None}
    for number, view in enumerate(history.views):
        assert isinstance(view, HanabiView)
        row = view.rows[0]
        if number > 0:
            event = history.events[number - 1]
            move = table.moved(row, int(event.player[0]), int(event.action[0]))
            if number > first:
                turns[-1]["move"] = move
            if move["card"] is not None:
                cards[move["card"]] = int(row[LAST_CARD])
        cards += [None] * (int(row[DECK_NEXT]) - len(cards))
        if number >= first:
            turns.append(table.position(row) | nothing)
    for seat, hand in enumerate(table.hands):
        shown = row[rules.hand_slots(seat)].tolist()
        for order, card in zip(hand, shown, strict=False):  # NO_CARD past the end of the hand
            if card not in (HIDDEN_CARD, NO_CARD):
                cards[order] = card
    return turns, cards
