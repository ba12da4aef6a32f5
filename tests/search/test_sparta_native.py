"""SPARTA on native Hanabi: compiled and plain agree, threads do not matter, budgets are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import (
    HanabiGame,
    SearchResult,
    SmartBot,
    Sparta,
    Streams,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.rollout import start_memories

SMALL = HanabiGame(players=2, colors=2, ranks=3, hand_size=2)


class Plain(Policy):
    """A bot in a wrapping that the compiled loops do not look into."""

    def __init__(self, bot: Policy) -> None:
        self.bot = bot
        self.deterministic = bot.deterministic

    def start(self, view: View) -> Memory:
        return self.bot.start(view)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return self.bot.observe(view, event, memory)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return self.bot.act(view, legal, memory, rng)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        return self.bot.probabilities(view, legal, memory)


def decisions(
    game: HanabiGame, policy: Policy, search: Sparta, seed: int, moves: int = 100
) -> Iterator[SearchResult]:
    """The searched decisions of seat 1 in one game."""
    agent = upgrade(policy, game, search=search)
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    blueprint = (policy,) * game.num_players
    memories = list(start_memories(worlds, blueprint))
    beliefs = agent.start(worlds.view(1))
    for _ in range(moves):
        seat = int(worlds.current_player[0])
        view = worlds.view(seat)
        if seat == 1:
            result = agent.decide(beliefs[0], rng)
            yield result
            action = result.action
        else:
            streams = Streams(np.zeros(1, dtype=np.uint64))
            action = int(policy.act(view, view.legal, memories[seat], streams)[0])
        event = worlds.step(np.array([action]))
        if worlds.terminal[0]:
            return
        for p, memory in enumerate(memories):
            memories[p] = policy.observe(worlds.view(p), event, memory)
        beliefs = agent.observe(worlds.view(1), event, beliefs)


def same(ours: SearchResult, theirs: SearchResult) -> bool:
    return ours.to_dict() == theirs.to_dict()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["smartbot", "hatbot", "hatbot-b", "cautious", "vdb:strict"])
def test_the_compiled_search_equals_the_plain_one_number_by_number(name: str, seed: int) -> None:
    bot = load_policy(name, SMALL)
    search = Sparta(rollouts=400, min_rollouts=20, round_size=20)
    compiled = list(decisions(SMALL, bot, search, seed))
    plain = list(decisions(SMALL, Plain(bot), search, seed))
    assert len(compiled) > 2
    for ours, theirs in zip(compiled, plain, strict=True):
        assert same(ours, theirs)


@pytest.mark.parametrize(
    "options", [{"confirm": 60}, {"errors": 2.0, "indifference": 0.05}, {"pruning": "paired"}]
)
def test_so_it_does_with_other_ways_to_choose(options: dict[str, Any]) -> None:
    search = Sparta(**{"rollouts": 400, "threshold": 0.0} | options)
    compiled = list(decisions(SMALL, SmartBot(), search, 1))
    plain = list(decisions(SMALL, Plain(SmartBot()), search, 1))
    assert any(result.reason == "improved" for result in compiled)
    for ours, theirs in zip(compiled, plain, strict=True):
        assert same(ours, theirs)


@pytest.mark.parametrize("players", [2, 3])
def test_threads_do_not_change_a_decision(players: int) -> None:
    game = HanabiGame(players=players)
    alone = list(decisions(game, SmartBot(), Sparta(rollouts=600), 5, moves=12))
    spread = list(decisions(game, SmartBot(), Sparta(rollouts=600, threads=3), 5, moves=12))
    assert len(alone) >= 4
    for one, three in zip(alone, spread, strict=True):
        assert same(one, three)


def test_a_budget_is_shared_and_what_pruning_saves_goes_to_the_others() -> None:
    game = HanabiGame(players=2)
    for kind in ("paired", "independent", "off"):
        for reallocate in (True, False):
            search = Sparta(rollouts=3000, pruning=kind, reallocate=reallocate)
            for result in decisions(game, SmartBot(), search, 11, moves=16):
                share = 3000 // len(result.actions)
                assert result.rollouts <= 3000
                if kind == "off":
                    assert (result.count == share).all() or len(result.actions) == 1
                elif not reallocate:
                    assert result.count.max() <= share


def test_off_threshold_follows_the_best_mean() -> None:
    game = HanabiGame(players=2)
    search = Sparta(rollouts=1500, pruning="off", threshold=0.0)
    results = list(decisions(game, SmartBot(), search, 2, moves=20))
    assert any(result.reason == "improved" for result in results)
    for result in results:
        if result.reason == "improved":
            best = int(np.flatnonzero(result.actions == result.action)[0])
            assert result.mean[best] == np.nanmax(result.mean)


@pytest.mark.slow
def test_search_gains_on_average() -> None:
    """12 games on paired decks: the gain is about 1.2 points a game, its spread about 2.5."""
    from hanabi_search_plugin import evaluate

    game = HanabiGame(players=2)
    agent = upgrade(SmartBot(), game, search=Sparta(rollouts=2000))
    result = evaluate(game, (SmartBot(), agent), games=12, seed=7)
    assert (result.scores - result.blueprint_scores).mean() > 0
