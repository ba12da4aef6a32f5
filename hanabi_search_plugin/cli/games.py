"""Games by name: Hanabi and others of ours, OpenSpiel's, Dec-POMDPs of files, plugins'."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields

from hanabi_search_plugin import plugins
from hanabi_search_plugin.cli.own_games import OWN_GAMES
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

HANABI = "hanabi"
OPENSPIEL = "openspiel:"  # before what OpenSpiel's own ``load_game`` takes
DPOMDP = "dpomdp:"  # before a file and its options, as ``wrappers.dpomdp.load_game`` takes them


def load_game(name: str, config: HanabiConfig) -> Game:
    """The game of that name; ``config`` is for ``hanabi``.

    ``openspiel:hanabi(...)`` is on the native engine, too. Raises ConfigError for a name that
    nobody has, UnsupportedError for a game that cannot be played here, RecordError for a file that
    is damaged.
    """
    if name == HANABI:
        from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

        return HanabiGame(config)
    if name.startswith(OPENSPIEL):
        from hanabi_search_plugin.wrappers.openspiel import load_game

        return load_game(name.removeprefix(OPENSPIEL))
    if name.startswith(DPOMDP):
        from hanabi_search_plugin.wrappers import dpomdp

        return dpomdp.load_game(name.removeprefix(DPOMDP))
    own = (HANABI, *OWN_GAMES, f"{OPENSPIEL}NAME", f"{DPOMDP}FILE")
    head = name.partition(":")[0].partition("(")[0]
    if head in OWN_GAMES and plugins.find("game", head, own) is None:
        game: Game = OWN_GAMES[head].make(**OWN_GAMES[head].read(name.split(":")[1:]))
        return game
    if head not in plugins.all_names("game", own):
        import pyspiel

        known = plugins.all_names("game", own)
        theirs = pyspiel.registered_names()
        bare = re.split("[:/]", name.partition("(")[0])[-1]  # without what was meant as a prefix
        meant = did_you_mean(bare, theirs, before=OPENSPIEL) if bare != head else ""
        meant = meant or did_you_mean(head, known) or did_you_mean(head, theirs, before=OPENSPIEL)
        raise ConfigError(f"game must be one of {', '.join(known)}, got {head!r}{meant}")
    return plugins.load_game(name, own)


def game_options(config: HanabiConfig, *, without: Collection[str] = ()) -> list[str]:
    """The words of a command line that give the game; none for options at their defaults.

    ``without`` are settings that the command does not have.
    """
    usual, found = HanabiConfig(), []
    for name in (one.name for one in fields(HanabiConfig)):
        value, flag = getattr(config, name), name.replace("_", "-")
        if value != getattr(usual, name) and name not in without:
            found += [f"--{flag}"] if value is True else [f"--{flag}", str(value)]
    return found
