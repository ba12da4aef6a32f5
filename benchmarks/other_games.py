"""Measure SPARTA on games that are not standard Hanabi, paired (docs/results/other_games.md).

python -m benchmarks.other_games measure               # every row, resumable
python -m benchmarks.other_games profile               # beside the calls of OpenSpiel's hanabi
python -m benchmarks.other_games tables                # its page from what was measured
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks import bridge_cost, openspiel_profile
from benchmarks.command_line import CommandLine
from benchmarks.hanabi_optimum import Optimum
from benchmarks.other_games_blueprints import (
    AlwaysTheSame,
    Mumbling,
    OwnHand,
    Solved,
    ToTheBigBox,
    q_learning,
)
from benchmarks.pages import figures_of, fill, read_results, rewrite, write_results
from hanabi_search_plugin import (
    Game,
    HanabiGame,
    Sparta,
    UniformPolicy,
    View,
    evaluate,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core import Blueprint, MakeBelief
from hanabi_search_plugin.core.policy import as_blueprint
from hanabi_search_plugin.evaluation.provenance import describe, versions
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "other-games.json"
PAGE = ROOT / "docs" / "results" / "other_games.md"
PARTICLES = 200
SOLVED = "the best joint policy"
TRAINING_SEED = 1


@dataclass(frozen=True)
class Setting:
    """A game, what is known of its best score, and what may be played there."""

    game: Game
    optimum: Callable[[], float] | None  # of the best joint policy
    bound: float  # what no joint policy can exceed
    known: str  # where these come from
    blueprints: dict[str, Callable[[], Any]]
    rollouts: int
    games: int = 1000
    threshold: float = 0.05
    belief: MakeBelief | None = None
    one_seat: tuple[str, ...] = ()  # blueprints that only one seat searches over

    def line_ups(self, blueprint: str) -> tuple[tuple[int, ...], ...]:
        """The seats that search, a row each."""
        if blueprint == SOLVED:
            return ((),)
        return ((0,),) if blueprint in self.one_seat else ((0,), (0, 1))


def particles(blueprint: Blueprint, view: View) -> ParticleBelief:
    """A belief that is the same for the same first view."""
    rng = np.random.default_rng(0)
    return ParticleBelief.start(view.game, blueprint, view, particles=PARTICLES, rng=rng)


def best_contracts() -> float:
    """tiny_bridge_2p: the mean of the best contract of every deal, seen by both."""

    def best(state: Any) -> float:
        if state.is_terminal():
            return float(state.returns()[0])
        return max(best(state.child(action)) for action in state.legal_actions())

    worlds, chance = TINY_BRIDGE.deals()
    return float(sum(p * best(state) for state, p in zip(worlds.states, chance, strict=True)))


def small_hanabi(game: HanabiGame) -> Setting:
    best = Optimum(game.config)
    solved = partial(Solved, best)
    scripted = {name: partial(load_policy, name, game) for name in ("random", "smartbot", "iggi")}
    return Setting(
        game, lambda: best.value, game.config.max_score, "solved exactly",
        scripted | {SOLVED: solved},
        rollouts=10_000,
    )  # fmt: skip


def turn_based(name: str) -> OpenSpielGame:
    return OpenSpielGame(f"turn_based_simultaneous_game(game={name})")


TINY_HANABI = OpenSpielGame("tiny_hanabi")
TINY_BRIDGE = OpenSpielGame("tiny_bridge_2p")
TRADE = OpenSpielGame("trade_comm")
BOXES = turn_based("coop_box_pushing(horizon=20)")
HANABI_3 = HanabiGame(
    players=2, colors=1, ranks=3, hand_size=1, information_tokens=2, life_tokens=1
)
HANABI_22 = HanabiGame(
    players=2, colors=2, ranks=2, hand_size=1, information_tokens=1, life_tokens=1
)
SETTINGS = {
    "tiny_hanabi": Setting(
        TINY_HANABI, lambda: 10.0, 10.0, "the highest payoff, which a convention reaches",
        {
            "uniform": UniformPolicy,
            "always the same": AlwaysTheSame,
            "q-learning, 200 episodes": partial(q_learning, TINY_HANABI, 200, TRAINING_SEED),
        },
        rollouts=3_000,
    ),
    "tiny_bridge_2p": Setting(
        TINY_BRIDGE, None, best_contracts(), "the best contract of every deal, seen by both",
        {
            "uniform": UniformPolicy,
            "own hand": OwnHand,
            "q-learning, 20,000 episodes": partial(q_learning, TINY_BRIDGE, 20_000, TRAINING_SEED),
        },
        rollouts=2_000,
    ),
    "trade_comm": Setting(
        TRADE, lambda: 1.0, 1.0, "each says its item",
        {"uniform": UniformPolicy, "mumbling": Mumbling},
        rollouts=10_000, games=400, one_seat=("uniform",),
    ),
    "coop_box_pushing(horizon=20)": Setting(
        BOXES, None, 119.2, "all boxes, the big one in eight steps",
        {"uniform": UniformPolicy, "to the big box": ToTheBigBox},
        rollouts=400, games=200, belief=particles, one_seat=("uniform",),
    ),
    "hanabi, 1 colour, 3 ranks": small_hanabi(HANABI_3),
    "hanabi, 2 colours, 2 ranks": small_hanabi(HANABI_22),
}  # fmt: skip
ROWS = [
    (name, blueprint, seats)
    for name, setting in SETTINGS.items()
    for blueprint in setting.blueprints
    for seats in setting.line_ups(blueprint)
]

PROFILED = [
    (name, rollouts)
    for name in (openspiel_profile.FULL, openspiel_profile.SMALL)
    for rollouts in (1_000, 5_000)
]

app = CommandLine(__doc__)
console = Console(highlight=False)


@app.command()
def measure(
    games: Annotated[int, typer.Option(help="Games a row; 0: as the row says.")] = 0,
    seed: int = 11,
    threads: Annotated[int, typer.Option(help="Threads.")] = 1,
    only: Annotated[str, typer.Option(help="Rows whose name contains this; default: all.")] = "",
    folder: Annotated[Path, typer.Option(help="Where finished games are kept.")] = ROOT / "runs",
) -> None:
    """Every row: the same deals and chance without search and with it."""
    logging.basicConfig(level=logging.ERROR)
    folder.mkdir(exist_ok=True)
    for name, label, seats in ROWS:
        key = row_key(name, label, seats)
        if only not in key:
            continue
        setting = SETTINGS[name]
        blueprint = as_blueprint(setting.blueprints[label](), setting.game.num_players)
        search = Sparta(rollouts=setting.rollouts)
        agent = upgrade(blueprint, setting.game, search=search, belief=setting.belief)
        line_up = tuple(
            agent if seat in seats else blueprint[seat] for seat in range(len(blueprint))
        )
        number = games or setting.games
        slug = re.sub(r"\W+", "-", key)
        kept = folder / f"other-games-{slug}-{setting.rollouts}-{seed}.jsonl"
        result = evaluate(
            setting.game, line_up, games=number, seed=seed, threads=threads, resume=kept
        )
        row = figures_of(result)
        row |= {"game": describe(setting.game), "blueprint": label, "searching": list(seats)}
        row |= {"search": describe(search) if seats else None, "bound": setting.bound}
        row |= {"optimum": setting.optimum() if setting.optimum else None, "known": setting.known}
        row |= {"particles": PARTICLES if setting.belief and seats else None}
        row |= {"versions": versions() | {"open_spiel": version("open_spiel")}}
        measured = read_results(RESULTS)
        measured[key] = row
        write_results(RESULTS, measured)
        console.print(f"{key}: {_line(row)}", markup=False)
        if result.interrupted:
            raise typer.Exit(130)


@app.command()
def profile(
    repeats: Annotated[int, typer.Option(help="Runs of each decision and of its calls.")] = 30,
) -> None:
    """How many times as long a search on OpenSpiel's own hanabi takes as its calls of OpenSpiel."""
    rows = [openspiel_profile.measure(name, rollouts, repeats) for name, rollouts in PROFILED]
    console.print(rows)
    write_results(RESULTS, read_results(RESULTS) | {"profile": rows})


@app.command()
def bridge(
    deals: Annotated[int, typer.Option(help="Deals of each game.")] = 20,
) -> None:
    """What a rollout of bridge_uncontested_bidding costs."""
    rows = [bridge_cost.measure(name, deals) for name in bridge_cost.SETTINGS]
    console.print(rows)
    write_results(RESULTS, read_results(RESULTS) | {"bridge": rows})


@app.command()
def tables() -> None:
    """Write the measured figures into docs/results/other_games.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/results/other_games.md with its tables made anew from what was measured."""
    sections = {"games": games_table(), "profile": profile_table(), "bridge": bridge_table()}
    return fill(text, sections)


def games_table() -> Iterable[str]:
    """Markdown: what searching seats add, and how far the best joint policy is."""
    yield (
        "| game | blueprint | searching | games | without | with SPARTA | gain | best "
        "| CPU s a game |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    measured = read_results(RESULTS)
    for name, label, seats in ROWS:
        if row := measured.get(row_key(name, label, seats)):
            yield f"| {name} | {label} | {_line(row)} |"


def profile_table() -> Iterable[str]:
    """Markdown: what one decision costs beside its calls of OpenSpiel."""
    yield "| game | rollouts | CPU ms | calls a rollout | CPU ms of the calls alone | times |"
    yield "|---|---|---|---|---|---|"
    for row in read_results(RESULTS).get("profile", ()):
        yield (
            f"| `{row['game']}` | {row['rollouts']:,} | {1000 * row['cpu_seconds']:.0f} "
            f"| {row['calls'] / row['rollouts']:.0f} | {1000 * row['calls_seconds']:.0f} "
            f"| {row['times']:.2f} |"
        )


def bridge_table() -> Iterable[str]:
    """Markdown: what one rollout costs, and one searched decision."""
    yield "| game | CPU s a finished auction | moves at the first bid | CPU hours a decision |"
    yield "|---|---|---|---|"
    for row in read_results(RESULTS).get("bridge", ()):
        yield (
            f"| `{row['game']}` | {row['cpu_seconds']:.2f} ± {row['cpu_seconds_sem']:.2f} "
            f"| {row['moves']} | {row['hours_a_decision']:.1f} |"
        )


def row_key(name: str, label: str, seats: tuple[int, ...]) -> str:
    return f"{name}/{label}/{'+'.join(map(str, seats)) or 'none'}"


def _line(row: dict[str, Any]) -> str:
    best = f"{row['optimum']:.3f}" if row["optimum"] is not None else f"≤ {row['bound']:.2f}"
    if not row["searching"]:
        return f"- | {row['games']} | {_pm(row, '')} | - | - | {best} | - "
    who = "both" if len(row["searching"]) == 2 else f"seat {row['searching'][0]}"
    return (
        f"{who} | {row['games']} | {_pm(row, 'blueprint_')} | {_pm(row, '')} "
        f"| {row['gain']:+.3f} ± {row['gain_sem']:.3f} | {best} | {row['cpu_seconds_per_game']:.2f}"
    )


def _pm(row: dict[str, Any], side: str) -> str:
    return f"{row[side + 'mean']:.3f} ± {row[side + 'sem']:.3f}"


if __name__ == "__main__":
    app()
