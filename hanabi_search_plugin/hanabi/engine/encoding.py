"""Encode observations: OpenSpiel's, bit by bit, as bytes or packed bits, and the V0 belief.

Letters: B worlds, W words of a row, N elements of an observation.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding_kernels import (
    reverse_bytes,
    spread_bytes,
    spread_floats,
    weigh,
    write_bits,
)
from hanabi_search_plugin.hanabi.engine.layout import dims_of

ENCODINGS = ("openspiel", "packed", "v0")


def sections(config: HanabiConfig) -> dict[str, slice]:
    """Where each part of an "openspiel" or "v0" observation lies, in order.

    Hands and knowledge are relative to the observer: the next player's hand is the first of
    ``hands``, the observer's own cards are the first of ``knowledge``, where a card has its
    plausible identities, then the colour and the rank that it was told to be. A ``"minimal"``
    observation has no ``knowledge``.
    """
    p, h, c, r = config.players, config.hand_size, config.colors, config.ranks
    sizes = {
        "hands": (p - 1) * h * c * r,
        "missing_cards": p,
        "deck": config.deck_size - p * h,
        "fireworks": c * r,
        "information_tokens": config.information_tokens,
        "life_tokens": config.life_tokens,
        "discards": config.deck_size,
        "last_action": 2 * p + 4 + c + r + 2 * h + c * r + 2,
    }
    if config.observation_type != "minimal":
        sizes["knowledge"] = p * h * (c * r + c + r)
    ends = np.cumsum(list(sizes.values())).tolist()
    return {
        name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)
    }


def observation_size(config: HanabiConfig) -> int:
    """N, the number of elements of an "openspiel" or "v0" observation."""
    return int(max(part.stop for part in sections(config).values()))


def encode(config: HanabiConfig, rows: NDArray[np.int32], seat: int, encoding: str) -> NDArray[Any]:
    """The observation of ``seat`` in rows [B, W], which may be hidden to it.

    "openspiel": uint8 [B, N], zeros and ones. "packed": uint8 [B, ceil(N / 8)], the same bits as
    ``np.packbits`` packs them. "v0": float32 [B, N], where a card's plausible identities have
    their probability by the public remaining copies in place of ones.
    All are views of a larger array, whose rows are whole words.
    Raises UnsupportedError for any other encoding.
    """
    if encoding not in ENCODINGS:
        raise UnsupportedError(f"encoding must be one of {', '.join(ENCODINGS)}, got {encoding!r}")
    size = observation_size(config)
    words = np.empty((len(rows), (size + 63) // 64), dtype=np.int64)
    dims = dims_of(config)
    minimal = config.observation_type == "minimal"
    seer = config.observation_type == "seer"
    write_bits(dims, encoder_tables(config), rows, seat, minimal, seer, words)
    if encoding == "packed":
        reverse_bytes(words)
        return words.view(np.uint8)[:, : (size + 7) // 8]
    if encoding == "openspiel":
        spread = np.empty((len(rows), 8 * words.shape[1]), dtype=np.int64)
        spread_bytes(_byte_table(), words, spread)
        return spread.view(np.uint8)[:, :size]
    floats = np.empty((len(rows), 64 * words.shape[1]), dtype=np.float32)
    spread_floats(_float_table(), words, floats)
    if not minimal:
        weigh(dims, rows, words, sections(config)["knowledge"].start, floats)
    return floats[:, :size]


@functools.cache
def encoder_tables(config: HanabiConfig) -> NDArray[np.int64]:
    """[4, 32] bit patterns.

    Row k < 3: for a set of ranks, the k-th last element of each rank's part of one colour's
    discards. Row 3: for a set of colours, the first identity of each.
    """
    sets = np.arange(32)
    table = np.zeros((4, 32), dtype=np.int64)
    ends = np.cumsum(config.copies)
    for rank, copies in enumerate(config.copies):
        for k in range(copies):
            table[k] |= (sets >> rank & 1) << (ends[rank] - 1 - k)
    for color in range(config.colors):
        table[3] |= (sets >> color & 1) << (config.ranks * color)
    return table


@functools.cache
def _byte_table() -> NDArray[np.int64]:
    """[256]: the eight bits of a byte, lowest first, as the bytes of a word in memory."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return np.ascontiguousarray(bits).view(np.int64)[:, 0]


@functools.cache
def _float_table() -> NDArray[np.float32]:
    """[256, 8]: the bits of a byte, lowest first."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return bits.astype(np.float32)
