"""Train a critic for a policy that stays as it is.

Each round plays new games with exploratory moves (``exploration_games``), measures the critic's
errors in them, and learns from them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.extras import needing

with needing("torch", "training"):
    import torch
    from torch.nn import functional

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.evaluation.executor import Executor
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.checkpoint import save_network
from hanabi_search_plugin.networks.modules import built, require_options, seeded
from hanabi_search_plugin.networks.nets.advised import Advised
from hanabi_search_plugin.networks.nets.critic_net import Critic
from hanabi_search_plugin.networks.network_policies import NetworkPolicy
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.starting_weights import network_from
from hanabi_search_plugin.networks.training.exploration_games import (
    ExplorationGames,
    play_exploration_games,
)
from hanabi_search_plugin.networks.training.round_parts import joined, played_in_parts
from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import (
    CriticSettings,
    require_settings,
)

FORMAT = "hanabi-search-plugin critic 1"
BLIND = 0.1  # share of a run in which lambda is 1: an untrained critic is not bootstrapped from
UNIT = 0.2  # of the best score: an error of so many points counts as one nat
SOON = 8  # moves after an exploratory one that are measured apart
WHERE = {  # errors, and the positions that they are of
    "error": "right after a tried move",
    "soon_error": f"up to {SOON} moves later",
    "own_error": "elsewhere",
}


class CriticRun(TrainingRun):
    """A run of ``CriticSettings`` in a folder; see ``TrainingRun``.

    ``executor`` plays the parts of a round. It writes the policy's network unchanged, with the new
    critic in place of any that it had.
    """

    form = FORMAT
    network: Critic

    def __init__(
        self,
        settings: CriticSettings,
        folder: str | Path,
        *,
        device: str = "cpu",
        executor: Executor | None = None,
    ) -> None:
        require_settings(CriticSettings, settings)
        self.settings, self.executor = settings, executor or Threads()
        self.game = HanabiGame(settings.config)
        self.whose = network_from("policy", settings.policy, settings.config, device=device)
        if isinstance(self.whose.network, Advised):
            raise ConfigError(f"policy must be a network without adviser, got {settings.policy!r}")
        self.policy = network_policy(self.whose.network, device=device)
        critic = new_critic(settings.config, settings.options, settings.seed)
        super().__init__(
            critic, folder, settings=settings.to_dict() | {"network": self.policy.digest},
            rounds=settings.iterations, rate=settings.rate, seed=settings.seed, device=device,
        )  # fmt: skip

    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """Play games, measure, then take steps over all positions."""
        settings, critic = self.settings, self.network
        play = partial(play_exploration_games, self.game, self.policy, critic, noise=settings.noise)
        parts = played_in_parts(play, settings.games, settings.parts, rng, self.executor)
        played = joined(parts)
        trace = 1.0 if share < BLIND else settings.trace
        row = errors(critic.values(played.positions), played.return_to_go, played.since)
        points, lost = (
            torch.from_numpy(x).float().to(self.device) for x in targets(critic, played, trace)
        )
        kept = torch.from_numpy(~played.lost[played.game]).to(self.device)
        for _ in range(settings.epochs):
            order = rng.permutation(len(played))
            for start in range(0, len(order), settings.batch):
                rows = order[start : start + settings.batch]
                at = torch.from_numpy(rows).to(self.device)
                value, logit = critic(played.positions.select(rows))
                error = (value - points[at]) / (UNIT * self.game.config.max_score) * kept[at]
                loss = functional.binary_cross_entropy_with_logits(logit, lost[at])
                self.step((error**2).mean() + loss)
        return row | {"positions": len(played), "score": float(played.scores.mean())}

    def write(self, path: Path, record: dict[str, Any]) -> None:
        save_network(
            path, self.whose.network, self.whose.training,
            critic=self.network, critic_training=record,
        )  # fmt: skip


def new_critic(config: HanabiConfig, options: dict[str, Any], seed: int) -> Critic:
    """A critic with weights that follow from ``seed``. Raises ConfigError for bad options."""
    require_options("a critic", Critic, options)
    with seeded(seed):
        return built(lambda: Critic(config, **options))


def targets(
    critic: Critic, played: ExplorationGames, trace: float
) -> tuple[FloatArray, FloatArray]:
    """Training targets: points still to come and the probability of losing, [N] each.

    TD(lambda) returns (Sutton and Barto, 12.2). The critic sees all hands, so that only the draws
    are random between positions, and its prediction at the next one varies less than the outcome
    of one deck. ``trace`` is lambda.
    """
    score = played.positions.score
    points, lost = critic.predictions(played.positions)
    value = np.stack([score + points, lost], axis=1)
    bootstrap = np.stack([played.scores, played.lost], axis=1)  # [G, 2] of the next position
    returns = np.empty_like(value)
    for turn in range(int(played.turn.max()), -1, -1):
        rows = np.flatnonzero(played.turn == turn)
        game = played.game[rows]
        returns[rows] = bootstrap[game]
        bootstrap[game] = (1 - trace) * value[rows] + trace * returns[rows]
    return returns[:, 0] - score, returns[:, 1]


def errors(value: FloatArray, return_to_go: FloatArray, since: IntArray) -> Row:
    """Root mean square errors of values [N], against the points that were made afterwards [N].

    In groups of positions, see ``WHERE``: "own_error" is of those that the policy reached by
    itself.
    """
    return {
        name: float(np.sqrt(((value - return_to_go)[rows] ** 2).mean()))
        for name, rows in _groups(since).items()
        if rows.any()
    }


def _groups(since: IntArray) -> dict[str, BoolArray]:
    soon = (since > 0) & (since <= SOON)
    return {"error": since == 0, "soon_error": soon, "own_error": (since < 0) | (since > SOON)}


def measured(
    game: HanabiGame, policy: NetworkPolicy, critic: Critic, games: int, noise: float, seed: int
) -> dict[str, dict[str, Row]]:
    """Errors in new games (see ``errors``), of "all" games and of those "kept", not lost.

    Of the "critic", of the mean of all seats' own "values", if the network has any, and of the
    best "constant" at each turn.
    """
    rng = np.random.default_rng([seed, 1])
    ask = policy.network.values
    played = play_exploration_games(game, policy, critic, games, noise, rng, ask=ask)
    predictions = {"critic": critic.values(played.positions), "constant": _best_constant(played)}
    if ask:
        predictions["values"] = played.seat_values.mean(axis=1)
    everywhere = np.ones(len(played), dtype=np.bool_)
    return {
        part: {
            name: errors(value[rows], played.return_to_go[rows], played.since[rows])
            for name, value in predictions.items()
        }
        for part, rows in (("all", everywhere), ("kept", played.return_to_go >= 0))
    }


def _best_constant(played: ExplorationGames) -> FloatArray:
    """[N] the mean return at each turn."""
    means = np.bincount(played.turn, played.return_to_go) / np.maximum(np.bincount(played.turn), 1)
    return np.asarray(means[played.turn])
