"""Deals of 52 cards to four seats, and how they are written.

A card is 13 * suit + rank, suits C 0, D 1, H 2, S 3, ranks A 0, K 1 down to 2, 12. Seats are N 0,
E 1, S 2, W 3. A deal is the seat that holds each card. Letters: B deals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import RecordError

SEATS = "NESW"
RANKS = "AKQJT98765432"
CARDS = 52
HAND = 13  # cards of a seat

Owners = NDArray[np.int8]  # [B, 52] the seat that holds each card

POINTS = np.tile(np.array([4, 3, 2, 1] + 9 * [0]), 4)  # [52] high-card points of each card


def lengths(held: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[B, 4] cards of each suit in hands [B, 52]."""
    return np.asarray(held.reshape(-1, 4, HAND).sum(axis=2), dtype=np.int64)


def hand_text(held: NDArray[np.bool_]) -> str:
    """One hand [52] as PBN writes it, spades first: ``AK.J982.Q986.Q65``."""
    suits = held.reshape(4, HAND)
    return ".".join("".join(RANKS[r] for r in np.flatnonzero(suits[s])) for s in (3, 2, 1, 0))


def deal_text(owners: NDArray[np.int8]) -> str:
    """One deal [52] in PBN: ``N:`` and the hands of N, E, S and W."""
    return "N:" + " ".join(hand_text(owners == seat) for seat in range(4))


def read_deal(text: str) -> NDArray[np.int8]:
    """[52] a deal in PBN. Raises RecordError for what is none of 13 different cards a seat."""
    first, colon, hands = text.partition(":")
    parts = hands.split()
    if not colon or first not in tuple(SEATS) or len(parts) != 4:
        raise RecordError(f"expected a deal as N:AK.J98.Q9.Q6 and three hands more, got {text!r}")
    owners = np.full(CARDS, -1, dtype=np.int8)
    for k, hand in enumerate(parts):
        suits = hand.split(".")
        if len(suits) != 4:
            raise RecordError(f"expected a hand of four suits, spades first, got {hand!r}")
        for suit, ranks in zip((3, 2, 1, 0), suits, strict=True):
            for rank in ranks:
                card = HAND * suit + RANKS.find(rank)
                if rank not in RANKS or owners[card] >= 0:
                    raise RecordError(f"expected each card once in {text!r}, got {rank!r} again")
                owners[card] = (SEATS.index(first) + k) % 4
    if (np.bincount(owners[owners >= 0], minlength=4) != HAND).any():
        raise RecordError(f"expected 13 cards a seat, got {text!r}")
    return owners
