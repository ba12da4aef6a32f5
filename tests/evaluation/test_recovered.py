"""An evaluation says how often a belief was lost, since a partner did not play what it assumes."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from hanabi_search_plugin import HanabiGame, JointSparta, Sparta, compare, evaluate, upgrade
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=3, bomb="keep")
AGENT = upgrade("smartbot", GAME, Sparta(rollouts=60, min_rollouts=5))
LINE = "a partner had made a move that the search rules out"


def test_a_partner_of_another_policy_is_counted(tmp_path: Path) -> None:
    result = evaluate(GAME, ("hatbot", AGENT), games=3, keep_decisions=True)
    lost = ["had to recover" in each.note for game in result.games for *_, each in game.decisions]
    assert sum(game.recovered_moves for game in result.games) == sum(lost) > 0
    figures = result.to_dict()
    assert figures["recovered_share"] == sum(lost) / len(lost)
    assert figures["recovered_games"] == 1.0
    assert LINE in str(result) and LINE in result._repr_html_()
    result.save(tmp_path / "one.json")
    assert Evaluation.load(tmp_path / "one.json").to_dict() == figures


def test_the_blueprint_itself_is_not() -> None:
    team = upgrade("smartbot", GAME, JointSparta(rollouts=200, min_rollouts=5))
    for policies in (("smartbot", AGENT), team):
        result = evaluate(GAME, policies, games=2)
        assert result.to_dict()["recovered_games"] == 0.0
        assert LINE not in str(result)


def test_each_evaluation_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "hanabi_search_plugin"):
            evaluate(GAME, ("hatbot", AGENT), games=2)
        assert sum("rules out" in each.getMessage() for each in caplog.records) == 1


def test_a_decision_prints_its_note() -> None:
    result = evaluate(GAME, ("hatbot", AGENT), games=1, keep_decisions=True)
    noted = [each for *_, each in result.games[0].decisions if each.recovered]
    assert noted
    for each in noted:
        assert f"note: {each.note}" in str(each) and each.note in each._repr_html_()


def test_results_of_before_are_read(tmp_path: Path) -> None:
    result = evaluate(GAME, ("smartbot", AGENT), games=2)
    content = result.to_dict()
    del content["per_game"]["recovered_moves"], content["recovered_share"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    result.save(tmp_path / "new.json")
    assert Evaluation.load(tmp_path / "old.json") == Evaluation.load(tmp_path / "new.json")
    assert compare(tmp_path / "old.json", tmp_path / "new.json")
