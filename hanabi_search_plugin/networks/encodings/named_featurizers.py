"""Make the input of a belief model by the name of its encoding."""

from __future__ import annotations

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.require import unknown
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.encodings.belief_encoding import BeliefEncoding
from hanabi_search_plugin.networks.encodings.featurizers import (
    EncodingFeaturizer,
    Featurizer,
    GameFeaturizer,
)
from hanabi_search_plugin.registry import load_policy


def make_featurizer(game: Game, name: str, listener: str) -> Featurizer:
    """The featurizer of the encoding ``name`` for ``game``.

    "" stands for belief-1 in native Hanabi, else for the game's first numeric encoding. Only
    belief-1 takes a ``listener``. Raises ConfigError for an unknown name.
    """
    if isinstance(game, HanabiGame) and name in ("", "belief-1"):
        return BeliefEncoding(game, load_policy(listener, game) if listener else None)
    if listener:
        raise ConfigError(f"listener is an option of the encoding belief-1, got {listener!r}")
    if isinstance(game, HanabiGame):
        return EncodingFeaturizer(game, name)
    numeric = [each for each in game.encodings if each != "string"]
    if numeric and name in ("", *numeric):
        return GameFeaturizer(game, name or numeric[0])
    raise unknown("encoding", name, numeric)
