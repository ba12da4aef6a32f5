"""The command line: results, files, refusals in one line, interruption, a person at a seat."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hanabi_search_plugin.cli import app
from hanabi_search_plugin.cli.reproduction import PLANS
from hanabi_search_plugin.hanabi.files.records import read_games

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--colors", "2", "--ranks", "2", "--hand-size", "2"]
QUICK = [*SMALL, "--rollouts", "200", "--min-rollouts", "10"]


def run(*arguments: object, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=typed)


def good(*arguments: object, typed: str | None = None) -> Result:
    result = run(*arguments, typed=typed)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_command_of_the_documentation(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    line = (
        "evaluate --policy smartbot --search sparta --search-seats 1 --players 2 --games 2 "
        f"--rollouts 10000 --seed 7 --threads 2 --json {out}"
    )
    result = good(*line.split())
    assert "gain" in result.stdout and "\x1b" not in result.stdout
    content = json.loads(out.read_text())
    for name in (
        "mean", "sem", "perfect", "bombs", "games", "peak_rss_mb", "compile_seconds",
        "blueprint_mean", "blueprint_perfect", "blueprint_bombs", "gain", "gain_sem",
        "cpu_seconds_per_game", "rollouts_per_game", "likelihoods_per_game",
        "changed_moves_per_game",
    ):  # fmt: skip
        assert isinstance(content[name], (int, float)), name
    assert content["games"] == len(content["scores"]) == 2
    assert content["gain"] == pytest.approx(content["mean"] - content["blueprint_mean"])
    assert content["parameters"]["rollouts"] == 10_000
    assert content["parameters"]["search_seats"] == "1"
    assert content["seed"] == 7 and "numba" in content["versions"]
    assert content["policies"][1]["search"]["type"] == "Sparta"


def test_json_on_the_standard_output_is_only_json() -> None:
    result = good("evaluate", *SMALL, "--policy", "random", "--games", 20, "--json", "-")
    content = json.loads(result.stdout)
    assert content["games"] == 20 and "gain" not in content
    assert "random, random: 20 games" in result.stderr


def test_files_of_an_evaluation(tmp_path: Path) -> None:
    saved, trace, out = (tmp_path / name for name in ("games.jsonl.gz", "trace.jsonl", "out.json"))
    good("evaluate", *QUICK, "--search", "sparta", "--games", 5, "--seed", 2, "--bomb", "keep",
         "--save", saved, "--trace", trace, "--json", out)  # fmt: skip
    games = list(read_games(saved))
    content = json.loads(out.read_text())
    assert [game.score for game in games] == content["scores"]
    assert {game.policies for game in games} == {("smartbot", "smartbot+sparta")}
    assert {(game.seed, game.bomb) for game in games} == {(2, "keep")}
    decisions = lines_of(trace)
    assert sum(d["rollouts"] for d in decisions) == pytest.approx(5 * content["rollouts_per_game"])
    assert all(games[d["game"]].actions[d["turn"]] == d["action"] for d in decisions)
    assert {d["seat"] for d in decisions} == {1}
    assert all(len(d["mean"]) == len(d["actions"]) == len(d["count"]) for d in decisions)
    replayed = good("replay", saved, "--json", "-")
    report = json.loads(replayed.stdout)
    assert report["games"] == 5
    assert report["illegal"] == report["score_mismatches"] == report["lives_mismatches"] == 0


def test_resuming(tmp_path: Path) -> None:
    kept, trace = tmp_path / "run.jsonl", tmp_path / "trace.jsonl"
    line = ["evaluate", *QUICK, "--search", "sparta", "--resume", kept, "--trace", trace]
    good(*line, "--games", 2)
    whole = good(*line, "--games", 4, "--json", "-")
    fresh = good("evaluate", *QUICK, "--search", "sparta", "--games", 4, "--json", "-")
    assert json.loads(whole.stdout)["scores"] == json.loads(fresh.stdout)["scores"]
    numbers = [line["game"] for line in lines_of(trace)]
    assert sorted(set(numbers)) == [0, 1, 2, 3] and numbers == sorted(numbers)
    refused = run(*line, "--games", 4, "--rollouts", 300)
    assert refused.exit_code == 2
    assert "search.rollouts is 200 there, 300 here" in refused.stderr


def test_continuations_are_named(tmp_path: Path) -> None:
    line = ["evaluate", *QUICK, "--search", "sparta", "--games", 2]
    plain = json.loads(good(*line, "--json", "-").stdout)
    found = json.loads(good(*line, "--continuation", "iggi2, random", "--json", "-").stdout)
    settings = found["policies"][1]["search"]
    assert [one["type"] for one in settings["continuation"]] == ["RuleAgent", "UniformPolicy"]
    assert plain["policies"][1]["search"]["continuation"] is None
    assert plain["rollouts_per_game"] != found["rollouts_per_game"]


def test_several_searching_seats_are_warned_of() -> None:
    line = ["evaluate", *QUICK, "--search", "sparta", "--games", 1]
    assert "SPARTA, Table 4" in good(*line, "--search-seats", "0,1").stderr
    assert "Table 4" not in good(*line, "--search-seats", "0").stderr
    line += ["--uncertainty", 0.1, "--json", "-"]
    both = good(*line, "--search-seats", "0,1")
    assert "Table 4" not in both.stderr  # a belief that doubts its model of the partner
    content = json.loads(both.stdout)
    assert content["searched_share"] == 1.0 and content["policies"][0]["uncertainty"] == 0.1


def test_all_seats_search_by_what_is_sound() -> None:
    line = ["evaluate", *QUICK, "--search", "sparta", "--games", 1, "--json", "-"]
    together = good(*line, "--search-seats", "all")
    assert "warning: all seats search: JointSparta(" in together.stderr
    assert "Table 4" not in together.stderr
    assert {one["type"] for one in json.loads(together.stdout)["policies"]} == {"JointAgent"}
    doubting = good(*line, "--search-seats", "all", "--candidates", 3, "--policy", "random")
    (policy, _) = json.loads(doubting.stdout)["policies"]
    assert (policy["uncertainty"], policy["search"]["threshold"]) == (0.05, 0.2)
    grounded = good(*line, "--search-seats", "all", "--belief", "grounded")
    assert "they doubt each other" in grounded.stderr
    (policy, _) = json.loads(grounded.stdout)["policies"]
    assert policy["belief"]["uncertainty"] == 0.05
    refused = run(*line[:-2], "--search-seats", "all", "--belief", "grounded", "--no-explain")
    assert refused.exit_code == 2 and "search-seats must be one seat" in refused.stderr
    told = good(*line, "--search-seats", "0,1", "--belief", "grounded", "--uncertainty", 0.1)
    assert "Table 4" not in told.stderr
    assert json.loads(told.stdout)["policies"][0]["belief"]["uncertainty"] == 0.1


def test_seats_may_search_together() -> None:
    line = ["evaluate", *QUICK, "--search", "joint-sparta", "--games", 1, "--max-range", 30]
    found = good(*line, "--json", "-")
    assert "Table 4" not in found.stderr
    content = json.loads(found.stdout)
    assert content["policies"][1]["search"]["max_range"] == 30
    assert 0.5 <= content["searched_share"] <= 1.0


@pytest.mark.parametrize("search", ["so-ismcts", "mo-ismcts", "ris-mcts"])
def test_tree_searches_by_all_seats(search: str) -> None:
    line = ["evaluate", *SMALL, "--policy", "vdb", "--search", search, "--search-seats", "all"]
    result = good(*line, "--iterations", 30, "--games", 2, "--rules", "table-2",
                  "--convention", "any-giver", "--json", "-")  # fmt: skip
    content = json.loads(result.stdout)
    assert content["policies"][1]["search"]["guide"]["name"] == "table-2"
    assert content["policies"][1]["search"]["guide"]["convention"] == "any-giver"
    assert content["rollouts_per_game"] >= 30
    assert "Table 4" not in result.stderr  # nobody takes the others to play the blueprint
    assert "P1 searches" in good("play", *line[1:], "--iterations", 5).stdout


@pytest.mark.parametrize("search", ["sparta", "predictor"])
def test_partners_may_be_unknown(search: str) -> None:
    budget = ["--rollouts", 60, "--min-rollouts", 2] if search == "sparta" else ["--iterations", 30]
    line = [*SMALL, "--policy", "vdb", "--search", search, *budget, "--partners"]
    result = good("evaluate", *line, "vdb, random", "--epsilon", 0.01, "--games", 2, "--json", "-")
    content = json.loads(result.stdout)
    assert [c["name"] for c in content["policies"][1]["belief"]["candidates"][:1]] == ["vdb"]
    assert content["policies"][1]["belief"]["epsilon"] == 0.01
    assert "P1 searches" in good("play", *line, "mixed-track").stdout
    learned = ["--likelihoods", "learned", "--favourite", "evalfn-c:rules=table-2"]
    result = good("evaluate", *line, "mixed-track", *learned, "--games", 2, "--json", "-")
    belief = json.loads(result.stdout)["policies"][1]["belief"]
    assert belief["type"] == "LearnedPartners" and belief["prior"][-1] == 1.0
    for other in ("joint-sparta", "ris-mcts"):
        failed = run("evaluate", *SMALL, "--search", other, "--partners", "vdb")
        assert failed.exit_code == 2
        assert f"partners is not an option of {other}" in failed.output


def test_replay_reports_disagreements(tmp_path: Path) -> None:
    saved = tmp_path / "games.jsonl"
    good("evaluate", *SMALL, "--policy", "random", "--games", 10, "--save", saved)
    result = good("replay", saved, "--policy", "smartbot")
    assert re.search(r"agreement +\d+\.\d+ % of \d+ decisions", result.stdout)
    assert re.search(
        r"first disagreement: .*: game \d+, turn \d+, seat \d: recorded P", result.stdout
    )
    assert "fireworks" in result.stdout
    content = json.loads(good("replay", saved, "--policy", "smartbot", "--json", "-").stdout)
    assert 0 < content["agreement"] < 1 and content["decisions"] == content["moves"]
    content = json.loads(good("replay", saved, "--json", "-").stdout)
    assert content["agreement"] is None and content["decisions"] == 0


def test_demo_shows_a_whole_game(tmp_path: Path) -> None:
    out = tmp_path / "demo.json"
    result = good("demo", "--rollouts", 500, "--seed", 5, "--json", out)
    content = json.loads(out.read_text())
    text = result.stdout
    assert text.count("\nblueprint  ") == text.count(": P1 searches") > 10
    assert text.count("\nmove  ") == text.count(": P0 moves") > 10
    assert len(re.findall(r"\ngain +[+-]\d\.\d\d \+- \d\.\d\d", text)) == content["changed_moves"]
    assert f"score {content['score']:g} of 25" in text
    assert f"without the search, on the same deck: {content['blueprint_score']:g}" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


def test_play_without_people_can_be_replayed(tmp_path: Path) -> None:
    saved = tmp_path / "game.jsonl"
    played = good("play", *SMALL, "--policy", "smartbot,random,smartbot", "--save", saved)
    assert f"saved in {saved}" in " ".join(played.stdout.split())
    (game,) = read_games(saved)
    assert game.policies == ("smartbot", "random", "smartbot")
    report = json.loads(good("replay", saved, "--json", "-").stdout)
    assert report["score_mismatches"] == report["illegal"] == report["unfinished"] == 0


def test_a_person_plays_and_sees_no_own_card() -> None:
    typed = "help\nmoves\nsing\nd0\n" + "p0\n" * 40
    result = good("play", *SMALL, "--seats", "human,smartbot", "--seed", 0, typed=typed)
    text = result.stdout
    own = [line.split()[2:] for line in text.splitlines() if line.startswith("P0 you")]
    assert own and all(set(cards) == {"??"} for cards in own)
    assert re.search(r"^P1 smartbot +[RY][12]", text, re.MULTILINE)
    assert "'sing' is not a move" in text
    assert "discard 0 is not allowed now: all 8 information tokens are there" in text
    assert "discard 0    discard the card in slot 0" in text
    assert "play 0\nplay 1\nhint " in text  # the list of moves
    assert re.search(r"score \d of 4", text)
    assert "without the search" not in text


@pytest.mark.parametrize(("typed", "code"), [("p0\nquit\n", 0), ("p0\n", 130)])
def test_a_person_leaves(tmp_path: Path, typed: str, code: int) -> None:
    saved = tmp_path / "game.jsonl"
    result = run("play", "--seats", "human,smartbot", "--seed", 0, "--save", saved, typed=typed)
    assert result.exit_code == code
    assert "left after 2 moves" in result.stdout
    (game,) = read_games(saved)
    assert len(game.actions) == 2 and game.score is None
    assert json.loads(good("replay", saved, "--json", "-").stdout)["unfinished"] == 1


def test_a_seed_is_drawn_and_deals_the_same_cards_again() -> None:
    def played(*seed: object) -> dict[str, Any]:
        out = good("play", *SMALL, "--policy", "random", "--json", "-", *seed).stdout
        return dict(json.loads(out))

    first, second = played(), played()
    assert first["seed"] != second["seed"]
    again = played("--seed", first["seed"])
    assert (again["actions"], again["score"]) == (first["actions"], first["score"])


def test_the_names_of_the_seats_tell_how_many_play() -> None:
    four = ",".join(["random"] * 4)
    game = json.loads(good("play", "--seats", four, "--json", "-").stdout)["game"]
    assert (game["players"], game["hand_size"]) == (4, 4)
    refused = run("play", "--seats", "random,random,random", "--players", 2)
    assert "seats must be one name or 2" in refused.stderr


def test_the_person_beside_a_search_leaves_it_the_other_seat() -> None:
    out = good("play", *QUICK, "--seats", "smartbot,human", "--search", "sparta", typed="p0\n" * 40)
    assert re.search(r"^P0 sparta ", out.stdout, re.MULTILINE)


def test_a_person_asks_for_advice_and_takes_back() -> None:
    typed = "advise\np0\np0\nundo\nundo\nundo\nadvice\nquit\n"
    out = run("play", *SMALL, "--seats", "human,smartbot", "--seed", 1, "--json", "-", typed=typed)
    content, text = json.loads(out.stdout), out.stderr
    advice = re.findall(r"points at the end\n(?:.*\n)+?.*rollouts, .* hands.*\n", text)
    assert len(advice) == 2 and advice[0] == advice[1]  # of the same position
    assert re.search(r"^(advice|both agree) +\d\.\d\d \+- \d\.\d\d ", advice[0], re.MULTILINE)
    own = [line.split()[2:] for line in text.splitlines() if line.startswith("P0 you")]
    assert own and all(set(cards) == {"??"} for cards in own)
    assert "this is your first move" in text
    assert content["taken_back"] == 2 and content["actions"] == []
    assert text.count("taken back: play 0, and all that followed") == 2
    assert "2 moves taken back" in text


def test_a_question_mark_is_a_call_for_help() -> None:
    out = run("play", *SMALL, "--seats", "human,smartbot", "--seed", 1, typed="?\nquit\n")
    text = out.output
    assert "advice       what a search would play" in text and "rollouts" not in text
    assert "P0, your move (or advice, help): " in text


def test_what_follows_a_move_taken_back_is_the_game_of_that_seed() -> None:
    line = ["play", *SMALL, "--seats", "human,random", "--seed", 3, "--json", "-"]
    back, plain = (
        json.loads(run(*line, typed=typed).stdout)
        for typed in ("p0\nundo\nhint 1\nundo\np1\nquit\n", "p1\nquit\n")
    )
    assert back["actions"] == plain["actions"] and len(plain["actions"]) == 2


def test_human_alone_is_one_person_at_seat_0() -> None:
    out = run("play", *SMALL, "--seats", "human", "--seed", 1, typed="quit\n").output
    assert "P0 you" in out and "P1 smartbot" in out


def test_two_people_do_not_see_each_others_view() -> None:
    typed = "p0\n\np1\n\nquit\n"
    result = run("play", *SMALL, "--seats", "human,human", "--seed", 1, typed=typed)
    text = result.stdout
    assert text.index("P1, press Enter when only you look:") > text.index("P0 you")
    boards = re.findall(r"^P(\d) you", text, re.MULTILINE)
    assert boards == ["0", "1", "0"]
    told = text.partition("P0, press Enter when only you look:")[2]
    assert "P0 plays slot 0, " in told and "P1 plays slot 1, " in told  # since the last own move


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_person_on_a_terminal_edits_lines(tmp_path: Path) -> None:
    import pty

    main, other = pty.openpty()
    code = "from hanabi_search_plugin.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "play", *SMALL, "--bomb", "keep", "--seed", "1"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80"},
        stdin=other, stdout=other, stderr=other, cwd=tmp_path,
    )  # fmt: skip
    os.close(other)
    shown = b""

    def answer(question: bytes, keys: bytes) -> None:
        nonlocal shown
        shown = b""
        while question not in shown:
            shown += os.read(main, 4096)
        os.write(main, keys)

    try:
        answer(
            b"(or advice, help): ", b"pl\t 0\x1b[D\x1b[D1\x7f\n"
        )  # completed, and edited in the middle
        answer(b"(or advice, help): ", b"\x1b[A\n")  # the line before
        assert b"plays slot 0" in shown and b"^[" not in shown
        answer(b"(or advice, help): ", b"quit\n")
        answer(b"Enter to leave: ", b"replay\n")
        answer(b"Enter to leave: ", b"\n")
        assert b"Turn 1: P0 moves" in shown and b"Turn 4: P1 moves" in shown
        assert b"??" not in shown
        assert process.wait(timeout=300) == 0
    finally:
        process.kill()
        process.wait()
        os.close(main)


def test_a_game_of_openspiel_is_listed_and_guessed() -> None:
    for name in ("leduc_poker", "openspiel:leduc_poker"):
        out = good("list", name).stdout
        assert out.startswith("openspiel:leduc_poker, a game: a game of OpenSpiel: Leduc Poker, ")
        assert "\n  suit_isomorphism\n" in out
    refused = run("list", "openspiel:leduk")
    assert refused.exit_code == 2 and "did you mean openspiel:leduc_poker?" in refused.stderr
    refused = run("evaluate", "--game", "openspiel:leduk", "--policy", "random")
    assert refused.exit_code == 2 and "did you mean leduc_poker?" in refused.stderr


def test_the_command_that_makes_a_belief_model_can_be_pasted(tmp_path: Path) -> None:
    table = ("--policy", "iggi", "--players", 3, "--hand-size", 4, "--bomb", "keep")
    refused = run("evaluate", *table, "--search", "lbs", "--games", 1)
    assert refused.exit_code == 2 and "--belief exact or --belief grounded" in refused.stderr
    (command,) = re.findall(r"`hanabi-search (.*?)`", refused.stderr)
    words = shlex.split(command)
    assert words[:4] == ["train", "belief", "--policy", "iggi"] and "--bomb" not in words
    words[words.index("--out") + 1] = str(tmp_path / "belief")
    refused = run(*words, "--iterations", 0)  # whatever else it takes is understood
    assert "iterations must be" in refused.stderr


def test_a_dry_run_without_a_name_has_every_table() -> None:
    out = good("reproduce", "--dry-run").stdout
    titles = [f"{plan.name}: {plan.title}" for plan in PLANS]
    found = [line for line in out.splitlines() if line in titles]
    costs = re.findall(r"^(\d+ measurements?, about .* of CPU time|nothing to measure)", out, re.M)
    assert found == titles and len(costs) == len(titles)


def test_list_names_what_can_be_named() -> None:
    text = good("list").stdout
    for name in (
        "smartbot",
        "hatbot-b",
        "vdb",
        "random",
        "sparta",
        "so-ismcts",
        "mo-ismcts",
        "ris-mcts",
        "none",
    ):
        assert re.search(rf"^{name} ", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80 and "…" not in text and len(text) < 6500
    risky = good("list", "risky").stdout
    assert "  :threshold  " in risky and "github.com/fossgalaxy/hanabi v0.2.4" in risky
    assert re.search(
        r"^  2 players: mean 20\.\d\d in self-play", good("list", "hatbot").stdout, re.M
    )
    lbs = good("list", "lbs").stdout
    assert "  --depth  default 16: " in lbs and "Hu, Lerer, Brown and Foerster, 2021" in lbs
    both = good("list", "rlnet").stdout  # a network, and the belief of its games
    assert "rlnet, a network: " in both and "rlnet, a belief: " in both
    assert "a game of OpenSpiel" in good("list", "openspiel:leduc_poker").stdout


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_terminals_lose_nothing(width: int) -> None:
    line = ["evaluate", *QUICK, "--search", "sparta", "--games", "2"]
    narrow = {"COLUMNS": str(width), "TTY_COMPATIBLE": "1", "NO_COLOR": "1"}
    for arguments in (["list"], line):
        result = CliRunner().invoke(app, arguments, env=narrow)
        shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.stdout)
        rows = [row for row in shown.replace("\r", "\n").splitlines() if "━" not in row]
        assert max(map(len, rows)) <= width and "…" not in shown
        joined = " ".join(shown.split())
        if arguments is line:
            for words in ("mean perfect bombs", "share of moves searched", "2 games, seed 0"):
                assert words in joined
            assert re.search(r"^with search +\d\.\d+ \+- \d\.\d+ +\d+\.\d\d % +\d", shown, re.M)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("evaluate --policy clever", "policy must be one of smartbot, hatbot, "),
        ("evaluate --policy smartbot:strict", "options of policy smartbot are none, got 'strict'"),
        ("evaluate --policy vdb:strict=2", "strict must be true or false, got 2"),
        ("evaluate --policy vdb:convention=some", "convention must be one of off, any-giver"),
        ("evaluate --policy risky:threshold=2", "threshold must be from 0 to 1"),
        ("evaluate --policy risky:threshold=high", "threshold must be from 0 to 1"),
        ("evaluate --policy smartbot,random,random", "policy must be one name or 2"),
        ("evaluate --players 7", "players must be from 2 to 5, got 7"),
        ("evaluate --players two", "players must be an integer, got 'two'"),
        ("evaluate --threshold=x", "threshold must be a number, got 'x'"),
        ("evaluate --bomb boom", "bomb must be one of zero, keep, minus_one"),
        ("evaluate --observation-type all", "observation_type must be one of minimal"),
        ("evaluate --search sparta --rollouts 0", "rollouts must be an integer of at least 1"),
        ("evaluate --search sparta --seconds -1", "seconds must be a positive number"),
        ("evaluate --search sparta --threshold nan", "threshold must be a number"),
        ("evaluate --search sparta --pruning some", "pruning must be one of expected"),
        ("evaluate --search sparta --search-seats 2", "search-seats must be seats from 0 to 1"),
        ("evaluate --search sparta --search-seats x", "search-seats must be seats from 0 to 1"),
        ("evaluate --search sparta --epsilon 2", "epsilon must be from 0 to 1"),
        ("evaluate --search sparta --uncertainty -1", "uncertainty must be from 0 to 1"),
        (
            "evaluate --search mcts",
            "search must be one of sparta, joint-sparta, lbs, mds, pomcp, ",
        ),
        ("evaluate --search ris-mcts --iterations 0", "iterations must be an integer of at least"),
        ("evaluate --search ris-mcts --rules 99", "rule numbers must be from 1 to 18"),
        ("evaluate --search mo-ismcts --convention any-giver", "convention must be off where"),
        (
            "evaluate --search ris-mcts --rules table-2 --by-convention",
            "by-convention needs a convention",
        ),
        ("evaluate --search ris-mcts --by-convention", "by-convention needs a convention"),
        ("evaluate --search ris-mcts --evaluation evalfn-3", "evaluation must be none where rules"),
        ("evaluate --search ris-mcts --leaves estimates", "guide must be a policy that estimates"),
        ("train smartbot", "No such command 'smartbot'"),
        ("train evalfn --games 1,two", "games must be numbers with commas between"),
        ("train partners --games 1", "games must be an integer of at least 5"),
        ("train partners --partners vdb", "at least two policies"),
        ("evaluate --search sparta --likelihoods learned", "likelihoods needs partners"),
        (
            "evaluate --search sparta --partners vdb,random --favourite piers",
            "favourite must be one of vdb, random, got 'piers'",
        ),
        (
            "evaluate --search sparta --partners mixed-track --likelihoods learned --epsilon 0.1",
            "epsilon must be 0 where likelihoods are not exact",
        ),
        (
            "evaluate --search sparta --partners vdb,random --likelihoods learned",
            "partners must be those of the network, random,cautious,",
        ),
        (
            "evaluate --search sparta --partners vdb,random --likelihoods good",
            "likelihoods must be exact, learned or a file, got 'good'",
        ),
        ("train evalfn --games 1", "must be numbers of the same stages"),
        ("evaluate --search sparta --iterations 5", "iterations is not an option of sparta"),
        ("evaluate --search joint-sparta --search-seats 1", "search-seats must be all 2"),
        ("evaluate --search joint-sparta --pruning off", "pruning must be one of expected, paired"),
        ("evaluate --search sparta --max-range 7", "max-range is not an option of sparta"),
        ("evaluate --search joint-sparta --max-range -1", "max_range must be an integer of at"),
        ("evaluate --games 0", "games must be an integer of at least 1"),
        ("evaluate --seed -1", "seed must be an integer of at least 0"),
        ("evaluate --threads 0", "threads must be an integer of at least 1"),
        ("evaluate --json /no/such/folder/a.json", "json must lie in a folder that exists"),
        ("evaluate --save .", "save must name a file, got the folder"),
        ("evaluate --sing", "No such option"),
        ("play --policy random --seed -1", "seed must be an integer of at least 0"),
        ("play --seats human,random,random --players 2", "seats must be one name or 2"),
        ("play --seats human,random,random,random,random,random", "players must be from 2 to 5"),
        ("play", "play seats you at seat 0, which needs a terminal: name who plays, as in --seats"),
        ("replay x --seed -1", "seed must be an integer of at least 0"),
        ("play --seats human,clever", "seats (human, or a policy) must be one of"),
        (
            "play --search sparta --seats smartbot,human --search-seats 1",
            "search-seats must leave out seat 1",
        ),
        ("demo --rollouts 0", "rollouts must be an integer of at least 1"),
        ("replay /no/such/file.jsonl", "/no/such/file.jsonl: No such file or directory"),
        ("replay .", ".: expected searched games, got no about.json in it"),
        ("replay", "Missing argument 'FILE'"),
        ("reproduce", "say what to reproduce: sparta-table-1, "),
        ("reproduce sparta-tabel-1", "did you mean sparta-table-1 or "),
        ("compile sparat", "did you mean sparta?"),
        ("evaluate --game leduc", "did you mean openspiel:leduc_poker?"),
        ("evaluate --game hanbi", "did you mean hanabi?"),
        ("evaluate --policy ./none.safetensors", "got ./none.safetensors, which is no file"),
        ("reproduce sparta-table-6", "what to reproduce must be one of sparta-table-1, sparta-"),
        ("reproduce sparta-table-1 --games 0", "games must be an integer of at least 1"),
        ("reproduce sparta-table-1 --threads 0", "threads must be an integer of at least 1"),
        ("reproduce sparta-table-1 --seed -1", "seed must be an integer of at least 0"),
        ("reproduce sparta-table-4 --out pyproject.toml", "pyproject.toml/games: Not a directory"),
        ("sing", "No such command 'sing'"),
        ("list rlnett", "did you mean rlnet?"),
        ("evaluate --policy network:file=/nope", "got '/nope', which is no file"),
    ],
)
def test_bad_input_gets_one_line(arguments: str, says: str) -> None:
    if "network:" in arguments:
        pytest.importorskip("torch")
    result = run(*arguments.split())
    assert result.exit_code == 2
    assert result.stderr.startswith("hanabi-search: ") and result.stderr.count("\n") == 1
    assert says in result.stderr
    assert result.stdout == ""


def test_a_damaged_file_gets_one_line(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text('{"players": 2,\n')
    result = run("replay", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"hanabi-search: {path}:1: expected a JSON object")
    assert result.stderr.count("\n") == 1


# ----------------------------------------------------------------------------- as a real program


def start(*arguments: object, **settings: Any) -> subprocess.Popen[str]:
    code = "from hanabi_search_plugin.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background of a shell ignore interrupts, and so would it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **settings,
    )


def test_a_real_process_refuses_without_a_traceback() -> None:
    process = start("evaluate", "--players", 7)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert (out, err) == ("", "hanabi-search: players must be from 2 to 5, got 7\n")


def test_starting_imports_nothing_slow() -> None:
    code = (
        "import sys; from hanabi_search_plugin import cli; "
        "print([name for name in ('numpy', 'numba', 'pyspiel', 'rich.progress') "
        "if name in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout == "[]\n"


def test_an_interrupt_prints_and_writes_what_is_finished(tmp_path: Path) -> None:
    kept, out = tmp_path / "run.jsonl", tmp_path / "out.json"
    process = start("evaluate", *QUICK, "--search", "sparta", "--games", 2000,
                    "--resume", kept, "--json", out, "--threads", 2)  # fmt: skip
    deadline = time.monotonic() + 500
    while time.monotonic() < deadline and process.poll() is None:
        if kept.exists() and kept.read_text().count('"side":"policies"') >= 3:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    content = json.loads(out.read_text())
    assert 3 <= content["games"] < content["requested_games"] == 2000
    assert len(content["scores"]) == len(content["blueprint_scores"]) == content["games"]
    assert f"{content['games']} games of 2,000, interrupted" in " ".join(stdout.split())
    assert f"stopped: the same command goes on after the games in {kept}\n" in stderr


def test_a_closed_pipe_is_no_error() -> None:
    process = start("play", *SMALL, "--policy", "smartbot")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.wait(timeout=300)


@pytest.mark.parametrize("columns", [50, 80])
@pytest.mark.parametrize("command", ["evaluate", "reproduce", "train rl"])
def test_help_crops_no_names(command: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = good(*command.split(), "--help").stdout
    assert "…" not in text and "..." not in text.replace("[,NAME...]", "").replace("[,SEAT...]", "")
    named = {
        "evaluate": [
            "--no-random-start-player",
            "--information-tokens",
            "--pruning",
            "expected|paired|independent|off",
        ],
        "reproduce": ["ris-mcts-table-6", "--dry-run"],
        "train rl": ["--central-critic / --no-central-critic"],
    }
    for name in named[command]:
        assert name in text


def test_the_list_of_commands_says_all_of_what_each_is_for() -> None:
    text = " ".join(run("--help").stdout.split())
    assert "turn by turn." in text and "game by game on the same decks." in text


def test_seats_that_search_in_doubt_are_named_so() -> None:
    everywhere = ("--search", "sparta", "--search-seats", "all", "--seconds", 60)
    result = run("evaluate", *QUICK, *everywhere, "--games", 1)
    assert "sparta in doubt" in result.stdout
