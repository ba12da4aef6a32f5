"""``hanabi-search train evalfn`` and ``partners``: games, networks, and how it went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.cli.terminal import compile_progress, notes, open_console, show_warnings
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.settings import settings_of
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.learning import evalfn_training, partner_training
from hanabi_search_plugin.learning.evalfn_training import EvalfnTraining, Stage
from hanabi_search_plugin.learning.partner_training import PartnerTraining
from hanabi_search_plugin.learning.training_record import EVERY_TABLE
from hanabi_search_plugin.registry import policy_names

_DEFAULT = EvalfnTraining()
_STAGE = settings_of(Stage)
_PARTNERS = settings_of(PartnerTraining)


def _each(name: str) -> str:
    """A setting of the stages, with commas between."""
    return ",".join(f"{getattr(stage, name):g}" for stage in _DEFAULT.stages)


Players = Annotated[str, typer.Option(metavar="N[,N...]", help="Seats of the games.")]
PLAYERS = ",".join(str(config.players) for config in EVERY_TABLE)


def evalfn(
    *,
    games: Annotated[str, typer.Option(metavar="N,N,N", help=_STAGE["games"].text)] = _each(
        "games"
    ),
    iterations: Annotated[
        str, typer.Option(metavar="N,N,N", help=_STAGE["iterations"].text)
    ] = _each("iterations"),
    exploration: Annotated[
        str, typer.Option(metavar="C,C,C", help=_STAGE["exploration"].text)
    ] = _each("exploration"),
    players: Players = PLAYERS,
    seed: option.Seed = _DEFAULT.seed,
    cluster: Annotated[ClusterChoice, the_cluster("chunk_size")],
    out: option.Out = Path("runs/evalfn"),
) -> None:
    """Train, and print every network's scores as they come."""
    parts = {
        "games": _numbers("games", games, int),
        "iterations": _numbers("iterations", iterations, int),
        "exploration": _numbers("exploration", exploration, float),
    }
    counts = [len(numbers) for numbers in parts.values()]
    if len(set(counts)) > 1:
        raise ConfigError(
            f"games, iterations and exploration must be numbers of the same stages, got "
            f"{counts[0]}, {counts[1]} and {counts[2]} of them"
        )
    stages = tuple(
        Stage(games=g, iterations=i, exploration=c) for g, i, c in zip(*parts.values(), strict=True)
    )
    training = EvalfnTraining(stages=stages, configs=_configs(players), seed=seed)
    console = open_console(None)
    show_warnings(console)
    with cluster.executor(1) as executor, compile_progress(console):
        evalfn_training.train(training, out, _Printer(console), executor)
    console.print(f"{out / 'training.json'} says how it went", markup=False, soft_wrap=True)


def partners(
    *,
    partners: Annotated[
        str, typer.Option(metavar="NAME,NAME[,NAME...]", help=_PARTNERS["partners"].text)
    ] = "mixed-track",
    settings: Annotated[PartnerTraining, Fields(PartnerTraining, only=("games", "seed"))],
    players: Players = PLAYERS,
    cluster: Annotated[ClusterChoice, the_cluster("chunk_size")],
    out: option.Out = Path("runs/partners"),
) -> None:
    """Train, and print how well single moves tell who made them."""
    training = replace(settings, partners=policy_names(partners), configs=_configs(players))
    console = open_console(None)
    with cluster.executor(1) as executor, compile_progress(console):
        record = partner_training.train(training, out, executor=executor, progress=notes(console))
    for part in ("learned_from", "held_out"):
        found = record[part]
        console.print(
            f"{part.replace('_', ' ')}: {counted(found['moves'], 'move')}, log loss "
            f"{found['log_loss']:.3f}, the likeliest policy is the true one for "
            f"{100 * found['likeliest_is_true']:.0f} %"
        )
    console.print(f"{out / 'partners.json'} says how it went", markup=False, soft_wrap=True)


def _configs(players: str) -> tuple[HanabiConfig, ...]:
    numbers = _numbers("players", players, int)
    return tuple(HanabiConfig(players=number, bomb="keep") for number in numbers)


def _numbers(name: str, text: str, kind: Callable[[str], Any]) -> list[Any]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{name} must be numbers with commas between, got {text!r}") from None


class _Printer:
    """A line a stage and a network."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def on_stage(self, number: int, stage: Stage) -> None:
        self.console.print(
            f"stage {number}: {counted(stage.games, 'game')}, "
            f"{counted(stage.iterations, 'iteration')} a decision, C = {stage.exploration:g}"
        )

    def on_game(self, number: int, game: int) -> None:
        if self.console.is_terminal:
            self.console.print(f"stage {number}, game {game}", end="\r")

    def on_network(self, name: str, self_play: dict[str, Any]) -> None:
        for rules, scores in self_play.items():
            means = ", ".join(f"{mean:.2f} ({p} players)" for p, (mean, _) in scores.items())
            self.console.print(f"{name}, {rules}: {means}", markup=False, soft_wrap=True)
