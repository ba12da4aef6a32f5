"""One game played by hand is that of ``evaluate``; decisions are kept where they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import (
    HanabiGame,
    JointSparta,
    OneGame,
    Sparta,
    UniformPolicy,
    evaluate,
    upgrade,
)
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from hanabi_search_plugin.evaluation.match import GameResult

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, life_tokens=3)
AGENT = upgrade("random", GAME, Sparta(rollouts=20, min_rollouts=4))


@pytest.mark.parametrize(
    "policies",
    [
        "random",
        ("random", AGENT),
        (AGENT, UniformPolicy()),
        upgrade("smartbot", GAME, JointSparta()),
    ],
    ids=["nobody", "one", "first", "joint"],
)
def test_it_is_the_game_of_the_evaluation(policies: Any) -> None:
    played = evaluate(GAME, policies, games=3, seed=5, keep_decisions=True)
    for number, result in enumerate(played.games):
        one = OneGame(GAME, policies, seed=5, number=number)
        while not one.finished:
            seat = one.turn
            assert seat is not None and one.view(seat).player == seat
            assert one.score is None and one.returns is None
            assert one.decide() == one.decide() and one.decide().seat == seat
            one.step()
        assert one.turn is None and one.score == result.score
        assert tuple(move.action for move in one.moves) == result.actions
        decided = [(m.number, m.seat, m.result) for m in one.moves if m.result is not None]
        assert [(t, s, r.to_dict()) for t, s, r in decided] == [
            (t, s, r.to_dict()) for t, s, r in result.decisions
        ]


def test_moves_from_outside() -> None:
    one = OneGame(GAME, ("random", AGENT), seed=5)
    legal = np.flatnonzero(one.view(0).legal[0]).tolist()
    move = one.step(legal[-1])
    assert (move.action, move.result) == (legal[-1], None)
    assert str(move) == f"turn 0: {GAME.action_to_string(0, legal[-1])}"
    before = one.memory(0), one.decide()
    with pytest.raises(IllegalActionError, match=r"one of the legal actions \[.*\], got 99"):
        one.step(99)
    assert before == (one.memory(0), one.decide()) and len(one.moves) == 1
    belief = one.belief(1)
    assert isinstance(belief, Belief) and belief.view.keys() == one.view(1).keys()
    with pytest.raises(UnsupportedError, match=r"seat 0 must search .* private_belief makes one"):
        one.belief(0)
    with pytest.raises(ConfigError, match="seat must be an integer from 0 to 1, got 2"):
        one.view(2)
    hidden = one.worlds
    hidden.step(np.array([one.decide().action]))
    assert len(one.moves) == 1 and one.turn == 1  # its own worlds go on by themselves
    while not one.finished:
        one.step()
    with pytest.raises(IllegalActionError, match="the game is finished, after"):
        one.step()
    assert f"score {one.score:g}" in repr(one)
    with pytest.raises(ConfigError, match="arguments of OneGame after policies have names"):
        OneGame(GAME, "random", 7)  # type: ignore[misc]


def test_decisions_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    heard: list[GameResult] = []
    options: dict[str, Any] = {"games": 3, "seed": 3, "threads": 2}
    kept = evaluate(GAME, ("random", AGENT), **options, keep_decisions=True, on_game=heard.append)
    assert kept.baseline is not None
    assert [game.decisions for game in kept.games] == [game.decisions for game in heard[3:]]
    assert all(game.decisions for game in kept.games)
    assert not any(game.decisions for game in kept.baseline)
    assert not any(game.decisions for game in evaluate(GAME, ("random", AGENT), **options).games)
    nobody = evaluate(GAME, "random", games=2, keep_decisions=True)
    assert [game.decisions for game in nobody.games] == [(), ()]
    kept.save(tmp_path / "kept.json")
    assert not any(game.decisions for game in Evaluation.load(tmp_path / "kept.json").games)
    with pytest.raises(ConfigError, match="keep_decisions must be False with resume"):
        evaluate(GAME, "random", games=1, keep_decisions=True, resume=tmp_path / "run.jsonl")
    with pytest.raises(ConfigError, match="keep_decisions must be True or False, got 1"):
        evaluate(GAME, "random", games=1, keep_decisions=1)  # type: ignore[arg-type]
