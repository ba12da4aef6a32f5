"""A table that fits its terminal without leaving anything out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

GAP = 2  # between columns


@dataclass(frozen=True)
class FittedTable:
    """Rows of cells under headings; the first column is the rows' labels, the others are numbers.

    Where it is too wide headings are wrapped, then labels; where that is not enough the columns are
    shared out among several tables, one below the other, each with the labels. Rows may be shorter
    than the headings. ``strong`` are the numbers of the rows to look at first.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    strong: frozenset[int] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text | Table]:
        if self.title:
            yield Text(self.title, "table.title")
        for number, widths in enumerate(self._layout(options.max_width)):
            if number:
                yield Text("")
            yield self._part(widths)

    def _layout(self, width: int) -> list[dict[int, int]]:
        """Parts, each the widths of its columns by their numbers."""
        columns = range(len(self.headings))
        cells = [[row[c] for row in self.rows if c < len(row)] for c in columns]
        natural = [max(map(len, (self.headings[c], *cells[c]))) for c in columns]
        least = [max(_longest_word(self.headings[c]), *map(len, cells[c]), 1) for c in columns]
        label, shortest = natural[0], max(map(_longest_word, (self.headings[0], *cells[0])))
        others = [*columns][1:]
        if _total(natural) <= width:
            return [dict(enumerate(natural))]
        available = width - _total(least[1:]) - GAP * (len(others) > 0)
        if available >= shortest:
            return [{0: min(label, available)} | {c: least[c] for c in others}]
        label = min(label, max(shortest, width // 3), max(width // 2, 1))
        available = max(width - label - GAP, 1)
        parts: list[dict[int, int]] = []
        for c in others:
            wanted = min(least[c], available)
            if not parts or _total([*parts[-1].values()][1:]) + GAP + wanted > available:
                parts.append({0: label})
            parts[-1][c] = wanted
        return parts

    def _part(self, widths: dict[int, int]) -> Table:
        table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
        for c, width in widths.items():
            justify = "right" if c else "left"
            table.add_column(Text(self.headings[c]), width=width, justify=justify, overflow="fold")  # type: ignore[arg-type]  # a literal
        for number, row in enumerate(self.rows):
            cells = (Text(row[c] if c < len(row) else "") for c in widths)
            table.add_row(*cells, style="bold" if number in self.strong else None)
        return table


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * max(len(widths) - 1, 0)
