"""Long runs do not grow: what is dropped is freed, and games leave nothing behind."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, Sparta, UnsupportedError, evaluate, upgrade
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import RunningGame
from hanabi_search_plugin.registry import load_policy
from tests.helpers.small_agents import KINDS, SMALL, agent_of

GAME = SMALL[2]
STATM = Path("/proc/self/statm")


@pytest.fixture(autouse=True)
def only_what_is_new_is_collected() -> Iterator[None]:
    """All that the tests before have left takes ten times as long."""
    gc.freeze()
    yield
    gc.unfreeze()


def play(agent: SearchAgent, seed: int, moves: int) -> RunningGame:
    worlds = GAME.deal(np.random.default_rng(seed), 1)
    stream = Streams(np.zeros(1, dtype=np.uint64))
    policies = (agent, load_policy("smartbot", GAME))
    game = RunningGame.begin(worlds, policies, stream, (seed,))
    while not game.over and game.number < moves:
        game.play(game.decide().action)
    return game


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_that_is_dropped_is_freed(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """With the beliefs of its games."""
    agent = agent_of(kind, GAME)
    with caplog.at_level(logging.CRITICAL, "hanabi_search_plugin"):  # a warning that pytest keeps
        game = play(agent, 0, 4)
    kept = [agent, game.seats[0].memory[0]]
    left = [weakref.ref(each) for each in kept]
    del agent, game, kept
    gc.collect()
    assert [each() for each in left] == [None] * len(left)


def traced(kind: str, games: int) -> int:
    """Bytes of Python's and NumPy's in use after these games of new agents."""
    for seed in range(games):
        play(agent_of(kind, GAME), seed, 5)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("kind", ["sparta", "joint-sparta", "ris-mcts", "Learned"])
def test_games_leave_nothing_behind(kind: str) -> None:
    """The same games a second time: what was to be kept once has been kept."""
    play(agent_of(kind, GAME), 0, 5)
    tracemalloc.start()
    try:
        first = traced(kind, 6)
        assert traced(kind, 6) - first < 20_000  # one belief that stays has more
    finally:
        tracemalloc.stop()


def resident() -> float:
    """MB of this process."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


@pytest.mark.slow
@pytest.mark.skipif(not STATM.exists(), reason="the system has no /proc")
def test_a_thousand_games_and_two_hundred_agents() -> None:
    game = HanabiGame(players=2)
    agent = upgrade("smartbot", game, Sparta(rollouts=100, min_rollouts=5))
    evaluate(game, (agent, "smartbot"), games=100, baseline="smartbot")
    before = resident()
    evaluate(game, (agent, "smartbot"), games=1_000, baseline="smartbot")
    after_games = resident()
    print(f"{before:.0f} MB, after 1,000 games {after_games:.0f} MB")

    def play_agents(number: int) -> float:
        for seed in range(number):
            with contextlib.suppress(UnsupportedError):  # eight particles may run out
                play(agent_of(KINDS[seed % len(KINDS)], GAME), seed, 6)
        return resident()

    warm = play_agents(20)
    after_agents = play_agents(200)
    print(f"{warm:.0f} MB, after 200 agents {after_agents:.0f} MB")
    assert after_games - before < 20 and after_agents - warm < 20
