"""Play the games of a published table or figure. Finished games are kept, and not played again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.match import GameResult, Match
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.reproduce.plan import Row, Run

UNSEARCHED_FACTOR = 100  # times as many games where nobody searches: they cost next to nothing
TURNS = 40  # of a "turns" figure (the paper's)

OnGame = Callable[[], None]


@dataclasses.dataclass(frozen=True)
class Effort:
    """How many games to play, from which seed, on how many threads, and where to keep them."""

    games: int
    seed: int
    threads: int
    folder: Path  # of finished games

    def journal(self, run: Run, kind: str) -> Path:
        """The file of a run's finished games; ``kind`` tells several of one run apart."""
        return self.folder / f"{run.name}-seed{self.seed}{kind}.jsonl"


def total(run: Run, effort: Effort, *, predictions: bool = False) -> int:
    """The number of games of a measurement, with those of the baseline."""
    if run.search is None:
        return UNSEARCHED_FACTOR * effort.games
    return effort.games if predictions else 2 * effort.games


def measure(run: Run, effort: Effort, on_game: OnGame) -> dict[str, Any]:
    """The figures of a run, as ``Evaluation.to_dict`` names them, without the games' own.

    Where a lost game does not count 0, "lost_as_zero" is what the same games come to if it does.
    """
    game, policies = run.line_up()
    evaluation = evaluate(
        game,
        policies,
        games=total(run, effort) if run.search is None else effort.games,
        seed=effort.seed,
        threads=effort.threads,
        on_game=lambda result: on_game(),
        resume=None if run.search is None else effort.journal(run, ""),
    )
    figures = evaluation.to_dict()
    plain: dict[str, Any] = {
        name: v for name, v in figures.items() if v is None or isinstance(v, (int, float))
    }
    if run.config.bomb != "zero" and evaluation.games:
        scores = [0.0 if one.lives_left == 0 else one.score for one in evaluation.games]
        plain |= {"lost_as_zero": average(scores)}
    return plain | {"interrupted": evaluation.interrupted}


def average(values: Iterable[float]) -> dict[str, Any]:
    """Mean, standard error and number; no error of a single value."""
    values = np.array(list(values))
    n = len(values)
    sem = float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else None
    return {"mean": float(values.mean()), "sem": sem, "games": n}


def paired(run: Run, other: Run, effort: Effort) -> dict[str, Any] | None:
    """The mean difference of ``run`` and ``other`` over the games kept of both, or None."""
    mine, its = (_kept_scores(one, effort) for one in (run, other))
    both = sorted(mine.keys() & its.keys())
    return average(mine[i] - its[i] for i in both) if both else None


def _kept_scores(run: Run, effort: Effort) -> dict[int, float]:
    """Scores by number of those of the effort's games that ``measure`` has finished."""
    path = effort.journal(run, "")
    lines = path.read_bytes().splitlines()[1:] if path.exists() else []
    games = (json.loads(line) for line in lines)
    return {
        game["game"]: game["score"]
        for game in games
        if game["side"] == "policies" and game["game"] < effort.games
    }


def unmeasured(row: Row) -> dict[str, Any]:
    """A row as plain JSON types, without measured figures."""
    published = None if row.published is None else dataclasses.asdict(row.published)
    out = {"label": row.label, "published": published, "bound": row.bound, "than": row.than}
    return out | {"run": describe(row.run), "measured": None}


# ------------------------------------------------------------------------------------ predictions


def predictions(run: Run, effort: Effort, on_game: OnGame) -> list[dict[str, Any]]:
    """The search's predictions in each game: lines of "game", "score", "moves", "predicted"."""
    game, policies = run.line_up()
    parameters = {
        "game": describe(game),
        "policies": describe(policies),
        "kept": "predictions",
        "seed": effort.seed,
    }
    with Checkpoint(effort.journal(run, "-predictions"), parameters) as checkpoint:
        lines = {line["game"]: line for line in checkpoint.lines}

        def keep(result: GameResult) -> None:
            line = {
                "game": result.game,
                "score": result.score,
                "moves": len(result.actions),
                "predicted": list(_predicted(result)),
            }
            lines[result.game] = line
            checkpoint.append(line)
            on_game()

        todo = [i for i in range(effort.games) if i not in lines]
        match = Match(game, policies, "policies", run.seats[0], effort.seed)
        match.play(todo, effort.threads, keep)
    return [lines[i] for i in range(effort.games)]


def _predicted(result: GameResult) -> Iterator[tuple[int, float]]:
    """(turn, mean return of the best move) of every decision in which moves were tried.

    The best of the moves that were tried to the end: a dropped one has a mean of a few rollouts.
    """
    for turn, _, decision in result.decisions:
        if decision.count.max() > 0:
            last = decision.count == decision.count.max()
            yield turn, float(decision.mean[last].max())


def by_turn(lines: list[dict[str, Any]]) -> list[list[float]]:
    """[TURNS] lists of one value a game.

    A game counts with its latest prediction, after its end with its score; before the first
    prediction it does not count.
    """
    values: list[list[float]] = [[] for _ in range(TURNS)]
    for line in lines:
        predicted = dict(line["predicted"])
        value = None
        for turn in range(TURNS):
            value = line["score"] if turn >= line["moves"] else predicted.get(turn, value)
            if value is not None:
                values[turn].append(value)
    return values
