"""Reinforcement learning by self-play (PPO), from random weights or from another network.

Each round plays a segment of many games with the network at every seat (``selfplay_games``) and
learns from every decision in it (``ppo``). Beside a partner (``partnered_games``) the network has
one seat of each game, and learns a best response.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.extras import needing

with needing("torch", "training"):
    import torch
    from torch import nn

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import FloatArray, IntArray, Worlds
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.executor import Executor
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.architectures import new_network
from hanabi_search_plugin.networks.checkpoint import save_network
from hanabi_search_plugin.networks.modules import LearnsBelief, Network, seeded
from hanabi_search_plugin.networks.nets.central_critic import CentralCritic
from hanabi_search_plugin.networks.nets.move_heads import MoveHeads
from hanabi_search_plugin.networks.nets.split_nets import FeedForward, Sequential
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.starting_weights import load_starting_weights
from hanabi_search_plugin.networks.tensors.repeated import Repeated
from hanabi_search_plugin.networks.tensors.simulator import EngineGames, Simulator, TensorGames
from hanabi_search_plugin.networks.tensors.tensor_rollout import TensorPlayers, play_out
from hanabi_search_plugin.networks.tensors.tensor_streams import TensorStreams
from hanabi_search_plugin.networks.tensors.tensor_worlds import TensorWorlds
from hanabi_search_plugin.networks.training.collectors import Collectors
from hanabi_search_plugin.networks.training.partnered_games import PartneredGames
from hanabi_search_plugin.networks.training.ppo import (
    LossWeights,
    Minibatch,
    advantages,
    batches,
    critic_loss,
    lambda_returns,
    losses,
    movers_returns,
)
from hanabi_search_plugin.networks.training.selfplay_games import Segment, is_replayed
from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import SelfPlay, require_settings
from hanabi_search_plugin.registry import load_policy

FORMAT = "hanabi-search-plugin self-play 1"
CURVE_GAMES = 500  # on decks that are the same for every network
DEVICE_CURVE_GAMES = 10_000  # beginning with the same
OWN_VALUES = 0.1  # of the weight of values is that of the network's own beside a critic's
LENIENT = 0.5  # share of a run from nothing after which lost games count as they do in the end

Tensor = Any  # torch.Tensor


class SelfPlayRun(TrainingRun):
    """A run of ``SelfPlay`` in a folder; see ``TrainingRun``. ``executor`` plays the parts."""

    form = FORMAT
    network: Network

    def __init__(
        self,
        settings: SelfPlay,
        folder: str | Path,
        *,
        device: str = "cpu",
        executor: Executor | None = None,
    ) -> None:
        require_settings(SelfPlay, settings)
        self.settings = settings
        self.game = HanabiGame(settings.config)
        network = new_network(
            settings.architecture, settings.config, settings.options, settings.seed
        )
        self.start: dict[str, Any] = {}  # the record of the network it began with
        if settings.start:
            self.start = load_starting_weights(network, settings.start)
            sharpen(network, settings.sharpen)
        elif settings.sharpen != 1.0:
            raise ConfigError("sharpen is of the network that a run starts with, got none")
        self.partner: Policy | None = None
        simulator: Callable[[int, int], Simulator]
        if settings.partner is not None:
            require_processor(device)
            self.partner = load_policy(settings.partner, self.game)
            simulator = partial(
                PartneredGames, self.game, network.encoding, device=device, partner=self.partner
            )
        else:
            kind = EngineGames if device == "cpu" else TensorGames
            simulator = partial(kind, self.game, network.encoding, device=device)
        self.critic: CentralCritic | None = None
        trained: nn.Module = network
        if settings.has_critic:
            with seeded(settings.seed):
                self.critic = CentralCritic(network.central_numbers)
            trained = nn.ModuleDict({"network": network, "critic": self.critic})
        self.collectors = Collectors(
            network, self.critic, simulator, settings.games, settings.parts or 1, settings.seed,
            device, executor or Threads(),
        )  # fmt: skip
        rate = settings.belief_rate
        learns = isinstance(network, LearnsBelief)
        apart = [(network.cell, rate or settings.rate)] if learns else []
        once = not is_replayed(network)  # else gradients reach back to other operations
        self._steps = [
            Repeated(partial(self._step, belief), device, recorded=once) for belief in (False, True)
        ]
        self._critic_step = Repeated(self._step_of_critic, device, recorded=once)
        super().__init__(
            network, folder, settings=settings.to_dict(), rounds=settings.iterations,
            rate=settings.rate, seed=settings.seed, device=device, trained=trained, apart=apart,
            warm_up=settings.warm_up or 0,
        )  # fmt: skip

    def extra_state(self) -> dict[str, Tensor]:
        return self.collectors.state()

    def load_extra_state(self, state: dict[str, Tensor]) -> None:
        self.collectors.restore(state)

    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """Play on, then take steps over all decisions."""
        with fast_products(self.device):
            return self._learn(share, rng)

    def _learn(self, share: float, rng: np.random.Generator) -> Row:
        settings, critic = self.settings, self.critic
        clock = _Clock(self.device)
        self.network.eval()
        segment, generator = self.collectors.play(settings.moves, rng)
        played = clock.seconds()
        reward = segment.points - self._penalty_share(share) * segment.forfeit
        returns = lambda_returns(segment, reward, settings.trace, central=critic is not None)
        logged: dict[str, list[Tensor]] = {}
        entropy = torch.tensor(self._entropy(share), device=self.device)
        alone = self.done < (settings.warm_up or 0)  # the critic learns alone
        self.network.train()
        for epoch in range(settings.epochs):
            step = self._critic_step if alone else self._steps[epoch == 0]
            for rows in batches(self.network, segment, returns, settings.batch, generator):
                for name, value in step([*rows.tensors(), entropy]).items():
                    logged.setdefault(name, []).append(value.clone())
        self.network.eval()
        row = {name: float(torch.stack(values).mean()) for name, values in logged.items()}
        row |= _game_figures(segment, returns)
        row |= clock.figures(settings.games * settings.moves, played)
        done = self.done + 1
        row["decisions"] = float(done * settings.games * settings.moves)
        if done % settings.evaluate_every == 0 or done == settings.iterations:
            row |= greedy_play(self.network, self.device, self.partner)
        return row

    def _step(self, belief: bool, given: Sequence[Tensor]) -> dict[str, Tensor]:
        """A step over a minibatch's tensors and the weight of the entropy; figures to log."""
        rows, weights = Minibatch.of(given[:-1]), self._weights(given[-1])
        loss, figures = losses(self.network, rows, weights, critic=self.critic, belief=belief)
        self.step(loss)
        return {name: value.detach() for name, value in figures.items()}

    def _step_of_critic(self, given: Sequence[Tensor]) -> dict[str, Tensor]:
        assert self.critic is not None
        loss = critic_loss(self.network, Minibatch.of(given[:-1]), self.critic)
        self.step(loss)
        return {"critic_loss": loss.detach()}

    def _entropy(self, share: float) -> float:
        """The weight of the entropy once ``share`` of the run is done."""
        settings = self.settings
        last = settings.entropy if settings.entropy_end is None else settings.entropy_end
        return settings.entropy + (last - settings.entropy) * share

    def _weights(self, entropy: Tensor) -> LossWeights:
        settings = self.settings
        if self.critic is None:
            return LossWeights(settings.clip, entropy, settings.value_weight)
        own = settings.own_value_weight or OWN_VALUES * settings.value_weight
        return LossWeights(settings.clip, entropy, own, settings.value_weight)

    def _penalty_share(self, share: float) -> float:
        """The share of a lost game's penalty that counts once ``share`` of the run is done."""
        until = self.settings.lenient
        if until is None:
            until = 0.0 if self.settings.start else LENIENT
        return min(1.0, share / until) if until else 1.0

    def write(self, path: Path, record: dict[str, Any]) -> None:
        save_network(path, self.network, record | {"start": self.start})


@contextmanager
def fast_products(device: str) -> Iterator[None]:
    """Let products of matrices inside round their factors to TF32 on a GPU, several times faster.

    On a processor nothing changes.
    """
    if torch.device(device).type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class _Clock:
    """Wall time of a round since it was made, and the memory that the round took on a GPU."""

    def __init__(self, device: str) -> None:
        self.gpu = device if torch.device(device).type == "cuda" else ""
        if self.gpu:
            torch.cuda.reset_peak_memory_stats(self.gpu)
        self.began = self.now()

    def now(self) -> float:
        if self.gpu:
            torch.cuda.synchronize(self.gpu)
        return time.perf_counter()

    def seconds(self) -> float:
        return self.now() - self.began

    def figures(self, decisions: int, played: float) -> Row:
        """Decisions a second, the share of the time that was play, and GiB at most on a GPU."""
        total = self.seconds()
        row = {"decisions_a_second": decisions / total, "playing": played / total}
        if self.gpu:
            row["gpu_gib"] = torch.cuda.max_memory_allocated(self.gpu) / 2**30
        return row


def sharpen(network: Network, factor: float) -> None:
    """Multiply the logits of a network of a ``Learner``; its best moves and its values stay.

    A network that imitates a bot is unsure where its inputs do not explain the bot's move, and its
    samples lose games. Self-play starts better from a sharper policy.
    """
    if isinstance(network, MoveHeads):
        heads = [(network.own_heads, [0, 2]), (network.hint_heads, [0]), (network.kinds, range(4))]
    else:
        assert isinstance(network, (Sequential, FeedForward))
        heads = [(network.head.logits, range(network.config.num_actions))]
    with torch.no_grad():
        for layer, outputs in heads:
            layer.weight[list(outputs)] *= factor
            layer.bias[list(outputs)] *= factor


def _game_figures(segment: Segment, returns: Tensor) -> Row:
    """Figures of the games that ended: how many, their mean score, the share that was lost.

    "kept" is the mean score if lost games keep their points; means are 0 where no game ended.
    "explained" is the explained variance of the values.
    """
    ended, games = segment.ended, max(float(segment.ended.sum()), 1.0)
    variance = movers_returns(returns, segment.mover).var().clamp(min=1e-6)
    unexplained = advantages(segment, returns).var() / variance
    return {
        "ended": float(ended.sum()),
        "score": float(segment.score[ended].sum()) / games,
        "kept": float((segment.score + segment.forfeit)[ended].sum()) / games,
        "bombed": float(segment.lost.sum()) / games,
        "explained": 1.0 - float(unexplained),
    }


def require_processor(device: str) -> None:
    """Raises ConfigError for another device, where a partner does not play."""
    if torch.device(device).type != "cpu":
        raise ConfigError(f"a partner plays on the processor, so device must be cpu, got {device}")


def greedy_play(network: Network, device: str, partner: Policy | None = None) -> Row:
    """Scores of greedy play by the network, on decks that are always the same.

    Beside a ``partner`` it sits at each seat in as many of them. CURVE_GAMES on a processor,
    DEVICE_CURVE_GAMES on another device, where they cost as little. A lost game counts 0;
    "greedy_kept" is the mean if it keeps its points.
    """
    game = HanabiGame(replace(network.config, bomb="keep"))
    on_cpu = torch.device(device).type == "cpu"
    games = CURVE_GAMES if on_cpu else DEVICE_CURVE_GAMES
    rng = np.random.default_rng(0)
    worlds, streams = game.deal(rng, games), Streams.spawn(rng, games)
    policy = network_policy(network, device=device)
    if on_cpu:
        kept, lives = _played(worlds, policy, partner, streams)
    else:
        tensors = TensorWorlds.of(worlds, device)
        play_out(tensors, TensorPlayers(policy, tensors), TensorStreams.of(streams, device))
        ended = tensors.to_worlds()
        kept, lives = ended.returns[:, 0], game.outcome(ended)["lives_left"]
    return {
        "greedy_score": float(np.where(lives > 0, kept, 0.0).mean()),
        "greedy_kept": float(kept.mean()),
        "greedy_bombed": float((lives == 0).mean()),
        "greedy_perfect": float((kept == game.config.max_score).mean()),
    }


def _played(
    worlds: Worlds, policy: Policy, partner: Policy | None, streams: Streams
) -> tuple[FloatArray, IntArray]:
    """[B] points and lives left of games on a processor."""
    players = worlds.game.num_players
    if partner is None:
        ended = self_play(worlds, (policy,) * players, streams)
        return ended.returns[:, 0], ended.outcome["lives_left"]
    kept, lives = np.empty(len(worlds)), np.empty(len(worlds), dtype=np.int64)
    for seat in range(players):
        rows = np.arange(seat, len(worlds), players)
        seats = tuple(policy if p == seat else partner for p in range(players))
        ended = self_play(worlds.select(rows), seats, streams.select(rows))
        kept[rows], lives[rows] = ended.returns[:, 0], ended.outcome["lives_left"]
    return kept, lives


def learn_by_self_play(
    settings: SelfPlay,
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
    run = SelfPlayRun(settings, folder, device=device)
    run.finish(on_iteration, progress=progress)
    return run.network
