"""What all commands share: help, completion, configuration files, --quiet, and how they fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from hanabi_search_plugin import UniformPolicy, __version__
from hanabi_search_plugin.cli import app, config_files
from hanabi_search_plugin.cli.plain_text import one_line, printable

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--colors", "2", "--ranks", "2", "--hand-size", "2", "--policy", "random"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def refused(*arguments: object, code: int = 2) -> str:
    """The one line that says why."""
    result = run(*arguments)
    assert result.exit_code == code, (result.output, result.exception)
    assert result.stderr.startswith("hanabi-search: ") and result.stderr.count("\n") == 1
    return result.stderr.removeprefix("hanabi-search: ").rstrip("\n")


def program(*arguments: str | bytes, **settings: str) -> subprocess.CompletedProcess[str]:
    code = "from hanabi_search_plugin.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | settings,
        capture_output=True,
        text=True,
        check=False,
    )


# ------------------------------------------------------------------------------ help and version


@pytest.mark.parametrize("line", [(), ("train",), ("hanab-live",)])
def test_a_group_alone_shows_its_help(line: tuple[str, ...]) -> None:
    result = run(*line)
    assert result.exit_code == 2 and result.stderr == ""
    assert "Usage:" in result.stdout and "Commands" in result.stdout


def test_the_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"hanabi-search {__version__}\n")


# ------------------------------------------------------------------------------------ completion


def completed(line: str) -> tuple[list[str], str]:
    """What bash would offer for the last word of a line, and the slow modules that were loaded."""
    words = line.split(" ")
    code = (
        "import atexit, sys; from hanabi_search_plugin.cli import app\n"
        "slow = lambda: [m for m in ('numba', 'torch', 'pyspiel') if m in sys.modules]\n"
        "atexit.register(lambda: print(slow(), file=sys.stderr))\n"
        "app(prog_name='hanabi-search')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "_HANABI_SEARCH_COMPLETE": "complete_bash"}
        | {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split(), done.stderr.strip()


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("hanabi-search ev", ["evaluate"]),
        ("hanabi-search train dis", ["distill"]),
        ("hanabi-search evaluate --rollo", ["--rollouts"]),
        ("hanabi-search evaluate --policy smart", ["smartbot", "smartnet"]),
        ("hanabi-search evaluate --policy vdb,hatb", ["vdb,hatbot", "vdb,hatbot-b"]),
        ("hanabi-search evaluate --search jo", ["joint-sparta"]),
        ("hanabi-search evaluate --game o", ["openspiel:"]),
        ("hanabi-search evaluate --bomb z", ["zero"]),
        ("hanabi-search play --seats hu", ["human"]),
        ("hanabi-search record --belief gr", ["grounded"]),
        ("hanabi-search train rl --start rl", ["rlnet"]),
        ("hanabi-search replay --policy piers --jso", ["--json"]),
        ("hanabi-search decode --see", []),
        ("hanabi-search list joint", ["joint-sparta"]),
    ],
)
def test_completion_knows_names_and_imports_nothing_slow(line: str, offers: list[str]) -> None:
    assert completed(line) == (offers, "[]")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(shell: str) -> None:
    # Which shell runs is found by its process, so it is named here.
    done = program("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0 and "_COMPLETE" in done.stdout


# --------------------------------------------------------------------------- configuration files


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_file_gives_options_and_the_command_line_wins(tmp_path: Path) -> None:
    config = write(
        tmp_path / "run.toml",
        'command = "evaluate"\npolicy = "random"\ngames = 3\nhand_size = 2\n'
        "colors = 2\nranks = 2\nrandom-start-player = true\n",
    )
    assert "random, random: 3 games" in run("evaluate", "--config", config).stdout
    saved = tmp_path / "saved.toml"
    line = ("evaluate", "--games", 2, "--config", config, "--save-config", saved)
    assert "random, random: 2 games" in run(*line, "--no-random-start-player").stdout
    assert tomllib.loads(saved.read_text()) == {
        "command": "evaluate", "policy": "random", "games": 2,
        "hand-size": 2, "colors": 2, "ranks": 2,
    }  # fmt: skip
    again = run("evaluate", "--config", saved)
    assert "random, random: 2 games" in again.stdout
    assert list(tmp_path.iterdir()) and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("plicy = 'x'", "play", "run.toml: 'plicy' is no option of play: did you mean policy?"),
        ("hand_siz = 2", "play", "'hand_siz' is no option of play: did you mean hand-size?"),
        ("rollouts = 1.5", "play", "run.toml: rollouts must be an integer, got 1.5"),
        ("rollouts = 'many'", "evaluate", "rollouts must be an integer, got 'many'"),
        ("players = true", "play", "run.toml: players must be a text or a number, got True"),
        ("reallocate = 1", "play", "run.toml: reallocate must be true or false, got 1"),
        ("policy = ['a', 'b']", "play", "run.toml: policy must be a text or a number, got ['a'"),
        ("set = 3.5", "train rl", "set must be NAME=VALUE, got '3.5'"),
        ("set = [[1]]", "train rl", "set must be a list of texts, got [[1]]"),
        ("policy = 'a\\u001bb'", "play", "policy must be one of"),
        ('policy = "a\\u001bb"', "play", "must have no control characters, got 'a\\x1bb'"),
        ("command = 'play'", "train rl", "run.toml: command must be 'train rl' here, got 'play'"),
        ("policy =", "play", "run.toml: expected TOML: "),
        ("config = 'x.toml'", "play", "'config' is no option of play"),
    ],
)
def test_a_wrong_file_gets_one_line(tmp_path: Path, content: str, line: str, says: str) -> None:
    config = write(tmp_path / "run.toml", content)
    out = ["--out", tmp_path / "out"] if line == "train rl" else []
    assert says in refused(*line.split(), *out, "--config", config)
    assert not (tmp_path / "out").exists()


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    assert refused("play", "--config", missing) == f"{missing}: No such file or directory"
    assert "save-config must name a file" in refused("play", *SMALL, "--save-config", tmp_path)
    bad = write(tmp_path / "bad.toml", "")
    bad.write_bytes(b"policy = '\xff'")
    assert "bad.toml: expected TOML: " in refused("play", "--config", bad)


def test_a_file_may_hold_arguments_tables_and_what_is_required(tmp_path: Path) -> None:
    config = write(tmp_path / "a.toml", "file = '/no/such/file'\n")
    assert refused("replay", "--config", config) == "/no/such/file: No such file or directory"
    config = write(tmp_path / "b.toml", f"out = '{tmp_path / 'o'}'\n[set]\nhiden = 8\n")
    assert "hiden" in refused("train", "rl", "--config", config)


def test_every_command_takes_the_common_options() -> None:
    program_: Any = typer.main.get_command(app)
    from hanabi_search_plugin.cli.command_line import imported

    groups = (program_.commands, program_.commands["train"].commands)
    for named in (one for group in groups for one in group.values()):
        if not hasattr(named, "commands"):
            flags = {flag for one in imported(named).params for flag in one.opts}
            assert flags >= {"--config", "--save-config", "--quiet", "--debug"}


@pytest.mark.parametrize(
    "value",
    ["", "a\"b\\c'", "\x00\x08\t\n\x1f\x7f\x85\u2028", "é\U0001f600", -(2**63), 1e-5, 1e300, -0.0,
     float("inf"), True, ["a=1", "b=[2]"], []],
)  # fmt: skip
def test_what_is_written_is_read_back(value: Any) -> None:
    assert tomllib.loads(f"x = {config_files._toml(value)}") == {"x": value}


# ----------------------------------------------------------------------------- quiet, and failing


def test_quiet_leaves_results_and_errors() -> None:
    line = ["evaluate", "--colors", "2", "--ranks", "2", "--hand-size", "2", "--games", "1",
            "--search", "sparta", "--search-seats", "0,1", "--rollouts", "60"]  # fmt: skip
    assert "warning: " in run(*line).stderr
    quiet = run(*line, "--quiet")
    assert quiet.stderr == "" and "gain" in quiet.stdout
    assert "did you mean" in refused("evaluate", "--policy", "smrtbot", "--quiet")


def test_control_characters_and_other_bytes_never_reach_the_terminal(tmp_path: Path) -> None:
    assert refused("evaluate", "--policy", "\x1b[31mred") == (
        "arguments must have no control characters, got '\\x1b[31mred'"
    )
    done = program("evaluate", "--policy", b"\xff")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "hanabi-search: arguments must be UTF-8, got '\\udcff'\n"
    assert printable("a\x1b\x9b\u202eé\n") == "a\\x1b\\x9b\\u202eé\\n"
    assert one_line("a\n  b\x00") == "a b\\x00"


def test_what_was_not_foreseen_is_one_line_and_a_traceback_if_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no\nsuch thing\x1b")

    monkeypatch.setattr("hanabi_search_plugin.cli.shown_game.show_game", fails)
    said = refused("play", *SMALL, code=1)
    assert said == (
        "this went wrong inside: RuntimeError: no such thing\\x1b; --debug shows the traceback"
    )
    result = run("play", *SMALL, "--debug")
    assert isinstance(result.exception, RuntimeError)
    assert refused("play", *SMALL, code=1) == said  # the next command forgets it


def test_an_error_of_a_policy_says_where_it_arose(monkeypatch: pytest.MonkeyPatch) -> None:
    def act(*_: object) -> None:
        raise KeyError("hand")

    monkeypatch.setattr(UniformPolicy, "act", act)
    said = refused("evaluate", *SMALL, "--games", "1", code=1)
    assert said == (
        "this went wrong inside: KeyError: 'hand' (in act of UniformPolicy, seat 0, turn 0, "
        "game 0 of seed 0); --debug shows the traceback"
    )


@pytest.mark.parametrize("kind", ["distill", "rl", "belief", "critic", "clone"])
@pytest.mark.parametrize("device", ["banana", "cuda:77", "meta"])
def test_a_device_is_checked_first(tmp_path: Path, kind: str, device: str) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "out"
    data = ["--data", tmp_path] if kind == "clone" else []
    said = refused("train", kind, "--out", out, *data, "--device", device)
    assert said.startswith(f"device must be one that PyTorch has here, as cpu, got '{device}': ")
    assert not out.exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("evaluate --policy smrtbot", ": did you mean smartbot"),
        ("evaluate --search sprata", ": did you mean sparta"),
        ("evaluate --search sparta --pruning pair", ": did you mean paired?"),
        ("evaluate --bomb Zero", ": did you mean zero?"),
        ("evaluate --policy vdb:strikt", "got 'strikt': did you mean strict?"),
        ("evaluate --policy vdb:convention=anygiver", ": did you mean any-giver?"),
        ("evaluate --search lbs --belief smartnett", ": did you mean smartnet"),
        ("train distill --out x --architecture mask", ": did you mean masks?"),
        ("train clone --out x --data y --objective rewards", ": did you mean reward?"),
        ("evaluate --rolouts 3", "--rollouts"),
        ("evalute", "'evaluate'"),
    ],
)
def test_near_names_are_offered(line: str, says: str) -> None:
    assert says in refused(*line.split())


def test_nothing_is_offered_where_nothing_is_near() -> None:
    assert not re.search("did you mean", refused("evaluate", "--policy", "xyzzy"))


# ----------------------------------------------------------------- games and policies of OpenSpiel


def evaluated(*arguments: object) -> dict[str, Any]:
    result = run("evaluate", "--games", 3, *arguments, "--json", "-")
    assert result.exit_code == 0, (result.output, result.exception)
    content: dict[str, Any] = json.loads(result.stdout)
    return content


LEDUC = ["--game", "openspiel:leduc_poker(players=3)"]


def test_games_of_openspiel_by_name() -> None:
    search = ["--search", "sparta", "--rollouts", 40, "--min-rollouts", 2]
    exact = evaluated(*LEDUC, "--policy", "uniform", *search)
    assert exact["games"] == 3 and exact["rollouts_per_game"] > 0
    assert exact["policies"][1]["search"]["rollouts"] == 40
    drawn = ["--belief", "particles:particles=50:seed=3", "--epsilon", 0.1]
    belief = evaluated(*LEDUC, "--policy", "random", *search, *drawn)["policies"][1]["belief"]
    assert (belief["particles"], belief["seed"], belief["epsilon"]) == (50, 3, 0.1)
    native = evaluated("--game", "openspiel:hanabi(players=2,colors=2,ranks=2,hand_size=2)")
    assert native["bombs"] >= 0  # the native engine, with its default policy


def test_hidden_hands_by_name() -> None:
    pytest.importorskip("endplay", reason="endplay, which solves deals, is not installed")
    bridge = ["--game", "bridge", "--policy", "natural", "--belief", "seatwise:around=200"]
    search = ["--search", "sparta", "--rollouts", 40, "--min-rollouts", 1, "--games", 1]
    belief = evaluated(*bridge, *search)["policies"][1]["belief"]
    assert (belief["around"], belief["proposals"]) == (200, 2048)


def test_an_evaluation_notes_where_its_gain_tells_nothing() -> None:
    leduc = ("evaluate", "--game", "openspiel:leduc_poker", "--policy", "uniform", "--games", 1)
    search = ("--search", "sparta", "--rollouts", 4, "--min-rollouts", 2)
    for seats, notes in (("all", True), ("1", False)):
        told = run(*leduc, *search, "--search-seats", seats).stdout
        assert ("change one side alone" in told and "--search-seats 1" in told) is notes


def test_bots_of_openspiel_by_name() -> None:
    seats = ("--policy", "openspiel:uniform_random,uniform,openspiel:fixed_action_preference")
    scores = [evaluated(*LEDUC, *seats)["scores"] for _ in range(2)]
    assert scores[0] == scores[1]
    assert evaluated(*SMALL, "--policy", "openspiel:uniform_random")["games"] == 3


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--game openspiel:leduc_pokr", "OpenSpiel has no game 'leduc_pokr': did you mean leduc"),
        ("--game openspiel:leduc_poker(playrs=3)", "got 'playrs': did you mean players?"),
        ("--game openspiel:leduc_poker(players=30)", "must be from 2 to 10, got 30"),
        ("--game openspiel:", "OpenSpiel has no game ''"),
        ("--game leduc_poker", "did you mean openspiel:leduc_poker"),
        ("--game open_spiel:leduc_poker", "did you mean openspiel:leduc_poker"),
        ("--game openspiel/leduc_poker", "did you mean openspiel:leduc_poker"),
        ("--game openspiel:kuhn_poker", "policy smartbot plays native Hanabi, got OpenSpielGame("),
        ("--game openspiel:kuhn_poker", "policy uniform plays any game"),
        ("--game bridge", "policy natural bids there"),
        ("--search sparta --belief seatwise", "needs a game that deals out private tokens"),
        ("--search sparta --belief seatwise:arund=9", "did you mean around?"),
        ("--game openspiel:kuhn_poker --policy openspiel:unifrm_random", "did you mean uniform_r"),
        (
            "--game openspiel:euchre --policy uniform --search sparta",
            "belief=Redealt() of wrappers.openspiel, on the command line --belief redealt",
        ),
        (
            "--game openspiel:euchre --policy uniform --search sparta --belief particles",
            "belief=Redealt() of wrappers.openspiel, on the command line --belief redealt",
        ),
        ("--search sparta --belief particles:partcles=3", "did you mean particles?"),
        ("--search lbs --belief particles --no-explain", "no-explain is an option of learned"),
        ("--policy none.safetensors", "got none.safetensors, which is no file"),
    ],
)
def test_what_cannot_be_played_says_what_can(line: str, says: str) -> None:
    assert says in refused("evaluate", "--games", "1", "--quiet", *line.split())


def test_a_networks_file_is_a_policy(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = write(tmp_path / "model.safetensors", "")
    said = refused("evaluate", "--policy", path)
    assert said == refused("evaluate", "--policy", f"network:file={path}")
    assert said.startswith(str(path))


# ------------------------------------------------------------------------------ numbers, trainings


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("evaluate --games {}", "games must be an integer from 1 to"),
        ("evaluate --seed {}", "seed must be an integer from 0 to"),
        ("evaluate --threads {}", "threads must be an integer from 1 to"),
        ("evaluate --players {}", "players must be from 2 to 5"),
        ("evaluate --search sparta --rollouts {}", "rollouts must be an integer from 1 to"),
        ("train rl --out x --games {}", "games must be an integer from 1 to 10000000"),
        ("train rl --out x --batch {}", "batch must be an integer from 1 to 10000000"),
        ("train rl --out x --seed {}", "seed must be an integer from 0 to"),
        ("train rl --out x --threads {}", "threads must be an integer from 1 to 1024"),
        ("train belief --out x --games {}", "games must be an integer from 1 to 10000000"),
        ("train distill --out x --iterations {}", "iterations must be an integer from 1 to"),
    ],
)
def test_numbers_out_of_range_are_refused_at_once(line: str, says: str) -> None:
    if line.startswith("train"):
        pytest.importorskip("torch")
    assert says in refused(*line.format(10**23).split())


def test_a_training_says_whose_score_it_is_and_how_to_go_on(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "run"
    small = [*SMALL[:6], "--games", 4, "--evaluation-games", 2, "--set", "hidden=8"]
    line = ["train", "distill", "--out", out, *small, "--iterations"]
    said = run(*line, 2)
    assert said.exit_code == 0, (said.output, said.exception)
    assert "(smartbot's own play)" in said.stdout
    model = out / "model.safetensors"
    play = f"play it: hanabi-search evaluate --policy network:file={model} --colors 2 --ranks 2"
    assert play in said.stdout and f'load_policy("network:file={model}", HanabiGame(' in said.stdout
    assert f"--start {model}, with another --out" in said.stdout
    quiet = run(*line, 2, "--quiet")
    assert quiet.stderr == "" and "own play" not in quiet.stdout
    assert "2 games" in " ".join(quiet.stdout.split())
    longer = refused(*line, 3)
    assert (
        "holds a run of 2 iterations" in longer and f"--start {model}, with another --out" in longer
    )
    assert run("evaluate", "--games", 1, *SMALL[:6], "--policy", model).exit_code == 0
    further = run("train", "distill", "--out", tmp_path / "b", *small, "--iterations", 1,
                  "--start", model)  # fmt: skip
    assert further.exit_code == 0, further.output
