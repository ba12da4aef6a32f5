"""Games of this package with a name on the command line, besides Hanabi."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hanabi_search_plugin.bridge import BridgeBidding, NaturalBidder, OtherTable, load_jps
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.settings import settings_of
from hanabi_search_plugin.games import Communication, MiniBridge, SimpleBidding
from hanabi_search_plugin.plugins import Plugin

NATURAL = "natural"


def bridge(
    dealer: int | None = None, vulnerable: str | None = None, against: str | None = None
) -> Game:
    """The bidding of contract bridge; in IMPs against natural or a file of JPS's network"""
    if against is None:
        return BridgeBidding(dealer, vulnerable)
    there = NaturalBidder() if against == NATURAL else load_jps(against)
    return BridgeBidding(dealer, vulnerable, OtherTable(there))


def _own(name: str, make: Callable[..., Any]) -> Plugin:
    about = (make.__doc__ or "").partition("\n")[0]
    return Plugin("game", name, "this package", about, settings_of(make), make)


OWN_GAMES = {
    game.name: game
    for game in (
        _own("communication", Communication),
        _own("simple_bidding", SimpleBidding),
        _own("mini_bridge", MiniBridge),
        _own("bridge", bridge),
    )
}
