"""Proximal policy optimisation (Schulman et al., 2017), with one network at every seat.

In cooperative games with shared parameters this is IPPO (Yu et al., 2022). A seat's trajectory
consists of its own decisions; rewards of the others' moves in between belong to its move before
them. Nothing is discounted, so values are score points still to come. The policy's mean of Q stands
in place of V(s), and Q of the move played is trained on the return, as everywhere in this package.
A central critic, if there is one, takes its place, and the network's values learn beside it.
Letters: T moves, G games, P players, A actions, N decisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from hanabi_search_plugin.networks.modules import LearnsBelief, Network
from hanabi_search_plugin.networks.nets.central_critic import CentralCritic
from hanabi_search_plugin.networks.training.selfplay_games import (
    Segment,
    gather_seat,
    is_replayed,
    policy,
    updated_memories,
)

Tensor = Any  # torch.Tensor

WATCHED = 1 / 4  # share of the decisions that also train the value of a seat not to move


def lambda_returns(
    segment: Segment, reward: Tensor, trace: float, *, central: bool = False
) -> Tensor:
    """Lambda-returns float32 [T, P, G] of each seat, before each move.

    At a seat's own decisions G = r + (1 - lambda) V' + lambda G', where r is the reward up to its
    next own decision, and V' and G' are those of that decision (TD(lambda), Sutton and Barto, 12.2;
    the advantage G - V is that of GAE, Schulman et al., 2016, equation 16). Before another's move
    it is the reward up to the seat's next own decision plus the same mix of V' and G' there.
    ``reward`` float32 [T, G] is that of each move, ``trace`` is lambda.

    Where values are a ``central`` critic's, every move counts as every seat's own decision, and all
    seats have one return.
    """
    turns, players = len(reward), len(segment.last_value)
    seats = torch.arange(players, device=reward.device).unsqueeze(1)
    returns = torch.empty(turns, *segment.last_value.shape, device=reward.device)
    bootstrap = segment.last_value  # [P, G] what counts as the return after move t
    for t in range(turns - 1, -1, -1):
        returns[t] = reward[t] + torch.where(segment.ended[t], 0.0, bootstrap)
        mix = (1 - trace) * segment.value[t] + trace * returns[t]
        bootstrap = mix if central else torch.where(seats == segment.mover[t], mix, returns[t])
    return returns


def advantages(segment: Segment, returns: Tensor) -> Tensor:
    """float32 [T, G] the mover's return less its value."""
    return movers_returns(returns, segment.mover) - segment.value


def movers_returns(returns: Tensor, mover: Tensor) -> Tensor:
    """Returns [T, G] of the seat that moved, from those of all seats [T, P, G]."""
    return returns.gather(1, mover.unsqueeze(1)).squeeze(1)


@dataclass(frozen=True)
class Minibatch:
    """N of a segment's decisions, with their memories."""

    turn: Tensor  # int64 [N]
    game: Tensor  # int64 [N]
    memory: Tensor  # [K, N, M]


def batches(
    network: Network, segment: Segment, size: int, rng: torch.Generator
) -> Iterator[Minibatch]:
    """Every decision once, in batches of ``size``.

    For a memory that is trained through time, whole games with about as many: their memories are
    recomputed from the segment's start. Takes T x G or G numbers of ``rng``.
    """
    turns, games = segment.action.shape
    device = segment.action.device
    if not is_replayed(network):
        order = torch.randperm(turns * games, generator=rng, device=device)
        for rows in order.split(size):
            turn, game = rows // games, rows % games
            yield Minibatch(turn, game, segment.memory[turn, :, game].transpose(0, 1))
        return
    order = torch.randperm(games, generator=rng, device=device)
    for which in order.split(max(1, size // turns)):
        memory, memories = segment.first_memory[:, which], []
        for t in range(turns):
            public, private = segment.public[t][:, which], segment.private[t][:, which]
            memory = updated_memories(network, public, private, segment.fresh[t, which], memory)
            memories.append(memory)
        turn = torch.arange(turns, device=device).repeat_interleave(len(which))
        yield Minibatch(turn, which.repeat(turns), torch.cat(memories, 1))


def memories_before(network: Network, segment: Segment, turn: Tensor, game: Tensor) -> Tensor:
    """[N, M] the memories before the observations of decisions; of games that begin, blank."""
    last = segment.memory[(turn - 1).clamp(min=0), 0, game]
    last = torch.where((turn == 0).unsqueeze(1), segment.first_memory[0, game], last)
    return torch.where(segment.fresh[turn, game].unsqueeze(1), network.blank(1), last)


@dataclass(frozen=True)
class LossWeights:
    """Weights of the losses; see ``SelfPlay``."""

    clip: float
    entropy: float
    value_weight: float  # of the network's own values
    critic_weight: float = 0.0  # of a central critic's


def losses(
    network: Network,
    segment: Segment,
    returns: Tensor,
    rows: Minibatch,
    weights: LossWeights,
    rng: torch.Generator,
    *,
    critic: CentralCritic | None = None,
    belief: bool = False,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a batch (Schulman et al., 2017, equation 9), and figures to log.

    ``returns`` [T, P, G] as of ``lambda_returns``. Errors of values count in units of the spread of
    the segment's advantages, as these do. ``belief`` adds the loss of a network that
    ``LearnsBelief``. Takes N numbers of ``rng`` and a quarter as many.
    """
    turn, game = rows.turn, rows.game
    all_advantages = advantages(segment, returns)
    spread = all_advantages.std().clamp(min=1e-6)
    advantage = ((all_advantages - all_advantages.mean()) / spread)[turn, game]
    mover, legal = segment.mover[turn, game], segment.legal[turn, game]
    action = segment.action[turn, game].unsqueeze(1)
    public, private, prepared = _seen(network, segment, rows)
    output = network.read(*prepared)
    log_probs = policy(output, legal)
    log_ratio = log_probs.gather(1, action).squeeze(1) - segment.log_prob[turn, game]
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - weights.clip, 1 + weights.clip)
    policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    entropy = -(log_probs.exp() * log_probs).sum(1).mean()

    q = output.q(legal).gather(1, action).squeeze(1)
    value_loss = ((q - returns[turn, mover, game]) ** 2).mean()
    watch_loss = _watch_loss(network, public, private, mover, returns, rows, rng)

    total = policy_loss - weights.entropy * entropy
    total = total + weights.value_weight * (value_loss + WATCHED * watch_loss) / spread**2
    extra: dict[str, Tensor] = {}
    if critic is not None:
        central = network.central(public, private, prepared, mover)
        extra["critic_loss"] = ((critic(central) - returns[turn, mover, game]) ** 2).mean()
        total = total + weights.critic_weight * extra["critic_loss"] / spread**2
    if belief and isinstance(network, LearnsBelief):
        before = memories_before(network, segment, turn, game)
        loss, figures = network.belief_loss(public[0], private, before)
        total, extra = total + loss, extra | figures | {"belief_loss": loss}
    with torch.no_grad():
        figures = extra | {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "watch_loss": watch_loss,
            "entropy": entropy,
            "divergence": (ratio - 1 - log_ratio).mean(),  # KL, J. Schulman's estimator k3
            "clipped": ((ratio - 1).abs() > weights.clip).float().mean(),
        }
    return total, figures


def _watch_loss(
    network: Network,
    public: Tensor,
    private: Tensor,
    mover: Tensor,
    returns: Tensor,
    rows: Minibatch,
    rng: torch.Generator,
) -> Tensor:
    """Squared error of the value of a random seat not to move, at a share WATCHED of the rows."""
    device, count = mover.device, math.ceil(WATCHED * len(mover))
    some = torch.randperm(len(mover), generator=rng, device=device)[:count]
    others = torch.rand(count, generator=rng, device=device) * (len(private) - 1)
    watcher = (mover[some] + 1 + others.long()) % len(private)
    seen = (gather_seat(part[:, some], watcher) for part in (public, private, rows.memory))
    value = network.seat_value(*seen)
    return ((value - returns[rows.turn[some], watcher, rows.game[some]]) ** 2).mean()


def critic_loss(
    network: Network, segment: Segment, returns: Tensor, rows: Minibatch, critic: CentralCritic
) -> Tensor:
    """The loss of a central critic alone, the mean squared error in points; the network stays."""
    turn, game = rows.turn, rows.game
    mover = segment.mover[turn, game]
    with torch.no_grad():
        central = network.central(*_seen(network, segment, rows), mover)
    return ((critic(central) - returns[turn, mover, game]) ** 2).mean()


def _seen(
    network: Network, segment: Segment, rows: Minibatch
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """What all seats see before decisions, public and private [P, N, F], and the mover's inputs."""
    turn, game = rows.turn, rows.game
    public = segment.public[turn, :, game].transpose(0, 1)
    private = segment.private[turn, :, game].transpose(0, 1)
    prepared = tuple(part[turn, game] for part in segment.prepared)
    if not prepared:
        mover = segment.mover[turn, game]
        seen = (gather_seat(part, mover) for part in (public, private, rows.memory))
        prepared = network.prepare(*seen)
    return public, private, prepared
