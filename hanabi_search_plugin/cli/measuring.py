"""What ``reproduce`` has to measure: the parts of a table or a figure, the cheapest first."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console

from hanabi_search_plugin.cli import training_runs
from hanabi_search_plugin.cli.fitted_table import FittedTable
from hanabi_search_plugin.cli.terminal import notes, say
from hanabi_search_plugin.core.words import counted, duration
from hanabi_search_plugin.reproduce import measured_beliefs, report
from hanabi_search_plugin.reproduce.forecast import Forecast, forecast, lacking, needs_torch
from hanabi_search_plugin.reproduce.measure import Effort, Measures, measure, predictions
from hanabi_search_plugin.reproduce.plan import Figure, Plan, Run, Table

if TYPE_CHECKING:
    from hanabi_search_plugin.networks.training.training_run import TrainingRun

MISSING = "missing"
_MEASURES: dict[str, Measures] = {"turns": "predictions", "beliefs": "beliefs"}


@dataclass(frozen=True)
class Part:
    """A row of a table, or a run of a curve."""

    place: tuple[int, int]  # of the row or curve, and of the run in it
    label: str
    run: Run
    measures: Measures
    ahead: Forecast
    why_not: str | None  # None: it can be played here

    @property
    def needs(self) -> str:
        """What it takes; what is missing stands below the table, since it is long."""
        if self.why_not is not None:
            return MISSING
        training = "; trains networks first" if self.run.training else ""
        return f"PyTorch{training}" if needs_torch(self.run) else ""


@dataclass
class Measured:
    """What there is of the parts, by their places: figures of a run, or lines of games."""

    figures: dict[tuple[int, int], Any]
    interrupted: bool = False


def parts_of(plan: Plan, wanted: set[str], effort: Effort) -> list[Part]:
    """Those of ``wanted`` labels that this package can play, in the order of the paper."""
    runs: list[tuple[tuple[int, int], str, Run]] = []
    if isinstance(plan, Table):
        runs = [((i, 0), row.label, row.run) for i, row in enumerate(plan.rows) if row.run]
    else:
        for i, curve in enumerate(plan.curves):
            for j, run in enumerate(curve.runs):
                single = len(curve.runs) == 1
                label = curve.label if single else f"{curve.label}: {_told_apart(plan, j, run)}"
                runs.append(((i, j), label, run))
    labels = [part.label for part in (plan.rows if isinstance(plan, Table) else plan.curves)]
    chosen = [one for one in runs if labels[one[0][0]] in wanted]
    obstacles = lacking(run for _, _, run in chosen)
    measures = "scores" if isinstance(plan, Table) else _MEASURES.get(plan.kind, "scores")
    return [
        Part(place, label, run, measures, forecast(run, effort, measures), obstacles.get(run.name))
        for place, label, run in chosen
    ]


def _told_apart(figure: Figure, place: int, run: Run) -> str:
    """What tells a run from the others of its curve, in words."""
    if figure.ticks:
        return f"{figure.ticks[place]} ({figure.axis})"
    if figure.kind == "budgets":
        return f"{getattr(run.search, 'rollouts', 0):,} rollouts"
    depth = getattr(run.search, "depth", None)
    return "to the end of the game" if depth is None else f"depth {depth}"


def in_order(parts: Sequence[Part]) -> list[Part]:
    """Those that can be played, the cheapest first; of unknown cost last."""
    playable = [part for part in parts if part.why_not is None]
    return sorted(
        playable, key=lambda part: math.inf if (cost := part.ahead.total) is None else cost
    )


def table_of(parts: Sequence[Part], threads: int) -> FittedTable:
    """What would be played, in that order, and at the end what cannot be."""
    order = in_order(parts)
    rows = [
        (part.label, f"{part.ahead.games:,}", _each(part.ahead), _whole(part.ahead), part.needs)
        for part in order
    ]
    rows += [(part.label, "", "", "", part.needs) for part in parts if part.why_not is not None]
    total = sum(part.ahead.total or 0.0 for part in order)
    title = f"{counted(len(order), 'measurement')}, about {duration(total)} of CPU time in all"
    if threads > 1:
        title += f", shared by {threads} threads"
    return FittedTable(("", "games", "CPU s a game", "CPU time", "needs"), rows, title=title)


def missing_of(parts: Sequence[Part]) -> list[str]:
    """A line for each reason why parts cannot be played, with their labels."""
    return [f"{MISSING}: {'; '.join(names)}: {why}" for why, names in by_reason(parts).items()]


def by_reason(parts: Sequence[Part]) -> dict[str, list[str]]:
    """Labels of parts that cannot be played, by the reason."""
    found: dict[str, list[str]] = {}
    for label, why in obstacles_of(parts).items():
        found.setdefault(why, []).append(label)
    return found


def measure_parts(console: Console, parts: Sequence[Part], effort: Effort) -> Measured:
    """Play what can be played, with a line before and after each part, until an interrupt."""
    found = Measured({})
    order = in_order(parts)
    for number, part in enumerate(order, start=1):
        say(f"{number} of {len(order)}: {part.label}: {_left(part.ahead)}")
        began = time.monotonic()
        try:
            figures, found.interrupted = _measured(console, part, effort)
        except KeyboardInterrupt:
            found.interrupted = True
            break
        if figures:
            found.figures[part.place] = figures
            score = f"{report.score(figures)}, " if isinstance(figures, dict) else ""
            say(f"{number} of {len(order)}: {score}{duration(time.monotonic() - began)}")
        if found.interrupted:
            break
    return found


def _measured(console: Console, part: Part, effort: Effort) -> tuple[Any, bool]:
    """Figures or lines, empty where there are no games; and whether it was interrupted."""
    if part.measures == "predictions":
        return predictions(part.run, effort, console)
    if part.measures == "beliefs":
        return measured_beliefs.qualities(part.run, effort, console)
    figures = measure(_trained(console, part.run, effort), effort, notes(console))
    interrupted = figures.pop("interrupted")
    return figures if figures["games"] else None, interrupted


def _trained(console: Console, run: Run, effort: Effort) -> Run:
    """The run with its networks, which are trained now where they are not finished."""
    if run.training is None:
        return run
    training_runs.begin(threads=1, evaluation_games=0)
    from hanabi_search_plugin.reproduce.trained_rows import trained

    def finish(name: str, begun: TrainingRun, rounds: int) -> None:
        if not begun.finished:
            say(f"trains {name}: {counted(rounds - begun.done, 'round')}")
        begun.finish(progress=notes(console))

    return trained(run, effort.folder.parent / "networks", finish)


def _left(ahead: Forecast) -> str:
    if not ahead.games:
        return "finished"
    known = ahead.total is not None
    cost = f"about {_whole(ahead)} of CPU time" if known else "of unknown cost"
    return f"{counted(ahead.games, 'game')} to play, {cost}"


def _each(ahead: Forecast) -> str:
    if ahead.seconds is None:
        return "not known"
    return f"{ahead.seconds:,.0f}" if ahead.seconds >= 10 else f"{ahead.seconds:.2g}"


def _whole(ahead: Forecast) -> str:
    return "not known" if ahead.total is None else duration(ahead.total)


def obstacles_of(parts: Sequence[Part]) -> Mapping[str, str]:
    """Why parts are not measured, by their labels."""
    return {part.label: part.why_not for part in parts if part.why_not is not None}
