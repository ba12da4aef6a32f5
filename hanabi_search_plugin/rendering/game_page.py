"""A game as one HTML page that works by itself: it asks nothing of any network.

The page is files of ``web/`` with a document (``hanabi.files.game_document``) put into them.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame
from hanabi_search_plugin.hanabi.files.game_document import game_document
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.shown_beliefs import ModelBeliefs
from hanabi_search_plugin.rendering.html_pages import assembled

SCRIPTS = ("table.js", "moves.js", "page.js")  # one after the other
HEIGHT = 760  # pixels of the frame in a notebook


def page_of(document: dict[str, Any]) -> str:
    """The page of a document, as HTML."""
    return assembled("page.html", ("page.css",), SCRIPTS, document)


def write_page(path: str | Path, document: dict[str, Any]) -> None:
    """Write the page of a document, whole or not at all."""
    with atomic_write(path) as file:
        file.write(page_of(document).encode())


class GamePage:
    """A recorded game that a notebook shows as its page.

    Beliefs are exact given that all seats play ``blueprint``, a ``model``'s, or by hints and copies
    without either. Raises as ``game_document``.
    """

    def __init__(
        self,
        game: AnnotatedGame | RecordedGame,
        blueprint: Blueprint | None = None,
        *,
        model: ModelBeliefs | None = None,
    ) -> None:
        annotated = AnnotatedGame(game) if isinstance(game, RecordedGame) else game
        self.document = game_document(annotated, blueprint, model=model)

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        write_page(path, self.document)

    def _repr_html_(self) -> str:
        page = html.escape(page_of(self.document), quote=True)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{page}" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )
