"""Write what a game of each line-up of `hanabi-search reproduce` costs, as far as it is known.

python -m benchmarks.reproduction_costs

CPU seconds of a game, from docs/results; where a line-up was not measured, what sparta.md
and lbs.md there say of a few games of it, or a measured one of another budget, number of players or
blueprint.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.pages import read_results
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.reproduce import lbs_paper, ris_mcts_paper, sparta_paper
from hanabi_search_plugin.reproduce.plan import Run, Table

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "hanabi_search_plugin" / "reproduce" / "costs.json"

KINDS = {"bot": 0.0001, "network": 0.003, "beliefs": 4.0}
"""A game of a bot or a network by itself, and one of a figure of beliefs."""

OF_A_FEW_GAMES = {
    "smartbot-2p-joint-400": 120.0,
    "smartbot-2p-joint-2000": 174.0,
    "smartbot-2p-joint-10000": 559.0,
    "clonebot-2p-single": 180.0,
    "rlnet-2p-lbs-end": 18.6,
    "rlnet-2p-lbs-32": 12.3,
    "beliefnet-2p-lbs-end": 10.9,
    "beliefnet-2p-lbs-32": 9.1,
    "beliefnet-2p-6-cards-sparta": 73.0,
    "beliefnet-3p-sparta": 67.0,
}

_OTHERS: tuple[tuple[str, str], ...] = (  # of names: what is as costly, but for the budget
    (r"^smartnet-", "rlnet-"),
    (r"-[67]-cards-lbs", "-lbs"),
    (r"^beliefnet-2p-7-cards-sparta", "beliefnet-2p-6-cards-sparta"),
    (r"^(beliefnet-2p-lbs-8-200)-.*", r"\1"),
    (r"^beliefnet-2p-mds-8-200-doubt", "beliefnet-2p-lbs-8-200"),
    (r"^beliefnet-2p-lbs-(1-16000|2-8000|4-4000|8-2000|32-500)$", "beliefnet-2p-lbs-16"),
    (r"^smartbot-2p-independent-.*", "smartbot-2p-independent-u0.05-t0.2"),
    (r"^(ris|mo)(-.*)-[235]p-", r"\1\2-4p-"),
    (r"-rules-c-", "-rules-"),
)


def measured() -> dict[str, dict[str, Any]]:
    """Figures of searched runs by their names, from the results of the pages."""
    runs: dict[str, dict[str, Any]] = {}
    for path in sorted((ROOT / "docs" / "results").glob("*/*.json")):
        content = read_results(path)
        if content.get("command") != "reproduce":
            continue
        found = [(row["run"], row["measured"]) for row in content.get("rows", ())]
        for curve in content.get("curves", ()):
            found += [(point.get("run"), point) for point in curve["points"]]
        for run, figures in found:
            if figures and figures.get("cpu_seconds_per_game"):
                runs[run["name"] if isinstance(run, dict) else run] = figures
    return runs


def known(name: str, costs: dict[str, float]) -> float | None:
    """The cost of a run, or of one like it, with as many iterations or rollouts."""
    if name in costs:
        return costs[name]
    for pattern, other in _OTHERS:
        like = re.sub(pattern, other, name)
        if like != name and (cost := known(like, costs)) is not None:
            return cost
    stem, _, budget = name.rpartition("-")
    if not budget.isdigit() or "mcts" not in name:
        return None
    nearest = [
        (int(one.rpartition("-")[2]), cost)
        for one, cost in costs.items()
        if one.rpartition("-")[0] == stem and one.rpartition("-")[2].isdigit()
    ]
    iterations, cost = max(nearest, default=(0, 0.0))
    return cost * int(budget) / iterations if iterations else None


def all_costs() -> dict[str, float]:
    """What ``FILE`` is to hold."""
    found = {name: figures["cpu_seconds_per_game"] for name, figures in measured().items()}
    costs = OF_A_FEW_GAMES | found
    out = dict(KINDS)
    for run in sorted(_searched(), key=lambda run: run.name):
        cost = known(run.name, costs)
        if cost is not None:
            out[run.name] = float(f"{cost:.2g}")
    return out


def _searched() -> set[Run]:
    runs = set()
    for plan in (*sparta_paper.PLANS, *ris_mcts_paper.PLANS, *lbs_paper.PLANS):
        if isinstance(plan, Table):
            runs |= {row.run for row in plan.rows if row.run is not None}
        else:
            runs |= {run for curve in plan.curves for run in curve.runs}
    return {run for run in runs if run.search is not None}


if __name__ == "__main__":
    with atomic_write(FILE) as file:
        file.write((json.dumps(all_costs(), indent=1) + "\n").encode())
