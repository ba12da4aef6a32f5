"""Games, policies and searches of other packages, found by the entry points these declare.

What each kind has to be is said in docs/how_to/plugins.md. A plugin is imported when it is asked
for, or listed; where it fails, that names it and its package, and everything else goes on.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from hanabi_search_plugin.core.agent import TeamSearch
from hanabi_search_plugin.core.errors import ConfigError, HanabiSearchError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.require import unknown
from hanabi_search_plugin.core.settings import Setting, settings_of

Kind = Literal["game", "policy", "search"]
GROUPS: Mapping[Kind, str] = {
    "game": "hanabi_search_plugin.games",
    "policy": "hanabi_search_plugin.policies",
    "search": "hanabi_search_plugin.searches",
}

_logger = logging.getLogger("hanabi_search_plugin")


@dataclass(frozen=True)
class Plugin:
    """One entry point, imported."""

    kind: Kind
    name: str
    source: str  # the package that it is of, and its version
    description: str  # the first line of its docstring
    options: Mapping[str, Setting]  # by name
    function: Callable[..., Any]

    def make(self, *arguments: Any, **options: Any) -> Any:
        """A game, a policy or a search. Raises ConfigError where the plugin fails or makes another
        thing; what it raises of this package's own errors passes."""
        try:
            made = self.function(*arguments, **options)
        except HanabiSearchError:
            raise
        except Exception as error:  # whatever another's code may raise
            raise ConfigError(
                f"{self.kind} {self.name} of {self.source} {_failed(error)}"
            ) from error
        if not _is_a(self.kind, made):
            raise ConfigError(
                f"{self.kind} {self.name} of {self.source} must make a {self.kind}, got {made!r}"
            )
        return made

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Its options from the words that follow its name, by their types; see ``read_options``.

        Raises ConfigError, also for a value of another type.
        """
        texts = _texts(f"{self.kind} {self.name}", words, self.options)
        return {name: self.options[name].read(text) for name, text in texts.items()}


def all_names(kind: Kind, own: Collection[str]) -> list[str]:
    """This package's ``own`` names and those that others declare; none is imported."""
    return list(dict.fromkeys((*own, *_declared(kind))))


def find(kind: Kind, name: str, own: Collection[str]) -> Plugin | None:
    """The plugin of that name, imported; None where nobody declares it.

    ``own`` are names that this package has for the kind itself. Raises ConfigError for a name that
    several have, and for a plugin that cannot be imported.
    """
    points = _declared(kind).get(name, ())
    owners = ["hanabi-search-plugin"] * (name in own) + [_source(point) for point in points]
    if len(owners) > 1:
        raise ConfigError(
            f"{kind} {name} must be of one package, {' and '.join(owners)} have one of that name: "
            "uninstall all but one"
        )
    return _imported(kind, points[0]) if points else None


def working(kind: Kind, own: Collection[str]) -> tuple[Plugin, ...]:
    """All that can be used; a warning is logged for each that cannot."""
    found = []
    for name in _declared(kind):
        try:
            plugin = find(kind, name, own)
        except ConfigError as error:
            _logger.warning(str(error))
        else:
            assert plugin is not None
            found.append(plugin)
    return tuple(found)


def load_game(name: str, own: Collection[str] = ()) -> Game:
    """A plugin's game by name, with its options: ``dice:sides=8``. Raises ConfigError."""
    head, *words = name.split(":")
    plugin = find("game", head, own)
    if plugin is None:
        raise unknown("game", head, all_names("game", own))
    game: Game = plugin.make(**plugin.read(words))
    return game


def read_options(what: str, words: Sequence[str], known: Collection[str]) -> dict[str, Any]:
    """Options that follow a name, "key=value" or "key" for true, as bool, int, float or str.

    Raises ConfigError for one that is not ``known``.
    """
    texts = _texts(what, words, known)
    return {name: Setting(name, Any, MISSING).read(text) for name, text in texts.items()}


def _texts(what: str, words: Sequence[str], known: Collection[str]) -> dict[str, str]:
    texts = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name not in known:
            raise ConfigError(
                f"options of {what} are {', '.join(known) or 'none'}, got {name!r}"
                f"{did_you_mean(name, known)}"
            )
        texts[name] = text if equals else "true"
    return texts


@functools.cache
def _declared(kind: Kind) -> Mapping[str, tuple[EntryPoint, ...]]:
    declared: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUPS[kind]):
        declared[point.name] = (*declared.get(point.name, ()), point)
    return declared


@functools.cache
def _imported(kind: Kind, point: EntryPoint) -> Plugin:
    of = f"{kind} {point.name} of {_source(point)}"
    if not point.name.replace("-", "").replace("_", "").isalnum():
        raise ConfigError(f"{of} must have a name of letters, digits, - and _")
    try:
        function = point.load()
        options = settings_of(function)
        if kind == "policy":
            options.pop(next(iter(inspect.signature(function).parameters)), None)  # the game
    except Exception as error:  # whatever another's code may raise
        raise ConfigError(f"{of} {_failed(error)}") from error
    return Plugin(
        kind,
        point.name,
        _source(point),
        (inspect.getdoc(function) or "").partition("\n")[0],
        options,
        function,
    )


def _source(point: EntryPoint) -> str:
    try:
        assert point.dist is not None
        return f"{point.dist.metadata['Name']} {point.dist.metadata['Version']}"
    except (AssertionError, KeyError, OSError, ValueError):  # its metadata are missing or damaged
        return "an unknown package"


def _failed(error: Exception) -> str:
    return f"fails: {type(error).__name__}: {error}"


def _is_a(kind: Kind, made: Any) -> bool:
    if kind == "search":
        return not isinstance(made, type) and (callable(made) or isinstance(made, TeamSearch))
    return isinstance(made, Game if kind == "game" else Policy)
