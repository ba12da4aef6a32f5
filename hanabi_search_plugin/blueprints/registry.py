"""Blueprints by name. A policy's module is imported when the policy is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from hanabi_search_plugin.errors import ConfigError
from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.policy import Policy


@dataclass(frozen=True)
class Entry:
    """A policy that can be asked for by name."""

    name: str
    description: str  # one line
    source: str  # who made it, where
    load: Callable[[HanabiConfig], Policy]


def _smartbot(config: HanabiConfig) -> Policy:
    return _make("hanabi_search_plugin.blueprints.compiled", "SmartBot")


def _random(config: HanabiConfig) -> Policy:
    return _make("hanabi_search_plugin.policy", "UniformPolicy")


def _make(module: str, name: str) -> Policy:
    policy = getattr(import_module(module), name)()
    assert isinstance(policy, Policy)
    return policy


_ENTRIES = (
    Entry(
        "smartbot",
        "hand-written conventions with public knowledge; the SPARTA paper's blueprint",
        "Arthur O'Dwyer, github.com/Quuxplusone/Hanabi",
        _smartbot,
    ),
    Entry("random", "uniformly random legal moves", "this package", _random),
)


def policies() -> tuple[Entry, ...]:
    """Every policy that ``load_policy`` knows."""
    return _ENTRIES


def load_policy(name: str, config: HanabiConfig) -> Policy:
    """The policy of that name for a configuration. Raises ConfigError for an unknown name."""
    for entry in _ENTRIES:
        if entry.name == name:
            return entry.load(config)
    known = ", ".join(entry.name for entry in _ENTRIES)
    raise ConfigError(f"policy must be one of {known}, got {name!r}")
