"""What everybody saw of a game of native Hanabi, and what it says of the others' hands together.

A *label* is the hands of all players but one, 5 bits a slot, the lowest player's oldest card
lowest. Cards that leave a hand become public, so the label of an earlier turn follows from today's.

Letters: E labels, P players, H slots of a hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hanabi_search_plugin.core.game import Event, IntArray
from hanabi_search_plugin.hanabi.beliefs.hand_range import all_kinds, told_by
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView
from hanabi_search_plugin.hanabi.engine.hands import count_unseen
from hanabi_search_plugin.hanabi.engine.layout import (
    DREW,
    HIDDEN_CARD,
    LAST_CARD,
    LAST_FLAGS,
    NO_CARD,
)

Labels = Any  # [E] int64 where they fit, else objects (Python's integers): 5 players need 80 bits


@dataclass(frozen=True)
class Gone:
    """A card that left a hand."""

    turn: int  # before it
    player: int
    slot: int
    card: int
    drew: bool  # another came
    cards: int  # in the hand afterwards


@dataclass(frozen=True)
class RuledOut:
    """Entries that the player who moved at an earlier turn cannot have held."""

    player: int
    turn: int
    labels: Labels


@dataclass(frozen=True, eq=False)
class PublicStep:
    """What happened: the start, a move, or entries ruled out. It stands for all before it, too."""

    turn: int
    public: HanabiView  # after it; all hands are hidden
    told: IntArray  # [P, H] identities that the hints leave possible in each slot
    event: Event | None = None  # a move
    by_blueprint: bool = True
    gone: Gone | None = None  # the card that left a hand by the move
    ruled_out: RuledOut | None = None


def first_step(game: HanabiRules, view: HanabiView) -> PublicStep:
    told = np.full((game.num_players, game.config.hand_size), all_kinds(game))
    return PublicStep(0, public_view(game, view), told)


def next_step(
    game: HanabiRules, before: PublicStep, event: Event, view: HanabiView, by_blueprint: bool
) -> PublicStep:
    """A move, from any seat's view after it."""
    public = public_view(game, view)
    mover, action = int(event.player[0]), int(event.action[0])
    told, gone = before.told.copy(), card_gone(game, before.turn, event, public)
    hint = told_by(game, mover, action, public)
    if hint is not None:
        told[hint[0]] &= hint[1]
    if gone is not None:
        told[mover] = np.append(np.delete(told[mover], gone.slot), all_kinds(game))
    return PublicStep(before.turn + 1, public, told, event, by_blueprint, gone)


def public_view(game: HanabiRules, view: HanabiView, seat: int = 0) -> HanabiView:
    """What everybody sees, as a view of ``seat``: the cards of all hands are hidden."""
    rows = view.rows.copy()
    hands = rows[:, game.hand_slots(0).start : game.hand_slots(game.num_players - 1).stop]
    hands[hands != NO_CARD] = HIDDEN_CARD
    return HanabiView(game, seat, rows)


@dataclass(frozen=True)
class PublicHistory:
    """The steps of a game so far, and labels on their way through them."""

    game: HanabiRules
    steps: tuple[PublicStep, ...]

    @property
    def now(self) -> PublicStep:
        return self.steps[-1]

    def others(self, player: int) -> list[int]:
        return [other for other in range(self.game.num_players) if other != player]

    def began(self, turn: int) -> int:
        """The step that began a turn."""
        return next(i for i, step in enumerate(self.steps) if step.turn == turn)

    def cards(self, holder: int) -> int:
        """How many cards a hand has now."""
        return _cards(self.game, self.now.public, holder)

    def as_old(self, holder: int, turn: int, at: int) -> int:
        """Of the cards in a hand after step ``at``, how many had it at ``turn``: its oldest."""
        began = self.began(turn)
        gone = [step.gone for step in self.steps[began + 1 : at + 1] if step.gone is not None]
        then = _cards(self.game, self.steps[began].public, holder)
        return left_of(then, [card for card in gone if card.player == holder])

    def unseen(self) -> IntArray:
        """[32] copies of each identity in the deck and all hands."""
        unseen = np.zeros(32, dtype=np.int64)
        count_unseen(self.game.dims, self.now.public.rows[0], 0, unseen)
        return unseen

    def ruled_out(self, player: int) -> list[RuledOut]:
        """Of this player's entries."""
        out = [step.ruled_out for step in self.steps]
        return [one for one in out if one is not None and one.player == player]

    # -------------------------------------------------------------------------------- labels

    def labels(self, entries: Any) -> Labels:
        """[E] as an array that can hold them."""
        fits = 5 * self._slots * (self.game.num_players - 1) < 64
        return np.array([int(e) for e in entries], dtype=np.int64 if fits else object)

    def pack(self, view: HanabiView) -> int:
        """The label of what a seat sees."""
        label = 0
        for other in self.others(view.player):
            for slot, card in enumerate(view.rows[0, self.game.hand_slots(other)].tolist()):
                label |= (card if card != NO_CARD else 0) << self.shift(view.player, other, slot)
        return label

    def shift(self, player: int, other: int, slot: int = 0) -> int:
        """Where a slot of ``other`` stands in the labels of ``player``."""
        return 5 * (self._slots * (other - (other > player)) + slot)

    def hand(self, player: int, other: int, labels: Any) -> Any:
        """The hand of ``other`` in a label of ``player`` or an array of them, 5 bits a slot."""
        return labels >> self.shift(player, other) & (1 << 5 * self._slots) - 1

    def card(self, player: int, other: int, slot: int, labels: Labels) -> IntArray:
        """[E] the identity in a slot."""
        return np.asarray(labels >> self.shift(player, other, slot) & 31, dtype=np.int64)

    def parent(self, i: int, player: int, labels: Any) -> Any:
        """A label after step i, or an array of them, as it was before."""
        gone = self.steps[i].gone
        if gone is None or gone.player == player:
            return labels
        hand, at = self.hand(player, gone.player, labels), self.shift(player, gone.player)
        return labels ^ (hand ^ hand_before(hand, gone)) << at

    def path(self, player: int, labels: Labels) -> list[Labels]:
        """Labels of today as they were at each step, today's last."""
        path = [labels]
        for i in range(len(self.steps) - 1, 0, -1):
            path.append(self.parent(i, player, path[-1]))
        return path[::-1]

    def view(self, i: int, player: int, labels: Labels) -> HanabiView:
        """[E] what ``player`` sees after step i where the others hold these hands."""
        rows = np.repeat(self.steps[i].public.rows, len(labels), axis=0)
        for other in self.others(player):
            for slot in range(_cards(self.game, self.steps[i].public, other)):
                at = self.game.hand_slots(other).start + slot
                rows[:, at] = self.card(player, other, slot, labels)
        return HanabiView(self.game, player, rows)

    @property
    def _slots(self) -> int:
        return self.game.config.hand_size


def card_gone(game: HanabiRules, turn: int, event: Event, public: HanabiView) -> Gone | None:
    """The card that left a hand by a move; None for a hint."""
    row, mover = public.rows[0], int(event.player[0])
    if row[LAST_CARD] < 0:
        return None
    slot, drew = int(event.action[0]) % game.config.hand_size, bool(row[LAST_FLAGS] & DREW)
    return Gone(turn, mover, slot, int(row[LAST_CARD]), drew, _cards(game, public, mover))


def left_of(cards: int, gone: list[Gone]) -> int:
    """Of so many cards of a hand, how many are still in it after others and some of them left."""
    for card in gone:
        cards -= card.slot < cards
    return cards


def hand_before(hands: Any, gone: Gone) -> Any:
    """Hands (5 bits a slot) as they were before a card left them."""
    if gone.drew:
        hands = hands & ((1 << 5 * (gone.cards - 1)) - 1)
    at = 5 * gone.slot
    return hands & ((1 << at) - 1) | gone.card << at | hands >> at << at + 5


def joint_hands(
    slots: list[tuple[int, list[int]]], copies: IntArray, limit: int
) -> list[int] | None:
    """All ways to fill slots (shift in the label, identities) from so many copies of each.

    None where there are more than ``limit``. The narrowest slots go first, so that what cannot be
    completed ends early.
    """
    slots = sorted(slots, key=lambda slot: len(slot[1]))
    left, found = copies.tolist(), []

    def fill(depth: int, label: int) -> bool:
        if depth == len(slots):
            found.append(label)
            return len(found) <= limit
        shift, kinds = slots[depth]
        for card in kinds:
            if left[card] > 0:
                left[card] -= 1
                few = fill(depth + 1, label | card << shift)
                left[card] += 1
                if not few:
                    return False
        return True

    return found if fill(0, 0) else None


def _cards(game: HanabiRules, view: HanabiView, holder: int) -> int:
    return int((view.rows[0, game.hand_slots(holder)] != NO_CARD).sum())
