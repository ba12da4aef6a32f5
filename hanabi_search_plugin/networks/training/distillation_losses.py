"""Losses of distillation on a batch of decisions, by architecture.

Letters: N decisions, A actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.networks.encodings import status
from hanabi_search_plugin.networks.modules import LearnsBelief, Network, Output, as_tensor
from hanabi_search_plugin.networks.nets.mask_net import MaskNet
from hanabi_search_plugin.networks.nets.split_nets import PublicLSTM, Sequential
from hanabi_search_plugin.networks.training.distillation_games import DistillationGames

Tensor = Any  # torch.Tensor

VALUE_LOSSES = ("value_loss", "watch_loss", "q_loss")  # squared errors, in units of the best score
AUXILIARY_LOSS, AUXILIARY_WEIGHT = "auxiliary_loss", 1 / 4  # nats a card
WATCHED = 1 / 4  # share of the decisions that also train the value of a seat not to move


def batches(
    network: Network, games: DistillationGames, size: int, epochs: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Batches of ``size`` decisions; for an LSTM, of whole games with about as many.

    Yields rows of ``games``, for an LSTM numbers of games. Takes a permutation an epoch.
    """
    sequential = isinstance(network, Sequential)
    count = len(games.scores) if sequential else len(games)
    if sequential:
        size = max(1, size * count // len(games))
    for _ in range(epochs):
        order = rng.permutation(count)
        yield from (order[i : i + size] for i in range(0, count, size))


def losses(
    network: Network,
    games: DistillationGames,
    batch: IntArray,
    own_share: float,
    rng: np.random.Generator,
) -> dict[str, Tensor]:
    """Losses and other figures of a step, for any architecture; names of losses end in "loss"."""
    if isinstance(network, MaskNet):
        return mask_losses(network, games, batch, own_share, rng)
    if isinstance(network, Sequential):
        return sequence_losses(network, games, batch, rng)
    memory = as_tensor(games.memory[batch], next(network.parameters()).device)
    figures: dict[str, Tensor] = {}
    if isinstance(network, LearnsBelief):
        figures, memory = belief_losses(network, games, batch, memory)
    return figures | heads_losses(network, games, batch, memory, memory, rng)


def sequence_losses(
    network: Sequential, games: DistillationGames, which: IntArray, rng: np.random.Generator
) -> dict[str, Tensor]:
    """Losses of all decisions of the games ``which``, backpropagated through time."""
    device = next(network.parameters()).device
    rows = np.flatnonzero(np.isin(games.game, which))
    column = np.searchsorted(np.sort(which), games.game[rows])
    turns = int(games.turn[rows].max()) + 1
    seen = np.zeros((turns, len(which), *games.seen.shape[1:]), dtype=games.seen.dtype)
    seen[games.turn[rows], column] = games.seen[rows]
    seats = games.seen.shape[1]
    states = network.outputs(as_tensor(seen, device).flatten(1, 2))  # [T, games x seats, H]
    mover, watcher = (
        states[games.turn[rows], column * seats + (seat[rows] if seats > 1 else 0)]
        for seat in (games.seat, games.watcher)
    )
    figures = heads_losses(network, games, rows, mover, watcher, rng)
    if isinstance(network, PublicLSTM) and network.masks is not None:
        public = network.encoding.expand_public(as_tensor(games.public[rows], device))
        logits = network.masks(torch.cat([mover, public], 1))
        figures |= auxiliary_losses(network, logits, games, rows)
    return figures


def auxiliary_losses(
    network: PublicLSTM, logits: Tensor, games: DistillationGames, rows: IntArray
) -> dict[str, Tensor]:
    """The loss, a card, of predicting the bot's masks from an LSTM's state; {} without masks.

    ``logits`` [N, P x H x V], the mover's cards first, then the others' in their order of play.
    """
    if games.masks_after is None:
        return {}
    after = as_tensor(games.masks_after[rows], logits.device)
    masks = status.masks_of(network.config, after)  # [N, P, H, V]
    target = status.turned(masks, as_tensor(games.seat[rows], logits.device))
    logits = logits.reshape(target.shape)
    loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(-1)
    with torch.no_grad():
        right = ((logits > 0) == (target > 0)).all(-1).flatten(1).all(1)
    return {AUXILIARY_LOSS: loss.mean(), "mask_accuracy": right.float().mean()}


def mask_losses(
    network: MaskNet,
    games: DistillationGames,
    rows: IntArray,
    own_share: float,
    rng: np.random.Generator,
) -> dict[str, Tensor]:
    """Losses and figures of the decisions ``rows`` for a ``MaskNet``.

    A share ``own_share`` of the memory updates start from the network's own masks, the others from
    the bot's. Decisions read the updated masks, or for half of the latter the bot's (teacher
    forcing). Where the bot keeps no masks, all are the network's own and the memory is not trained.
    """
    device = network.planes.device
    public = as_tensor(games.public[rows], device)
    own = torch.from_numpy(rng.random(len(rows)) < own_share).to(device)
    forced = torch.from_numpy(rng.random(len(rows)) < 0.5).to(device)
    student_memory = as_tensor(games.memory[rows], device)
    seen = status.table(network.config, public)
    figures: dict[str, Tensor] = {}
    if games.masks_before is None or games.masks_after is None:
        memory = network.remember(public, student_memory)
    else:
        before = as_tensor(games.masks_before[rows], device)
        after = as_tensor(games.masks_after[rows], device)
        start = torch.where(own.unsqueeze(1), student_memory, before)
        logits, open_, first = network.memory(seen, network.masks_of(start))
        target = status.turned(network.masks_of(after), first)
        loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        figures["mask_loss"] = (loss * open_).sum() / after.numel()  # a card
        with torch.no_grad():
            memory = network.settled(seen, logits, open_, first)
            figures["mask_accuracy"] = (memory == after).all(1).float().mean()
            memory = torch.where((forced & ~own).unsqueeze(1), after, memory)
    return figures | heads_losses(network, games, rows, memory, memory, rng)


def belief_losses(
    network: LearnsBelief, games: DistillationGames, rows: IntArray, before: Tensor
) -> tuple[dict[str, Tensor], Tensor]:
    """The loss of a learned belief over one event, from the memories ``before``; those after it."""
    public = as_tensor(games.public[rows], before.device)
    two = np.stack([games.private[rows], games.watched_private[rows]])
    loss, figures = network.belief_loss(public, as_tensor(two, before.device), before)
    after: Tensor = network.remember(public, before)
    return figures | {"belief_loss": loss}, after


def heads_losses(
    network: Network,
    games: DistillationGames,
    rows: IntArray,
    mover: Tensor,
    watcher: Tensor,
    rng: np.random.Generator,
) -> dict[str, Tensor]:
    """Losses at the decisions ``rows``, of the seat that moves and of another that watches.

    ``mover`` and ``watcher`` are their memories, or an LSTM's outputs.
    """
    scale, device = network.config.max_score, mover.device

    def output(public: NDArray[Any], private: NDArray[Any], memory: Tensor) -> Output:
        given = (as_tensor(public, device), as_tensor(private, device))
        if isinstance(network, Sequential):
            return network.heads(memory, *given)
        return network.decide(*given, memory)

    figures = decision_losses(
        output(games.public[rows], games.private[rows], mover), games, rows, scale
    )
    some = np.flatnonzero(rng.random(len(rows)) < WATCHED)
    if len(some):
        seen = (games.watched_public[rows[some]], games.watched_private[rows[some]])
        value = output(*seen, watcher[torch.from_numpy(some).to(device)]).value
        figures["watch_loss"] = _squared(value, games.return_to_go[rows[some]], scale)
    return figures


def decision_losses(
    output: Output, games: DistillationGames, rows: IntArray, scale: float
) -> dict[str, Tensor]:
    """Cross entropy to the bot's moves, and squared errors of Q of moves played and tried."""
    device = output.logits.device
    legal = as_tensor(games.legal[rows], device)
    teacher_probs = as_tensor(games.teacher_probs[rows], device)
    logits = output.logits.masked_fill(~legal, -1e9)
    figures = {"policy_loss": functional.cross_entropy(logits, teacher_probs)}
    with torch.no_grad():
        chosen = teacher_probs.gather(1, logits.argmax(1, keepdim=True))
        figures["accuracy"] = (chosen > 0).float().mean()
    q = output.q(legal)
    played = q.gather(1, as_tensor(games.played[rows], device).unsqueeze(1)).squeeze(1)
    figures["value_loss"] = _squared(played, games.return_to_go[rows], scale)
    tried = games.tried[rows]
    some = np.flatnonzero(tried[:, 0] >= 0)
    if len(some):
        tried_q = q[torch.from_numpy(some).to(device)].gather(1, as_tensor(tried[some], device))
        figures["q_loss"] = _squared(tried_q, games.tried_return[rows[some]], scale)
    return figures


def _squared(value: Tensor, target: NDArray[Any], scale: float) -> Tensor:
    error = (value - as_tensor(target.astype(np.float32), value.device)) / scale
    return (error**2).mean()
