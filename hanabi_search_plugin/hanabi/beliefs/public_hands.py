"""The public belief of native Hanabi for two players: a range of hands for each (SPARTA, Method).

What a player knows beyond the public is the other's hand, so it has an information state for each
hand that the other may hold. The id is that hand, 5 bits a card, oldest lowest. Given the public
history the two hands are independent but for the cards they share, which the counts account for.

Letters: N or E information states, n worlds of each, W words of a row.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.belief import require_update
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, take
from hanabi_search_plugin.core.public_belief import (
    PublicBelief,
    normalised,
    require_chance,
    require_ids,
    require_known,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs import infostate_kernels as kernels
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.beliefs.hand_range import HandRange, begun_notes
from hanabi_search_plugin.hanabi.beliefs.joint_history import (
    RemovedCard,
    card_removed,
    cards_left,
    hand_before,
    public_view,
)
from hanabi_search_plugin.hanabi.beliefs.partner_kinds import make_partners
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import NO_CARD


@dataclass(frozen=True, eq=False, repr=False)
class HandRanges(PublicBelief):
    """The public belief of two players. Made by ``beliefs.exact.public_belief``."""

    game: HanabiRules
    blueprint: Blueprint
    turn: int
    public: HanabiView  # what everybody sees: all hands are hidden
    ranges: tuple[HandRange, HandRange]  # of player 0's hand, and of player 1's
    removed: tuple[RemovedCard, ...] = ()  # cards that have left hands so far

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
            HandRange.at_start(
                game,
                blueprint,
                public_view(game, view, seat),
                make_partners(game, blueprint, seat, view, epsilon=epsilon, uncertainty=0.0),
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

    def caveats(self) -> list[str]:
        return [*super().caveats(), *begun_notes("the public belief", self.ranges[0].begun_after)]

    def infostate_of(self, view: View) -> int:
        assert isinstance(view, HanabiView)
        return _pack(view.rows[0, self.game.hand_slots(1 - view.player)])

    def public_part(self, view: View) -> bytes | None:
        assert isinstance(view, HanabiView)
        return public_view(self.game, view, 0).rows.tobytes()

    # ------------------------------------------------------------------------------- updates

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> HandRanges:
        require_update(event, view, self.game, self.public)
        assert isinstance(view, HanabiView)
        view.require_last(event)
        first, second = (
            self.ranges[seat].update(
                event, public_view(self.game, view, seat), by_blueprint=by_blueprint
            )
            for seat in (0, 1)
        )
        public = public_view(self.game, view, 0)
        card = card_removed(self.game, self.turn, event, public)
        removed = self.removed if card is None else (*self.removed, card)
        return replace(
            self, turn=self.turn + 1, public=public, ranges=(first, second), removed=removed
        )

    def exclude(self, player: int, turn: int, ids: IntArray) -> HandRanges:
        part, then = self._grown(player, turn)
        kept = part.select(np.flatnonzero(~np.isin(then, ids)))
        if not len(kept.hands):
            kept = part.recover(part)
        first, second = (kept if seat == 1 - player else self.ranges[seat] for seat in (0, 1))
        return replace(self, ranges=(first, second))

    def _grown(
        self, player: int, turn: int, limit: int | None = None
    ) -> tuple[HandRange, IntArray]:
        """The other's range, with its cards of that turn enumerated, and the ids then of its hands.

        ``limit`` ends the enumeration after so many hands.
        """
        holder = 1 - player
        part = self.ranges[holder]
        since = [card for card in self.removed if card.turn >= turn and card.player == holder]
        still = cards_left(part.present + sum(not card.drew for card in since), since)
        if part.known < still:
            part = part.enumerate(part.hinted, upto=still, limit=limit)
        then = part.hands.astype(np.int64)
        for card in reversed(since):
            then = hand_before(then, card)
        return part, then

    # ------------------------------------------------------------------------------- queries

    def _known(self, player: int, ids: object) -> IntArray:
        """[E] ids of hands that hints and the cards not yet played or discarded allow."""
        found: IntArray = require_ids(player, ids, self.game)
        seen = self.ranges[1 - player]
        small = (found >= 0) & (found >> 5 * seen.present == 0)
        cards = np.where(small, found, 0)
        known = small & (_ways(cards, seen.present, seen.unseen) > 0)
        for slot in range(seen.present):
            known &= seen.hinted[slot] >> (cards >> 5 * slot & 31) & 1 != 0
        require_known(player, found, known)
        return found

    def size(self, player: int) -> int:
        return self.ranges[1 - player].size

    def infostates(self, player: int) -> IntArray:
        return self.ranges[1 - player].fully_enumerated().hands.astype(np.int64)

    def ancestors(self, player: int, turn: int, limit: int) -> IntArray | None:
        part, then = self._grown(player, turn, limit + 1)
        if part is not self.ranges[1 - player] and len(then) > limit:
            return None  # the range was enumerated for this: every id is another
        found = np.unique(then)
        return found if len(found) <= limit else None

    def view_of(self, player: int, ids: IntArray) -> HanabiView:
        ids = require_ids(player, ids, self.game)
        public = self.public.rows[0]
        rows = np.empty((len(ids), len(public)), dtype=np.int32)
        kernels.fill_views(self.game.dims, public, 1 - player, ids, rows)
        return HanabiView(self.game, player, rows)

    def memory_of(self, player: int, ids: IntArray) -> Memory:
        ids = require_ids(player, ids, self.game)
        hands = self.ranges[1 - player]
        return hands.partners.memories(hands, hands.rows_of(ids))[player]

    def possible(self, player: int, ids: IntArray) -> BoolArray:
        ids = require_ids(player, ids, self.game)
        hands = self.ranges[player]
        possible = np.empty(len(ids), dtype=np.bool_)
        kernels.possible_infostates(
            self.game.dims, self.view_of(player, ids).rows, player, hands.hands, hands.known,
            possible,
        )  # fmt: skip
        return possible

    def weights(self, player: int, ids: IntArray) -> FloatArray:
        """See ``PublicBelief.weights``. Takes time in proportion to E x hands of the range."""
        ids = self._known(player, ids)
        weights = np.empty(len(ids))
        seen = self.ranges[1 - player]
        own = seen.likelihood[seen.rows_of(ids)] if len(seen.likelihood) else np.ones(len(ids))
        for e, infostate in enumerate(ids.tolist()):
            given = self._given(player, infostate)
            weights[e] = given.weights().sum() if len(given.hands) else 0.0
        cards = _ways(ids, seen.present, seen.unseen)
        weights *= cards * own
        return normalised(weights)

    def condition_on(self, player: int, infostate: int) -> HandBelief:
        return self._given(player, int(self._known(player, [infostate])[0]))

    def _given(self, player: int, infostate: int) -> HandBelief:
        own, ids = self.ranges[player], np.array([infostate])
        view = self.view_of(player, ids)
        given = {f.name: getattr(own, f.name) for f in fields(own)}
        belief = HandBelief(**given, own_memory=self.memory_of(player, ids))
        return belief.with_view(view)

    def sample(
        self, player: int, ids: IntArray, chance: Streams
    ) -> tuple[HanabiWorlds, tuple[Memory, ...]]:
        ids = self._known(player, ids)
        require_chance(chance)
        hands, views = self.ranges[player], self.view_of(player, ids)
        n = len(chance)
        rows = np.empty((len(ids) * n, views.rows.shape[1]), dtype=np.int32)
        picks = np.empty(len(rows), dtype=np.int64)
        kernels.sample_worlds(
            self.game.dims, views.rows, player, hands.hands, hands.likelihood, hands.known,
            hands.unseen, hands.blocks[1:], chance.state, rows, picks,
        )  # fmt: skip
        memories = list(hands.partners.memories(hands, picks))
        memories[player] = take(self.memory_of(player, ids), np.repeat(np.arange(len(ids)), n))
        return HanabiWorlds(self.game, rows), tuple(memories)


def _pack(cards: NDArray[Any]) -> int:
    return sum(int(card) << 5 * i for i, card in enumerate(cards) if card != NO_CARD)


def _ways(ids: IntArray, cards: int, unseen: IntArray) -> FloatArray:
    """[E] ways to draw each hand from the unseen cards."""
    ways, each = np.ones(len(ids)), np.arange(len(ids))
    left = np.repeat(unseen[None], len(ids), axis=0)
    for i in range(cards):
        card = ids >> 5 * i & 31
        ways *= np.maximum(left[each, card], 0)
        left[each, card] -= 1
    return ways
