"""``hanabi-search train critic``: what a network's play brings, for lbs. PyTorch when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs

if TYPE_CHECKING:
    from rich.console import Console

NAMES = {"critic": "the critic", "values": "its own values", "constant": "the mean at each turn"}


def critic(
    context: typer.Context,
    out: training_runs.Out,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="A network of this package, or a file.")
    ] = "rlnet",
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Of the critic: hidden, deeper."),
    ] = None,
    players: option.Players = 2,
    colors: option.Colors = 5,
    ranks: option.Ranks = 5,
    hand_size: option.HandSize = 0,
    information_tokens: option.InformationTokens = 8,
    life_tokens: option.LifeTokens = 3,
    iterations: Annotated[int, typer.Option(help="Rounds of playing and learning.")] = 80,
    games: Annotated[int, typer.Option(help="Games a round.")] = 500,
    epochs: Annotated[int, typer.Option(help="How often a position is learned from.")] = 2,
    batch: Annotated[int, typer.Option(help="Positions of a step.")] = 512,
    rate: Annotated[float, typer.Option(help="Of learning, at first.")] = 1e-3,
    trace: Annotated[float, typer.Option(help="Lambda of returns.")] = 0.5,
    noise: Annotated[
        float,
        typer.Option(help="How often a move before the last tried one is drawn at random, too."),
    ] = 0.02,
    seed: option.Seed = 0,
    evaluation_games: Annotated[
        int, typer.Option(help="New games on which values are measured; 0: none.")
    ] = 2000,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
) -> None:
    """A critic beside a network that stays as it is: LBS cuts rollouts by it."""
    console = training_runs.begin(threads, evaluation_games)
    from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
    from hanabi_search_plugin.networks.training.critic_training import (
        CriticRun,
        CriticSettings,
        measured,
    )

    settings = CriticSettings(
        policy=policy,
        config=HanabiConfig(**{name: context.params[name] for name in training_runs.GAME}),
        options=training_runs.parsed(options),
        iterations=iterations, games=games, epochs=epochs, batch=batch, rate=rate, trace=trace,
        noise=noise, seed=seed,
    )  # fmt: skip
    run = training_runs.to_the_end(
        console, lambda: CriticRun(settings, out, device=device), iterations, _line
    )
    if evaluation_games:
        found = measured(run.game, run.policy, run.network, evaluation_games, noise, seed)
        _show(console, found["all"], evaluation_games)


def _line(row: dict[str, float], _: float) -> str:
    return "error " + _numbers(row)


def _numbers(row: dict[str, float]) -> str:
    from hanabi_search_plugin.networks.training.critic_training import WHERE

    return ", ".join(f"{row[name]:.2f} {text}" for name, text in WHERE.items() if name in row)


def _show(console: Console, found: dict[str, dict[str, float]], games: int) -> None:
    console.print(f"error on {games} new games, root mean square, in score points:")
    for name, text in NAMES.items():
        if name in found:
            console.print(f"{text}: {_numbers(found[name])}")
