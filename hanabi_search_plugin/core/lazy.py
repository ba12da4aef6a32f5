"""Names that a package offers but loads on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any


def resolve(reference: str) -> Any:
    """What "module:name" stands for, imported now."""
    module, name = reference.split(":")
    return getattr(import_module(module), name)


def lazily(
    package: str,
    homes: Mapping[str, tuple[str, ...]],
    importing: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that offers ``homes[module]`` of its modules.

    ``dir`` lists what ``__all__`` of the package does. A module is named relative to the package:
    ``".jit"`` is one beside it. A name may be that of a submodule. ``homes[""]`` are modules of the
    package itself, which ``dir`` lists, too. Modules are imported within ``importing()``.
    """
    module_of = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not module_of[name]:
            return import_module(f".{name}", package)
        with importing():
            home = import_module(f".{module_of[name]}", package)
        found = hasattr(home, name)
        value = getattr(home, name) if found else import_module(f"{home.__name__}.{name}")
        vars(sys.modules[package])[name] = value
        return value

    def listed() -> list[str]:
        own = vars(sys.modules[package])
        special = [name for name in own if name.startswith("__") and name.endswith("__")]
        return sorted({*special, *own["__all__"], *homes.get("", ())})

    return load, listed
