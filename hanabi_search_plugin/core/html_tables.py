"""Tables as HTML, for notebooks: what ``_repr_html_`` of results returns."""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence


def html_table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    strong: Collection[int] = (),
    notes: Sequence[str] = (),
) -> str:
    """A caption, headings (none: no line of them) and rows; numbers of ``strong`` rows in bold.

    ``notes`` stand below. All is text: whatever looks like markup is shown as it is.
    """
    lines = [f"<caption>{html.escape(title)}</caption>"]
    if headings:
        lines.append(_line("th", headings))
    for number, row in enumerate(rows):
        lines.append(_line("td", row, strong=number in strong))
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return "<table>" + "".join(lines) + "</table>" + below


def _line(tag: str, cells: Sequence[str], *, strong: bool = False) -> str:
    texts = [html.escape(cell) for cell in cells]
    if strong:
        texts = [f"<strong>{text}</strong>" for text in texts]
    return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in texts) + "</tr>"
