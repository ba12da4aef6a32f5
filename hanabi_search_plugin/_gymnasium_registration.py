"""Registers the environments with Gymnasium, whether that is imported before the package or after.

Gymnasium looks for no plugins since its version 1.0, and the package does not load it unasked, so
where Gymnasium is not there yet, its import is awaited.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def register() -> None:
    """Make the environments known to Gymnasium: now where it is imported, else once it is."""
    if "gymnasium" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Awaited())


def _register() -> None:
    importlib.import_module("hanabi_search_plugin.wrappers._gymnasium_names")


class _Awaited(MetaPathFinder):
    """Leaves it to the other finders to find Gymnasium, and registers once it has run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((each for each in found if each is not None), None)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_register(module: ModuleType) -> None:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            run(module)
            _register()

        spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec
