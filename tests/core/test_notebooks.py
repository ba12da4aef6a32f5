"""What results show of themselves in a notebook, and what they plot."""

from __future__ import annotations

import html
import pickle
import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, UniformPolicy, compare, evaluate, upgrade
from hanabi_search_plugin.algorithms.ismcts import RisMcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from hanabi_search_plugin.evaluation.match import GameResult
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from tests.helpers.decisions import RESULT

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)


@pytest.fixture(scope="module")
def evaluation() -> tuple[Evaluation, list[GameResult]]:
    agent = upgrade(UniformPolicy(), GAME, Sparta(rollouts=30, min_rollouts=2))
    heard: list[GameResult] = []
    return evaluate(GAME, (UniformPolicy(), agent), games=3, on_game=heard.append), heard


def test_a_table_shows_markup_as_text() -> None:
    table = html_table("<a>", ("&",), [("<script>",), ("b",)], strong=[1])
    assert table == (
        "<table><caption>&lt;a&gt;</caption><tr><th>&amp;</th></tr>"
        "<tr><td>&lt;script&gt;</td></tr><tr><td><strong>b</strong></td></tr></table>"
    )


def test_a_decision_shows_its_moves_best_first() -> None:
    shown = RESULT._repr_html_()
    caption = "action 5: improved, gain +0.750 ± 0.100; 1,300 rollouts, 40 worlds"
    assert f"<caption>{caption}</caption>" in shown
    rows = shown.split("<tr>")[2:]
    assert "<strong>5</strong>" in rows[0] and "4.250 ± 0.062" in rows[0] and "search" in rows[0]
    assert "<td>2</td><td>3.500 ± 0.125</td><td>100</td><td>blueprint</td>" in rows[1]
    assert "<td>7</td><td>not tried</td><td>0</td>" in rows[2]


def test_a_decision_prints_as_a_table_of_its_moves() -> None:
    headline = "action 5: improved, gain +0.750 +- 0.100; 1,300 rollouts, 40 worlds"
    assert repr(RESULT) == f"<{headline}>"
    assert str(RESULT).splitlines() == [
        headline,
        "action  estimated return  rollouts",
        "5         4.250 +- 0.062     1,200  search",
        "2         3.500 +- 0.125       100  blueprint",
        "7              not tried         0",
    ]
    named = RESULT.to_text(lambda action: f"move {action}").splitlines()
    assert named[0].startswith("action move 5: ") and named[2].startswith("move 5   ")


@pytest.mark.parametrize(
    "search", [Sparta(rollouts=30), JointSparta(rollouts=30), RisMcts(iterations=20)]
)
def test_the_decision_of_an_agent_shows_its_moves_in_words(search: Any) -> None:
    agent = upgrade("iggi", GAME, search)
    worlds = GAME.deal(np.random.default_rng(0), 1)
    memories = [agent.start(worlds.view(seat)) for seat in range(2)]
    for seat in range(2):
        result = agent.decide(memories[seat][0], np.random.default_rng(1))
        said = {int(action): GAME.action_to_string(seat, int(action)) for action in result.actions}
        assert result.words == tuple(said.values())
        shown = str(result)
        assert shown == result.to_text(said.__getitem__)
        assert shown.startswith(f"action {said[result.action]}: ")
        assert all(f"\n{move} " in shown for move in said.values())
        assert all(f">{move}<" in result._repr_html_() for move in said.values())
        assert result.to_text(str).startswith(f"action {result.action}: ")
        again = pickle.loads(pickle.dumps(result))
        assert str(again) == shown and "words" not in again.to_dict()
        assert replace(result, words=None) == result
        event = worlds.step(np.array([result.action]))
        memories = [agent.observe(worlds.view(p), event, memories[p]) for p in range(2)]


def test_a_decision_keeps_without_words_what_a_game_cannot_say() -> None:
    class Mute(HanabiGame):
        def action_to_string(self, player: int, action: int) -> str:
            raise KeyError(action)

    game = Mute(GAME.config)
    view = game.deal(np.random.default_rng(0), 1).view(0)
    agent = upgrade("iggi", game, Sparta(rollouts=30))
    result = agent.decide(agent.start(view)[0], np.random.default_rng(1))
    assert result.words is None and str(result).startswith(f"action {result.action}: ")


def test_a_comparison_shows_what_it_prints(
    evaluation: tuple[Evaluation, list[GameResult]],
) -> None:
    found = compare(evaluation[0], evaluate(GAME, UniformPolicy(), games=3, seed=9))
    shown = found._repr_html_()
    assert f"<caption>{html.escape(found.other.name)} less " in shown and found.notes
    words = html.unescape(re.sub("<[^>]*>", " ", shown)).split()
    assert set(str(found).split()) <= set(words)


def test_games_and_comparisons_print_as_lines(
    evaluation: tuple[Evaluation, list[GameResult]],
) -> None:
    result, heard = evaluation
    assert len(repr(result)) < 200 and "mean" in repr(result) and " +- " in repr(result)
    assert all(
        repr(game) == f"<{game}>" and str(game).startswith(f"game {game.game}: score ")
        for game in heard
    )
    found = compare(result, result)
    lines = str(found).splitlines()
    assert lines[0].split() == ["games", "mean", "difference", "pairs", "better", "worse"]
    names = ", ".join(result.names)
    assert lines[1].startswith(f"{names} (1) ") and lines[2].startswith(f"{names} (2) ")
    assert lines[2].split()[-6:] == ["+-", "0.000", "3", "0.0", "%", "0.0", "%"][1:]
    assert repr(found) == (f"<Comparison: {names} (2) less {names} (1) +0.000 +- 0.000 in 3 pairs>")
    assert repr(found.base) == (
        f"<{names} (1): 3 games, mean {result.mean:.3f} +- {result.sem:.3f}>"
    )


def test_a_comparison_of_other_decks_says_so(
    evaluation: tuple[Evaluation, list[GameResult]],
) -> None:
    other = evaluate(GAME, UniformPolicy(), games=3, seed=9)
    found = compare(evaluation[0], other)
    assert "not paired" in repr(found)
    assert str(found).splitlines()[-1].startswith("UniformPolicy is not paired: seed is 0 in")


def test_a_decision_is_plotted_with_its_errors() -> None:
    pytest.importorskip("matplotlib", reason="needs Matplotlib")
    axes = RESULT.plot(lambda action: f"move {action}").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["move 7", "move 2", "move 5"]
    points = {container[0].get_ydata()[0]: container for container in axes.containers}
    assert points[2][0].get_xdata()[0] == 4.25 and points[2][0].get_marker() == "*"
    (low, _), (high, _) = points[1][2][0].get_segments()[0]
    assert (low, high) == (3.375, 3.625)


def test_an_evaluation_shows_what_it_prints(
    evaluation: tuple[Evaluation, list[GameResult]],
) -> None:
    shown, printed = evaluation[0]._repr_html_(), str(evaluation[0])
    words = shown.replace("<", " <").replace(">", "> ").split()
    assert "<strong> gain </strong>" in shown.replace("<", " <").replace(">", "> ").replace(
        "  ", " "
    )
    assert set(printed.split()) <= set(words)


def test_an_evaluation_is_plotted_as_shares_of_scores(
    evaluation: tuple[Evaluation, list[GameResult]],
) -> None:
    pytest.importorskip("matplotlib", reason="needs Matplotlib")
    result = evaluation[0]
    axes = result.plot().axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "blueprint",
        "with search",
    ]
    drawn = [[bar.get_height() for bar in side] for side in axes.containers]
    low = min(*result.scores, *result.blueprint_scores)
    for heights, scores in zip(drawn, (result.blueprint_scores, result.scores), strict=True):
        shares = [np.mean(scores == low + step) for step in range(len(heights))]
        assert heights == pytest.approx(shares)
    assert replace(result, baseline=None).plot().axes[0].containers


def test_a_game_shows_its_decisions(evaluation: tuple[Evaluation, list[GameResult]]) -> None:
    played = next(one for one in evaluation[1] if one.decisions)
    shown = played._repr_html_()
    for _, seat, result in played.decisions:
        assert f">{GAME.action_to_string(seat, result.action)}<" in shown
    assert f"<caption>game {played.game}: score {played.score:g}, " in shown
    assert shown.count("<tr>") == len(played.decisions) + 1
    assert "<th>" not in replace(played, decisions=())._repr_html_()


def test_a_recorded_game_shows_its_moves() -> None:
    deck = (2, 0, 0, 3, 1, 1, 3, 3, 4, 4, 0, 5)
    record = RecordedGame(
        config=GAME.config, game=4, deck=deck, actions=(4, 2, 0), policies=("<i>", "bob")
    )
    shown = record._repr_html_()
    assert "<caption>game 4, &lt;i&gt;, bob</caption>" in shown
    rows = [row.replace("<td>", "").split("</td>")[:5] for row in shown.split("<tr>")[2:]]
    assert rows == [
        ["0", "P0 hints red to P1, slot 0", "0", "2", "3"],
        ["1", "P1 plays slot 0, R1", "1", "2", "3"],
        ["2", "P0 discards slot 0, R3", "1", "3", "3"],
    ]
    broken = replace(record, actions=(4, 2, 0, 0, 0))
    assert "not legal" in broken._repr_html_()


def test_a_plot_without_matplotlib_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    blocked: Any = None
    monkeypatch.setitem(sys.modules, "matplotlib", blocked)
    with pytest.raises(UnsupportedError, match="a plot of a decision needs Matplotlib"):
        RESULT.plot()
