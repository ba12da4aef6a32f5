"""Other AEC environments as games: one of PettingZoo's and one of Shimmy's."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import sys
import types
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pettingzoo import AECEnv
from shimmy import OpenSpielCompatibilityV0

from hanabi_search_plugin import Sparta, UniformPolicy, View, upgrade
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.testing import check_agent, check_game
from hanabi_search_plugin.wrappers.pettingzoo import AECAdapter, AECGame, DeterministicAECGame


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


def three_at_leduc() -> OpenSpielCompatibilityV0:
    # Without config= Shimmy goes back to two players at the first reset.
    return OpenSpielCompatibilityV0(game_name="leduc_poker", config={"players": 3})


@pytest.fixture
def leduc() -> AECGame:
    rules = three_at_leduc()._env
    return AECGame(
        three_at_leduc,
        OpenSpiel(),
        return_range=(rules.min_utility(), rules.max_utility()),
        max_length=rules.max_game_length(),
        rewards="zero_sum",
        public_actions=True,
    )


@dataclass(frozen=True)
class Particles:
    """Beliefs of a few games that were dealt, which pickle as plain data does."""

    game: AECGame

    def __call__(self, blueprint: Blueprint, view: View) -> ParticleBelief:
        rng = np.random.default_rng(0)
        return ParticleBelief.start(self.game, blueprint, view, particles=20, rng=rng, tries=400)


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
    agent = upgrade(UniformPolicy(), leduc, search=Sparta(rollouts=40), belief=Particles(leduc))
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
    check_agent(tictactoe, upgrade(UniformPolicy(), tictactoe, search=Sparta(rollouts=30)))


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("name", ["tictactoe", "leduc"])
def test_copies_in_mid_game_go_on_alike(
    name: str, how: Callable[[Any], Any], request: pytest.FixtureRequest
) -> None:
    game = request.getfixturevalue(name)
    belief = None if isinstance(game, DeterministicAECGame) else Particles(game)
    agent = upgrade(UniformPolicy(), game, search=Sparta(rollouts=30), belief=belief)
    worlds = game.deal(np.random.default_rng(4), 1)
    memory = agent.start(worlds.view(0))
    rng = np.random.default_rng(5)

    def advance() -> None:
        nonlocal memory
        action = rng.choice(np.flatnonzero(worlds.legal[0]))
        event = worlds.step(np.array([action]))
        memory = agent.observe(worlds.view(0), event, memory)

    for _ in range(game.num_players):
        advance()
    copied = how((agent, worlds, memory))
    results = []
    for played in [(agent, worlds, memory), copied]:
        agent, worlds, memory = played
        rng = np.random.default_rng(6)
        decisions = []
        while worlds.current_player[0] != NOBODY:
            if worlds.current_player[0] == 0:
                decided = agent.decide(memory[0], np.random.default_rng(0))
                decisions.append((decided.action, decided.mean.tolist(), decided.rollouts))
            advance()
        results.append((decisions, worlds.returns.tolist()))
    assert results[0] == results[1] and any(rollouts for _, _, rollouts in results[0][0])


def test_what_does_not_fit_is_refused(tictactoe: DeterministicAECGame) -> None:
    common: dict[str, Any] = {
        "return_range": (-1, 1), "max_length": 9, "rewards": "zero_sum", "public_actions": True
    }  # fmt: skip
    env = tictactoe._env
    with pytest.raises(ConfigError, match="expected an AECAdapter, got None"):
        AECGame(env, None, **common)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_length must be at least 1"):
        AECGame(env, TicTacToe(), **(common | {"max_length": 0}))
    with pytest.raises(ConfigError, match=r"rewards must be one of .*identical.*, got 'shared'"):
        AECGame(env, TicTacToe(), **(common | {"rewards": "shared"}))
    worlds = tictactoe.deal(np.random.default_rng(0), 1)
    worlds.step(np.array([4]))
    with pytest.raises(IllegalActionError, match=r"allows the actions .*, got 4"):
        worlds.step(np.array([4]))

    class Maskless(TicTacToe):
        def mask(self, env: Any, agent: str) -> Any:
            return super().mask(types.SimpleNamespace(observe=len, infos={agent: {}}), agent)

    with pytest.raises(UnsupportedError, match=r"override AECAdapter.mask"):
        AECGame(env, Maskless(), **common).deal(np.random.default_rng(0), 1)

    class Bare(AECEnv[str, Any, Any]):
        possible_agents = env.possible_agents
        action_space = env.action_space

        def reset(self, seed: int | None = None, options: Any = None) -> None:
            pass

    with pytest.raises(UnsupportedError, match="got no agents, agent_selection, rewards"):
        AECGame(Bare(), TicTacToe(), **common).deal(np.random.default_rng(0), 1)
    for wrong in (object(), dict):
        with pytest.raises(ConfigError, match="expected an AECEnv or a function that makes one"):
            AECGame(wrong, TicTacToe(), **common)  # type: ignore[arg-type]
