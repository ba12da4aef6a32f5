"""Write what `hanabi-search reproduce` measured into docs/sparta.md.

python -m benchmarks.sparta_page
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from benchmarks.pages import fill
from hanabi_search_plugin.files import atomic_write
from hanabi_search_plugin.reproduce import report
from hanabi_search_plugin.reproduce.sparta import PLANS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "sparta"
PAGE = ROOT / "docs" / "sparta.md"


def page(text: str) -> str:
    """docs/sparta.md with its tables made anew."""
    return fill(text, {plan.name: _section(plan.name) for plan in PLANS})


def _section(name: str) -> Iterable[str]:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        yield "Not measured yet."
        return
    content = json.loads(path.read_text())
    if (RESULTS / f"{name}.png").exists():
        yield f"![{content['title']}](results/sparta/{name}.png)"
    else:
        yield from report.markdown(content)
    yield ""
    yield f"[{name}.json](results/sparta/{name}.json)"


if __name__ == "__main__":
    with atomic_write(PAGE) as file:
        file.write(page(PAGE.read_text()).encode())
