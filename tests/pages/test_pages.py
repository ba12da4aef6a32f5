"""What pages and examples import and name is there; pages of frameworks run elsewhere."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import shutil
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from hanabi_search_plugin.networks.catalogue import network_models

ROOT = Path(__file__).parents[2]
PACKAGE = "hanabi_search_plugin"
README = ROOT / "README.md"
DOCS = tuple(sorted((ROOT / "docs").rglob("*.md")))
MORE = (ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md")
PAGES = tuple(page for page in (README, *DOCS) if "```python" in page.read_text(encoding="utf-8"))
TOPS = (ROOT, ROOT / PACKAGE)  # where paths begin
EXAMPLES = tuple(sorted((ROOT / "examples").glob("*.py")))


def code_of(path: Path) -> Iterator[str]:
    """The Python in a file: all of an example, the blocks of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield text
    else:
        yield from re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


def imports(*paths: Path) -> list[tuple[str, str, str]]:
    """(file, module, name) of every import from this package; no name where a module is imported.

    A submodule that is taken from its package counts as the module.
    """
    found = []
    for path in paths:
        for node in (node for code in code_of(path) for node in ast.walk(ast.parse(code))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                found += [(path.name, str(node.module), alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                found += [(path.name, name, "") for name in names if name.startswith(PACKAGE)]
    return sorted(
        {
            (file, f"{module}.{name}", "") if is_module(module, name) else (file, module, name)
            for file, module, name in found
        }
    )


def is_module(package: str, name: str) -> bool:
    """Is ``name`` a module in the folder of ``package``?"""
    folder = ROOT.joinpath(*package.split("."))
    return bool(name) and ((folder / f"{name}.py").exists() or (folder / name).is_dir())


def test_pages_and_examples_have_imports() -> None:
    files = {file for file, *_ in imports(README, *DOCS, *EXAMPLES)}
    assert {"README.md", "lbs.md", "gpu.md", "models.md", "01_upgrade_smartbot.py"} <= files


@pytest.mark.parametrize(("file", "module", "name"), imports(README, *DOCS, *EXAMPLES))
def test_what_a_page_or_an_example_imports_is_there(file: str, module: str, name: str) -> None:
    try:
        home = importlib.import_module(module)
        there = not name or hasattr(home, name) or find_spec(f"{module}.{name}") is not None
    except ImportError as error:  # PyTorch or a framework is not installed
        if (error.name or "").startswith(PACKAGE):
            raise
        pytest.skip(f"{module} needs {error.name or error}")
    assert there, f"{file}: {module} has no {name}"


def test_a_beginner_needs_eight_modules() -> None:
    modules = {module for _, module, _ in imports(README, *EXAMPLES)}
    assert len(modules) <= 8, sorted(modules)


def test_the_pages_need_twenty_five_modules() -> None:
    modules = {module for _, module, _ in imports(*DOCS)}
    assert len(modules) <= 25, sorted(modules)


def bound(code: str) -> set[str]:
    """Names that a snippet makes: by assignment, definition or import."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_snippet_defines_its_names_or_those_above_do(page: Path) -> None:
    known = set(dir(builtins))
    for code in code_of(page):
        known |= bound(code)
        used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
        assert used <= known, (sorted(used - known), code)


RUN_ELSEWHERE = ("ecosystems.md", "frameworks.md")  # by tests of their own
TOO_LONG = (r"BeliefRun\(", r"Lbs\(depth=")  # minutes
NEEDS_A_FILE = (r"obl\.pthw",)  # that readers have
NEEDS_A_CLUSTER = (r"Ray\(",)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in RUN_ELSEWHERE], ids=lambda page: page.name
)
def test_the_snippets_of_a_page_run_one_after_the_other(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    text = "".join(code_of(page))
    if re.search("|".join(("networks", *network_models())), text):
        torch = pytest.importorskip("torch", reason="needs PyTorch")
        request.addfinalizer(partial(torch.set_num_threads, torch.get_num_threads()))
        torch.set_num_threads(1)  # the threads of small networks only wait for each other
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "snippet"}
    for number, code in enumerate(code_of(page), 1):
        if not re.search("|".join((*TOO_LONG, *NEEDS_A_FILE, *NEEDS_A_CLUSTER)), code):
            fewer = re.sub(r"\bgames=\d+", "games=1", code)
            where = f"{page.name}, snippet {number}"
            exec(compile(fewer, where, "exec", dont_inherit=True), names)


def test_the_readme_shows_what_its_first_snippet_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(next(code_of(README)), {})
    printed = capsys.readouterr().out.splitlines()
    shown = README.read_text(encoding="utf-8")
    table = [line.rstrip() for line in printed[:5]]  # the rest are costs
    assert "\n".join(table) in shown


def test_nobody_is_shown_a_private_module() -> None:
    shown = {module for _, module, _ in imports(README, *DOCS, *EXAMPLES)}
    assert not [module for module in shown if re.search(r"\._", module)]


@pytest.mark.parametrize(
    "page", (README, *DOCS, *MORE), ids=lambda page: page.parent.name + page.name
)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """Links, and code in backticks that ends in .py: from the root, or from the package."""
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert not [link for link in links if not (page.parent / link).exists()]
    named = set(re.findall(r"`([\w./]+\.py)`", text))
    assert not [name for name in named if not any((top / name).exists() for top in TOPS)]
