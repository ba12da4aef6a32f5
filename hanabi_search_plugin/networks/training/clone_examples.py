"""Turn recorded searches into training examples for a network that imitates them, and their losses.

Letters: D searched decisions, A actions, S streams (one seat's observations of one game), T events
of the longest stream, N numbers of an observation, M numbers of a memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.core.policy import take
from hanabi_search_plugin.core.rollout import observe_all, start_memories
from hanabi_search_plugin.hanabi.files.searched_games import SearchedGames, first_games
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.modules import Network, as_tensor
from hanabi_search_plugin.networks.nets.split_nets import Sequential
from hanabi_search_plugin.networks.network_policies import NetworkPolicy

Tensor = Any  # torch.Tensor

BATCH = 512  # games replayed together


@dataclass(frozen=True)
class CloneExamples:
    """Searched decisions, in order of streams and turns."""

    public: NDArray[Any]  # [D, N]
    private: NDArray[Any]  # [D, ...]
    memory: NDArray[Any]  # [D, M]; M is 0 where whole streams are read
    legal: NDArray[np.bool_]  # [D, A] moves that were tried
    value: NDArray[np.float32]  # [D, A] their means less the blueprint's, 0 where not tried
    played: IntArray  # [D] the search's move
    blueprint: IntArray  # [D]
    stream: IntArray  # [D] row of ``seen``
    turn: IntArray  # [D]
    seen: NDArray[Any]  # [S, T, ...] what an LSTM reads; [S, 0] for other networks

    def __len__(self) -> int:
        return len(self.played)


def examples_of(games: SearchedGames, policy: NetworkPolicy) -> CloneExamples:
    """The decisions of ``games`` in which moves were compared, as inputs of ``policy``'s network.

    Its memory follows the recorded moves. Deterministic. Raises ConfigError where no decision
    compared any moves.
    """
    parts = [
        _replayed(first_games(games, start, min(start + BATCH, len(games))), policy)
        for start in range(0, len(games), BATCH)
    ]
    if not sum(map(len, parts)):
        raise ConfigError("data must hold decisions in which moves were compared, got none")
    streams = np.cumsum([0, *(len(part.seen) for part in parts)])
    longest = max(part.seen.shape[1] for part in parts)
    content = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in CloneExamples.__dataclass_fields__
        if name not in ("stream", "seen")
    }
    content["stream"] = np.concatenate(
        [part.stream + at for part, at in zip(parts, streams.tolist(), strict=False)]
    )
    content["seen"] = np.concatenate([_padded(part.seen, longest) for part in parts])
    return CloneExamples(**content)


def _replayed(games: SearchedGames, policy: NetworkPolicy) -> CloneExamples:
    game = HanabiGame(policy.network.config)
    tried = games.legal & (games.count > 0)
    rows = np.arange(len(games.game))
    good = (tried.sum(1) > 1) & tried[rows, games.played] & tried[rows, games.blueprint]
    streams, of_row = np.unique(games.game * game.num_players + games.seat, return_inverse=True)
    sequential = isinstance(policy.network, Sequential)
    first = games.first_player.astype(np.int64)
    worlds = game.from_decks(games.deck.astype(np.int64), first_player=first)
    policies = (policy,) * game.num_players
    alive = np.arange(len(games))
    memories = start_memories(worlds, policies)
    seen: list[NDArray[Any]] = []
    found: list[tuple[IntArray, tuple[NDArray[Any], ...]]] = []
    for turn in range(games.moves.shape[1]):
        on = np.flatnonzero(games.moves[alive, turn] >= 0)
        if not len(on):
            break
        alive, worlds = alive[on], worlds.select(on)
        memories = tuple(take(memory, on) for memory in memories)
        views = [worlds.view(p) for p in range(game.num_players)]
        if sequential:
            seen.append(_seen(streams, alive, views, memories, policy))
        now = np.flatnonzero(good & (games.turn == turn))
        for p in np.unique(games.seat[now]).tolist():
            mine = now[games.seat[now] == p]
            at = np.searchsorted(alive, games.game[mine])
            inputs = policy.inputs(views[p].select(at), take(memories[p], at))
            found.append((mine, inputs))
        actors, actions = worlds.current_player, games.moves[alive, turn].astype(np.int64)
        worlds.step(actions)
        memories = observe_all(worlds, actors, actions, policies, memories)
    order = np.concatenate([mine for mine, _ in found]) if found else np.zeros(0, dtype=np.int64)
    back = np.argsort(order, kind="stable")
    order = order[back]
    public, private, memory = (
        np.concatenate([inputs[i] for _, inputs in found])[back] if found else np.zeros((0, 0))
        for i in range(3)
    )
    base = games.mean[order, games.blueprint[order]]
    value = np.where(tried[order], games.mean[order] - base[:, None], 0.0)
    return CloneExamples(
        public=public,
        private=private,
        memory=memory[:, :0] if sequential else memory,
        legal=tried[order],
        value=value.astype(np.float32),
        played=games.played[order].astype(np.int64),
        blueprint=games.blueprint[order].astype(np.int64),
        stream=of_row[order],
        turn=games.turn[order].astype(np.int64),
        seen=np.stack(seen, axis=1) if seen else np.zeros((len(streams), 0)),
    )


def _seen(
    streams: IntArray,
    alive: IntArray,
    views: list[Any],
    memories: tuple[Any, ...],
    policy: NetworkPolicy,
) -> NDArray[Any]:
    """[S, N] the network's next observation in each stream; zeros where the game is over."""
    out = None
    for p, view in enumerate(views):
        rows = np.flatnonzero(streams % len(views) == p)
        at = np.searchsorted(alive, streams[rows] // len(views))
        there = alive[np.minimum(at, len(alive) - 1)] == streams[rows] // len(views)
        mine = at[there]
        public, private, _ = policy.inputs(view.select(mine), take(memories[p], mine))
        both = np.concatenate([public, private], axis=1)
        if out is None:
            out = np.zeros((len(streams), both.shape[1]), dtype=both.dtype)
        out[rows[there]] = both
    assert out is not None
    return out


def _padded(seen: NDArray[Any], length: int) -> NDArray[Any]:
    if seen.ndim == 2:
        return seen
    return np.pad(seen, ((0, 0), (0, length - seen.shape[1]), (0, 0)))


# ------------------------------------------------------------------------------------ objectives


def logits_at(network: Network, examples: CloneExamples, rows: IntArray) -> Tensor:
    """Logits [len(rows), A] at decisions; an LSTM reads their streams from the start."""
    device = next(network.parameters()).device
    public, private = (
        as_tensor(examples.public[rows], device),
        as_tensor(examples.private[rows], device),
    )
    if not isinstance(network, Sequential):
        return network.decide(public, private, as_tensor(examples.memory[rows], device)).logits
    streams, column = np.unique(examples.stream[rows], return_inverse=True)
    turns = examples.turn[rows]
    seen = examples.seen[streams, : int(turns.max()) + 1].swapaxes(0, 1)
    states = network.outputs(as_tensor(seen, device))
    return network.heads(states[turns, column], public, private).logits


def expected_reward(logits: Tensor, value: Tensor, legal: Tensor, played: Tensor) -> Tensor:
    """[D] the best move's value less the expected value of the softmax policy, score points."""
    probabilities = logits.softmax(1)
    return value.masked_fill(~legal, -1e9).max(1).values - (probabilities * value).sum(1)


def cross_entropy(logits: Tensor, value: Tensor, legal: Tensor, played: Tensor) -> Tensor:
    """[D] cross entropy to the search's move."""
    return functional.cross_entropy(logits, played, reduction="none")


def squared_error(logits: Tensor, value: Tensor, legal: Tensor, played: Tensor) -> Tensor:
    """[D] of logits as values, up to a constant shared by the moves tried; score points squared."""
    count = legal.sum(1, keepdim=True)
    error = (logits.masked_fill(~legal, 0.0) - value) * legal
    error = (error - error.sum(1, keepdim=True) / count) * legal
    return (error**2).sum(1) / count.squeeze(1)


OBJECTIVES: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "reward": expected_reward,
    "cross-entropy": cross_entropy,
    "values": squared_error,
}
"""The SPARTA paper's expected reward, and two alternatives that it compares with.

Moves that the search never tried are left out.
"""


def loss_of(objective: str, network: Network, examples: CloneExamples, rows: IntArray) -> Tensor:
    """The mean loss of some decisions."""
    device = next(network.parameters()).device
    legal = as_tensor(examples.legal[rows], device)
    logits = logits_at(network, examples, rows).masked_fill(~legal, -1e9)
    given = (
        as_tensor(examples.value[rows], device),
        legal,
        as_tensor(examples.played[rows], device),
    )
    return OBJECTIVES[objective](logits, *given).mean()


def chosen(network: Network, examples: CloneExamples, rows: IntArray) -> IntArray:
    """[len(rows)] the moves that the network would play, of those tried."""
    with torch.no_grad():
        logits = logits_at(network, examples, rows).cpu().numpy()
    return np.asarray(np.where(examples.legal[rows], logits, -np.inf).argmax(1), dtype=np.int64)
