"""Pages as one file each: the sources in ``web/`` put together, with a document in them.

A page's Content-Security-Policy forbids every request, frame, script and style but its own; what a
page may connect to is said by whoever makes it. A document's text becomes text nodes alone, so that
names in it are never markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any


def assembled(
    page: str,
    styles: tuple[str, ...],
    scripts: tuple[str, ...],
    document: dict[str, Any],
    *,
    connects: bool = False,
) -> str:
    """The HTML of a page: ``page``, a file of ``web/``, is its body; with these others, a document.

    ``connects``: it may connect to where it came from, else to nothing.
    """
    style, script = "".join(map(_source, styles)), "".join(map(_source, scripts))
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        *(["connect-src 'self'"] if connects else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    made = _source("frame.html")
    parts = {
        "body": _source(page),
        "policy": "; ".join(rules),
        "style": style,
        "script": script,
        "document": _embedded(document),
    }
    for name, text in parts.items():
        before, mark, after = made.partition("{{" + name + "}}")
        assert mark, name
        made = before + text + after
    return made


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
