"""What a newcomer types first: options that go with nothing, wrong files, wrong names."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from hanabi_search_plugin import load_policy
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.hanabi.bots.rule_agents import _THRESHOLDS

SMALL = ["--colors", "2", "--ranks", "2", "--hand-size", "2", "--policy", "random"]
SEARCHED = [*SMALL, "--search", "sparta", "--rollouts", "50"]


def run(*arguments: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=typed)


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("hanabi-search: ").rstrip("\n")


@pytest.mark.parametrize(
    "option",
    [
        *("search-seats 1", "partners vdb", "belief exact", "epsilon 0.1", "uncertainty 0.1"),
        *("likelihoods learned", "favourite vdb", "no-explain", "trace t.jsonl", "rollouts 50"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "play"])
def test_options_of_a_search_need_one(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = [*SMALL, *f"--{option}".split()]
    if command == "evaluate":
        line += ["--games", "1"]
    name = option.partition(" ")[0]
    assert refused(command, *line).startswith(f"{name} is an option of a search, got ")
    assert list(tmp_path.iterdir()) == []


def test_what_lbs_lacks_is_said_at_once_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def dealt(*given: object) -> None:
        raise AssertionError("a game was dealt")

    monkeypatch.setattr("hanabi_search_plugin.hanabi.hanabi_game.HanabiGame.deal", dealt)
    monkeypatch.setattr("hanabi_search_plugin.hanabi.hanabi_game.HanabiGame.deal_some", dealt)
    told = refused("evaluate", "--search", "lbs", "--games", 1)
    assert "--belief exact or --belief grounded do without, with --depth 0, since" in told
    for more in (["lbs", "--belief", "exact"], ["sparta", "--depth", "4"]):
        told = refused("evaluate", "--search", *more, "--games", 1)
        assert told.startswith("rollouts can only be cut short") and "--depth 0" in told


def test_files_of_other_options_are_recognised(tmp_path: Path) -> None:
    out, trace, games = (tmp_path / name for name in ("o.json", "t.jsonl", "g.jsonl"))
    line = ["evaluate", *SEARCHED, "--games", "1"]
    done = run(*line, "--json", out, "--trace", trace, "--save", games)
    assert done.exit_code == 0, done.output
    for path, what in (
        (out, "that is a result of --json"),
        (trace, "that is a trace (--trace)"),
        (games, "those are games of --save"),
    ):
        before = path.read_bytes()
        assert refused(*line, "--resume", path) == f"{path}: {what}; give --resume another file"
        assert path.read_bytes() == before
    assert "that is a trace of searched decisions (--trace)" in refused("replay", trace)
    assert "that is a result (--json)" in refused("replay", out)


def test_errors_name_the_option() -> None:
    assert refused("evaluate", "--search", "sparta", "--partners", "foo").startswith("partners ")
    assert refused("play", "--seats", "foo,vdb").startswith(
        "seats (human, or a policy) must be one of "
    )
    assert refused("evaluate", "--search", "ris-mcts", "--rules", "foo").startswith(
        "rules must be one of all, table-2, shipped-2018, "
    )
    told = refused("evaluate", *SEARCHED, "--search-seats", "1,1")
    assert told == "search-seats must name each seat once, got '1,1'"


def test_several_searching_seats_are_told_of_all_once() -> None:
    done = run("evaluate", *SEARCHED, "--games", 1, "--search-seats", "0,1")
    assert done.exit_code == 0 and " ".join(done.stderr.split()).count("--search-seats all") == 1


def test_a_saved_configuration_overwrites_nothing(tmp_path: Path) -> None:
    saved, out = tmp_path / "c.toml", tmp_path / "o.json"
    files = ["--json", out, "--trace", tmp_path / "t", "--save", tmp_path / "g"]
    line = ["evaluate", *SEARCHED, "--games", 1, *files, "--resume", tmp_path / "r"]
    assert run(*line, "--save-config", saved).exit_code == 0
    assert tomllib.loads(saved.read_text()) == {
        **{"command": "evaluate", "policy": "random", "search": "sparta", "rollouts": 50},
        **{"colors": 2, "ranks": 2, "hand-size": 2, "games": 1},
    }
    before = out.stat().st_mtime_ns
    assert run("evaluate", "--config", saved).exit_code == 0
    assert out.stat().st_mtime_ns == before


def test_none_leaves_the_searchs_options_of_a_configuration_aside(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('search = "sparta"\nrollouts = 50\nepsilon = 0.1\nsearch-seats = "1"\n')
    line = ["evaluate", *SMALL, "--games", 1, "--config", config, "--search", "none"]
    done = run(*line, "--json", "-")
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    plain = json.loads(run("evaluate", *SMALL, "--games", 1, "--json", "-").stdout)
    assert content["scores"] == plain["scores"] and "gain" not in content
    assert content["parameters"] == plain["parameters"]
    assert refused(*line, "--rollouts", 60).startswith("rollouts is an option of a search")
    config.write_text("rollouts = 50\n")  # the file alone says nothing of a search
    assert "rollouts is an option of a search" in refused(
        "evaluate", *SMALL, "--games", 1, "--config", config
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("players = 3.5", "players must be an integer, got 3.5"),
        ("epsilon = 'x'", "epsilon must be a number, got 'x'"),
        ("games = 'x'", "games must be an integer, got 'x'"),
    ],
)
def test_errors_of_a_configuration_are_in_our_words(line: str, says: str, tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(line)
    assert refused("evaluate", "--config", config) == f"{config}: {says}"


def test_the_list_shows_defaults_and_no_markup() -> None:
    assert "``" not in run("list").stdout and "``" not in run("list", "communication").stdout
    for name, (_, default) in _THRESHOLDS.items():
        assert f":threshold  default {default}: " in run("list", name).stdout
        usual, other = (
            load_policy(f"{name}:threshold={default}"),
            load_policy(f"{name}:threshold=0.5"),
        )
        assert repr(usual) == repr(load_policy(name)) == f"RuleAgent({name!r})"
        assert repr(other) == f"RuleAgent({name!r}, threshold=0.5)"


def test_play_reads_what_the_page_reads() -> None:
    seats = ["--colors", 2, "--ranks", 2, "--hand-size", 2, "--seats", "human,random,random"]
    typed = "history\nh2x\nh2y\nu\np0\nhistory\nquit\n"
    done = run("play", *seats, "--seed", 1, "--json", "-", typed=typed)
    content, text = json.loads(done.stdout), done.stderr
    assert "no moves yet" in text and "a hint names a colour, red, yellow" in text
    assert "P0 (you) hints yellow to P2" in text
    assert content["taken_back"] == 1 and len(content["actions"]) == 3
    assert "1 P0 plays slot 0, " in text and "\n3 P2 plays slot 1, " in text
    assert "history      the moves so far" in run("play", *seats, typed="help\nquit\n").output
