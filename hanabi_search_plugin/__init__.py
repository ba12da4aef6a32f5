"""Search that upgrades any blueprint policy in cooperative games with hidden information.

The names below load on first use: importing the package costs nothing and needs neither OpenSpiel,
PettingZoo, Gymnasium nor PyTorch. Adapters live in ``hanabi_search_plugin.wrappers``, the searches
in ``hanabi_search_plugin.algorithms``, checks for your own games and policies in
``hanabi_search_plugin.testing``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hanabi_search_plugin.agent import Search, SearchAgent, upgrade
    from hanabi_search_plugin.algorithms.sparta import Sparta
    from hanabi_search_plugin.belief import Belief, EnumeratedBelief
    from hanabi_search_plugin.blueprints.compiled import SmartBot
    from hanabi_search_plugin.blueprints.registry import load_policy
    from hanabi_search_plugin.errors import ConfigError, HanabiSearchError, UnsupportedError
    from hanabi_search_plugin.evaluation import Evaluation, evaluate
    from hanabi_search_plugin.game import Event, Game, History, View, Worlds
    from hanabi_search_plugin.hanabi.config import HanabiConfig
    from hanabi_search_plugin.hanabi.game import HanabiGame
    from hanabi_search_plugin.policy import Policy, UniformPolicy, Value
    from hanabi_search_plugin.result import SearchResult
    from hanabi_search_plugin.streams import Streams

__version__ = "0.1.0"

_HOMES = {
    "agent": ("Search", "SearchAgent", "upgrade"),
    "algorithms.sparta": ("Sparta",),
    "belief": ("Belief", "EnumeratedBelief"),
    "blueprints.compiled": ("SmartBot",),
    "blueprints.registry": ("load_policy",),
    "errors": ("ConfigError", "HanabiSearchError", "UnsupportedError"),
    "evaluation": ("Evaluation", "evaluate"),
    "game": ("Event", "Game", "History", "View", "Worlds"),
    "hanabi.config": ("HanabiConfig",),
    "hanabi.game": ("HanabiGame",),
    "policy": ("Policy", "UniformPolicy", "Value"),
    "result": ("SearchResult",),
    "streams": ("Streams",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Belief",
    "ConfigError",
    "EnumeratedBelief",
    "Evaluation",
    "Event",
    "Game",
    "HanabiConfig",
    "HanabiGame",
    "HanabiSearchError",
    "History",
    "Policy",
    "Search",
    "SearchAgent",
    "SearchResult",
    "SmartBot",
    "Sparta",
    "Streams",
    "UniformPolicy",
    "UnsupportedError",
    "Value",
    "View",
    "Worlds",
    "evaluate",
    "load_policy",
    "upgrade",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
