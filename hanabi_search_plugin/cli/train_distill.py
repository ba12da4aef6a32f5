"""``hanabi-search train distill``: networks of your own. Imports PyTorch when it runs."""

from __future__ import annotations

from typing import Annotated

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.networks.training.training_settings import Distillation


def distill(
    *,
    out: option.Out,
    settings: Annotated[Distillation, Fields(Distillation, without=training_runs.NO_RULES)],
    evaluation_games: training_runs.EvaluationGames = 1000,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster("chunk_size")],
) -> None:
    """Train to the end, and show the network's own games."""
    console = training_runs.begin(threads, evaluation_games, device)
    from hanabi_search_plugin.networks.training.distillation import DistillationRun

    def line(row: dict[str, float], _: float) -> str:
        return _line(row, settings.policy)

    with cluster.players(settings.parts, device) as executor:
        run = training_runs.to_the_end(
            console, lambda: DistillationRun(settings, out, device=device, executor=executor),
            settings.iterations, line,
        )  # fmt: skip
        training_runs.show_games(
            console, run.game, run.network, games=evaluation_games, seed=settings.seed, out=out,
            device=device, executor=executor,
        )  # fmt: skip
    training_runs.show_use(
        console, out, settings.config, options="--policy network:file=MODEL",
        python='load_policy("network:file=MODEL", GAME)', more=True,
    )  # fmt: skip


def _line(row: dict[str, float], teacher: str) -> str:
    """Whose score it is stands in it: in the first round the teacher makes all the moves."""
    share = row["bot_share"]
    if share == 1:
        whose = f"  ({teacher}'s own play)"
    else:
        whose = f"  ({teacher} makes {100 * share:.0f} % of the moves)" if share > 0 else ""
    return (
        f"loss {row['policy_loss']:.3f}  agreement {row['accuracy']:.3f}  "
        f"score {row['score']:.2f}  bombed {100 * row['bombed']:.1f} %{whose}"
    )
