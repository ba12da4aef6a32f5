"""Every command that goes on where it was stopped, in a line that takes a second or two.

A command is one of them if it has an ``--out`` folder, ``--resume`` or ``--record``: ``resumable``
reads that off the command tree, and a test holds that each of them is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.cli import app, reproduction
from hanabi_search_plugin.cli.command_line import imported
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files import searched_games
from hanabi_search_plugin.learning import evalfn_training, fit
from hanabi_search_plugin.reproduce.plan import Curve, Figure, Row, Run, Table, Training

RESUME = {"out", "resume", "record"}  # the names of the options

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
GAME = "--colors 2 --ranks 3 --hand-size 2 --information-tokens 3"
SEARCH = "--policy smartbot --search sparta --rollouts 20 --min-rollouts 4 --threshold 0.1"
SMALL = "--set hidden=8 --set context=4 --set scorer=4"
MADE = "../../inputs"  # by ``INPUTS``


@dataclass(frozen=True)
class Case:
    """A command line, in words; files are named from the folder that it runs in."""

    command: str
    options: str

    @property
    def name(self) -> str:
        """The command, and what it is given without an option."""
        first = self.options.split()[0]
        return self.command if first.startswith("--") else f"{self.command} {first}"

    @property
    def words(self) -> list[str]:
        return [*self.command.split(), *self.options.split()]


INPUTS = (
    Case("record", f"--out searched {SEARCH} {GAME} --games 8 --seed 3"),
    Case(
        "train distill",
        f"--out network {GAME} {SMALL} --iterations 1 --games 8 --evaluation-games 0",
    ),
)
"""What some of the others read: made once."""

CASES = (
    Case(
        "evaluate",
        f"{SEARCH} --search-seats 1 {GAME} --games 6 --seed 5 --resume run.jsonl --json out.json "
        "--trace trace.jsonl --save games.jsonl.gz",
    ),
    Case("record", f"--out searched {SEARCH} {GAME} --games 7 --seed 5 --threads 2"),
    Case("judge", f"--record rows.jsonl {GAME} --rollouts 20 --games 6 --seed 5 --threads 2"),
    Case("reproduce", "tiny-table --games 3 --out runs"),
    Case("reproduce", "tiny-figure --games 2 --out runs"),
    Case(
        "train distill",
        f"--out run {GAME} {SMALL} --iterations 3 --games 4 --evaluation-games 4",
    ),
    Case(
        "train belief",
        f"--out run {GAME} --policy smartbot --set hidden=8 --set decoder=8 --set embedding=4 "
        "--iterations 3 --games 4 --steps 2 --batch 4 --evaluation-games 4",
    ),
    Case(
        "train clone",
        f"--out run --data {MADE}/searched --architecture advised-masks --iterations 3 --batch 8 "
        "--evaluation-games 4",
    ),
    Case(
        "train rl",
        f"--out run {GAME} --architecture masks {SMALL} --iterations 3 --games 4 --moves 4 "
        "--batch 8 --evaluate-every 2 --evaluation-games 4",
    ),
    Case(
        "train critic",
        f"--out run {GAME} --policy {MADE}/network/model.safetensors "
        "--set hidden=8 --iterations 3 --games 4 --batch 8 --evaluation-games 4",
    ),
    Case(
        "train evalfn",
        "--out run --games 2,2 --iterations 5,5 --exploration 0.1,0.1 --players 2",
    ),
    Case("train partners", "--out run --partners random,piers --games 6 --players 2"),
)


def resumable() -> Iterator[str]:
    """The commands that go on where they were stopped, by their words."""
    for words, command in _commands(typer.main.get_command(app)):
        names = {one.name for one in command.params if not _is_one_file(one)}
        if RESUME & names:
            yield " ".join(words)


def _is_one_file(parameter: Any) -> bool:
    """Is it where one file is written, which a command begins again?"""
    return parameter.name == "out" and parameter.metavar in ("FILE", "OUT")


def _commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*before, name))
        else:
            yield (*before, name), imported(command)


_SEARCHED = Run(
    name="tiny-single", config=TINY, search=Sparta(rollouts=20, min_rollouts=4), seats=(1,)
)
_TRAINED = Training(blueprint=2, belief=2)
PLANS = (
    Table(
        name="tiny-table",
        title="A table",
        rows=(
            Row(label="alone", run=Run(name="tiny", config=TINY)),
            Row(label="searched", run=_SEARCHED, than="alone"),
        ),
    ),
    Figure(
        name="tiny-figure",
        title="A figure",
        kind="splits",
        curves=(
            Curve(label="alone", runs=(Run(name="a", policy="", config=TINY, training=_TRAINED),)),
        ),
        ticks=("2|2",),
    ),
)


def make_small() -> None:
    """Set what no option sets to sizes at which a run has several files and takes a second."""
    from hanabi_search_plugin.networks.training import training_run  # PyTorch
    from hanabi_search_plugin.reproduce import trained_rows

    reproduction.PLANS = PLANS
    searched_games.SHARD = 2
    training_run.PART_BYTES = 4000  # bytes: states have several parts
    fit.STEPS = 10
    evalfn_training.SELF_PLAY, evalfn_training.LEAST_VISITS = 4, 2
    small = {"hidden": 8, "context": 4, "scorer": 4}
    sizes = {"games": 4, "moves": 4, "batch": 8, "options": small}
    trained_rows.BLUEPRINT = trained_rows.BLUEPRINT | sizes
    trained_rows.BELIEF = {"games": 4, "steps": 2, "batch": 4}
    trained_rows.BELIEF_NETWORK = {"hidden": 8, "decoder": 8, "embedding": 4}
