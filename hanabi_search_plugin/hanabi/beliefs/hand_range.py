"""The range of hands that a seat of native Hanabi may hold, with weights, for one observer.

P(hand | history) is proportional to the ways to draw the hand from the unseen cards, times the
probability that the others made their moves with the seat holding it (SPARTA, equation 6).
The first factor is recomputed from the counts whenever it is needed, so that own draws, others'
draws and revealed cards need no update at all; what is stored is the hands that are still possible
and, for stochastic partners, the second factor. Cards drawn since the last move of a partner are
*pending*: they are independent of everything else known and enumerated only when somebody who sees
them moves.

The observer is the seat itself (``HandBelief``) or the public, to whom all hands are hidden
(``HandRanges``).

Letters: N hands, G groups of hands under which the other seats' memories are the same, P players.
"""

from __future__ import annotations

import logging
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.beliefs.hand_filters import EVALUATED, PARENT, filter_hands
from hanabi_search_plugin.hanabi.bots.script import KIND, NO_BOT, SCRIPT, STOCHASTIC
from hanabi_search_plugin.hanabi.bots.shown_memories import shown_identities
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.hands import (
    BLOCK,
    count_unseen,
    fill_worlds,
    holding,
    possible_hands,
    thin_out,
    touch_identities,
    weigh_blocks,
    weigh_hands,
)
from hanabi_search_plugin.hanabi.engine.layout import LAST_CARD, MOVES
from hanabi_search_plugin.hanabi.engine.text import action_to_dict

logger = logging.getLogger("hanabi_search_plugin")

MAX_WALKED = 1 << 28  # hands listed by one update, about 3 ns each
MAX_TESTED = 1 << 25  # hands of those that a bot is asked about, 150 ns each
_ROOM = 1 << 20  # hands beyond ``partners.max_hands`` found before some are dropped
NO_INTS = np.empty(0, dtype=np.int64)
NO_FLOATS = np.empty(0)
TINY = 1e-100  # likelihoods are scaled up long before they are too small to be written


R = TypeVar("R", bound="HandRange")


class Partners(ABC):
    """The policies and memories of the other seats, as one seat's belief models them. Immutable."""

    see_new_cards: bool  # True if their memories depend on a card as soon as it is drawn

    @property
    @abstractmethod
    def max_hands(self) -> int:
        """The most hands that a belief keeps with these partners."""

    def start(self, belief: HandRange) -> Partners:
        """The partners with their memories at the start of a game."""
        return self

    @abstractmethod
    def condition(self, belief: R, actor: int, action: int, allowed: IntArray) -> R:
        """The belief given that ``actor`` plays ``action``, before the move is carried out.

        ``allowed`` int64 [H]: identities each slot may have, if the move is a hint to the seat.
        """

    @abstractmethod
    def observe(self, belief: HandRange, event: Event) -> tuple[Partners, IntArray] | None:
        """The partners with memories after the event that led to ``belief.view``; the groups [N].

        None if their memories depend on pending slots.
        """

    @abstractmethod
    def select(self, keep: NDArray[np.integer | np.bool_]) -> Partners:
        """The partners under the hands at ``keep``."""

    @abstractmethod
    def recover(self, before: HandRange, hand: int) -> Partners:
        """The partners where no hand is left: as under one hand (its row) of ``before``."""

    @abstractmethod
    def memories(self, belief: HandRange, pick: IntArray) -> tuple[Memory, ...]:
        """Each seat's memory under the hands at ``pick``; for the belief's own seat, anything."""


def begun_notes(belief: str, moves: int) -> list[str]:
    """The caveat of a belief that was begun after so many moves; none after no move."""
    if not moves:
        return []
    earlier = counted(moves, "earlier move is", "earlier moves are")
    return [f"{belief} begins in the middle of the game: {earlier} no evidence"]


def require_hidden_hand(game: HanabiRules) -> None:
    """Raises UnsupportedError for games in which everybody sees their own hand."""
    if game.config.observation_type == "seer":
        raise UnsupportedError(
            "a seer sees its own hand, so that there is no belief over it and nothing to search "
            f"for: leave out observation_type, got {game!r}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class HandRange:
    """The distribution over one seat's hand, given what an observer sees (``view``).

    ``exact`` turns False when an update would consider more than MAX_WALKED or MAX_TESTED hands or
    keep more than ``partners.max_hands``. That happens with hands of 6 cards and more, and at the
    start of a full game with partners that are stochastic or in plain Python. From then on the
    support is a pseudo-random part of the hands, the same for the same moves, weights unchanged.
    """

    game: HanabiRules
    blueprint: Blueprint
    seat: int
    epsilon: float
    uncertainty: float
    view: HanabiView
    partners: Partners  # the others' memories, and how they choose
    hands: NDArray[Any]  # [N] 5 bits a card, oldest lowest; int32, or int64 for 7 and 8 cards
    likelihood: FloatArray  # [N] probability of the others' moves, up to a factor; empty: all equal
    groups: IntArray  # [N] row of ``partners``' memories; empty: all 0
    hinted: IntArray  # [H] identities that the hints leave possible in each slot
    known: int  # slots enumerated in ``hands``; newer ones are pending
    present: int  # cards in the seat's hand
    unseen: IntArray  # [32] copies of each identity in the deck and the seat's hand
    likelihoods: int = 0
    recovered: int = 0
    exact: bool = True
    begun_after: int = 0  # moves played before the first view, which are no evidence

    @classmethod
    def at_start(
        cls,
        game: HanabiRules,
        blueprint: Blueprint,
        view: View,
        partners: Partners,
        *,
        epsilon: float = 0.0,
        uncertainty: float = 0.0,
    ) -> Self:
        """What is known at ``view``, the observer's first (a batch of one); see ``beliefs.exact``.

        In the middle of a game that is what the hints shown there and the copies left allow.
        Raises UnsupportedError for a view of another game, and for a seer, who sees its own hand.
        """
        if not isinstance(view, HanabiView) or len(view) != 1:
            raise UnsupportedError(f"a belief needs one view of native Hanabi, got {view!r}")
        if _shape(view.game) != _shape(game):
            raise UnsupportedError(f"expected a view of {game!r}, got one of {view.game!r}")
        require_hidden_hand(game)
        seat = view.player
        unseen, present = _count(game, view)
        belief = cls(
            game=game,
            blueprint=blueprint,
            seat=seat,
            epsilon=epsilon,
            uncertainty=uncertainty,
            view=view,
            partners=partners,
            hands=np.zeros(1, dtype=np.int32 if game.config.hand_size <= 6 else np.int64),
            likelihood=NO_FLOATS,
            groups=NO_INTS,
            hinted=_hinted(game, view),
            known=0,
            present=present,
            unseen=unseen,
            begun_after=int(view.rows[0, MOVES]),
        )
        hinted_slots = np.flatnonzero(belief.hinted[:present] != all_kinds(game))
        if len(hinted_slots):
            belief = belief.enumerate(belief.hinted, upto=int(hinted_slots[-1]) + 1)
        if belief.partners.see_new_cards:
            belief = belief.fully_enumerated()
        return replace(belief, partners=belief.partners.start(belief))

    @property
    def size(self) -> int:
        """Hands in the support; a product of counts where slots are pending (an upper bound)."""
        choices = int((self.unseen > 0).sum())
        return int(len(self.hands) * choices ** (self.present - self.known))

    # ------------------------------------------------------------------------------- updates

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> Self:
        """The range after an event and the observer's view after it (batches of one).

        With ``by_blueprint=False`` a partner's move is no evidence, and cards stay pending.
        """
        assert isinstance(view, HanabiView)
        actor, action = int(event.player[0]), int(event.action[0])
        if actor == self.seat:
            new = self._after_own_move(action, view)
        else:
            new = self._after_other_move(actor, action, view, by_blueprint)
        new = new.with_view(view)
        if not len(new.hands):
            new = new.recover(self)
        if len(new.likelihood) and new.likelihood.max() < TINY:
            new = replace(new, likelihood=new.likelihood / new.likelihood.max())
        if new.partners.see_new_cards:
            new = new.fully_enumerated()
        if (found := new.partners.observe(new, event)) is None:
            new = new.fully_enumerated()
            found = new.partners.observe(new, event)
            assert found is not None
        partners, groups = found
        return replace(new, partners=partners, groups=groups)

    def _after_own_move(self, action: int, view: HanabiView) -> Self:
        h = self.game.config.hand_size
        if action >= 2 * h:
            return self
        slot = action % h
        hinted = np.append(np.delete(self.hinted, slot), all_kinds(self.game))
        if slot >= self.known:
            return replace(self, hinted=hinted)
        shift, same = 5 * slot, np.empty(len(self.hands), dtype=np.bool_)
        holding(self.hands, slot, int(view.rows[0, LAST_CARD]), same)
        left = self.select(same)
        hands = (left.hands & ((1 << shift) - 1)) | (left.hands >> (shift + 5)) << shift
        return replace(left, hands=hands, hinted=hinted, known=self.known - 1)

    def _after_other_move(
        self, actor: int, action: int, view: HanabiView, by_blueprint: bool
    ) -> Self:
        allowed = self.hinted
        if (hint := read_hint(self.game, actor, action, view)) is not None and hint[0] == self.seat:
            allowed = allowed & hint[1]
        if by_blueprint:
            new = self.partners.condition(self, actor, action, allowed)
        else:
            # Slots that a hint says something of are enumerated; newer ones may stay pending.
            hinted = np.flatnonzero(allowed[: self.present] != all_kinds(self.game))
            new = self.enumerate(allowed, upto=max(self.known, 1 + int(hinted.max(initial=-1))))
        return replace(new, hinted=allowed)

    def select(self, keep: IntArray | BoolArray) -> Self:
        """The range with the hands at ``keep`` alone."""
        return replace(
            self,
            hands=self.hands[keep],
            likelihood=self.likelihood[keep] if len(self.likelihood) else NO_FLOATS,
            groups=self.groups[keep] if len(self.groups) else NO_INTS,
            partners=self.partners.select(keep),
        )

    def with_view(self, view: HanabiView) -> Self:
        """The range with this view, less the hands that need more copies than it leaves unseen."""
        unseen, present = _count(self.game, view)
        new = replace(self, view=view, unseen=unseen, present=present)
        if (unseen == self.unseen).all():  # under which all hands of the range are possible
            return new
        possible = np.empty(len(self.hands), dtype=np.bool_)
        count = possible_hands(self.hands, self.known, unseen, possible)
        return new if count == len(self.hands) else new.select(possible)

    def rows_of(self, hands: IntArray) -> IntArray:
        """[E] the row of each hand, by its known slots; the likeliest hand's where it has none."""
        if len(self.hands) == 1:
            return np.zeros(len(hands), dtype=np.int64)
        wanted = hands & ((1 << 5 * self.known) - 1)
        order = self._sorted
        at = order[np.minimum(np.searchsorted(self.hands, wanted, sorter=order), len(order) - 1)]
        missing = self.hands[at] != wanted
        if missing.any():
            at = np.where(missing, int(self.weights().argmax()), at)
        return np.asarray(at, dtype=np.int64)

    @cached_property
    def _sorted(self) -> IntArray:
        return np.argsort(self.hands)

    def recover(self, before: HandRange) -> Self:
        """Fall back to every hand that hints and visible cards allow, and log it.

        The evidence of all moves is dropped. The others' memories are those under the likeliest
        hand of ``before``, the range before the event.
        """
        logger.info(
            "no hand%s explains the partners' moves: seat %d falls back to the hints and the "
            "visible cards at move %d",
            "" if self.exact else " of those kept",
            self.seat,
            int(self.view.rows[0, MOVES]),
        )
        likeliest = int(before.weights().argmax())
        blank = replace(
            self,
            hands=np.zeros(1, dtype=self.hands.dtype),
            likelihood=NO_FLOATS,
            groups=NO_INTS,
            partners=before.partners.recover(before, likeliest),
            known=0,
            recovered=self.recovered + 1,
        )
        return blank.enumerate(self.hinted)

    # --------------------------------------------------------------------------- enumeration

    def enumerate(
        self,
        allowed: IntArray,
        *,
        script: IntArray | None = None,
        action: int = -1,
        memories: NDArray[np.int32] | None = None,
        upto: int | None = None,
        limit: int | None = None,
        relax: int = 0,
    ) -> Self:
        """Enumerate the pending slots within ``allowed`` [H], and filter by a bot's move.

        Of the pending slots those before slot ``upto`` are enumerated; None: all. ``script`` and
        ``memories`` int32 [G, words] are the bot's that makes ``action``; None: no move to filter
        by. ``limit`` stops after so many hands. ``relax`` leaves out fewer hands than the limits
        ask: it halves them that much less often, for a second try where no hand was left.
        """
        row = self.view.rows[0].copy()
        salt = zlib.crc32(row.tobytes())  # every position leaves other hands out
        memory = np.zeros((1, 1), dtype=np.int32) if memories is None else memories
        nobody = script is None
        if script is None:
            script = np.zeros(SCRIPT, dtype=np.int64)
            script[KIND] = NO_BOT
        stochastic = len(self.likelihood) > 0 or bool(script[STOCHASTIC])
        stochastic |= self.epsilon > 0.0 or self.uncertainty > 0.0
        most = self.partners.max_hands
        last = self.present if upto is None else upto
        bound = self._bound(allowed, last)
        coarse = _halvings(bound, MAX_WALKED) - relax if last - self.known > 2 else 0
        coarse = max(coarse, 0)
        thin = max(_halvings(bound, MAX_TESTED << coarse) - relax, 0)
        extra = _ROOM
        if limit is not None:
            most, coarse, thin, extra = limit, 0, 0, 0
        cursor = np.array([0, -1, 0], dtype=np.int64)
        cards, counts = np.zeros(8, dtype=np.int64), np.zeros(32, dtype=np.int64)
        capacity = int(min(bound, most + extra)) + 1  # what is never written takes no memory
        hands = np.empty(capacity, dtype=self.hands.dtype)
        likelihood = np.empty(capacity if stochastic else 0)
        parents = np.empty(capacity if len(self.hands) > 1 else 0, dtype=np.int32)
        n = 0
        while cursor[PARENT] < len(self.hands) and (limit is None or n < limit):
            n += filter_hands(
                self.game.dims, row, self.seat, self.hands, self.likelihood, self.groups, memory,
                self.known, last, self.unseen, allowed, script, self.epsilon,
                self.uncertainty, action,
                coarse, thin, salt, cursor, cards, counts, hands[n:], likelihood[n:], parents[n:],
            )  # fmt: skip
            while n > most and limit is None:
                thin += 1
                n = thin_out(hands[:n], likelihood[:n], parents[:n], thin, salt)
        if n == 0 and thin + coarse > 0 and nobody:
            return self.enumerate(allowed, upto=upto, relax=relax + 1)
        origin = parents[:n] if len(parents) else np.zeros(n, dtype=np.int32)
        few = n < capacity // 4  # a copy lets the capacity go
        return replace(
            self,
            hands=hands[:n].copy() if few else hands[:n],
            likelihood=likelihood[:n].copy() if few else likelihood[:n],
            groups=self.groups[origin] if len(self.groups) else NO_INTS,
            partners=self.partners.select(origin),
            known=last,
            likelihoods=self.likelihoods + int(cursor[EVALUATED]),
            exact=self.exact and thin == 0 and coarse == 0,
        )

    def _bound(self, allowed: IntArray, last: int) -> float:
        """An upper bound of the assignments to the slots before ``last``."""
        kinds = np.arange(32)
        bound = float(len(self.hands))
        for mask in allowed[self.known : last].tolist():
            bound *= int((((mask >> kinds) & 1) * (self.unseen > 0)).sum())
        return bound

    def fully_enumerated(self) -> Self:
        """The same range without pending slots."""
        if self.known == self.present:
            return self
        return self.enumerate(self.hinted)

    # ------------------------------------------------------------------------------- queries

    def weights(self) -> FloatArray:
        """[N] unnormalised probabilities of the hands, by their known slots."""
        weights = np.empty(len(self.hands))  # not needed to sample
        weigh_hands(self.hands, self.likelihood, self.known, self.unseen, weights)
        return weights

    def marginals(self) -> FloatArray:
        """[H, K] probability of each of the K identities in each slot; 0 in slots without a card.

        Identity k has colour k // ranks and rank k % ranks, both from 0.
        Nothing is listed for it: pending slots hold any of what the others leave over.
        """
        kinds = self.game.config.max_score
        chances = np.zeros((self.game.config.hand_size, kinds))
        weights = self.weights()
        total = weights.sum()
        for slot in range(self.known):
            cards = (self.hands >> (5 * slot)) & 31
            chances[slot] = np.bincount(cards, weights, minlength=kinds) / total
        unseen = self.unseen[:kinds]
        left = unseen - chances.sum(axis=0)  # on average
        chances[self.known : self.present] = left / max(int(unseen.sum()) - self.known, 1)
        return chances

    @cached_property
    def blocks(self) -> FloatArray:
        """[K + 1] the total weight of all hands before each block of BLOCK hands, and of all."""
        sums = np.empty(-(-len(self.hands) // BLOCK))
        weigh_blocks(self.hands, self.likelihood, self.known, self.unseen, sums)
        return np.append(0.0, np.cumsum(sums))

    def worlds_of(self, hands: IntArray, chance: Streams) -> HanabiWorlds:
        """The worlds in which the seat holds these hands [n]; ``chance`` [n] shuffles the rest."""
        rows = np.empty((len(hands), self.view.rows.shape[1]), dtype=np.int32)
        fill_worlds(
            self.game.dims, self.view.rows[0], self.seat, hands, self.known, self.present,
            self.unseen, chance.state, rows,
        )  # fmt: skip
        return HanabiWorlds(self.game, rows)


def _hinted(game: HanabiRules, view: HanabiView) -> IntArray:
    """[H] the identities that hints leave each slot of the viewer; all where it has no card."""
    shown = shown_identities(view)[0, view.player]
    return np.where(shown == 0, all_kinds(game), shown)


def _count(game: HanabiRules, view: HanabiView) -> tuple[IntArray, int]:
    unseen = np.zeros(32, dtype=np.int64)
    present = count_unseen(game.dims, view.rows[0], view.player, unseen)
    return unseen, int(present)


def read_hint(
    game: HanabiRules, actor: int, action: int, view: HanabiView
) -> tuple[int, IntArray] | None:
    """The player who got a hint, and the identities [H] that it leaves; None for another move.

    ``view`` is any seat's view after the move.
    """
    move = action_to_dict(game.config, action)
    if "target" not in move:
        return None
    by_rank = "rank" in move
    value = move["rank"] if by_rank else move["color"]
    allowed = np.empty(game.config.hand_size, dtype=np.int64)
    touch_identities(game.dims, view.rows[0], value, by_rank, allowed)
    return (actor + move["target"]) % game.config.players, allowed


def all_kinds(game: HanabiRules) -> int:
    """The set of all card identities, as a bit mask."""
    return (1 << game.config.max_score) - 1


def _halvings(count: float, limit: int) -> int:
    """How often to halve ``count`` so that at most ``limit`` are left."""
    return max(0, int(np.ceil(np.log2(max(count, 1.0) / limit))))


def _shape(game: HanabiRules) -> tuple[int, ...]:
    """What views of two games must agree in."""
    config = game.config
    return config.players, config.colors, config.ranks, config.hand_size
