"""Tables as plain text, for ``print``: labels to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

GAP = "  "  # between columns


def text_table(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells in columns, the first of them left-justified; a line may lack its last cells.

    The first line, which lacks none, may be headings.
    """
    widths = [
        max(len(line[column]) for line in lines if column < len(line))
        for column in range(len(lines[0]))
    ]
    laid_out = []
    for first, *cells in lines:
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=False)]
        laid_out.append(GAP.join([first.ljust(widths[0]), *numbers]).rstrip())
    return laid_out
