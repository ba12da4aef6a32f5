"""``hanabi-search train clone``: a network that plays as a search does, from recorded searches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hanabi_search_plugin import cli_options as option
from hanabi_search_plugin.cli_distill import parsed, require_torch, tensorboard


def clone(
    data: Annotated[
        Path,
        typer.Option(path_type=Path, metavar="DIR", help="Games of `hanabi-search record`."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            path_type=Path,
            metavar="DIR",
            help="For state.safetensors, metrics.jsonl and model.safetensors; a run that was "
            "stopped goes on from there.",
        ),
    ],
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
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the architecture."),
    ] = None,
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
    evaluation_games: Annotated[
        int, typer.Option(help="Games of the finished network by itself; 0: none.")
    ] = 1000,
    device: Annotated[str, typer.Option(help="As PyTorch names it.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Threads of PyTorch.")] = 1,
) -> None:
    """A network that plays at once what a search would, from what every move was worth to it."""
    torch = require_torch()
    from rich.console import Console

    from hanabi_search_plugin.blueprints.registry import load_policy
    from hanabi_search_plugin.cli_commands import evaluation_table
    from hanabi_search_plugin.cli_run import progress_bar
    from hanabi_search_plugin.evaluation import evaluate
    from hanabi_search_plugin.hanabi.game import HanabiGame
    from hanabi_search_plugin.jit import compile_progress
    from hanabi_search_plugin.networks.clone import Cloning, Run
    from hanabi_search_plugin.networks.policy import network_policy
    from hanabi_search_plugin.require import require_integer

    require_integer("threads", threads, 1)
    require_integer("evaluation-games", evaluation_games, 0)
    settings = Cloning(
        data=str(data),
        games=games,
        held_out="" if held_out is None else str(held_out),
        architecture=architecture,
        options=dict(parsed(text) for text in options or []),
        start=start,
        objective=objective,
        rounds=rounds,
        passes=passes,
        batch=batch,
        rate=rate,
        seed=seed,
    )
    torch.set_num_threads(threads)
    console = Console(highlight=False)
    with compile_progress(console):
        run = Run(settings, out, device=device)
        log = tensorboard(out, run.done)
        with progress_bar(console, "rounds", rounds) as show:
            show(run.done)
            while not run.finished:
                row = run.iterate()
                log(row)
                measured = "".join(
                    f"  {name} {row[name]:{form}}"
                    for name, form in (("gain", "+.4f"), ("changed", ".3f"), ("agreement", ".3f"))
                    if name in row
                )
                console.print(f"{run.done:>5}  loss {row['loss']:.4f}{measured}")
                show(run.done)
        if evaluation_games:
            game, blueprint = HanabiGame(run.about.config), run.about.policy
            player = network_policy(run.network, device=device)
            bot = load_policy(blueprint, run.about.config)
            result = evaluate(game, player, baseline=bot, games=evaluation_games, seed=seed)
            console.print(evaluation_table(result, (str(out),)))
