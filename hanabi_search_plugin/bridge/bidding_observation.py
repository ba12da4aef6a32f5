"""The encoding of a bidding view as 268 numbers, each 0 or 1.

It is that of Joint Policy Search's bridge network (Tian, Gong and Jiang, NeurIPS 2020):

* 0 to 51 the cards held; 52, 87, 122, 157 and the 34 after each: bids made by the seat itself, its
  partner, the player before it, the player after it; 192 to 226 bids that were doubled
* 227 and 228 whether NS and EW are vulnerable, whoever asks; 229 to 267 the legal calls, the last
  of which never is
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.bridge.auction import BIDS, CALLS, Auctions
from hanabi_search_plugin.bridge.deals import CARDS
from hanabi_search_plugin.core.game import BoolArray

NAME = "jps"
SIZE = 268


def encoded(
    held: BoolArray, auctions: Auctions, vulnerable: BoolArray, seat: int, legal: BoolArray
) -> NDArray[np.float32]:
    """[B, 268] for the hand [B, 52] of ``seat``, vulnerability [B, 2], legal calls [B, 38]."""
    parts = [held]
    parts += [auctions.bidder == (seat + k) % 4 for k in (0, 2, 3, 1)]
    parts += [auctions.doubled, vulnerable, legal, np.zeros((len(held), 1), dtype=np.bool_)]
    return np.concatenate(parts, axis=1).astype(np.float32)


assert CARDS + 5 * BIDS + 2 + CALLS + 1 == SIZE
