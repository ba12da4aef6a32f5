"""The searches that the command line knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hanabi_search_plugin import plugins
from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts, TreeSearch
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.core.agent import Search, TeamSearch
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.bots.evalfn import EvalFn, named_network
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import named_rules


@dataclass(frozen=True)
class NamedSearch:
    """A search whose parameters are options of the same names.

    The guide of a tree search is three options, ``rules``, ``convention`` and ``evaluation``.
    """

    name: str
    make: type[Any]  # a dataclass
    what: str
    source: str

    @property
    def together(self) -> bool:
        """Do all seats search, as one team?"""
        return issubclass(self.make, TeamSearch)

    @property
    def options(self) -> dict[str, Any]:
        """Those that belong to it, and their defaults."""
        own = {field.name: field.default for field in fields(self.make)}
        return own | _GUIDE if issubclass(self.make, TreeSearch) else own


NONE = "none"
_GUIDE = {"rules": "all", "convention": "off", "evaluation": NONE}
_SPARTA = "Lerer, Hu, Foerster and Brown, AAAI 2020"
SEARCHES = {
    search.name: search
    for search in (
        NamedSearch("sparta", Sparta, "one-ply search over an exact belief", _SPARTA),
        NamedSearch("joint-sparta", JointSparta, "the same by all seats, as a team", _SPARTA),
        NamedSearch(
            "lbs",
            Lbs,
            "one-ply search over a learned belief, rollouts cut by values",
            "Hu, Lerer, Brown and Foerster, 2021",
        ),
        NamedSearch(
            "mo-ismcts", MoIsmcts, "a tree; others know what you know", "Cowling et al. 2012"
        ),
        NamedSearch("ris-mcts", RisMcts, "a tree; others know what they see", "Goodman, CoG 2019"),
        NamedSearch(
            "predictor", Predictor, "a tree of own moves; others as predicted", "Goodman, CoG 2019"
        ),
    )
}
# Every option that belongs to some search, and its default.
OPTIONS = {
    name: default
    for search in SEARCHES.values()
    for name, default in search.options.items()
    if name not in ("threads", "seed", "guide")  # the run's, and what has options of its own
} | {"depth": None}  # each search has its own


def make_search(name: str, settings: Mapping[str, Any], threads: int) -> Search | TeamSearch:
    """The search of that name, from a command's options; a plugin's from those after its name.

    Raises ConfigError for an unknown name, a bad value, or an option of another search.
    """
    head, *words = name.split(":")
    plugin = plugins.find("search", head, (*SEARCHES, NONE))
    if plugin is not None:
        return _of_plugin(plugin, words, settings, threads)
    if name not in SEARCHES:
        known = plugins.names("search", SEARCHES)
        raise ConfigError(f"search must be {known} or {NONE}, got {name!r}")
    make, own = SEARCHES[name].make, SEARCHES[name].options
    for option, default in OPTIONS.items():
        if option in settings and option not in own and settings[option] != default:
            raise ConfigError(
                f"{option.replace('_', '-')} is not an option of {name}, got {settings[option]!r}"
            )
    chosen = {option: settings[option] for option in OPTIONS if option in settings}
    chosen = {option: value for option, value in chosen.items() if option in own}
    if "depth" in chosen:
        depth = chosen.pop("depth")
        if depth is not None:
            chosen["depth"] = depth or None  # 0: to the end
    if issubclass(make, TreeSearch):
        if chosen.get("by_convention") and chosen.get("convention", "off") == "off":
            raise ConfigError("by-convention needs a convention, got convention off")
        chosen["guide"] = _guide(*(chosen.pop(name, usual) for name, usual in _GUIDE.items()))
    if "threads" in own:
        chosen["threads"] = threads
    found: Search | TeamSearch = make(**chosen)
    return found


def _of_plugin(
    plugin: plugins.Plugin, words: list[str], settings: Mapping[str, Any], threads: int
) -> Search | TeamSearch:
    """Its options follow its name; those of the command line are of the searches here."""
    for option, default in OPTIONS.items():
        if option in settings and settings[option] != default:
            raise ConfigError(
                f"{option.replace('_', '-')} is not an option of {plugin.name}, whose own follow "
                f"its name, as in {plugin.name}:name=value, got {settings[option]!r}"
            )
    chosen = plugins.read_options(f"search {plugin.name}", words, plugin.options)
    if "threads" in plugin.options:
        chosen["threads"] = threads
    found: Search | TeamSearch = plugin.make(**chosen)
    return found


def _guide(rules: str, convention: Any, evaluation: str) -> RuleAgent | None:
    """What restricts a tree and estimates its moves; its name says which rules they are."""
    if rules == "all":
        for option, value in (("convention", convention), ("evaluation", evaluation)):
            if value != _GUIDE[option]:
                raise ConfigError(
                    f"{option} must be {_GUIDE[option]} where rules are all, got {value!r}"
                )
        return None
    chosen = named_rules(rules)
    if evaluation == NONE:
        return RuleAgent(chosen, convention=convention, name=rules)
    return EvalFn(named_network(evaluation), chosen, convention=convention, name=rules)
