"""Many games side by side for training: the interface between a trainer and the rules.

A trainer sees games through ``Simulator`` alone, as tensors on its device. They are played by the
compiled engine on the CPU (``EngineGames``), or as tensors on any device (``TensorGames``).
Letters: G games, P players, A actions.
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
class Observations:
    """The seats' observations of the games, encoded but not yet expanded."""

    mover: Tensor  # int64 [G] the seat to move
    legal: Tensor  # bool [G, A] its moves
    public: Tensor  # [P or 1, G, ...] by seat; one where it is the same for all
    private: Tensor  # [P, G, ...]


@dataclass(frozen=True)
class StepResult:
    """The results of one move in each game."""

    points: Tensor  # float32 [G] cards that came onto the fireworks
    forfeit: Tensor  # float32 [G] points that a lost game loses, by the game's rule ``bomb``
    ended: Tensor  # bool [G] the game is over, and another one was dealt in its place
    lost: Tensor  # bool [G] it ended with no life left
    score: Tensor  # float32 [G] the return of the game so far


class Simulator(ABC):
    """G games of one configuration, observed through one encoding.

    The first games are dealt from a seed; a game that ends is replaced by a new deal.
    """

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Reseed: all chance from here on follows from ``seed``."""

    @abstractmethod
    def observe(self) -> Observations:
        """Observe the games as they stand."""

    def played(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """The moves int64 [G] of the games where the learner would make ``actions``, and which of
        them are its own, bool [G]; empty where all are."""
        return actions, actions.new_empty(0, dtype=torch.bool)

    @abstractmethod
    def step(self, actions: Tensor) -> StepResult:
        """Play legal ``actions``, int64 [G]."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Tensors from which ``restore`` continues the games, by name."""

    @abstractmethod
    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from a ``state``; raises KeyError or ValueError for one that does not fit."""


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

    def observe(self) -> Observations:
        worlds, encoding = self.worlds, self.encoding
        views = [worlds.view(p) for p in self.seats]
        apart = views if encoding.seat_relative else views[:1]
        return Observations(
            as_tensor(worlds.current_player, self.device),
            as_tensor(worlds.legal, self.device),
            as_tensor(np.stack([encoding.public(view) for view in apart]), self.device),
            as_tensor(np.stack([encoding.private(view) for view in views]), self.device),
        )

    def step(self, actions: Tensor) -> StepResult:
        worlds = self.worlds
        before = points(worlds.rows).astype(np.float32)
        worlds.step(actions.cpu().numpy())
        now, ended = points(worlds.rows).astype(np.float32), worlds.terminal
        score = worlds.returns[:, 0].astype(np.float32)
        lives = self.game.outcome(worlds)["lives_left"]
        worlds.rows[ended] = self.game.deal(self.rng, int(ended.sum())).rows
        brought = (now - before, now - score, ended, lives == 0, score)
        return StepResult(*(as_tensor(array, self.device) for array in brought))

    def state(self) -> dict[str, Tensor]:
        return {"rows": torch.from_numpy(self.worlds.rows)}

    def restore(self, state: dict[str, Tensor]) -> None:
        rows = state["rows"].cpu().numpy()
        if rows.shape != self.worlds.rows.shape:
            raise ValueError(f"expected rows {self.worlds.rows.shape}, got {rows.shape}")
        self.worlds.rows[:] = rows


class TensorGames(Simulator):
    """``size`` games on ``device``; never waits for the device, and does not check moves.

    What it knows of the games stays where it is in memory (``Repeated``). A game takes a number of
    its stream for each card of a deck whenever it is dealt.
    """

    def __init__(
        self, game: HanabiGame, encoding: Encoding, size: int, seed: int, device: str
    ) -> None:
        self.game, self.encoding, self.size, self.device = game, encoding, size, device
        self.streams = self._spawned(seed)
        self.worlds = TensorWorlds.deal(game, self.streams)

    def _spawned(self, seed: int) -> TensorStreams:
        return TensorStreams.spawn(np.random.default_rng(seed), self.size, self.device)

    def begin(self, seed: int) -> None:
        self.streams.state.copy_(self._spawned(seed).state)

    def observe(self) -> Observations:
        worlds = self.worlds
        parts = [encoded(self.encoding, worlds, p) for p in range(self.game.num_players)]
        apart = parts if self.encoding.seat_relative else parts[:1]
        return Observations(
            worlds.current_player,
            worlds.legal,
            torch.stack([public for public, _ in apart]),
            torch.stack([private for _, private in parts]),
        )

    def step(self, actions: Tensor) -> StepResult:
        worlds = self.worlds
        before = worlds.points
        reward = worlds.step(actions)
        points, ended = (worlds.points - before).float(), worlds.terminal
        lost, score = worlds.words[LIVES] == 0, worlds.returns
        worlds.restart(ended, self.streams)
        return StepResult(points, points - reward, ended, lost, score)

    def state(self) -> dict[str, Tensor]:
        return {"rows": self.worlds.words.t()}

    def restore(self, state: dict[str, Tensor]) -> None:
        if state["rows"].t().shape != self.worlds.words.shape:
            raise ValueError(f"expected words {self.worlds.words.shape}")
        self.worlds.words.copy_(state["rows"].t())
