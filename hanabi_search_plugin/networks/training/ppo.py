"""Proximal policy optimisation (Schulman et al., 2017), every seat played by the one network.

In cooperative games with shared parameters this is IPPO (Yu et al., 2022). A seat's trajectory are
its own decisions: what the others' moves in between bring belongs to the move before them. Nothing
is discounted, so values are score points still to come. In place of the papers' V(s) stands the
policy's mean of Q, and Q of the move played learns the return, as everywhere in this package.
Letters: T moves, G games, P players, A actions, N decisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.training.selfplay_games import (
    Stretch,
    brought_over,
    is_replayed,
    of_seat,
    policy,
)

Tensor = Any  # torch.Tensor

WATCHED = 1 / 4  # share of the decisions that teach the value of a seat not to move, too


def lambda_returns(stretch: Stretch, reward: Tensor, trace: float) -> Tensor:
    """float32 [T, P, G] what each seat takes the game still to bring, before each move.

    At its own decisions G = r + (1 - lambda) V' + lambda G', r being all points up to its next own
    decision and ' what holds there (TD(lambda), Sutton and Barto, 12.2; the advantage G - V is that
    of GAE, Schulman et al., 2016, equation 16). Before another's move it is what comes up to the
    seat's next own decision, and the mix of V' and G' there. ``reward``
    float32 [T, G] is what each move brings, ``trace`` lambda.
    """
    turns, players = len(reward), len(stretch.after)
    seats = torch.arange(players, device=reward.device).unsqueeze(1)
    found = torch.empty(turns, *stretch.after.shape, device=reward.device)
    ahead = stretch.after  # [P, G] the mix, once the move at hand is made
    for t in range(turns - 1, -1, -1):
        found[t] = reward[t] + torch.where(stretch.ended[t], 0.0, ahead)
        mix = (1 - trace) * stretch.value[t] + trace * found[t]
        ahead = torch.where(seats == stretch.mover[t], mix, found[t])
    return found


def advantages(stretch: Stretch, returns: Tensor) -> Tensor:
    """float32 [T, G] by how much what came after a decision was more than expected."""
    return of_movers(returns, stretch.mover) - stretch.value


def of_movers(returns: Tensor, mover: Tensor) -> Tensor:
    """[T, G] of [T, P, G] the part of who moved."""
    return returns.gather(1, mover.unsqueeze(1)).squeeze(1)


@dataclass(frozen=True)
class Decisions:
    """N of a stretch's decisions, with what led up to them."""

    turn: Tensor  # int64 [N]
    game: Tensor  # int64 [N]
    memory: Tensor  # [K, N, M]


def batches(
    network: Network, stretch: Stretch, size: int, rng: torch.Generator
) -> Iterator[Decisions]:
    """Every decision once, in batches of ``size``.

    Of a memory that is learned through time whole games of about as many: it is brought over the
    stretch again from where it stood at the start. Takes T x G or G numbers of ``rng``.
    """
    turns, games = stretch.action.shape
    device = stretch.action.device
    if not is_replayed(network):
        order = torch.randperm(turns * games, generator=rng, device=device)
        for rows in order.split(size):
            turn, game = rows // games, rows % games
            yield Decisions(turn, game, stretch.memory[turn, :, game].transpose(0, 1))
        return
    order = torch.randperm(games, generator=rng, device=device)
    for which in order.split(max(1, size // turns)):
        memory, found = stretch.before[:, which], []
        for t in range(turns):
            public, private = stretch.public[t][:, which], stretch.private[t][:, which]
            memory = brought_over(network, public, private, stretch.fresh[t, which], memory)
            found.append(memory)
        turn = torch.arange(turns, device=device).repeat_interleave(len(which))
        yield Decisions(turn, which.repeat(turns), torch.cat(found, 1))


@dataclass(frozen=True)
class Loss:
    """How the losses are put together; see ``SelfPlay``."""

    clip: float
    entropy: float
    value_weight: float


def losses(
    network: Network,
    stretch: Stretch,
    returns: Tensor,
    rows: Decisions,
    weights: Loss,
    rng: torch.Generator,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a batch (Schulman et al., 2017, equation 9) and figures that tell how it goes.

    ``returns`` [T, P, G] as of ``lambda_returns``. Errors of values count in units of the spread of
    the stretch's advantages, as these do. Takes N numbers of ``rng`` and a quarter as many.
    """
    turn, game = rows.turn, rows.game
    whole = advantages(stretch, returns)
    spread = whole.std().clamp(min=1e-6)
    mover, legal = stretch.mover[turn, game], stretch.legal[turn, game]
    action = stretch.action[turn, game].unsqueeze(1)
    public = stretch.public[turn, :, game].transpose(0, 1)
    private = stretch.private[turn, :, game].transpose(0, 1)

    output = network.decide(*(of_seat(part, mover) for part in (public, private, rows.memory)))
    log_chance = policy(output, legal)
    change = log_chance.gather(1, action).squeeze(1) - stretch.chance[turn, game]
    ratio, gained = change.exp(), ((whole - whole.mean()) / spread)[turn, game]
    clipped = ratio.clamp(1 - weights.clip, 1 + weights.clip)
    policy_loss = -torch.minimum(ratio * gained, clipped * gained).mean()
    entropy = -(log_chance.exp() * log_chance).sum(1).mean()

    played = output.q(legal).gather(1, action).squeeze(1)
    value_loss = ((played - returns[turn, mover, game]) ** 2).mean()
    count = math.ceil(WATCHED * len(turn))
    some = torch.randperm(len(turn), generator=rng, device=turn.device)[:count]
    others = torch.rand(count, generator=rng, device=turn.device) * (len(private) - 1)
    watcher = (mover[some] + 1 + others.long()) % len(private)
    seen = (of_seat(part[:, some], watcher) for part in (public, private, rows.memory))
    said = network.decide(*seen).value
    watch_loss = ((said - returns[turn[some], watcher, game[some]]) ** 2).mean()

    total = policy_loss - weights.entropy * entropy
    total = total + weights.value_weight * (value_loss + WATCHED * watch_loss) / spread**2
    with torch.no_grad():
        figures = {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "watch_loss": watch_loss,
            "entropy": entropy,
            "divergence": (ratio - 1 - change).mean(),  # of the policy before: k3 of J. Schulman
            "clipped": ((ratio - 1).abs() > weights.clip).float().mean(),
        }
    return total, figures
