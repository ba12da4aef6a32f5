"""Blueprints by name. A policy's module is imported when the policy is asked for.

A name may carry options: ``risky:threshold=0.6:strict`` is ``risky`` with a threshold of 0.6 and
``strict`` set.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module, resources
from typing import Any

from hanabi_search_plugin import plugins
from hanabi_search_plugin.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.game import Game
from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.policy import Policy


@dataclass(frozen=True)
class Entry:
    """A policy that can be asked for by name."""

    name: str
    description: str  # one line
    source: str  # who made it, where
    load: Callable[..., Policy]  # (config, **options)
    options: Mapping[str, str] = field(default_factory=dict)  # what each one is


_entries: dict[str, Entry] = {}


def register(
    name: str,
    load: Callable[..., Policy],
    *,
    description: str,
    source: str,
    options: Mapping[str, str] | None = None,
) -> None:
    """Make ``load(config, **options)`` known as ``name``, for ``load_policy`` and listings.

    ``options`` says in a few words what each option is that may follow the name; values arrive as
    bool, int, float or str. Raises ConfigError for a name that is taken or cannot be one.
    """
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise ConfigError(f"a policy's name must be of letters, digits, - and _, got {name!r}")
    if name in _entries:
        raise ConfigError(f"a policy's name must be new, got {name!r}, which is taken")
    _entries[name] = Entry(name, description, source, load, dict(options or {}))


def policies() -> tuple[Entry, ...]:
    """Every policy of this package but for ``networks``, and every registered one."""
    return tuple(_entries.values())


@functools.cache
def networks() -> tuple[Entry, ...]:
    """Networks that ``load_policy`` knows; they need PyTorch, and each was trained for some games.

    ``network`` loads a checkpoint of your own.
    """
    options = {"temperature": "0: the best move; else a softmax", "device": "as PyTorch names it"}
    shipped = [
        Entry(name, about["description"], about["source"], _network(name), options)
        for name, about in network_models().items()
    ]
    own = Entry(
        "network",
        "a checkpoint of your own, or a public LSTM of SAD, OBL or JaxMARL",
        "hanabi-search train",
        _network(None),
        {"file": "its path"} | options,
    )
    return (*shipped, own)


@functools.cache
def network_models() -> dict[str, dict[str, Any]]:
    """The networks of this package by name.

    ``[name]`` = {"description", "source", "models": a list of {"file", "config": parameters of the
    game, "self_play": as in ``self_play_scores``}}.
    """
    file = resources.files("hanabi_search_plugin.networks.models") / "models.json"
    models = json.loads(file.read_text())
    assert isinstance(models, dict)
    return models


def load_policy(name: str, config: HanabiConfig | Game | None = None) -> Policy:
    """The policy of that name, with its options, for a configuration (default: 2 players).

    Names are those of ``policies()``, ``networks()`` and plugins. Another game than native Hanabi
    is given as it is; of this package's policies "random" plays it.
    Raises ConfigError for an unknown name, an unknown option or a bad value.
    """
    config = HanabiConfig() if config is None else config
    head, *words = name.split(":")
    known = _entries | {entry.name: entry for entry in networks()}
    plugin = plugins.find("policy", head, known)
    if plugin is not None:
        options = plugins.read_options(f"policy {head}", words, plugin.options)
        policy: Policy = plugin.make(config, **options)
        return policy
    if head not in known:
        names = plugins.names("policy", known)
        raise ConfigError(f"policy must be one of {names}, got {head!r}")
    entry = known[head]
    options = plugins.read_options(f"policy {head}", words, entry.options)
    if isinstance(config, Game) and entry.load is not _random:
        raise ConfigError(f"policy {head} plays native Hanabi, got {config!r}")
    return entry.load(config, **options)


MIXED_TRACK = (
    *("random", "cautious", "iggi", "flawed", "piers", "risky2:threshold=0.6", "outer", "vdb"),
    *("evalfn:rules=table-2", "evalfn-c:rules=table-2"),
)
"""The partners of Table VII of the RIS-MCTS paper, in its order."""


def policy_names(names: str) -> tuple[str, ...]:
    """Of a list "NAME,NAME...", or of "mixed-track"."""
    return MIXED_TRACK if names == "mixed-track" else tuple(map(str.strip, names.split(",")))


def load_policies(names: str, config: HanabiConfig | Game | None = None) -> tuple[Policy, ...]:
    """The policies of ``policy_names``; see ``load_policy``."""
    return tuple(load_policy(name, config) for name in policy_names(names))


@functools.cache
def self_play_scores() -> dict[str, dict[str, Any]]:
    """Measured self-play of the policies of this package, some with options, by name and players.

    ``[name][str(players)]`` = {"games", "seed", "zero": [mean, standard error], "keep": [...],
    "perfect", "bombs"}: score points where a lost game is worth nothing, and where it keeps its
    points; ``python -m benchmarks.blueprints self-play`` measures them.
    """
    file = resources.files("hanabi_search_plugin.blueprints") / "scores.json"
    scores = json.loads(file.read_text())
    assert isinstance(scores, dict)
    return scores


# ------------------------------------------------------------------------- those of this package


def _built_in(module: str, make: str, *arguments: str) -> Callable[..., Policy]:
    def load(config: HanabiConfig, **options: Any) -> Policy:
        home = import_module(f"hanabi_search_plugin.{module}")
        policy = getattr(home, make)(*arguments, **options)
        assert isinstance(policy, Policy)
        return policy

    return load


def _network(name: str | None) -> Callable[..., Policy]:
    def load(config: HanabiConfig, **options: Any) -> Policy:
        try:
            import safetensors  # noqa: F401
            import torch  # noqa: F401
        except ImportError:
            raise UnsupportedError(
                'a network needs PyTorch: pip install "hanabi-search-plugin[torch]"'
            ) from None
        from hanabi_search_plugin.networks.shipped import load_network_policy

        return load_network_policy(name, config, **options)

    return load


_ODWYER = "Arthur O'Dwyer, github.com/Quuxplusone/Hanabi"
_FOSSGALAXY = "github.com/fossgalaxy/hanabi v0.2.4"
_GOODMAN = "J. Goodman, github.com/hopshackle/fireworks"
_RIS_MCTS = "after J. Goodman, arXiv:1902.06075, section VI"
_RULE_OPTIONS = {
    "strict": "without the faults of the original; see docs/blueprints.md",
    "convention": "a hint that touches one card says it scores: any-giver or previous-player",
}
_THRESHOLD = {"threshold": "play a card that scores with this probability"}


def _register_rule_agent(
    name: str, description: str, source: str = _FOSSGALAXY, options: Mapping[str, str] | None = None
) -> None:
    load = _built_in("blueprints.agents", "rule_agent", name)
    options = {**(options or {}), **_RULE_OPTIONS}
    register(name, load, description=description, source=source, options=options)


register(
    "smartbot",
    _built_in("blueprints.compiled", "SmartBot"),
    description="hand-written conventions with public knowledge; the SPARTA paper's blueprint",
    source=_ODWYER,
)
register(
    "hatbot",
    _built_in("blueprints.hats", "HatBot"),
    description="hat guessing: a hint tells every other player something; of the SPARTA paper",
    source="WuTheFWasThat, hanabi.rs; in C++ by Arthur O'Dwyer (InfoBot)",
)
register(
    "hatbot-b",
    _built_in("blueprints.hats", "HatBotB"),
    description="the stronger hat-guessing bot of 2023: adaptive questions, telling discards",
    source="WuTheFWasThat, hanabi.rs, ef77311; from a description of its behaviour",
)
_register_rule_agent("cautious", "rules: plays what is certain, tells of what scores")
_register_rule_agent(
    "iggi", "rules: cautious, but discards its oldest card", "Walton-Rivers et al."
)
_register_rule_agent("internal", "rules: knows only its own cards' hints and tells at random")
_register_rule_agent("outer", "rules: tells the next player what it does not know yet", "Osawa")
_register_rule_agent("piers", "rules: iggi that takes chances and tells of useless cards")
_register_rule_agent("flawed", "rules: plays far too readily, for tests of adaptation")
_register_rule_agent(
    "risky", "rules: plays what probably scores; an unfinished list", options=_THRESHOLD
)
_register_rule_agent("risky2", "rules: risky with a finished list", _GOODMAN, options=_THRESHOLD)
_register_rule_agent("vdb", "rules: the agent of Van den Bergh et al.; rollouts of RIS-MCTS")
_register_rule_agent("iggi2", "rules: iggi that completes hints and takes chances", _GOODMAN)
_register_rule_agent("clivej2", "rules: tells what is unknown, unblocks, never gambles", _GOODMAN)
_EVALFN_OPTIONS = {
    "network": "evalfn-1, evalfn-2 or evalfn-3, or a file of `hanabi-search train`",
    "rules": "whose moves are valued: shipped-evaluation, table-2, ... or numbers as 2|3|9",
}
register(
    "evalfn",
    _built_in("blueprints.evalfn", "evalfn", "off"),
    description="rules propose moves, a small learned network picks one; trained here",
    source=_RIS_MCTS,
    options=_EVALFN_OPTIONS,
)
register(
    "evalfn-c",
    _built_in("blueprints.evalfn", "evalfn", "any-giver"),
    description="evalfn with the convention that a hint that touches one card says it scores",
    source=_RIS_MCTS,
    options=_EVALFN_OPTIONS,
)
register(
    "rule-classifier",
    _built_in("blueprints.evalfn", "rule_classifier", "any-giver"),
    description="a small learned network picks one of nine rules; with the same convention",
    source=_RIS_MCTS,
)
_random = _built_in("policy", "UniformPolicy")
register(
    "random",
    _random,
    description="uniformly random legal moves",
    source="this package",
)
