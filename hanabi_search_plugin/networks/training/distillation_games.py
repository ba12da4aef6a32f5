"""Play games for distillation: the network or the bot moves, and the bot labels every decision.

As in DAgger (Ross, Gordon and Bagnell, 2011), the bot's share of the moves falls, so that the
network learns from the positions that its own play leads to. Letters: G games, N decisions, P
players, A actions, K words of a bot's memory, M numbers of the network's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.policy import Policy, join, take
from hanabi_search_plugin.core.rollout import action_values, choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.compiled import MaskBot
from hanabi_search_plugin.hanabi.bots.memories import words_of
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds, points
from hanabi_search_plugin.hanabi.engine.layout import ALL
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.nets.split_nets import Sequential
from hanabi_search_plugin.networks.network_policies import NetworkPolicy
from hanabi_search_plugin.networks.training.selfplay_games import memories_per_game

TRIED = 1 / 300  # share of the decisions at which two moves are played out


@dataclass(frozen=True)
class DistillationGames:
    """The N decisions of G games, in order of turns, then of games."""

    game: IntArray  # [N]
    turn: IntArray  # [N]
    seat: IntArray  # [N] who decided
    seen: NDArray[Any]  # [N, P or 1, ...] what the network's memory reads: of every seat, or of all
    public: NDArray[Any]  # [N, ...] of the seat that decided
    private: NDArray[Any]  # [N, ...]
    watcher: IntArray  # [N] another seat
    watched_public: NDArray[Any]  # [N, ...] of the watcher
    watched_private: NDArray[Any]  # [N, ...]
    legal: NDArray[np.bool_]  # [N, A]
    teacher_probs: NDArray[np.float32]  # [N, A] the bot's
    played: IntArray  # [N]
    memory: NDArray[Any]  # [N, M] a network's before the last event; M = 0 if it is replayed
    masks_before: NDArray[np.int32] | None  # [N, K] the bot's; None where it keeps no masks
    masks_after: NDArray[np.int32] | None  # [N, K] and after the last event
    return_to_go: FloatArray  # [N] score points made after the decision
    tried: IntArray  # [N, 2] two moves tried out, -1 where none were
    tried_return: FloatArray  # [N, 2] points made when the network played on, nan where -1
    scores: FloatArray  # [G]
    bombed: NDArray[np.bool_]  # [G]

    def __len__(self) -> int:
        return len(self.game)


def play_distillation_games(
    game: HanabiGame,
    bot: Policy,
    student: NetworkPolicy,
    games: int,
    bot_share: float,
    rng: np.random.Generator,
) -> DistillationGames:
    """Play games in lockstep; each move is the bot's with probability ``bot_share``.

    Once the network plays all moves, a share ``TRIED`` of the decisions gets values of two moves,
    the one played and a random legal one: the network plays both out from the true world, with
    common random numbers.
    """
    bots, students = (bot,) * game.num_players, (student,) * game.num_players
    encoding, network = student.network.encoding, student.network
    memory_seats = range(memories_per_game(network))
    worlds = game.deal(rng, games)
    alive, streams = np.arange(games), Streams.spawn(rng, games)
    scores, bombed = np.zeros(games), np.zeros(games, dtype=np.bool_)
    bot_memories, memories = start_memories(worlds, bots), start_memories(worlds, students)
    masks_before = tuple(
        np.full_like(masks, game.template[ALL]) for masks in _masks(bot, bot_memories)
    )
    blank = (network.blank(games).cpu().numpy(),) * game.num_players
    memories_before = _kept(network, blank, games)
    rows: dict[str, list[NDArray[Any]]] = {
        name: [] for name in DistillationGames.__dataclass_fields__
    }
    branches: list[tuple[HanabiWorlds, tuple[Any, ...], IntArray]] = []
    share = TRIED if bot_share == 0 else 0.0
    turn = 0
    while len(alive):
        seat = worlds.current_player
        views = [worlds.view(p) for p in range(game.num_players)]
        teacher_probs = _probabilities(worlds, bots, bot_memories)
        bot_actions = choose(worlds, bots, bot_memories, streams)
        actions = choose(worlds, students, memories, streams)
        actions = np.where(rng.random(len(alive)) < bot_share, bot_actions, actions)
        watcher = (seat + rng.integers(1, game.num_players, len(alive))) % game.num_players
        publics = [encoding.public(view) for view in views]
        privates = [encoding.private(view) for view in views]
        tried = _moves_to_try(worlds, actions, share, rng)
        some = np.flatnonzero(tried[:, 0] >= 0)
        if len(some):
            branches.append((worlds.select(some), take(memories, some), tried[some]))
        step = {
            "game": alive, "turn": np.full(len(alive), turn), "seat": seat, "played": actions,
            "seen": np.stack([network.seen(worlds.view(p)) for p in memory_seats], axis=1),
            "public": _of_seat(seat, publics), "private": _of_seat(seat, privates),
            "watcher": watcher, "watched_public": _of_seat(watcher, publics),
            "watched_private": _of_seat(watcher, privates),
            "legal": worlds.legal, "teacher_probs": teacher_probs, "tried": tried,
            "memory": _of_seat(seat, memories_before), "return_to_go": -points(worlds.rows),
        }  # fmt: skip
        if masks_before:
            step["masks_before"] = _of_seat(seat, masks_before) & game.template[ALL]
            step["masks_after"] = _of_seat(seat, _masks(bot, bot_memories)) & game.template[ALL]
        for name, value in step.items():
            rows[name].append(value)
        worlds.step(actions)
        ended = worlds.terminal
        scores[alive[ended]] = worlds.returns[ended, 0]
        lives = game.outcome(worlds)["lives_left"]
        bombed[alive[ended]] = lives[ended] == 0
        on = np.flatnonzero(~ended)
        alive, worlds, streams = alive[on], worlds.select(on), streams.select(on)
        bot_memories, memories = take(bot_memories, on), take(memories, on)
        masks_before = _masks(bot, bot_memories)
        memories_before = _kept(network, memories, len(on))
        if len(on):
            bot_memories = observe_all(worlds, seat[on], actions[on], bots, bot_memories)
            memories = observe_all(worlds, seat[on], actions[on], students, memories)
        turn += 1
    fields: dict[str, Any] = {name: np.concatenate(v) if v else None for name, v in rows.items()}
    fields["return_to_go"] += scores[fields["game"]]
    fields["tried_return"] = np.full(fields["tried"].shape, np.nan)
    if branches:
        tried_return = _played_on(branches, students, rng)
        fields["tried_return"][fields["tried"][:, 0] >= 0] = tried_return
    return DistillationGames(**fields | {"scores": scores, "bombed": bombed})


def _masks(bot: Policy, memories: tuple[Any, ...]) -> tuple[NDArray[np.int32], ...]:
    return tuple(map(words_of, memories)) if isinstance(bot, MaskBot) else ()


def _kept(network: Network, memories: tuple[Any, ...], n: int) -> tuple[NDArray[Any], ...]:
    """The memories that losses need; none of networks that are replayed, or have none."""
    if isinstance(network, Sequential) or memories[0] is None:
        return (np.zeros((n, 0), dtype=np.float32),) * len(memories)
    return memories


def _of_seat(seat: IntArray, parts: Any) -> NDArray[Any]:
    """[B, ...] row b of the part of ``seat`` b."""
    if (seat == seat[0]).all():
        return np.array(parts[int(seat[0])])
    return np.stack(list(parts))[seat, np.arange(len(seat))]


def _probabilities(
    worlds: HanabiWorlds, bots: tuple[Policy, ...], memories: tuple[Any, ...]
) -> NDArray[np.float32]:
    probabilities = np.zeros((len(worlds), worlds.game.num_actions), dtype=np.float32)
    current = worlds.current_player
    for p in np.unique(current).tolist():
        rows = np.flatnonzero(current == p)
        view = worlds.view(p).select(rows)
        probabilities[rows] = bots[p].probabilities(view, view.legal, take(memories[p], rows))
    return probabilities


def _moves_to_try(
    worlds: HanabiWorlds, played: IntArray, share: float, rng: np.random.Generator
) -> IntArray:
    """[B, 2] the move played and a random legal one in a ``share`` of the worlds, else -1."""
    noise = np.where(worlds.legal, rng.random(worlds.legal.shape), -1.0)
    moves = np.stack([played, noise.argmax(axis=1)], axis=1)
    return np.where(rng.random((len(worlds), 1)) < share, moves, -1)


def _played_on(
    branches: list[tuple[HanabiWorlds, tuple[Any, ...], IntArray]],
    students: tuple[NetworkPolicy, ...],
    rng: np.random.Generator,
) -> FloatArray:
    """[B, 2] points gained after each of the two moves."""
    parts, memories, tried = zip(*branches, strict=True)
    game = parts[0].game
    worlds = HanabiWorlds(game, np.concatenate([part.rows for part in parts]))
    moves = np.concatenate(tried).T
    streams = Streams.spawn(rng, len(worlds))
    found = action_values(worlds, moves, students, join(memories), 0, streams)
    return np.asarray(found.T - points(worlds.rows)[:, None])
