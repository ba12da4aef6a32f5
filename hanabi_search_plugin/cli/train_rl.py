"""``hanabi-search train rl``: networks by self-play. Imports PyTorch when it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import training_runs
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.core.require import require_positive
from hanabi_search_plugin.networks.training.training_settings import SelfPlay


def rl(
    *,
    out: option.Out,
    settings: Annotated[SelfPlay, Fields(SelfPlay, without=training_runs.NO_START)],
    evaluation_games: training_runs.EvaluationGames = 1000,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Who plays the same decks, then, in the network's place. Default: the network of "
            "--start, or the partner.",
        ),
    ] = "",
    max_seconds: training_runs.MaxSeconds = None,
    device: training_runs.Device = "cpu",
    threads: training_runs.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster("chunk_size")],
) -> None:
    """Train to the end, and show the network's own games beside the baseline's."""
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.registry import load_policy

    game = HanabiGame(replace(settings.config, bomb="zero"))
    if baseline:
        load_policy(baseline, game)  # what is wrong with it comes first
    console = training_runs.begin(threads, evaluation_games, device)
    if max_seconds is not None:
        require_positive("max-seconds", max_seconds)
    from hanabi_search_plugin.networks.starting_weights import policy_named
    from hanabi_search_plugin.networks.training.self_play import SelfPlayRun

    partner = load_policy(settings.partner, game) if settings.partner else None
    name = baseline or (policy_named(settings.start) if settings.start else settings.partner or "")
    rival = load_policy(name, game) if name else None
    decisions = settings.games * settings.moves

    def line(row: dict[str, float], seconds: float) -> str:
        greedy = f"  greedy {row['greedy_score']:.2f}" if "greedy_score" in row else ""
        entropy = f"entropy {row['entropy']:.2f}" if "entropy" in row else "the critic learns"
        gpu = f", {row['gpu_gib']:.1f} GiB" if "gpu_gib" in row else ""
        return (
            f"score {row['score']:.2f}  bombed {100 * row['bombed']:.1f} %  "
            f"{entropy}  {decisions / seconds:,.0f} decisions a second, "
            f"{100 * row['playing']:.0f} % playing{gpu}{greedy}"
        )

    with cluster.players(settings.parts, device) as executor:
        run = training_runs.to_the_end(
            console, lambda: SelfPlayRun(settings, out, device=device, executor=executor),
            settings.iterations, line, max_seconds,
        )  # fmt: skip
        if not run.finished:
            return
        training_runs.show_games(
            console, game, run.network, games=evaluation_games, seed=settings.seed, out=out,
            device=device, executor=executor, baseline=rival, partner=partner,
        )  # fmt: skip
    others = f"{settings.partner}," * (game.num_players - 1) if settings.partner else ""
    training_runs.show_use(
        console, out, settings.config, options=f"--policy {others}network:file=MODEL",
        python='load_policy("network:file=MODEL", GAME)', more=True,
    )  # fmt: skip
