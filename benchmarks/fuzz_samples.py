"""Whole files of every kind that the commands read, and the command lines that read them.

``{in}`` stands for a damaged copy of a sample, other samples are named by ``{name}``.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np

from hanabi_search_plugin import HanabiConfig, HanabiGame
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.hanabi.engine.encoding import encode
from hanabi_search_plugin.hanabi.files.records import read_games
from hanabi_search_plugin.learning import evalfn_training, fit
from hanabi_search_plugin.networks.training.training_run import TrainingRun

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "hanabi_search_plugin" / "hanabi" / "bots" / "weights"
TINY = "--colors 2 --ranks 2 --hand-size 2"
SEARCH = f"{TINY} --search sparta --rollouts 20 --min-rollouts 2"
TRAIN = f"{TINY} --games 4 --iterations 2"
RUNS = {
    "distill": f"train distill {TRAIN} --set hidden=8 --evaluation-games 0",
    "rl": f"train rl {TRAIN} --moves 4 --batch 8 --set hidden=8 --evaluation-games 0",
    "belief": f"train belief {TRAIN} --policy random --steps 1 --batch 2 --keep 1 --set hidden=8 "
    "--set decoder=4 --set embedding=2 --evaluation-games 2",
    "critic": f"train critic {TRAIN} --policy {{network}} --set hidden=8 --evaluation-games 2",
    "clone": "train clone --data {searched} --architecture masks --start {network} "
    "--set hidden=8 --iterations 2 --batch 4 --evaluation-games 0",
}
"""Trainings, without their folder."""
EVALFN = "train evalfn --games 2 --iterations 120 --exploration 0.1 --players 2"

READERS = {
    "observation.npy": ["decode {in}"],
    "observations.json": ["decode {in} --seat 1"],
    "games.jsonl": [
        "replay {in}",
        "replay {in} --policy random",
        "convert {in} out.jsonl --to jsonl",
        "view {in} --out out.html --json out.json",
        "view {in} --trace {trace} --out out.html",
        "analyse {in} --policy random --rollouts 4 --json out.json",
    ],
    "trace.jsonl": ["view {games} --trace {in} --out out.html"],
    "hanab-live.json": [
        "convert {in} out.jsonl --to jsonl",
        "convert {in} out.txt --to link",
        "replay {in}",
        "view {in} --out out.html",
        "analyse {in} --policy random --rollouts 4",
    ],
    "hanab-live.txt": [
        "convert {in} out.json --to hanab-live",
        "replay {in}",
        "view {in} --game 1 --out out.html",
    ],
    "ah2ac2.safetensors": [
        "convert {in} out.jsonl --to jsonl",
        "convert {in} out.json --to hanab-live",
        "view {in} --out out.html",
    ],
    "games.jsonl.gz": ["replay {in} --json out.json"],
    "results.json": ["compare {in} {other-results}", "compare {other-results} {in}"],
    "kept.jsonl": [
        f"evaluate {SEARCH} --games 3 --resume {{in}}",
        "compare {results} {in}",
    ],
    "reproduced.json": ["compare {in} {in}", "compare {in} {results}"],
    "network.safetensors": [
        f"evaluate {TINY} --games 2 --policy {{in}}",
        f"evaluate {TINY} --games 2 --policy network:file={{in}}",
        f"train distill {TRAIN} --set hidden=8 --evaluation-games 0 --start {{in}} --out new",
        f"train critic {TRAIN} --policy {{in}} --set hidden=8 --evaluation-games 2 --out new",
        "train clone --data {searched} --architecture masks --start {in} --set hidden=8 "
        "--iterations 1 --batch 4 --evaluation-games 0 --out new",
        f"evaluate {TINY} --games 1 --policy {{in}} --search sparta --rollouts 20 --min-rollouts 2",
    ],
    "critic.safetensors": [
        f"evaluate {TINY} --games 1 --policy {{in}} --search lbs --belief grounded --depth 1 "
        "--rollouts 20 --min-rollouts 2",
    ],
    "belief.safetensors": [
        f"evaluate {TINY} --games 1 --policy random --search lbs --belief {{in}} --rollouts 20 "
        "--min-rollouts 2",
    ],
    "foreign.safetensors": [f"evaluate {TINY} --games 2 --policy {{in}}"],
    "foreign.pt.safetensors": [f"evaluate {TINY} --games 2 --policy network:file={{in}}"],
    "evalfn.safetensors": [
        f"evaluate {TINY} --games 1 --search ris-mcts --iterations 5 --rules table-2 "
        "--evaluation {in}",
        f"evaluate {TINY} --games 2 --policy evalfn:network={{in}}",
    ],
    "partners.safetensors": [
        f"evaluate {SEARCH} --games 1 --partners mixed-track --likelihoods {{in}}",
    ],
    "searched": [
        "view {in} --game 1 --out out.html",
        "convert {in} out.jsonl --to jsonl",
        f"record {SEARCH} --games 4 --out {{in}}",
        "train clone --data {in} --architecture masks --start {network} --set hidden=8 "
        "--iterations 1 --batch 4 --evaluation-games 0 --out new",
        "train clone --data {searched} --held-out {in} --architecture masks --start {network} "
        "--set hidden=8 --iterations 1 --batch 4 --evaluation-games 0 --out new",
    ],
    "reproduction": [
        "reproduce sparta-table-1 --games 1 --only 'SmartBot, single-agent' --out {in}",
    ],
    "evalfn-run": [f"{EVALFN} --out {{in}}"],
    "site": [
        "list",
        "list mumbler",
        "evaluate --game two-numbers --policy random --games 2",
        "evaluate --policy mumbler --games 2",
        f"evaluate {TINY} --search flat --games 1",
    ],
    "config-evaluate.toml": ["evaluate --config {in}"],
    "config-rl.toml": ["train rl --out new --config {in}"],
    "config-decode.toml": ["decode {observation} --config {in}"],
} | {f"run-{kind}": [f"{line} --out {{in}}"] for kind, line in RUNS.items()}
"""Command lines that read a sample, by its name."""

FILES = {
    "network": "network.safetensors",
    "searched": "searched",
    "results": "results.json",
    "other-results": "other-results.json",
    "observation": "observation.npy",
    "games": "games.jsonl",
    "trace": "trace.jsonl",
}
"""Samples that command lines name besides the damaged one."""

CONFIGS = {
    "config-evaluate.toml": (
        'command = "evaluate"\npolicy = "random"\ngames = 2\ncolors = 2\nranks = 2\n'
        'hand-size = 2\nsearch = "sparta"\nrollouts = 20\nmin-rollouts = 2\nthreshold = 0.05\n'
        'pruning = "paired"\nreallocate = true\nseed = 3\nthreads = 1\njson = "out.json"\n'
    ),
    "config-rl.toml": (
        "colors = 2\nranks = 2\nhand_size = 2\ngames = 4\nmoves = 4\nbatch = 8\niterations = 1\n"
        "evaluation-games = 0\nrate = 5e-4\n[set]\nhidden = 8\n"
    ),
    "config-decode.toml": "seat = 0\nplayers = 2\nencoding = 'openspiel'\n",
}


def make_samples(folder: Path) -> None:
    """Write every sample; what it takes is compiled and loaded in this process meanwhile."""
    evalfn_training.SELF_PLAY = fit.STEPS = 20  # of thousands
    at = {name: str(folder / file) for name, file in FILES.items()}

    def run(line: str, **named: Path) -> None:
        words = [word.format(**at, **named) for word in shlex.split(line)]
        with redirect_stdout(StringIO()):
            code = app([*words, "--quiet"], standalone_mode=False)
        assert code == 0, (code, words)

    game = HanabiGame(players=2)
    rows = _rows(game)
    vectors = encode(game.config, rows, 0, "openspiel")
    np.save(folder / "observation.npy", vectors[:1])
    vectors = encode(game.config, rows, 1, "openspiel")
    (folder / "observations.json").write_text(json.dumps(vectors.tolist()))
    run(
        f"evaluate {SEARCH} --games 3 --save {{out}} --trace {{decisions}}",
        out=folder / "games.jsonl",
        decisions=folder / "trace.jsonl",
    )
    run("evaluate --policy random --games 2 --save {out}", out=folder / "plain.jsonl")
    for name, kind in (("hanab-live.json", "hanab-live"), ("hanab-live.txt", "link")):
        run(f"convert {folder}/plain.jsonl {{out}} --to {kind}", out=folder / name)
    _ah2ac2(folder)
    (folder / "plain.jsonl").unlink()
    run(f"evaluate {TINY} --policy random --games 3 --save {{out}}", out=folder / "games.jsonl.gz")
    run(f"evaluate {SEARCH} --games 2 --json {{out}}", out=folder / "results.json")
    run(f"evaluate {SEARCH} --games 2 --seed 1 --json {{out}}", out=folder / "other-results.json")
    run(f"evaluate {SEARCH} --games 2 --resume {{out}}", out=folder / "kept.jsonl")
    run(f"record {SEARCH} --games 3 --out {{out}}", out=folder / "searched")
    (folder / "reproduced.json").write_text(json.dumps(_reproduced()))
    for name, text in CONFIGS.items():
        (folder / name).write_text(text)
    for kind, line in RUNS.items():
        out = folder / f"run-{kind}"
        whole = folder / f"whole-{kind}"
        run(f"{line} --out {{out}}", out=whole)
        _stopped_after_a_round(partial(run, f"{line} --out {{out}}", out=out))
        if kind == "distill":
            shutil.copy(whole / "model.safetensors", folder / "network.safetensors")
    shutil.copy(folder / "whole-belief" / "model.safetensors", folder / "belief.safetensors")
    shutil.copy(folder / "whole-critic" / "model.safetensors", folder / "critic.safetensors")
    for kind in RUNS:
        shutil.rmtree(folder / f"whole-{kind}")
    shutil.copy(WEIGHTS / "evalfn-3.safetensors", folder / "evalfn.safetensors")
    shutil.copy(WEIGHTS / "partners.safetensors", folder / "partners.safetensors")
    _foreign(folder)
    _plugin(folder / "site")
    run(READERS["reproduction"][0].replace("{in}", "{out}"), out=folder / "reproduction")
    run(f"{EVALFN} --out {{out}}", out=folder / "evalfn-run")


def _rows(game: HanabiGame) -> np.ndarray:
    rng = np.random.default_rng(0)
    worlds = game.deal(rng, 2)
    for _ in range(2):
        worlds.step(np.array([rng.choice(np.flatnonzero(legal)) for legal in worlds.legal]))
    return worlds.rows


def _stopped_after_a_round(train: Callable[[], None]) -> None:
    iterate = TrainingRun.iterate

    def once(self: TrainingRun) -> dict[str, float]:
        if self.done:
            raise KeyboardInterrupt
        return iterate(self)

    TrainingRun.iterate = once  # type: ignore[method-assign]
    try:
        train()
    except (KeyboardInterrupt, AssertionError):
        pass
    finally:
        TrainingRun.iterate = iterate  # type: ignore[method-assign]


def _reproduced() -> dict[str, object]:
    measured = {"games": 2, "mean": 20.5, "sem": 0.5}
    return {
        "command": "reproduce", "what": "sparta-table-1", "seed": 7, "games": 2,
        "rows": [{"label": "SmartBot", "measured": measured}],
        "curves": [{"label": "a", "points": [measured | {"x": 1, "run": "b"}]}],
    }  # fmt: skip


def _foreign(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file

    from hanabi_search_plugin.networks.foreign import PublicQ

    config = HanabiConfig(colors=2, ranks=2, hand_size=2)
    network = PublicQ(
        config, hidden=8, depth=1, lstm_layers=1, values=True, waits=True, combine="sum"
    )
    tensors = {name: x.contiguous() for name, x in network.state_dict().items()}
    save_file(tensors, folder / "foreign.safetensors")
    torch.save(tensors, folder / "foreign.pt.safetensors")


def _ah2ac2(folder: Path) -> None:
    """The games of plain.jsonl as a data file of AH2AC2."""
    from safetensors.numpy import save_file

    games = list(read_games(folder / "plain.jsonl"))
    turns = max(len(game.actions) for game in games)
    actions = np.full((len(games), turns, 2), games[0].config.num_actions)
    for n, game in enumerate(games):
        for turn, action in enumerate(game.actions):
            actions[n, turn, turn % 2] = action
    decks = [[divmod(card, game.config.ranks) for card in game.deck] for game in games]
    columns = {
        "decks": decks,
        "actions": actions,
        "num_actions": [len(game.actions) for game in games],
        "scores": [game.score for game in games],
        "game_ids": range(len(games)),
        "num_players": 2,
    }
    save_file(
        {name: np.array(column, dtype=np.int64) for name, column in columns.items()},
        folder / "ah2ac2.safetensors",
    )


def _plugin(site: Path) -> None:
    shutil.copytree(ROOT / "examples" / "plugin" / "my_hanabi_plugin", site / "my_hanabi_plugin")
    shutil.rmtree(site / "my_hanabi_plugin" / "__pycache__", ignore_errors=True)
    info = site / "my_hanabi_plugin-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-hanabi-plugin\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[hanabi_search_plugin.games]\ntwo-numbers = my_hanabi_plugin.game:TwoNumbers\n"
        "[hanabi_search_plugin.policies]\nmumbler = my_hanabi_plugin.policy:Mumbler\n"
        "[hanabi_search_plugin.searches]\nflat = my_hanabi_plugin.search:Flat\n"
    )
