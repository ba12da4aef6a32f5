"""Decisions, moves and evaluations are equal by what they hold."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, OneGame, UniformPolicy, evaluate, upgrade
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from tests.helpers import decisions

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
POLICIES = (UniformPolicy(), upgrade(UniformPolicy(), GAME, Sparta(rollouts=30, min_rollouts=2)))
RESULT = replace(decisions.RESULT, gain_stderr=float("nan"))


def test_a_decision_equals_another_of_the_same_figures() -> None:
    again = pickle.loads(pickle.dumps(RESULT))
    assert again == RESULT
    assert replace(RESULT, policy=np.ones(3) / 3) == replace(RESULT, policy=np.ones(3) / 3)
    assert RESULT.to_dict() != RESULT


@pytest.mark.parametrize(
    "other",
    [
        {"action": 2},
        {"note": "the belief had to recover"},
        {"gain_stderr": 0.1},
        {"mean": np.array([3.5, np.nan, 4.25])},
        {"mean": np.array([3.5, 4.25, 1.0])},
        {"actions": np.array([2, 5])},
        {"policy": np.ones(3) / 3},
        {"likelihoods": 0},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_decision_differs_by_any_of_its_figures(other: dict[str, Any]) -> None:
    assert replace(RESULT, **other) != RESULT != replace(RESULT, **other)


def test_moves_of_the_same_game_are_equal() -> None:
    games = [OneGame(GAME, POLICIES, seed=3) for _ in range(2)]
    for one in games:
        while not one.finished:
            one.step()
    assert any(move.result is not None for move in games[0].moves)
    assert games[0].moves == games[1].moves
    move = next(move for move in games[0].moves if move.result is not None)
    assert move == copy.deepcopy(move)
    assert move != replace(move, result=None)


def test_an_evaluation_equals_one_of_the_same_scores(tmp_path: Path) -> None:
    found = evaluate(GAME, POLICIES, games=4, seed=1)
    found.save(tmp_path / "found.json")
    assert Evaluation.load(tmp_path / "found.json") == found
    assert evaluate(GAME, POLICIES, games=4, seed=1, threads=2) == found
    assert evaluate(GAME, POLICIES, games=3, seed=1) != found
    assert evaluate(GAME, POLICIES, games=4, seed=2) != found
    assert replace(found, baseline=None) != found
    assert replace(found, games=found.baseline) != found
    assert found != found.to_dict()


def test_what_holds_arrays_has_no_hash() -> None:
    found = evaluate(GAME, UniformPolicy(), games=1)
    for one in (RESULT, found):
        assert not isinstance(one, Hashable)
        with pytest.raises(TypeError, match=f"unhashable type: '{type(one).__name__}'"):
            hash(one)
