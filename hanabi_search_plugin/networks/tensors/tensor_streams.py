"""``core.streams.Streams`` on any device, with the same numbers bit by bit.

Letters: B worlds, N numbers of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from hanabi_search_plugin.core.streams import Streams

Tensor = Any  # torch.Tensor

# SplitMix64's constants, as PyTorch's int64 has them; its products wrap as uint64's do.
_GAMMA = 0x9E3779B97F4A7C15 - 2**64
_MIX1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX2 = 0x94D049BB133111EB - 2**64


class TensorStreams:
    """B independent streams of uniform numbers, one a world; see ``Streams``.

    ``state`` is int64 [B], with the bits of the uint64 state of ``Streams``.
    """

    def __init__(self, state: Tensor) -> None:
        self.state = state

    @classmethod
    def of(cls, streams: Streams, device: torch.device | str = "cpu") -> TensorStreams:
        """A copy of ``streams``; it continues with the same numbers."""
        return cls(torch.tensor(streams.state.view(np.int64), device=device))

    @classmethod
    def spawn(
        cls, rng: np.random.Generator, n: int, device: torch.device | str = "cpu"
    ) -> TensorStreams:
        """n new streams; takes n 64-bit draws from ``rng``."""
        return cls.of(Streams.spawn(rng, n), device)

    def __len__(self) -> int:
        return len(self.state)

    def bits(self) -> Tensor:
        """64 random bits a world, int64 [B]; every stream advances by one."""
        return self.many(1)[:, 0]

    def many(self, n: int) -> Tensor:
        """The next n numbers of 64 bits a world, int64 [B, N]."""
        steps = torch.arange(1, n + 1, device=self.state.device) * _GAMMA
        z = self.state.unsqueeze(1) + steps
        self.state = self.state + _wrapped(n * _GAMMA)
        z = (z ^ _shifted(z, 30)) * _MIX1
        z = (z ^ _shifted(z, 27)) * _MIX2
        return z ^ _shifted(z, 31)

    def uniform(self) -> Tensor:
        """One number in [0, 1) a world, float64 [B]; every stream advances by one."""
        return _shifted(self.bits(), 11).double() * 2.0**-53

    def below(self, n: int) -> Tensor:
        """One integer in [0, n) a world, int64 [B], n < 2**31; every stream advances by one."""
        return _shifted(self.bits(), 33) * n >> 31


def _shifted(z: Tensor, places: int) -> Tensor:
    """Shifted to the right as uint64 is: zeros come in."""
    return (z >> places) & ((1 << (64 - places)) - 1)


def _wrapped(x: int) -> int:
    """A whole number as the int64 that has its lowest bits."""
    return (x + 2**63) % 2**64 - 2**63
