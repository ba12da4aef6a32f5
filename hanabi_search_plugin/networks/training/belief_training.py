"""Train a belief model on games of its blueprint (LBS paper, section 5.2).

Each round plays new games, keeps the games of the last rounds in a replay buffer, and takes
gradient steps on sequences drawn from it. A round's games follow from the seed and its number, so
that a run that was stopped replays the buffer's games instead of storing them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.extras import needing

with needing("torch", "training"):
    import torch

from hanabi_search_plugin.beliefs.belief_model import require_tokens
from hanabi_search_plugin.core.capabilities import PrivateTokens
from hanabi_search_plugin.core.game import PAD, Game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.evaluation.executor import Executor
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.networks.belief_files import describe_game, save_belief
from hanabi_search_plugin.networks.encodings.featurizers import Featurizer
from hanabi_search_plugin.networks.modules import built, require_options, seeded
from hanabi_search_plugin.networks.nets.belief_net import BeliefNet, cross_entropy, masked
from hanabi_search_plugin.networks.training.belief_games import (
    BeliefExamples,
    batch_of,
    play_belief_games,
)
from hanabi_search_plugin.networks.training.round_parts import played_in_parts
from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import (
    BeliefSettings,
    require_settings,
)
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of

Tensor = Any  # torch.Tensor

GAMES = 1 << 32  # added to a round's number, seeds its games; the number alone, its steps
NEW = 1 << 31  # seeds games that no run learns from
AT_ONCE = 100  # games measured at a time


class BeliefRun(TrainingRun):
    """A training of a belief model for ``game`` in a folder; see ``TrainingRun``.

    ``blueprint`` is what everybody plays, one policy or one a seat, or names; ``name`` what it is
    called, ``options`` those of ``BeliefNet``. ``executor`` plays the parts of a round. Raises
    UnsupportedError for a game without private tokens and for what are no policies.
    """

    form = "hanabi-search-plugin belief training 1"
    network: BeliefNet

    def __init__(
        self,
        game: Game,
        blueprint: AnyBlueprint,
        settings: BeliefSettings,
        folder: str | Path,
        *,
        name: str = "",
        options: dict[str, Any] | None = None,
        device: str = "cpu",
        executor: Executor | None = None,
    ) -> None:
        require_settings(BeliefSettings, settings)
        self.game, self.settings = require_tokens(game), settings
        self.executor = executor or Threads()
        self.blueprint = blueprint_of(blueprint, game)
        require_options("a belief network", BeliefNet, options or {})
        with seeded(settings.seed):
            network = built(lambda: BeliefNet(self.game, **(options or {})))
        about = {"game": describe_game(self.game), "policy": name or describe(self.blueprint[0])}
        super().__init__(
            network, folder, settings=about | {"options": network.options} | asdict(settings),
            rounds=settings.iterations, rate=settings.rate, seed=settings.seed, device=device,
        )  # fmt: skip
        first = self.done if self.finished else max(0, self.done - settings.keep + 1)
        self._buffer: deque[list[BeliefExamples]] = deque(
            (self._games(round_) for round_ in range(first, self.done)), maxlen=settings.keep
        )

    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """Play new games, then take steps. Returns mean cross entropies of the steps' batches."""
        self._buffer.append(self._games(self.done))
        new, parts = self._buffer[-1], [part for games in self._buffer for part in games]
        total = sum(part.sequences for part in parts)
        sums: dict[str, float] = {}
        self.network.train()
        for _ in range(self.settings.steps):
            chosen = rng.choice(total, min(self.settings.batch, total), replace=False)
            figures = cross_entropies(self.network, batch_of(parts, chosen))
            self.step(figures["loss"])
            for name, value in figures.items():
                sums[name] = sums.get(name, 0.0) + float(value.detach()) / self.settings.steps
        self.network.eval()
        return sums | {"score": float(np.concatenate([part.scores for part in new]).mean())}

    def write(self, path: Path, record: dict[str, Any]) -> None:
        save_belief(path, self.game, self.network, record)

    def _games(self, round_: int) -> list[BeliefExamples]:
        """The parts of a round's games."""
        rng = np.random.default_rng([self.settings.seed, GAMES + round_])
        play = partial(_without_gradients, self.game, self.blueprint, self.network.featurizer)
        return played_in_parts(play, self.settings.games, self.settings.parts, rng, self.executor)


def _without_gradients(
    game: PrivateTokens,
    blueprint: Blueprint,
    featurizer: Featurizer,
    games: int,
    rng: np.random.Generator,
) -> BeliefExamples:
    with torch.inference_mode():
        return play_belief_games(game, blueprint, featurizer, games, rng)


def measured(
    game: PrivateTokens, blueprint: Blueprint, network: BeliefNet, games: int, seed: int
) -> Row:
    """``cross_entropies`` on games that no run learns from."""
    sums: dict[str, float] = {}
    for first in range(0, games, AT_ONCE):
        n = min(AT_ONCE, games - first)
        with torch.inference_mode():
            rng = np.random.default_rng([seed, NEW + first])
            figures = cross_entropies(
                network, play_belief_games(game, blueprint, network.featurizer, n, rng)
            )
        for name, value in figures.items():
            sums[name] = sums.get(name, 0.0) + float(value) * n / games
    return sums


def cross_entropies(network: BeliefNet, batch: BeliefExamples) -> dict[str, Tensor]:
    """Mean cross entropies of a batch's tokens, in nats.

    "loss": of the network. "masked": of the network with impossible tokens masked. "grounded": of
    the distribution by the observations alone.
    """
    device = network.out.weight.device
    seen = torch.from_numpy(batch.seen).to(device)
    at = torch.from_numpy(batch.step), torch.from_numpy(batch.sequence)
    context, read = network.contexts(seen)[at], network.featurizer.expand(seen[at])
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
