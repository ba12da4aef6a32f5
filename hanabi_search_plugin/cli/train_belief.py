"""``hanabi-search train belief``: what a seat does not see, learned from a policy's games."""

from __future__ import annotations

from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs


def belief(
    context: typer.Context,
    out: training_runs.Out,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="Whose games, of every seat.")
    ] = "smartnet",
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Of the network: hidden, decoder, embedding, lstm_layers; encoding (belief-1, "
            "v0-1, status-1); listener, a policy whose masks it reads, too.",
        ),
    ] = None,
    players: option.Players = 2,
    colors: option.Colors = 5,
    ranks: option.Ranks = 5,
    hand_size: option.HandSize = 0,
    information_tokens: option.InformationTokens = 8,
    life_tokens: option.LifeTokens = 3,
    iterations: Annotated[int, typer.Option(help="Rounds of playing and learning.")] = 300,
    games: Annotated[int, typer.Option(help="New games a round.")] = 120,
    keep: Annotated[int, typer.Option(help="Rounds whose games are learned from.")] = 10,
    steps: Annotated[int, typer.Option(help="Steps a round.")] = 20,
    batch: Annotated[int, typer.Option(help="One seat's games in a step.")] = 32,
    rate: Annotated[float, typer.Option(help="Of learning, at first.")] = 2e-3,
    seed: option.Seed = 0,
    evaluation_games: Annotated[
        int, typer.Option(help="New games on which the finished model is measured; 0: none.")
    ] = 200,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
) -> None:
    """A model of a seat's own cards, from a stream of games of a policy, for lbs."""
    console = training_runs.begin(threads, evaluation_games)
    from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.networks.training.belief_training import (
        BeliefRun,
        BeliefSettings,
        measured,
    )
    from hanabi_search_plugin.registry import load_policy

    settings = BeliefSettings(
        iterations=iterations, games=games, keep=keep, steps=steps, batch=batch, rate=rate,
        seed=seed,
    )  # fmt: skip
    game = HanabiGame(HanabiConfig(**{name: context.params[name] for name in training_runs.GAME}))
    blueprint = (load_policy(policy, game),) * game.num_players

    def begun() -> BeliefRun:
        given = training_runs.parsed(options)
        return BeliefRun(game, blueprint, settings, out, name=policy, device=device, options=given)

    run = training_runs.to_the_end(console, begun, iterations, _line)
    if evaluation_games:
        found = measured(game, blueprint, run.network, evaluation_games, seed)
        console.print(
            f"on {evaluation_games} new games: {found['masked']:.4f} nats a card, grounded "
            f"{found['grounded']:.4f}, without the mask {found['loss']:.4f}"
        )


def _line(row: dict[str, float], _: float) -> str:
    return (
        f"nats a card {row['masked']:.3f}, grounded {row['grounded']:.3f}, "
        f"without the mask {row['loss']:.3f}"
    )
