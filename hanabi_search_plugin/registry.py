"""Blueprints by name. A name stands for a function elsewhere, imported when it is asked for.

A name may carry options: ``risky:threshold=0.6:strict`` is ``risky`` with a threshold of 0.6 and
``strict`` set.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hanabi_search_plugin import plugins
from hanabi_search_plugin.core.agent import CutsRollouts, TeamSearch, WrapsBelief, require_same_game
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.game import Game, require_game
from hanabi_search_plugin.core.lazy import resolve
from hanabi_search_plugin.core.policy import Blueprint, Policy, as_blueprint, require_policy
from hanabi_search_plugin.core.require import class_given, is_no_file, unknown
from hanabi_search_plugin.core.settings import named_arguments


@dataclass(frozen=True)
class Entry:
    """A policy that can be asked for by name."""

    name: str
    description: str  # one line
    source: str  # who made it, where
    load: Callable[..., Policy]  # (game, **options)
    options: Mapping[str, str] = field(default_factory=dict)  # what each one is
    any_game: bool = False  # else native Hanabi alone


OPENSPIEL = "openspiel"  # before the name of a bot there

_entries: dict[str, Entry] = {}


@named_arguments()
def register_policy(
    name: str,
    load: Callable[..., Policy],
    *,
    description: str,
    source: str = "",
    options: Mapping[str, str] | None = None,
    any_game: bool = False,
) -> None:
    """Make ``load(game, **options)`` known as ``name``, wherever a policy may be a name.

    ``source`` says who made it, and where. ``options`` says in a few words what each option is that
    may follow the name; values arrive as bool, int, float or str. ``any_game``: it plays other
    games than native Hanabi, too. Raises ConfigError for a name that is taken or cannot be one, and
    for what is not called as ``load``.
    """
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise ConfigError(f"a policy's name must be of letters, digits, - and _, got {name!r}")
    if name in _entries:
        raise ConfigError(f"a policy's name must be new, got {name!r}, which is taken")
    _require_load(load)
    _entries[name] = Entry(name, description, source, load, dict(options or {}), any_game)


def _require_load(load: object) -> None:
    """Raises ConfigError for what is not called as ``load(game, **options)``."""
    if isinstance(load, Policy):
        name = type(load).__name__
        raise ConfigError(
            f"load is called as load(game, **options), got {load!r}, a policy: write "
            f"lambda game: {name}()"
        )
    if not callable(load):
        raise ConfigError(f"load is called as load(game, **options), got {load!r}")
    try:
        signature = inspect.signature(load)
    except (TypeError, ValueError):
        return  # it does not say
    try:
        signature.bind("game")
    except TypeError:
        name = getattr(load, "__name__", repr(load))
        way_out = f": write lambda game: {name}()" if isinstance(load, type) else ""
        raise ConfigError(
            f"load is called as load(game, **options), got {name}{signature}{way_out}"
        ) from None


def policies() -> tuple[Entry, ...]:
    """Every policy of this package but for ``networks`` and ``bidders``, and every registered
    one."""
    return tuple(_entries.values())


def bidders() -> tuple[Entry, ...]:
    """Policies for contract bridge alone."""
    return _BIDDERS


@functools.cache
def networks() -> tuple[Entry, ...]:
    """Networks that ``load_policy`` knows; they need PyTorch, and each was trained for some games.

    ``network`` loads a checkpoint of your own.
    """
    options = {
        "temperature": "default 0: the best move; else a softmax",
        "device": "default cpu: as PyTorch names it",
    }
    models = resolve("hanabi_search_plugin.networks.catalogue:network_models")()
    shipped = [
        Entry(name, about["description"], about["source"], _network(name), options)
        for name, about in models.items()
    ]
    own = Entry(
        "network",
        "a checkpoint of your own, or a public LSTM of SAD, OBL or JaxMARL",
        "hanabi-search train",
        _network(None),
        {"file": "its path"} | options,
    )
    return (*shipped, own)


@named_arguments(lambda option: f": options follow the name, as in 'NAME:{option}=1'")
def load_policy(
    name: str | os.PathLike[str], game: Game | None = None, *, what: str = "policy"
) -> Policy:
    """The policy of that name, with its options, for a game (default: 2-player Hanabi).

    Names are those of ``policies()``, ``networks()``, ``bidders()`` and plugins, ``uniform`` for
    ``random``, ``openspiel:NAME`` for a registered bot of OpenSpiel, and the path of a network's
    file. ``what`` is what errors call the name: the option it came from, say. Raises ConfigError
    for an unknown name, an unknown option, a bad value, or a game that the
    policy does not play; UnsupportedError for what is no Game.
    """
    game = resolve(_HANABI_GAME)() if game is None else game
    require_game(game, name, call="load_policy(name, game)")
    found, words = _find(name, what)
    if isinstance(found, plugins.Plugin):
        policy: Policy = found.make(game, **found.read(words))
        return policy
    if found is None:
        bot: Policy = resolve(_OPENSPIEL_BOT)(":".join(words), game)
        return bot
    entry, head = found, found.name
    options = plugins.read_options(f"policy {head}", words, entry.options)
    if not (entry.any_game or isinstance(game, resolve(_HANABI_GAME))):
        bids = isinstance(game, resolve(_BRIDGE))
        others = "policy natural bids there" if bids else "policy uniform plays any game"
        raise ConfigError(f"policy {head} plays native Hanabi, got {game!r}: {others}")
    policy = entry.load(game, **options)
    require_policy(policy, f"a Policy of {head!r}")
    return policy


def _find(
    name: str | os.PathLike[str], what: str
) -> tuple[Entry | plugins.Plugin | None, list[str]]:
    """Who has that name, None for a bot of OpenSpiel, and the words after it; nothing is loaded.

    Raises ConfigError where nobody has it.
    """
    if isinstance(name, type):
        raise ConfigError(f"{what} must be a name or a network's file, got {class_given(name)}")
    if isinstance(name, Policy):
        raise ConfigError(
            f"{what} must be a name or a network's file, got {name!r}, a policy, which "
            "needs no loading"
        )
    if not isinstance(name, str | os.PathLike):
        raise ConfigError(f"{what} must be a name or a network's file, got {name!r}")
    name = os.fspath(name)
    head, *words = name.split(":")
    known = _entries | {entry.name: entry for entry in (*networks(), *bidders())}
    plugin = plugins.find("policy", head, known)
    if plugin is not None:
        return plugin, words
    if head == OPENSPIEL:
        return None, words
    if head not in known and Path(name).is_file():
        head, words = "network", [f"file={name}"]
    head = "random" if head == "uniform" else head
    if head not in known:
        if name and Path(name).is_dir():
            raise ConfigError(
                f"policy must be a name or a network's file, got {name}, which is a folder: a run "
                f"of `hanabi-search train` has {Path(name) / 'model.safetensors'}"
            )
        if is_no_file(name):
            raise ConfigError(
                f"{what} must be a name or a network's file, got {name}, which is no file"
            )
        names = (*plugins.all_names("policy", known), "uniform", f"{OPENSPIEL}:NAME")
        raise unknown(what, head, names, "or a network's file")
    return known[head], words


def require_known(policies: AnyBlueprint, *, what: str = "policy") -> None:
    """Refuse, before there is a game, what is no policy and no name of one.

    Raises ConfigError for a name that nobody has and for options that it does not have,
    UnsupportedError for what is no policy. Nothing is loaded.
    """
    parts = (policies,) if isinstance(policies, str | Policy) else policies
    for part in _listed(parts):
        if isinstance(part, str):
            found, words = _find(part, what)
            if isinstance(found, plugins.Plugin):
                found.read(words)
            elif found is not None:
                plugins.read_options(f"policy {found.name}", words, found.options)
        else:
            require_policy(part, "a Policy, its name, or one of these a seat")


AnyPolicy = Policy | str
"""A policy, or the name of one."""

AnyBlueprint = AnyPolicy | Sequence[AnyPolicy]
"""One for all seats, or one a seat."""


def blueprint_of(policy: AnyBlueprint, game: Game, *, what: str = "policy") -> Blueprint:
    """One policy a seat; names are loaded, each once. ``what`` errors call a name.

    Raises as ``load_policy``, ``as_blueprint`` and ``require_same_game``, and ConfigError for a
    search in place of an agent.
    """
    parts = (policy,) if isinstance(policy, str | Policy) else policy
    names = dict.fromkeys(part for part in _listed(parts) if isinstance(part, str))
    for part in _listed(parts):
        if isinstance(part, TeamSearch | WrapsBelief | CutsRollouts):
            raise ConfigError(
                f"a seat must have a policy, got the search {part!r}: upgrade(policy, game, "
                f"{type(part).__name__}()) makes an agent of it"
            )
    if not isinstance(parts, Sequence):
        return as_blueprint(parts, game.num_players)  # says what is wrong
    loaded = {name: load_policy(name, game, what=what) for name in names}
    found = tuple(loaded[part] if isinstance(part, str) else part for part in parts)
    whole = not isinstance(policy, str | Policy)
    blueprint = as_blueprint(found if whole else found[0], game.num_players)
    require_same_game(blueprint, game)
    return blueprint


def _listed(parts: Any) -> Sequence[Any]:
    return parts if isinstance(parts, Sequence) else (parts,)


def policy_of(policy: AnyPolicy, game: Game) -> Policy:
    """One policy for any seat; a name is loaded. Raises as ``blueprint_of``."""
    return blueprint_of((policy,) * game.num_players, game)[0]


MIXED_TRACK = (
    *("random", "cautious", "iggi", "flawed", "piers", "risky2:threshold=0.6", "outer", "vdb"),
    *("evalfn:rules=table-2", "evalfn-c:rules=table-2"),
)
"""The partners of Table VII of the RIS-MCTS paper, in its order."""


def policy_names(names: str) -> tuple[str, ...]:
    """Of a list "NAME,NAME...", or of "mixed-track"."""
    return MIXED_TRACK if names == "mixed-track" else tuple(map(str.strip, names.split(",")))


def load_policies(
    names: str, game: Game | None = None, *, what: str = "policy"
) -> tuple[Policy, ...]:
    """The policies of ``policy_names``; see ``load_policy``."""
    return tuple(load_policy(name, game, what=what) for name in policy_names(names))


# ------------------------------------------------------------------------- those of this package

_HANABI_GAME = "hanabi_search_plugin.hanabi.hanabi_game:HanabiGame"
_BRIDGE = "hanabi_search_plugin.bridge:BridgeBidding"
_OPENSPIEL_BOT = "hanabi_search_plugin.wrappers.openspiel:registered_bot"


def _built_in(reference: str, *arguments: str) -> Callable[..., Policy]:
    def load(game: Game, **options: Any) -> Policy:
        policy = resolve(f"hanabi_search_plugin.{reference}")(*arguments, **options)
        assert isinstance(policy, Policy)
        return policy

    return load


def _network(name: str | None) -> Callable[..., Policy]:
    def load(game: Game, **options: Any) -> Policy:
        require_extra("torch", "a network", "torch", "safetensors")
        loader = resolve("hanabi_search_plugin.networks.shipped:load_network_policy")
        policy: Policy = loader(name, game, **options)
        return policy

    return load


_ODWYER = "Arthur O'Dwyer, github.com/Quuxplusone/Hanabi"
_FOSSGALAXY = "github.com/fossgalaxy/hanabi v0.2.4"
_GOODMAN = "J. Goodman, github.com/hopshackle/fireworks"
_RIS_MCTS = "after J. Goodman, arXiv:1902.06075, section VI"
_RULE_OPTIONS = {
    "strict": "default false: without the faults of the original; see docs/policies/blueprints.md",
    "convention": "default off; any-giver or previous-player: a hint that touches one card says it "
    "scores",
}


def _threshold(default: float) -> dict[str, str]:
    return {"threshold": f"default {default}: play a card that scores with this probability"}


def _register_rule_agent(
    name: str, description: str, source: str = _FOSSGALAXY, options: Mapping[str, str] | None = None
) -> None:
    load = _built_in("hanabi.bots.rule_agents:rule_agent", name)
    options = {**(options or {}), **_RULE_OPTIONS}
    register_policy(name, load, description=description, source=source, options=options)


register_policy(
    "smartbot",
    _built_in("hanabi.bots.compiled:SmartBot"),
    description="hand-written conventions with public knowledge; the SPARTA paper's blueprint",
    source=_ODWYER,
)
register_policy(
    "hatbot",
    _built_in("hanabi.bots.hats:HatBot"),
    description="hat guessing: a hint tells every other player something; of the SPARTA paper",
    source="WuTheFWasThat, hanabi.rs; in C++ by Arthur O'Dwyer (InfoBot)",
)
register_policy(
    "hatbot-b",
    _built_in("hanabi.bots.hats:HatBotB"),
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
    "risky", "rules: plays what probably scores; an unfinished list", options=_threshold(0.75)
)
_register_rule_agent("risky2", "rules: risky with a finished list", _GOODMAN, _threshold(0.7))
_register_rule_agent("vdb", "rules: the agent of Van den Bergh et al.; rollouts of RIS-MCTS")
_register_rule_agent("iggi2", "rules: iggi that completes hints and takes chances", _GOODMAN)
_register_rule_agent("clivej2", "rules: tells what is unknown, unblocks, never gambles", _GOODMAN)
_EVALFN_OPTIONS = {
    "network": "default evalfn-3: or evalfn-1, evalfn-2, evalfn-3-roots, or a file of "
    "`hanabi-search train`",
    "rules": "default shipped-evaluation: whose moves are valued; table-2, ... or numbers as 2|3|9",
}
register_policy(
    "evalfn",
    _built_in("hanabi.bots.evalfn:evalfn", "off"),
    description="rules propose moves, a small learned network picks one; trained here",
    source=_RIS_MCTS,
    options=_EVALFN_OPTIONS,
)
register_policy(
    "evalfn-c",
    _built_in("hanabi.bots.evalfn:evalfn", "any-giver"),
    description="evalfn with the convention that a hint that touches one card says it scores",
    source=_RIS_MCTS,
    options=_EVALFN_OPTIONS,
)
register_policy(
    "rule-classifier",
    _built_in("hanabi.bots.evalfn:rule_classifier", "any-giver"),
    description="a small learned network picks one of nine rules; with the same convention",
    source=_RIS_MCTS,
)
register_policy(
    "random",
    _built_in("core.policy:UniformPolicy"),
    description="uniformly random legal moves, in any game; uniform is the same",
    source="this package",
    any_game=True,
)


def _bidder(reference: str) -> Callable[..., Policy]:
    load = _built_in(reference)

    def of_bridge(game: Game, **options: Any) -> Policy:
        if not isinstance(game, resolve(_BRIDGE)):
            raise ConfigError(f"a bidder plays the game bridge, got {game!r}")
        return load(game, **options)

    return of_bridge


_BIDDERS = (
    Entry(
        "natural",
        "a page of rules that bids contract bridge, in the game bridge",
        "this package",
        _bidder("bridge.natural_bidder:NaturalBidder"),
        any_game=True,
    ),
    Entry(
        "jps",
        "the bidding network of Joint Policy Search, in the game bridge",
        "Tian, Gong and Jiang, NeurIPS 2020; its file is not shipped (CC BY-NC 4.0)",
        _bidder("bridge.jps_bidder:load_jps"),
        {"file": "its path", "greedy": "default 1: the share of likeliest calls"},
        any_game=True,
    ),
)
