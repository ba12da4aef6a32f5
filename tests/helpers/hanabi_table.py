"""Games of native Hanabi in lockstep, with a policy that watches at every seat.

Letters: B worlds.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.core.policy import Blueprint, Policy, take
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DECK_SIZE,
    HANDS,
    INFO,
    LAST_ACTION,
    LAST_CARD,
    LAST_PLAYER,
    LAST_TOUCHED,
    LEFT0,
    LEFT1,
    LEFT2,
    LIVES,
    NO_CARD,
    PLAYED,
    TURN,
)
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from tests.helpers.hanabi_play import random_legal
from tests.references.smartbot_reference import Move, Position


class Table:
    """A policy watches at every seat and may be asked for its moves. Ended games leave."""

    def __init__(self, worlds: HanabiWorlds, policy: Policy) -> None:
        self.game = worlds.game
        self.worlds = worlds
        self.policies: Blueprint = (policy,) * worlds.game.num_players
        self.memories = start_memories(worlds, self.policies)

    def __len__(self) -> int:
        return len(self.worlds)

    def proposals(self) -> IntArray:
        """[B] what the policy would do; it leaves nothing to chance."""
        nothing = Streams(np.zeros(len(self), dtype=np.uint64))
        return choose(self.worlds, self.policies, self.memories, nothing)

    def step(self, actions: IntArray) -> IntArray:
        """Returns the indices of the games that go on."""
        event = self.worlds.step(actions)
        on = np.flatnonzero(~self.worlds.terminal)
        self.keep(on)
        self.memories = observe_all(
            self.worlds, event.player[on], event.action[on], self.policies, self.memories
        )
        return on

    def mixed(self, rng: np.random.Generator, own: float) -> IntArray:
        """[B] the policy's move with probability ``own``, else any legal one."""
        use = rng.random(len(self)) < own
        return np.where(use, self.proposals(), random_legal(self.worlds, rng))

    def keep(self, index: IntArray) -> None:
        self.worlds = self.worlds.select(index)
        self.memories = tuple(take(memory, index) for memory in self.memories)


def position(worlds: HanabiWorlds, b: int) -> Position:
    """A world as the plain bots want it, nothing hidden."""
    game, row = worlds.game.config, worlds.rows[b].tolist()
    cards = range(game.colors * game.ranks)
    left = [3 - sum(row[plane] >> card & 1 for plane in (LEFT0, LEFT1, LEFT2)) for card in cards]
    piles = [0] * game.colors
    for card in cards:
        piles[card // game.ranks] += row[PLAYED] >> card & 1
    hands = (
        row[HANDS + p * game.hand_size : HANDS + (p + 1) * game.hand_size]
        for p in range(game.players)
    )
    return Position(
        config=game,
        seat=-1,
        to_move=row[TURN],
        lives=row[LIVES],
        tokens=row[INFO],
        deck=row[DECK_SIZE] - row[DECK_NEXT],
        piles=tuple(piles),
        seen=tuple(game.copies[card % game.ranks] - left[card] for card in cards),
        hands=tuple(tuple(card for card in hand if card != NO_CARD) for hand in hands),
    )


def last_move(worlds: HanabiWorlds, b: int) -> Move:
    game, row = worlds.game.config, worlds.rows[b].tolist()
    action = row[LAST_ACTION]
    if action < 2 * game.hand_size:
        kind, slot = divmod(action, game.hand_size)
        return Move("play" if kind else "discard", slot=slot, card=row[LAST_CARD])
    hint = action - 2 * game.hand_size
    by_rank = hint >= (game.players - 1) * game.colors
    if by_rank:
        hint -= (game.players - 1) * game.colors
    offset, value = divmod(hint, game.ranks if by_rank else game.colors)
    return Move(
        "rank" if by_rank else "color",
        target=(row[LAST_PLAYER] + offset + 1) % game.players,
        value=value,
        touched=frozenset(i for i in range(game.hand_size) if row[LAST_TOUCHED] >> i & 1),
    )


def any_config(rng: np.random.Generator) -> HanabiConfig:
    """Any configuration whose hands fit into the deck."""
    while True:
        players, colors, ranks = rng.integers([2, 1, 1], 6).tolist()
        largest = HanabiConfig(colors=colors, ranks=ranks, hand_size=1).deck_size // players
        if largest > 0:
            return HanabiConfig(
                players=players,
                colors=colors,
                ranks=ranks,
                hand_size=int(rng.integers(1, min(8, largest) + 1)),
                information_tokens=int(rng.integers(0, 10)),
                life_tokens=int(rng.integers(1, 6)),
            )


def stacked(game: HanabiGame, *hands: list[int], draws: tuple[int, ...] = ()) -> HanabiWorlds:
    """A deal of these hands, these first draws, and the remaining cards in order."""
    copies = game.config.copies * game.config.colors
    rest = Counter(np.repeat(np.arange(len(copies)), copies).tolist())
    first = [card for hand in hands for card in hand] + list(draws)
    rest.subtract(first)
    return game.from_decks([first + sorted(rest.elements())])


def hidden_shuffled(worlds: HanabiWorlds, seat: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Rows in which the seat's own cards and the undealt deck have changed places."""
    rows = worlds.rows.copy()
    size = worlds.game.config.hand_size
    hand = HANDS + seat * size + np.arange(size)
    deck = rows.shape[1] - worlds.game.config.deck_size
    for row in rows:
        held = hand[row[hand] != NO_CARD]
        unseen = np.concatenate([held, np.arange(deck + row[DECK_NEXT], len(row))])
        row[unseen] = row[rng.permutation(unseen)]
    return rows
