"""Users import ``openspiel``, ``pettingzoo`` and ``gymnasium``, never the parts behind them."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OUTSIDE = ("benchmarks", "docs", "examples", "hanabi_search_plugin", "algorithms")


def test_nobody_else_imports_the_parts_of_an_adapter() -> None:
    part = re.compile(r"wrappers\._\w|wrappers import _\w")
    pages = [ROOT / "README.md"]
    for folder in OUTSIDE:  # does not follow the links to the wrappers
        pages += [path for path in (ROOT / folder).glob("**/*") if path.suffix in (".py", ".md")]
    assert len(pages) > 200
    found = [path for path in pages if part.search(path.read_text(encoding="utf-8"))]
    # The package registers environments by their names where Gymnasium is there.
    assert found == [ROOT / "hanabi_search_plugin" / "_gymnasium_registration.py"]


@pytest.mark.parametrize("name", ["openspiel", "pettingzoo", "gymnasium"])
def test_a_face_names_and_explains_all_it_has(name: str) -> None:
    face = import_module(f"hanabi_search_plugin.wrappers.{name}")
    tree = ast.parse(Path(str(face.__file__)).read_text(encoding="utf-8"))
    taken = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and "wrappers" in str(node.module)
        for alias in node.names
    }
    assert taken == set(face.__all__)
    assert set(face.__all__) <= set(re.findall(r"``(\w+)``", face.__doc__ or ""))
    for each in face.__all__:
        assert isinstance(getattr(face, each), str | float) or getattr(face, each).__doc__
