"""Measure searches on published Dec-POMDPs, by exact values (docs/results/other_games.md).

python -m benchmarks.dec_pomdps measure --files FOLDER   # every row, resumable
python -m benchmarks.dec_pomdps tables                   # docs/results/other_games.md from them

The problems are those of the MADP toolbox; FOLDER has their files. Nothing is sampled but what
searches sample: a search is asked once in every information state that its play can reach, and
the table of its answers is valued by listing all that can happen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.pages import fill, read_results, rewrite, write_results
from hanabi_search_plugin import Particles, Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.algorithms import Mds
from hanabi_search_plugin.core import FloatArray, Policy, UnsupportedError
from hanabi_search_plugin.evaluation.provenance import versions
from hanabi_search_plugin.tabular import Replies, TabularPolicy, joint_policy_search, tabulate
from hanabi_search_plugin.wrappers.dpomdp import DecPomdpGame, load_dpomdp

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "dec-pomdps.json"
PAGE = ROOT / "docs" / "results" / "other_games.md"
FILES = ROOT.parent / "shared" / "thirdparty" / "dpomdp"

ROLLOUTS = 10_000
PARTICLES = 1_000  # where an exact belief would list too many worlds
COMPLETE = 2_500_000  # moves of a tree that is listed whole
MDS_STATES = 300  # information states; a search that draws its moves is asked in all of them
ROUNDS = 6  # of searching and tabulating at one seat after the other
TRIALS = {2: 300, 3: 300, 4: 120}  # of joint policy search, by horizon
OTHER_TRIALS = {
    "Box pushing/3": 3_000, "Box pushing/4": 3_000, "Mars rover/4": 1_000,
    "Broadcast channel/5": 1_000,
}  # fmt: skip
SEED = 1

# Name, file, published optima by horizon, all without a discount.
PROBLEMS: dict[str, tuple[str, dict[int, float | None]]] = {
    "Dec-Tiger": ("dectiger", {2: -4.0, 3: 5.190812, 4: 4.802755, 5: 7.026451, 6: 10.381625}),
    "Broadcast channel": ("broadcastChannel", {2: 2.0, 3: 2.99, 4: 3.89, 5: 4.79}),
    "Recycling robots": ("recycling", {2: 7.0, 3: 10.660125, 4: 13.38, 5: 16.486}),
    "Grid small": ("GridSmall", {2: 0.91, 3: 1.550444, 4: 2.241577}),
    "Box pushing": ("boxPushingUAI07", {2: 17.6, 3: 66.081, 4: 98.593}),
    "Fire fighting": (
        "fireFighting_2_3_3",
        {2: -4.383496, 3: -5.736969, 4: -6.578834, 5: -7.069874},
    ),
    "Mars rover": ("Mars", {2: None, 3: None, 4: None}),
}
COLUMNS = {
    "uniform": "uniform",
    "uniform, one seat": "one seat",
    "uniform, all seats": "all seats",
    "uniform, mds": "Mds",
    "replies": "replies in turn",
    "replies, one seat": "one seat",
    "replies, all seats": "all seats",
    "relearned": "search and tabulate",
    "joint": "joint policy search",
}

app = CommandLine(__doc__)
console = Console(highlight=False)


@dataclass
class Problem:
    """A game and its tables; every method gives the exact value of a policy."""

    game: DecPomdpGame
    trials: int
    notes: list[str] = field(default_factory=list)

    @cached_property
    def replies(self) -> Replies:
        return Replies.of(self.game, complete=COMPLETE)

    @cached_property
    def learned(self) -> tuple[FloatArray, float]:
        """The seats reply in turn, beginning with ``start``."""
        return self.replies.in_turn(self.start)

    @property
    def start(self) -> FloatArray:
        """A uniform policy; where the tree is too large the lowest move everywhere."""
        states = self.replies.states
        return states.empty() if self.replies.tree is None else states.uniform()

    def value(self, column: str) -> float | None:
        """The value in a column of the table; None where it is not measured."""
        if column.startswith("uniform") and self.replies.tree is None:
            return None
        return self._methods[column]()

    @property
    def _methods(self) -> dict[str, Callable[[], float | None]]:
        return {
            "uniform": lambda: self._played(self._uniform),
            "uniform, one seat": lambda: self._searched(self._uniform, 1),
            "uniform, all seats": lambda: self._searched(self._uniform, self.game.num_players),
            "uniform, mds": self._mirror_descent,
            "replies": lambda: self.learned[1],
            "replies, one seat": lambda: self._searched(self._table, 1),
            "replies, all seats": lambda: self._searched(self._table, self.game.num_players),
            "relearned": self._relearned,
            "joint": self._joint,
        }

    @property
    def _uniform(self) -> Policy:
        return UniformPolicy()

    @property
    def _table(self) -> Policy:
        return TabularPolicy(self.replies.states, self.learned[0])

    def _played(self, *policies: Policy) -> float:
        seats = policies * self.game.num_players if len(policies) == 1 else policies
        return tabulate(self.game, seats, self.replies.states, seed=SEED)[1]

    def _searched(self, blueprint: Policy, seats: int) -> float:
        rest = (blueprint,) * (self.game.num_players - seats)
        return self._with_belief(
            lambda **belief: self._played(
                *(upgrade(blueprint, self.game, self._sparta, **belief),) * seats, *rest
            )
        )

    @property
    def _sparta(self) -> Sparta:
        return Sparta(rollouts=ROLLOUTS)

    def _with_belief(self, measured: Callable[..., Any]) -> Any:
        """By exact beliefs, or by particles where these are too large."""
        try:
            return measured()
        except UnsupportedError:
            self.notes.append(f"{PARTICLES} particles")
            return measured(belief=Particles(PARTICLES))

    def _mirror_descent(self) -> float | None:
        if self.replies.tree is None or len(self.replies.states) > MDS_STATES:
            return None
        agent = upgrade(self._uniform, self.game, Mds(rollouts=ROLLOUTS)).for_all_seats()
        return self._played(agent)

    def _relearned(self) -> float:
        """One seat searches, what it plays becomes its blueprint, then the next, and so on."""
        states, game = self.replies.states, self.game
        table, value, still = self.start, -np.inf, 0
        for turn in range(ROUNDS * game.num_players):
            policy, seat = TabularPolicy(states, states.filled(table)), turn % game.num_players

            found, now = self._with_belief(partial(self._seat_searched, policy, seat, table))
            gained = now > value + 1e-9
            if gained:
                table, value = found, now
            still = 0 if gained else still + 1
            if still == game.num_players:
                break
        return float(value)

    def _seat_searched(
        self, policy: Policy, seat: int, table: FloatArray, **belief: Any
    ) -> tuple[FloatArray, float]:
        agent = upgrade(policy, self.game, self._sparta, **belief)
        seats = tuple(agent if p == seat else policy for p in range(self.game.num_players))
        return tabulate(self.game, seats, self.replies.states, table, seed=SEED)

    def _joint(self) -> float:
        rng = np.random.default_rng(SEED)
        return joint_policy_search(self.replies, self.start, rng, trials=self.trials)[1]


@app.command()
def measure(
    files: Annotated[Path, typer.Option(help="Folder of the MADP toolbox's problems.")] = FILES,
    only: Annotated[str, typer.Option(help="Rows whose name contains this; default: all.")] = "",
    horizons: Annotated[str, typer.Option(help="Which, with commas between.")] = "2,3,4",
) -> None:
    """Every row: the exact value of each blueprint, and of the searches over it."""
    wanted = [int(word) for word in horizons.split(",")]
    for horizon in wanted:
        for name, (file, optima) in PROBLEMS.items():
            if horizon in optima and only in name:
                _measure_row(name, file, horizon, files)


def _measure_row(name: str, file: str, horizon: int, files: Path) -> None:
    key = f"{name}/{horizon}"
    problem: Problem | None = None
    for column in COLUMNS:
        row = read_results(RESULTS).get(key, {"values": {}, "seconds": {}, "notes": []})
        if column in row["values"]:
            continue
        if problem is None:
            paths = [files / f"{file}.dpomdp", files / f"{file}.dpomdp.gz"]
            path = next((path for path in paths if path.exists()), paths[0])
            game = load_dpomdp(path, horizon, discount=1.0)
            problem = Problem(game, OTHER_TRIALS.get(key, TRIALS.get(horizon, TRIALS[4])))
        begun = time.process_time()
        row["values"][column] = problem.value(column)
        row["seconds"][column] = round(time.process_time() - begun, 2)
        row["notes"] = sorted({*row["notes"], *problem.notes})
        row |= {"published": PROBLEMS[name][1][horizon], "trials": problem.trials}
        row |= {"rollouts": ROLLOUTS, "seed": SEED, "versions": versions()}
        write_results(RESULTS, read_results(RESULTS) | {key: row})
        console.print(f"{key} {column}: {row['values'][column]} ({row['seconds'][column]} s)")


@app.command()
def tables() -> None:
    """Write the measured figures into docs/results/other_games.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/results/other_games.md with its table made anew from what was measured."""
    return fill(text, {"dec-pomdps": table()})


def table() -> Iterable[str]:
    """Markdown: exact values by blueprint and search, beside what was published."""
    yield f"| problem | horizon | {' | '.join(COLUMNS.values())} | published optimum | gap |"
    yield "|" + "---|" * (len(COLUMNS) + 4)
    measured = read_results(RESULTS)
    for name, (_, optima) in PROBLEMS.items():
        for horizon, published in optima.items():
            if row := measured.get(f"{name}/{horizon}"):
                cells = [_figure(row["values"].get(column)) for column in COLUMNS]
                best = max(value for value in row["values"].values() if value is not None)
                gap = "-" if published is None else f"{max(published - best, 0.0):.3f}"
                shown = "-" if published is None else f"{published:g}"
                yield f"| {name} | {horizon} | {' | '.join(cells)} | {shown} | {gap} |"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    app()
