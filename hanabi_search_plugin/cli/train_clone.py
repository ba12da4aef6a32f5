"""``hanabi-search train clone``: a network that plays as a search does, from recorded searches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs


def clone(
    data: Annotated[
        Path,
        typer.Option(path_type=Path, metavar="DIR", help="Games of `hanabi-search record`."),
    ],
    out: training_runs.Out,
    games: Annotated[int, typer.Option(help="Learn from so many of them; 0: all.")] = 0,
    held_out: Annotated[
        Path | None,
        typer.Option(path_type=Path, metavar="DIR", help="Other games, to measure on."),
    ] = None,
    architecture: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="advised-lstm (the paper's), advised-masks, or one without "
            "an adviser, with --start.",
        ),
    ] = "advised-lstm",
    options: training_runs.Options = None,
    start: Annotated[
        str,
        typer.Option(metavar="NAME", help="Go on from this network: a policy's name, or a file."),
    ] = "",
    objective: Annotated[
        str,
        typer.Option(metavar="NAME", help="reward (the paper's), cross-entropy or values."),
    ] = "reward",
    rounds: Annotated[int, typer.Option(help="Lines of metrics.")] = 20,
    passes: Annotated[
        float, typer.Option(help="How often each decision is learned from, on average.")
    ] = 3.0,
    batch: Annotated[int, typer.Option(help="Decisions of a step.")] = 256,
    rate: Annotated[float, typer.Option(help="Of learning, at first.")] = 5e-4,
    seed: option.Seed = 0,
    evaluation_games: training_runs.EvaluationGames = 1000,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
) -> None:
    """A network that plays at once what a search would, from what every move was worth to it."""
    console = training_runs.begin(threads, evaluation_games)
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.networks.training.clone_training import CloneRun, Cloning
    from hanabi_search_plugin.registry import load_policy

    settings = Cloning(
        data=str(data),
        games=games,
        held_out="" if held_out is None else str(held_out),
        architecture=architecture,
        options=training_runs.parsed(options),
        start=start,
        objective=objective,
        rounds=rounds,
        passes=passes,
        batch=batch,
        rate=rate,
        seed=seed,
    )
    run = training_runs.to_the_end(
        console, lambda: CloneRun(settings, out, device=device), rounds, _line
    )
    config = run.about.config
    training_runs.show_games(
        console, HanabiGame(config), run.network, games=evaluation_games, seed=seed, out=out,
        device=device, baseline=load_policy(run.about.policy, HanabiGame(config)),
    )  # fmt: skip


def _line(row: dict[str, float], _: float) -> str:
    measured = "".join(
        f"  {name} {row[name]:{form}}"
        for name, form in (("gain", "+.4f"), ("changed", ".3f"), ("agreement", ".3f"))
        if name in row
    )
    return f"loss {row['loss']:.4f}{measured}"
