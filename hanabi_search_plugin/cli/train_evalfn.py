"""``hanabi-search train evalfn`` and ``partners``: games, networks, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from hanabi_search_plugin.cli import shared
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.jit import compile_progress
from hanabi_search_plugin.learning import evalfn_training, partner_training
from hanabi_search_plugin.learning.evalfn_training import EvalfnTraining, Stage
from hanabi_search_plugin.learning.partner_training import PartnerTraining
from hanabi_search_plugin.registry import policy_names


def train(settings: Mapping[str, Any]) -> None:
    """Train, and print every network's scores as they come."""
    games = _numbers("games", settings["games"], int)
    iterations = _numbers("iterations", settings["iterations"], int)
    exploration = _numbers("exploration", settings["exploration"], float)
    if not len(games) == len(iterations) == len(exploration):
        raise ConfigError(
            f"games, iterations and exploration must be numbers of the same stages, got "
            f"{len(games)}, {len(iterations)} and {len(exploration)} of them"
        )
    stages = tuple(
        Stage(games=g, iterations=i, exploration=c)
        for g, i, c in zip(games, iterations, exploration, strict=True)
    )
    configs = _configs(settings["players"])
    training = EvalfnTraining(stages=stages, configs=configs, seed=settings["seed"])
    out: Path = settings["out"]
    console = shared.open_console(None)
    shared.show_warnings(console)
    with compile_progress(console):
        evalfn_training.train(training, out, _Printer(console))
    console.print(f"{out / 'training.json'} says how it went", markup=False, soft_wrap=True)


def train_partners(settings: Mapping[str, Any]) -> None:
    """Train, and print how well single moves tell who made them."""
    training = PartnerTraining(
        partners=policy_names(settings["partners"]),
        games=settings["games"],
        configs=_configs(settings["players"]),
        seed=settings["seed"],
    )
    out: Path = settings["out"]
    console = shared.open_console(None)
    with compile_progress(console):
        record = partner_training.train(training, out)
    for part in ("learned_from", "held_out"):
        found = record[part]
        console.print(
            f"{part.replace('_', ' ')}: {found['moves']:,} moves, log loss "
            f"{found['log_loss']:.3f}, the likeliest policy is the true one for "
            f"{100 * found['likeliest_is_true']:.0f} %"
        )
    console.print(f"{out / 'partner_training.json'} says how it went", markup=False, soft_wrap=True)


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
            f"stage {number}: {stage.games} games, {stage.iterations:,} iterations a decision, "
            f"C = {stage.exploration:g}"
        )

    def on_game(self, number: int, game: int) -> None:
        if self.console.is_terminal:
            self.console.print(f"stage {number}, game {game}", end="\r")

    def on_network(self, name: str, self_play: dict[str, Any]) -> None:
        for rules, scores in self_play.items():
            means = ", ".join(f"{mean:.2f} ({p} players)" for p, (mean, _) in scores.items())
            self.console.print(f"{name}, {rules}: {means}", markup=False, soft_wrap=True)
