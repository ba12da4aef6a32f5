"""Games on which a network learns: it plays, or the bot for it, and the bot says what it would do.

Letters: G games, N decisions, P players, A actions, K words of a bot's memory, M numbers of the
network's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.blueprints.compiled import CompiledBot, MaskBot
from hanabi_search_plugin.game import FloatArray, IntArray
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.hanabi.layout import ALL, PLAYED
from hanabi_search_plugin.hanabi.worlds import HanabiWorlds
from hanabi_search_plugin.networks.mask_net import MaskNet
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.policy import NetworkPolicy
from hanabi_search_plugin.policy import take
from hanabi_search_plugin.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.selfplay import lives_left
from hanabi_search_plugin.streams import Streams

ROLLOUTS = 1 / 4  # share of the decisions at which moves are tried out


@dataclass(frozen=True)
class Games:
    """What happened in G games, decision by decision: N rows in order of turns, then of games."""

    game: IntArray  # [N]
    turn: IntArray  # [N]
    seat: IntArray  # [N] who decided
    seen: NDArray[Any]  # [N, P or 1, ...] what the network's memory reads: of every seat, or of all
    public: NDArray[Any]  # [N, ...] of the seat that decided
    private: NDArray[Any]  # [N, ...]
    legal: NDArray[np.bool_]  # [N, A]
    taught: NDArray[np.float32]  # [N, A] the bot's probabilities
    played: IntArray  # [N]
    memory: NDArray[Any]  # [N, M] the masks of a network, before the last event; else M = 0
    masks_before: NDArray[np.int32] | None  # [N, K] the bot's; None where it keeps no masks
    masks_after: NDArray[np.int32] | None  # [N, K] and after the last event
    tried: IntArray  # [N, 2] the bot's move and another, -1 where nothing was tried out
    worth: FloatArray  # [N, 2] what came after them when the bots played on, nan where -1
    scores: FloatArray  # [G]
    bombed: NDArray[np.bool_]  # [G]

    def __len__(self) -> int:
        return len(self.game)


def collect(
    game: HanabiGame,
    bot: CompiledBot,
    student: NetworkPolicy,
    games: int,
    bot_share: float,
    rng: np.random.Generator,
) -> Games:
    """Play games in lockstep; each move is the bot's with probability ``bot_share``.

    At ``ROLLOUTS`` of the decisions the bot's move and a random legal one are played out by bots,
    from the true world with common chance.
    """
    bots, students = (bot,) * game.num_players, (student,) * game.num_players
    encoding, network = student.network.encoding, student.network
    apart = encoding.seat_relative or not network.public_memory
    whose = range(game.num_players if apart else 1)
    worlds = game.deal(rng, games)
    alive, streams = np.arange(games), Streams.spawn(rng, games)
    scores, bombed = np.zeros(games), np.zeros(games, dtype=np.bool_)
    theirs, mine = start_memories(worlds, bots), start_memories(worlds, students)
    before = tuple(np.full_like(memory, game.template[ALL]) for memory in _masks(bot, theirs))
    blank = (network.blank(games).cpu().numpy(),) * game.num_players
    mine_before = _kept(network, blank, games)
    rows: dict[str, list[NDArray[Any]]] = {name: [] for name in Games.__dataclass_fields__}
    turn = 0
    while len(alive):
        seat = worlds.current_player
        views = [worlds.view(p) for p in range(game.num_players)]
        taught = _probabilities(worlds, bots, theirs)
        bots_move = choose(worlds, bots, theirs, streams)
        actions = choose(worlds, students, mine, streams)
        actions = np.where(rng.random(len(alive)) < bot_share, bots_move, actions)
        tried, worth = _try_out(worlds, bots, theirs, bots_move, rng)
        step = {
            "game": alive, "turn": np.full(len(alive), turn), "seat": seat, "played": actions,
            "seen": np.stack([network.seen(worlds.view(p)) for p in whose], axis=1),
            "public": _of_mover(seat, [encoding.public(view) for view in views]),
            "private": _of_mover(seat, [encoding.private(view) for view in views]),
            "legal": worlds.legal, "taught": taught, "tried": tried, "worth": worth,
            "memory": _of_mover(seat, mine_before),
        }  # fmt: skip
        if before:
            step["masks_before"] = _of_mover(seat, before) & game.template[ALL]
            step["masks_after"] = _of_mover(seat, theirs) & game.template[ALL]
        for name, value in step.items():
            rows[name].append(value)
        worlds.step(actions)
        ended = worlds.terminal
        scores[alive[ended]] = worlds.returns[ended, 0]
        lives = lives_left(worlds)
        assert lives is not None
        bombed[alive[ended]] = lives[ended] == 0
        on = np.flatnonzero(~ended)
        alive, worlds, streams = alive[on], worlds.select(on), streams.select(on)
        theirs, mine = take(theirs, on), take(mine, on)
        before, mine_before = _masks(bot, theirs), _kept(network, mine, len(on))
        if len(on):
            theirs = observe_all(worlds, seat[on], actions[on], bots, theirs)
            mine = observe_all(worlds, seat[on], actions[on], students, mine)
        turn += 1
    whole: dict[str, Any] = {name: np.concatenate(v) if v else None for name, v in rows.items()}
    return Games(**whole | {"scores": scores, "bombed": bombed})


def _masks(bot: CompiledBot, memories: tuple[Any, ...]) -> tuple[NDArray[np.int32], ...]:
    return memories if isinstance(bot, MaskBot) else ()


def _kept(network: Network, memories: tuple[Any, ...], n: int) -> tuple[NDArray[Any], ...]:
    """What lessons need of the network's memories: masks, but no states of n games."""
    if isinstance(network, MaskNet):
        return memories
    return (np.zeros((n, 0), dtype=np.float32),) * len(memories)


def _of_mover(seat: IntArray, parts: Any) -> NDArray[Any]:
    """[B, ...] row b of the part of the player to move in world b."""
    if (seat == seat[0]).all():
        return np.array(parts[int(seat[0])])
    return np.stack(list(parts))[seat, np.arange(len(seat))]


def _probabilities(
    worlds: HanabiWorlds, bots: tuple[CompiledBot, ...], memories: tuple[Any, ...]
) -> NDArray[np.float32]:
    chance = np.zeros((len(worlds), worlds.game.num_actions), dtype=np.float32)
    current = worlds.current_player
    for p in np.unique(current).tolist():
        rows = np.flatnonzero(current == p)
        view = worlds.view(p).select(rows)
        chance[rows] = bots[p].probabilities(view, view.legal, take(memories[p], rows))
    return chance


def _try_out(
    worlds: HanabiWorlds,
    bots: tuple[CompiledBot, ...],
    memories: tuple[Any, ...],
    moves: IntArray,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """Moves tried [B, 2] and what comes after them [B, 2], in score points."""
    tried = np.full((len(worlds), 2), -1)
    worth = np.full((len(worlds), 2), np.nan)
    some = np.flatnonzero(rng.random(len(worlds)) < ROLLOUTS)
    if len(some):
        part = worlds.select(some)
        noise = np.where(part.legal, rng.random(part.legal.shape), -1.0)
        tried[some] = np.stack([moves[some], noise.argmax(axis=1)], axis=1)
        streams = Streams.spawn(rng, len(some))
        found = part.game.action_values(part, tried[some].T, bots, take(memories, some), 0, streams)
        worth[some] = found.T - np.bitwise_count(part.rows[:, PLAYED])[:, None]
    return tried, worth
