"""The blueprints of ``other_games``: hand-written, trained by OpenSpiel, and the solved optimum."""

from __future__ import annotations

import numpy as np
from open_spiel.python import rl_environment
from open_spiel.python.algorithms.tabular_qlearner import QLearner

from benchmarks.hanabi_optimum import Optimum, Public
from hanabi_search_plugin import Event, Policy, Streams, View
from hanabi_search_plugin.core import BoolArray, IntArray, Memory
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.layout import HANDS, LAST_CARD, LAST_TOUCHED
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, as_policy

STAY, FORWARD = 3, 2  # of coop_box_pushing


class AlwaysTheSame(Policy):
    """tiny_hanabi: always the same action, worth 8 of 10 by itself."""

    action = 1

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return np.full(len(view), self.action, dtype=np.int64)


class OwnHand(Policy):
    """tiny_bridge_2p: bids its own hand once, then passes.

    Two cards of a suit are 1 of it, or 2 with four points (ace 3, king 2, queen 1); four points in
    two suits are 1NT. A bid that is not high enough is a pass.
    """

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        bids = []
        for b, seen in enumerate(view.observation("string")):
            hand, *auction = seen.split()
            points = sum("JQKA".index(rank) for rank in hand[1::2])
            suited = hand[0] == hand[2]
            bid = (4 if points >= 4 else 1) + "HS".index(hand[0]) if suited else 3 * (points >= 4)
            first = len(auction) < 2
            bids.append(bid if first and legal[b, bid] else 0)
        return np.array(bids, dtype=np.int64)


class Mumbling(Policy):
    """trade_comm: says its item modulo half their number and offers it for the one it has heard."""

    def __init__(self, items: int = 10) -> None:
        self.items = items

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        actions = []
        for seen in view.observation("string"):
            lines = dict(line.split(":", 1) for line in seen.splitlines() if ":" in line)
            own, said = int(lines["My item"]), [int(word) for word in lines["Comm history"].split()]
            trading = lines["Phase"].strip() == "trade"
            offer = self.items + self.items * own + said[1 - view.player] if trading else 0
            actions.append(offer if trading else own % (self.items // 2))
        return np.array(actions, dtype=np.int64)


class ToTheBigBox(Policy):
    """coop_box_pushing: walks under its half of the big box, blind to failures, and pushes.

    Two steps, a turn to the north, then forward wherever there is the field or the big box ahead.
    Memory: how many moves it has made.
    """

    def start(self, view: View) -> Memory:
        return np.zeros(len(view), dtype=np.int64)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return memory + (event.player == view.player)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        ahead = [seen.splitlines()[-1] for seen in view.observation("string")]
        free = np.array([what in ("field", "big box") for what in ahead], dtype=np.bool_)
        turn = view.player  # north is to the left of east and to the right of west
        return np.where(memory == 2, turn, np.where(free, FORWARD, STAY))


class Solved(Policy):
    """Small native Hanabi: the best joint policy. Memory: what is public in each world."""

    def __init__(self, optimum: Optimum) -> None:
        self._optimum = optimum
        self.value = optimum.value

    def start(self, view: View) -> Memory:
        return [self._optimum.start] * len(view)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        assert isinstance(view, HanabiView)
        size = self._optimum.config.hand_size
        after: list[Public] = []
        for row, public, move in zip(view.rows, memory, event.action.tolist(), strict=True):
            touched = tuple(k for k in range(size) if row[LAST_TOUCHED] >> k & 1)
            seen = (int(row[LAST_CARD]),) if move < 2 * size else touched
            after.append(self._optimum.after(public, move, seen))
        return after

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        assert isinstance(view, HanabiView)
        size, moves = self._optimum.config.hand_size, []
        for row, public in zip(view.rows, memory, strict=True):
            held = len(next(iter(public.pairs))[1 - view.player])
            at = HANDS + (1 - view.player) * size
            partner = tuple(row[at : at + held].tolist())
            moves.append(self._optimum.move(public, partner))
        return np.array(moves, dtype=np.int64)


def q_learning(game: OpenSpielGame, episodes: int, seed: int) -> tuple[Policy, ...]:
    """OpenSpiel's tabular Q-learners, one a seat, trained together."""
    np.random.seed(seed)  # they know no other generator
    environment = rl_environment.Environment(game.spiel)
    environment.seed(seed)
    agents = [QLearner(p, game.num_actions) for p in range(game.num_players)]
    for _ in range(episodes):
        step = environment.reset()
        while not step.last():
            action = agents[step.observations["current_player"]].step(step).action
            step = environment.step([action])
        for agent in agents:
            agent.step(step)
    return tuple(as_policy(agent, game) for agent in agents)
