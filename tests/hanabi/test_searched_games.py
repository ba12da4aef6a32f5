"""Searched games in a folder: what they hold, resuming, threads, and what is refused."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import kill_files
from hanabi_search_plugin import ConfigError, HanabiGame, SmartBot, Sparta, upgrade
from hanabi_search_plugin.algorithms.ismcts import RisMcts
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.evaluation.match import GameResult
from hanabi_search_plugin.hanabi.files import searched_games as store
from hanabi_search_plugin.hanabi.files.replay import replay
from hanabi_search_plugin.hanabi.files.searched_games import (
    SearchedGames,
    read_about,
    read_searched,
)

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
SEARCH = Sparta(rollouts=60, min_rollouts=4, threshold=0.1)


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SHARD", 3)


def in_turn(search: Any = SEARCH) -> list[Blueprint]:
    """Each seat searches in one of two line-ups."""
    bot, agent = SmartBot(), upgrade(SmartBot(), GAME, search)
    return [(agent, bot), (bot, agent)]


def recorded(folder: Path, **options: Any) -> list[GameResult]:
    """Record into a folder; the games played for it."""
    heard: list[GameResult] = []
    given = {"policy": "smartbot", "games": 7, "seed": 5, "on_game": heard.append} | options
    line_ups = given.pop("line_ups", None) or in_turn()
    store.record_games(GAME, line_ups, folder, **given)
    return heard


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.npz"))}


def test_files_hold_every_decision_of_the_seats_in_turn(tmp_path: Path) -> None:
    heard = sorted(recorded(tmp_path), key=lambda result: result.game)
    whole = read_searched(tmp_path)
    assert sorted(contents(tmp_path)) == ["00000.npz", "00001.npz", "00002.npz"]
    assert len(whole) == 7
    flat: list[tuple[int, int, int, SearchResult]] = [
        (result.game, *decision) for result in heard for decision in result.decisions
    ]
    assert [row[:3] for row in flat] == list(
        zip(whole.game.tolist(), whole.turn.tolist(), whole.seat.tolist(), strict=True)
    )
    assert (whole.seat == whole.game % 2).all()
    for row, (*_, decision) in enumerate(flat):
        assert np.flatnonzero(whole.legal[row]).tolist() == decision.actions.tolist()
        assert whole.count[row, decision.actions].tolist() == decision.count.tolist()
        mean = decision.mean.astype(np.float32)
        np.testing.assert_array_equal(whole.mean[row, decision.actions], mean)
        assert whole.played[row] == decision.action
        assert whole.blueprint[row] == decision.blueprint_action
    assert np.isnan(whole.mean[~whole.legal]).all() and not whole.count[~whole.legal].any()


def test_the_games_are_those_that_the_engine_plays(tmp_path: Path) -> None:
    recorded(tmp_path)
    whole, about = read_searched(tmp_path), read_about(tmp_path)
    assert about.policy == "smartbot" and about.config == GAME.config
    report = replay(whole.recorded(about.config), lambda config: (SmartBot(), SmartBot()))
    problems = (report.illegal, report.unfinished, report.score_mismatches, report.lives_mismatches)
    assert report.games == 7 and problems == (0, 0, 0, 0)
    # Where it was not searched, or the search kept to it, the record is SmartBot's play.
    changed = int((whole.played != whole.blueprint).sum())
    assert report.decisions - report.agreed == changed > 0


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    recorded(tmp_path / "whole")

    class Stop(Exception):
        pass

    def stop(result: GameResult) -> None:
        if result.game == 4:
            raise Stop

    with pytest.raises(Stop):
        recorded(tmp_path / "parts", on_game=stop)
    assert list(contents(tmp_path / "parts")) == ["00000.npz"]
    again = recorded(tmp_path / "parts")
    assert sorted(result.game for result in again) == [3, 4, 5, 6]
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert recorded(tmp_path / "parts") == []


@pytest.mark.parametrize("done", [False, True])
def test_a_run_that_is_stopped_at_any_file_leaves_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """The log, too: stopped before a file has its name, or right after."""
    recorded(tmp_path / "whole")
    whole, replace_file = kill_files.contents(tmp_path / "whole"), os.replace
    for last in range(1, 8):
        folder, left = tmp_path / str(last), last

        def stop(source: Path, target: Path) -> None:
            nonlocal left
            left -= 1
            if left or done:
                replace_file(source, target)
            if not left:
                raise KeyboardInterrupt

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "replace", stop)
            recorded(folder)
        recorded(folder)
        assert kill_files.contents(folder) == whole
    assert whole.keys() > {"log.jsonl", "about.json"}
    (folder / "log.jsonl").write_bytes(b'{"games": 3, "fir')  # cut off by a version before
    recorded(folder, games=8)
    assert [json.loads(x)["first"] for x in (folder / "log.jsonl").open()] == [6]


def test_more_games_are_added_to_a_folder(tmp_path: Path) -> None:
    recorded(tmp_path / "whole")
    recorded(tmp_path / "grown", games=4)
    assert sorted(result.game for result in recorded(tmp_path / "grown")) == [3, 4, 5, 6]
    assert contents(tmp_path / "grown") == contents(tmp_path / "whole")


def test_threads_change_nothing(tmp_path: Path) -> None:
    recorded(tmp_path / "one")
    recorded(tmp_path / "two", threads=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_the_first_games_of_a_folder(tmp_path: Path) -> None:
    recorded(tmp_path)
    whole, part = read_searched(tmp_path), read_searched(tmp_path, 4)
    assert len(part) == 4
    for field in fields(SearchedGames):
        mine, all_of_it = getattr(part, field.name), getattr(whole, field.name)
        if len(all_of_it) == 7:
            all_of_it = all_of_it[:4, : mine.shape[1]] if mine.ndim > 1 else all_of_it[:4]
        else:
            all_of_it = all_of_it[whole.game < 4]
        np.testing.assert_array_equal(mine, all_of_it)
    later = store.first_games(whole, 4, 7)
    assert sorted(set(later.game.tolist())) == [0, 1, 2]
    np.testing.assert_array_equal(later.played, whole.played[whole.game >= 4])


def test_other_searches_are_recorded_too(tmp_path: Path) -> None:
    recorded(tmp_path, line_ups=in_turn(RisMcts(iterations=20)), games=2)
    whole = read_searched(tmp_path)
    assert (whole.count[whole.legal] > 0).any() and (whole.legal.sum(1) > 0).all()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"expected searched games, got no about\.json"):
        read_searched(tmp_path)
    recorded(tmp_path, games=3)
    with pytest.raises(ConfigError, match=r"go on with the parameters .* seed is 5 there, 6 here"):
        recorded(tmp_path, seed=6)
    with pytest.raises(RecordError, match="expected 4 searched games, got 3"):
        read_searched(tmp_path, 4)
    with pytest.raises(ConfigError, match="search must be one, got none"):
        recorded(tmp_path / "none", line_ups=[(SmartBot(), SmartBot())])
    for content in (b"no such file", b""):
        (tmp_path / "00000.npz").write_bytes(content)
        with pytest.raises(RecordError, match="expected a file of searched games"):
            read_searched(tmp_path)


def test_objects_are_not_loaded(tmp_path: Path) -> None:
    recorded(tmp_path, games=3)
    with np.load(tmp_path / "00000.npz") as file:
        arrays = dict(file)
    arrays["score"] = np.array([{}] * 3, dtype=object)
    np.savez(tmp_path / "00000.npz", **arrays)
    with pytest.raises(RecordError, match=r"score\.npy: it must hold numbers, got object"):
        read_searched(tmp_path)


def test_by_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    small = ["--colors", "2", "--ranks", "3", "--hand-size", "2", "--information-tokens", "3"]
    budget = ["--rollouts", "60", "--min-rollouts", "4", "--threshold", "0.1", "--seed", "5"]
    arguments = ["record", "--out", str(out), "--games", "7", *small, *budget]
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0 and "7 games played: mean" in run.output
    recorded(tmp_path / "same")
    assert contents(out) == contents(tmp_path / "same")
    one_seat = CliRunner().invoke(
        app, [*arguments[:2], str(out / "b"), *arguments[3:], "--search-seats", "1"]
    )
    assert one_seat.exit_code == 0
    assert (read_searched(out / "b").seat == 1).all()
    assert CliRunner().invoke(app, [*arguments, "--search", "none"]).exit_code == 2
