"""List and load the networks and belief models of this package by name.

Needs neither PyTorch nor Numba until one is loaded.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.game import Game, require_game
from hanabi_search_plugin.core.require import is_no_file, unknown
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.named_beliefs import EXACT, GROUNDED
from hanabi_search_plugin.registry import load_policy, policies

if TYPE_CHECKING:
    from hanabi_search_plugin.beliefs.belief_model import BeliefModel

HINTS = "hints"
SHOWN = (EXACT, HINTS, GROUNDED)  # beliefs that a page can show and that are no file's
_NO_MODELS = {
    EXACT: 'what upgrade has without a belief, or with belief="exact"',
    "particles": 'what upgrade has with belief=Particles() or "particles"',
}


@functools.cache
def network_models() -> dict[str, dict[str, Any]]:
    """The networks of this package by name.

    ``[name]`` = {"description", "source", "models": a list of {"file", "config": parameters of the
    game, "self_play": as in ``self_play_scores``}}.
    """
    return _listed("models.json")


def require_network(option: str, name: str) -> None:
    """Raises ConfigError unless ``name`` is a network of this package or a file."""
    path = Path(name.removeprefix("network:file="))
    if path.is_file() or name in network_models():
        return
    if path.is_dir():
        raise ConfigError(
            f"{option} must be a network's file, got {path}, which is a folder: a run of "
            f"`hanabi-search train` has {path / 'model.safetensors'}"
        )
    if name in {entry.name for entry in policies()}:
        raise ConfigError(
            f"{option} must be a network, {', '.join(network_models())}, or a file, got {name}, "
            f"which is none: `hanabi-search train distill --policy {name}` makes one that imitates "
            "it"
        )
    raise unknown(option, name, network_models(), "or a file")


def own_beliefs() -> list[str]:
    """Networks of this package that have a belief of their own over cards (``OwnBelief``)."""
    return [name for name, entry in network_models().items() if entry.get("own_belief")]


@functools.cache
def belief_models() -> dict[str, dict[str, Any]]:
    """The learned beliefs of this package, by the name of the policy that they model.

    ``[name]`` = {"description", "models": a list of {"file", "config": parameters of the game,
    "cross_entropy": nats a card, "grounded" on the same games, and how many "games"}}.
    """
    return _listed("beliefs.json")


def _listed(name: str) -> dict[str, dict[str, Any]]:
    """What a list names, as far as its files are there: a wheel leaves some out."""
    folder = resources.files("hanabi_search_plugin.networks.models")
    found = {}
    for key, entry in json.loads((folder / name).read_text()).items():
        models = [model for model in entry["models"] if (folder / model["file"]).is_file()]
        if models:
            found[key] = entry | {"models": models}
    return found


def load_belief_model(
    name: str | os.PathLike[str],
    game: Game,
    *,
    mask: bool = True,
    words: tuple[str, ...] = (GROUNDED,),
) -> BeliefModel:
    """The model of that name for ``game``: "grounded", one of ``belief_models``, or a file.

    The name or the file of a network with a public belief, as "beliefnet", stands for that belief.
    ``words`` are those of an option that stand for no file; an error lists them. ``mask`` as in
    ``networks.belief_files.NetworkBelief``. Raises ConfigError for a name that is unknown or not
    for this game, and for "exact" and "particles", which are beliefs without a model;
    UnsupportedError without PyTorch, CheckpointError for a file that does not fit.
    """
    require_game(game)
    if not isinstance(name, str | os.PathLike):
        raise ConfigError(f"a belief model must be a name or a file, got {name!r}")
    name = os.fspath(name)
    if name == GROUNDED:
        from hanabi_search_plugin.beliefs.belief_model import Grounded

        return Grounded(game)
    own = own_belief(name, game)
    if own is not None:
        return own
    path = _shipped(name, game) if name in belief_models() else Path(name)
    if name in _NO_MODELS and name not in words and words == (GROUNDED,):
        raise ConfigError(f"belief {name} needs no model: it is {_NO_MODELS[name]}")
    if is_no_file(name):
        raise ConfigError(f"belief must be a name or a file, got {name}, which is no file")
    if not path.is_file():
        raise unknown("belief", name, (*words, *belief_models(), *own_beliefs()), "or a file")
    require_extra("torch", "a learned belief", "torch", "safetensors")
    from hanabi_search_plugin.networks.belief_files import load_belief

    model = load_belief(path, game, mask=mask)
    model.loaded_as = name
    return model


def own_belief(name: str, game: Game) -> BeliefModel | None:
    """The belief of the network of that name, as ``load_policy`` knows it; None where it has none.

    Raises as ``load_policy`` where ``name`` is that of a network of this package.
    """
    head = name.partition(":")[0]
    if head not in own_beliefs() and not (head == "network" or _is_networks_file(name)):
        return None
    policy = load_policy(name, game)
    from hanabi_search_plugin.networks.own_belief import OwnBelief, has_own_belief

    return OwnBelief(game, policy) if has_own_belief(policy) else None


def _is_networks_file(name: str) -> bool:
    """Is this the path of a network that plays, in this package's form?"""
    if is_no_file(name) or not Path(name).is_file() or importlib.util.find_spec("torch") is None:
        return False
    from hanabi_search_plugin.networks.checkpoint import FORMAT, format_of

    return format_of(name) == FORMAT


def _shipped(name: str, game: Game) -> Path:
    from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules  # imports Numba

    folder = resources.files("hanabi_search_plugin.networks.models")
    models = belief_models()[name]["models"]
    free = {"bomb": "zero", "random_start_player": False}  # what a model need not agree with
    for model in models:
        if isinstance(game, HanabiRules):
            made_for = HanabiConfig(**model["config"]).to_dict() | free
            if made_for == game.config.to_dict() | free:
                return Path(str(folder / model["file"]))
    known = "; ".join(
        ", ".join(f"{key} {value}" for key, value in model["config"].items()) for model in models
    )
    raise ConfigError(f"belief {name} is for games of hanabi with {known}, got {game!r}")
