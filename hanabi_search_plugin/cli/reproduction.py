"""``hanabi-search reproduce``: a published table or figure, measured again."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hanabi_search_plugin.atomic_files import atomic_write, remove
from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import result_files, terminal
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.fitted_table import FittedTable
from hanabi_search_plugin.cli.measuring import (
    Measured,
    Part,
    by_reason,
    measure_parts,
    missing_of,
    obstacles_of,
    parts_of,
    table_of,
)
from hanabi_search_plugin.core.errors import ConfigError, RecordError, UnsupportedError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.plain_json import parse_json, typed
from hanabi_search_plugin.core.require import require_integer, unknown
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.provenance import describe, versions
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.reproduce import (
    lbs_paper,
    measured_beliefs,
    report,
    ris_mcts_paper,
    sparta_paper,
)
from hanabi_search_plugin.reproduce.measure import Effort, average, by_turn, paired, unmeasured
from hanabi_search_plugin.reproduce.plan import Curve, Figure, Plan, Table
from hanabi_search_plugin.reproduce.plot import plot

PLANS: tuple[Plan, ...] = (*sparta_paper.PLANS, *ris_mcts_paper.PLANS, *lbs_paper.PLANS)
NOT_HERE = "its policies or searches are not in this package; docs/results has the paper's rows"
_WIDE = 1_000  # columns where the output is no terminal and nobody says how wide it is


def reproduce(
    *,
    what: Annotated[str | None, typer.Argument(metavar="NAME", help=names())] = None,
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
    cluster: Annotated[ClusterChoice, the_cluster()],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say what would be played, what it costs and needs; play nothing. Without NAME: "
            "of all of them.",
        ),
    ] = False,
    out: option.Out = Path("runs"),
) -> None:
    """Measure what is missing, print it beside the paper's, and write DIR/NAME.json (and .png).

    The cheapest rows come first. Ctrl-C prints what there is, and writes DIR/NAME.partial.json.
    """
    require_integer("games", games, 1)
    require_integer("seed", seed, 0)
    effort = Effort(games, seed, Threads(threads), out / "games")
    console = terminal.open_console(None)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDE
    if dry_run and what is None and not only:
        _print_all(console, effort, threads)
        return
    plan = _plan(what)
    wanted = _wanted(plan, only)
    parts = parts_of(plan, wanted, effort)
    if dry_run:
        _print_plan(console, parts, threads)
        return
    _require_something(plan, parts)
    effort.folder.mkdir(parents=True, exist_ok=True)
    complete, partial = out / f"{plan.name}.json", out / f"{plan.name}.partial.json"
    result_files.check_files(out=complete)
    terminal.show_warnings(console)
    drawn = isinstance(plan, Figure) and _can_draw()
    before = _before(complete, effort) if only else {}
    with cluster.executor(threads) as executor, terminal.compile_progress(console):
        effort = replace(effort, executor=executor)
        found = measure_parts(console, parts, effort)
    content: dict[str, Any] = {"command": "reproduce", "what": plan.name}
    content |= {"title": plan.title, "note": plan.note}
    content |= {"games": effort.games, "seed": effort.seed, "threads": threads}
    content |= {"versions": versions()}
    if isinstance(plan, Figure):
        content |= {"kind": plan.kind, "ticks": list(plan.ticks), "axis": plan.axis}
        content["curves"] = list(_curves(plan, found, wanted, before))
    else:
        content["hidden"] = list(plan.hidden)
        content["rows"] = _rows(plan, found, effort, obstacles_of(parts), before)
    _print(console, content)
    for why, labels in by_reason(parts).items():
        console.print(f"not measured: {'; '.join(labels)}: {why}", markup=False, soft_wrap=True)
    if found.interrupted:
        _write(partial, content | {"interrupted": True})
        terminal.say(f"stopped: what there is stands in {partial}; this goes on:")
        where = ["--threads", str(threads)] if cluster.cluster is None else cluster.words()
        terminal.say(_command(plan, effort, only, out, where))
        raise typer.Exit(terminal.INTERRUPTED)
    _write(complete, content)
    remove(partial)
    if drawn:
        with atomic_write(out / f"{plan.name}.png") as file:
            plot(content, file)


def _print_all(console: Console, effort: Effort, threads: int) -> None:
    """What each table and figure would play and cost."""
    for plan in PLANS:
        console.print(f"{plan.name}: {plan.title}", markup=False, soft_wrap=True)
        parts = parts_of(plan, _wanted(plan, ""), effort)
        _print_plan(console, parts, threads)
        console.print()


def _print_plan(console: Console, parts: Sequence[Part], threads: int) -> None:
    """What would be played, and below it what cannot be."""
    if not parts:
        console.print(f"nothing to measure: {NOT_HERE}", soft_wrap=True)
        return
    console.print(table_of(parts, threads))
    for line in missing_of(parts):
        console.print(line, markup=False, soft_wrap=True)


def names() -> str:
    """What can be reproduced."""
    return ", ".join(plan.name for plan in PLANS)


def _plan(name: str | None) -> Plan:
    """Raises ConfigError where nothing has that name."""
    known = {plan.name: plan for plan in PLANS}
    if name is None:
        raise ConfigError(f"say what to reproduce: {names()}")
    if name not in known:
        raise unknown("what to reproduce", name, known)
    return known[name]


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
        content = parse_json(read_whole(path)) if path.exists() else {}
        typed("it", content, dict)
        if (content.get("games"), content.get("seed")) != (effort.games, effort.seed):
            return {}
        parts = [
            typed("a row or curve", part, dict)
            for name in ("rows", "curves")
            for part in typed(name, content.get(name, []), list)
        ]
        return {typed("a label", part["label"], str): _checked(part) for part in parts}
    except (ValueError, KeyError) as error:
        raise RecordError(f"{path}: expected a file of this command: {error}") from None


def _checked(part: dict[str, Any]) -> dict[str, Any]:
    """A row or a curve of a file. Raises KeyError and ValueError where its figures are none."""
    figures = [part["measured"]] if "measured" in part else [*part["points"]]
    for one in (*figures, *part.get("ranges", [])):
        if one is not None:
            _require_figures(one)
    return part


def _require_figures(figures: Any) -> None:
    for name, value in typed("figures", figures, dict).items():
        if isinstance(value, dict):
            _require_figures(value)
        elif name not in ("run", "turns"):  # names
            typed(name, value, float | None)
    typed("games", figures["games"], int)
    for name in ("mean", "sem"):
        typed(name, figures[name], float | None)


def _require_something(plan: Plan, parts: Sequence[Part]) -> None:
    """Raises UnsupportedError where nothing of what was asked for can be played."""
    obstacles = obstacles_of(parts)
    if not parts:
        raise UnsupportedError(f"{plan.name}: nothing of it can be measured: {NOT_HERE}")
    if len(obstacles) == len(parts):
        label, why = next(iter(obstacles.items()))
        raise UnsupportedError(f"{label}: {why}")


def _can_draw() -> bool:
    try:
        require_extra("plots", "a figure", "matplotlib")
    except UnsupportedError as error:
        terminal.say(f"numbers alone, since {error}")
        return False
    return True


def _command(plan: Plan, effort: Effort, only: str, out: Path, where: Sequence[str]) -> str:
    """The command line that goes on, ``where`` the games are played."""
    words = ["hanabi-search", "reproduce", plan.name, "--games", str(effort.games)]
    words += ["--only", only] if only else []
    words += ["--seed", str(effort.seed), *where, "--out", str(out)]
    return shlex.join(words)


def _rows(
    table: Table,
    found: Measured,
    effort: Effort,
    obstacles: Mapping[str, str],
    before: Mapping[str, Any],
) -> list[dict[str, Any]]:
    rows = {row.label: (row, unmeasured(row)) for row in table.rows}
    for place, (label, (row, record)) in enumerate(rows.items()):
        if (place, 0) in found.figures:
            record["measured"] = found.figures[place, 0]
        elif label in obstacles:
            record["obstacle"] = obstacles[label]
        elif label in before and _same(before[label]["run"], record["run"]):
            record["measured"] = before[label]["measured"]
        if row.run is not None and record["measured"] is None:
            record["run"] = row.run.name  # how it is set matters once it is measured
    for row, record in rows.values():
        if row.than is None or not record["measured"]:
            continue
        other, its = rows[row.than]
        compared = None
        if its["measured"]:
            assert row.run is not None and other.run is not None
            compared = paired(row.run, other.run, effort) or _paired_before(record, its, before)
        figures = _alone(record["measured"])
        record["measured"] = figures | ({"paired": compared} if compared else {})
    return [record for _, record in rows.values()]


def _paired_before(
    record: dict[str, Any], its: dict[str, Any], before: Mapping[str, Any]
) -> dict[str, Any] | None:
    """What a row came to beside another, whose games are no longer kept.

    None if one of them is set otherwise, or was played anew.
    """
    mine, other = before.get(record["label"]), before.get(its["label"])
    if not mine or not other or mine.get("than") != its["label"] or not mine["measured"]:
        return None
    alike = all(
        _same(then["run"], now["run"]) and _alone(then["measured"]) == _alone(now["measured"])
        for then, now in ((mine, record), (other, its))
    )
    found: dict[str, Any] | None = mine["measured"].get("paired") if alike else None
    return found


def _alone(measured: Mapping[str, Any] | None) -> dict[str, Any]:
    """A row's figures, without what it came to beside another."""
    return {name: value for name, value in (measured or {}).items() if name != "paired"}


def _same(before: Any, now: Any) -> bool:
    """Were two runs set alike? What is new since and off makes no difference."""
    return difference(before, now) is None


Parts = dict[str, list[dict[str, Any]]]  # of a curve: its points, and what else its rows need


def _curves(
    figure: Figure, found: Measured, wanted: set[str], before: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for place, curve in enumerate(figure.curves):
        record = {"label": curve.label, "runs": describe(curve.runs)}
        figures = [found.figures.get((place, one)) for one in range(len(curve.runs))]
        if any(figures):
            yield record | _points(figure, curve, figures)
        elif (
            curve.label in before
            and curve.label not in wanted
            and _same(before[curve.label]["runs"], record["runs"])
        ):
            yield before[curve.label]


def _points(figure: Figure, curve: Curve, figures: Sequence[Any]) -> Parts:
    """``figures`` of its runs: lines of games, or a measurement; None where there is none."""
    if figure.kind == "turns":
        turns = enumerate(by_turn(figures[0]), start=1)
        return {"points": [{"x": turn, **average(values)} for turn, values in turns if values]}
    if figure.kind == "beliefs":
        return {
            "points": list(measured_beliefs.by_turn(figures[0], curve.label)),
            "ranges": list(measured_beliefs.by_range(figures[0], curve.label)),
        }
    points = []
    for place, (run, measured) in enumerate(zip(curve.runs, figures, strict=True)):
        if measured is None:
            continue
        x = place
        if figure.kind == "costs":
            x = measured["cpu_seconds_per_game"]
        elif figure.kind == "budgets":
            x = measured["rollouts_per_game"] / measured["searched_moves_per_game"]
        points.append({"x": x, "run": run.name, **measured})
    return {"points": points}


_OF_A_GAME = {
    "CPU s": "CPU s",
    "rollouts": "rollouts (of a tree: iterations)",
    "likelihoods": "likelihoods (policy evaluations of beliefs)",
}
"""What columns of a table mean, by their headings."""


def _print(console: Console, content: dict[str, Any]) -> None:
    games = f"{counted(content['games'], 'game')} a searched row, seed {content['seed']}"
    title = f"{content['title']}; {games}"
    console.print(FittedTable(report.headings(content), report.rows(content), title=title))
    shown = report.headings(content)
    definitions = [
        words for name, words in _OF_A_GAME.items() if "rows" in content and name in shown
    ]
    if definitions:
        console.print(f"Of a game: {', '.join(definitions)}.", soft_wrap=not console.is_terminal)
    if content["note"]:
        console.print(content["note"], markup=False)


def _write(path: Path, content: dict[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write(text(content).encode())


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
