"""Train the network that recognises a partner's policy by its moves: play games, then fit.

In every game the number of players and each seat's policy are drawn, uniformly. Every move is an
example: what its player saw of it, and which policy made it (arXiv:1902.06075, section VII).
Letters: M moves, F features, K policies.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.require import require_integers
from hanabi_search_plugin.core.settings import SEED, setting
from hanabi_search_plugin.evaluation.executor import Executor, Place
from hanabi_search_plugin.evaluation.locks import locked
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.evaluation.progress import progress_bar
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.beliefs.learned_partners import READER, Recogniser
from hanabi_search_plugin.hanabi.bots.evalfn import ValueNetwork, move_features
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.learning.fit import SETTINGS, fit
from hanabi_search_plugin.learning.training_record import (
    EVERY_TABLE,
    versions_with_torch,
    write_record,
)
from hanabi_search_plugin.learning.tree_examples import Numbers, watched
from hanabi_search_plugin.registry import MIXED_TRACK, load_policies

if TYPE_CHECKING:
    from rich.console import Console

TABLES = 4  # use number of a SeedSequence([seed, use, game]), beside those of ``evaluation.match``
AT_ONCE = 10  # games of a chunk
HELD_OUT = 5  # one game in so many is held out, to measure on


@dataclass(frozen=True, kw_only=True)
class PartnerTraining:
    """Games of one of ``configs``, drawn, in which every seat plays one of ``partners``, drawn."""

    partners: tuple[str, ...] = setting(
        MIXED_TRACK, "The policies to recognise, compiled ones, or mixed-track (the paper's list)."
    )
    games: int = setting(5_000, "Games; a fifth of them is held out.")
    configs: tuple[HanabiConfig, ...] = setting(EVERY_TABLE, "Games, drawn.")
    seed: int = setting(0, SEED)

    def __post_init__(self) -> None:
        require_integers(self, ("games",), HELD_OUT)
        require_integers(self, ("seed",), 0)
        if len(self.partners) < 2 or not self.configs:
            raise ConfigError(
                f"a training must have at least two policies and a game, got {self.partners}"
            )


@dataclass(frozen=True)
class Moves:
    """Examples of one game or of many."""

    features: Numbers  # [M, F] of each move, as its player sees it
    makers: IntArray  # [M] which policy made it


def train(
    training: PartnerTraining,
    out: Path,
    *,
    executor: Executor | None = None,
    progress: bool | Console = False,
) -> dict[str, Any]:
    """Train and write ``partners.safetensors`` and ``partners.json``, and return the latter.

    ``executor`` plays the games, with the same results (default: one thread). ``progress`` shows
    how many games have been played, as in ``evaluate``. Raises UnsupportedError without PyTorch,
    ConfigError for a name that is none of a policy and where another process writes to ``out``.
    """
    about = versions_with_torch()
    names = ",".join(training.partners)
    candidates = tuple(load_policies(names, HanabiGame(config)) for config in training.configs)
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        return _train(training, candidates, out, executor or Threads(), progress, about)


def _train(
    training: PartnerTraining,
    candidates: tuple[tuple[Policy, ...], ...],
    out: Path,
    executor: Executor,
    progress: bool | Console,
    about: dict[str, str],
) -> dict[str, Any]:
    games: list[Moves] = []
    seconds = 0.0
    starts = range(0, training.games, AT_ONCE)
    chunks = [range(first, min(first + AT_ONCE, training.games)) for first in starts]
    names = ",".join(training.partners)
    with progress_bar("games", training.games, console=progress, status=executor.status) as show:
        for moves, took in executor.map(_MixedGames(training, candidates), chunks, kernels=names):
            games += moves
            seconds += took
            show(len(games))
    played = time.process_time()
    held_out, others = games[::HELD_OUT], [g for i, g in enumerate(games) if i % HELD_OUT]
    seen = gathered(others)
    targets = np.eye(len(training.partners), dtype=np.float32)[seen.makers]
    network = ValueNetwork(fit(seen.features, targets, "entropy", training.seed))
    recogniser = Recogniser(network, training.partners)
    recogniser.save(out / "partners.safetensors")
    record = {
        "training": describe(training),
        "fit": SETTINGS,
        "network": network.digest,
        "learned_from": quality(recogniser, seen),
        "held_out": quality(recogniser, gathered(held_out)),
        "game_cpu_seconds": round(seconds, 1),
        "fit_cpu_seconds": round(time.process_time() - played, 1),
        "versions": about,
    }
    write_record(out / "partners.json", record)
    return record


@dataclass(frozen=True)
class _MixedGames:
    """The work: the moves of the games of these numbers, and CPU seconds."""

    training: PartnerTraining
    candidates: tuple[tuple[Policy, ...], ...]

    def __call__(self, games: range, place: Place) -> tuple[list[Moves], float]:
        began = time.thread_time()
        found = [play(self.training, self.candidates, index) for index in games]
        return found, time.thread_time() - began


def play(
    training: PartnerTraining, candidates: tuple[tuple[Policy, ...], ...], index: int
) -> Moves:
    """The moves of game ``index``; ``candidates``: the policies for each of the configurations."""
    rng = np.random.default_rng([training.seed, TABLES, index])
    which = int(rng.integers(len(training.configs)))
    config = training.configs[which]
    drawn = rng.integers(len(training.partners), size=config.players).tolist()
    game = HanabiGame(config)
    worlds, stream = deal_game(game, training.seed, index)
    turns = play_game(worlds, tuple(candidates[which][k] for k in drawn), stream, ())
    features, makers = [], []
    for turn, view, memory in watched(turns, READER):
        features.append(move_features(READER, game, view.rows, memory, np.array([turn.action]))[0])
        makers.append(drawn[turn.seat])
    return Moves(np.array(features, dtype=np.float32), np.array(makers))


def gathered(games: list[Moves]) -> Moves:
    features, makers = zip(*((game.features, game.makers) for game in games), strict=True)
    return Moves(np.concatenate(features), np.concatenate(makers))


def quality(recogniser: Recogniser, moves: Moves) -> dict[str, Any]:
    """How well single moves identify their maker; a random guess has a log loss of log K."""
    chance = recogniser(moves.features)
    true = chance[np.arange(len(chance)), moves.makers]
    counts = np.bincount(moves.makers, minlength=len(recogniser.partners))
    return {
        "moves": len(true),
        "of": dict(zip(recogniser.partners, counts.tolist(), strict=True)),
        "log_loss": round(float(-np.log(true).mean()), 3),
        "likeliest_is_true": round(float((chance.argmax(axis=1) == moves.makers).mean()), 3),
    }
