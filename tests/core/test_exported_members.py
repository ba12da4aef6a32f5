"""The root namespace: small, complete, and free to import."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hanabi_search_plugin as package


def test_every_exported_name_loads_from_where_it_says() -> None:
    for name in package.__all__:
        value = getattr(package, name)
        if name != "__version__":
            assert value.__name__ == name
            assert value.__module__.startswith("hanabi_search_plugin.")


def test_the_list_and_the_lazy_table_agree() -> None:
    assert package.__all__ == sorted(package.__all__)
    assert set(package.__all__) <= set(dir(package))
    assert len(package.__all__) <= 48


def test_the_docstring_names_everything() -> None:
    named = set(re.findall(r"``(\w+)``", package.__doc__ or ""))
    assert set(package.__all__) - {"__version__"} <= named


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(package, "Spartan")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, hanabi_search_plugin;"
        "print([m for m in ('numpy', 'numba', 'pyspiel', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FOLDERS = {"algorithms", "beliefs", "hanabi", "judge", "testing", "wrappers"}


def test_folders_are_attributes() -> None:
    code = (
        "import hanabi_search_plugin as h;"
        "print(h.judge.Judge, h.hanabi.read_games, h.beliefs, h.testing.check_game,"
        "h.algorithms.Sparta, h.wrappers)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert set(dir(package)) >= FOLDERS
    assert package.judge is import_module("hanabi_search_plugin.judge")


@pytest.mark.parametrize("name", ["", ".algorithms", ".core", ".hanabi", ".networks"])
def test_completion_offers_what_is_public(name: str) -> None:
    package = import_module(f"hanabi_search_plugin{name}")
    offered = [each for each in dir(package) if not each.startswith("__")]
    folders = set() if name else FOLDERS
    listed = {each for each in package.__all__ if not each.startswith("__")}
    assert offered == sorted(listed | folders)
    assert "__doc__" in dir(package)


def test_wrappers_are_attributes_that_load_on_first_use() -> None:
    code = (
        "import sys, hanabi_search_plugin as h;"
        "print(dir(h.wrappers));"
        "print('gymnasium' in sys.modules, h.wrappers.gymnasium.HanabiEnv.__name__,"
        "'pyspiel' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed, loaded = done.stdout.splitlines()
    assert loaded == "False HanabiEnv False"
    folder = Path(str(package.wrappers.__file__)).parent
    modules = sorted(each.stem for each in folder.glob("[!_]*.py"))
    assert [each for each in ast.literal_eval(listed) if not each.startswith("__")] == modules
    assert set(modules) <= set(re.findall(r"``(\w+)``", package.wrappers.__doc__ or ""))
