"""Every promise on the page has a test, which is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "development" / "reliability.md").read_text(encoding="utf-8")


def promises() -> list[str]:
    """The rows of the tables that have a column of tests, without their heads."""
    found, listed = [], False
    for line in PAGE.splitlines():
        if not line.startswith("|"):
            listed = False
        elif line.replace(" ", "") == "|promise|test|":
            listed = True
        elif listed and not line.startswith("|---"):
            found.append(line)
    return found


def test_the_page_has_promises() -> None:
    assert len(promises()) >= 15


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise[2:50])
def test_a_promise_has_its_tests(promise: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)?::(\w+)`", promise)
    assert named, "no test is named"
    file = ""
    for path, name in named:
        file = path or file  # a name by itself is of the file before it
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), name
