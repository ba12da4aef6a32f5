"""A game as one HTML page that works by itself: it asks nothing of any network.

The page is the files of ``web/`` with a document (``hanabi.files.game_document``) put into them.
Its Content-Security-Policy forbids every request and every script and style but its own. A
document's text becomes text nodes alone, so that names in it are never markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame
from hanabi_search_plugin.hanabi.files.game_document import game_document
from hanabi_search_plugin.hanabi.files.records import RecordedGame

HEIGHT = 760  # pixels of the frame in a notebook


def page_of(document: dict[str, Any]) -> str:
    """The page of a document, as HTML."""
    style, script = _source("page.css"), _source("table.js") + _source("page.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    page = _source("page.html")
    parts = {"policy": policy, "style": style, "script": script, "document": _embedded(document)}
    for name, text in parts.items():
        before, mark, after = page.partition("{{" + name + "}}")
        assert mark, name
        page = before + text + after
    return page


def write_page(path: str | Path, document: dict[str, Any]) -> None:
    """Write the page of a document, whole or not at all."""
    with atomic_write(path) as file:
        file.write(page_of(document).encode())


class GamePage:
    """A recorded game that a notebook shows as its page.

    Beliefs are exact given that all seats play ``blueprint``, by hints and copies without one.
    Raises RecordError for an illegal move.
    """

    def __init__(
        self, game: AnnotatedGame | RecordedGame, blueprint: Blueprint | None = None
    ) -> None:
        annotated = AnnotatedGame(game) if isinstance(game, RecordedGame) else game
        self.document = game_document(annotated, blueprint)

    def save(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        write_page(path, self.document)

    def _repr_html_(self) -> str:
        page = html.escape(page_of(self.document), quote=True)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{page}" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )


@cache
def _source(name: str) -> str:
    return (files(__package__) / "web" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A source of a Content-Security-Policy: this text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded(document: dict[str, Any]) -> str:
    r"""JSON in which no tag or comment can begin or end: ``<`` is written ``\u003c``."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
