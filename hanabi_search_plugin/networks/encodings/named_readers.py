"""Readers of belief models by name."""

from __future__ import annotations

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.encodings.belief_encoding import BeliefEncoding
from hanabi_search_plugin.networks.encodings.readers import EncodingReader, GameReader, Reader
from hanabi_search_plugin.registry import load_policy


def make_reader(game: Game, name: str, listener: str) -> Reader:
    """The reader of an encoding.

    ``name`` "" takes belief-1 for native Hanabi, which alone may have a ``listener``, else the
    game's first encoding in numbers. Raises ConfigError for a name that is unknown.
    """
    if isinstance(game, HanabiGame) and name in ("", "belief-1"):
        return BeliefEncoding(game, load_policy(listener, game) if listener else None)
    if listener:
        raise ConfigError(f"listener is an option of the encoding belief-1, got {listener!r}")
    if isinstance(game, HanabiGame):
        return EncodingReader(game, name)
    numeric = [each for each in game.encodings if each != "string"]
    if numeric and name in ("", *numeric):
        return GameReader(game, name or numeric[0])
    raise ConfigError(f"encoding must be one of {', '.join(numeric)}, got {name!r}")
