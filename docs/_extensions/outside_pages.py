"""Show files that lie outside docs/ in the site, and make links to them work there as on GitHub.

A page of ``SHOWN`` is a stub on GitHub; the site shows the file that it stands for. A link to such
a file leads to its page, a link to an example to its place among the examples. A link to any other
file of the repository lets the reader download it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = "start/examples"
SHOWN = {
    EXAMPLES: "examples/README.md",
    "how_to/plugin_example": "examples/plugin/README.md",
    "development/contributing": "CONTRIBUTING.md",
    "development/changelog": "CHANGELOG.md",
}
PAGES = {file: page for page, file in SHOWN.items()} | {"README.md": "index"}


def show(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the file in place of its stub, with links as seen from there."""
    file = SHOWN.get(docname)
    if file is None:
        return
    path = ROOT / file
    app.env.note_dependency(str(path))
    here = os.path.dirname(app.env.doc2path(docname))

    def seen_from_here(link: re.Match[str]) -> str:
        target = link[1]
        if "://" in target:
            return link[0]
        return f"]({os.path.relpath(path.parent / target, here)}{link[2] or ''})"

    text = re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", seen_from_here, path.read_text(encoding="utf-8"))
    if docname == EXAMPLES:
        for program in sorted(path.parent.glob("*.py")):
            relative = os.path.relpath(program, here)
            text += (
                f"\n## {program.name}\n\n```{{literalinclude}} {relative}\n:language: python\n```\n"
            )
    source[0] = text


class LinksOutside(SphinxTransform):
    """Lead links to files that the site shows to their pages."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        for link in [
            *self.document.findall(download_reference),
            *self.document.findall(pending_xref),
        ]:
            page, anchor = self._shown_at(link)
            if page is not None:
                shown = pending_xref(
                    "",
                    *link.children,
                    refdomain="doc",
                    reftarget=page,
                    reftargetid=anchor,
                    refdoc=self.env.docname,
                    reftype="myst",
                    refexplicit=True,
                )
                link.replace_self(shown)

    def _shown_at(self, link: nodes.Element) -> tuple[str | None, str | None]:
        """The page, and the heading there, that shows what a link leads to; None if none does."""
        if isinstance(link, download_reference):
            path = Path(self.env.relfn2path(link["reftarget"], self.env.docname)[1]).resolve()
        elif link["reftarget"].startswith("/"):  # a .md outside docs/: to Sphinx a page by its path
            path = Path(link["reftarget"] + ".md")
        else:
            return None, None
        if not path.is_relative_to(ROOT):
            return None, None
        file = path.relative_to(ROOT).as_posix()
        if re.fullmatch(r"examples/\w+\.py", file):
            return EXAMPLES, re.sub(r"[^\w-]", "", path.name)
        return PAGES.get(file), link.get("reftargetid")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", show)
    app.add_transform(LinksOutside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
