"""Measure how far networks get by self-play, from runs of ``train rl`` (docs/results/self_play.md).

python -m benchmarks.self_play keep NAME RUN   # a run's curve, and its network measured
python -m benchmarks.self_play speed           # decisions a second of the full game
python -m benchmarks.self_play page            # its page and figure from what was kept
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error
from benchmarks.networks import seat_values_of
from benchmarks.pages import fill, rewrite
from hanabi_search_plugin import HanabiConfig, HanabiGame, evaluate, load_policy
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.networks.checkpoint import load_network
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.training.self_play import SelfPlayRun
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL
from hanabi_search_plugin.networks.training.training_settings import SelfPlay

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "results" / "self-play"
PAGE = ROOT / "docs" / "results" / "self_play.md"
LINES = 10  # of a curve
VALUED = 1_000  # games on which values are measured
STEPS = 1e9, 1e10  # decisions that the records of others needed
TIMED = 2  # rounds after the first, of which the speed is the median

app = CommandLine(__doc__)
console = Console(highlight=False)


@app.command()
def keep(
    name: str,
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    baseline: Annotated[str, typer.Option(help="Who plays the same decks.")] = "smartbot",
    games: int = 10_000,
    seed: int = 1,
) -> None:
    """Keep the rounds of a run at which it played without chance, and measure its network."""
    loaded = load_network(run / MODEL)
    game = HanabiGame(replace(loaded.network.config, bomb="zero"))
    policy = network_policy(loaded.network)
    rival = load_policy(baseline, game)
    result = evaluate(game, policy, games=games, seed=seed, baseline=rival)
    rows = [json.loads(line) for line in (run / METRICS).read_text().splitlines()]
    spent = np.cumsum([row["seconds"] for row in rows]).tolist()
    curve = [
        {key: round(row[key], 4) for key in ("decisions", "greedy_score", "greedy_bombed")}
        | {"cpu_seconds": round(seconds, 1)}
        for row, seconds in zip(rows, spent, strict=True)
        if "greedy_score" in row
    ]
    content = {
        "run": loaded.training,
        "parameters": sum(parameter.numel() for parameter in loaded.network.parameters()),
        "baseline": baseline,
        "games": games,
        "seed": seed,
        "score": mean_and_error(result.scores),
        "baseline_score": mean_and_error(result.blueprint_scores),
        "gain": mean_and_error(result.scores - result.blueprint_scores),
        "lost": round(float(result.to_dict()["bombs"]), 5),
        "value_error": _value_error(game, policy, seed),
        "curve": curve,
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    with atomic_write(KEPT / f"{name}.json") as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")
    console.print({key: value for key, value in content.items() if key != "curve"})


def _value_error(game: HanabiGame, policy: Any, seed: int) -> dict[str, float]:
    """Root mean square error of the seats' mean value, and of the mean at each turn."""
    found = seat_values_of(game, policy, VALUED, np.random.default_rng(seed))
    values, return_to_go, turn, _ = found
    means = np.bincount(turn, return_to_go) / np.maximum(np.bincount(turn), 1)
    errors = {"said": values.mean(axis=1) - return_to_go, "turn": means[turn] - return_to_go}
    return {key: round(float(np.sqrt((error**2).mean())), 4) for key, error in errors.items()}


@app.command()
def speed(games: int = 64, moves: int = 32) -> None:
    """Decisions a second of one thread's CPU time, played and learned from four times."""
    torch.set_num_threads(1)
    found = {}
    for architecture in ("feed-forward", "public-lstm", "masks"):
        settings = SelfPlay(
            config=HanabiConfig(), architecture=architecture, games=games, moves=moves,
            iterations=TIMED + 2, evaluate_every=TIMED + 2,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            run, seconds = SelfPlayRun(settings, folder), []
            for _ in range(TIMED + 1):
                began = time.process_time()
                run.iterate()
                seconds.append(time.process_time() - began)
        found[architecture] = round(games * moves / float(np.median(seconds[1:])))
        console.print(architecture, found[architecture])
    KEPT.mkdir(parents=True, exist_ok=True)
    with atomic_write(KEPT / "speed.json") as file:
        file.write(json.dumps(found, indent=1).encode() + b"\n")


@app.command(name="page")
def write_page() -> None:
    """Write what was kept into docs/results/self_play.md, and draw its figure."""
    rewrite(PAGE, page)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    small = {name: kept for name, kept in _kept().items() if name.startswith("small-")}
    for kept in small.values():
        curve = kept["curve"]
        decisions = [row["decisions"] / 1e6 for row in curve]
        label = kept["run"]["architecture"]
        axes.plot(decisions, [row["greedy_score"] for row in curve], label=label)
    score = next(iter(small.values()))["baseline_score"][0]
    axes.axhline(score, linestyle=":", color="grey", label="smartbot")
    axes.set_xlabel("million decisions")
    axes.set_ylabel("score without chance, a lost game counts 0")
    axes.legend()
    with atomic_write(KEPT / "curves.png") as file:
        figure.savefig(file, format="png", dpi=120)


def page(text: str) -> str:
    """docs/results/self_play.md with its tables made anew."""
    kept = _kept()
    sections: dict[str, Iterable[str]] = {
        f"curve of {name}": _curve(each["curve"])
        for name, each in kept.items()
        if f"<!-- curve of {name} -->" in text
    }
    small = {name: each for name, each in kept.items() if name.startswith("small-")}
    sections |= {"networks": _networks(small.values()), "speed": _speed()}
    return fill(text, sections)


def _kept() -> dict[str, dict[str, Any]]:
    files = sorted(KEPT.glob("*.json"))
    return {path.stem: json.loads(path.read_text()) for path in files if path.stem != "speed"}


def _networks(kept: Iterable[dict[str, Any]]) -> Iterable[str]:
    yield (
        "| network | parameters | million decisions | CPU minutes | score | "
        "more than SmartBot | lost games | value's error | of the mean at each turn |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for each in kept:
        run, last, error = each["run"], each["curve"][-1], each["value_error"]
        score, gain = ("{:.3f} ± {:.3f}".format(*each[key]) for key in ("score", "gain"))
        yield (
            f"| `{run['architecture']}` | {each['parameters']:,} | {last['decisions'] / 1e6:.1f} | "
            f"{run['cpu_seconds'] / 60:.1f} | {score} | {gain} | {each['lost']:.1%} | "
            f"{error['said']:.2f} | {error['turn']:.2f} |"
        )


def _curve(curve: list[dict[str, float]]) -> Iterable[str]:
    yield "| thousand decisions | CPU seconds | score without chance | lost games |"
    yield "|---|---|---|---|"
    at = np.unique(np.geomspace(1, len(curve), min(LINES, len(curve))).round().astype(int))
    for index in at.tolist():
        row = curve[index - 1]
        yield (
            f"| {row['decisions'] / 1e3:,.0f} | {row['cpu_seconds']:,.0f} | "
            f"{row['greedy_score']:.2f} | {row['greedy_bombed']:.1%} |"
        )


def _speed() -> Iterable[str]:
    yield "| network | decisions a CPU second | CPU days for 10⁹ | for 10¹⁰ |"
    yield "|---|---|---|---|"
    for name, each in json.loads((KEPT / "speed.json").read_text()).items():
        days = " | ".join(f"{steps / each / 86400:,.1f}" for steps in STEPS)
        yield f"| `{name}` | {each:,} | {days} |"


if __name__ == "__main__":
    app()
