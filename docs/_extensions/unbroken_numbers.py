"""Keep a number, its error and its unit on one line in the cells of tables."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

SPACES = re.compile(r"(?<=[\d*]) (?=(?:±|\+-|%))|(?<=±) (?=\d)|(?<=\+-) (?=\d)")


class UnbrokenNumbers(SphinxPostTransform):
    """Spaces within a figure become spaces that do not break."""

    default_priority = 700
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for cell in self.document.findall(nodes.entry):
            for text in list(cell.findall(nodes.Text)):
                unbroken = SPACES.sub("\N{NO-BREAK SPACE}", text)
                if unbroken != text:
                    text.parent.replace(text, nodes.Text(unbroken))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(UnbrokenNumbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
