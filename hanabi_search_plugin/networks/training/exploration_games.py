"""Play games of a policy with exploratory moves, for a critic to learn from.

In each game some moves are drawn from the legal ones: one at a uniformly drawn turn, and a few
before it. After the last of them the policy plays to the end, and the points it still makes are
what a search would find there. Letters: N positions, P players, G games.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.policy import take
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.hanabi_rules import points
from hanabi_search_plugin.hanabi.engine.layout import LIVES
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.nets.critic_net import Critic, Positions
from hanabi_search_plugin.networks.network_policies import NetworkPolicy


@dataclass(frozen=True)
class ExplorationGames:
    """Positions after each game's last exploratory move, in order of turns, then of games."""

    positions: Positions  # [N]
    game: IntArray  # [N]
    turn: IntArray  # [N]
    since: IntArray  # [N] moves since the exploratory one; -1: there was none
    seat_values: FloatArray  # [N, P] the policy's own, of every seat; nan where not asked for
    scores: FloatArray  # [G] a lost game counts 0
    lost: BoolArray  # [G]

    @property
    def return_to_go(self) -> FloatArray:
        """[N] points that were made afterwards."""
        return self.scores[self.game] - self.positions.score

    def __len__(self) -> int:
        return len(self.turn)


def play_exploration_games(
    game: HanabiGame,
    policy: NetworkPolicy,
    critic: Critic,
    games: int,
    noise: float,
    rng: np.random.Generator,
    *,
    ask: bool = False,
) -> ExplorationGames:
    """Play games in lockstep; ``noise``: probability of an exploratory move before the last one.

    ``ask``: also record the policy's own values of the positions.
    """
    seats, blueprint = range(game.num_players), (policy,) * game.num_players
    worlds, alive, streams = game.deal(rng, games), np.arange(games), Streams.spawn(rng, games)
    memories = start_memories(worlds, blueprint)
    scores, lost = np.zeros(games), np.zeros(games, dtype=np.bool_)
    until = rng.integers(0, game.max_length, games)
    last = np.full(games, -1)  # turn of the last exploratory move
    rows: list[dict[str, Any]] = []
    turn = 0
    while len(alive):
        movers, legal = worlds.current_player, worlds.legal
        actions = choose(worlds, blueprint, memories, streams)
        drawn = np.where(legal, rng.random(legal.shape), -1.0).argmax(axis=1)
        early = (turn < until[alive]) & (rng.random(len(alive)) < noise)
        tried = early | (turn == until[alive])
        actions = np.where(tried, drawn, actions)
        last[alive[tried]] = turn
        worlds.step(actions)
        ended = worlds.terminal
        lost[alive[ended]] = worlds.rows[ended, LIVES] == 0
        scores[alive[ended]] = points(worlds.rows[ended])
        on = np.flatnonzero(~ended)
        alive, worlds, streams = alive[on], worlds.select(on), streams.select(on)
        memories = tuple(take(memory, on) for memory in memories)
        memories = observe_all(worlds, movers[on], actions[on], blueprint, memories)
        values = [policy.value(worlds.view(p), memories[p]) for p in seats if ask]
        rows.append({
            "positions": critic.positions(policy.network, worlds, memories[0]),
            "game": alive, "turn": np.full(len(alive), turn), "since": turn - last[alive],
            "seat_values": (
                np.stack(values, axis=1) if ask else np.full((len(alive), len(seats)), np.nan)
            ),
        })  # fmt: skip
        turn += 1
    flat = {
        name: np.concatenate([row[name] for row in rows]) for name in rows[0] if name != "positions"
    }
    final = flat["turn"] >= last[flat["game"]]  # no exploratory move after it
    parts = {
        field.name: np.concatenate([getattr(row["positions"], field.name) for row in rows])[final]
        for field in fields(Positions)
    }
    since = np.where(last[flat["game"]] < 0, -1, flat["since"])
    return ExplorationGames(
        positions=Positions(**parts),
        game=flat["game"][final],
        turn=flat["turn"][final],
        since=since[final],
        seat_values=flat["seat_values"][final],
        scores=np.where(lost, 0.0, scores),
        lost=lost,
    )
