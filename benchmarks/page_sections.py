"""Parts of a page that are made from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def with_sections(text: str, sections: Mapping[str, Iterable[str]]) -> str:
    """``text`` with new lines between ``<!-- name -->`` and ``<!-- end of name -->``."""
    for name, lines in sections.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}{''.join(line + chr(10) for line in lines)}{end}{after}"
    return text
