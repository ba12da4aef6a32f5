"""Does it pay to look at own later moves? Fills the tables of docs/results/later_moves.md.

    python -m benchmarks.deeper measure --resume runs/deeper   # hours of one core; kept row by row
    python -m benchmarks.deeper tables

Every row plays one searching seat beside its blueprint, on the decks of seed 7, a lost game counts
0. Continuations are other policies that the seat plays on with in rollouts; POMCP grows a tree of
the seat's own moves with half of the rollouts that SPARTA has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from benchmarks.pages import fill, read_results
from hanabi_search_plugin import HanabiGame, Sparta, evaluate, load_policy, upgrade
from hanabi_search_plugin.algorithms import Pomcp
from hanabi_search_plugin.atomic_files import atomic_write

app = CommandLine(__doc__)
DOCS = Path(__file__).parent.parent / "docs"
RESULTS, PAGE = DOCS / "results" / "deeper.json", DOCS / "results" / "later_moves.md"
SEED = 7
SMALL = {"colors": 2, "hand_size": 3}
TINY = {"colors": 2, "ranks": 3, "hand_size": 2}


@dataclass(frozen=True)
class Row:
    """A search over a policy, and how many games it plays."""

    policy: str
    search: str
    rollouts: int
    games: int
    continuation: str | None = None
    settings: dict[str, int] = field(default_factory=dict)  # of the game

    @property
    def key(self) -> str:
        game = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return " ".join(filter(None, (self.policy, self.search, str(self.rollouts), game))) + (
            f" {self.continuation}" if self.continuation else ""
        )


OVER_SMARTBOT = {
    "vdb": 200, "clivej2": 200, "random": 60, "outer": 60, "hatbot": 60, "iggi2": 60, "piers": 60,
    "evalfn": 60, "cautious": 60, "hatbot-b": 60, "iggi": 60, "clonebot": 60,
}  # fmt: skip
OTHERS = ("smartbot", "iggi2", "piers", "clivej2")
CONTINUED = [Row("smartbot", "sparta", 1_000, 200)]
CONTINUED += [Row("smartbot", "sparta", 1_000, n, name) for name, n in OVER_SMARTBOT.items()]
for blueprint in ("vdb", "piers", "iggi2"):
    CONTINUED.append(Row(blueprint, "sparta", 1_000, 60))
    CONTINUED += [Row(blueprint, "sparta", 1_000, 60, name) for name in OTHERS if name != blueprint]
TREES = [
    Row(policy, search, rollouts, games, settings=settings)
    for policy, rollouts, games, settings in (
        ("smartbot", 1_000, 200, {}),
        ("smartbot", 4_000, 200, {}),
        ("smartbot", 1_000, 200, SMALL),
        ("smartbot", 10_000, 200, SMALL),
        ("cautious", 4_000, 200, TINY),
        ("random", 4_000, 200, TINY),
    )
    for search in ("sparta", "pomcp")
]


@app.command()
def measure(
    resume: Annotated[Path, typer.Option(help="Finished games: a file for each row.")],
    games: Annotated[int | None, typer.Option(help="At most so many games a row.")] = None,
) -> None:
    """Play the rows that the results do not have yet."""
    resume.mkdir(parents=True, exist_ok=True)
    kept = read_results(RESULTS)
    for row in [*TREES, *CONTINUED]:
        count = min(row.games, games or row.games)
        if len(kept.get(row.key, {}).get("scores", ())) >= count:
            continue
        kept[row.key] = _played(row, count, resume / f"{row.key.replace(' ', '-')}.jsonl")
        _write(kept)


def _played(row: Row, games: int, resume: Path) -> dict[str, Any]:
    game = HanabiGame(players=2, bomb="zero", **row.settings)  # type: ignore[arg-type]
    bot = load_policy(row.policy, game)
    kind = Pomcp if row.search == "pomcp" else Sparta
    search = kind(rollouts=row.rollouts, continuation=row.continuation)
    found = evaluate(
        game, (upgrade(bot, game, search), bot), games=games, seed=SEED, baseline=bot,
        resume=resume, progress=True,
    ).whole()  # fmt: skip
    return {
        "scores": found.scores.tolist(),
        "blueprint_scores": found.blueprint_scores.tolist(),
        "cpu_seconds_per_game": round(float(np.mean([one.cpu_seconds for one in found.games])), 3),
    }


def _write(kept: dict[str, Any]) -> None:
    """A row a line."""
    lines = [f" {json.dumps(key)}: {json.dumps(kept[key])}" for key in sorted(kept)]
    with atomic_write(RESULTS) as file:
        file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


@app.command()
def tables() -> None:
    """Write the tables into the page."""
    kept = read_results(RESULTS)
    page = fill(
        PAGE.read_text(),
        {
            "continuations over SmartBot": _over_smartbot(kept),
            "continuations over others": _over_others(kept),
            "POMCP": _trees(kept),
        },
    )
    with atomic_write(PAGE) as file:
        file.write(page.encode())
    Console().print(f"wrote {PAGE.name}")


def _over_smartbot(kept: dict[str, Any]) -> list[str]:
    plain = kept[CONTINUED[0].key]
    lines = [
        "| over SmartBot: continuation | 60 games | 200 games | CPU s a game |",
        "|---|---|---|---|",
        f"| none: the score | {with_error(plain['scores'][:60])} | {with_error(plain['scores'])} | "
        f"{plain['cpu_seconds_per_game']:.2f} |",
    ]  # fmt: skip
    for row in CONTINUED[1 : 1 + len(OVER_SMARTBOT)]:
        one = kept[row.key]
        more = _gain(one["scores"], plain["scores"]) if len(one["scores"]) == 200 else ""
        gain = _gain(one["scores"][:60], plain["scores"])
        cost = f"{one['cpu_seconds_per_game']:.2f}"
        lines.append(f"| `{row.continuation}` | {gain} | {more} | {cost} |")
    return lines


def _over_others(kept: dict[str, Any]) -> list[str]:
    lines = ["| over | none: the score | " + " | ".join(f"`{name}`" for name in OTHERS) + " |"]
    lines.append("|---" * (2 + len(OTHERS)) + "|")
    for blueprint in ("vdb", "piers", "iggi2"):
        plain = kept[Row(blueprint, "sparta", 1_000, 60).key]["scores"]
        cells = [
            ""
            if name == blueprint
            else _gain(kept[Row(blueprint, "sparta", 1_000, 60, name).key]["scores"], plain)
            for name in OTHERS
        ]
        lines.append(f"| `{blueprint}` | {with_error(plain)} | " + " | ".join(cells) + " |")
    return lines


def _trees(kept: dict[str, Any]) -> list[str]:
    lines = [
        "| over | game | rollouts | games | itself | SPARTA | POMCP | gain | CPU s a game, each |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one, other in zip(TREES[::2], TREES[1::2], strict=True):
        if other.key not in kept:
            continue
        plain, tree = kept[one.key], kept[other.key]
        game = ", ".join(f"{value} {name}" for name, value in one.settings.items())
        game = game.replace("hand_size", "cards in a hand") or "Hanabi"
        games = len(tree["scores"])
        lines.append(
            f"| `{one.policy}` | {game} | {one.rollouts:,} | {games} | "
            f"{with_error(plain['blueprint_scores'][:games])} | "
            f"{with_error(plain['scores'][:games])} | {with_error(tree['scores'])} | "
            f"{_gain(tree['scores'], plain['scores'])} | "
            f"{plain['cpu_seconds_per_game']:.2f}, {tree['cpu_seconds_per_game']:.2f} |"
        )
    return lines


def _gain(values: Sequence[float], others: Sequence[float]) -> str:
    """The paired difference on the decks that both have."""
    return with_error(np.subtract(values, others[: len(values)]), sign="+")


if __name__ == "__main__":
    app()
