"""Measure searches on the games of Joint Policy Search, exactly (docs/results/other_games.md).

python -m benchmarks.joint_policy_search searches   # searches over three blueprints, resumable
python -m benchmarks.joint_policy_search joint      # joint policy search, resumable
python -m benchmarks.joint_policy_search tables     # its page from what was measured

The games are Tian, Gong and Jiang's (NeurIPS 2020), whose Table 1 is quoted, and two of OpenSpiel.
A search is asked once in every information state that its play can reach, and the table of its
answers is valued by listing all that can happen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.joint_policy_search_blueprints import LastBitUnsaid, LongSuit, OwnCard
from benchmarks.other_games_blueprints import AlwaysTheSame, Mumbling, OwnHand
from benchmarks.pages import fill, read_results, rewrite, write_results
from hanabi_search_plugin import Game, JointSparta, Policy, Sparta, upgrade
from hanabi_search_plugin.algorithms import Mds
from hanabi_search_plugin.core import FloatArray, UnsupportedError
from hanabi_search_plugin.evaluation.provenance import versions
from hanabi_search_plugin.games import Communication, MiniBridge, SimpleBidding
from hanabi_search_plugin.tabular import (
    GameTree,
    Replies,
    TabularPolicy,
    TreeGame,
    joint_policy_search,
    tabulate,
)
from hanabi_search_plugin.tabular.policy_search import REDRAWN, UNDERSTOOD
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "joint-policy-search.json"
PAGE = ROOT / "docs" / "results" / "other_games.md"

SEED = 1
ROUNDS = 8  # of searching and tabulating, at most
PUBLISHED = ("CFR", "CFR + JPS", "A2C", "BAD", "best known")
BLUEPRINTS = ("uniform", "hand-written", "replies in turn")
SEARCHES = {
    "without": "without",
    "one": "one seat",
    "both": "both seats",
    "mds": "Mds",
    "joint": "JointSparta",
    "in turn": "one seat, in turn",
    "joint in turn": "JointSparta, in turn",
    "tables": "joint policy search",
}


@dataclass(frozen=True)
class Setting:
    """A game, what others reached, and how long joint policy search goes on."""

    make: Callable[[], Game]
    hand_written: Callable[[], Policy]
    published: tuple[float | None, ...]  # as PUBLISHED; None: not published
    trials: int
    seeds: int = 3
    searched: bool = True  # False: one table for a search of every kind is too long
    listed: bool = True  # False: its tree is too large
    kinds: tuple[str, ...] = REDRAWN  # of trials


def trade(items: int) -> Game:
    """trade_comm, whose players are always paid the same, though OpenSpiel does not say so."""
    game = OpenSpielGame(f"trade_comm(num_items={items})")
    game.rewards = "identical"
    return game


COMMUNICATION = {
    3: ((0.89, 1.0, 0.60, 1.0, 1.0), 1_000),
    5: ((0.85, 1.0, 0.57, 0.88, 1.0), 3_000),
    6: ((0.85, 1.0, 0.51, 0.50, 1.0), 3_000),
    7: ((0.85, 1.0, 0.02, 0.29, 1.0), 4_000),
}
BIDDING = {
    4: ((2.18, 2.20, 2.19, 2.23, 2.25), 1_000),
    8: ((4.96, 5.00, 4.79, 4.99, 5.06), 10_000),
    16: ((10.47, 10.56, 9.97, 9.81, 10.75), 20_000),
}
BRIDGE = {
    3: ((1.01, 1.07, 0.66, 0.53, 1.13), 3_000),
    4: ((1.62, 1.71, 1.03, 0.98, 1.84), 10_000),
    5: ((2.60, 2.74, 1.71, 1.31, 2.89), 20_000),
}
SETTINGS = {
    **{
        f"Comm {bits}": Setting(
            partial(Communication, bits), LastBitUnsaid, published, trials,
            seeds=3 if bits < 6 else 1, searched=bits < 6,
        )
        for bits, (published, trials) in COMMUNICATION.items()
    },
    "tiny_hanabi": Setting(
        partial(OpenSpielGame, "tiny_hanabi"), AlwaysTheSame, (9.11, 9.50, 8.20, 9.47, 10.0), 1_000
    ),
    **{
        f"Simple Bidding {cards}": Setting(
            partial(SimpleBidding, cards), OwnCard, published, trials,
            seeds=3 if cards < 16 else 8,
        )
        for cards, (published, trials) in BIDDING.items()
    },
    **{
        f"2-Suit Mini-Bridge {cards}": Setting(
            partial(MiniBridge, cards), LongSuit, published, trials
        )
        for cards, (published, trials) in BRIDGE.items()
    },
    "tiny_bridge_2p": Setting(
        partial(OpenSpielGame, "tiny_bridge_2p"), OwnHand, (None,) * 5, 10_000
    ),
    "trade_comm(num_items=4)": Setting(
        partial(trade, 4), partial(Mumbling, 4),
        (None, None, None, None, 1.0), 3_000,
    ),
    "trade_comm": Setting(
        partial(trade, 10), partial(Mumbling, 5),
        (None, None, None, None, 1.0), 400, searched=False, listed=False, kinds=(UNDERSTOOD,),
    ),
}  # fmt: skip

app = CommandLine(__doc__)
console = Console(highlight=False)


class Table:
    """A game played from its tree, and exact values of what is played in it."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.tree = GameTree.of(setting.make())
        self.game = TreeGame(self.tree)
        self.states = self.game.states
        self.replies = Replies(self.states, self.tree)

    @cached_property
    def blueprints(self) -> dict[str, FloatArray]:
        """Each as a table. Replies in turn begin with a random policy: a uniform one may tell
        nothing apart, and then nothing is a gain.
        """
        written = self.setting.hand_written()
        table, _ = tabulate(self.tree.game, (written, written), self.tree.states)
        learned, _ = self.replies.in_turn(self.random_table(0))
        return dict(
            zip(BLUEPRINTS, (self.states.uniform(), self._pure(table), learned), strict=True)
        )

    def _pure(self, table: FloatArray) -> FloatArray:
        """The hand-written policy's table, where it never comes the lowest legal move."""
        return np.eye(self.game.num_actions)[table.argmax(axis=1)] * self.states.legal

    def random_table(self, seed: int) -> FloatArray:
        legal = self.states.legal
        liking = np.random.default_rng(seed).random(legal.shape) * legal
        return np.eye(self.game.num_actions)[liking.argmax(axis=1)] * legal

    def searched(self, kind: str, table: FloatArray) -> tuple[FloatArray, float]:
        """The table that a search of this kind over ``table`` plays, and its exact value."""
        blueprint = TabularPolicy(self.states, table)
        seats: tuple[Policy, ...]
        if kind == "without":
            seats = (blueprint, blueprint)
        elif kind in ("one", "other"):
            agent = upgrade(blueprint, self.game, Sparta())
            seats = (agent, blueprint) if kind == "one" else (blueprint, agent)
        elif kind == "both":
            seats = (upgrade(blueprint, self.game, Sparta()),) * 2
        elif kind == "mds":
            seats = (upgrade(blueprint, self.game, Mds()).for_all_seats(),) * 2
        else:
            together = JointSparta(pruning="paired", min_rollouts=100, round_size=100)
            seats = (upgrade(blueprint, self.game, together),) * 2
        return tabulate(self.game, seats, self.states, table, seed=SEED)

    def value(self, kind: str, blueprint: str) -> float:
        table = self.blueprints[blueprint]
        if kind == "tables":
            rng, setting = np.random.default_rng(SEED), self.setting
            _, value = joint_policy_search(
                self.replies, table, rng, trials=setting.trials, kinds=setting.kinds
            )
            return value
        if not kind.endswith("in turn"):
            return self.searched(kind, table)[1]
        kinds = ("joint",) if kind.startswith("joint") else ("one", "other")
        value, still = self.tree.value(table), 0
        for turn in range(ROUNDS * len(kinds)):
            found, now = self.searched(kinds[turn % len(kinds)], table)
            gained = now > value + 1e-9
            if gained:
                table, value = found, now
            still = 0 if gained else still + 1
            if still == len(kinds):
                break
        return value


@app.command()
def searches(
    only: Annotated[str, typer.Option(help="Rows whose name contains this; default: all.")] = "",
) -> None:
    """Searches from three blueprints: what each plays is tabulated and valued exactly."""
    for name, setting in SETTINGS.items():
        if only not in name or not setting.searched:
            continue
        table: Table | None = None
        for blueprint in BLUEPRINTS:
            for kind in SEARCHES:
                key = f"{name}/{blueprint}"
                row = read_results(RESULTS).get(key, {"values": {}, "seconds": {}})
                if kind in row["values"]:
                    continue
                table = table or Table(setting)
                begun = time.process_time()
                try:
                    row["values"][kind] = table.value(kind, blueprint)
                except UnsupportedError:  # the search is not for this game
                    row["values"][kind] = None
                row["seconds"][kind] = round(time.process_time() - begun, 2)
                row |= {"seed": SEED, "versions": versions()}
                write_results(RESULTS, read_results(RESULTS) | {key: row})
                console.print(f"{key} {kind}: {row['values'][kind]} ({row['seconds'][kind]} s)")


@app.command()
def joint(
    only: Annotated[str, typer.Option(help="Rows whose name contains this; default: all.")] = "",
) -> None:
    """Joint policy search from a random policy, by several seeds."""
    for name, setting in SETTINGS.items():
        table: Table | None = None
        for seed in range(setting.seeds):
            row = read_results(RESULTS).get(name, {"values": {}, "seconds": {}})
            if only not in name or str(seed) in row["values"]:
                continue
            if setting.listed:
                table = table or Table(setting)
                replies, first = table.replies, table.random_table(seed)
            else:  # from the table that plays the lowest legal move
                replies = Replies.of(setting.make(), complete=0)
                first = replies.states.empty()
            begun = time.process_time()
            rng = np.random.default_rng(seed)
            _, value = joint_policy_search(
                replies, first, rng, trials=setting.trials, kinds=setting.kinds
            )
            row["values"][str(seed)] = value
            row["seconds"][str(seed)] = round(time.process_time() - begun, 2)
            row |= {"trials": setting.trials, "versions": versions()}
            if table is not None:
                row |= {"states": 1 + table.tree.nodes + table.tree.ends}
            write_results(RESULTS, read_results(RESULTS) | {name: row})
            console.print(f"{name} seed {seed}: {value} ({row['seconds'][str(seed)]} s)")


@app.command()
def tables() -> None:
    """Write the measured figures into docs/results/other_games.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/results/other_games.md with its tables made anew from what was measured."""
    return fill(text, {"jps": joint_table(), "jps-searches": searches_table()})


def joint_table() -> Iterable[str]:
    """Markdown: joint policy search beside Table 1 of the paper."""
    yield f"| game | states | ours, best | mean | seeds | trials | {' | '.join(PUBLISHED)} |"
    yield "|" + "---|" * (6 + len(PUBLISHED))
    measured = read_results(RESULTS)
    for name, setting in SETTINGS.items():
        if row := measured.get(name):
            values = list(row["values"].values())
            theirs = ["-" if one is None else f"{one:.2f}" for one in setting.published]
            states = f"{row['states']:,}" if setting.listed else "-"
            yield (
                f"| {name} | {states} | **{max(values):.4g}** | {np.mean(values):.4g} "
                f"| {len(values)} | {row['trials']:,} | {' | '.join(theirs)} |"
            )


def searches_table() -> Iterable[str]:
    """Markdown: what searches make of three blueprints."""
    yield f"| game | blueprint | {' | '.join(SEARCHES.values())} |"
    yield "|" + "---|" * (2 + len(SEARCHES))
    measured = read_results(RESULTS)
    for name in SETTINGS:
        for blueprint in BLUEPRINTS:
            if row := measured.get(f"{name}/{blueprint}"):
                cells = [_cell(row["values"], kind) for kind in SEARCHES]
                yield f"| {name} | {blueprint} | {' | '.join(cells)} |"


def _cell(values: dict[str, float | None], kind: str) -> str:
    if kind not in values:
        return "-"
    value = values[kind]
    return "refused" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    app()
