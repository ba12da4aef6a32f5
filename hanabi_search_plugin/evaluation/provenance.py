"""Where results come from: what was set, the versions, and the memory it took."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import platform
import resource
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np

from hanabi_search_plugin._version import __version__
from hanabi_search_plugin.core.agent import CutsRollouts, SearchAgent
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Blueprint, Value
from hanabi_search_plugin.jit import kernel_sources


def describe(value: Any) -> Any:
    """What a game, a policy or a search was set to, as plain JSON types.

    Names that begin with ``_`` are no settings. Of compiled code nothing but its type is told.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON has no inf
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [describe(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): describe(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Game):
        config = vars(value).get("config")
        settings = describe(config) if dataclasses.is_dataclass(config) else {}
        return {"name": value.name} | {k: v for k, v in settings.items() if k != "type"}
    if dataclasses.is_dataclass(value):
        named: Iterator[tuple[str, Any]] = (
            (f.name, getattr(value, f.name))
            for f in dataclasses.fields(value)
            if not f.name.startswith("_")
        )
        # A game inside a policy is the evaluation's own.
        fields = {name: describe(field) for name, field in named if not isinstance(field, Game)}
        return {"type": _type_name(value)} | fields
    if hasattr(value, "py_func"):  # Numba's
        return {"type": _type_name(value)}
    held = getattr(value, "__dict__", {})
    public = {k: v for k, v in held.items() if not k.startswith("_")}
    return {"type": _type_name(value)} | {
        k: describe(v) for k, v in public.items() if _is_setting(v)
    }


def _type_name(value: Any) -> str:
    """Of a value's class, or as it was called when runs that go on may have begun."""
    name = getattr(type(value), "recorded_as", type(value).__name__)
    return str(name)


def _is_setting(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) > 0 and all(_is_setting(entry) for entry in value)
    plain = value is None or isinstance(value, (bool, int, float, str))
    return plain or dataclasses.is_dataclass(value)


def critics(policies: Blueprint) -> list[str] | None:
    """What tells the critics that stand for the rest of shortened rollouts; None: there are none.

    They are no part of what the policies play, so games that never ask them do without.
    """
    cut = [
        agent.blueprint
        for agent in policies
        if isinstance(agent, SearchAgent)
        and isinstance(search := getattr(agent, "search", None), CutsRollouts)
        and search.depth is not None
    ]
    asked = [each.critic_id for blueprint in cut for each in blueprint if isinstance(each, Value)]
    return asked if any(asked) else None


def peak_rss_mb() -> float:
    """The process's highest resident memory so far, MB (2**20 bytes)."""
    try:  # unlike getrusage, this does not count the process that started this one
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if platform.system() == "Darwin" else 1024)


def versions() -> dict[str, str]:
    """Versions of what the results may depend on."""
    return {
        "python": platform.python_version(),
        "hanabi-search-plugin": __version__,
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


@functools.cache
def kernel_hash() -> str:
    """Of all sources that may hold compiled code: equal where they are."""
    sources = hashlib.sha256()
    for name, content in kernel_sources().items():
        sources.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return sources.hexdigest()[:12]
