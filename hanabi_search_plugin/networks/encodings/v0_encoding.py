"""The encoding "v0-1" of public checkpoints: OpenSpiel's observation with the V0 belief.

Letters: B worlds, N bytes, V identities.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import View
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import observation_size, sections
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding

Tensor = Any  # torch.Tensor


class V0(Encoding):
    """OpenSpiel's observation; plausible identities are weighted by the copies left (V0 belief).

    Both parts are packed bits, eight a byte, in the order of the seat, whose own cards come first.
    ``private`` is the whole observation, ``public`` the same without the hands.
    """

    name = "v0-1"
    seat_relative = True

    def __init__(self, config: HanabiConfig) -> None:
        super().__init__(config)
        self.parts = sections(config)
        self.private_size = observation_size(config)
        self.hands = self.parts["hands"].stop
        self.public_size = self.private_size - self.hands
        self.public_words = -(-self.private_size // 8)
        self.alone = slice(0, self.hands)

    def public(self, view: View) -> NDArray[np.uint8]:
        packed = np.array(self.private(view))
        whole, rest = divmod(self.hands, 8)
        packed[:, :whole] = 0
        if rest:
            packed[:, whole] &= 0xFF >> rest
        return packed

    def private(self, view: View) -> NDArray[np.uint8]:
        return np.ascontiguousarray(self.native(view).observation("packed"))

    def expand_alone(self, public: Tensor, private: Tensor) -> Tensor:
        return _unpacked(private[:, : -(-self.hands // 8)], self.hands)

    def expand_public(self, public: Tensor) -> Tensor:
        bits = _unpacked(public, self.private_size)
        config, parts, batch = self.config, self.parts, len(bits)
        identities = config.colors * config.ranks
        left = self._copies_left(bits)
        width = identities + config.colors + config.ranks
        cards = bits[:, parts["knowledge"]].reshape(batch, -1, width)
        weights = cards[..., :identities] * left.unsqueeze(1)
        weights = weights / weights.sum(-1, keepdim=True).clamp(min=1)
        belief = torch.cat([weights, cards[..., identities:]], -1).flatten(1)
        return torch.cat([bits[:, self.hands : parts["knowledge"].start], belief], 1)

    def _copies_left(self, bits: Tensor) -> Tensor:
        """[B, V] copies of each identity that are neither discarded nor on the fireworks."""
        config, batch = self.config, len(bits)
        copies, rank_of = _copies(config, bits.device)
        gone = bits[:, self.parts["discards"]].reshape(batch, config.colors, -1)
        discarded = gone @ rank_of
        tops = bits[:, self.parts["fireworks"]].reshape(batch, config.colors, config.ranks)
        played = tops.flip(-1).cumsum(-1).flip(-1)  # every rank up to the top
        return (copies - discarded - played).flatten(1)


@functools.lru_cache(maxsize=64)
def _copies(config: HanabiConfig, device: torch.device) -> tuple[Tensor, Tensor]:
    """float32 [R] the copies of each rank, and [their sum, R] one-hot which rank each has.

    Cached, so that they are copied to a device once.
    """
    ranks = np.repeat(np.arange(config.ranks), config.copies)
    one_hot = ranks[:, None] == np.arange(config.ranks)
    copies = torch.tensor(config.copies, dtype=torch.float32, device=device)
    return copies, torch.tensor(one_hot, dtype=torch.float32, device=device)


def _unpacked(packed: Tensor, size: int) -> Tensor:
    """[B, size] the first bits of bytes [B, N] as float32."""
    places = torch.arange(7, -1, -1, device=packed.device, dtype=torch.uint8)
    return ((packed.unsqueeze(-1) >> places) & 1).flatten(1)[:, :size].float()
