"""What a network is to learn from a batch of decisions: losses, by architecture.

Letters: N decisions, A actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from hanabi_search_plugin.game import IntArray
from hanabi_search_plugin.networks import status
from hanabi_search_plugin.networks.collect import Games
from hanabi_search_plugin.networks.mask_net import MaskNet
from hanabi_search_plugin.networks.modules import Network, Output
from hanabi_search_plugin.networks.split_nets import Sequential

Tensor = Any  # torch.Tensor

VALUE_WEIGHT = 1.0  # of the squared error of Q, in units of the highest score


def batches(
    network: Network, games: Games, size: int, epochs: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """What each step learns from: ``size`` decisions; of an LSTM whole games of about as many."""
    whole = isinstance(network, Sequential)
    count = len(games.scores) if whole else len(games)
    if whole:
        size = max(1, size * count // len(games))
    for _ in range(epochs):
        order = rng.permutation(count)
        yield from (order[i : i + size] for i in range(0, count, size))


def lesson(
    network: Network, games: Games, batch: IntArray, own_share: float, rng: np.random.Generator
) -> dict[str, Tensor]:
    """Losses (named so) and other figures of a step, for any architecture."""
    if isinstance(network, MaskNet):
        return mask_lesson(network, games, batch, own_share, rng)
    if isinstance(network, Sequential):
        return sequence_lesson(network, games, batch)
    device = next(network.parameters()).device
    given = (_tensor(part[batch], device) for part in (games.public, games.private, games.memory))
    return decision_lesson(network.decide(*given), games, batch, network.config.max_score)


def sequence_lesson(network: Sequential, games: Games, which: IntArray) -> dict[str, Tensor]:
    """Losses of all decisions of the games ``which``, through time."""
    device = next(network.parameters()).device
    rows = np.flatnonzero(np.isin(games.game, which))
    column = np.searchsorted(np.sort(which), games.game[rows])
    turns = int(games.turn[rows].max()) + 1
    seen = np.zeros((turns, len(which), *games.seen.shape[1:]), dtype=games.seen.dtype)
    seen[games.turn[rows], column] = games.seen[rows]
    seats = games.seen.shape[1]
    states = network.outputs(_tensor(seen, device).flatten(1, 2))  # [T, games x seats, H]
    seat = games.seat[rows] if seats > 1 else 0
    state = states[games.turn[rows], column * seats + seat]
    given = (_tensor(part[rows], device) for part in (games.public, games.private))
    return decision_lesson(network.heads(state, *given), games, rows, network.config.max_score)


def mask_lesson(
    network: MaskNet, games: Games, rows: IntArray, own_share: float, rng: np.random.Generator
) -> dict[str, Tensor]:
    """Losses and figures of the decisions ``rows`` for a network of masks.

    ``own_share`` of them start from the network's own masks, the others from the bot's; decisions
    are made on the masks that the network makes of them, for half of the latter on the bot's.
    Without a bot of masks all are the network's own and the memory learns nothing.
    """
    device = network.planes.device
    public = _tensor(games.public[rows], device)
    own = torch.from_numpy(rng.random(len(rows)) < own_share).to(device)
    told = torch.from_numpy(rng.random(len(rows)) < 0.5).to(device)
    mine = _tensor(games.memory[rows], device)
    seen = status.table(network.config, public)
    figures: dict[str, Tensor] = {}
    if games.masks_before is None or games.masks_after is None:
        memory = network.remember(public, mine)
    else:
        before = _tensor(games.masks_before[rows], device)
        after = _tensor(games.masks_after[rows], device)
        start = torch.where(own.unsqueeze(1), mine, before)
        logits, open_, first = network.memory(seen, network.masks_of(start))
        target = status.turned(network.masks_of(after), first)
        loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        figures["mask_loss"] = (loss * open_).sum() / after.numel()  # a card
        with torch.no_grad():
            memory = network.settled(seen, logits, open_, first)
            figures["mask_accuracy"] = (memory == after).all(1).float().mean()
            memory = torch.where((told & ~own).unsqueeze(1), after, memory)
    output = network.decide(public, _tensor(games.private[rows], device), memory)
    return figures | decision_lesson(output, games, rows, network.config.max_score)


def decision_lesson(
    output: Output, games: Games, rows: IntArray, scale: float
) -> dict[str, Tensor]:
    """Cross entropy to the bot's moves, the squared error of Q where moves were tried."""
    device = output.logits.device
    legal = _tensor(games.legal[rows], device)
    taught = _tensor(games.taught[rows], device)
    logits = output.logits.masked_fill(~legal, -1e9)
    figures = {"policy_loss": functional.cross_entropy(logits, taught)}
    with torch.no_grad():
        chosen = taught.gather(1, logits.argmax(1, keepdim=True))
        figures["accuracy"] = (chosen > 0).float().mean()
    tried = games.tried[rows]
    some = np.flatnonzero(tried[:, 0] >= 0)
    if len(some):
        q = output.q(legal)[torch.from_numpy(some).to(device)]
        said = q.gather(1, _tensor(tried[some], device))
        worth = _tensor(games.worth[rows[some]].astype(np.float32), device)
        figures["q_loss"] = VALUE_WEIGHT * (((said - worth) / scale) ** 2).mean()
    return figures


def _tensor(array: NDArray[Any], device: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
