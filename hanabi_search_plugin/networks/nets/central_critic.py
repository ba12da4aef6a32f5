"""A critic for self-play alone: it sees all hands, which no player does.

A centralised critic with decentralised actors, as in MAPPO (Yu et al., 2022). It reads what
``Network.central`` returns. Letters: B positions, S numbers of one.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from hanabi_search_plugin.networks.modules import layers

Tensor = Any  # torch.Tensor


class CentralCritic(nn.Module):
    """Score points still to come, from ``numbers`` (S) of a position."""

    def __init__(self, numbers: int, hidden: int = 256) -> None:
        super().__init__()
        self.layers = layers(numbers, hidden, hidden // 2)
        self.value = nn.Linear(hidden // 2, 1)

    def forward(self, central: Tensor) -> Tensor:
        """[B] from [B, S]."""
        value: Tensor = self.value(self.layers(central)).squeeze(1)
        return value
