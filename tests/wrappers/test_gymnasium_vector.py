"""Many games at once: the same as one by one, in every mode, with any partners."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from packaging.version import Version

from hanabi_search_plugin import SmartBot, Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.hanabi.search.seat_tables import LockstepTables
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.wrappers._gymnasium_vector import DRAWN_AT_ONCE
from hanabi_search_plugin.wrappers.gymnasium import ID, HanabiEnv, HanabiVectorEnv

SMALL: dict[str, Any] = {"colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 3}
MODES = list(AutoresetMode)


class InPython(UniformPolicy):
    """Uniform, but not known to the compiled loop."""


def counting(obs: Any, mask: Any, turns: Any) -> Any:
    """A recurrent callable: first legal move on even turns, last on odd ones."""
    last = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
    return np.where(turns % 2, last, mask.argmax(axis=1)), turns + 1


def recurrent() -> Any:
    return from_callable(counting, returns="actions", initial_state=0, sees="own turns")


def searcher() -> Any:
    return upgrade(UniformPolicy(), HanabiGame(players=3, **SMALL), Sparta(rollouts=40))


CASES: dict[str, dict[str, Any]] = {
    "smartbot": {**SMALL},
    "full-v0": {"seat": 1, "encoding": "v0"},
    "random-start": {**SMALL, "partners": "vdb", "random_start_player": True, "seat": 1},
    "python": {**SMALL, "players": 3, "seat": 2, "partners": (InPython(), "hatbot")},
    "recurrent": {**SMALL, "partners": recurrent(), "encoding": "packed"},
    "search": {**SMALL, "players": 3, "partners": (searcher(), "iggi")},
}


def assert_same(one: Any, other: Any) -> None:
    """Equal but for what partners searched, which the native environment does not tell."""
    if isinstance(one, dict):
        keys = {key for key in one if not key.endswith("searches")}
        assert keys == {key for key in other if not key.endswith("searches")}
        for key in keys:
            assert_same(one[key], other[key])
    elif one.dtype.kind == "O":
        for left, right in zip(one, other, strict=True):
            assert (left is None) == (right is None) and np.array_equal(left, right)
    else:
        assert one.dtype == other.dtype and np.array_equal(one, other)


def actions_for(masks: Any, rng: np.random.Generator, mistakes: float) -> Any:
    """Random legal actions, some of them any action."""
    noise = rng.random(masks.shape)
    chosen = np.where(masks, noise, -1.0).argmax(axis=1)
    return np.where(rng.random(len(masks)) < mistakes, noise.argmax(axis=1), chosen)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("case", CASES)
def test_it_is_as_many_single_environments(case: str, mode: AutoresetMode) -> None:
    """Observations, rewards, ends and infos, step by step."""
    parameters, games = CASES[case], 3 if case == "search" else 6
    ours = gymnasium.make_vec(ID, games, autoreset_mode=mode, **parameters)
    assert type(ours) is HanabiVectorEnv
    theirs = SyncVectorEnv(
        [lambda: HanabiEnv(**parameters) for _ in range(games)], autoreset_mode=mode
    )
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is mode
    rng = np.random.default_rng(0)
    results = [env.reset(seed=7) for env in (ours, theirs)]
    ended = 0
    for _ in range(12 if case == "search" else 40):
        for one, other in zip(*results, strict=True):
            assert_same(one, other)
        assert results[0][0] in ours.observation_space
        chosen = actions_for(results[0][-1]["action_mask"], rng, 0.05)
        results = [env.step(chosen) for env in (ours, theirs)]
        ended += results[0][2].sum()
        if mode is AutoresetMode.DISABLED and results[0][2].any():
            for one, other in zip(*results, strict=True):
                assert_same(one, other)
            mask = results[0][2].copy()
            results = [env.reset(options={"reset_mask": mask.copy()}) for env in (ours, theirs)]
            results[0][1]["action_mask"] = ours.action_masks().astype(np.int8)
            results[1][1]["action_mask"] = ours.action_masks().astype(np.int8)
    assert ended > 3 or case in ("full-v0", "search")


def test_it_goes_on_when_the_seeds_drawn_ahead_are_used_up() -> None:
    parameters = {**SMALL, "life_tokens": 1, "partners": "random"}
    ours = HanabiVectorEnv(2, autoreset_mode="SameStep", **parameters)
    alone = HanabiEnv(**parameters)
    ours.reset(seed=[5, 6])
    observation, info = alone.reset(seed=6)
    rng, games = np.random.default_rng(0), 0
    while games < DRAWN_AT_ONCE + 3:
        masks = ours.action_masks()
        assert np.array_equal(masks[1], info["action_mask"])
        chosen = actions_for(masks, rng, 0.0)
        observations, *_ = ours.step(chosen)
        observation, _, over, _, info = alone.step(chosen[1])
        if over:
            observation, info = alone.reset()
            games += 1
        assert np.array_equal(observations[1], observation)


@pytest.mark.parametrize("parameters", [{}, {"players": 5, "colors": 4}], ids=str)
def test_the_compiled_loop_is_the_plain_one(parameters: dict[str, Any]) -> None:
    game = HanabiGame(**parameters)
    rng = np.random.default_rng(0)
    players = game.num_players
    partners = {p: (SmartBot(), UniformPolicy())[p % 2] for p in range(players) if p != 1}
    both = [game.tables(1, partners, 16), LockstepTables(game, 1, partners, 16)]
    assert type(both[0]) is not type(both[1])
    decks, streams = rng.integers(0, 2**64, size=(2, 16), dtype=np.uint64)
    which = np.ones(16, dtype=np.bool_)
    for tables in both:
        tables.begin(which, decks, streams)
    for _ in range(30):
        assert np.array_equal(both[0].worlds.rows, both[1].worlds.rows)
        assert np.array_equal(both[0].streams, both[1].streams)
        playing = ~both[0].worlds.terminal & (rng.random(16) < 0.9)
        chosen = actions_for(both[0].worlds.legal, rng, 0.0)
        first, second = (tables.move(playing, chosen) for tables in both)
        assert np.array_equal(first, second)


@pytest.mark.parametrize("case", ["smartbot", "recurrent"])
def test_copies_go_on_identically(case: str) -> None:
    env = HanabiVectorEnv(4, **CASES[case])
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    env.step(actions_for(env.action_masks(), rng, 0.0))
    twins = [copy.deepcopy(env)]
    if case == "smartbot":  # a function inside a test module is not pickled
        twins.append(pickle.loads(pickle.dumps(env)))
    for _ in range(30):
        chosen = actions_for(env.action_masks(), rng, 0.0)
        expected = env.step(chosen)
        for twin in twins:
            for one, other in zip(twin.step(chosen), expected, strict=True):
                assert_same(one, other)


SAME_STEP_STATISTICS = Version(gymnasium.__version__) >= Version("1.4")


@pytest.mark.parametrize(
    "mode",
    [
        "NextStep",
        pytest.param(
            "SameStep",
            marks=pytest.mark.skipif(
                not SAME_STEP_STATISTICS,
                reason="before Gymnasium 1.4 RecordEpisodeStatistics counts SameStep wrong",
            ),
        ),
    ],
)
def test_gymnasiums_vector_wrappers_take_it(mode: str) -> None:
    env = HanabiVectorEnv(20, partners="random", bomb="keep", autoreset_mode=mode, **SMALL)
    wrapped = RecordEpisodeStatistics(env)
    _, info = wrapped.reset(seed=0)
    rng, totals, ended = np.random.default_rng(0), np.zeros(20), 0
    for _ in range(60):
        _, rewards, over, _, info = wrapped.step(actions_for(info["action_mask"], rng, 0.0))
        totals += rewards
        if over.any():
            assert np.array_equal(info["episode"]["r"][over], totals[over])
            ended += over.sum()
            totals[over] = 0
    assert ended > 20


def test_without_observations_there_is_the_view() -> None:
    env = HanabiVectorEnv(3, encoding=None, **SMALL)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (3, 0) and observations in env.observation_space
    expected, _ = HanabiVectorEnv(3, **SMALL).reset(seed=0)
    assert np.array_equal(env.view().observation("openspiel"), expected)


def test_a_game_lost_before_the_first_turn_ends_with_any_action() -> None:
    env = HanabiVectorEnv(200, seat=1, partners="random", life_tokens=1, colors=2)
    _, info = env.reset(seed=0)
    lost = ~info["action_mask"].any(axis=1)
    assert 0 < lost.sum() < 200
    chosen = np.where(lost, 0, actions_for(info["action_mask"], np.random.default_rng(0), 0.0))
    _, rewards, terminated, _, info = env.step(chosen)
    assert terminated[lost].all() and (rewards[lost] == 0).all() and "illegal" not in info


def test_what_cannot_be_done_is_refused() -> None:
    env = HanabiVectorEnv(2, autoreset_mode="Disabled", illegal="raise")
    with pytest.raises(IllegalActionError, match="call reset"):
        env.step([5, 5])
    with pytest.raises(ConfigError, match="all games at the first reset"):
        env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ConfigError, match="seed must be one or 2 of them, got 3"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(ConfigError, match="options may have a reset_mask, got deck"):
        env.reset(options={"deck": [1]})
    env.reset(seed=0)
    before = env.view().rows.copy()
    with pytest.raises(IllegalActionError, match="in game 1 action 0 is not legal: all 8"):
        env.step([5, 0])
    with pytest.raises(IllegalActionError, match="from 0 to 19"):
        env.step([5, 99])
    with pytest.raises(IllegalActionError, match="expected 2 whole numbers"):
        env.step([5])
    assert np.array_equal(env.view().rows, before)
    with pytest.raises(ConfigError, match=r"reset_mask must be bool \[2\]"):
        env.reset(options={"reset_mask": np.array([1, 0])})
    ends = HanabiVectorEnv(2, autoreset_mode="Disabled")
    ends.reset(seed=0)
    _, rewards, terminated, _, info = ends.step([5, 0])
    assert rewards[1] == -1 and terminated.tolist() == [False, True]
    assert info["illegal"][1] == "action 0 is not legal: all 8 information tokens are there"
    with pytest.raises(IllegalActionError, match="game 1 is over"):
        ends.step([5, 5])
    for parameters, says in (
        ({"autoreset_mode": "never"}, "autoreset_mode must be one of NextStep, SameStep, Disabled"),
        ({"num_envs": 0}, "num_envs must be an integer of at least 1"),
        ({"encoding": "bits"}, "encoding must be one of"),
        ({"seat": 2}, "seat must be from 0 to 1"),
        ({"partners": "nobody"}, "policy must be one of"),
    ):
        with pytest.raises(ConfigError, match=says):
            HanabiVectorEnv(**parameters)
