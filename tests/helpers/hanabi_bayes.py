"""Bayes' rule over one seat's hidden cards, through whole games played from hypothetical decks.

Nothing is shared with the beliefs under test: every hand is written into a deck, the game is played
again from its first move, and the others' policies are asked for each move on the way.
Letters: N hypotheses, P players.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy, sample_actions, take
from hanabi_search_plugin.core.rollout import observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, HANDS
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

Hand = tuple[int, ...]  # identities, oldest first

_PRIME = 2**31 - 1


class Hashed(Policy):
    """A move by a hash of the observation, or of all observations and moves so far.

    The same on native Hanabi and on OpenSpiel's, whose observations are equal bit by bit.
    """

    def __init__(self, *, deterministic: bool, remembers: bool) -> None:
        self.deterministic = deterministic
        self.remembers = remembers

    def start(self, view: View) -> Memory:
        return self._digest(view) if self.remembers else None

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        if not self.remembers:
            return None
        return (memory * 48271 + self._digest(view) + 7 * event.action) % _PRIME

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        digest = memory if self.remembers else self._digest(view)
        mixed = (digest[:, None] + 1 + np.arange(legal.shape[1])) * 16807 % _PRIME
        score = legal * (1 + (mixed * 48271 % _PRIME) % 1009).astype(np.float64)
        if self.deterministic:
            return (np.arange(legal.shape[1]) == score.argmax(axis=1)[:, None]).astype(np.float64)
        return np.asarray(score / score.sum(axis=1, keepdims=True), dtype=np.float64)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        chance = self.probabilities(view, legal, memory)
        return chance.argmax(axis=1) if self.deterministic else sample_actions(chance, rng)

    def _digest(self, view: View) -> IntArray:
        encoding = "openspiel" if "openspiel" in view.game.encodings else "tensor"
        bits = view.observation(encoding).astype(np.int64)
        factors = np.arange(1, bits.shape[1] + 1) ** 3 % 8191
        return np.asarray(bits @ factors % _PRIME)


@dataclass
class Replay:
    """The hypotheses that agree with what a seat saw."""

    kept: IntArray  # [N] rows of the decks that were given
    chance: FloatArray  # [N] of the others' moves
    worlds: HanabiWorlds  # [N] now
    memories: tuple[Memory, ...]  # [N] a seat


@dataclass
class PublicWorld:
    """One way things may be by public knowledge."""

    hands: tuple[Hand, Hand]
    chance: float
    then: list[tuple[Hand, Hand]]  # the hands before each event


class Record:
    """A game from a known deck: where every card went, and what every seat saw."""

    def __init__(self, game: HanabiGame, deck: IntArray, first: int = 0) -> None:
        self.game, self.deck, self.first = game, deck, first
        self.worlds = game.from_decks(deck[None], first)
        h = game.config.hand_size
        self.places = [list(range(p * h, p * h + h)) for p in range(game.num_players)]
        self.dealt = game.num_players * h
        self.events: list[Event] = []
        self.keys = [self._seen(self.worlds)]

    @classmethod
    def random(cls, game: HanabiGame, rng: np.random.Generator) -> Record:
        config = game.config
        sorted_deck = np.repeat(np.arange(game.vocabulary), config.copies * config.colors)
        first = int(rng.integers(game.num_players)) if config.random_start_player else 0
        return cls(game, rng.permutation(sorted_deck), first)

    @property
    def over(self) -> bool:
        return bool(self.worlds.terminal[0])

    @property
    def mover(self) -> int:
        return int(self.worlds.current_player[0])

    def step(self, action: int) -> Event:
        mover, h = self.mover, self.game.config.hand_size
        event = self.worlds.step(np.array([action]))
        if action < 2 * h:
            self.places[mover].pop(action % h)
            if self.worlds.rows[0, DECK_NEXT] > self.dealt:
                self.places[mover].append(self.dealt)
                self.dealt += 1
        self.events.append(event)
        self.keys.append(self._seen(self.worlds))
        return event

    def hand(self, player: int) -> Hand:
        return tuple(int(self.deck[place]) for place in self.places[player])

    def unseen(self, seat: int) -> Counter[int]:
        """Copies of each identity in the deck and in the seat's hand."""
        known = set(range(self.dealt)) - set(self.places[seat])
        return Counter(self.deck.tolist()) - Counter(int(self.deck[place]) for place in known)

    def hands(self, seat: int) -> dict[Hand, int]:
        """Every hand the visible cards allow, and the ways to draw it."""
        unseen, ways = self.unseen(seat), {}
        for hand in itertools.product(sorted(unseen), repeat=len(self.places[seat])):
            left, count = Counter(unseen), 1
            for card in hand:
                count *= left[card]
                left[card] -= 1
            if count > 0:
                ways[hand] = count
        return ways

    def decks(self, seat: int, hands: list[Hand], rest: list[list[int]] | None = None) -> IntArray:
        """[N, deck size] the decks in which the seat holds these hands; ``rest`` comes after."""
        decks = np.repeat(self.deck[None], len(hands), axis=0)
        for n, hand in enumerate(hands):
            left = sorted((self.unseen(seat) - Counter(hand)).elements())
            decks[n, self.places[seat]] = hand
            decks[n, self.dealt :] = left if rest is None else rest[n]
        return decks

    def replay(
        self,
        decks: IntArray,
        blueprint: Blueprint,
        seat: int,
        epsilon: float,
        uncertainty: float = 0.0,
    ) -> Replay:
        """Play the same moves from other decks; drop those that show the seat something else."""
        worlds = self.game.from_decks(decks, self.first)
        memories = start_memories(worlds, blueprint)
        kept, chance = np.arange(len(decks)), np.ones(len(decks))
        for event, keys in zip(self.events, self.keys[1:], strict=True):
            actor, action = int(event.player[0]), int(event.action[0])
            able = np.flatnonzero(worlds.legal[:, action])
            worlds, kept, chance = worlds.select(able), kept[able], chance[able]
            memories = tuple(take(memory, able) for memory in memories)
            if actor != seat:
                view = worlds.view(actor)
                policy = blueprint[actor].probabilities(view, view.legal, memories[actor])
                uniform = view.legal / view.legal.sum(axis=1, keepdims=True)
                mixed = ((1 - epsilon) * policy + epsilon * uniform)[:, action]
                chance = chance * (mixed + uncertainty * (1 - mixed))
            worlds.step(np.full(len(worlds), action))
            seen = worlds.view(seat).keys()
            same = np.array([key == keys[seat] for key in seen], dtype=np.bool_)
            on = np.flatnonzero(same & (chance > 0))
            worlds, kept, chance = worlds.select(on), kept[on], chance[on]
            memories = tuple(take(memory, on) for memory in memories)
            moved = (np.full(len(on), actor), np.full(len(on), action))
            memories = observe_all(worlds, *moved, blueprint, memories)
        return Replay(kept, chance, worlds, memories)

    def bayes(
        self, blueprint: Blueprint, seat: int, epsilon: float, uncertainty: float = 0.0
    ) -> dict[Hand, float]:
        """P(hand | what the seat has seen)."""
        ways = self.hands(seat)
        replay = self.replay(self.decks(seat, list(ways)), blueprint, seat, epsilon, uncertainty)
        hands = [list(ways)[n] for n in replay.kept]
        weights = [ways[hand] * chance for hand, chance in zip(hands, replay.chance, strict=True)]
        total = sum(weights)
        return {hand: weight / total for hand, weight in zip(hands, weights, strict=True)}

    def public_bayes(
        self,
        blueprint: Blueprint,
        evidence: list[bool],
        excluded: dict[int, set[int]],
        epsilon: float = 0.0,
    ) -> list[PublicWorld]:
        """P(both hands | what everybody has seen), for two players.

        ``evidence``: is the move of that turn one of the blueprint? ``excluded``: ids of the
        hands that the player to move at that turn did not see at its partner's.
        """
        dealt = set(range(self.dealt)) - set(self.places[0]) - set(self.places[1])
        unseen = Counter(self.deck.tolist()) - Counter(int(self.deck[place]) for place in dealt)
        places = [*self.places[0], *self.places[1]]
        drawn: list[tuple[Hand, int]] = []
        for cards in itertools.product(sorted(unseen), repeat=len(places)):
            left, ways = Counter(unseen), 1
            for card in cards:
                ways *= left[card]
                left[card] -= 1
            if ways > 0:
                drawn.append((cards, ways))
        decks = np.repeat(self.deck[None], len(drawn), axis=0)
        for n, (cards, _) in enumerate(drawn):
            decks[n, places] = cards
            decks[n, self.dealt :] = sorted((unseen - Counter(cards)).elements())
        chance = np.array([float(ways) for _, ways in drawn])
        worlds = self.game.from_decks(decks, self.first)
        truth = self.game.from_decks(self.deck[None], self.first)
        memories, kept = start_memories(worlds, blueprint), np.arange(len(drawn))
        then: list[list[list[Hand]]] = []  # turn, player, world
        for turn, event in enumerate(self.events):
            actor, action = int(event.player[0]), int(event.action[0])
            shown = hands_of(worlds, 1 - actor)
            able = worlds.legal[:, action]
            able &= [infostate_id(hand) not in excluded.get(turn, set()) for hand in shown]
            if evidence[turn]:
                view = worlds.view(actor)
                policy = blueprint[actor].probabilities(view, view.legal, memories[actor])
                uniform = view.legal / np.maximum(view.legal.sum(axis=1, keepdims=True), 1)
                chance = chance * ((1 - epsilon) * policy + epsilon * uniform)[:, action]
            then.append([hands_of(worlds, 0), hands_of(worlds, 1)])
            on = np.flatnonzero(able & (chance > 0))
            worlds, memories = worlds.select(on), tuple(take(memory, on) for memory in memories)
            worlds.step(np.full(len(worlds), action))
            truth.step(np.array([action]))
            same = (_public(worlds) == _public(truth)).all(axis=1)
            later = np.flatnonzero(same)
            worlds = worlds.select(later)
            on = on[later]
            kept, chance = kept[on], chance[on]
            then = [[[hands[i] for i in on] for hands in of] for of in then]
            memories = tuple(take(memory, later) for memory in memories)
            moved = (np.full(len(on), actor), np.full(len(on), action))
            memories = observe_all(worlds, *moved, blueprint, memories)
        first = len(self.places[0])
        chance = chance / chance.sum()
        return [
            PublicWorld(
                (drawn[k][0][:first], drawn[k][0][first:]),
                float(chance[n]),
                [(of[0][n], of[1][n]) for of in then],
            )
            for n, k in enumerate(kept)
        ]

    @staticmethod
    def _seen(worlds: HanabiWorlds) -> list[bytes]:
        return [worlds.view(p).keys()[0] for p in range(worlds.game.num_players)]


def _public(worlds: HanabiWorlds) -> IntArray:
    """What neither the hands nor the deck tell."""
    rows = worlds.rows.copy()
    size = worlds.game.config.players * worlds.game.config.hand_size
    rows[:, HANDS : HANDS + size] = 0
    rows[:, -worlds.game.config.deck_size :] = 0
    return rows.astype(np.int64)


def infostate_id(hand: Hand) -> int:
    """A hand in one number, 5 bits a card, the oldest lowest."""
    return sum(card << 5 * i for i, card in enumerate(hand))


def hands_of(worlds: HanabiWorlds, seat: int) -> list[Hand]:
    """[N] the hands of a seat, without empty slots."""
    tokens = worlds.game.private_tokens(worlds, seat).tolist()
    return [tuple(card for card in hand if card >= 0) for hand in tokens]
