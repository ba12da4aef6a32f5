"""The page of a game as text: whole, small, and nothing of a file in it could be markup."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import tomllib
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame
from hanabi_search_plugin.hanabi.files.game_document import game_document
from hanabi_search_plugin.rendering.game_page import GamePage, page_of, write_page
from tests.helpers.game_pages import HOSTILE, document_of, random_game

ROOT = Path(__file__).parents[2]
SOURCES = ("frame.html", "page.html", "page.css", "table.js", "moves.js", "page.js")
LIVE = ("live.html", "live.css", "live.js", "start.html", "start.js")  # of a server's pages


@pytest.fixture
def document() -> dict[str, Any]:
    return document_of(*HOSTILE)


class Parts(HTMLParser):
    """The elements of a page in order, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style") and data.strip():
            self.texts.append(data)


def test_hostile_names_are_no_markup(document: dict[str, Any]) -> None:
    plain = document | {"players": ["ann", "bob"]}
    hostile, harmless = Parts(page_of(document)), Parts(page_of(plain))
    assert hostile.tags == harmless.tags
    assert json.loads(hostile.texts[1]) == document
    assert "<" not in hostile.texts[1] and "noted" in hostile.texts[1]


def test_the_policy_allows_the_page_its_own_script_and_style_alone(
    document: dict[str, Any],
) -> None:
    parts = Parts(page_of(document))
    policy = next(tag["content"] for _, tag in parts.tags if tag.get("http-equiv"))
    style, _, script = parts.texts
    digests = [hashlib.sha256(text.encode()).digest() for text in (script, style)]
    hashes = [base64.b64encode(digest).decode() for digest in digests]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert [tag.get("type") for name, tag in parts.tags if name == "script"] == [
        "application/json",
        None,
    ]


def test_the_page_asks_for_nothing_and_writes_no_markup(document: dict[str, Any]) -> None:
    for name in SOURCES:
        text = (files("hanabi_search_plugin.rendering") / "web" / name).read_text()
        addresses = set(re.findall(r"\w+://[^\s\"'`)]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert not re.findall(r"@import|url\(|\bfetch\b|XMLHttp|WebSocket|import\(", text), name
        writes = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
        assert not re.findall(writes, text), name
    assert not [tag for tag in Parts(page_of(document)).tags if {"src", "href"} & tag[1].keys()]


def test_a_long_searched_game_stays_small() -> None:
    document = document_of("ann", "bob")
    assert len(document["turns"]) > 60
    assert len(page_of(document).encode()) < 1_000_000


def test_the_files_of_the_page_are_installed() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert setuptools["package-data"]["hanabi_search_plugin.rendering"] == ["web/*"]
    web = ROOT / "hanabi_search_plugin" / "rendering" / "web"
    assert sorted(path.name for path in web.iterdir()) == sorted((*SOURCES, *LIVE))


def test_a_page_is_written_and_framed_in_a_notebook(tmp_path: Path) -> None:
    game = random_game(HOSTILE)
    game = replace(game, record=replace(game.record, actions=game.record.actions[:8]))
    page = GamePage(game)
    page.save(tmp_path / "a.html")
    write_page(tmp_path / "b.html", page.document)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.html").read_text(encoding="utf-8") == page_of(page.document)
    (tag, attributes), *others = Parts(page._repr_html_()).tags
    assert tag == "iframe" and not others
    assert attributes["sandbox"] == "allow-scripts" and attributes["srcdoc"] == text
    assert html.escape(HOSTILE[0]) not in page._repr_html_()


def test_a_recorded_game_is_a_page_too() -> None:
    record = random_game().record
    record = replace(record, actions=record.actions[:8])
    assert GamePage(record).document == game_document(AnnotatedGame(record))
    with pytest.raises(RecordError, match="is not legal"):
        GamePage(replace(record, actions=(0,)))
