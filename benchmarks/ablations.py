"""What each part of a ``public-belief`` network is worth (docs/results/self_play.md).

python -m benchmarks.ablations run --minutes 60    # goes on where it stopped
python -m benchmarks.ablations colors              # does beliefnet tell colours apart?
python -m benchmarks.ablations page                # the table

A row is the network as it is but for one thing, that learns 2-player Hanabi from nothing by
self-play for the same CPU time, by three seeds. ``run`` measures what a round of each costs, and
then gives each as many rounds as fit.
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error, with_error
from benchmarks.pages import fill, read_results, rewrite, write_results
from hanabi_search_plugin import HanabiConfig, HanabiGame, Policy, evaluate, load_policy
from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.core.policy import take
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.layout import HANDS
from hanabi_search_plugin.networks.nets.public_belief_net import PublicBeliefNet
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.training.self_play import SelfPlayRun
from hanabi_search_plugin.networks.training.training_settings import SelfPlay

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "self-play" / "ablations.json"
PAGE = ROOT / "docs" / "results" / "self_play.md"
SECONDS = 720  # CPU time of a training
TIMED = 6  # rounds that tell what one costs; the first is not counted
SEEDS = (0, 1, 2)
GAMES = 5_000  # of a finished network

app = CommandLine(__doc__)
console = Console(highlight=False)


@dataclass(frozen=True)
class Variant:
    """One row: other settings of ``train rl``, or a part of the network that is left out."""

    name: str
    label: str
    settings: dict[str, Any] = field(default_factory=dict)
    without: str = ""

    def run(self, rounds: int, seed: int, folder: Path) -> SelfPlayRun:
        """The training, from where ``folder`` has it; settings as those of ``from-nothing``."""
        usual: dict[str, Any] = {
            "games": 512, "moves": 32, "batch": 2048, "epochs": 3, "rate": 0.001,
            "belief_rate": 0.0015, "entropy": 0.02, "entropy_end": 0.001, "lenient": 0.1,
        }  # fmt: skip
        settings = SelfPlay(
            config=HanabiConfig(), architecture="public-belief", iterations=rounds, seed=seed,
            evaluate_every=rounds, **usual | self.settings,
        )  # fmt: skip
        run = SelfPlayRun(settings, folder)
        if self.without:
            leave_out(self.without, run.network)
        return run


def _sized(factor: float) -> dict[str, Any]:
    usual = {"hidden": 256, "context": 128, "scorer": 128, "cell": 128}
    return {"options": {name: int(factor * size) for name, size in usual.items()}}


VARIANTS = (
    Variant("usual", "as it is"),
    Variant("no-decay", "beliefs that never decay", without="decay"),
    Variant("no-foresight", "hints by what they say alone", without="foresight"),
    Variant("entropy-0.05", "entropy 0.05 at first, in place of 0.02", {"entropy": 0.05}),
    Variant("no-critic", "without the central critic", {"central_critic": False}),
    Variant("half", "layers of half the size", _sized(0.5)),
    Variant("double", "layers of twice the size", _sized(2)),
)


def leave_out(part: str, network: Any) -> None:
    """Let a network learn without one of its parts.

    "decay" is the cell's factor of log W, which stays 1. "foresight" is what a hint's receiver
    would make of it: hints are judged by the identities that they leave.
    """
    assert isinstance(network, PublicBeliefNet)
    if part == "decay":
        for parameter in (network.cell.weights.weight, network.cell.weights.bias):
            kept = torch.ones_like(parameter)
            kept[-1] = 0  # that row is 0 at first, and learns nothing
            parameter.register_hook(lambda gradient, kept=kept: gradient * kept)
    else:
        network.__dict__["_after"] = lambda look, before, open_, free, told, hit: told
        network.__dict__["decide"] = network.decide_by_tensors  # compiled code would foresee


def costs_of_a_round() -> dict[str, float]:
    """Median CPU seconds of a few rounds of each variant, which take turns."""
    seconds: dict[str, list[float]] = {variant.name: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        runs = {each.name: each.run(1_000, 0, Path(folder) / each.name) for each in VARIANTS}
        for _ in range(TIMED):
            for name, training in runs.items():
                began = time.process_time()
                training.iterate()
                seconds[name].append(time.process_time() - began)
    return {name: round(statistics.median(each[1:]), 3) for name, each in seconds.items()}


@app.command()
def run(
    minutes: Annotated[float, typer.Option(help="Begin nothing after so many; 0: no end.")] = 0,
    folder: Annotated[Path, typer.Option(help="Where trainings are kept.")] = ROOT
    / "runs"
    / "ablations",
) -> None:
    """Train and measure what is missing, all rows of a seed before the next one."""
    logging.basicConfig(level=logging.ERROR)
    torch.set_num_threads(1)
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    content = read_results(RESULTS)
    if "seconds_a_round" not in content:
        content["seconds_a_round"] = costs_of_a_round()
        write_results(RESULTS, content)
    for seed in SEEDS:
        for variant in VARIANTS:
            key = f"{variant.name}/{seed}"
            if key in content.setdefault("rows", {}):
                continue
            rounds = round(SECONDS / content["seconds_a_round"][variant.name])
            training = variant.run(rounds, seed, folder / key.replace("/", "-"))
            while not training.finished:
                if time.monotonic() >= end:
                    return
                training.iterate()
            content["rows"][key] = measured(training) | {"rounds": rounds}
            write_results(RESULTS, content)
            console.print(key, content["rows"][key], markup=False)


def measured(training: SelfPlayRun) -> dict[str, Any]:
    """Self-play without chance, a lost game counts 0, on decks that are always the same."""
    game = HanabiGame(players=2, bomb="zero")
    found = evaluate(game, network_policy(training.network), games=GAMES, seed=1)
    return {
        "score": mean_and_error(found.scores),
        "perfect": float((found.scores == 25).mean()),
        "cpu_seconds": round(training.seconds, 1),
    }


@app.command()
def colors(policy: str = "beliefnet", games: int = 1_000, seed: int = 1) -> None:
    """How many decisions stay the same when all colours are renamed."""
    game = HanabiGame(players=2, bomb="zero")
    same = np.array(list(_renamed(game, load_policy(policy, game), games, seed)))
    content = read_results(RESULTS)
    content["colors"] = {
        "policy": policy,
        "games": games,
        "decisions": int(same[:, 1].sum()),
        "same": float(same[:, 0].sum() / same[:, 1].sum()),
    }
    write_results(RESULTS, content)
    console.print(content["colors"])


def _renamed(game: HanabiGame, policy: Policy, games: int, seed: int) -> Iterator[tuple[int, int]]:
    """By turn, of how many decisions how many are the same with colours in another order.

    Each game has an order of its own. The policy decides what is played; beside it a copy of the
    game with other colours is played on by the same moves, renamed.
    """
    rng = np.random.default_rng(seed)
    config = game.config
    worlds, streams = game.deal(rng, games), Streams.spawn(rng, games)
    order = np.argsort(rng.random((games, config.colors)), axis=1)
    other = worlds.select(np.arange(games))
    _rename_cards(other.rows, order, config)
    seats = (policy,) * config.players
    memories, there = start_memories(worlds, seats), start_memories(other, seats)
    while True:
        actor = worlds.current_player
        moves = choose(worlds, seats, memories, streams)
        renamed = _rename_moves(moves, order, config)
        yield int((choose(other, seats, there, streams) == renamed).sum()), len(moves)
        worlds.step(moves)
        other.step(renamed)
        on = np.flatnonzero(~worlds.terminal)
        if not len(on):
            return
        worlds, other, streams = worlds.select(on), other.select(on), streams.select(on)
        memories, there = (tuple(take(m, on) for m in each) for each in (memories, there))
        actor, moves, renamed, order = actor[on], moves[on], renamed[on], order[on]
        memories = observe_all(worlds, actor, moves, seats, memories)
        there = observe_all(other, actor, renamed, seats, there)


def _rename_cards(rows: NDArray[np.int32], order: IntArray, config: HanabiConfig) -> None:
    """Give the cards of hands and deck other colours, before the first move."""
    cards = config.players * config.hand_size
    for words in (slice(HANDS, HANDS + cards), slice(HANDS + 2 * cards, None)):
        colors, ranks = np.divmod(rows[:, words], config.ranks)
        renamed = np.take_along_axis(order, np.minimum(colors, config.colors - 1), 1)
        known = colors < config.colors  # the rest marks places without a card
        rows[:, words] = np.where(known, renamed * config.ranks + ranks, rows[:, words])


def _rename_moves(moves: IntArray, order: IntArray, config: HanabiConfig) -> IntArray:
    """The moves with their colours in another order; 2 players."""
    color = moves - 2 * config.hand_size
    hints = (color >= 0) & (color < config.colors)
    renamed = order[np.arange(len(moves)), np.where(hints, color, 0)]
    return np.where(hints, 2 * config.hand_size + renamed, moves)


@app.command(name="page")
def write_page() -> None:
    """Write what was measured into docs/results/self_play.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    return fill(text, {"ablations": table()})


def table() -> Iterable[str]:
    """Markdown: a line a variant that was measured."""
    rows = read_results(RESULTS).get("rows", {})
    yield "| network | rounds | score by seed | mean | perfect |"
    yield "|---|---|---|---|---|"
    for variant in VARIANTS:
        found = [rows[key] for seed in SEEDS if (key := f"{variant.name}/{seed}") in rows]
        if not found:
            continue
        scores = [row["score"][0] for row in found]
        perfect = statistics.mean(row["perfect"] for row in found)
        by_seed = ", ".join(f"{score:.2f}" for score in scores)
        yield (
            f"| {variant.label} | {found[0]['rounds']} | {by_seed} | {with_error(scores)} "
            f"| {perfect:.1%} |"
        )


if __name__ == "__main__":
    app()
