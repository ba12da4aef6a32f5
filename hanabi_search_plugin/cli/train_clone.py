"""``hanabi-search train clone``: a network that plays as a search does, from recorded searches."""

from __future__ import annotations

from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.networks.training.training_settings import Cloning


def clone(
    *,
    out: option.Out,
    settings: Annotated[Cloning, Fields(Cloning)],
    evaluation_games: training_runs.EvaluationGames = 1000,
    rounds: Annotated[int | None, typer.Option("--rounds", hidden=True)] = None,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster("chunk_size")],
) -> None:
    """Train to the end, and show the network's own games beside the blueprint's."""
    if rounds is not None:  # as it was once called
        raise ConfigError(f"--rounds is --iterations, as in every training, got --rounds {rounds}")
    console = training_runs.begin(threads, evaluation_games, device)
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.networks.training.clone_training import CloneRun
    from hanabi_search_plugin.registry import load_policy

    with cluster.executor(1) as executor:  # whose errors come before the training
        run = training_runs.to_the_end(
            console, lambda: CloneRun(settings, out, device=device), settings.iterations, _line
        )
        game = HanabiGame(run.about.config)
        training_runs.show_games(
            console, game, run.network, games=evaluation_games, seed=settings.seed, out=out,
            device=device, executor=executor, baseline=load_policy(run.about.policy, game),
        )  # fmt: skip
    training_runs.show_use(
        console, out, game.config, options="--policy network:file=MODEL",
        python='load_policy("network:file=MODEL", GAME)', more=True,
    )  # fmt: skip


def _line(row: dict[str, float], _: float) -> str:
    measured = "".join(
        f"  {name} {row[name]:{form}}"
        for name, form in (("gain", "+.4f"), ("changed", ".3f"), ("agreement", ".3f"))
        if name in row
    )
    return f"loss {row['loss']:.4f}{measured}"
