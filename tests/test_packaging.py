"""What is installed, and who may import whom."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hanabi_search_plugin.jit import KERNEL_SOURCES

ROOT = Path(__file__).parents[1]
PACKAGE = "hanabi_search_plugin"
OUTSIDE = ("algorithms", "wrappers")
"""Packages that live at the top level of the repository and are installed inside the package."""

COMMAND_LINE = ("__main__", "bench", "cli", "human", "learning", "render", "reproduce")
"""Modules that only the command line uses: they may load what draws on a terminal."""

FRAMEWORKS = (
    "gymnasium",
    "matplotlib",
    "open_spiel",
    "pettingzoo",
    "pyspiel",
    "ray",
    "safetensors",
    "shimmy",
    "stable_baselines3",
    "tianshou",
    "torch",
)


def _modules() -> dict[str, Path]:
    """Every module on disk by the name it is imported under."""
    found = {}
    for top in (PACKAGE, *OUTSIDE):
        prefix = (PACKAGE,) if top in OUTSIDE else ()
        for folder, _, files in os.walk(ROOT / top):  # does not follow the symlinks
            for file in files:
                if file.endswith(".py"):
                    path = Path(folder, file)
                    parts = (*prefix, *path.relative_to(ROOT).with_suffix("").parts)
                    found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = _modules()


def _imports(node: ast.AST, module: str, lazy: bool = True) -> Iterator[str]:
    """Names imported below `node`: modules, and `module.name` for each name taken from one.

    With `lazy=False` those inside functions and under TYPE_CHECKING do not count.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"{module}: relative import, line {child.lineno}"
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif lazy or not _is_deferred(child):
            yield from _imports(child, module, lazy)


def _is_deferred(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.dump(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _imported_by(module: str, lazy: bool = True) -> set[str]:
    path = MODULES[module]
    return set(_imports(ast.parse(path.read_text(encoding="utf-8")), module, lazy))


def _below(name: str, *packages: str) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def _part(*names: str) -> tuple[str, ...]:
    return tuple(f"{PACKAGE}.{name}" for name in names)


def _forbidden(importers: tuple[str, ...], imported: tuple[str, ...]) -> list[str]:
    return [
        f"{module} imports {name}"
        for module in MODULES
        if _below(module, *importers)
        for name in sorted(_imported_by(module))
        if _below(name, *imported)
    ]


# --------------------------------------------------------------------------------- what is there


def test_every_package_on_disk_is_installed() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    on_disk = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    assert set(setuptools["packages"]) == on_disk
    folders = {"": PACKAGE} | {f".{name}": name for name in OUTSIDE}
    assert setuptools["package-dir"] == {PACKAGE + name: top for name, top in folders.items()}
    assert not setuptools["include-package-data"]


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES.values()}
    assert all((folder / "__init__.py").exists() for folder in folders)


@pytest.mark.parametrize("name", OUTSIDE)
def test_the_outside_packages_are_flat_and_linked(name: str) -> None:
    link = ROOT / PACKAGE / name
    assert link.is_symlink() and link.readlink() == Path("..", name)
    modules = [path for module, path in MODULES.items() if _below(module, *_part(name))]
    assert modules and all(path.parent == ROOT / name for path in modules)


def test_the_citation_names_this_version() -> None:
    from hanabi_search_plugin import __version__

    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text().splitlines()


def test_the_oldest_versions_tested_are_the_oldest_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    allowed = dict(requirement.split(">=") for requirement in project["dependencies"])
    assert {
        name: version.removesuffix(".0").removesuffix(".0") for name, version in tested.items()
    } == {name: version.removesuffix(".0").removesuffix(".0") for name, version in allowed.items()}


def test_the_page_on_versions_names_the_oldest_tested() -> None:
    page = (ROOT / "docs" / "ecosystems.md").read_text().partition("## Versions")[2]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    shown = {name.lower().replace("openspiel", "open_spiel"): oldest for name, oldest, *_ in rows}
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for name in ("open_spiel", "pettingzoo", "gymnasium", "numpy", "numba"):
        assert shown[name] == tested[name]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={shown['python']}"


def test_the_package_is_typed() -> None:
    assert (ROOT / PACKAGE / "py.typed").exists()


# ------------------------------------------------------------------------------ who imports whom


def test_algorithms_know_the_contracts_alone() -> None:
    concrete = _part("hanabi", "blueprints", "learning", "wrappers", "evaluation", *COMMAND_LINE)
    assert not _forbidden(_part("algorithms"), (*concrete, *FRAMEWORKS, "numba"))


def test_wrappers_know_the_contracts_their_framework_and_native_hanabi() -> None:
    """Native Hanabi is what they translate other frameworks' Hanabi to and from."""
    concrete = _part("blueprints", "learning", "algorithms", "evaluation", *COMMAND_LINE)
    by_name = f"{PACKAGE}.blueprints.registry.load_policy"
    found = _forbidden(_part("wrappers"), concrete)
    assert [line for line in found if not line.endswith(by_name)] == []


def test_the_native_engine_knows_nothing_of_search() -> None:
    search = _part("agent", "learning", "evaluation", *COMMAND_LINE, *OUTSIDE)
    assert not _forbidden(_part("hanabi"), search)


def test_the_core_imports_neither_algorithms_nor_wrappers() -> None:
    outside = _part(*OUTSIDE)
    for module in MODULES:
        if not _below(module, *outside, *_part(*COMMAND_LINE)):
            names = _imported_by(module, lazy=module != PACKAGE)
            assert not [name for name in names if _below(name, *outside)], module


def test_nobody_imports_the_outside_packages_by_their_folder() -> None:
    for path in ROOT.glob("*/**/*.py"):
        if not path.relative_to(ROOT).parts[0].startswith("."):
            names = _imports(ast.parse(path.read_text(encoding="utf-8")), str(path))
            assert not [name for name in names if _below(name, *OUTSIDE)], path


# ---------------------------------------------------------------------------------- compiled code


def _is_kernel_source(module: str) -> bool:
    sources = _part(*(source.removesuffix(".py") for source in KERNEL_SOURCES))
    return _below(module, *sources)


def _compiles(module: str) -> bool:
    decorators = _part("jit.inline", "jit.kernel", "jit.routine")
    return any(_below(name, "numba", *decorators) for name in _imported_by(module))


def test_compiled_code_lives_where_the_cache_looks() -> None:
    assert not [name for name in MODULES if _compiles(name) and not _is_kernel_source(name)]


def test_constants_of_compiled_code_live_there_too() -> None:
    for module in filter(_compiles, MODULES):
        for name in _imported_by(module):
            parent, _, last = name.rpartition(".")
            if _below(parent, PACKAGE) and last.isupper():
                assert _is_kernel_source(parent), f"{module}: the kernel cache does not hash {name}"


# ------------------------------------------------------------------------- without the frameworks


def test_the_core_and_the_algorithms_import_without_any_framework() -> None:
    left_out = _part(*COMMAND_LINE, "wrappers", "networks")
    names = [name for name in MODULES if not _below(name, *left_out)]
    assert {PACKAGE, *_part("hanabi", "blueprints", "algorithms")} <= set(names)
    code = f"""
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {FRAMEWORKS!r}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Blocked())
for name in {names!r}:
    importlib.import_module(name)
"""
    _run(code)


def test_importing_the_core_loads_neither_algorithms_nor_wrappers_nor_a_display() -> None:
    left_out = _part(*COMMAND_LINE, *OUTSIDE, "networks")
    core = [name for name in MODULES if not _below(name, *left_out)]
    unwanted = (*_part(*OUTSIDE), *FRAMEWORKS, "rich", "typer")
    code = f"""
import importlib, sys

for name in {core!r}:
    importlib.import_module(name)
loaded = [name for name in {unwanted!r} if name in sys.modules]
assert not loaded, loaded
"""
    _run(code)


def _run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
