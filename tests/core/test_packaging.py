"""What is installed, and who may import whom."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from hanabi_search_plugin.jit import kernel_sources

ROOT = Path(__file__).parents[2]
PACKAGE = "hanabi_search_plugin"
OUTSIDE = ("algorithms", "wrappers")
"""Packages that live at the top level of the repository and are installed inside the package."""

COMMAND_LINE = ("__main__", "cli", "learning", "rendering", "reproduce", "serving")
"""Modules for the command line and for people's eyes: they may load what draws on a terminal."""

FRAMEWORKS = (
    "PIL",
    "gymnasium",
    "matplotlib",
    "open_spiel",
    "pettingzoo",
    "pyarrow",
    "pyspiel",
    "ray",
    "safetensors",
    "shimmy",
    "stable_baselines3",
    "starlette",
    "tianshou",
    "torch",
    "uvicorn",
    "websockets",
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
KERNEL_SOURCES = frozenset(kernel_sources())


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


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def _imported_by(module: str, lazy: bool = True) -> frozenset[str]:
    path = MODULES[module]
    return frozenset(_imports(_tree(path), module, lazy))


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
    page = (ROOT / "docs" / "start" / "install.md").read_text().partition("## Versions")[2]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    shown = {name.lower().replace("openspiel", "open_spiel"): oldest for name, oldest, *_ in rows}
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for name in ("open_spiel", "pettingzoo", "gymnasium", "numpy", "numba"):
        assert shown[name] == tested[name]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={shown['python']}"


def test_the_wheel_has_the_networks_that_are_needed_and_stays_small() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    package = f"{PACKAGE}.networks.models"
    folder = ROOT / PACKAGE / "networks" / "models"
    every = {path for kind in setuptools["package-data"][package] for path in folder.glob(kind)}
    left_out = [set(folder.glob(kind)) for kind in setuptools["exclude-package-data"][package]]
    assert all(left_out)  # a pattern of nothing is a mistake
    shipped = every.difference(*left_out)
    names = {path.name for path in shipped}
    assert {f"beliefnet-players-{n}.safetensors" for n in (2, 3)} <= names
    assert {"rlnet-players-2.safetensors", "belief-rlnet-players-2.safetensors"} <= names
    packed = sum(len(zlib.compress(path.read_bytes(), 6)) for path in shipped)
    assert packed < 13_900_000  # the code takes another 1.1 MB of the 15 that a wheel may have


def test_the_package_is_typed() -> None:
    assert (ROOT / PACKAGE / "py.typed").exists()


# ------------------------------------------------------------------------------ who imports whom

RANKS = {
    # A folder imports itself and what has a lower rank; imports inside functions and for types
    # alone count.
    "_version": -1,
    "atomic_files": -1,
    "linking": -1,
    "core": 0,
    "jit": 0,
    "beliefs": 1,
    "games": 1,
    "bridge": 1,
    "policies": 1,
    "tabular": 1,
    "plugins": 1,
    "named_beliefs": 2,
    "named_searches": 2,
    "registry": 2,
    "algorithms": 2,  # reads beliefs.exact alone
    "belief_agent": 3,
    "evaluation": 4,
    "testing": 4,
    "hanabi.engine": 5,
    "hanabi.bots": 6,
    "hanabi.beliefs": 7,
    "hanabi.search": 8,
    "hanabi.hanabi_game": 9,
    "hanabi.files": 10,
    "hanabi": 11,
    "judge": 12,
    "networks": 12,
    "rendering": 12,
    "hanab_live": 13,
    "learning": 13,
    "wrappers": 13,
    "": 14,  # the names that most programs need
    "reproduce": 14,
    "serving": 14,
    "cli": 15,
    "__main__": 16,
}


def _home(module: str) -> str:
    """The folder that a module ranks with."""
    name = module.removeprefix(PACKAGE).lstrip(".")
    while name not in RANKS:
        assert "." in name or name, module
        name = name.rpartition(".")[0]
    return name


def _imported_modules(module: str) -> set[str]:
    """The modules of this package that one imports, now, later or for types alone."""
    found = set()
    for name in _imported_by(module):
        if _below(name, PACKAGE):
            found.add(name if name in MODULES else name.rpartition(".")[0])
    return found - {module}


def test_every_folder_imports_lower_ranks_alone() -> None:
    wrong = [
        f"{module} ({RANKS[_home(module)]}) imports {name} ({RANKS[_home(name)]})"
        for module in MODULES
        for name in sorted(_imported_modules(module))
        if _home(name) != _home(module) and RANKS[_home(name)] >= RANKS[_home(module)]
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: _imported_modules(module) for module in MODULES}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_algorithms_know_the_contracts_and_exact_beliefs_alone() -> None:
    """No game, no wrapper, no framework, no Numba."""
    allowed = _part("core", "algorithms", "beliefs.exact")
    for module in MODULES:
        if _below(module, *_part("algorithms")):
            ours = {name for name in _imported_modules(module) if not _below(name, *allowed)}
            assert not ours, module
    assert not _forbidden(_part("algorithms", "core"), (*FRAMEWORKS, "numba"))


def test_the_core_is_for_any_game() -> None:
    name = r"hanabi[_-]search[_-]plugin"
    of_hanabi = r"\b(?:cards?|hands?|hints?|fireworks?|hanabi|tiny_hanabi)\b"
    for module, path in MODULES.items():
        if _below(module, *_part("core")):
            text = re.sub(name, "", path.read_text())
            assert not re.findall(of_hanabi, text, re.IGNORECASE), module


def test_no_two_modules_have_one_name() -> None:
    names = Counter(path.stem.lstrip("_") for path in MODULES.values() if "__" not in path.stem)
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_public_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for path in MODULES.values()
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_nobody_imports_the_outside_packages_by_their_folder() -> None:
    for top in ROOT.iterdir():
        for path in () if top.name.startswith(".") else top.rglob("*.py"):
            names = _imports(_tree(path), str(path))
            assert not [name for name in names if _below(name, *OUTSIDE)], path


# ---------------------------------------------------------------------------------- compiled code


def _is_kernel_source(module: str) -> bool:
    path = MODULES.get(module)
    return path is not None and str(path.relative_to(ROOT / PACKAGE)) in KERNEL_SOURCES


def _compiles(module: str) -> bool:
    decorators = _part("jit.inline", "jit.kernel", "jit.routine")
    names = _imported_by(module, lazy=False)  # what is taken later is handed on, as faces do
    return any(_below(name, "numba", *decorators) for name in names)


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
    assert {PACKAGE, *_part("hanabi.bots", "algorithms")} <= set(names)
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
