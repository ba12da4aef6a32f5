"""Proximal policy optimisation (Schulman et al., 2017), with one network at every seat.

In cooperative games with shared parameters this is IPPO (Yu et al., 2022). A seat's trajectory
consists of its own decisions; rewards of the others' moves in between belong to its move before
them. Nothing is discounted, so values are score points still to come. The policy's mean of Q stands
in place of V(s), and Q of the move played is trained on the return, as everywhere in this package.
A central critic, if there is one, takes its place, and the network's values learn beside it.
Of moves that a partner chose the critic learns, and a learned belief; the policy and its Q do not.
Letters: T moves, G games, P players, A actions, N decisions, K memories of a game, M numbers of a
memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
    """N of a segment's decisions, and all that is learned from them.

    W of them are also looked at by a seat that does not move, the watcher.
    """

    turn: Tensor  # int64 [N]
    game: Tensor  # int64 [N]
    mover: Tensor  # int64 [N]
    legal: Tensor  # bool [N, A]
    public: Tensor  # [P or 1, N, ...]
    private: Tensor  # [P, N, ...]
    memory: Tensor  # [K, N, M] after the observations
    before: Tensor  # [N, M] before them, of a network that ``LearnsBelief``; else M = 0
    own: Tensor  # bool [N] whose action the network chose; N = 0 where all are
    action: Tensor  # int64 [N]
    log_prob: Tensor  # float32 [N] of the action when it was played
    returns: Tensor  # float32 [N, P] of every seat
    advantage: Tensor  # float32 [N] in units of their spread, less their mean
    spread: Tensor  # float32 [] of the segment's advantages, in points
    watched: Tensor  # int64 [W] which of the decisions
    watcher: Tensor  # int64 [W] the seat that watches
    prepared: tuple[Tensor, ...]  # [N, ...] what the mover's output is read from

    def tensors(self) -> list[Tensor]:
        """All of them; ``of`` makes a minibatch of them again."""
        return [*(getattr(self, name) for name in _SINGLE), *self.prepared]

    @classmethod
    def of(cls, tensors: Sequence[Tensor]) -> Minibatch:
        single = dict(zip(_SINGLE, tensors, strict=False))
        return cls(prepared=tuple(tensors[len(_SINGLE) :]), **single)


_SINGLE = [name for name in Minibatch.__dataclass_fields__ if name != "prepared"]


def batches(
    network: Network, segment: Segment, returns: Tensor, size: int, rng: torch.Generator
) -> Iterator[Minibatch]:
    """Every decision once, in batches of ``size``.

    ``returns`` [T, P, G] as of ``lambda_returns``. For a memory that is trained through time, whole
    games with about as many decisions: their memories are recomputed from the segment's start.
    Takes T x G or G numbers of ``rng``, and for each batch N and a quarter as many.
    """
    turns, games = segment.action.shape
    device = segment.action.device
    gained = advantages(segment, returns)
    own = gained[segment.own] if segment.own.numel() else gained
    spread = own.std().clamp(min=1e-6)
    gained = (gained - own.mean()) / spread

    def batch(turn: Tensor, game: Tensor, memory: Tensor) -> Minibatch:
        mover = segment.mover[turn, game]
        public = segment.public[turn, :, game].transpose(0, 1)
        private = segment.private[turn, :, game].transpose(0, 1)
        prepared = tuple(part[turn, game] for part in segment.prepared)
        if not prepared:
            seen = (gather_seat(part, mover) for part in (public, private, memory))
            prepared = network.prepare(*seen)
        before = mover.new_empty(len(turn), 0)
        if isinstance(network, LearnsBelief):
            before = memories_before(network, segment, turn, game)
        watched = torch.randperm(len(turn), generator=rng, device=device)
        watched = watched[: math.ceil(WATCHED * len(turn))]
        others = torch.rand(len(watched), generator=rng, device=device) * (len(private) - 1)
        return Minibatch(
            turn=turn, game=game, mover=mover, legal=segment.legal[turn, game], public=public,
            private=private, memory=memory, before=before,
            own=segment.own[turn, game] if segment.own.numel() else mover.new_empty(0),
            action=segment.action[turn, game],
            log_prob=segment.log_prob[turn, game], returns=returns[turn, :, game],
            advantage=gained[turn, game], spread=spread, watched=watched,
            watcher=(mover[watched] + 1 + others.long()) % len(private), prepared=prepared,
        )  # fmt: skip

    if not is_replayed(network):
        order = torch.randperm(turns * games, generator=rng, device=device)
        for rows in order.split(size):
            turn, game = rows // games, rows % games
            yield batch(turn, game, segment.memory[turn, :, game].transpose(0, 1))
        return
    order = torch.randperm(games, generator=rng, device=device)
    for which in order.split(max(1, size // turns)):
        memory, memories = segment.first_memory[:, which], []
        for t in range(turns):
            public, private = segment.public[t][:, which], segment.private[t][:, which]
            memory = updated_memories(network, public, private, segment.fresh[t, which], memory)
            memories.append(memory)
        turn = torch.arange(turns, device=device).repeat_interleave(len(which))
        yield batch(turn, which.repeat(turns), torch.cat(memories, 1))


def memories_before(network: Network, segment: Segment, turn: Tensor, game: Tensor) -> Tensor:
    """[N, M] the memories before the observations of decisions; of games that begin, blank."""
    last = segment.memory[(turn - 1).clamp(min=0), 0, game]
    last = torch.where((turn == 0).unsqueeze(1), segment.first_memory[0, game], last)
    return torch.where(segment.fresh[turn, game].unsqueeze(1), network.blank(1), last)


@dataclass(frozen=True)
class LossWeights:
    """Weights of the losses; see ``SelfPlay``."""

    clip: float
    entropy: float | Tensor
    value_weight: float  # of the network's own values
    critic_weight: float = 0.0  # of a central critic's


def losses(
    network: Network,
    rows: Minibatch,
    weights: LossWeights,
    *,
    critic: CentralCritic | None = None,
    belief: bool = False,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a batch (Schulman et al., 2017, equation 9), and figures to log.

    Errors of values count in units of the spread of the segment's advantages, as these do.
    ``belief`` adds the loss of a network that ``LearnsBelief``.
    """
    action, spread = rows.action.unsqueeze(1), rows.spread
    target = rows.returns.gather(1, rows.mover.unsqueeze(1)).squeeze(1)
    output = network.read(*rows.prepared)
    log_probs = policy(output, rows.legal)
    log_ratio = log_probs.gather(1, action).squeeze(1) - rows.log_prob
    if len(rows.own):
        log_ratio = log_ratio.where(rows.own, 0.0)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - weights.clip, 1 + weights.clip)
    mean = partial(_own_mean, rows.own)
    policy_loss = -mean(torch.minimum(ratio * rows.advantage, clipped * rows.advantage))
    entropy = -mean((log_probs.exp() * log_probs).sum(1))

    q = output.q(rows.legal).gather(1, action).squeeze(1)
    value_loss = mean((q - target) ** 2)
    watch_loss = _watch_loss(network, rows)

    total = policy_loss - weights.entropy * entropy
    total = total + weights.value_weight * (value_loss + WATCHED * watch_loss) / spread**2
    extra: dict[str, Tensor] = {}
    if critic is not None:
        central = network.central(rows.public, rows.private, rows.prepared, rows.mover)
        extra["critic_loss"] = ((critic(central) - target) ** 2).mean()
        total = total + weights.critic_weight * extra["critic_loss"] / spread**2
    if belief and isinstance(network, LearnsBelief):
        loss, figures = network.belief_loss(rows.public[0], rows.private, rows.before)
        total, extra = total + loss, extra | figures | {"belief_loss": loss}
    with torch.no_grad():
        figures = extra | {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "watch_loss": watch_loss,
            "entropy": entropy,
            "divergence": mean(ratio - 1 - log_ratio),  # KL, J. Schulman's estimator k3
            "clipped": mean(((ratio - 1).abs() > weights.clip).float()),
        }
    return total, figures


def _own_mean(own: Tensor, values: Tensor) -> Tensor:
    """The mean of ``values`` [N] over the decisions that the network made."""
    if not len(own):
        return values.mean()
    return torch.where(own, values, 0.0).sum() / own.sum().clamp(min=1)


def _watch_loss(network: Network, rows: Minibatch) -> Tensor:
    """Squared error of the values of the watchers."""
    watched, watcher = rows.watched, rows.watcher
    parts = (rows.public, rows.private, rows.memory)
    value = network.seat_value(*(gather_seat(part[:, watched], watcher) for part in parts))
    return ((value - rows.returns[watched, watcher]) ** 2).mean()


def critic_loss(network: Network, rows: Minibatch, critic: CentralCritic) -> Tensor:
    """The loss of a central critic alone, the mean squared error in points; the network stays."""
    target = rows.returns.gather(1, rows.mover.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        central = network.central(rows.public, rows.private, rows.prepared, rows.mover)
    return ((critic(central) - target) ** 2).mean()
