"""Replaying records: legality, scores under each rule for bombs, agreement with a policy."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import PAD
from hanabi_search_plugin.core.policy import Blueprint, Policy, UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.hanabi.files.records import RecordedGame, read_games
from hanabi_search_plugin.hanabi.files.replay import replay
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

SMALL = HanabiConfig(players=2, colors=2, ranks=2, hand_size=2, life_tokens=2)


def played(config: HanabiConfig, policy: Policy, games: int, seed: int = 5) -> list[RecordedGame]:
    """Games of a policy with itself, recorded by the rule "keep"."""
    rng = np.random.default_rng(seed)
    game = HanabiGame(dataclasses.replace(config, bomb="keep"))
    worlds = game.deal(rng, games)
    result = self_play(worlds, (policy,) * game.num_players, Streams.spawn(rng, games))
    return [
        RecordedGame(
            config=config,
            game=i,
            deck=tuple(worlds.rows[i, -config.deck_size :].tolist()),
            actions=tuple(a for a in result.actions[i].tolist() if a != PAD),
            first_player=int(worlds.rows[i, TURN]),
            score=int(result.returns[i, 0]),
            lives_left=int(result.outcome["lives_left"][i]),
            source=f"games:{i + 1}",
        )
        for i in range(games)
    ]


def smartbots(config: HanabiConfig) -> Blueprint:
    return (SmartBot(),) * config.players


@pytest.fixture(scope="module")
def random_games() -> list[RecordedGame]:
    config = dataclasses.replace(SMALL, random_start_player=True)
    games = played(config, UniformPolicy(), 60)
    assert {game.first_player for game in games} == {0, 1}
    assert 5 < sum(game.lives_left == 0 for game in games) < 60
    return games


def test_good_games_have_no_problem(random_games: list[RecordedGame]) -> None:
    report = replay(random_games)
    assert report.games == 60
    assert report.moves == sum(len(game.actions) for game in random_games)
    assert report.problems == []
    assert report.illegal == report.score_mismatches == report.lives_mismatches == 0
    assert report.unfinished == 0
    assert report.agreement is None
    assert report.bomb == "keep"


@pytest.mark.parametrize(("bomb", "points"), [("zero", None), ("keep", 0), ("minus_one", -1)])
def test_the_rule_for_bombs_is_found(
    random_games: list[RecordedGame], bomb: Any, points: int | None
) -> None:
    def rescored(game: RecordedGame) -> RecordedGame:
        if game.lives_left or game.score is None:
            return game
        return dataclasses.replace(game, score=0 if points is None else game.score + points)

    games = [rescored(game) for game in random_games]
    report = replay(games)
    assert report.score_mismatches == 0
    assert report.bomb == bomb
    assert report.to_dict()["bomb"] == bomb
    assert replay(games, bomb=bomb).score_mismatches == 0
    other = "keep" if bomb == "zero" else "zero"
    assert replay(games, bomb=other).score_mismatches > 0  # type: ignore[arg-type]
    # A record that names its rule is held to it.
    named = [dataclasses.replace(game, bomb=other) for game in games]
    assert replay(named).score_mismatches == replay(games, bomb=other).score_mismatches  # type: ignore[arg-type]


def test_wrong_scores_and_lives_are_named(random_games: list[RecordedGame]) -> None:
    games = list(random_games)
    alive = next(i for i, game in enumerate(games) if game.lives_left)
    games[alive] = dataclasses.replace(games[alive], score=99, lives_left=0)
    report = replay(games)
    assert report.score_mismatches == report.lives_mismatches == 1
    assert f"games:{alive + 1}: game {alive}, recorded score 99, replayed" in report.problems[1]
    unscored = dataclasses.replace(games[alive], score=None, lives_left=None)
    assert replay([unscored]).problems == []


def test_illegal_and_missing_moves(random_games: list[RecordedGame]) -> None:
    first = random_games[0]
    empty_hint = 2 * SMALL.hand_size  # a colour that the other hand may lack
    with_hint = next(
        game
        for game in random_games
        if not (HanabiGame(game.config).from_decks([game.deck], game.first_player)).legal[
            0, empty_hint
        ]
    )
    games = [
        dataclasses.replace(with_hint, actions=(empty_hint, *with_hint.actions)),
        dataclasses.replace(first, actions=(*first.actions, 2)),
        dataclasses.replace(first, actions=first.actions[:-1], score=None, lives_left=None),
        first,
    ]
    report = replay(games)
    assert (report.illegal, report.unfinished) == (2, 1)
    assert "turn 0: illegal: P" in report.problems[0] and "hints red" in report.problems[0]
    assert f"turn {len(first.actions)}: a move after the end" in report.problems[1]
    assert report.score_mismatches == 0


def test_a_policy_agrees_with_its_own_games_of_any_configuration() -> None:
    games = played(HanabiConfig(players=2), SmartBot(), 20)
    games += played(HanabiConfig(players=3), SmartBot(), 20)
    report = replay(games, smartbots)
    assert report == replay(games, "smartbot") == replay(games, SmartBot())
    assert report.games == 40
    assert report.decisions == report.moves > 2000
    assert report.agreement == 1.0
    assert report.first_disagreement is None


def test_the_first_disagreement_is_the_first() -> None:
    config = HanabiConfig(players=3)
    games = played(config, SmartBot(), 3) + played(config, UniformPolicy(), 3)
    report = replay(games, smartbots)
    first = report.first_disagreement
    assert first is not None and report.agreement is not None
    assert 0 < report.agreement < 1
    assert first.source == "games:1" and first.game == 0  # the first random game's
    # Play that game by hand: each seat's own memory, all moves before agreed, this one not.
    record = games[3]
    worlds = HanabiGame(config).from_decks([record.deck])
    policy = SmartBot()
    memories = [policy.start(worlds.view(p)) for p in range(3)]
    for turn, action in enumerate(record.actions[: first.turn + 1]):
        seat = int(worlds.current_player[0])
        view = worlds.view(seat)
        chosen = int(policy.act(view, view.legal, memories[seat], Streams.spawn(
            np.random.default_rng(0), 1))[0])  # fmt: skip
        assert (chosen == action) == (turn < first.turn)
        if turn == first.turn:
            assert seat == first.seat
            assert first.recorded == worlds.game.action_to_string(seat, action)
            assert first.policy == worlds.game.action_to_string(seat, chosen)
            assert f"turn {turn}, seat {seat}: recorded {first.recorded}" in str(first)
        event = worlds.step(np.array([action]))
        memories = [policy.observe(worlds.view(p), event, m) for p, m in enumerate(memories)]


def test_a_stochastic_policy_is_drawn_from_the_seed(random_games: list[RecordedGame]) -> None:
    def uniform(config: HanabiConfig) -> Blueprint:
        return (UniformPolicy(),) * config.players

    reports = [replay(random_games, uniform, seed=seed).agreed for seed in (1, 1, 2)]
    assert reports[0] == reports[1] != reports[2]


def test_unknown_rule() -> None:
    with pytest.raises(ConfigError, match="bomb must be one of auto, zero"):
        replay([], bomb="boom")  # type: ignore[arg-type]


def test_smartbot_makes_every_recorded_move(golden: Path) -> None:
    games = list(read_games(golden / "smartbot.jsonl"))
    report = replay(games, smartbots)
    assert report.games == len(games) >= 40
    assert report.decisions == sum(len(game.actions) for game in games)
    assert report.agreement == 1.0
    assert report.problems == []
    assert report.bomb == "keep"


def test_third_party_games_have_their_scores(third_party_games: Path) -> None:
    report = replay(read_games(third_party_games), smartbots)
    assert report.games == 1000
    assert report.problems == []
    assert report.bomb == "zero"
    assert report.agreement is not None and 0 < report.agreement < 1
