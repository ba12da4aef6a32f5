"""Work tells how far it is and ends where nobody waits for it; unwatched it goes on as ever."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.algorithms import MoIsmcts
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.rollout import likelihood
from hanabi_search_plugin.core.watching import Abandoned, Watch, report_rollouts, watched

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
SEARCHES = (Sparta(rollouts=400, min_rollouts=10), MoIsmcts(iterations=300))


def agent_of(search: object) -> SearchAgent:
    return upgrade(UniformPolicy(), GAME, search)  # type: ignore[arg-type]


def decide(agent: SearchAgent) -> SearchResult:
    worlds = GAME.deal(np.random.default_rng(1), 1)
    memory = agent.start(worlds.view(0))
    return agent.decide(memory[0], np.random.default_rng(2))


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_watched_search_tells_its_rollouts_and_decides_the_same(search: object) -> None:
    agent, watch = agent_of(search), Watch()
    alone = decide(agent)
    with watched(watch):
        result = decide(agent)
    assert watch.rollouts == result.rollouts == alone.rollouts > 0
    assert np.array_equal(result.mean, alone.mean, equal_nan=True)
    assert result.action == alone.action


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_search_that_nobody_waits_for_ends_at_its_first_round(search: object) -> None:
    watch = Watch()
    watch.stop()
    with watched(watch), pytest.raises(Abandoned):
        decide(agent_of(search))
    assert 0 < watch.rollouts <= 100
    assert decide(agent_of(search)).rollouts > watch.rollouts  # unwatched again


def test_a_watch_is_of_one_thread() -> None:
    watch = Watch()
    with watched(watch):
        thread = threading.Thread(target=report_rollouts, args=(5,))
        thread.start()
        thread.join()
        report_rollouts(2)
    report_rollouts(3)
    assert watch.rollouts == 2


def test_a_belief_that_asks_a_policy_about_many_worlds_ends_between_two_batches() -> None:
    watch, policy = Watch(), UniformPolicy()
    worlds = GAME.deal(np.random.default_rng(1), 3)
    moves = np.full(3, GAME.config.hand_size)  # plays, which are always legal
    with watched(watch):
        assert likelihood(worlds, policy, 0, None, moves).shape == (3,)
        watch.stop()
        with pytest.raises(Abandoned):
            likelihood(worlds, policy, 0, None, moves)
