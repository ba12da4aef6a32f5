"""Objectives: what a search makes as large as it can, against brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import (
    ConfigError,
    HanabiGame,
    JointSparta,
    Lbs,
    Mds,
    MoIsmcts,
    PlainGame,
    Predictor,
    RisMcts,
    SearchResult,
    SoIsmcts,
    Sparta,
    UniformPolicy,
    evaluate,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.algorithms import Pomcp
from hanabi_search_plugin.algorithms.endgame import solve
from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.core.objective import BONUS, utility
from hanabi_search_plugin.core.rollout import start_memories
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, DECK_SIZE

PLAYED_OUT = {"rollouts": 3000, "min_rollouts": 500}


class Gamble(PlainGame):
    """Player 0 takes 6 points for sure, or 10 with a probability of 1/2, or 9 with one of 3/5.

    The mean is best for the first, the highest return is there by the second alone.
    """

    name, num_players, num_actions, return_range, max_length = "gamble", 2, 3, (0.0, 10.0), 2
    public_actions = True

    def initial_states(self) -> Any:
        return [((luck, ()), 0.1) for luck in range(10)]

    def current_player(self, state: Any) -> int:
        return len(state[1]) if len(state[1]) < 2 else -1

    def legal_actions(self, state: Any) -> list[int]:
        return [0, 1, 2] if not state[1] else [0]

    def next_states(self, state: Any, action: int) -> Any:
        return [((state[0], (*state[1], action)), 1.0)]

    def observation(self, state: Any, player: int) -> Any:
        return [float(len(state[1])), *map(float, state[1])] + [0.0] * (2 - len(state[1]))

    def returns(self, state: Any) -> Any:
        luck, moves = state
        if len(moves) < 2:
            return (0.0, 0.0)
        choice = moves[0]
        score = (6.0, 10.0 * (luck < 5), 9.0 * (luck < 6))[choice]
        return (score, score)


SEARCHES = {
    "sparta": Sparta(**PLAYED_OUT, threshold=0.0),
    "endgame": Sparta(**PLAYED_OUT, endgame=1000),
    "lbs": Lbs(**PLAYED_OUT, threshold=0.0, depth=None),
    "joint": JointSparta(**PLAYED_OUT, threshold=0.0),
    "mds": Mds(rollouts=3000, eta=math.inf, greedy=True),
    "pomcp": Pomcp(**PLAYED_OUT, threshold=0.0, exploration=2.0),
    "so": SoIsmcts(iterations=1000, exploration=2.0),
    "mo": MoIsmcts(iterations=1000, exploration=2.0),
    "predictor": Predictor(iterations=1000, exploration=2.0),
}


def first_move(search: Any, **settings: Any) -> int:
    game = Gamble()
    agent = upgrade(UniformPolicy(), game, replace(search, **settings))
    first = evaluate(game, (agent, UniformPolicy()), games=1, seed=3, baseline=None)
    return first.games[0].actions[0]


@pytest.mark.parametrize("name", SEARCHES)
def test_each_search_takes_the_move_that_is_best_for_its_objective(name: str) -> None:
    search = SEARCHES[name]
    assert first_move(search) == 0  # means 6, 5 and 5.4
    assert first_move(search, objective="perfect") == 1  # 6, 7 and 5.4
    assert first_move(search, objective=lambda score: score >= 9) == 2  # 0, 0.5 and 0.6
    assert first_move(search, objective=lambda score: score) == 0


def test_worth_of_returns() -> None:
    game = Gamble()
    returns = np.array([[6.0, 10.0], [np.nan, 0.0]])
    assert utility("score", returns, game) is returns
    assert np.array_equal(
        utility("perfect", returns, game), [[6, 10 + 10 * BONUS], [np.nan, 0]], equal_nan=True
    )
    risk = utility(np.sqrt, returns, game)
    assert np.array_equal(risk, np.sqrt(returns), equal_nan=True)


def test_figures_are_in_units_of_the_objective() -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    seen = []
    for objective in ("score", lambda score: 3.0 * score):
        search = Sparta(**PLAYED_OUT, threshold=0.0, objective=objective)
        agent = upgrade("smartbot", game, search)
        decisions: list[SearchResult] = []
        evaluate(
            game, ("smartbot", agent), games=3, seed=1,
            on_game=lambda one, kept=decisions: kept.extend(d for _, _, d in one.decisions),
        )  # fmt: skip
        seen.append(decisions)
    for score, three in zip(*seen, strict=True):
        assert score.action == three.action
        assert np.allclose(3.0 * score.mean, three.mean, equal_nan=True)


def test_exact_endgames_are_in_its_units_too() -> None:
    """The compiled solver, which knows the score alone, stands aside."""
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    for seed in range(20):
        worlds = game.deal(np.random.default_rng(seed), 1)
        while not worlds.terminal[0] and worlds.rows[0][DECK_NEXT] < worlds.rows[0][DECK_SIZE]:
            worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
        if not worlds.terminal[0]:
            break
    seat, blueprint = int(worlds.current_player[0]), (load_policy("smartbot", game),) * 2
    memories = start_memories(worlds, blueprint)
    known = {"base": int(np.flatnonzero(worlds.legal[0])[0]), "every": True}
    found = [
        solve(worlds, np.ones(1), memories, blueprint, seat, 10**5, objective=objective, **known)
        for objective in ("score", lambda score: 3.0 * score)
    ]
    score, three = (one.values for one in found)
    assert score is not None and three is not None and np.allclose(3.0 * score, three)
    assert score.max() > 0


def test_a_compiled_tree_stands_aside() -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    same = {}
    for objective in ("score", lambda score: score):
        agent = upgrade("cautious", game, RisMcts(iterations=50, objective=objective))
        same[objective] = evaluate(game, ("cautious", agent), games=2, seed=5).games[0].actions
    assert len(set(same.values())) == 1


@pytest.mark.parametrize("kind", [Sparta, Mds, Lbs])
def test_rollouts_that_are_cut_have_no_final_return(kind: Any) -> None:
    with pytest.raises(ConfigError, match="objective must be score where values stand for"):
        kind(depth=4, objective="perfect")


@pytest.mark.parametrize("wrong", ["points", None, 3])
def test_what_is_no_objective(wrong: Any) -> None:
    for kind in (Sparta, JointSparta, Mds, RisMcts):
        with pytest.raises(ConfigError, match="objective must be one of score, perfect, or a"):
            kind(objective=wrong)


def nothing(returns: FloatArray) -> FloatArray:
    return np.full(returns.shape, np.nan)


@pytest.mark.parametrize("wrong", [np.sum, nothing])
def test_what_a_function_gives_is_checked(wrong: Any) -> None:
    game = Gamble()
    agent = upgrade(UniformPolicy(), game, Sparta(**PLAYED_OUT, objective=wrong))
    with pytest.raises(ContractError, match="must give a finite number for each of"):
        evaluate(game, (agent, UniformPolicy()), games=1, baseline=None)
