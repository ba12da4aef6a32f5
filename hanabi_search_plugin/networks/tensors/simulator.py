"""Many games side by side, for training: the seam between what learns and what plays by the rules.

A trainer needs no more of a game than ``Simulator`` says, in tensors of its device. Behind it
stands the compiled engine on the processor (``EngineGames``), or the rules as tensors on any device
(``TensorGames``). Letters: G games, P players, A actions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hanabi_search_plugin.hanabi.engine.hanabi_rules import points
from hanabi_search_plugin.hanabi.engine.layout import LIVES
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding
from hanabi_search_plugin.networks.modules import as_tensor
from hanabi_search_plugin.networks.tensors.tensor_encoding import encoded
from hanabi_search_plugin.networks.tensors.tensor_streams import TensorStreams
from hanabi_search_plugin.networks.tensors.tensor_worlds import TensorWorlds

Tensor = Any  # torch.Tensor


@dataclass(frozen=True)
class Seen:
    """What the seats see of the games, as an encoding has it before it is expanded."""

    mover: Tensor  # int64 [G] the seat to move
    legal: Tensor  # bool [G, A] its moves
    public: Tensor  # [P or 1, G, ...] by seat; one where it is the same for all
    private: Tensor  # [P, G, ...]


@dataclass(frozen=True)
class Stepped:
    """What a move brought."""

    points: Tensor  # float32 [G] cards that came onto the fireworks
    forfeit: Tensor  # float32 [G] what of its points a lost game loses, by the game's rule ``bomb``
    ended: Tensor  # bool [G] the game is over, and another one was dealt in its place
    lost: Tensor  # bool [G] it ended with no life left
    score: Tensor  # float32 [G] the return of the game so far


class Simulator(ABC):
    """G games of one configuration, seen through one encoding; one that ends is dealt anew.

    The first ones are dealt from a seed.
    """

    @abstractmethod
    def begin(self, seed: int) -> None:
        """All chance from here on follows from ``seed`` and the games as they stand."""

    @abstractmethod
    def observe(self) -> Seen:
        """The games as they stand."""

    @abstractmethod
    def step(self, actions: Tensor) -> Stepped:
        """Play legal actions, int64 [G]."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """All that the games are, by name, for ``restore``."""

    @abstractmethod
    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a ``state``; raises KeyError or ValueError for one that does not fit."""


class EngineGames(Simulator):
    """``size`` games in the compiled engine; what they show is copied to ``device``.

    ``step`` raises IllegalActionError for a move that is not legal.
    """

    def __init__(
        self, game: HanabiGame, encoding: Encoding, size: int, seed: int, device: str
    ) -> None:
        self.game, self.encoding, self.device = game, encoding, device
        self.begin(seed)
        self.worlds = game.deal(self.rng, size)
        self.seats = range(game.num_players)

    def begin(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def observe(self) -> Seen:
        worlds, encoding = self.worlds, self.encoding
        views = [worlds.view(p) for p in self.seats]
        apart = views if encoding.seat_relative else views[:1]
        return Seen(
            as_tensor(worlds.current_player, self.device),
            as_tensor(worlds.legal, self.device),
            as_tensor(np.stack([encoding.public(view) for view in apart]), self.device),
            as_tensor(np.stack([encoding.private(view) for view in views]), self.device),
        )

    def step(self, actions: Tensor) -> Stepped:
        worlds = self.worlds
        before = points(worlds.rows).astype(np.float32)
        worlds.step(actions.cpu().numpy())
        now, ended = points(worlds.rows).astype(np.float32), worlds.terminal
        score = worlds.returns[:, 0].astype(np.float32)
        lives = self.game.outcome(worlds)["lives_left"]
        worlds.rows[ended] = self.game.deal(self.rng, int(ended.sum())).rows
        brought = (now - before, now - score, ended, lives == 0, score)
        return Stepped(*(as_tensor(array, self.device) for array in brought))

    def state(self) -> dict[str, Tensor]:
        return {"rows": torch.from_numpy(self.worlds.rows)}

    def restore(self, state: dict[str, Tensor]) -> None:
        rows = state["rows"].cpu().numpy()
        if rows.shape != self.worlds.rows.shape:
            raise ValueError(f"expected rows {self.worlds.rows.shape}, got {rows.shape}")
        self.worlds.rows[:] = rows


class TensorGames(Simulator):
    """``size`` games on ``device``; nothing waits for the processor, and illegal moves go unseen.

    A game takes a number of its stream for each card of a deck whenever it is dealt.
    """

    def __init__(
        self, game: HanabiGame, encoding: Encoding, size: int, seed: int, device: str
    ) -> None:
        self.game, self.encoding, self.size, self.device = game, encoding, size, device
        self.begin(seed)
        self.worlds = TensorWorlds.deal(game, self.streams)

    def begin(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.streams = TensorStreams.spawn(rng, self.size, self.device)

    def observe(self) -> Seen:
        worlds = self.worlds
        parts = [encoded(self.encoding, worlds, p) for p in range(self.game.num_players)]
        apart = parts if self.encoding.seat_relative else parts[:1]
        return Seen(
            worlds.current_player,
            worlds.legal,
            torch.stack([public for public, _ in apart]),
            torch.stack([private for _, private in parts]),
        )

    def step(self, actions: Tensor) -> Stepped:
        worlds = self.worlds
        before = worlds.points
        reward = worlds.step(actions)
        points, ended = (worlds.points - before).float(), worlds.terminal
        lost, score = worlds.words[LIVES] == 0, worlds.returns
        worlds.restart(ended, self.streams)
        return Stepped(points, points - reward, ended, lost, score)

    def state(self) -> dict[str, Tensor]:
        return {"rows": self.worlds.words.t()}

    def restore(self, state: dict[str, Tensor]) -> None:
        if state["rows"].t().shape != self.worlds.words.shape:
            raise ValueError(f"expected words {self.worlds.words.shape}")
        self.worlds.words.copy_(state["rows"].t())
