"""``hanabi-search train rl``: networks by self-play. Imports PyTorch when it runs."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from hanabi_search_plugin import cli_options as option
from hanabi_search_plugin.cli_distill import GAME, parsed, require_torch, tensorboard

SAME = (
    "lenient", "iterations", "games", "moves", "epochs", "batch", "rate", "clip", "entropy",
    "trace", "value_weight", "evaluate_every", "seed",
)  # fmt: skip
"""Options that are settings as they are."""


def rl(
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
    architecture: Annotated[
        str, typer.Option(metavar="NAME", help="feed-forward, public-lstm, recurrent or masks.")
    ] = "feed-forward",
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
    bomb: option.BombOption = "zero",
    lenient: Annotated[
        float | None,
        typer.Option(
            help="Share of the run in which a lost game comes to count by that rule; at first it "
            "keeps its points.  [default: 0.5; 0 with --start]"
        ),
    ] = None,
    iterations: Annotated[int, typer.Option(help="Rounds of playing and learning.")] = 1000,
    games: Annotated[int, typer.Option(help="Games side by side.")] = 256,
    moves: Annotated[int, typer.Option(help="Moves of each game, a round.")] = 32,
    epochs: Annotated[int, typer.Option(help="How often a decision is learned from.")] = 4,
    batch: Annotated[int, typer.Option(help="Decisions of a step.")] = 2048,
    rate: Annotated[float, typer.Option(help="Of learning, at first.")] = 5e-4,
    clip: Annotated[float, typer.Option(help="How far a ratio of chances may go from 1.")] = 0.2,
    entropy: Annotated[float, typer.Option(help="Weight of the policy's entropy.")] = 0.01,
    trace: Annotated[float, typer.Option(help="Lambda of advantages and returns.")] = 0.95,
    value_weight: Annotated[
        float, typer.Option(help="Of the losses of values beside the policy's.")
    ] = 0.5,
    evaluate_every: Annotated[
        int, typer.Option(help="Rounds between games played without chance, for the curve.")
    ] = 50,
    seed: option.Seed = 0,
    start: Annotated[
        Path | None,
        typer.Option(path_type=Path, metavar="FILE", help="Go on from this network."),
    ] = None,
    evaluation_games: Annotated[
        int, typer.Option(help="Games of the finished network by itself; 0: none.")
    ] = 1000,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who plays the same decks, then.  [default: the network of --start]",
        ),
    ] = "",
    device: Annotated[str, typer.Option(help="As PyTorch names it.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Threads of PyTorch.")] = 1,
) -> None:
    """A network that learns from its own games alone (PPO), from nothing or from another."""
    torch = require_torch()
    from rich.console import Console

    from hanabi_search_plugin.blueprints.registry import load_policy
    from hanabi_search_plugin.cli_commands import evaluation_table
    from hanabi_search_plugin.cli_run import progress_bar
    from hanabi_search_plugin.evaluation import evaluate
    from hanabi_search_plugin.hanabi.config import Bomb, HanabiConfig
    from hanabi_search_plugin.hanabi.game import HanabiGame
    from hanabi_search_plugin.jit import compile_progress
    from hanabi_search_plugin.networks.policy import network_policy
    from hanabi_search_plugin.networks.self_play import SelfPlay, SelfPlayRun
    from hanabi_search_plugin.require import require_integer

    require_integer("threads", threads, 1)
    require_integer("evaluation-games", evaluation_games, 0)
    named = context.params
    config = HanabiConfig(**{name: named[name] for name in GAME}, bomb=cast(Bomb, bomb))
    settings = SelfPlay(
        config=config,
        architecture=architecture,
        options=dict(parsed(text) for text in options or []),
        start="" if start is None else str(start),
        **{name: named[name] for name in SAME},
    )
    game = HanabiGame(replace(config, bomb="zero"))
    name = baseline or (f"network:file={start}" if start is not None else "")
    rival = load_policy(name, game.config) if name else None
    torch.set_num_threads(threads)
    console = Console(highlight=False)
    run = SelfPlayRun(settings, out, device=device)
    log = tensorboard(out, run.done)
    with compile_progress(console), progress_bar(console, "iterations", iterations) as show:
        show(run.done)
        while not run.finished:
            began = time.perf_counter()
            row = run.iterate()
            log(row)
            speed = games * moves / (time.perf_counter() - began)
            console.print(line(row, speed), soft_wrap=True)
            show(run.done)
    if evaluation_games:
        player = network_policy(run.network, device=device)
        result = evaluate(game, player, games=evaluation_games, seed=seed, baseline=rival)
        console.print(evaluation_table(result, (str(out),)))


def line(row: dict[str, Any], speed: float) -> str:
    """A round on the terminal."""
    greedy = f"  greedy {row['greedy_score']:.2f}" if "greedy_score" in row else ""
    return (
        f"{row['iteration']:>5}  score {row['score']:.2f}  bombed {100 * row['bombed']:.1f} %  "
        f"entropy {row['entropy']:.2f}  {speed:,.0f} decisions a second{greedy}"
    )
