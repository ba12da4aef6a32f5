"""Native Hanabi as an AEC environment: PettingZoo's own tests, and hanabi_v5 step by step."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test

from hanabi_search_plugin.errors import ConfigError, IllegalActionError
from hanabi_search_plugin.wrappers import pettingzoo as native
from tests.helpers.pettingzoo_hanabi import SMALL, deck_of, play_random, theirs

CONFIGS: list[dict[str, Any]] = [
    {},
    {"players": 3, "observation_type": "minimal"},
    {"players": 4, "hand_size": 4, "observation_type": "seer"},
    {"players": 4, "hand_size": 5, "colors": 4},
    {"players": 5, "hand_size": 4},
    SMALL,
]

WHAT_IT_SAYS_OF_HANABI_V5 = {
    "Observation is not a NumPy array",
    "Action mask numpy array is all zeros (no legal actions).",
}


def same(ours: Any, theirs: Any) -> bool:
    """Equal values, shapes and dtypes of an observation or mask."""
    return bool(ours.dtype == theirs.dtype and np.array_equal(ours, theirs))


# ----------------------------------------------------------------------------- the environment


@pytest.mark.parametrize("make", [native.env, native.raw_env])
@pytest.mark.parametrize("parameters", CONFIGS, ids=str)
def test_pettingzoos_own_tests_pass(make: Any, parameters: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        api_test(make(**parameters), num_cycles=200)
    assert {str(warning.message) for warning in said} <= WHAT_IT_SAYS_OF_HANABI_V5
    seed_test(lambda: make(**parameters), num_cycles=100)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", CONFIGS, ids=str)
def test_every_step_is_that_of_hanabi_v5(
    parameters: dict[str, Any], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = native.env(**parameters)
    deck = deck_of(ours.unwrapped.config, np.random.default_rng(seed))
    other = theirs(monkeypatch, deck, **parameters)
    ours.reset(options={"deck": deck})
    for agent in other.possible_agents:
        assert ours.action_space(agent) == other.action_space(agent)
        assert ours.observation_space(agent) == other.observation_space(agent)
    assert ours.possible_agents == other.possible_agents
    rng = np.random.default_rng(seed)
    while True:
        over = all(other.terminations.values())
        assert ours.agents == other.agents
        assert ours.agent_selection == other.agent_selection
        assert ours.rewards == other.rewards
        assert ours.terminations == other.terminations
        assert ours.truncations == other.truncations
        assert ours._cumulative_rewards == other._cumulative_rewards
        for agent in ours.agents:
            a, b = ours.observe(agent), other.observe(agent)
            assert a.keys() == b.keys()
            assert same(a["action_mask"], b["action_mask"])
            assert same(ours.infos[agent]["action_mask"], other.infos[agent]["action_mask"])
            if not over:  # hanabi_v5 does not show the last move
                assert same(a["observation"], b["observation"])
        if over:
            break
        action = int(rng.choice(np.flatnonzero(ours.last()[0]["action_mask"])))
        ours.step(action)
        other.step(action)
    while ours.agents:
        ours.step(None)
        other.step(None)
        assert ours.agents == other.agents and ours.rewards == other.rewards


def test_an_illegal_move_costs_its_maker_what_it_does_in_hanabi_v5(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = native.env()
    deck = deck_of(ours.unwrapped.config, np.random.default_rng(0))
    for env in (ours, theirs(monkeypatch, deck)):
        if env is ours:
            env.reset(options={"deck": deck})
        env.step(5)
        env.last()
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"] == 0)[0]))
        assert env.rewards == {"player_0": 0, "player_1": -1.0}
        assert all(env.terminations.values())


def test_the_end_shows_the_last_move() -> None:
    env = native.raw_env(**SMALL)
    env.reset(seed=1)
    before: dict[str, Any] = {}
    for _ in play_random(env, 3):
        before = {agent: env.observe(agent)["observation"] for agent in env.agents}
    for agent in env.agents:
        seen = env.observe(agent)
        assert not np.array_equal(seen["observation"], before[agent])
        assert not seen["action_mask"].any()


def test_one_seed_decides_every_game_that_follows() -> None:
    first, second = native.raw_env(**SMALL), native.raw_env(**SMALL)
    first.reset(seed=5)
    second.reset(seed=5)
    seen = []
    for env in (first, second):
        for _ in range(4):
            env.reset()
            seen.append(env.observe("player_0")["observation"])
    assert all(np.array_equal(a, b) for a, b in zip(seen[:4], seen[4:], strict=True))
    assert not all(np.array_equal(seen[0], other) for other in seen[1:4])


def test_a_random_first_player_is_the_one_who_is_asked() -> None:
    env = native.raw_env(players=3, random_start_player=True)
    began = set()
    for seed in range(20):
        env.reset(seed=seed)
        began.add(env.agent_selection)
        masks = {agent: env.observe(agent)["action_mask"].any() for agent in env.agents}
        assert masks == {agent: agent == env.agent_selection for agent in env.agents}
    assert began == set(env.possible_agents)


@pytest.mark.parametrize("make", [native.env, native.raw_env])
def test_copies_in_mid_game_go_on_identically(make: Any) -> None:
    env = make(players=3)
    env.reset(seed=2)
    for moves, _ in enumerate(play_random(env, 4)):
        if moves == 9:
            break
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = list(play_random(env, 6))
    env.reset()
    next_deal = env.observe("player_1")["observation"]
    for twin in copies:
        assert list(play_random(twin, 6)) == expected
        twin.reset()
        assert np.array_equal(twin.observe("player_1")["observation"], next_deal)


def test_the_rule_books_hand_sizes_are_the_default() -> None:
    sizes = [native.raw_env(players=p).config.hand_size for p in (2, 3, 4, 5)]
    assert sizes == [5, 5, 4, 4]
    assert native.raw_env(players=4, hand_size=5).config.hand_size == 5


def test_bad_input_says_what_was_expected() -> None:
    with pytest.raises(ConfigError, match="players must be from 2 to 5, got 6"):
        native.raw_env(players=6)
    with pytest.raises(ConfigError, match="render_mode must be None or ansi, got 'human'"):
        native.raw_env(render_mode="human")
    env = native.raw_env()
    with pytest.raises(ConfigError, match="decks must be permutations"):
        env.reset(options={"deck": np.zeros(50, dtype=int)})
    with pytest.raises(ConfigError, match="first_player must be from 0 to 1, got 2"):
        env.reset(options={"first_player": 2})
    env.reset(seed=0)
    with pytest.raises(IllegalActionError, match=r"discards slot 0.* all 8 information tokens"):
        env.step(0)
    with pytest.raises(IllegalActionError, match="from 0 to 19, got None"):
        env.step(None)
    with pytest.raises(IllegalActionError, match="actions are from 0 to 19"):
        env.step(20)
    env.step(np.int32(5))


def test_the_board_is_rendered_as_a_text() -> None:
    env = native.raw_env(render_mode="ansi")
    env.reset(seed=0)
    assert "P0 to move" in env.render()
    assert native.raw_env().render() is None
