"""Play the games of a published table or figure. Finished games are kept, and not played again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.plain_json import from_fields, parse_json, typed
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.evaluation.evaluation_result import standard_error
from hanabi_search_plugin.evaluation.executor import Executor
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.match import GameResult, Match, read_result
from hanabi_search_plugin.evaluation.progress import progress_bar
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.reproduce.plan import Row, Run

if TYPE_CHECKING:
    from rich.console import Console

UNSEARCHED_FACTOR = 100  # times as many games where nobody searches: they cost next to nothing
TURNS = 40  # of a "turns" figure (the paper's)

Measures = Literal["scores", "predictions", "beliefs"]
"""What is kept of a run's games, each in a file of its own."""

_KINDS: dict[Measures, str] = {
    "scores": "", "predictions": "-predictions", "beliefs": "-beliefs"
}  # fmt: skip

Lines = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Effort:
    """How many games to play, from which seed, by whom, and where to keep them."""

    games: int
    seed: int
    executor: Executor
    folder: Path  # of finished games

    def journal(self, run: Run, measures: Measures) -> Path:
        """The file of a run's finished games."""
        return self.folder / f"{run.name}-seed{self.seed}{_KINDS[measures]}.jsonl"

    def kept(self, run: Run, measures: Measures = "scores") -> Lines:
        """Lines of those of its games that are finished. Raises RecordError where they are none."""
        path = self.journal(run, measures)
        lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []  # whole ones
        try:
            games = [parse_json(line) for line in lines]
        except ValueError as error:
            raise RecordError(f"{path}: expected finished games, a line each: {error}") from None
        return [game for game in _checked(games, measures, path) if game["game"] < self.games]


@dataclasses.dataclass(frozen=True)
class _Prediction:
    """A line of a game with its search's predictions."""

    game: int
    score: float
    moves: int
    predicted: tuple[list[Any], ...]  # turn and return
    cpu_seconds: float = 0.0

    def __post_init__(self) -> None:
        for one in self.predicted:
            turn, value = one
            typed("a turn", turn, int)
            typed("a prediction", value, float)


@dataclasses.dataclass(frozen=True)
class _BeliefTurns:
    """A line of a game with what beliefs made of each turn."""

    game: int
    turns: tuple[dict[str, Any], ...]

    def __post_init__(self) -> None:
        for turn in self.turns:
            typed("turn", turn.get("turn"), int)
            for name in ("learned", "grounded", "exact"):
                typed(name, turn.get(name, ""), float | None)
            typed("grounded", turn["grounded"], float)


def _checked(lines: Lines, measures: Measures, path: Path) -> Lines:
    """The lines of a journal. Raises RecordError where one is none of that kind."""
    for number, line in enumerate(lines, start=2):
        try:
            if measures == "scores":
                read_result(line)
            else:
                from_fields(_Prediction if measures == "predictions" else _BeliefTurns, line)
        except ValueError as error:
            raise RecordError(f"{path}:{number}: expected a finished game: {error}") from None
    return lines


def measure(run: Run, effort: Effort, progress: bool | Console = False) -> dict[str, Any]:
    """The figures of a run, as ``Evaluation.to_dict`` names them, without the games' own.

    Where a lost game does not count 0, "lost_as_zero" is what the same games come to if it does.
    After a KeyboardInterrupt they are those of the finished games, and "interrupted" is True.
    """
    game, policies = run.line_up()
    evaluation = evaluate(
        game,
        policies,
        games=effort.games * (UNSEARCHED_FACTOR if run.search is None else 1),
        seed=effort.seed,
        executor=effort.executor,
        resume=None if run.search is None else effort.journal(run, "scores"),
        progress=progress,
    )
    figures = evaluation.to_dict()
    plain: dict[str, Any] = {
        name: value
        for name, value in figures.items()
        if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
    }
    if run.config.bomb != "zero" and evaluation.games:
        scores = [0.0 if one.lives_left == 0 else one.score for one in evaluation.games]
        plain |= {"lost_as_zero": average(scores)}
    return plain | {"interrupted": evaluation.interrupted}


def average(values: Iterable[float]) -> dict[str, Any]:
    """Mean, standard error and number; no error of a single value."""
    values = np.array(list(values))
    return {"mean": float(values.mean()), "sem": standard_error(values), "games": len(values)}


def paired(run: Run, other: Run, effort: Effort) -> dict[str, Any] | None:
    """The mean difference of ``run`` and ``other`` over the games kept of both, or None."""
    mine, its = (_kept_scores(one, effort) for one in (run, other))
    both = sorted(mine.keys() & its.keys())
    return average(mine[i] - its[i] for i in both) if both else None


def _kept_scores(run: Run, effort: Effort) -> dict[int, float]:
    """Scores by number of those of the effort's games that ``measure`` has finished."""
    return {game["game"]: game["score"] for game in effort.kept(run) if game["side"] == "policies"}


def unmeasured(row: Row) -> dict[str, Any]:
    """A row as plain JSON types, without measured figures."""
    published = None if row.published is None else dataclasses.asdict(row.published)
    out = {"label": row.label, "published": published, "bound": row.bound, "than": row.than}
    return out | {"run": describe(row.run), "measured": None}


# ------------------------------------------------------------------------------------ predictions


def predictions(run: Run, effort: Effort, progress: bool | Console = False) -> tuple[Lines, bool]:
    """The search's predictions in each game: lines of "game", "score", "moves", "predicted".

    And whether a KeyboardInterrupt ended it early.
    """
    game, policies = run.line_up()
    parameters = {
        "game": describe(game),
        "policies": describe(policies),
        "kept": "predictions",
        "seed": effort.seed,
    }
    with kept_games(effort, run, "predictions", parameters, progress) as kept:

        def keep(result: GameResult) -> None:
            kept.add(
                {
                    "game": result.game,
                    "score": result.score,
                    "moves": len(result.actions),
                    "predicted": list(_predicted(result)),
                    "cpu_seconds": result.cpu_seconds,
                }
            )

        match = Match(game, policies, "policies", run.seats[0], effort.seed)
        match.play(kept.todo, effort.executor, keep)
    return kept.lines, kept.interrupted


class KeptGames:
    """Lines of finished games, in order, while more of them are played."""

    def __init__(
        self, effort: Effort, checkpoint: Checkpoint, lines: Lines, show: Callable[[int], None]
    ) -> None:
        self._checkpoint, self._show = checkpoint, show
        self._lines = {line["game"]: line for line in lines}
        self._games = range(effort.games)
        self.interrupted = False

    @property
    def lines(self) -> Lines:
        return [self._lines[i] for i in self._games if i in self._lines]

    @property
    def todo(self) -> list[int]:
        return [i for i in self._games if i not in self._lines]

    def add(self, line: dict[str, Any]) -> None:
        self._lines[line["game"]] = line
        self._checkpoint.append(line)
        self._show(len(self.lines))


@contextmanager
def kept_games(
    effort: Effort, run: Run, measures: Measures, parameters: dict[str, Any],
    progress: bool | Console,
) -> Iterator[KeptGames]:  # fmt: skip
    """The run's finished games of a file; a KeyboardInterrupt ends the block."""
    path = effort.journal(run, measures)
    with Checkpoint(path, parameters) as checkpoint:
        lines = _checked(checkpoint.lines, measures, path)
        done = sum(line["game"] < effort.games for line in lines)
        with progress_bar("games", effort.games, done=done, console=progress) as show:
            kept = KeptGames(effort, checkpoint, lines, show)
            try:
                yield kept
            except KeyboardInterrupt:
                kept.interrupted = True


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
