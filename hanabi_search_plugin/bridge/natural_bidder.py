"""A bidder by a page of rules: what it holds, what partner has shown, what both can make together.

Points are high-card points. A bid shows points and a suit by ``shown``; once the own side has bid,
the sum of what both hands have says how high to go, and the longest fit in what strain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.bridge.auction import BIDS, DOUBLE, PASS, Auctions
from hanabi_search_plugin.bridge.bidding_game import BridgeView
from hanabi_search_plugin.bridge.deals import POINTS, lengths
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.streams import Streams

CLUBS, DIAMONDS, HEARTS, SPADES, NT = range(5)
GAME = (5, 5, 4, 4, 3)  # the level of each strain that earns a bonus
IN_A_SUIT = (0, 18, 21, 24, 26, 29, 33, 37)  # points and distribution of both hands, by level
IN_NO_TRUMP = (0, 19, 23, 25, 28, 31, 33, 37)  # points of both hands, by level


class NaturalBidder(Policy):
    """A deterministic bidder for ``BridgeBidding``.

    It plays five-card majors, a no trump of 15 to 17 points, a strong 2C, weak twos and threes,
    overcalls, takeout doubles and raises by points. It knows the hand, the bids and the legal
    calls. Raises UnsupportedError for views of other games.
    """

    public_memory = True

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        if not isinstance(view, BridgeView):
            raise UnsupportedError(f"expected a view of BridgeBidding, got {view!r}")
        wishes = [
            _wish(Hand.of(held), AuctionView(view.auctions, b, view.player))
            for b, held in enumerate(view.held)
        ]
        calls = np.array(wishes, dtype=np.int64)
        return np.where(legal[np.arange(len(view)), calls], calls, PASS)


@dataclass(frozen=True)
class Hand:
    """What a hand is worth."""

    points: int
    suits: tuple[int, ...]  # [4] cards of each

    @classmethod
    def of(cls, held: BoolArray) -> Hand:
        """The hand of cards [52]."""
        return cls(int(POINTS[held].sum()), tuple(lengths(held[None])[0].tolist()))

    @property
    def longest(self) -> int:
        """The longest suit, the higher of two."""
        return max(range(4), key=lambda suit: (self.suits[suit], suit))

    @property
    def balanced(self) -> bool:
        return min(self.suits) >= 2 and self.suits.count(2) <= 1

    @property
    def distribution(self) -> int:
        """Points for short suits, with trumps."""
        return sum({0: 5, 1: 3, 2: 1}.get(length, 0) for length in self.suits)


class AuctionView:
    """The bids of one auction, as one seat looks at them."""

    def __init__(self, auctions: Auctions, b: int, seat: int) -> None:
        by = auctions.bidder[b]
        self.last = int(auctions.last[b])
        self.first = int(np.argmax(by >= 0)) if self.last >= 0 else PASS
        self.mine = _bids(by, seat)
        self.partners = _bids(by, (seat + 2) % 4)
        self.theirs = sorted(_bids(by, (seat + 1) % 4) + _bids(by, (seat + 3) % 4))
        self.ours = self.last >= 0 and self.last not in self.theirs

    def lowest(self, strain: int) -> int:
        """The cheapest bid in a strain; no call where it would be above 7."""
        level, on = divmod(self.last, 5) if self.last >= 0 else (0, -1)
        return bid(level + 1 + (strain <= on), strain)


def bid(level: int, strain: int) -> int:
    """The call of a level 1 to 7 and a strain."""
    return 5 * (level - 1) + strain


def _bids(by: IntArray, seat: int) -> list[int]:
    """The bids of a seat, lowest first."""
    found: list[int] = np.flatnonzero(by == seat).tolist()
    return found


def _wish(hand: Hand, auction: AuctionView) -> int:
    """The call, if it is legal."""
    if auction.partners:
        return _together(hand, auction)
    if auction.mine:  # partner has passed
        rebid = auction.lowest(hand.longest)
        strong = hand.points >= 16 and hand.suits[hand.longest] >= 6
        return rebid if strong and len(auction.mine) == 1 and rebid < bid(4, CLUBS) else PASS
    return _overcall(hand, auction) if auction.theirs else _opening(hand)


def _opening(hand: Hand) -> int:
    suit, points = hand.longest, hand.points
    length = hand.suits[suit]
    if points >= 22:
        return bid(2, CLUBS)
    if hand.balanced and points >= 20:
        return bid(2, NT)
    if hand.balanced and 15 <= points <= 17:
        return bid(1, NT)
    if points >= 12 or (points >= 10 and length >= 6):
        if length >= 5:
            return bid(1, suit)
        return bid(1, DIAMONDS if hand.suits[DIAMONDS] >= max(4, hand.suits[CLUBS]) else CLUBS)
    if points >= 5 and length >= 7:
        return bid(3, suit)
    return bid(2, suit) if points >= 6 and length == 6 and suit != CLUBS else PASS


def _overcall(hand: Hand, auction: AuctionView) -> int:
    suit, strain, level = hand.longest, auction.theirs[-1] % 5, auction.theirs[-1] // 5 + 1
    call = auction.lowest(suit)
    needed = {1: 8, 2: 11, 3: 14}.get(call // 5 + 1, 17)
    if hand.suits[suit] >= 5 and suit != strain and needed <= hand.points <= 17:
        return call
    if strain != NT and hand.suits[strain] <= 2 and hand.points >= 10 + 2 * level:
        return DOUBLE
    return DOUBLE if hand.points >= 15 + 2 * level else PASS


def shown(bids: list[int], others: list[int], first: int) -> tuple[int, list[int]]:
    """The least points that a seat's bids promise, and the least length [4] of each suit.

    ``others`` are its partner's bids, ``first`` is the auction's first bid.
    """
    points, length = 0, [0, 0, 0, 0]
    for k, call in enumerate(bids):
        level, strain = call // 5 + 1, call % 5
        raised = strain != NT and any(o % 5 == strain and o < call for o in others)
        if call == first:
            points = {bid(2, CLUBS): 22, bid(1, NT): 15, bid(2, NT): 20}.get(call, 12)
            points = 6 if level >= 2 and points == 12 else points
            if strain != NT and call != bid(2, CLUBS):
                length[strain] = 4 + level if level > 1 else 3 + (strain >= HEARTS) * 2
        elif raised:
            points = max(points, 4 + 2 * level if k == 0 else points + 2)
            length[strain] = max(length[strain], 3)
        else:
            points = max(points, {1: 6, 2: 9, 3: 11}.get(level, 12) if k == 0 else points + 1)
            if strain != NT:
                length[strain] = length[strain] + 1 if length[strain] else 4 + (k == 0)
    return points, length


def _together(hand: Hand, auction: AuctionView) -> int:
    """As high as both hands carry, in the longest fit or no trump."""
    least, length = shown(auction.partners, auction.mine, auction.first)
    fits = [own + theirs if theirs else 0 for own, theirs in zip(hand.suits, length, strict=True)]
    trumps = max(range(4), key=lambda suit: (fits[suit], suit))
    if fits[trumps] >= 8:
        strain, both, ladder = trumps, least + hand.points + hand.distribution, IN_A_SUIT
    else:
        new = _new_suit(hand, auction, length, least + hand.points)
        if new is not None:
            return new
        strain, both, ladder = NT, least + hand.points, IN_NO_TRUMP
    level = sum(both >= needed for needed in ladder[1:])
    level = min(level, GAME[strain]) if level < 6 else level
    if auction.ours and (auction.last % 5 == strain or level < GAME[strain]):
        last = auction.last
        playable = last % 5 == NT or fits[last % 5] >= 7 or last in auction.mine
        if last // 5 + 1 >= level or (playable and level < GAME[strain]):
            return PASS
    lowest = auction.lowest(strain)
    if lowest >= BIDS or lowest // 5 + 1 > level:
        return PASS
    return bid(level, strain) if level >= GAME[strain] else lowest


def _new_suit(hand: Hand, auction: AuctionView, length: list[int], both: int) -> int | None:
    """A suit of one's own that is still cheap to tell of; None for none."""
    bid_strains = {call % 5 for call in auction.mine}
    for suit in sorted(range(4), key=lambda suit: (-hand.suits[suit], suit)):
        enough = hand.suits[suit] >= (4 if not auction.mine else 5 - (suit < HEARTS))
        call = auction.lowest(suit)
        if enough and suit not in bid_strains and not length[suit] and call < bid(3, CLUBS):
            needed = 18 if call < bid(2, CLUBS) else 22
            if both >= needed and len(auction.mine) < 3:
                return call
    return None
