"""Keep what was measured, and write its tables into pages of the documentation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation


def fill(text: str, sections: Mapping[str, Iterable[str]]) -> str:
    """A page with the lines between ``<!-- name -->`` and ``<!-- end of name -->`` made anew.

    Raises ValueError where the page has no such marks.
    """
    for name, lines in sections.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        if begin not in text or end not in text:
            raise ValueError(f"the page has no marks {begin.strip()} and {end.strip()}")
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}{''.join(line + chr(10) for line in lines)}{end}{after}"
    return text


def rewrite(path: Path, made_anew: Callable[[str], str]) -> None:
    """Put what ``made_anew`` makes of a page in its place."""
    text = made_anew(path.read_text(encoding="utf-8"))
    with atomic_write(path) as file:
        file.write(text.encode())


def figures_of(result: Evaluation) -> dict[str, Any]:
    """What of an evaluation is kept: its numbers and words, without lists and flags."""
    return {
        name: value
        for name, value in result.to_dict().items()
        if isinstance(value, int | float | str) and not isinstance(value, bool)
    }


def read_results(path: Path) -> dict[str, Any]:
    """What was measured so far; empty before the first time."""
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return content


def write_results(path: Path, content: dict[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")
