"""Write measured tables into pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def fill(text: str, sections: Mapping[str, Iterable[str]]) -> str:
    """A page with the lines between ``<!-- name -->`` and ``<!-- end of name -->`` made anew."""
    for name, lines in sections.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}{''.join(line + chr(10) for line in lines)}{end}{after}"
    return text
