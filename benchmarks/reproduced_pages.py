"""Write what `hanabi-search reproduce` measured into pages of docs/results: sparta, ris_mcts, lbs.

python -m benchmarks.reproduced_pages
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages import fill
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.reproduce import lbs_paper, report, ris_mcts_paper, sparta_paper
from hanabi_search_plugin.reproduce.plan import Plan

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"


@dataclass(frozen=True)
class Page:
    """A page of ``RESULTS``, the folder of its files there, and what is in it."""

    name: str
    results: str
    plans: tuple[Plan, ...]

    @property
    def path(self) -> Path:
        return RESULTS / self.name

    def made_anew(self) -> str:
        """The page with its tables as they are measured now."""
        sections = {plan.name: self._section(plan.name) for plan in self.plans}
        return fill(self.path.read_text(), sections)

    def _section(self, name: str) -> Iterable[str]:
        folder = RESULTS / self.results
        path = folder / f"{name}.json"
        if not path.exists():
            yield "Not measured yet."
            return
        content = json.loads(path.read_text())
        figure = (folder / f"{name}.png").exists()
        if not figure or content["kind"] in ("beliefs", "splits"):
            yield from report.markdown(content)
            yield ""
        if figure:
            yield f"![{content['title']}]({self.results}/{name}.png)"
            yield ""
        yield f"[{name}.json]({self.results}/{name}.json)"


PAGES = (
    Page("sparta.md", "sparta", sparta_paper.PLANS),
    Page("ris_mcts.md", "ris", ris_mcts_paper.PLANS),
    Page(
        "lbs.md",
        "lbs",
        (
            lbs_paper.FIGURE_4,
            lbs_paper.TABLE_1,
            lbs_paper.TABLE_2,
            lbs_paper.FIGURE_5,
            lbs_paper.FIGURE_6,
            lbs_paper.BOTH_SEATS,
            lbs_paper.IN_DOUBT,
        ),
    ),
)


if __name__ == "__main__":
    for page in PAGES:
        text = page.made_anew()
        with atomic_write(page.path) as file:
            file.write(text.encode())
