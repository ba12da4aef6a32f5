"""Measure what exact endgames add to a search (docs/results/endgames.md).

python -m benchmarks.endgames --games 1000
python -m benchmarks.endgames --policy piers --resume runs/piers.jsonl --out runs/piers.json
python -m benchmarks.endgames --policy beliefnet --search lbs --budgets 100000 --games 300 \
    --resume runs/beliefnet.jsonl --out docs/results/endgames-beliefnet.json

Games of Hanabi with a search over a policy at one seat, by exact beliefs, are recorded. Their last
ten moves are decided again, on the same decks and with the same seeds, by the same search with
exact endgames of several budgets; where it moves otherwise it plays on from there. What is gained
is told in two ways: by scores, and by moves, which is the value lost by the recorded moves where
they could be solved. Both have one mean (the performance difference lemma, Kakade and Langford,
2002); the second is without the luck of the decks. Resumable: finished games are kept in
``--resume``.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from benchmarks.command_line import CommandLine
from hanabi_search_plugin import (
    Belief,
    HanabiGame,
    Lbs,
    SearchResult,
    Sparta,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.algorithms.endgame import exact_values
from hanabi_search_plugin.algorithms.sparta import ROUNDING
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core import FloatArray, SearchAgent
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.match import SEARCHES, deal_game
from hanabi_search_plugin.evaluation.playing import RunningGame
from hanabi_search_plugin.evaluation.provenance import describe, versions
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, DECK_SIZE
from hanabi_search_plugin.jit import compile_seconds

SEAT = 1  # that searches
LAST = 10  # moves that are played again
SEARCHING = {"sparta": Sparta(), "lbs": Lbs(depth=8, rollouts=1_000)}  # before exact endgames
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "endgames.json"

app = CommandLine(__doc__)


@app.command()
def main(
    games: Annotated[int, typer.Option(help="Decks.")] = 1000,
    budgets: Annotated[str, typer.Option(help="States that an endgame may take.")] = (
        "100000,1000000,10000000"
    ),
    policy: Annotated[str, typer.Option(help="The blueprint.")] = "smartbot",
    search_name: Annotated[
        Literal["sparta", "lbs"], typer.Option("--search", help="What is recorded.")
    ] = "sparta",
    players: Annotated[int, typer.Option(help="Seats.")] = 2,
    seed: Annotated[int, typer.Option(help="Decides on everything.")] = 7,
    resume: Annotated[Path, typer.Option(help="Finished games are kept here.")] = Path(
        "runs/endgames.jsonl"
    ),
    out: Annotated[Path, typer.Option(help="Where the figures go.")] = RESULTS,
) -> None:
    """Play the games, and write what was gained."""
    search, game = SEARCHING[search_name], HanabiGame(players=players, bomb="zero")
    bot = load_policy(policy, game)
    agent = upgrade(bot, game, search)
    agents = {
        budget: upgrade(bot, game, replace(search, endgame=int(budget)))
        for budget in budgets.split(",")
    }
    about = {
        "policy": policy, "game": describe(game), "search": describe(search), "seed": seed,
        "budgets": budgets, "last": LAST,
    }  # fmt: skip
    resume.parent.mkdir(parents=True, exist_ok=True)
    with Checkpoint(resume, about) as checkpoint:
        lines = list(checkpoint.lines)
        todo = range(len(lines), games)
        for index in track(todo, "games", console=Console(stderr=True), disable=not todo):
            lines.append(one_game(agent, agents, seed, index))
            checkpoint.append(lines[-1])
    found = figures(lines[:games], search_name, tuple(agents))
    about |= {"games": len(lines[:games]), "command": "benchmarks.endgames"}
    with atomic_write(out) as file:
        text = json.dumps({"parameters": about, "versions": versions(), **found}, indent=1)
        file.write(text.encode() + b"\n")
    Console().print(table(found))


def one_game(
    agent: SearchAgent, agents: dict[str, SearchAgent], seed: int, index: int
) -> dict[str, Any]:
    """A game of ``agent``, and its last moves decided again by each of ``agents``."""
    worlds, stream = deal_game(agent.game, seed, index)
    policies = tuple(agent if p == SEAT else bot for p, bot in enumerate(agent.blueprint))
    last, began, spent = deque[tuple[RunningGame, int, float]](maxlen=LAST), clock(), 0.0
    game = RunningGame.begin(worlds, policies, stream, (seed, SEARCHES, index))
    while not game.over:
        before, since = game.copy(), clock()
        action = game.decide().action
        last.append((before, action, clock() - since))
        game.play(action)
    spent = clock() - began
    score = float(game.worlds.returns[0, 0])
    mine = [one for one in last if one[0].mover == SEAT]
    return {
        "game": index, "moves": game.number, "score": score, "cpu": spent,
        "cpu_last": sum(seconds for _, _, seconds in mine),
        "endgames": {
            budget: again(mine, solving, int(budget), score) for budget, solving in agents.items()
        },
    }  # fmt: skip


def again(
    recorded: list[tuple[RunningGame, int, float]], agent: SearchAgent, budget: int, score: float
) -> dict[str, Any]:
    """Decide recorded moves again: the score, CPU seconds, and the decisions.

    A decision is the cards in the deck, the worlds of the belief, and what the recorded move loses;
    None where it was not solved.
    """
    seconds, decisions, changed = 0.0, [], False
    for game, action, _ in recorded:
        game = game.copy()
        game.seats[SEAT].policy = agent
        since = clock()
        result = game.decide().result
        seconds += clock() - since
        assert result is not None
        if result.reason == "single_move":
            continue
        assert isinstance(game.worlds, HanabiWorlds)
        left = int(game.worlds.rows[0, DECK_SIZE] - game.worlds.rows[0, DECK_NEXT])
        loss = loss_of(action, result, game.seats[SEAT].memory[0], budget)
        decisions.append((left, result.belief_size, loss))
        if result.action != action and not changed:
            changed = True
            game.play(result.action)
            while not game.over:
                game.play(game.decide().action)
            score = float(game.worlds.returns[0, 0])
    return {"score": score, "cpu": seconds, "decisions": decisions}


def loss_of(action: int, result: SearchResult, belief: Belief, budget: int) -> float | None:
    """What ``action`` gives away by exact values."""
    if not result.exact:
        return None
    values = result.mean
    if np.isnan(values[result.actions == action][0]):  # left out: no better than the best
        solved = exact_values(belief, 10 * budget, base=action)
        if solved is None or solved.values is None:
            return None
        values = solved.values
    return max(0.0, float(np.nanmax(values) - values[result.actions == action][0]))


def clock() -> float:
    """CPU seconds of this thread, without what compiling took."""
    return time.thread_time() - compile_seconds()


def figures(
    lines: list[dict[str, Any]], search_name: str, budgets: tuple[str, ...]
) -> dict[str, Any]:
    """Of all games: the search alone, and what each budget adds."""
    base = np.array([line["score"] for line in lines])
    found: dict[str, Any] = {
        search_name: {
            "score": mean_of(base),
            "perfect": mean_of(base == 25),
            "cpu_seconds": mean_of(np.array([line["cpu"] for line in lines])),
            "cpu_seconds_last": mean_of(np.array([line["cpu_last"] for line in lines])),
        }
    }
    for budget in budgets:
        ends = [line["endgames"][budget] for line in lines]
        score = np.array([end["score"] for end in ends])
        lost = [sum(loss or 0.0 for *_, loss in end["decisions"]) for end in ends]
        decisions = [one for end in ends for one in end["decisions"]]
        found[budget] = {
            "score": mean_of(score),
            "gain": mean_of(score - base),
            "gain_by_moves": mean_of(lost),
            "better": int((score > base).sum()),
            "worse": int((score < base).sum()),
            "perfect": mean_of(score == 25),
            "perfect_gain": mean_of((score == 25) * 1.0 - (base == 25)),
            "cpu_seconds_last": mean_of(np.array([end["cpu"] for end in ends])),
            **solved_share(decisions),
            "by_deck": {
                str(left): solved_share([one for one in decisions if one[0] == left])
                for left in sorted({left for left, _, _ in decisions})
            },
        }
    return found


def solved_share(decisions: list[tuple[int, int, float | None]]) -> dict[str, float]:
    """How many decisions were solved, and how many of these the recorded move had lost."""
    losses = [loss for *_, loss in decisions if loss is not None]
    return {
        "decisions": len(decisions),
        "exact": len(losses) / len(decisions),
        "lossy": sum(loss > ROUNDING for loss in losses),
    }


def mean_of(values: Any) -> dict[str, float]:
    """The mean and its standard error."""
    numbers: FloatArray = np.asarray(values, dtype=np.float64)
    error = numbers.std(ddof=1) / np.sqrt(len(numbers)) if len(numbers) > 1 else 0.0
    return {"mean": float(numbers.mean()), "sem": float(error)}


def table(found: dict[str, Any]) -> Table:
    """For the terminal and the page."""
    columns = (
        "states", "score", "gain", "better, worse", "by moves", "perfect", "gain", "solved", "CPU s"
    )  # fmt: skip
    shown = Table(*(Column(name, no_wrap=name == "states") for name in columns), box=None)
    for name, one in found.items():
        more = [""] * 5
        if "gain" in one:
            more = [
                text(one["gain"], "+.3f"), f"{one['better']}, {one['worse']}",
                text(one["gain_by_moves"], "+.4f"), text(one["perfect_gain"], "+.1%"),
                f"{one['exact']:.0%}",
            ]  # fmt: skip
        shown.add_row(
            name, text(one["score"], ".3f"), *more[:3], text(one["perfect"], ".1%"), *more[3:],
            text(one["cpu_seconds_last"], ".3f"),
        )  # fmt: skip
    return shown


def text(one: dict[str, float], form: str) -> str:
    return f"{one['mean']:{form}} ± {one['sem']:{form.replace('+', '')}}"


if __name__ == "__main__":
    app()
