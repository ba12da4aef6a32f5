"""What the pages' Python imports from this package is there; pages of frameworks run elsewhere."""

from __future__ import annotations

import ast
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "hanabi_search_plugin"


def imports() -> list[tuple[str, str, str]]:
    """(page, module, name) of every import in a block of Python."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                    assert node.module is not None
                    found += [(page.name, node.module, alias.name) for alias in node.names]
                elif isinstance(node, ast.Import):
                    found += [
                        (page.name, alias.name, "")
                        for alias in node.names
                        if alias.name.startswith(PACKAGE)
                    ]
    return sorted(set(found))


def test_pages_have_imports() -> None:
    assert {"README.md", "lbs.md", "gpu.md", "models.md"} <= {page for page, *_ in imports()}


@pytest.mark.parametrize(("page", "module", "name"), imports())
def test_what_a_page_imports_is_there(page: str, module: str, name: str) -> None:
    try:
        home = importlib.import_module(module)
    except ImportError as error:  # PyTorch or a framework is not installed
        if (error.name or "").startswith(PACKAGE):
            raise
        pytest.skip(f"{module} needs {error.name}")
    there = not name or hasattr(home, name) or find_spec(f"{module}.{name}") is not None
    assert there, f"{page}: {module} has no {name}"
