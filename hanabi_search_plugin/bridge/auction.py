"""The auction of contract bridge, many at once: what may be called, when it ends, the contract.

Calls: bid 5 * (level - 1) + strain is 0 to 34 with strains C 0, D 1, H 2, S 3, NT 4; then a pass, a
double and a redouble. Letters: B auctions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import NOBODY, PAD, BoolArray, IntArray

STRAINS = ("C", "D", "H", "S", "NT")
BIDS = 35
PASS, DOUBLE, REDOUBLE = 35, 36, 37
CALLS = 38
LONGEST = 319  # calls: three passes, then each bid doubled and redoubled, two passes between


class Contract(NamedTuple):
    """What auctions came to, [B] each; level 0 where all passed."""

    level: IntArray
    strain: IntArray
    declarer: IntArray
    doubling: IntArray  # 0, 1 doubled, 2 redoubled


@dataclass
class Auctions:
    """B auctions. Arrays are changed by ``play`` alone; ``select`` copies."""

    dealer: NDArray[np.int8]  # [B]
    calls: NDArray[np.int8]  # [B, T] in order, PAD after the last; T grows
    count: NDArray[np.int64]  # [B] calls made
    passes: NDArray[np.int64]  # [B] passes since the last other call
    last: NDArray[np.int64]  # [B] the last bid, -1 before the first
    doubling: NDArray[np.int8]  # [B] of the last bid: 0, 1 doubled, 2 redoubled
    bidder: NDArray[np.int8]  # [B, 35] the seat that made each bid, -1 for none
    doubled: BoolArray  # [B, 35] True for bids that were doubled
    namer: NDArray[np.int8]  # [B, 2, 5] of each side, who named the strain first; -1 for none

    @classmethod
    def begin(cls, dealer: NDArray[np.int8]) -> Auctions:
        """Auctions without a call, by who deals [B]."""
        size = len(dealer)
        return cls(
            dealer=dealer,
            calls=np.full((size, 16), PAD, dtype=np.int8),
            count=np.zeros(size, dtype=np.int64),
            passes=np.zeros(size, dtype=np.int64),
            last=np.full(size, -1, dtype=np.int64),
            doubling=np.zeros(size, dtype=np.int8),
            bidder=np.full((size, BIDS), -1, dtype=np.int8),
            doubled=np.zeros((size, BIDS), dtype=np.bool_),
            namer=np.full((size, 2, 5), -1, dtype=np.int8),
        )

    def __len__(self) -> int:
        return len(self.dealer)

    def select(self, index: NDArray[np.integer] | BoolArray) -> Auctions:
        """A copy of the auctions at ``index``."""
        return Auctions(*(getattr(self, field.name)[index] for field in fields(self)))

    @property
    def over(self) -> BoolArray:
        """[B] True after three passes in a row, four if nobody bid."""
        return np.asarray(self.passes >= np.where(self.last < 0, 4, 3))

    @property
    def caller(self) -> IntArray:
        """[B] whose call it is, NOBODY where the auction is over."""
        return np.where(self.over, NOBODY, (self.dealer + self.count) % 4)

    @property
    def legal(self) -> BoolArray:
        """[B, 38] True for calls that may be made; all False where the auction is over."""
        mask = np.zeros((len(self), CALLS), dtype=np.bool_)
        mask[:, :BIDS] = np.arange(BIDS) > self.last[:, None]
        mask[:, PASS] = True
        by = self.bidder[np.arange(len(self)), self.last]  # of no meaning where nobody bid
        ours = (by % 2) == (self.dealer + self.count) % 2
        mask[:, DOUBLE] = (self.last >= 0) & ~ours & (self.doubling == 0)
        mask[:, REDOUBLE] = (self.last >= 0) & ours & (self.doubling == 1)
        mask[self.over] = False
        return mask

    def play(self, calls: IntArray) -> None:
        """Make a legal call in each auction."""
        row, caller = np.arange(len(self)), (self.dealer + self.count) % 4
        if len(self) and int(self.count.max()) == self.calls.shape[1]:
            more = np.full_like(self.calls, PAD)
            self.calls = np.concatenate([self.calls, more], axis=1)
        self.calls[row, self.count] = calls
        self.count = self.count + 1
        self.passes = np.where(calls == PASS, self.passes + 1, 0)
        bid = np.flatnonzero(calls < BIDS)
        what, who = calls[bid], caller[bid]
        self.last = np.where(calls < BIDS, calls, self.last)
        self.doubling[bid] = 0
        self.bidder[bid, what] = who
        side, strain = who % 2, what % 5
        first = self.namer[bid, side, strain]
        self.namer[bid, side, strain] = np.where(first < 0, who, first)
        for call, to in ((DOUBLE, 1), (REDOUBLE, 2)):
            rows = np.flatnonzero(calls == call)
            self.doubling[rows] = to
            self.doubled[rows, self.last[rows]] = True

    @property
    def contract(self) -> Contract:
        """What the auctions have come to if they end now."""
        row, bid = np.arange(len(self)), np.maximum(self.last, 0)
        by = self.bidder[row, bid]
        declarer = self.namer[row, by % 2, bid % 5]
        bought = self.last >= 0
        return Contract(
            level=np.where(bought, bid // 5 + 1, 0),
            strain=np.where(bought, bid % 5, 0),
            declarer=np.where(bought, declarer, 0).astype(np.int64),
            doubling=np.where(bought, self.doubling, 0).astype(np.int64),
        )


def call_text(call: int) -> str:
    """A call in words: ``1NT``, ``pass``, ``double``."""
    if call < BIDS:
        return f"{call // 5 + 1}{STRAINS[call % 5]}"
    return ("pass", "double", "redouble")[call - PASS]
