"""Network architectures by the names that checkpoints and the command line use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.foreign import PublicQ
from hanabi_search_plugin.networks.modules import Network, built, require_options, seeded
from hanabi_search_plugin.networks.nets.advised import AdvisedLSTM, AdvisedMasks
from hanabi_search_plugin.networks.nets.mask_net import MaskNet
from hanabi_search_plugin.networks.nets.public_belief_net import PublicBeliefNet
from hanabi_search_plugin.networks.nets.split_nets import FeedForward, PublicLSTM, Recurrent

ARCHITECTURES: dict[str, Callable[..., Network]] = {
    "masks": MaskNet,
    "public-belief": PublicBeliefNet,
    "public-lstm": PublicLSTM,
    "feed-forward": FeedForward,
    "recurrent": Recurrent,
    "public-q": PublicQ,
    "advised-lstm": AdvisedLSTM,
    "advised-masks": AdvisedMasks,
}
"""The architectures by name: what makes a network of a configuration and options."""


def make_network(name: str, config: HanabiConfig, options: Mapping[str, Any]) -> Network:
    """A new network of the architecture ``name``, one of ``ARCHITECTURES``, for a configuration.

    ``options`` are the keyword arguments of its class. Its weights are drawn from PyTorch's global
    generator (``new_network`` takes a seed). Raises ConfigError for an unknown name or option.
    """
    require_choice("architecture", name, ARCHITECTURES)
    require_options(f"architecture {name}", ARCHITECTURES[name], options)
    try:
        return built(lambda: ARCHITECTURES[name](config, **options))
    except TypeError as error:
        raise ConfigError(f"options of architecture {name} do not fit: {error}") from None


def new_network(name: str, config: HanabiConfig, options: Mapping[str, Any], seed: int) -> Network:
    """``make_network`` with weights that follow from ``seed``; PyTorch's own generator stays."""
    with seeded(seed):
        return make_network(name, config, options)


def name_of(network: Network) -> str:
    """The name of a network's architecture."""
    return next(name for name, kind in ARCHITECTURES.items() if type(network) is kind)
