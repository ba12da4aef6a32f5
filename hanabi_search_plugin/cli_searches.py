"""The searches that the command line knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hanabi_search_plugin.agent import Search, TeamSearch
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.errors import ConfigError


@dataclass(frozen=True)
class NamedSearch:
    """A search whose parameters are options of the same names."""

    name: str
    make: type[Any]  # a dataclass
    what: str
    source: str

    @property
    def together(self) -> bool:
        """Do all seats search, as one team?"""
        return issubclass(self.make, TeamSearch)


_SPARTA = "Lerer, Hu, Foerster and Brown, AAAI 2020"
SEARCHES = {
    search.name: search
    for search in (
        NamedSearch("sparta", Sparta, "one-ply search over an exact belief", _SPARTA),
        NamedSearch("joint-sparta", JointSparta, "the same by all seats, as a team", _SPARTA),
    )
}
NONE = "none"
# Every option that belongs to some search, and its default.
OPTIONS = {
    field.name: field.default
    for search in SEARCHES.values()
    for field in fields(search.make)
    if field.name not in ("threads", "seed", "round_size")  # the run's, and one nobody needs
}


def make_search(name: str, settings: Mapping[str, Any], threads: int) -> Search | TeamSearch:
    """The search of that name, from a command's options.

    Raises ConfigError for an unknown name, a bad value, or an option of another search.
    """
    if name not in SEARCHES:
        raise ConfigError(f"search must be {', '.join(SEARCHES)} or {NONE}, got {name!r}")
    make = SEARCHES[name].make
    own = {field.name for field in fields(make)}
    for option, default in OPTIONS.items():
        if option in settings and option not in own and settings[option] != default:
            raise ConfigError(
                f"{option.replace('_', '-')} is not an option of {name}, got {settings[option]!r}"
            )
    chosen = {option: settings[option] for option in OPTIONS if option in settings}
    found: Search | TeamSearch = make(
        **{option: value for option, value in chosen.items() if option in own}, threads=threads
    )
    return found
