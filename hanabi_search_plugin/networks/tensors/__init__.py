"""Hanabi as PyTorch tensors: rules, chance, encodings and rollouts on any device.

Names load on first use, and PyTorch with the first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hanabi_search_plugin.core.extras import needing
from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.networks.tensors.tensor_encoding import encoded
    from hanabi_search_plugin.networks.tensors.tensor_rollout import (
        TensorPlayers,
        play_out,
        uniform_moves,
    )
    from hanabi_search_plugin.networks.tensors.tensor_streams import TensorStreams
    from hanabi_search_plugin.networks.tensors.tensor_worlds import TensorWorlds

__all__ = [
    "TensorPlayers",
    "TensorStreams",
    "TensorWorlds",
    "encoded",
    "play_out",
    "uniform_moves",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "tensor_encoding": ("encoded",),
        "tensor_rollout": ("TensorPlayers", "play_out", "uniform_moves"),
        "tensor_streams": ("TensorStreams",),
        "tensor_worlds": ("TensorWorlds",),
    },
    partial(needing, "torch", "Hanabi as tensors"),
)
