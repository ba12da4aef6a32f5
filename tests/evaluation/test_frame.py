"""Games as a pandas DataFrame."""

from __future__ import annotations

import sys

import pytest

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.core import MissingExtraError
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, life_tokens=2)


def test_a_row_a_game() -> None:
    pytest.importorskip("pandas")
    policy = UniformPolicy()
    agent = upgrade(policy, GAME, Sparta(rollouts=40, min_rollouts=4))
    evaluation = evaluate(GAME, (policy, agent), games=20, seed=5)
    frame = evaluation.to_frame()
    assert list(frame.columns) == [
        *("seed", "game", "score", "perfect", "lost", "lives_left", "turns"),
        *("cpu_seconds", "rollouts", "likelihoods", "searched_moves", "changed_moves"),
        *("fallback_moves", "recovered_moves", "depth"),
        *(f"blueprint_{name}" for name in ("score", "perfect", "lost", "lives_left", "turns")),
        "gain",
    ]
    assert len(frame) == 20 and set(frame["seed"]) == {5} and list(frame["game"]) == [*range(20)]
    assert frame["gain"].mean() == pytest.approx(evaluation.gain)
    assert frame["score"].sem() == pytest.approx(evaluation.sem)
    assert frame["lost"].mean() == pytest.approx(evaluation.to_dict()["bombs"])
    assert 0 < frame["blueprint_lost"].mean() < 1
    assert list(frame["turns"]) == [len(game.actions) for game in evaluation.games]
    assert frame["rollouts"].sum() == sum(game.rollouts for game in evaluation.games) > 0
    assert frame["depth"].isna().all()  # no trees


def test_games_without_a_search_or_lives() -> None:
    pytest.importorskip("pandas")
    frame = evaluate(OpenSpielGame("tiny_hanabi"), UniformPolicy(), games=4).to_frame()
    assert list(frame.columns)[2:] == ["score", "perfect", "lost", "lives_left", "turns"]
    assert frame["lost"].isna().all() and list(frame["turns"]) == [2] * 4


def test_without_pandas_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = evaluate(GAME, UniformPolicy(), games=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"^a frame needs pandas: pip install pandas$"):
        evaluation.to_frame()
