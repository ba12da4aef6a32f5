"""Imitation of a searching agent (SPARTA, "Bootstrapping Search-Based Policies via Imitation").

A network learns from recorded searches (``hanabi.files.searched_games``) to play without rollouts
what a search played. It is a blueprint like any other, so a search may start from it again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.extras import needing

with needing("torch", "training"):
    import torch

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.hanabi.files.searched_games import read_about, read_searched
from hanabi_search_plugin.networks.architectures import new_network
from hanabi_search_plugin.networks.checkpoint import save_network
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.nets.advised import Advised
from hanabi_search_plugin.networks.nets.split_nets import Sequential
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.starting_weights import load_starting_weights
from hanabi_search_plugin.networks.training.clone_examples import (
    CloneExamples,
    chosen,
    examples_of,
    loss_of,
)
from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import Cloning, require_settings

FORMAT = "hanabi-search-plugin clone 1"
ASKED = 4096  # decisions evaluated at a time


class CloneRun(TrainingRun):
    """A run of ``Cloning`` in a folder; see ``TrainingRun``."""

    form = FORMAT
    network: Network

    def __init__(self, settings: Cloning, folder: str | Path, *, device: str = "cpu") -> None:
        require_settings(Cloning, settings)
        self.settings = settings
        self.about = read_about(settings.data)
        config = self.about.config
        network = new_network(settings.architecture, config, settings.options, settings.seed)
        if settings.start:
            load_starting_weights(network, settings.start)
        elif not isinstance(network, Advised):
            raise ConfigError(
                f"start must name a network where the architecture has no adviser, as "
                f"{settings.architecture} has none"
            )
        # A network of masks keeps its memory's weights: these losses do not train them.
        policy = network_policy(network, device=device)
        games = read_searched(settings.data, settings.games or None)
        self.examples = examples_of(games, policy)
        self.held_out: CloneExamples | None = None
        if settings.held_out:
            if read_about(settings.held_out).config != config:
                raise ConfigError(f"held-out must be games as those of {settings.data}")
            self.held_out = examples_of(read_searched(settings.held_out), policy)
        learned_from = {"games": len(games), "search": self.about.parameters}
        super().__init__(
            network, folder, settings=settings.to_dict() | learned_from,
            rounds=settings.iterations, rate=settings.rate, seed=settings.seed, device=device,
            optimizer=torch.optim.RMSprop,
        )  # fmt: skip

    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """Take steps over decisions drawn anew, then measure on the held-out games."""
        settings, losses = self.settings, []
        steps = settings.passes * len(self.examples) / (settings.batch * settings.iterations)
        self.network.train()
        for _ in range(max(1, round(steps))):
            rows = drawn(self.network, self.examples, settings.batch, rng)
            loss = loss_of(settings.objective, self.network, self.examples, rows)
            self.step(loss)
            losses.append(float(loss.detach()))
        self.network.eval()
        row = {"loss": sum(losses) / len(losses), "steps": len(losses)}
        return row if self.held_out is None else row | measured(self.network, self.held_out)

    def write(self, path: Path, record: dict[str, Any]) -> None:
        save_network(path, self.network, record)


def drawn(
    network: Network, examples: CloneExamples, batch: int, rng: np.random.Generator
) -> IntArray:
    """The rows of a step: about ``batch`` decisions, for an LSTM those of whole streams.

    Takes one draw from ``rng``.
    """
    if not isinstance(network, Sequential):
        return rng.integers(0, len(examples), batch)
    streams = len(examples.seen)
    count = min(streams, max(1, batch * streams // len(examples)))
    return np.flatnonzero(np.isin(examples.stream, rng.choice(streams, count, replace=False)))


def measured(network: Network, examples: CloneExamples) -> Row:
    """How the network would play at decisions that it has not learned from.

    "gain": mean value over the blueprint's move, by the search's values, in score points;
    "changed": share of decisions in which it leaves the blueprint's move; "agreement": share in
    which it plays the search's. Deterministic.
    """
    order = np.argsort(examples.stream, kind="stable")
    parts = np.split(order, range(ASKED, len(order), ASKED))
    moves = np.empty(len(examples), dtype=np.int64)
    for rows in parts:
        moves[rows] = chosen(network, examples, rows)
    gain = examples.value[np.arange(len(moves)), moves]
    return {
        "gain": float(gain.mean()),
        "changed": float((moves != examples.blueprint).mean()),
        "agreement": float((moves == examples.played).mean()),
    }
