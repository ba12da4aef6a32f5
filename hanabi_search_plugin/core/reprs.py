"""How searches and agents print: in one line, what they are and what was set."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hanabi_search_plugin.core.game import Game
    from hanabi_search_plugin.core.policy import Blueprint


def settings_repr(value: Any, first: str) -> str:
    """ "Sparta(rollouts=10000)": the field ``first``, and what else is not at its default."""
    shown = [f"{first}={getattr(value, first)!r}"]
    shown += [
        f"{name}={_shown(set_to)}" for name, set_to in changed(value).items() if name != first
    ]
    return f"{type(value).__name__}({', '.join(shown)})"


def _shown(value: Any) -> str:
    """Of a function its name alone: it has no place in memory that says anything."""
    return str(value.__qualname__) if inspect.isroutine(value) else repr(value)


def changed(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that have a default and are not at it."""
    found = {}
    for field in dataclasses.fields(value):
        set_to, default = getattr(value, field.name), field.default
        if field.init and default is not dataclasses.MISSING and np.any(set_to != default):
            found[field.name] = set_to  # any: it may be an array
    return found


def agent_repr(agent: Any, search: Any, blueprint: Blueprint, game: Game) -> str:
    """ "Sparta(rollouts=10000) over SmartBot on HanabiGame(players=2), epsilon=0.1"."""
    parts = [f"{search_repr(search)} over {blueprint_repr(blueprint)} on {game!r}"]
    return ", ".join([*parts, *(f"{key}={_shown(value)}" for key, value in changed(agent).items())])


def search_repr(search: Any) -> str:
    """A search may be a function, or an object of a class that says nothing of itself."""
    if name := getattr(search, "__name__", None):
        return str(name)
    kind: Any = type(search)
    silent = kind.__repr__ is object.__repr__
    return f"{type(search).__name__}()" if silent else repr(search)


def blueprint_repr(blueprint: Blueprint) -> str:
    """One policy where all seats play the same, else a tuple of them."""
    return repr(blueprint[0] if all(each is blueprint[0] for each in blueprint) else blueprint)
