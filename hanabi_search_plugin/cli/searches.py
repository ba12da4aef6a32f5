"""The searches that the command line knows by name, and their options.

An option is a field of the searches that have it. Compiled code is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from hanabi_search_plugin import named_searches, plugins
from hanabi_search_plugin.algorithms.ismcts import TreeSearch
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.cli import option_names
from hanabi_search_plugin.cli.option_groups import Group
from hanabi_search_plugin.core.agent import Search, TeamSearch
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.require import unknown
from hanabi_search_plugin.core.settings import Setting, setting, settings_of
from hanabi_search_plugin.named_searches import NONE

if TYPE_CHECKING:
    from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
    from hanabi_search_plugin.hanabi.bots.rulebook import Convention

ELSEWHERE = ("guide", "seed", "threads")  # of a search: has options of its own; the run's


@dataclass(frozen=True, kw_only=True)
class GuideSettings:
    """The guide of a tree search. Raises ConfigError for settings that do not go together."""

    rules: str = setting(
        "all",
        "Moves that a tree looks at: all, or those of table-2 (the nine rules of the paper), "
        "shipped-2018, shipped-2019, shipped-evaluation, or numbers as in '2|3|9'.",
        metavar="NAME",
    )
    convention: str = setting(
        "off",
        "What these rules take a hint that touches one card for: off, any-giver or "
        "previous-player.",
        metavar="KIND",
    )
    evaluation: str = setting(
        NONE,
        "Estimates of these moves, as priors: evalfn-1, evalfn-2, evalfn-3, evalfn-3-roots, a file "
        "of `hanabi-search train`, or none.",
        metavar="NAME",
    )

    def __post_init__(self) -> None:
        if self.rules == "all":
            for name, usual in (("convention", "off"), ("evaluation", NONE)):
                if getattr(self, name) != usual:
                    raise ConfigError(
                        f"{name} must be {usual} where rules are all, got {getattr(self, name)!r}"
                    )

    def guide(self) -> RuleAgent | None:
        """What restricts a tree and estimates its moves; its name says which rules they are."""
        from hanabi_search_plugin.hanabi.bots.evalfn import EvalFn, named_network
        from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
        from hanabi_search_plugin.hanabi.bots.rulebook import named_rules

        if self.rules == "all":
            return None
        rules = named_rules(self.rules, words=("all",))
        convention = cast("Convention", self.convention)
        if self.evaluation == NONE:
            return RuleAgent(rules, convention=convention, name=self.rules)
        network = named_network(self.evaluation)
        return EvalFn(network, rules, convention=convention, name=self.rules)


@dataclass(frozen=True)
class NamedSearch:
    """A search whose fields are options of the same names.

    The guide of a tree search is three options, those of ``GuideSettings``.
    """

    name: str
    make: type[Any]  # a dataclass
    what: str
    source: str

    @cached_property
    def settings(self) -> dict[str, Setting]:
        """What options set of it."""
        own = settings_of(self.make)
        if "continuation" in own:  # policies, which a text names
            own["continuation"] = replace(own["continuation"], kind=str | None)
        if issubclass(self.make, TreeSearch):
            own |= settings_of(GuideSettings)
        return {name: one for name, one in own.items() if name not in ELSEWHERE}


SEARCHES = {
    name: NamedSearch(name, one.make, one.what, one.source)
    for name, one in named_searches.SEARCHES.items()
}


def _by_search(name: str) -> dict[str, Setting]:
    """The setting of that name of every search that has it."""
    return {s.name: s.settings[name] for s in SEARCHES.values() if name in s.settings}


def _shared(name: str) -> Setting:
    """One option for all searches that have it.

    Where their texts differ it has them all. Where their defaults differ its own is None: each
    search's own; where None is a value, too, 0 stands for that.
    """
    own = _by_search(name)
    first = next(iter(own.values()))
    texts = {search: one.text for search, one in own.items()}
    text = _each(texts)
    if len(set(texts.values())) == 1:
        text = f"{text} ({', '.join(texts)})"
    if name not in DIFFERENT:
        return replace(first, text=text)
    defaults = _each({search: str(one.default) for search, one in own.items()}, between="; ")
    zero = "; 0 stands for None" if first.optional else ""
    text = f"{text} Default: {defaults}{zero}."
    return replace(first, default=None, kind=first.kind | None, text=text)


def _each(texts: dict[str, str], between: str = " ") -> str:
    """What is said of each search, once where it is the same."""
    searches: dict[str, list[str]] = {}
    for search, text in texts.items():
        searches.setdefault(text, []).append(search)
    if len(searches) == 1:
        return next(iter(searches))
    return between.join(f"{', '.join(names)}: {text}" for text, names in searches.items())


_NAMES = tuple(dict.fromkeys(name for search in SEARCHES.values() for name in search.settings))
DIFFERENT = {name for name in _NAMES if len({s.default for s in _by_search(name).values()}) > 1}
"""Options whose default is each search's own."""
OPTIONS = {name: _shared(name) for name in _NAMES}
"""Every option that belongs to some search, by the name of the field that it sets."""


@dataclass(frozen=True)
class ChosenSearch:
    """A search and the name that it was chosen by; None where nobody searches."""

    name: str
    search: Search | TeamSearch | None


class SearchOptions(Group):
    """``--search`` and the options of all searches, together a ``ChosenSearch``.

    ``default`` is the search where none is named. ``threads``: it has the option, too.
    """

    panel = "Search"

    def __init__(self, default: str = NONE, *, threads: bool = False) -> None:
        self.default, self.threads = default, threads

    def settings(self) -> dict[str, Setting]:
        names = ", ".join(SEARCHES)
        named = Setting("search", str, self.default, f"{names}, none or a plugin's.", "NAME")
        threads = {"threads": settings_of(Sparta)["threads"]} if self.threads else {}
        return {"search": named} | OPTIONS | threads

    def completes(self, one: Setting) -> option_names.Completes | None:
        if one.name == "search":
            return option_names.among(known_searches)
        return super().completes(one)

    def make(self, given: Mapping[str, Any]) -> ChosenSearch:
        options = {name: given[name] for name in OPTIONS}
        return make_search(given["search"], options, given.get("threads", 1))


def known_searches() -> list[str]:
    """Searches by name, those of plugins too, and none."""
    return plugins.all_names("search", [*SEARCHES, NONE])


def make_search(name: str, options: Mapping[str, Any], threads: int) -> ChosenSearch:
    """The search of that name, with values of some of ``OPTIONS``, or a plugin's, set by its name.

    Raises ConfigError for an unknown name, a bad value, or an option of another search.
    """
    changed = {n: v for n, v in options.items() if v != OPTIONS[n].default}
    if name == NONE:
        require_no_search(changed)
        return ChosenSearch(name, None)
    head, *words = name.split(":")
    plugin = plugins.find("search", head, (*SEARCHES, NONE))
    if plugin is not None:
        return ChosenSearch(name, _of_plugin(plugin, words, changed, threads))
    if name not in SEARCHES:
        raise unknown("search", name, known_searches())
    return ChosenSearch(name, _of_package(SEARCHES[name], changed, threads))


def require_no_search(given: Mapping[str, Any]) -> None:
    """Raises ConfigError for an option of a search that was ``given`` where nobody searches."""
    for option, value in given.items():
        if value is False:  # as of --no-explain
            raise ConfigError(f"no-{_flag(option)} is an option of a search, got none")
        raise ConfigError(
            f"{_flag(option)} is an option of a search, got {value!r} and none: name one, as in "
            "--search sparta"
        )


def _of_package(named: NamedSearch, changed: dict[str, Any], threads: int) -> Search | TeamSearch:
    own = named.settings
    for name, value in changed.items():
        if name not in own:
            budget = name == "rollouts" and "iterations" in own
            hint = ": its budget is --iterations" if budget else ""
            raise ConfigError(
                f"{_flag(name)} is not an option of {named.name}, got {value!r}{hint}"
            )
    chosen = {name: _meant(own[name], value) for name, value in changed.items()}
    if issubclass(named.make, TreeSearch):
        guide = {name: chosen.pop(name) for name in settings_of(GuideSettings) if name in chosen}
        if chosen.get("by_convention") and guide.get("convention", "off") == "off":
            raise ConfigError("by-convention needs a convention, got convention off")
        chosen["guide"] = GuideSettings(**guide).guide()
    if "threads" in settings_of(named.make):
        chosen["threads"] = threads
    found: Search | TeamSearch = named.make(**chosen)
    return found


def _meant(own: Setting, value: Any) -> Any:
    """A search's value by an option's: see ``_shared`` for 0."""
    return None if own.name in DIFFERENT and own.optional and value == 0 else value


def _of_plugin(
    plugin: plugins.Plugin, words: list[str], changed: dict[str, Any], threads: int
) -> Search | TeamSearch:
    """Its options follow its name; those of the command line are of the searches here."""
    for name, value in changed.items():
        raise ConfigError(
            f"{_flag(name)} is not an option of {plugin.name}, whose own follow its name, as in "
            f"{plugin.name}:name=value, got {value!r}"
        )
    chosen = plugin.read(words)
    if "threads" in plugin.options:
        chosen["threads"] = threads
    found: Search | TeamSearch = plugin.make(**chosen)
    return found


def _flag(name: str) -> str:
    return name.replace("_", "-")
