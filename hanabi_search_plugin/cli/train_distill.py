"""``hanabi-search train distill``: networks of your own. Imports PyTorch when it runs."""

from __future__ import annotations

from typing import Annotated

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.networks.training.training_settings import Distillation


def distill(
    *,
    out: option.Out,
    settings: Annotated[Distillation, Fields(Distillation, without=training_runs.NO_RULES)],
    evaluation_games: training_runs.EvaluationGames = 1000,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
) -> None:
    """Train to the end, and show the network's own games."""
    console = training_runs.begin(threads, evaluation_games)
    from hanabi_search_plugin.networks.training.distillation import DistillationRun

    run = training_runs.to_the_end(
        console, lambda: DistillationRun(settings, out, device=device), settings.iterations, _line
    )
    training_runs.show_games(
        console, run.game, run.network, games=evaluation_games, seed=settings.seed, out=out,
        device=device,
    )  # fmt: skip


def _line(row: dict[str, float], _: float) -> str:
    return (
        f"loss {row['policy_loss']:.3f}  agreement {row['accuracy']:.3f}  "
        f"score {row['score']:.2f}  bombed {100 * row['bombed']:.1f} %"
    )
