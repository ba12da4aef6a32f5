"""Inputs of belief models: compact numbers of a view, and features that a device expands them to.

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
class BeliefInputs:
    """Inputs of a belief network at B views."""

    features: Tensor  # float32 [B, size]
    plausible: Tensor | None = None  # [B, K, V] factors for each token's probability, above 0
    token_features: Tensor | None = None  # [B, S, V] features of each token of the vocabulary


class Featurizer(ABC):
    """One encoding of one game's views. It may have a memory, kept like a policy's.

    ``numbers`` is computed when a view is seen and may be stored; ``expand`` makes features of it.
    """

    name: str
    size: int  # features
    token_features: int = 0  # S

    def start(self, view: View) -> Memory:
        return None

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return memory

    @abstractmethod
    def numbers(self, view: View, memory: Memory) -> NDArray[Any]:
        """The views as compact numbers [B, N]."""

    @abstractmethod
    def expand(self, numbers: Tensor) -> BeliefInputs:
        """Expand numbers [B, N] to features, on any device."""


class EncodingFeaturizer(Featurizer):
    """All that a seat sees of native Hanabi, in one of the encodings of networks that play."""

    def __init__(self, game: HanabiGame, name: str) -> None:
        self.name = name
        self.encoding = make_encoding(name, game.config)
        self.size = self.encoding.private_size

    def numbers(self, view: View, memory: Memory) -> NDArray[Any]:
        return np.concatenate([self.encoding.public(view), self.encoding.private(view)], axis=1)

    def expand(self, numbers: Tensor) -> BeliefInputs:
        public, private = numbers.tensor_split([self.encoding.public_words], 1)
        return BeliefInputs(self.encoding.expand_private(public, private))


class GameFeaturizer(Featurizer):
    """A numeric observation of the game's own, and a one-hot of the seat."""

    def __init__(self, game: Game, name: str) -> None:
        self.name = name
        self.players = game.num_players
        view = game.deal(np.random.default_rng(0), 1).view(0)
        self.size = int(view.observation(name)[0].size) + self.players

    def numbers(self, view: View, memory: Memory) -> NDArray[Any]:
        seen = view.observation(self.name).reshape(len(view), -1)
        seat = np.tile(np.arange(self.players) == view.player, (len(view), 1))
        return np.concatenate([seat, seen], axis=1, dtype=np.float32)

    def expand(self, numbers: Tensor) -> BeliefInputs:
        return BeliefInputs(numbers.to(torch.float32))
