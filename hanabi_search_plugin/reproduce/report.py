"""Results as rows of text, for the terminal and for Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from hanabi_search_plugin.core.words import counted

ABSENT = "not in this package"  # the blueprint or the search


def headings(content: dict[str, Any]) -> list[str]:
    """Of the columns that some row has something in; see ``rows``."""
    return [name for name, _ in _columns(content)]


def rows(content: dict[str, Any]) -> list[list[str]]:
    """One list of cells for each row of a table, or each point or range of a figure."""
    if content.get("kind") == "beliefs":
        return [
            [curve["label"], one["turns"], _error(one["mean"], one["sem"]),
             _error(one["known"]["mean"] or None, one["known"]["sem"]), f"{one['games']:,}"]
            for curve in content["curves"]
            for one in curve["ranges"]
        ]  # fmt: skip
    if "curves" in content:
        return _points(content)
    columns = _columns(content)
    return [[cell(row) for _, cell in columns] for row in content["rows"]]


def markdown(content: dict[str, Any]) -> Iterable[str]:
    """The lines of a table."""
    names = headings(content)
    yield _line(names)
    yield f"|{'---|' * len(names)}"
    yield from map(_line, rows(content))


def _line(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


Cell = Callable[[dict[str, Any]], str]


def _columns(content: dict[str, Any]) -> list[tuple[str, Cell]]:
    if content.get("kind") == "beliefs":
        names = ["belief", "turns", "nats a card", "less than grounded", "games"]
        return [(name, str) for name in names]
    if "curves" in content:
        named = {"budgets": "rollouts a searched move", "costs": "CPU s"}
        x = content.get("axis") or named.get(content["kind"], "turn")
        return [(name, str) for name in ("curve", x, "score", "games")]
    every: list[tuple[str, Cell]] = [
        ("", lambda row: str(row["label"])),
        ("games", _measured("games", "{:,.0f}")),
        ("ours", _ours),
        ("paper", lambda row: _error(_published(row, "mean"), _published(row, "sem"))),
        ("apart", _apart),
        ("ours, bomb 0", _lost_as_zero),
        ("gain", lambda row: _error(_of(row, "gain"), _of(row, "gain_sem"), "+")),
        ("bound on the gain", lambda row: "" if row["bound"] is None else f"{row['bound']:,.0f}"),
        ("on the same decks", _paired),
        ("perfect", _measured("perfect", "{:.1%}")),
        ("perfect, paper", _paper("perfect", "{:.1%}")),
        ("searched", _measured("searched_share", "{:.1%}")),
        ("searched, paper", _paper("searched", "{:.1%}")),
        ("depth", _measured("depth", "{:.1f}")),
        ("depth, paper", _paper("depth", "{:.1f}")),
        ("CPU s", _measured("cpu_seconds_per_game", "{:.2f}")),
        ("s, paper", _paper("seconds", "{:.0f}")),
        ("fallback", _fallback),
        ("rollouts", _measured("rollouts_per_game", "{:,.0f}")),
        ("rollouts, paper", _paper("rollouts", "{:.1e}")),
        ("likelihoods", _measured("likelihoods_per_game", "{:,.0f}")),
        ("likelihoods, paper", _paper("likelihoods", "{:.0e}")),
    ]
    hidden = content.get("hidden", ())
    return [
        (name, cell)
        for name, cell in every
        if name not in hidden and any(cell(row) for row in content["rows"])
    ]


def _points(content: dict[str, Any]) -> list[list[str]]:
    form = "{:,.2f}" if content["kind"] == "costs" else "{:,.0f}"
    splits = content["kind"] == "splits"
    return [
        [curve["label"], content["ticks"][point["x"]] if splits else form.format(point["x"]),
         _error(point["mean"], point["sem"]), f"{point['games']:,}"]
        for curve in content["curves"]
        for point in curve["points"]
    ]  # fmt: skip


def score(measured: dict[str, Any]) -> str:
    """The mean of a measurement, its standard error and its games."""
    mean = _error(measured["mean"], measured["sem"])
    return f"{mean} in {counted(measured['games'], 'game')}"


def _of(row: dict[str, Any], name: str) -> float | None:
    value = None if row["measured"] is None else row["measured"].get(name)
    return None if value is None else float(value)


def _published(row: dict[str, Any], name: str) -> float | None:
    value = None if row["published"] is None else row["published"].get(name)
    return None if value is None else float(value)


def _measured(name: str, form: str) -> Cell:
    return lambda row: "" if _of(row, name) is None else form.format(_of(row, name))


def _paper(name: str, form: str) -> Cell:
    return lambda row: "" if _published(row, name) is None else form.format(_published(row, name))


def _ours(row: dict[str, Any]) -> str:
    if row["measured"] is None:
        if "obstacle" in row:
            return str(row["obstacle"]).partition(":")[0]  # without how to install it
        return ABSENT if row["run"] is None else "not measured"
    return _error(_of(row, "mean"), _of(row, "sem"))


def _fallback(row: dict[str, Any]) -> str:
    """Share of games in which a search once had too few worlds, where there are any."""
    share = _of(row, "fallback_games")
    return f"{share:.1%}" if share else ""


def _lost_as_zero(row: dict[str, Any]) -> str:
    other = None if row["measured"] is None else row["measured"].get("lost_as_zero")
    return "" if other is None else _error(other["mean"], other["sem"])


def _paired(row: dict[str, Any]) -> str:
    """How much more than another row's games."""
    paired = None if row["measured"] is None else row["measured"].get("paired")
    if paired is None:
        return ""
    return f"{_error(paired['mean'], paired['sem'], '+')} than {row['than']}"


def _apart(row: dict[str, Any]) -> str:
    """Ours minus the paper's, in standard errors of the difference."""
    ours, paper = _of(row, "mean"), _published(row, "mean")
    error = math.hypot(_of(row, "sem") or 0.0, _published(row, "sem") or 0.0)
    return "" if ours is None or paper is None or error == 0 else f"{(ours - paper) / error:+.1f}"


def _error(mean: float | None, sem: float | None, sign: str = "") -> str:
    if mean is None:
        return ""
    return f"{mean:{sign}.2f}" + ("" if sem is None else f" ± {sem:.{3 if sem < 0.01 else 2}f}")
