"""``hanabi-search train distill``: networks of your own. Imports PyTorch when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs


def distill(
    context: typer.Context,
    out: training_runs.Out,
    policy: Annotated[str, typer.Option(metavar="NAME", help="The compiled bot.")] = "smartbot",
    architecture: Annotated[
        str, typer.Option(metavar="NAME", help="masks, public-lstm, feed-forward or recurrent.")
    ] = "masks",
    options: training_runs.Options = None,
    players: option.Players = 2,
    colors: option.Colors = 5,
    ranks: option.Ranks = 5,
    hand_size: option.HandSize = 0,
    information_tokens: option.InformationTokens = 8,
    life_tokens: option.LifeTokens = 3,
    iterations: Annotated[int, typer.Option(help="Rounds of playing and learning.")] = 200,
    games: Annotated[int, typer.Option(help="Games a round.")] = 300,
    epochs: Annotated[int, typer.Option(help="How often a decision is learned from.")] = 2,
    batch: Annotated[int, typer.Option(help="Decisions of a step.")] = 256,
    rate: Annotated[float, typer.Option(help="Of learning, at first.")] = 1.5e-3,
    value_weight: Annotated[
        float, typer.Option(help="Of the losses of values and Q beside the policy's.")
    ] = 2.0,
    seed: option.Seed = 0,
    start: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Go on from this network, a policy's name or a file; it then plays all moves from "
            "the first round.",
        ),
    ] = "",
    evaluation_games: training_runs.EvaluationGames = 1000,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
) -> None:
    """A network that plays as a compiled bot does, on the games it plays itself."""
    console = training_runs.begin(threads, evaluation_games)
    from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
    from hanabi_search_plugin.networks.training.distillation import Distillation, DistillationRun

    named = context.params
    settings = Distillation(
        policy=policy,
        config=HanabiConfig(**{name: named[name] for name in training_runs.GAME}),
        architecture=architecture,
        options=training_runs.parsed(options),
        iterations=iterations,
        games=games,
        epochs=epochs,
        batch=batch,
        rate=rate,
        value_weight=value_weight,
        seed=seed,
        start=start,
    )
    run = training_runs.to_the_end(
        console, lambda: DistillationRun(settings, out, device=device), iterations, _line
    )
    training_runs.show_games(
        console, run.game, run.network, games=evaluation_games, seed=seed, out=out, device=device
    )


def _line(row: dict[str, float], _: float) -> str:
    return (
        f"loss {row['policy_loss']:.3f}  agreement {row['accuracy']:.3f}  "
        f"score {row['score']:.2f}  bombed {100 * row['bombed']:.1f} %"
    )
