"""Encodings by name, as checkpoints call them."""

from __future__ import annotations

from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding
from hanabi_search_plugin.networks.encodings.status_encoding import Status
from hanabi_search_plugin.networks.encodings.v0_encoding import V0

ENCODINGS: dict[str, type[Encoding]] = {kind.name: kind for kind in (V0, Status)}


def make_encoding(name: str, config: HanabiConfig) -> Encoding:
    """The encoding of that name for ``config``. Raises ConfigError for an unknown name."""
    require_choice("encoding", name, ENCODINGS)
    return ENCODINGS[name](config)
