"""``hanabi-search train distill``: networks of your own. Imports PyTorch when it runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from hanabi_search_plugin import cli_options as option
from hanabi_search_plugin.errors import ConfigError, UnsupportedError

GAME = ("players", "colors", "ranks", "hand_size", "information_tokens", "life_tokens")


def distill(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Option(
            path_type=Path,
            metavar="DIR",
            help="For state.safetensors, metrics.jsonl and model.safetensors; a run that was "
            "stopped goes on from there.",
        ),
    ],
    policy: Annotated[str, typer.Option(metavar="NAME", help="The compiled bot.")] = "smartbot",
    architecture: Annotated[
        str, typer.Option(metavar="NAME", help="masks, public-lstm, feed-forward or recurrent.")
    ] = "masks",
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the architecture."),
    ] = None,
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
        Path | None,
        typer.Option(
            path_type=Path,
            metavar="FILE",
            help="Go on from this network, which then plays all moves from the first round.",
        ),
    ] = None,
    evaluation_games: Annotated[
        int, typer.Option(help="Games of the finished network by itself; 0: none.")
    ] = 1000,
    device: Annotated[str, typer.Option(help="As PyTorch names it.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Threads of PyTorch.")] = 1,
) -> None:
    """A network that plays as a compiled bot does, on the games it plays itself."""
    torch = require_torch()
    from rich.console import Console

    from hanabi_search_plugin.cli_commands import evaluation_table
    from hanabi_search_plugin.cli_run import progress_bar
    from hanabi_search_plugin.evaluation import evaluate
    from hanabi_search_plugin.hanabi.config import HanabiConfig
    from hanabi_search_plugin.jit import compile_progress
    from hanabi_search_plugin.networks.distill import Distillation, Run
    from hanabi_search_plugin.networks.policy import network_policy
    from hanabi_search_plugin.require import require_integer

    require_integer("threads", threads, 1)
    require_integer("evaluation-games", evaluation_games, 0)
    named = context.params
    settings = Distillation(
        policy=policy,
        config=HanabiConfig(**{name: named[name] for name in GAME}),
        architecture=architecture,
        options=dict(parsed(text) for text in options or []),
        iterations=iterations,
        games=games,
        epochs=epochs,
        batch=batch,
        rate=rate,
        value_weight=value_weight,
        seed=seed,
        start="" if start is None else str(start),
    )
    torch.set_num_threads(threads)
    console = Console(highlight=False)
    run = Run(settings, out, device=device)
    log = tensorboard(out, run.done)
    with compile_progress(console), progress_bar(console, "iterations", iterations) as show:
        show(run.done)
        while not run.finished:
            row = run.iterate()
            log(row)
            console.print(
                f"{run.done:>5}  loss {row['policy_loss']:.3f}  agreement {row['accuracy']:.3f}  "
                f"score {row['score']:.2f}  bombed {100 * row['bombed']:.1f} %"
            )
            show(run.done)
    if evaluation_games:
        player = network_policy(run.network, device=device)
        result = evaluate(run.game, player, games=evaluation_games, seed=seed)
        console.print(evaluation_table(result, (str(out),)))


def parsed(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as JSON where it is any."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"set must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def tensorboard(folder: Path, done: int) -> Callable[[dict[str, float]], None]:
    """A function that logs a line of metrics for TensorBoard, where that is installed.

    What was logged of iterations after the ``done`` first is hidden: they are done again.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return lambda row: None
    writer = SummaryWriter(str(folder), purge_step=done + 1)

    def log(row: dict[str, float]) -> None:
        for name, value in row.items():
            writer.add_scalar(name, value, int(row["iteration"]))
        writer.flush()

    return log


def require_torch() -> Any:
    """The module; raises UnsupportedError where it is missing."""
    try:
        import safetensors  # noqa: F401
        import torch
    except ImportError:
        raise UnsupportedError(
            'training needs PyTorch: pip install "hanabi-search-plugin[torch]"'
        ) from None
    return torch
