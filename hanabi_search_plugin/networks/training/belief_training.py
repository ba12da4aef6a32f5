"""A belief model learns from a stream of games of the blueprint (LBS paper, section 5.2).

Each round plays new games, keeps those of the last rounds in a buffer, and takes steps on sequences
drawn from it. What a round plays follows from the seed and its number, so that a run that was
stopped plays the buffer's games again instead of keeping them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hanabi_search_plugin.beliefs.belief_model import require_tokens
from hanabi_search_plugin.core.capabilities import PrivateTokens
from hanabi_search_plugin.core.game import PAD, Game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.networks.belief_files import describe_game, save_belief
from hanabi_search_plugin.networks.modules import require_options, seeded
from hanabi_search_plugin.networks.nets.belief_net import BeliefNet, cross_entropy, masked
from hanabi_search_plugin.networks.training.belief_games import BeliefLessons, batch_of, collect
from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import BeliefSettings

Tensor = Any  # torch.Tensor

GAMES = 1 << 32  # what the generators of a round's games are told apart by from its steps'
NEW = 1 << 31  # what the generators of games are told apart by that no run learns from
AT_ONCE = 100  # games measured at a time


class BeliefRun(TrainingRun):
    """A training of a belief model for ``game`` in a folder; see ``TrainingRun``.

    ``blueprint`` is what everybody plays, ``name`` what it is called, ``options`` those of
    ``BeliefNet``. Raises UnsupportedError for a game without private tokens.
    """

    form = "hanabi-search-plugin belief training 1"
    network: BeliefNet

    def __init__(
        self,
        game: Game,
        blueprint: Blueprint,
        settings: BeliefSettings,
        folder: str | Path,
        *,
        name: str = "",
        options: dict[str, Any] | None = None,
        device: str = "cpu",
    ) -> None:
        self.game, self.blueprint, self.settings = require_tokens(game), blueprint, settings
        require_options("a belief network", BeliefNet, options or {})
        with seeded(settings.seed):
            network = BeliefNet(self.game, **(options or {}))
        about = {"game": describe_game(self.game), "policy": name or describe(blueprint[0])}
        super().__init__(
            network, folder, settings=about | {"options": network.options} | asdict(settings),
            rounds=settings.iterations, rate=settings.rate, seed=settings.seed, device=device,
        )  # fmt: skip
        first = self.done if self.finished else max(0, self.done - settings.keep + 1)
        self._buffer: deque[BeliefLessons] = deque(
            (self._games(round_) for round_ in range(first, self.done)), maxlen=settings.keep
        )

    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """New games, then steps. Cross entropies, nats a token: of the steps' batches."""
        self._buffer.append(self._games(self.done))
        total = sum(part.sequences for part in self._buffer)
        sums: dict[str, float] = {}
        self.network.train()
        for _ in range(self.settings.steps):
            chosen = rng.choice(total, min(self.settings.batch, total), replace=False)
            figures = lesson(self.network, batch_of(list(self._buffer), chosen))
            self.step(figures["loss"])
            for name, value in figures.items():
                sums[name] = sums.get(name, 0.0) + float(value.detach()) / self.settings.steps
        self.network.eval()
        return sums | {"score": float(self._buffer[-1].scores.mean())}

    def write(self, path: Path, record: dict[str, Any]) -> None:
        save_belief(path, self.game, self.network, record)

    def _games(self, round_: int) -> BeliefLessons:
        rng = np.random.default_rng([self.settings.seed, GAMES + round_])
        with torch.inference_mode():
            return collect(self.game, self.blueprint, self.network.reader, self.settings.games, rng)


def measured(
    game: PrivateTokens, blueprint: Blueprint, network: BeliefNet, games: int, seed: int
) -> Row:
    """The cross entropies of ``lesson`` on games that no run learns from."""
    sums: dict[str, float] = {}
    for first in range(0, games, AT_ONCE):
        n = min(AT_ONCE, games - first)
        with torch.inference_mode():
            rng = np.random.default_rng([seed, NEW + first])
            figures = lesson(network, collect(game, blueprint, network.reader, n, rng))
        for name, value in figures.items():
            sums[name] = sums.get(name, 0.0) + float(value) * n / games
    return sums


def lesson(network: BeliefNet, batch: BeliefLessons) -> dict[str, Tensor]:
    """Mean cross entropies of the tokens of a batch, nats.

    "loss" of the network, "masked" of it with impossible tokens left out, "grounded" of what the
    observations alone say.
    """
    device = network.out.weight.device
    seen = torch.from_numpy(batch.seen).to(device)
    at = torch.from_numpy(batch.step), torch.from_numpy(batch.sequence)
    context, read = network.contexts(seen)[at], network.reader.read(seen[at])
    tokens = torch.from_numpy(batch.tokens.astype(np.int64)).to(device)
    weights = torch.from_numpy(batch.weights).to(device).float()
    logits = network.logits(context, read, tokens, weights)
    count = (tokens != PAD).sum()
    loss = cross_entropy(logits, tokens).sum() / count
    with torch.no_grad():
        kept = cross_entropy(masked(logits, weights), tokens).sum() / count
        known = torch.log(weights.clamp(min=1e-30))
        grounded = cross_entropy(masked(known, weights), tokens).sum() / count
    return {"loss": loss, "masked": kept, "grounded": grounded}
