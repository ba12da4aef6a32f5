"""Searches by name, for Python and the command line. A name stands for a class elsewhere, imported
when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanabi_search_plugin import plugins
from hanabi_search_plugin.core.agent import Search, TeamSearch
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.lazy import resolve
from hanabi_search_plugin.core.require import unknown

NONE = "none"  # the word of options for no search


@dataclass(frozen=True)
class SearchEntry:
    """A search that can be asked for by name."""

    name: str
    home: str  # "module:class", below ``algorithms``
    what: str  # one line
    source: str

    @property
    def make(self) -> type[Any]:
        """Its class, a dataclass."""
        kind: type[Any] = resolve(f"hanabi_search_plugin.algorithms.{self.home}")
        return kind


_SPARTA = "Lerer, Hu, Foerster and Brown, AAAI 2020"
_COWLING = "Cowling et al. 2012"
_GOODMAN = "Goodman, CoG 2019"
SEARCHES = {
    name: SearchEntry(name, home, what, source)
    for name, home, what, source in (
        ("sparta", "sparta:Sparta", "one-ply search over an exact belief", _SPARTA),
        ("joint-sparta", "joint_sparta:JointSparta", "the same by all seats, as a team", _SPARTA),
        (
            "lbs",
            "lbs:Lbs",
            "one-ply search over a learned belief, rollouts cut by values",
            "Hu, Lerer, Brown and Foerster, 2021",
        ),
        (
            "mds",
            "mds:Mds",
            "one small step of policy improvement, which all seats may take at once",
            "Sokota et al., ICLR 2024",
        ),
        (
            "pomcp",
            "pomcp:Pomcp",
            "sparta, and a tree of the seat's own later moves",
            "Silver and Veness, NeurIPS 2010",
        ),
        ("so-ismcts", "ismcts:SoIsmcts", "a tree of what you see", _COWLING),
        ("mo-ismcts", "ismcts:MoIsmcts", "a tree; others know what you know", _COWLING),
        ("ris-mcts", "ismcts:RisMcts", "a tree; others know what they see", _GOODMAN),
        ("predictor", "predictor:Predictor", "a tree of own moves; others as predicted", _GOODMAN),
    )
}
"""Those of this package."""


def load_search(name: str) -> Search | TeamSearch:
    """The search of that name with its defaults, or a plugin's, whose options follow its name.

    Raises ConfigError for a name that nobody has and for options of a search of this package.
    """
    head, *words = name.split(":")
    plugin = plugins.find("search", head, (*SEARCHES, NONE))
    if plugin is not None:
        made: Search | TeamSearch = plugin.make(**plugin.read(words))
        return made
    if head not in SEARCHES:
        raise unknown("search", name, plugins.all_names("search", SEARCHES), "or an object")
    kind = SEARCHES[head].make
    if words:
        raise ConfigError(
            f"search {head} has its defaults by name, got {name!r}: {kind.__name__}(...) sets it"
        )
    found: Search | TeamSearch = kind()
    return found
