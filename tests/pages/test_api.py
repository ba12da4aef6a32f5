"""The pages of the API describe all that is public: every name, every member of a class."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sphinx", reason="needs the extra docs")
EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_extensions"


@pytest.fixture(scope="module")
def pages() -> Any:
    """``docs/_extensions/api_pages.py``, as Sphinx imports it."""
    sys.path.insert(0, str(EXTENSIONS))
    try:
        yield importlib.import_module("api_pages")
    finally:
        sys.path.remove(str(EXTENSIONS))


def faces(pages: Any) -> list[Any]:
    """The modules described that can be imported with what is installed."""
    found = []
    for face in pages.faces():
        try:
            found.append(importlib.import_module(face))
        except ImportError as error:  # a framework that is not installed
            if (error.name or "").startswith(pages.PACKAGE):
                raise
    return found


def test_every_public_name_has_a_text(pages: Any) -> None:
    modules = faces(pages)
    assert len(modules) >= 12
    silent = [
        f"{module.__name__}.{name}"
        for module in modules
        for name in pages.public_names(module)
        if not pages.text_of(module, name).strip()
    ]
    assert not silent


# Their files are compiled by Numba: a comment there would make all kernels compile again.
COMPILED = {"CompiledBot.kind", "SmartBot.kind"}


def test_every_public_member_of_a_class_has_a_text(pages: Any) -> None:
    things = [
        getattr(module, name) for module in faces(pages) for name in pages.public_names(module)
    ]
    for full in pages.returned():
        module, _, name = full.rpartition(".")
        things.append(getattr(importlib.import_module(module), name))
    silent = {
        f"{thing.__qualname__}.{name}"
        for thing in things
        if inspect.isclass(thing) and thing.__module__.startswith(pages.PACKAGE)
        for name in pages.undescribed(thing)
    }
    assert silent - COMPILED == set()


class Bare:
    """A class that describes ``named`` here."""

    named = 1
    commented = 2  #: by a comment
    silent = 3

    def told(self) -> None:
        """By a docstring."""

    def untold(self) -> None: ...


def test_what_has_no_text_is_found(pages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PACKAGE", __name__)
    assert pages.undescribed(Bare) == ["silent", "untold"]
