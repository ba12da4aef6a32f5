"""A table of hanab.live as its seats see it: our engine's games told in the site's messages.

Written from the description of the site's protocol, apart from the code that reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import INFO, LAST_CARD, LAST_FLAGS, LIVES, SCORED
from hanabi_search_plugin.hanabi.engine.text import action_to_dict

Told = dict[str, Any]


class FakeTable:
    """``told`` are the messages so far, with every card shown; ``seen_by`` hides a seat's own."""

    def __init__(self, config: HanabiConfig, seed: int, first_player: int = 0) -> None:
        self.config = config
        rules = HanabiRules(config)
        worlds = rules.deal(np.random.default_rng(seed), 1)
        self.deck: list[int] = worlds.rows[0, -config.deck_size :].tolist()
        self.worlds: HanabiWorlds = rules.from_decks([self.deck], first_player)
        self.hands: list[list[int]] = [[] for _ in range(config.players)]
        self.drawn = 0
        self.told: list[Told] = []
        self.strikes = self.turns = 0
        for player in range(config.players):
            for _ in range(config.hand_size):
                self._draw(player)
        self._status()

    @property
    def over(self) -> bool:
        return bool(self.worlds.terminal[0])

    @property
    def mover(self) -> int:
        return int(self.worlds.current_player[0])

    def seen_by(self, seat: int, since: int = 0) -> list[Told]:
        return [
            message | {"suitIndex": -1, "rank": -1}
            if message["type"] == "draw" and message["playerIndex"] == seat
            else message
            for message in self.told[since:]
        ]

    def play(self, action: int) -> None:
        """Play a legal action id of the player to move."""
        player, what = self.mover, action_to_dict(self.config, action)
        self.worlds.step(np.array([action]))
        row = self.worlds.rows[0]
        if "slot" in what:
            order = self.hands[player].pop(what["slot"])
            card = int(row[LAST_CARD])
            assert card == self.deck[order]
            named = {"playerIndex": player, "order": order} | _card(card)
            failed = what["type"] == "play" and not row[LAST_FLAGS] & SCORED
            if failed:
                self.strikes += 1
                self.told.append(
                    {"type": "strike", "num": self.strikes, "turn": self.turns, "order": order}
                )
            if what["type"] == "play" and not failed:
                self.told.append({"type": "play"} | named)
            else:
                self.told.append({"type": "discard", "failed": failed} | named)
            if self.drawn < len(self.deck):
                self._draw(player)
        else:
            target = (player + what["target"]) % self.config.players
            by_color = "color" in what
            value = what["color"] if by_color else what["rank"] + 1
            cards = [(order, _card(self.deck[order])) for order in self.hands[target]]
            self.told.append(
                {
                    "type": "clue",
                    "clue": {"type": 0 if by_color else 1, "value": value},
                    "giver": player,
                    "target": target,
                    "turn": self.turns,
                    "list": [
                        order
                        for order, card in cards
                        if card["suitIndex" if by_color else "rank"] == value
                    ],
                }
            )
        self.turns += 1
        self._status()

    def action_of(self, message: Told) -> int:
        """The id of the action that a player asks for by type, target and value."""
        config, mover = self.config, self.mover
        kind, target = message["type"], message["target"]
        if kind in (0, 1):
            slot = self.hands[mover].index(target)
            return slot + config.hand_size * (kind == 0)
        offset = (target - mover) % config.players
        first = 2 * config.hand_size
        if kind == 2:
            return first + (offset - 1) * config.colors + int(message["value"])
        first += (config.players - 1) * config.colors
        return first + (offset - 1) * config.ranks + int(message["value"]) - 1

    def _draw(self, player: int) -> None:
        order = self.drawn
        self.drawn += 1
        self.hands[player].append(order)
        named = {"type": "draw", "playerIndex": player, "order": order}
        self.told.append(named | _card(self.deck[order]))

    def _status(self) -> None:
        row = self.worlds.rows[0]
        points = sum(message["type"] == "play" for message in self.told)
        self.told.append(
            {
                "type": "status",
                "clues": int(row[INFO]),
                "score": points,
                "maxScore": self.config.max_score,
                "doubleDiscard": False,
            }
        )
        if self.over:
            condition = 2 if row[LIVES] == 0 else 1
            self.told.append({"type": "gameOver", "endCondition": condition, "playerIndex": -1})
        turn = -1 if self.over else self.mover
        self.told.append({"type": "turn", "num": self.turns, "currentPlayerIndex": turn})


def _card(card: int) -> Told:
    return {"suitIndex": card // 5, "rank": card % 5 + 1}
