"""``hanabi-search train rl``: networks by self-play. Imports PyTorch when it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, cast

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs

SAME = (
    "lenient", "iterations", "games", "moves", "epochs", "batch", "rate", "clip", "entropy",
    "trace", "value_weight", "evaluate_every", "sharpen", "seed",
)  # fmt: skip
"""Options that are settings as they are."""


def rl(
    context: typer.Context,
    out: training_runs.Out,
    architecture: Annotated[
        str, typer.Option(metavar="NAME", help="feed-forward, public-lstm, recurrent or masks.")
    ] = "feed-forward",
    options: training_runs.Options = None,
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
        str,
        typer.Option(metavar="NAME", help="Go on from this network: a policy's name, or a file."),
    ] = "",
    sharpen: Annotated[
        float,
        typer.Option(help="Multiply its logits: an imitator's best moves lose less than its rest."),
    ] = 1.0,
    evaluation_games: training_runs.EvaluationGames = 1000,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who plays the same decks, then.  [default: the network of --start]",
        ),
    ] = "",
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
) -> None:
    """A network that learns from its own games alone (PPO), from nothing or from another."""
    console = training_runs.begin(threads, evaluation_games)
    from hanabi_search_plugin.hanabi.engine.config import Bomb, HanabiConfig
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.networks.starting_weights import policy_named
    from hanabi_search_plugin.networks.training.self_play import SelfPlay, SelfPlayRun
    from hanabi_search_plugin.registry import load_policy

    named = context.params
    config = HanabiConfig(
        **{name: named[name] for name in training_runs.GAME}, bomb=cast(Bomb, bomb)
    )
    settings = SelfPlay(
        config=config,
        architecture=architecture,
        options=training_runs.parsed(options),
        start=start,
        **{name: named[name] for name in SAME},
    )
    game = HanabiGame(replace(config, bomb="zero"))
    name = baseline or (policy_named(start) if start else "")
    rival = load_policy(name, game) if name else None

    def line(row: dict[str, float], seconds: float) -> str:
        greedy = f"  greedy {row['greedy_score']:.2f}" if "greedy_score" in row else ""
        return (
            f"score {row['score']:.2f}  bombed {100 * row['bombed']:.1f} %  "
            f"entropy {row['entropy']:.2f}  {games * moves / seconds:,.0f} decisions a second"
            f"{greedy}"
        )

    run = training_runs.to_the_end(
        console, lambda: SelfPlayRun(settings, out, device=device), iterations, line
    )
    training_runs.show_games(
        console, game, run.network, games=evaluation_games, seed=seed, out=out, device=device,
        baseline=rival,
    )  # fmt: skip
