"""``hanabi-search train belief``: what a seat does not see, learned from a policy's games."""

from __future__ import annotations

from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.option_groups import Fields, named_values
from hanabi_search_plugin.core.policy import has_values
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.training.training_settings import BeliefSettings


def belief(
    *,
    out: option.Out,
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
    settings: Annotated[BeliefSettings, Fields(BeliefSettings)],
    config: Annotated[
        HanabiConfig, Fields(HanabiConfig, panel="Game", without=training_runs.NO_RULES)
    ],
    evaluation_games: training_runs.EvaluationGames = 200,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster("chunk_size")],
) -> None:
    """Train to the end, and print how well the model foretells new games."""
    console = training_runs.begin(threads, evaluation_games, device)
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.networks.training.belief_training import BeliefRun, measured
    from hanabi_search_plugin.registry import load_policy

    game = HanabiGame(config)
    blueprint = (load_policy(policy, game),) * game.num_players

    def begun() -> BeliefRun:
        given = named_values(options)
        return BeliefRun(
            game, blueprint, settings, out, name=policy, device=device, options=given,
            executor=executor,
        )  # fmt: skip

    with cluster.players(settings.parts, device) as executor:
        run = training_runs.to_the_end(console, begun, settings.iterations, _line)
    if evaluation_games:
        found = measured(game, blueprint, run.network, evaluation_games, settings.seed)
        console.print(
            f"on {evaluation_games} new games: {found['masked']:.4f} nats a card, grounded "
            f"{found['grounded']:.4f}, without the mask {found['loss']:.4f}"
        )
    cut = "" if has_values(blueprint[0]) else " --depth 0"  # rollouts to the end
    training_runs.show_use(
        console, out, config, options=f"--policy {policy} --search lbs{cut} --belief MODEL",
        python='Learned(load_belief_model("MODEL", GAME))', more=False,
    )  # fmt: skip


def _line(row: dict[str, float], _: float) -> str:
    return (
        f"nats a card {row['masked']:.3f}, grounded {row['grounded']:.3f}, "
        f"without the mask {row['loss']:.3f}"
    )
