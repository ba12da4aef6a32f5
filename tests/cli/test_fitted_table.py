"""Tables on narrow terminals: nothing is left out."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from hanabi_search_plugin.cli.fitted_table import FittedTable

HEADINGS = ("", "games", "ours", "paper", "share of moves searched", "rollouts")
ROWS = (
    ("SmartBot", "20,000", "22.94 ± 0.02", "22.99 ± 0.001"),
    ("SmartBot, single-agent, hands [listed]", "200", "24.27 ± 0.08", "24.21", "50.0%", "196,000"),
)
TABLE = FittedTable(
    HEADINGS, ROWS, title="A title of some length for a narrow terminal", strong={1}
)


def drawn(table: FittedTable, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), no_color=True)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_wide_enough_it_is_one_table() -> None:
    title, headings, first, second = drawn(TABLE, 200)
    assert title == TABLE.title
    assert headings.split("  ")[-2:] == ["share of moves searched", "rollouts"]
    assert first.startswith("SmartBot   ") and first.endswith("22.99 ± 0.001")
    assert second.startswith("SmartBot, single-agent, hands [listed]     200  24.27 ± 0.08")


@pytest.mark.parametrize("width", [40, 50, 60, 80, 100])
def test_every_cell_is_there_whatever_the_width(width: int) -> None:
    lines = drawn(TABLE, width)
    assert max(map(len, lines)) <= width and "…" not in "".join(lines)
    words = " ".join(lines).split()
    for cell in (*HEADINGS, *(cell for row in ROWS for cell in row)):
        for word in cell.split():
            assert any(word in shown for shown in words), (word, lines)


def test_headings_wrap_before_labels_and_both_before_a_second_table() -> None:
    def columns(width: int) -> tuple[int, int, int]:
        """Lines that a label begins, lines of the second label, and of headings."""
        lines = drawn(TABLE, width)
        begun = [number for number, line in enumerate(lines) if line.startswith("SmartBot")]
        return len(begun), len(lines) - begun[-1], begun[0] - 1

    assert columns(200) == (2, 1, 1)
    assert columns(100) == (2, 1, 3)
    assert columns(80) == (2, 2, 3)
    assert columns(60)[0] == 4


def test_a_table_of_labels_alone() -> None:
    assert drawn(FittedTable(("policy",), (("smartbot",), ("hatbot",))), 60) == [
        *("policy", "smartbot", "hatbot")
    ]
