"""Games by name: native Hanabi, those of OpenSpiel, those of plugins."""

from __future__ import annotations

from hanabi_search_plugin import plugins
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

HANABI = "hanabi"
OPENSPIEL = "openspiel:"  # before what OpenSpiel's own ``load_game`` takes


def load_game(name: str, config: HanabiConfig) -> Game:
    """The game of that name; ``config`` is for ``hanabi``.

    ``openspiel:hanabi(...)`` is on the native engine, too. Raises ConfigError for a name that
    nobody has, UnsupportedError for a game that cannot be played here.
    """
    if name == HANABI:
        from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

        return HanabiGame(config)
    if name.startswith(OPENSPIEL):
        from hanabi_search_plugin.wrappers.openspiel import load_game

        return load_game(name.removeprefix(OPENSPIEL))
    return plugins.load_game(name, (HANABI, f"{OPENSPIEL}NAME"))
