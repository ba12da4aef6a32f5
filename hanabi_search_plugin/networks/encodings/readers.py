"""What a belief model reads of a view: numbers to keep, and features that a device makes of them.

Letters: B views, N numbers, P players, K tokens, V vocabulary, S features of a token.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import Event, Game, View
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding

Tensor = Any  # torch.Tensor


@dataclass(frozen=True)
class Read:
    """What a view says, as a network takes it."""

    features: Tensor  # float32 [B, size]
    plausible: Tensor | None = None  # [B, K, V] factors for each token's probability, above 0
    token_features: Tensor | None = None  # [B, S, V] what the tokens are worth


class Reader(ABC):
    """One encoding of one game. It may have a memory, which is kept as a policy's is."""

    name: str
    size: int  # features
    token_features: int = 0  # S

    def start(self, view: View) -> Memory:
        return None

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return memory

    @abstractmethod
    def numbers(self, view: View, memory: Memory) -> NDArray[Any]:
        """[B, N]"""

    @abstractmethod
    def read(self, numbers: Tensor) -> Read:
        """Expand numbers [B, N] on any device."""


class EncodingReader(Reader):
    """All that a seat sees of native Hanabi, in an encoding of networks."""

    def __init__(self, game: HanabiGame, name: str) -> None:
        self.name = name
        self.encoding = make_encoding(name, game.config)
        self.size = self.encoding.private_size

    def numbers(self, view: View, memory: Memory) -> NDArray[Any]:
        return np.concatenate([self.encoding.public(view), self.encoding.private(view)], axis=1)

    def read(self, numbers: Tensor) -> Read:
        public, private = numbers.tensor_split([self.encoding.public_words], 1)
        return Read(self.encoding.expand_private(public, private))


class GameReader(Reader):
    """An observation that the game itself encodes as numbers, and which seat's it is."""

    def __init__(self, game: Game, name: str) -> None:
        self.name = name
        self.players = game.num_players
        view = game.deal(np.random.default_rng(0), 1).view(0)
        self.size = int(view.observation(name)[0].size) + self.players

    def numbers(self, view: View, memory: Memory) -> NDArray[Any]:
        seen = view.observation(self.name).reshape(len(view), -1)
        seat = np.tile(np.arange(self.players) == view.player, (len(view), 1))
        return np.concatenate([seat, seen], axis=1, dtype=np.float32)

    def read(self, numbers: Tensor) -> Read:
        return Read(numbers.to(torch.float32))
