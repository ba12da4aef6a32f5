"""The public history of a game of native Hanabi, and what each player saw of the others' hands.

For three players and more an information state of a player is all the others' hands together. Its
id is one integer, 5 bits a slot, the lowest player's oldest card lowest. Cards that leave a hand
become public, so the id at an earlier turn follows from the id of today.

Letters: E information states, P players, H slots of a hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hanabi_search_plugin.core.game import Event, IntArray
from hanabi_search_plugin.hanabi.beliefs.hand_range import all_kinds, read_hint
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView
from hanabi_search_plugin.hanabi.engine.hands import count_unseen
from hanabi_search_plugin.hanabi.engine.layout import (
    DREW,
    HIDDEN_CARD,
    LAST_CARD,
    LAST_FLAGS,
    NO_CARD,
)

Ids = Any  # [E] int64 where they fit, else objects (Python's integers): 5 players need 80 bits


@dataclass(frozen=True)
class RemovedCard:
    """A card that left a hand."""

    turn: int  # of the move by which it left
    player: int
    slot: int
    card: int
    drew: bool  # True if the player drew another
    cards: int  # in the hand afterwards


@dataclass(frozen=True)
class RuledOut:
    """Information states that the player who moved at an earlier turn cannot have been in."""

    player: int
    turn: int
    ids: Ids


@dataclass(frozen=True, eq=False)
class PublicStep:
    """One step of the public history: the start, a move, or information states ruled out.

    Steps are compared by identity: a step stands for all that came before it, too.
    """

    turn: int
    public: HanabiView  # what everybody sees after it: all hands are hidden
    hinted: IntArray  # [P, H] identities that the hints leave possible in each slot
    event: Event | None = None  # the move; None if it is none
    by_blueprint: bool = True  # False if the move is no evidence
    removed: RemovedCard | None = None  # the card that left a hand by the move
    ruled_out: RuledOut | None = None


def first_step(game: HanabiRules, view: HanabiView) -> PublicStep:
    """The start of a game, from any seat's first view."""
    hinted = np.full((game.num_players, game.config.hand_size), all_kinds(game))
    return PublicStep(0, public_view(game, view), hinted)


def next_step(
    game: HanabiRules, before: PublicStep, event: Event, view: HanabiView, by_blueprint: bool
) -> PublicStep:
    """The step of a move, from any seat's view after it."""
    public = public_view(game, view)
    mover, action = int(event.player[0]), int(event.action[0])
    hinted, removed = before.hinted.copy(), card_removed(game, before.turn, event, public)
    hint = read_hint(game, mover, action, public)
    if hint is not None:
        hinted[hint[0]] &= hint[1]
    if removed is not None:
        hinted[mover] = np.append(np.delete(hinted[mover], removed.slot), all_kinds(game))
    return PublicStep(before.turn + 1, public, hinted, event, by_blueprint, removed)


def public_view(game: HanabiRules, view: HanabiView, seat: int = 0) -> HanabiView:
    """What everybody sees, as a view of ``seat``: the cards of all hands are hidden."""
    rows = view.rows.copy()
    hands = rows[:, game.hand_slots(0).start : game.hand_slots(game.num_players - 1).stop]
    hands[hands != NO_CARD] = HIDDEN_CARD
    return HanabiView(game, seat, rows)


@dataclass(frozen=True)
class PublicHistory:
    """The steps of a game so far, and how ids of information states change along them."""

    game: HanabiRules
    steps: tuple[PublicStep, ...]

    @property
    def now(self) -> PublicStep:
        """The last step."""
        return self.steps[-1]

    def others(self, player: int) -> list[int]:
        """All players but one."""
        return [other for other in range(self.game.num_players) if other != player]

    def first_of(self, turn: int) -> int:
        """The index of the first step of a turn."""
        return next(i for i, step in enumerate(self.steps) if step.turn == turn)

    def cards(self, holder: int) -> int:
        """How many cards a hand has now."""
        return _cards(self.game, self.now.public, holder)

    def held_since(self, holder: int, turn: int, at: int) -> int:
        """How many of a hand's cards after step ``at`` it had at ``turn`` already: the oldest."""
        first = self.first_of(turn)
        removed = [step.removed for step in self.steps[first + 1 : at + 1]]
        then = _cards(self.game, self.steps[first].public, holder)
        return cards_left(then, [card for card in removed if card and card.player == holder])

    def unseen(self) -> IntArray:
        """[32] copies of each identity in the deck and all hands."""
        unseen = np.zeros(32, dtype=np.int64)
        count_unseen(self.game.dims, self.now.public.rows[0], 0, unseen)
        return unseen

    def ruled_out(self, player: int) -> list[RuledOut]:
        """All information states of ``player`` ruled out so far."""
        out = [step.ruled_out for step in self.steps]
        return [one for one in out if one is not None and one.player == player]

    # ----------------------------------------------------------------------------------- ids

    def as_ids(self, ids: Any) -> Ids:
        """[E] ids as an array that can hold them."""
        fits = 5 * self._slots * (self.game.num_players - 1) < 64
        return np.array([int(e) for e in ids], dtype=np.int64 if fits else object)

    def pack(self, view: HanabiView) -> int:
        """The id of the information state of a seat with this view."""
        packed = 0
        for other in self.others(view.player):
            for slot, card in enumerate(view.rows[0, self.game.hand_slots(other)].tolist()):
                packed |= (card if card != NO_CARD else 0) << self.shift(view.player, other, slot)
        return packed

    def shift(self, player: int, other: int, slot: int = 0) -> int:
        """The lowest bit of a slot of ``other`` in the ids of ``player``."""
        return 5 * (self._slots * (other - (other > player)) + slot)

    def hand(self, player: int, other: int, ids: Any) -> Any:
        """The hand of ``other``, 5 bits a slot, in an id of ``player`` or an array of them."""
        return ids >> self.shift(player, other) & (1 << 5 * self._slots) - 1

    def card(self, player: int, other: int, slot: int, ids: Ids) -> IntArray:
        """[E] the identity in a slot of ``other``."""
        return np.asarray(ids >> self.shift(player, other, slot) & 31, dtype=np.int64)

    def parent(self, i: int, player: int, ids: Any) -> Any:
        """The id before step i of an id after it; or an array of them."""
        removed = self.steps[i].removed
        if removed is None or removed.player == player:
            return ids
        hand, at = self.hand(player, removed.player, ids), self.shift(player, removed.player)
        return ids ^ (hand ^ hand_before(hand, removed)) << at

    def path(self, player: int, ids: Ids) -> list[Ids]:
        """The ids after each step from which those of today grew; today's last."""
        path = [ids]
        for i in range(len(self.steps) - 1, 0, -1):
            path.append(self.parent(i, player, path[-1]))
        return path[::-1]

    def view(self, i: int, player: int, ids: Ids) -> HanabiView:
        """[E] what ``player`` sees after step i in the information states of these ids then."""
        rows = np.repeat(self.steps[i].public.rows, len(ids), axis=0)
        for other in self.others(player):
            for slot in range(_cards(self.game, self.steps[i].public, other)):
                at = self.game.hand_slots(other).start + slot
                rows[:, at] = self.card(player, other, slot, ids)
        return HanabiView(self.game, player, rows)

    @property
    def _slots(self) -> int:
        return self.game.config.hand_size


def card_removed(
    game: HanabiRules, turn: int, event: Event, public: HanabiView
) -> RemovedCard | None:
    """The card that left a hand by a move; None for a hint. ``public`` is the view after it."""
    row, mover = public.rows[0], int(event.player[0])
    if row[LAST_CARD] < 0:
        return None
    slot, drew = int(event.action[0]) % game.config.hand_size, bool(row[LAST_FLAGS] & DREW)
    return RemovedCard(turn, mover, slot, int(row[LAST_CARD]), drew, _cards(game, public, mover))


def cards_left(cards: int, removed: list[RemovedCard]) -> int:
    """How many of the ``cards`` oldest cards of a hand are still in it after these removals."""
    for card in removed:
        cards -= card.slot < cards
    return cards


def hand_before(hands: Any, removed: RemovedCard) -> Any:
    """Hands (5 bits a slot) as they were before a card left them."""
    if removed.drew:
        hands = hands & ((1 << 5 * (removed.cards - 1)) - 1)
    at = 5 * removed.slot
    return hands & ((1 << at) - 1) | removed.card << at | hands >> at << at + 5


def joint_hands(
    slots: list[tuple[int, list[int]]], copies: IntArray, limit: int
) -> list[int] | None:
    """All ids that fill slots (lowest bit, identities) from so many copies of each identity.

    None if there are more than ``limit``. The narrowest slots are filled first, so that what cannot
    be completed ends early.
    """
    slots = sorted(slots, key=lambda slot: len(slot[1]))
    left, found = copies.tolist(), []

    def fill(depth: int, packed: int) -> bool:
        if depth == len(slots):
            found.append(packed)
            return len(found) <= limit
        shift, kinds = slots[depth]
        for card in kinds:
            if left[card] > 0:
                left[card] -= 1
                few = fill(depth + 1, packed | card << shift)
                left[card] += 1
                if not few:
                    return False
        return True

    return found if fill(0, 0) else None


def _cards(game: HanabiRules, view: HanabiView, holder: int) -> int:
    return int((view.rows[0, game.hand_slots(holder)] != NO_CARD).sum())
