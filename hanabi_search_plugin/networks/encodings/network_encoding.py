"""The base class of encodings, the inputs of networks that play.

An encoding has a public part, which everybody sees, and a private part of one seat. Both are
compact whole numbers (bits) until a device expands them to features. An encoding has a versioned
name and is made for one configuration. Letters: B worlds, N, M words or bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import View
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView

Tensor = Any  # torch.Tensor

FREE = ("bomb", "random_start_player")
"""Parameters that may differ between a network and the game it plays."""


class Encoding(ABC):
    """One named, versioned encoding for one configuration.

    Raises ConfigError for an ``observation_type`` other than card_knowledge.
    """

    name: str  #: with its version, "status-1"
    seat_relative: bool  #: the public part of seats differs, in its order alone
    public_words: int  #: N
    public_size: int  #: numbers of the public part, expanded
    private_size: int  #: numbers of all that a seat sees, expanded
    alone: slice  #: the non-public ones of them, which come before or after the public ones

    def __init__(self, config: HanabiConfig) -> None:
        if config.observation_type != "card_knowledge":
            raise ConfigError(
                f"observation_type must be card_knowledge for the encoding {self.name}, got "
                f"{config.observation_type!r}"
            )
        self.config = config

    @abstractmethod
    def public(self, view: View) -> NDArray[Any]:
        """[B, N] the public part, as whole numbers."""

    @abstractmethod
    def private(self, view: View) -> NDArray[Any]:
        """[B, M] the private part, as whole numbers; both parts are all that the seat sees."""

    @abstractmethod
    def expand_public(self, public: Tensor) -> Tensor:
        """Expand a public part [B, N] on any device to float32 [B, public_size]."""

    @abstractmethod
    def expand_alone(self, public: Tensor, private: Tensor) -> Tensor:
        """Expand both parts, [B or 1, N] and [B, M], to the slice ``alone`` of all, float32."""

    def expand_private(self, public: Tensor, private: Tensor) -> Tensor:
        """Expand both parts, [B, N] and [B, M], to float32 [B, private_size]: all the seat sees."""
        parts = [self.expand_public(public), self.expand_alone(public, private)]
        return torch.cat(parts if self.alone.start else parts[::-1], 1)

    def native(self, view: View) -> HanabiView:
        """The view; raises UnsupportedError where it is not of this configuration's game."""
        if not isinstance(view, HanabiView):
            raise UnsupportedError(
                f"networks play native Hanabi (HanabiGame), got a view of {view.game.name}"
            )
        self.require(view.game.config)
        return view

    def require(self, config: HanabiConfig) -> None:
        """Raises UnsupportedError unless the encoding is one for games of ``config``."""
        different = difference_of(self.config, config)
        if different is not None:
            name, value, given = different
            raise UnsupportedError(
                f"a network for games with {name} {value} cannot play one with {given}"
            )


def differences_of(made_for: HanabiConfig, config: HanabiConfig) -> dict[str, tuple[Any, Any]]:
    """Every parameter in which a network does not fit a game, and both values."""
    here, there = config.to_dict(), made_for.to_dict()
    return {
        name: (value, here[name])
        for name, value in there.items()
        if name not in FREE and here[name] != value
    }


def difference_of(made_for: HanabiConfig, config: HanabiConfig) -> tuple[str, Any, Any] | None:
    """The first parameter in which a network does not fit a game, and both values; or None."""
    if made_for == config:
        return None
    for name, value in made_for.to_dict().items():
        if name not in FREE and getattr(config, name) != value:
            return name, value, getattr(config, name)
    return None
