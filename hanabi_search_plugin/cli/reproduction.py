"""``hanabi-search reproduce``: a published table or figure, measured again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import result_files, terminal, training_runs
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.evaluation.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.provenance import describe, versions
from hanabi_search_plugin.reproduce import (
    lbs_paper,
    measured_beliefs,
    report,
    ris_mcts_paper,
    sparta_paper,
)
from hanabi_search_plugin.reproduce.measure import (
    Effort,
    average,
    by_turn,
    measure,
    paired,
    predictions,
    total,
    unmeasured,
)
from hanabi_search_plugin.reproduce.plan import Curve, Figure, Plan, Run, Table
from hanabi_search_plugin.reproduce.plot import plot

if TYPE_CHECKING:
    from hanabi_search_plugin.networks.training.training_run import TrainingRun

PLANS: tuple[Plan, ...] = (*sparta_paper.PLANS, *ris_mcts_paper.PLANS, *lbs_paper.PLANS)
_WIDE = 200  # columns where the output is no terminal


def reproduce(
    *,
    what: Annotated[str, typer.Argument(metavar="NAME", help=names())],
    games: Annotated[
        int, typer.Option(help="Games of a searched row; others have 100 times as many.")
    ] = 200,
    only: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Measure the row or curve TEXT, or else those with TEXT in their label; show "
            "others as measured before.",
        ),
    ] = "",
    seed: option.Seed = 7,
    threads: option.Threads = 1,
    out: option.Out = Path("runs"),
) -> None:
    """Measure what is missing, print it beside the paper's, and write DIR/NAME.json (and .png)."""
    plan = _plan(what)
    wanted = _wanted(plan, only)
    require_integer("games", games, 1)
    require_integer("threads", threads, 1)
    require_integer("seed", seed, 0)
    if isinstance(plan, Figure):
        require_extra("plots", "a figure", "matplotlib")  # before any game is played
    effort = Effort(games, seed, threads, out / "games")
    effort.folder.mkdir(parents=True, exist_ok=True)
    result_files.check_files(out=out / f"{plan.name}.json")
    console = terminal.open_console(None)
    if not console.is_terminal:
        console.width = _WIDE
    terminal.show_warnings(console)
    content: dict[str, Any] = {"command": "reproduce", "what": plan.name}
    content |= {"title": plan.title, "note": plan.note}
    content |= {"games": effort.games, "seed": effort.seed, "threads": effort.threads}
    content |= {"versions": versions()}
    before = _before(out / f"{plan.name}.json", effort) if only else {}
    with terminal.compile_progress(console):
        if isinstance(plan, Figure):
            content |= {"kind": plan.kind, "ticks": list(plan.ticks), "axis": plan.axis}
            content["curves"] = list(_curves(console, plan, effort, wanted, before))
        else:
            content["hidden"] = list(plan.hidden)
            content["rows"] = _rows(console, plan, effort, wanted, before)
    _print(console, content)
    _write(out, plan, content)


def names() -> str:
    """What can be reproduced."""
    return ", ".join(plan.name for plan in PLANS)


def _plan(name: str) -> Plan:
    for plan in PLANS:
        if plan.name == name:
            return plan
    raise ConfigError(f"what to reproduce must be one of {names()}, got {name!r}")


def _wanted(plan: Plan, only: str) -> set[str]:
    """Labels of the rows or curves to measure: the one that is ``only``, or those it is part of."""
    labels = [part.label for part in (plan.curves if isinstance(plan, Figure) else plan.rows)]
    wanted = {only} & set(labels) or {label for label in labels if only in label}
    if not wanted:
        raise ConfigError(f"only must be a part of one of {'; '.join(labels)}, got {only!r}")
    return wanted


def _before(path: Path, effort: Effort) -> dict[str, dict[str, Any]]:
    """Rows and curves that an earlier command measured with the same effort, by label."""
    try:
        content = json.loads(path.read_text()) if path.exists() else {}
    except ValueError as error:
        raise RecordError(f"{path}: expected a file of this command: {error}") from None
    if (content.get("games"), content.get("seed")) != (effort.games, effort.seed):
        return {}
    return {part["label"]: part for part in content.get("rows", []) + content.get("curves", [])}


def _rows(
    console: Console, table: Table, effort: Effort, wanted: set[str], before: Mapping[str, Any]
) -> list[dict[str, Any]]:
    rows = {row.label: (row, unmeasured(row)) for row in table.rows}
    for label, (row, told) in rows.items():
        if row.run is not None and label in wanted:
            told["measured"] = _measured(console, row.run, effort)
        elif label in before and _same(before[label]["run"], told["run"]):
            told["measured"] = before[label]["measured"]
        if row.run is not None and told["measured"] is None:
            told["run"] = row.run.name  # how it is set matters once it is measured
    for row, told in rows.values():
        if row.than is None:
            continue
        other, its = rows[row.than]
        if told["measured"] and its["measured"]:
            assert row.run is not None and other.run is not None
            told["measured"]["paired"] = paired(row.run, other.run, effort)
    return [told for _, told in rows.values()]


def _same(before: Any, now: Any) -> bool:
    """Were two runs set alike? What is new since and off makes no difference."""
    return difference(before, now) is None


def _measured(console: Console, run: Run, effort: Effort) -> dict[str, Any]:
    with _progress(console, run, effort) as on_game:
        measured = measure(run, effort, on_game)
    if measured.pop("interrupted"):
        raise typer.Exit(terminal.INTERRUPTED)
    return measured


def _curves(
    console: Console, figure: Figure, effort: Effort, wanted: set[str], before: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    parts = {"turns": _by_turn, "beliefs": _by_belief}.get(figure.kind, _by_run)
    for curve in figure.curves:
        told = {"label": curve.label, "runs": describe(curve.runs)}
        if curve.label in wanted:
            yield told | parts(console, figure, curve, effort)
        elif curve.label in before and _same(before[curve.label]["runs"], told["runs"]):
            yield before[curve.label]


Parts = dict[str, list[dict[str, Any]]]  # of a curve: its points, and what else its rows need


def _by_turn(console: Console, _: Figure, curve: Curve, effort: Effort) -> Parts:
    (run,) = curve.runs
    with _progress(console, run, effort, predictions=True) as on_game:
        lines = predictions(run, effort, on_game)
    turns = enumerate(by_turn(lines), start=1)
    return {"points": [{"x": turn, **average(values)} for turn, values in turns if values]}


def _by_belief(console: Console, _: Figure, curve: Curve, effort: Effort) -> Parts:
    (run,) = curve.runs
    with _progress(console, run, effort, predictions=True) as on_game:
        lines = measured_beliefs.qualities(run, effort, on_game)
    return {
        "points": list(measured_beliefs.by_turn(lines, curve.label)),
        "ranges": list(measured_beliefs.by_range(lines, curve.label)),
    }


def _by_run(console: Console, figure: Figure, curve: Curve, effort: Effort) -> Parts:
    points = []
    for place, run in enumerate(curve.runs):
        measured = _measured(console, _trained(console, run, effort), effort)
        x = place
        if figure.kind == "costs":
            x = measured["cpu_seconds_per_game"]
        elif figure.kind == "budgets":
            x = measured["rollouts_per_game"] / measured["searched_moves_per_game"]
        points.append({"x": x, "run": run.name, **measured})
    return {"points": points}


def _trained(console: Console, run: Run, effort: Effort) -> Run:
    """The run with its networks, which are trained now where they are not finished."""
    if run.training is None:
        return run
    training_runs.begin(threads=1, evaluation_games=0)
    from hanabi_search_plugin.reproduce.trained_rows import trained

    def finish(name: str, begun: TrainingRun, rounds: int) -> None:
        with terminal.progress_bar(console, name, rounds) as show:
            begun.finish(lambda row: show(begun.done))

    return trained(run, effort.folder.parent / "networks", finish)


@contextmanager
def _progress(
    console: Console, run: Run, effort: Effort, *, predictions: bool = False
) -> Iterator[Callable[[], None]]:
    games = total(run, effort, predictions=predictions)
    with terminal.progress_bar(console, run.name, games) as show:
        count = itertools.count(1)
        yield lambda: show(next(count))


def _print(console: Console, content: dict[str, Any]) -> None:
    table = RichTable(
        title=f"{content['title']}; {content['games']} games a searched row, "
        f"seed {content['seed']}",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for number, name in enumerate(report.headings(content)):
        table.add_column(name, justify="right" if number else "left", no_wrap=number < 4)
    for cells in report.rows(content):
        table.add_row(*cells)
    console.print(table)
    if "rows" in content:
        console.print(
            "CPU s, rollouts (of a tree: iterations) and likelihoods (policy evaluations of "
            "beliefs): of a game."
        )
    if content["note"]:
        console.print(content["note"], markup=False)


def _write(out: Path, plan: Plan, content: dict[str, Any]) -> None:
    with atomic_write(out / f"{plan.name}.json") as file:
        file.write(text(content).encode())
    if isinstance(plan, Figure):
        with atomic_write(out / f"{plan.name}.png") as file:
            plot(content, file)


def text(content: Mapping[str, Any]) -> str:
    """JSON with a line for each row or curve: what is measured anew is one line of a difference."""
    parts = []
    for name, value in content.items():
        if name in ("rows", "curves"):
            lines = ",\n  ".join(json.dumps(one, allow_nan=False) for one in value)
            parts.append(f' "{name}": [\n  {lines}\n ]')
        else:
            parts.append(f' "{name}": {json.dumps(value, allow_nan=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
