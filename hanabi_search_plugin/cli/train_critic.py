"""``hanabi-search train critic``: what a network's play brings, for lbs. PyTorch when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.networks.training.training_settings import CriticSettings

if TYPE_CHECKING:
    from rich.console import Console

NAMES = {"critic": "the critic", "values": "its own values", "constant": "the mean at each turn"}


def critic(
    *,
    out: option.Out,
    settings: Annotated[CriticSettings, Fields(CriticSettings, without=training_runs.NO_RULES)],
    evaluation_games: training_runs.EvaluationGames = 2000,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster("chunk_size")],
) -> None:
    """Train to the end, and print how far the critic is off."""
    console = training_runs.begin(threads, evaluation_games, device)
    from hanabi_search_plugin.networks.training.critic_training import CriticRun, measured

    with cluster.players(settings.parts, device) as executor:
        run = training_runs.to_the_end(
            console, lambda: CriticRun(settings, out, device=device, executor=executor),
            settings.iterations, _line,
        )  # fmt: skip
    if evaluation_games:
        found = measured(
            run.game, run.policy, run.network, evaluation_games, settings.noise, settings.seed
        )
        _show(console, found["all"], evaluation_games)
    training_runs.show_use(
        console, out, settings.config,
        options="--policy network:file=MODEL --search sparta --depth 4",
        python='load_policy("network:file=MODEL", GAME)', more=False,
    )  # fmt: skip


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
