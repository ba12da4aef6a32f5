"""Other AEC environments as games: one of PettingZoo's and one of Shimmy's."""

from __future__ import annotations

import copy
import importlib.util
import sys
import types
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from shimmy import OpenSpielCompatibilityV0

from hanabi_search_plugin import Sparta, UniformPolicy, View, upgrade
from hanabi_search_plugin.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.particles import ParticleBelief
from hanabi_search_plugin.policy import Blueprint
from hanabi_search_plugin.testing import check_agent, check_game
from hanabi_search_plugin.wrappers.pettingzoo_games import (
    AECAdapter,
    AECGame,
    DeterministicAECGame,
)


class TicTacToe(AECAdapter):
    def snapshot(self, env: Any) -> Any:
        return list(env.board.squares), copy.deepcopy(env._agent_selector)

    def restore(self, env: Any, state: Any) -> None:
        squares, selector = state
        env.board.squares, env._agent_selector = list(squares), copy.deepcopy(selector)


class OpenSpiel(AECAdapter):
    """A game that Shimmy wraps: the state, its generator, and what Shimmy keeps beside them."""

    def snapshot(self, env: Any) -> Any:
        generator = copy.deepcopy(env.np_random.bit_generator.state)
        return env.game_state.clone(), generator, env.game_length, dict(env.observations)

    def restore(self, env: Any, state: Any) -> None:
        game_state, generator, length, observations = state
        env.game_state = game_state.clone()
        env.np_random.bit_generator.state = generator
        env.game_length, env.observations = length, dict(observations)


@pytest.fixture
def tictactoe(monkeypatch: pytest.MonkeyPatch) -> DeterministicAECGame:
    if importlib.util.find_spec("pygame") is None:  # which draws the board, no more
        monkeypatch.setitem(sys.modules, "pygame", types.ModuleType("pygame"))
    from pettingzoo.classic import tictactoe_v3

    return DeterministicAECGame(
        tictactoe_v3.env(),
        TicTacToe(),
        return_range=(-1, 1),
        max_length=9,
        rewards="zero_sum",
        public_actions=True,
    )


@pytest.fixture
def leduc() -> AECGame:
    # Without config= Shimmy goes back to two players at the first reset.
    env = OpenSpielCompatibilityV0(game_name="leduc_poker", config={"players": 3})
    return AECGame(
        env,
        OpenSpiel(),
        return_range=(env._env.min_utility(), env._env.max_utility()),
        max_length=env._env.max_game_length(),
        rewards="zero_sum",
        public_actions=True,
    )


def test_a_classic_game_keeps_the_contract(tictactoe: DeterministicAECGame) -> None:
    check_game(tictactoe)


def test_a_game_of_openspiel_by_shimmy_keeps_the_contract(leduc: AECGame) -> None:
    assert leduc.num_players == 3
    check_game(leduc)


def test_a_search_finds_the_winning_move(tictactoe: DeterministicAECGame) -> None:
    agent = upgrade(UniformPolicy(), tictactoe, search=Sparta(rollouts=200, threshold=0.0))
    worlds = tictactoe.deal(np.random.default_rng(0), 1)
    memory = agent.start(worlds.view(0))
    for action in (0, 3, 1, 4):  # the first player has 0 and 1 of the line 0, 1, 2
        event = worlds.step(np.array([action]))
        memory = agent.observe(worlds.view(0), event, memory)
    result = agent.decide(memory[0], np.random.default_rng(0))
    assert result.action == 2


def test_a_search_by_particles_does_not_peek(leduc: AECGame) -> None:
    def belief(blueprint: Blueprint, view: View) -> ParticleBelief:
        rng = np.random.default_rng(0)
        return ParticleBelief.start(leduc, blueprint, view, particles=20, rng=rng, tries=400)

    agent = upgrade(UniformPolicy(), leduc, search=Sparta(rollouts=40), belief=belief)
    worlds = leduc.deal(np.random.default_rng(1), 30)
    alike = defaultdict(list)
    for b, key in enumerate(worlds.view(0).keys()):
        alike[key].append(b)
    others = set()
    for rows in alike.values():
        decisions = set()
        for b in rows[:3]:
            world = worlds.select(np.array([b]))
            others.add((world.view(1).keys()[0], world.view(2).keys()[0]))
            memory = agent.start(world.view(0))
            result = agent.decide(memory[0], np.random.default_rng(0))
            assert world.legal[0, result.action] and result.rollouts > 0
            decisions.add((result.action, tuple(result.mean.tolist())))
        assert len(decisions) == 1
    assert len(others) > len(alike)


def test_the_same_history_gives_the_same_decision(tictactoe: DeterministicAECGame) -> None:
    check_agent(upgrade(UniformPolicy(), tictactoe, search=Sparta(rollouts=30)), tictactoe)


def test_what_does_not_fit_is_refused(tictactoe: DeterministicAECGame) -> None:
    common: dict[str, Any] = {
        "return_range": (-1, 1), "max_length": 9, "rewards": "zero_sum", "public_actions": True
    }  # fmt: skip
    env = tictactoe._env
    with pytest.raises(ConfigError, match="expected an AECAdapter, got None"):
        AECGame(env, None, **common)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_length must be at least 1"):
        AECGame(env, TicTacToe(), **(common | {"max_length": 0}))
    worlds = tictactoe.deal(np.random.default_rng(0), 1)
    worlds.step(np.array([4]))
    with pytest.raises(IllegalActionError, match=r"allows the actions .*, got 4"):
        worlds.step(np.array([4]))

    class Maskless(TicTacToe):
        def mask(self, env: Any, agent: str) -> Any:
            return super().mask(types.SimpleNamespace(observe=len, infos={agent: {}}), agent)

    with pytest.raises(UnsupportedError, match=r"override AECAdapter.mask"):
        AECGame(env, Maskless(), **common).deal(np.random.default_rng(0), 1)

    class Bare:
        possible_agents = env.possible_agents
        action_space = env.action_space

        @property
        def unwrapped(self) -> Bare:
            return self

        def reset(self, seed: int) -> None:
            pass

    with pytest.raises(UnsupportedError, match="got no agents, agent_selection, rewards"):
        AECGame(Bare(), TicTacToe(), **common).deal(np.random.default_rng(0), 1)
