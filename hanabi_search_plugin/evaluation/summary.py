"""The figures of an evaluation as rows of text, for a terminal, a notebook or a log."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hanabi_search_plugin.core.text_tables import text_table
from hanabi_search_plugin.core.words import counted, with_error

_COSTS = (
    ("CPU seconds a game", "cpu_seconds", ",.2f"),
    ("rollouts a game", "rollouts", ",.0f"),
    ("likelihoods a game", "likelihoods", ",.0f"),
    ("changed moves a game", "changed_moves", ",.1f"),
)


@dataclass(frozen=True)
class SummaryRow:
    """A line of the table: its title and what stands below the headings, the first of them on."""

    title: str
    cells: tuple[str, ...]
    strong: bool = False  # the line to look at first


def title(figures: Mapping[str, Any], names: Sequence[str]) -> str:
    """Who played how many games. ``figures`` are those of ``Evaluation.to_dict``."""
    games, requested = figures["games"], figures["requested_games"]
    skipped = len({game for one in figures.get("skipped", ()) for game in one["games"]})
    asked = f" of {requested:,}" if games < requested else ""
    asked += f", {skipped:,} skipped" if skipped else ""
    asked += ", interrupted" if games + skipped < requested else ""
    return f"{', '.join(names)}: {counted(games, 'game')}{asked}, seed {figures['seed']}"


def headings(figures: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the columns: means and their unit, "perfect" where all are paid the same, "bombs" where
    games can be lost."""
    unit = figures.get("unit")
    return ("", f"mean, {unit}" if unit else "mean", *_shares(figures))


def _shares(figures: Mapping[str, Any]) -> list[str]:
    """Names of the shares of games that mean something in this game."""
    shares = ["perfect"] if figures["return_of"] is None else []
    return shares if figures["bombs"] is None else [*shares, "bombs"]


def baseline_label(names: Sequence[str]) -> str:
    """What the other side is called: the searching policies' blueprint, or the baseline given."""
    return f"baseline {', '.join(names)}" if names else "blueprint"


def rows(figures: Mapping[str, Any], baseline: Sequence[str] = ()) -> list[SummaryRow]:
    """Scores of both sides, or one seat's returns where others differ, the gain, what it cost.

    ``baseline`` are the names of a baseline that is not the blueprint.
    """
    compared, searched = "gain" in figures, "searched_share" in figures
    table, seat = [], figures["return_of"]
    whose = "" if seat is None else f", return of P{seat}"
    if compared:
        table.append(_scores(f"{baseline_label(baseline)}{whose}", figures, "blueprint_"))
    alone = "score" if seat is None else f"return of P{seat}"
    told = f"with search{whose}" if compared and searched else alone
    table.append(_scores(told, figures, ""))
    if compared:
        gain = with_error(figures["gain"], figures["gain_sem"], "+")
        table.append(SummaryRow("gain", (gain,), strong=True))
    if searched and figures["games"]:
        for what, name, form in _COSTS:
            value = figures[f"{name}_per_game"]
            table.append(SummaryRow(what, ("not counted" if value is None else f"{value:{form}}",)))
        table.append(SummaryRow("share of moves searched", (_percent(figures["searched_share"]),)))
        if figures["depth"] is not None:
            table.append(
                SummaryRow("depth of the tree of a decision", (f"{figures['depth']:.1f}",))
            )
    table.append(SummaryRow("peak memory, MB", (f"{figures['peak_rss_mb']:,.0f}",)))
    table.append(SummaryRow("compilation, s", (f"{figures['compile_seconds']:,.1f}",)))
    return table


def notes(figures: Mapping[str, Any]) -> list[str]:
    """Sentences that the figures should be read with."""
    return [*_recovery(figures), *_of_one_seat(figures)]


def _recovery(figures: Mapping[str, Any]) -> list[str]:
    """How often a belief was lost, where one was."""
    games = figures.get("recovered_games")
    if not games:
        return []
    return [
        f"in {_percent(games)} of games, {_percent(figures['recovered_share'])} of searched moves, "
        "a partner had made a move that the search rules out, and its belief was what the seat had "
        "seen: give the policies that the others really play, or belief=UnknownPartners(...)"
    ]


def _of_one_seat(figures: Mapping[str, Any]) -> list[str]:
    """Sentences: why the return of one seat does not tell who is stronger, where it does not.

    It does where another seat plays the same on both sides; where all are paid alike it always
    does.
    """
    seat, seats = figures["return_of"], figures["policies"]
    if seat is None or len(seats) == 1:
        return []
    if "gain" in figures:
        if any(map(operator.eq, seats, figures["baseline"])):
            return []
        pair = "(blueprint, agent)" if figures["searches"] else "(baseline, policy)"
        return [
            f"every seat plays otherwise than in the baseline, so the gain in P{seat}'s return "
            f"does not tell who is stronger: change one side alone, as evaluate(game, {pair}) does"
            + (", and --search-seats 1" if figures["searches"] else "")
        ]
    if len(figures["names"]) > 1:
        return []
    return [
        f"all seats play the same, so P{seat}'s return does not tell how strong it is: seat it "
        "beside another, as evaluate(game, (other, policy)) does"
    ]


def as_text(figures: Mapping[str, Any], names: Sequence[str], baseline: Sequence[str] = ()) -> str:
    """Title, headings and rows, in columns, and notes."""
    lines = [headings(figures), *((row.title, *row.cells) for row in rows(figures, baseline))]
    failed = [
        f"first skipped: {' '.join(one['error'].split())}" for one in figures.get("skipped", ())[:1]
    ]
    return "\n".join([title(figures, names), *failed, *text_table(lines), *notes(figures)])


def _scores(what: str, figures: Mapping[str, Any], prefix: str) -> SummaryRow:
    mean = with_error(figures[f"{prefix}mean"], figures[f"{prefix}sem"])
    shares = [_percent(figures[f"{prefix}{name}"]) for name in _shares(figures)]
    return SummaryRow(what, (mean, *shares))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"
