"""Distillation: train a network to play as a bot does, or as another network.

Each iteration plays games, at first with the bot's moves, then more and more with the network's own
(``distillation_games``), and learns from every decision in them (``distillation_losses``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.extras import needing

with needing("torch", "training"):
    import torch  # noqa: F401

from hanabi_search_plugin.evaluation.executor import Executor
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.architectures import new_network
from hanabi_search_plugin.networks.checkpoint import save_network
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.starting_weights import load_starting_weights
from hanabi_search_plugin.networks.training.distillation_games import play_distillation_games
from hanabi_search_plugin.networks.training.distillation_losses import (
    AUXILIARY_LOSS,
    AUXILIARY_WEIGHT,
    VALUE_LOSSES,
    batches,
    losses,
)
from hanabi_search_plugin.networks.training.round_parts import joined, played_in_parts
from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import Distillation, require_settings
from hanabi_search_plugin.registry import load_policy

FORMAT = "hanabi-search-plugin training 1"
BOT_UNTIL = 0.3  # share of a run after which the network plays all moves


class DistillationRun(TrainingRun):
    """A run of ``Distillation`` in a folder; see ``TrainingRun``.

    ``executor`` plays the parts of a round.
    """

    form = FORMAT
    network: Network

    def __init__(
        self,
        settings: Distillation,
        folder: str | Path,
        *,
        device: str = "cpu",
        executor: Executor | None = None,
    ) -> None:
        require_settings(Distillation, settings)
        self.settings, self.executor = settings, executor or Threads()
        self.game = HanabiGame(settings.config)
        self.bot = load_policy(settings.policy, HanabiGame(settings.config))
        network = new_network(
            settings.architecture, settings.config, settings.options, settings.seed
        )
        self.start: dict[str, Any] = {}  # the record of the network it began with
        if settings.start:
            self.start = load_starting_weights(network, settings.start)
        super().__init__(
            network, folder, settings=settings.to_dict(), rounds=settings.iterations,
            rate=settings.rate, seed=settings.seed, device=device,
        )  # fmt: skip

    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """Play games, then take steps over all decisions in them."""
        settings = self.settings
        student = network_policy(self.network, device=self.device)
        bot_share = 0.0 if settings.start else max(0.0, 1.0 - share / BOT_UNTIL)
        play = partial(play_distillation_games, self.game, self.bot, student, bot_share=bot_share)
        parts = played_in_parts(play, settings.games, settings.parts, rng, self.executor)
        games = joined(parts)
        own_share = 1.0 if settings.start else 0.5 + 0.5 * share
        weights = dict.fromkeys(VALUE_LOSSES, settings.value_weight)
        weights[AUXILIARY_LOSS] = AUXILIARY_WEIGHT
        logged: dict[str, list[float]] = {}
        self.network.train()
        for rows in batches(self.network, games, settings.batch, settings.epochs, rng):
            figures = losses(self.network, games, rows, own_share, rng)
            loss = sum(
                weights.get(name, 1.0) * value
                for name, value in figures.items()
                if name.endswith("loss")
            )
            self.step(loss)
            for name, value in figures.items():
                logged.setdefault(name, []).append(float(value.detach()))
        self.network.eval()
        means = {name: sum(values) / len(values) for name, values in logged.items()}
        return means | {
            "steps": float(len(logged["policy_loss"])),
            "decisions": len(games),
            "bot_share": bot_share,
            "score": float(games.scores.mean()),
            "bombed": float(games.bombed.mean()),
        }

    def write(self, path: Path, record: dict[str, Any]) -> None:
        save_network(path, self.network, record | {"start": self.start})


def distill(
    settings: Distillation,
    folder: str | Path,
    *,
    device: str = "cpu",
    on_iteration: Callable[[Row], None] | None = None,
    progress: bool = False,
) -> Network:
    """Run ``settings`` in ``folder`` to the end, from where it was stopped; the network.

    ``on_iteration`` gets each round's metrics, and ``progress`` shows how far it is, as in
    ``evaluate``.
    """
    run = DistillationRun(settings, folder, device=device)
    run.finish(on_iteration, progress=progress)
    return run.network
