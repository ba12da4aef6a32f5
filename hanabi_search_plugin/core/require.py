"""Checks of arguments, made before any work is done."""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.near_names import did_you_mean

LARGEST = 2**63 - 1  # that compiled code and PyTorch take
LARGEST_NUMBER = 1e30  # well inside what 32 bits hold


def require_integer(name: str, value: Any, least: int, most: int = LARGEST) -> int:
    """The value, NumPy's integers as Python's.

    Raises ConfigError unless it is an integer from ``least`` to ``most``.
    """
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    number = int(value) if is_integer else least - 1
    if number < least:
        raise ConfigError(f"{name} must be an integer of at least {least}, got {value!r}")
    if number > most:
        raise ConfigError(f"{name} must be an integer from {least} to {most}, got {value!r}")
    return number


def require_integers(settings: Any, names: Iterable[str], least: int, most: int = LARGEST) -> None:
    """``require_integer`` of fields of a frozen dataclass, which hold Python's integers then."""
    for name in names:
        value = require_integer(name, getattr(settings, name), least, most)
        object.__setattr__(settings, name, value)


def require_choice(name: str, value: object, known: Iterable[object]) -> None:
    """Raises the error of ``unknown`` unless ``value`` is one of ``known``."""
    known = tuple(known)
    if value not in known:
        raise unknown(name, value, known)


def unknown(name: str, value: object, known: Iterable[object], also: str = "") -> ConfigError:
    """The error of a value that is none of ``known``: it lists them, and guesses what was meant.

    ``also`` is what it might have been besides: "or a file".
    """
    known = tuple(known)
    listed = f"{', '.join(map(str, known))}{f', {also}' if also else ''}"
    return ConfigError(f"{name} must be one of {listed}, got {value!r}{did_you_mean(value, known)}")


def class_given(kind: type) -> str:
    """A class that was given for a thing, in the words of an error, and what to write."""
    return f"the class {kind.__name__}: write {kind.__name__}(), not {kind.__name__}"


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def require_flag(name: str, value: object) -> None:
    """Raises ConfigError unless ``value`` is True or False, NumPy's too."""
    if type(value).__name__ not in ("bool", "bool_"):  # NumPy's, too, which is slow to import
        raise ConfigError(f"{name} must be True or False, got {value!r}")


def require_positive(name: str, value: float) -> None:
    """Raises ConfigError unless ``value`` is a number above 0, at most LARGEST_NUMBER."""
    if not (_is_number(value) and 0 < value <= LARGEST_NUMBER):
        raise ConfigError(f"{name} must be a positive number{_if_large(value)}, got {value!r}")


def require_positive_or_0(name: str, value: float) -> None:
    """Raises ConfigError unless ``value`` is a number from 0 to LARGEST_NUMBER."""
    if not (_is_number(value) and 0 <= value <= LARGEST_NUMBER):
        raise ConfigError(f"{name} must be a number of at least 0{_if_large(value)}, got {value!r}")


def _if_large(value: object) -> str:
    large = isinstance(value, int | float) and LARGEST_NUMBER < value < math.inf
    return f", at most {LARGEST_NUMBER:g}" if large else ""


def require_share(name: str, value: float) -> None:
    """Raises ConfigError unless ``value`` is from 0 to 1."""
    if not (isinstance(value, Real) and 0 <= value <= 1):
        raise ConfigError(f"{name} must be from 0 to 1, got {value!r}")


NETWORK_FILES = (".safetensors", ".pt", ".pth", ".pthw", ".npz")
"""How names of files end that are surely meant for a network's."""


def is_no_file(name: str) -> bool:
    """True for what is surely meant as a network's file, by a folder or its ending, and is none."""
    path = Path(name)
    return ("/" in name or path.suffix in NETWORK_FILES) and not path.is_file()


def require_path(name: str, path: object) -> None:
    """Raises ConfigError for what is no path of a file."""
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"{name} must be a path, got {reprlib.repr(path)}")


def require_writable(name: str, path: str | Path) -> None:
    """Raises ConfigError unless a file can be written at ``path``, before work is lost on it."""
    require_path(name, path)
    path = Path(path)
    if path.is_dir():
        raise ConfigError(f"{name} must name a file, got the folder {path}")
    if not path.parent.is_dir():
        raise ConfigError(f"{name} must lie in a folder that exists, got {path}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"{name} must be a file that can be written, got {path}")
