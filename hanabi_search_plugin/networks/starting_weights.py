"""Start a training from the weights of another network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.architectures import name_of
from hanabi_search_plugin.networks.catalogue import require_network
from hanabi_search_plugin.networks.checkpoint import Loaded
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.nets.advised import Advised
from hanabi_search_plugin.networks.shipped import load_named


def load_starting_weights(network: Network, start: str) -> dict[str, Any]:
    """Copy the weights of ``start``, a file or a network of this package, into ``network``.

    Returns the record of that network's training. An ``Advised`` network may start from one without
    an adviser: it copies the weights that both have (from "masks", all but the memory's).

    Raises ConfigError where there is no such network, or its architecture or options differ;
    CheckpointError and OSError as ``load_network``.
    """
    loaded = network_from("start", start, network.config)
    other = loaded.network
    if type(other) is type(network) and other.options == network.options:
        network.load_state_dict(other.state_dict())
        return loaded.training
    if not isinstance(network, Advised):
        raise ConfigError(
            f"start must be a network like this run's, {name_of(network)} of {network.options}, "
            f"got {name_of(other)} of {other.options}"
        )
    mine, theirs = network.state_dict(), other.state_dict()
    fitting = {k: x for k, x in theirs.items() if k in mine and mine[k].shape == x.shape}
    missing = [k for k in mine if k not in fitting and not k.startswith("advice.")]
    if missing:
        raise ConfigError(
            f"start must be a network that has {missing[0]} {list(mine[missing[0]].shape)}, "
            f"got {name_of(other)} of {other.options}"
        )
    network.load_state_dict(fitting, strict=False)
    return loaded.training


def network_from(option: str, start: str, config: HanabiConfig, *, device: str = "cpu") -> Loaded:
    """The network in the file ``start``, or of this package by that name, for games of ``config``.

    Raises ConfigError, which names the ``option``, where there is no such network; CheckpointError
    and OSError as ``load_network``.
    """
    start = start.removeprefix("network:file=")  # as ``load_policy`` takes it
    if Path(start).is_file():
        return load_named(None, config, file=start, device=device)
    require_network(option, start)
    try:
        return load_named(start, config, device=device)
    except ConfigError as error:
        raise ConfigError(f"{option} must be a network for the same game: {error}") from None


def policy_named(start: str) -> str:
    """The name by which ``load_policy`` loads ``start``."""
    return f"network:file={start}" if Path(start).is_file() else start
