"""Load networks as policies: those of the package by name, others from files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from hanabi_search_plugin.core.extras import needing

with needing("torch", "a network"):
    import torch  # noqa: F401

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.catalogue import network_models
from hanabi_search_plugin.networks.checkpoint import Loaded, is_ours, load_network
from hanabi_search_plugin.networks.encodings.network_encoding import FREE, difference_of
from hanabi_search_plugin.networks.foreign import load_foreign
from hanabi_search_plugin.networks.network_policies import NetworkPolicy
from hanabi_search_plugin.networks.policy_of_network import network_policy


def load_network_policy(
    name: str | None,
    game: HanabiGame,
    *,
    file: str = "",
    temperature: float = 0.0,
    device: str = "cpu",
) -> NetworkPolicy:
    """The network ``name`` of this package for ``game``, or that in ``file``.

    The file is one of this package, or a foreign one that ``foreign.load_foreign`` reads.

    Raises ConfigError where the package has none for these games, or ``file`` is missing;
    CheckpointError where the file is for other games or no network.
    """
    loaded = load_named(name, game.config, file=file, device=device)
    policy = network_policy(
        loaded.network, temperature=temperature, device=device, critic=loaded.critic
    )
    policy.loaded_as = name or str(file)
    return policy


def load_named(
    name: str | None, config: HanabiConfig, *, file: str = "", device: str = "cpu"
) -> Loaded:
    """The network that ``load_network_policy`` plays, with the record of its training.

    A foreign network's record is empty. Raises as ``load_network_policy``.
    """
    path = _shipped(name, config) if name is not None else Path(str(file))
    if name is None and not file:
        raise ConfigError(
            "policy network needs a file: network:file=PATH, where PATH is a model.safetensors of "
            "`hanabi-search train`"
        )
    if not path.is_file():
        hint = "which is no file"
        if path.is_dir():
            hint = f"which is a folder: a run has {path / 'model.safetensors'}"
        raise ConfigError(f"file must be that of a network, got {str(path)!r}, {hint}")
    if is_ours(path):
        return load_network(path, config, device=device)
    return Loaded(load_foreign(path, config, device=device), {})


def _shipped(name: str, config: HanabiConfig) -> Path:
    folder = resources.files("hanabi_search_plugin.networks.models")
    models = network_models()[name]["models"]
    for model in models:
        if difference_of(HanabiConfig(**model["config"]), config) is None:
            return Path(str(folder / model["file"]))
    known = "; ".join(
        ", ".join(f"{key} {value}" for key, value in model["config"].items()) for model in models
    )
    usual = HanabiConfig(players=config.players).to_dict() | {"players": None}
    other = ", ".join(
        f"{key} {value}"
        for key, value in config.to_dict().items()
        if key not in FREE and value != usual[key]
    )
    raise ConfigError(f"{name} plays games of {known}, got {other}")
