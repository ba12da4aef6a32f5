"""Imitation of a searching agent (SPARTA, "Bootstrapping Search-Based Policies via Imitation").

A network learns from recorded searches (``searched_games``) to play at once what a search would
take thousands of rollouts for. It is a blueprint like any other, and may be searched over again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
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
from hanabi_search_plugin.networks.starting_weights import begin_with
from hanabi_search_plugin.networks.training.clone_lessons import (
    CloneLessons,
    chosen,
    lessons_of,
    loss_of,
)
from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import Cloning

FORMAT = "hanabi-search-plugin clone 1"
ASKED = 4096  # decisions that are looked at together when nothing is learned


class CloneRun(TrainingRun):
    """A run of ``Cloning`` in a folder; see ``TrainingRun``."""

    form = FORMAT
    network: Network

    def __init__(self, settings: Cloning, folder: str | Path, *, device: str = "cpu") -> None:
        self.settings = settings
        self.about = read_about(settings.data)
        config = self.about.config
        network = new_network(settings.architecture, config, settings.options, settings.seed)
        if settings.start:
            begin_with(network, settings.start)
        elif not isinstance(network, Advised):
            raise ConfigError(
                f"start must name a network where the architecture has no adviser, as "
                f"{settings.architecture} has none"
            )
        # A memory that is learned from a bot's masks stays as it is: nothing here teaches it.
        policy = network_policy(network, device=device)
        games = read_searched(settings.data, settings.games or None)
        self.lessons = lessons_of(games, policy)
        self.held_out: CloneLessons | None = None
        if settings.held_out:
            if read_about(settings.held_out).config != config:
                raise ConfigError(f"held-out must be games as those of {settings.data}")
            self.held_out = lessons_of(read_searched(settings.held_out), policy)
        learned_from = {"games": len(games), "search": self.about.parameters}
        super().__init__(
            network, folder, settings=settings.to_dict() | learned_from,
            rounds=settings.rounds, rate=settings.rate, seed=settings.seed, device=device,
            optimizer=torch.optim.RMSprop,
        )  # fmt: skip

    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """Steps over decisions drawn anew, then what the network would play in other games."""
        settings, losses = self.settings, []
        steps = settings.passes * len(self.lessons) / (settings.batch * settings.rounds)
        self.network.train()
        for _ in range(max(1, round(steps))):
            rows = drawn(self.network, self.lessons, settings.batch, rng)
            loss = loss_of(settings.objective, self.network, self.lessons, rows)
            self.step(loss)
            losses.append(float(loss.detach()))
        self.network.eval()
        row = {"loss": sum(losses) / len(losses), "steps": len(losses)}
        return row if self.held_out is None else row | measured(self.network, self.held_out)

    def write(self, path: Path, record: dict[str, Any]) -> None:
        save_network(path, self.network, record)


def drawn(
    network: Network, lessons: CloneLessons, batch: int, rng: np.random.Generator
) -> IntArray:
    """Decisions of a step: about ``batch``, for an LSTM those of whole streams. One draw."""
    if not isinstance(network, Sequential):
        return rng.integers(0, len(lessons), batch)
    streams = len(lessons.seen)
    count = min(streams, max(1, batch * streams // len(lessons)))
    return np.flatnonzero(np.isin(lessons.stream, rng.choice(streams, count, replace=False)))


def measured(network: Network, lessons: CloneLessons) -> Row:
    """What the network would play at decisions that it has not learned from.

    ``gain``: by the search's values a decision, over the blueprint, in score points; ``changed``:
    how often it leaves the blueprint's move; ``agreement`` with the search's. No draw.
    """
    order = np.argsort(lessons.stream, kind="stable")
    parts = np.split(order, range(ASKED, len(order), ASKED))
    moves = np.empty(len(lessons), dtype=np.int64)
    for rows in parts:
        moves[rows] = chosen(network, lessons, rows)
    gain = lessons.value[np.arange(len(moves)), moves]
    return {
        "gain": float(gain.mean()),
        "changed": float((moves != lessons.blueprint).mean()),
        "agreement": float((moves == lessons.played).mean()),
    }
