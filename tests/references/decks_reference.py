"""Bayes' rule for what is public in native Hanabi, by playing the moves from every deck there is.

Letters: D decks that may still be, P players.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hanabi_search_plugin.core.game import Event, FloatArray, IntArray
from hanabi_search_plugin.core.policy import Blueprint, take
from hanabi_search_plugin.core.rollout import observe_all, start_memories
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import HANDS, NO_CARD
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame


class AllDecks:
    """Every deck that agrees with what everybody saw, weighted by the moves taken as evidence."""

    def __init__(self, game: HanabiGame, blueprint: Blueprint, epsilon: float, first: int) -> None:
        self.game, self.blueprint, self.epsilon = game, blueprint, epsilon
        config = game.config
        cards = np.repeat(np.arange(game.vocabulary), config.copies * config.colors).tolist()
        self.worlds = game.from_decks(np.array(list(_orders(cards))), first)
        self.weights: FloatArray = np.ones(len(self.worlds))
        self.memories = start_memories(self.worlds, blueprint)
        self.seen = [self._keys()]  # a turn, a player: what it sees in each deck

    def update(self, event: Event, truth: HanabiWorlds, by_blueprint: bool) -> None:
        actor, action = int(event.player[0]), int(event.action[0])
        self._keep(np.flatnonzero(self.worlds.legal[:, action]))
        if by_blueprint:
            view = self.worlds.view(actor)
            policy = self.blueprint[actor]
            played = policy.probabilities(view, view.legal, self.memories[actor])
            uniform = view.legal / view.legal.sum(axis=1, keepdims=True)
            played = (1 - self.epsilon) * played + self.epsilon * uniform
            self.weights = self.weights * played[:, action]
        self.worlds.step(np.full(len(self.worlds), action))
        same = (self._public(self.worlds) == self._public(truth)).all(axis=1)
        self._keep(np.flatnonzero(same & (self.weights > 0)))
        moved = (np.full(len(self.worlds), actor), np.full(len(self.worlds), action))
        self.memories = observe_all(self.worlds, *moved, self.blueprint, self.memories)
        self.seen.append(self._keys())

    def exclude(self, player: int, turn: int, keys: set[bytes]) -> None:
        self._keep(np.array([d for d, k in enumerate(self.seen[turn][player]) if k not in keys]))

    def infostates(self, player: int) -> dict[bytes, float]:
        """Probability of what a player may see now."""
        chance: dict[bytes, float] = {}
        total = self.weights.sum()
        for key, weight in zip(self.seen[-1][player], self.weights.tolist(), strict=True):
            chance[key] = chance.get(key, 0.0) + weight / total
        return chance

    def hands(self, player: int, key: bytes) -> dict[tuple[int, ...], float]:
        """P(own hand | what a player sees now)."""
        rows = [d for d, k in enumerate(self.seen[-1][player]) if k == key]
        tokens = self.game.private_tokens(self.worlds, player)[rows].tolist()
        total, chance = self.weights[rows].sum(), {}
        for hand, weight in zip(tokens, self.weights[rows].tolist(), strict=True):
            cards = tuple(card for card in hand if card >= 0)
            chance[cards] = chance.get(cards, 0.0) + weight / total
        return chance

    def _keys(self) -> list[list[bytes]]:
        return [list(self.worlds.view(p).keys()) for p in range(self.game.num_players)]

    def _public(self, worlds: HanabiWorlds) -> Any:
        rows = worlds.view(0).rows
        hands = slice(HANDS, HANDS + self.game.num_players * self.game.config.hand_size)
        rows[:, hands] = rows[:, hands] == NO_CARD
        return rows

    def _keep(self, index: IntArray) -> None:
        self.worlds, self.weights = self.worlds.select(index), self.weights[index]
        self.memories = tuple(take(memory, index) for memory in self.memories)
        self.seen = [[[keys[d] for d in index] for keys in turn] for turn in self.seen]


def _orders(cards: list[int]) -> Iterator[list[int]]:
    """The different orders of sorted cards."""
    if not cards:
        yield []
    for i, card in enumerate(cards):
        if i == 0 or card != cards[i - 1]:
            for rest in _orders(cards[:i] + cards[i + 1 :]):
                yield [card, *rest]
