"""A policy at one seat: its memory, its randomness, its latest result."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, Policy, SmartBot, Sparta, Streams, upgrade
from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.core.policy import UniformPolicy, memory_from
from hanabi_search_plugin.evaluation.seat import SeatedPolicy

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2)
AGENT = upgrade(SmartBot(), GAME, Sparta(rollouts=60, threshold=0.0))


def history(moves: int) -> History:
    """What seat 0 sees of a game of first legal moves."""
    worlds = GAME.deal(np.random.default_rng(0), 1)
    found = History(0, (worlds.view(0).select(np.array([0])),))
    for _ in range(moves):
        event = worlds.step(worlds.legal.argmax(axis=1))
        found = found.append(event, worlds.view(0).select(np.array([0])))
    return found


@pytest.mark.parametrize("policy", [SmartBot(), UniformPolicy(), AGENT], ids=repr)
def test_from_a_stream_it_acts_as_its_policy_does(policy: Policy) -> None:
    past = history(2)
    seat = SeatedPolicy(policy)
    seat.follow(past)
    view, stream = past.views[-1], Streams(np.array([5], dtype=np.uint64))
    memory, twin = memory_from(policy, past), stream.select(np.array([0]))
    for _ in range(3):
        expected = policy.act(view, view.legal, memory, twin)
        assert [seat.act(view, stream)] == expected.tolist()
        assert stream.state == twin.state
        assert seat.searches == (seat.last_result is not None)


def test_from_a_generator_a_search_draws_itself_and_others_by_one_stream() -> None:
    past = history(2)
    view = past.views[-1]
    searching, random = SeatedPolicy(AGENT), SeatedPolicy(UniformPolicy())
    searching.follow(past)
    random.follow(past)
    for seed in range(5):
        searching.act(view, np.random.default_rng(seed))
        expected = AGENT.decide(memory_from(AGENT, past)[0], np.random.default_rng(seed))
        assert searching.last_result is not None
        assert searching.last_result.to_dict() == expected.to_dict()
        stream = Streams.spawn(np.random.default_rng(seed), 1)
        drawn = UniformPolicy().act(view, view.legal, None, stream)
        assert [random.act(view, np.random.default_rng(seed))] == drawn.tolist()


def test_following_a_history_takes_in_what_is_new_alone() -> None:
    whole, seat = history(4), SeatedPolicy(AGENT)
    for moves in (0, 1, 4, 4):
        seat.follow(history(moves))
        assert seat.views_seen == moves + 1
    (belief,), (expected,) = seat.memory, memory_from(AGENT, whole)
    assert belief.size == expected.size and belief.likelihoods == expected.likelihoods
    twin = copy.copy(seat)
    twin.start(whole.views[0])
    assert seat.views_seen == 5 and twin.views_seen == 1
    assert seat.memory[0].size == expected.size
