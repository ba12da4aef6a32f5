"""Moves of OpenSpiel's card games that not every player sees, and what they do to the cards.

In hearts each player passes three cards on before play, and in euchre the dealer may take the
turned up card and lay another aside. What others hold in play is then not what they were dealt. So
hands are drawn as they are in play, and ``undo`` says what had been dealt and which hidden moves
were made. Both are equally likely in every way that fits, if these moves are made at random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hanabi_search_plugin.wrappers._openspiel_rules import State

Holder = frozenset[int] | None  # the players who see a place; None: cards that are not dealt yet

ASIDE = frozenset([-1])  # what the dealer of euchre has laid aside
PASSED = 3  # cards that each player of hearts passes on


class HiddenMoves:
    """What is hidden from one seat beside the deal; by default nothing."""

    times: frozenset[int] = frozenset()  # of the moves that the seat does not see
    fixed: dict[int, Holder] = {}  # noqa: RUF012  # cards whose holder the seat knows, in play
    own: frozenset[int] = frozenset()  # cards that others were dealt and the seat holds
    turned: tuple[int, ...] = ()  # cards that all saw dealt, and that now are hidden
    capacity: dict[Holder, int] = {}  # noqa: RUF012  # cards that holders have in play, where it differs

    def allowed(self, card: int, holders: list[Holder]) -> list[Holder]:
        """Those of the holders that may have a card."""
        return [self.fixed[card]] if card in self.fixed else holders

    def undo(self, hands: dict[Holder, list[int]], rng: np.random.Generator) -> dict[int, int]:
        """Make hands as they were dealt of those in play, in place; return the hidden moves by
        their times."""
        return {}


class Passing(HiddenMoves):
    """The passing of hearts: three cards of each player, to the left, across or to the right."""

    def __init__(self, moves: Sequence[int], first: int, direction: int, seat: int) -> None:
        """``first`` is the time of the first pass."""
        self.seat, self.direction = seat, direction
        self.turns = {
            p: [t for t in range(first + PASSED * p, first + PASSED * (p + 1)) if t < len(moves)]
            for p in range(4)
        }
        self.times = frozenset(t for p, ts in self.turns.items() if p != seat for t in ts)
        self.done = len(moves) >= first + 4 * PASSED
        self.fixed, self.capacity = {}, {}
        if self.done:
            self.given = [moves[t] for t in self.turns[seat]]
            self.taken = sorted(moves[t] for t in self.turns[(seat - direction) % 4])
            self.own = frozenset(self.taken)
            self.fixed = {c: frozenset([(seat + direction) % 4]) for c in self.given}

    def undo(self, hands: dict[Holder, list[int]], rng: np.random.Generator) -> dict[int, int]:
        others = [p for p in range(4) if p != self.seat]
        passed: dict[int, list[int]] = {}
        if not self.done:
            for p in others:
                passed[p] = _some(hands[frozenset([p])], len(self.turns[p]), rng)
        else:
            passed[self.seat] = self.given
            for p in others:
                to = (p + self.direction) % 4
                mine = to == self.seat
                passed[p] = self.taken if mine else _some(hands[frozenset([to])], PASSED, rng)
            for p in others:
                got = passed[(p - self.direction) % 4]
                hand = hands[frozenset([p])]
                hands[frozenset([p])] = [c for c in hand if c not in got] + passed[p]
        return {t: c for p in others for t, c in zip(self.turns[p], passed[p], strict=True)}


class LaidAside(HiddenMoves):
    """The card that the dealer of euchre, another seat, laid aside for the turned up one."""

    def __init__(self, time: int, dealer: int, upcard: int, hand: int) -> None:
        self.times, self.dealer, self.upcard = frozenset([time]), frozenset([dealer]), upcard
        self.turned = (upcard,)
        self.capacity = {self.dealer: hand, ASIDE: 1}
        self.fixed = {}

    def allowed(self, card: int, holders: list[Holder]) -> list[Holder]:
        return [self.dealer, ASIDE] if card == self.upcard else holders

    def undo(self, hands: dict[Holder, list[int]], rng: np.random.Generator) -> dict[int, int]:
        aside = hands.pop(ASIDE)
        hands[self.dealer] = [c for c in hands[self.dealer] + aside if c != self.upcard]
        return {next(iter(self.times)): aside[0]}


def hidden_moves(name: str, state: State, first: int, seat: int) -> HiddenMoves | None:
    """What a seat has not seen; ``first`` is the time of the first move after the deal.

    None for a game that is not known here.
    """
    moves = state.history()
    if name == "hearts":
        direction = moves[0] if state.get_game().get_parameters().get("pass_cards", True) else 0
        return Passing(moves, first, direction, seat) if direction else HiddenMoves()
    if name == "euchre":
        dealer, aside = state.dealer(), state.discard()
        if dealer == seat or aside is None or aside < 0:
            return HiddenMoves()
        players = [int(item.player) for item in state.full_history()]
        time = next(
            t for t in range(first, len(moves)) if players[t] == dealer and moves[t] == aside
        )
        return LaidAside(time, dealer, state.upcard(), 5)
    return None


def _some(cards: list[int], n: int, rng: np.random.Generator) -> list[int]:
    return [cards[k] for k in rng.permutation(len(cards))[:n].tolist()]
