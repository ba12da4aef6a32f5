"""The public belief of native Hanabi for two players: a range of hands for each (SPARTA, Method).

What a player knows beyond the public is the other's hand, so its entries are the hands the other
may hold. Given the public history the two hands are independent but for the cards they share, which
the counts take care of. An entry's label is that hand, 5 bits a card, oldest lowest.

Letters: N or E entries, n worlds of each, W words of a row.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, take
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs import entry_kernels as kernels
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.beliefs.hand_range import HandRange
from hanabi_search_plugin.hanabi.beliefs.joint_history import (
    Gone,
    card_gone,
    hand_before,
    left_of,
    public_view,
)
from hanabi_search_plugin.hanabi.beliefs.partner_kinds import make_partners
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import NO_CARD


@dataclass(frozen=True, eq=False)
class HandRanges(PublicBelief):
    """The public belief of two players. Made by ``HanabiGame.public_belief``."""

    game: HanabiRules
    blueprint: Blueprint
    turn: int
    public: HanabiView  # all hands are hidden
    ranges: tuple[HandRange, HandRange]  # of player 0's hand, and of player 1's
    gone: tuple[Gone, ...] = ()

    @classmethod
    def start(
        cls, game: HanabiRules, blueprint: Blueprint, view: View, *, epsilon: float = 0.0
    ) -> HandRanges:
        """See ``beliefs.exact.public_belief``."""
        if game.num_players != 2:
            raise UnsupportedError(
                f"public beliefs of native Hanabi need 2 players, got {game.num_players}"
            )
        assert isinstance(view, HanabiView)
        first, second = (
            HandRange.before_any_event(
                game,
                blueprint,
                public_view(game, view, seat),
                make_partners(game, blueprint, seat, epsilon=epsilon, uncertainty=0.0),
                epsilon=epsilon,
            )
            for seat in (0, 1)
        )
        return cls(game, blueprint, 0, public_view(game, view, 0), (first, second))

    @property
    def recovered(self) -> int:
        return self.ranges[0].recovered + self.ranges[1].recovered

    @property
    def exact(self) -> bool:
        return self.ranges[0].exact and self.ranges[1].exact

    @property
    def likelihoods(self) -> int:
        return self.ranges[0].likelihoods + self.ranges[1].likelihoods

    def entry_of(self, view: View) -> int:
        assert isinstance(view, HanabiView)
        return _pack(view.rows[0, self.game.hand_slots(1 - view.player)])

    def public_part(self, view: View) -> bytes | None:
        assert isinstance(view, HanabiView)
        return public_view(self.game, view, 0).rows.tobytes()

    # ------------------------------------------------------------------------------- updates

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> HandRanges:
        assert isinstance(view, HanabiView)
        first, second = (
            self.ranges[seat].update(
                event, public_view(self.game, view, seat), by_blueprint=by_blueprint
            )
            for seat in (0, 1)
        )
        public = public_view(self.game, view, 0)
        card = card_gone(self.game, self.turn, event, public)
        gone = self.gone if card is None else (*self.gone, card)
        return replace(self, turn=self.turn + 1, public=public, ranges=(first, second), gone=gone)

    def exclude(self, player: int, turn: int, entries: IntArray) -> HandRanges:
        part, labels = self._grown(player, turn)
        kept = part.select(np.flatnonzero(~np.isin(labels, entries)))
        if not len(kept.hands):
            kept = part.recover(part)
        first, second = (kept if seat == 1 - player else self.ranges[seat] for seat in (0, 1))
        return replace(self, ranges=(first, second))

    def _grown(
        self, player: int, turn: int, limit: int | None = None
    ) -> tuple[HandRange, IntArray]:
        """The other's range, spelled out as far as its hand of that turn goes, and the labels then.

        ``limit`` ends the spelling out at so many hands; labels are those of the hands found.
        """
        holder = 1 - player
        part = self.ranges[holder]
        since = [card for card in self.gone if card.turn >= turn and card.player == holder]
        still = left_of(part.present + sum(not card.drew for card in since), since)
        if part.known < still:
            part = part.enumerate(part.told, upto=still, limit=limit)
        labels = part.hands.astype(np.int64)
        for card in reversed(since):
            labels = hand_before(labels, card)
        return part, labels

    # ------------------------------------------------------------------------------- queries

    def size(self, player: int) -> int:
        return self.ranges[1 - player].size

    def entries(self, player: int) -> IntArray:
        return self.ranges[1 - player].spelled_out().hands.astype(np.int64)

    def ancestors(self, player: int, turn: int, limit: int) -> IntArray | None:
        part, labels = self._grown(player, turn, limit + 1)
        if part is not self.ranges[1 - player] and len(labels) > limit:
            return None  # spelled out as far as that turn's hand: every label is another
        found = np.unique(labels)
        return found if len(found) <= limit else None

    def view_of(self, player: int, entries: IntArray) -> HanabiView:
        public = self.public.rows[0]
        rows = np.empty((len(entries), len(public)), dtype=np.int32)
        kernels.fill_views(self.game.dims, public, 1 - player, entries, rows)
        return HanabiView(self.game, player, rows)

    def memory_of(self, player: int, entries: IntArray) -> Memory:
        hands = self.ranges[1 - player]
        return hands.partners.memories(hands, hands.find(entries))[player]

    def possible(self, player: int, entries: IntArray) -> BoolArray:
        hands = self.ranges[player]
        possible = np.empty(len(entries), dtype=np.bool_)
        kernels.possible_entries(
            self.game.dims, self.view_of(player, entries).rows, player, hands.hands, hands.known,
            possible,
        )  # fmt: skip
        return possible

    def weights(self, player: int, entries: IntArray) -> FloatArray:
        """See ``PublicBelief.weights``. Takes a time of entries x hands of the player's range."""
        weights = np.empty(len(entries))
        seen = self.ranges[1 - player]
        own = seen.likelihood[seen.find(entries)] if len(seen.likelihood) else np.ones(len(entries))
        for e, entry in enumerate(entries.tolist()):
            given = self.condition_on(player, entry)
            weights[e] = given.weights().sum() if len(given.hands) else 0.0
        cards = _ways(entries, seen.present, seen.unseen)
        weights *= cards * own
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def condition_on(self, player: int, entry: int) -> HandBelief:
        own, entries = self.ranges[player], np.array([entry])
        view = self.view_of(player, entries)
        given = {f.name: getattr(own, f.name) for f in fields(own)}
        belief = HandBelief(**given, own_memory=self.memory_of(player, entries))
        return belief.seen(view).possible()

    def sample(
        self, player: int, entries: IntArray, chance: Streams
    ) -> tuple[HanabiWorlds, tuple[Memory, ...]]:
        hands, views = self.ranges[player], self.view_of(player, entries)
        n = len(chance)
        rows = np.empty((len(entries) * n, views.rows.shape[1]), dtype=np.int32)
        picks = np.empty(len(rows), dtype=np.int64)
        kernels.sample_entries(
            self.game.dims, views.rows, player, hands.hands, hands.likelihood, hands.known,
            hands.unseen, hands.blocks[1:], chance.state, rows, picks,
        )  # fmt: skip
        memories = list(hands.partners.memories(hands, picks))
        memories[player] = take(
            self.memory_of(player, entries), np.repeat(np.arange(len(entries)), n)
        )
        return HanabiWorlds(self.game, rows), tuple(memories)


def _pack(cards: NDArray[Any]) -> int:
    return sum(int(card) << 5 * i for i, card in enumerate(cards) if card != NO_CARD)


def _ways(entries: IntArray, cards: int, unseen: IntArray) -> FloatArray:
    """Ways to draw each hand from the unseen cards."""
    ways = np.ones(len(entries))
    for e, entry in enumerate(entries.tolist()):
        counts = unseen.copy()
        for i in range(cards):
            card = (entry >> 5 * i) & 31
            ways[e] *= max(counts[card], 0)
            counts[card] -= 1
    return ways
