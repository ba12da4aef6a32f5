"""Read JSON that others wrote."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_WORDS = {int: "an integer", float: "a finite number", str: "a text", dict: "an object"}
_NAMED_ITEMS = {int: "integers", float: "finite numbers", str: "texts"}


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, also for NaN and what is nested too deeply."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object of a text. Raises ValueError for what is none, as ``parse_json`` does."""
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ValueError(f"expected a JSON object: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {short(value)}")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def from_fields(kind: type[T], given: Any) -> T:
    """A dataclass from a JSON object with its fields, of their types; lists become tuples.

    Types are int, float (finite), str, dict, ``Literal``, ``tuple[X, ...]`` of these, and any of
    them or None. Raises ValueError for another object.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"a JSON object was expected, got {short(given)}")
    kinds, values = get_type_hints(kind), dict(given)
    for one in fields(kind):  # type: ignore[arg-type]  # a dataclass
        if one.name in values:
            values[one.name] = typed(one.name, values[one.name], kinds[one.name])
        elif one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"{one.name} is missing")
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    if not values.keys() <= known:
        raise ValueError(f"{min(values.keys() - known)!r} is no field of it")
    return kind(**values)


def typed(name: str, value: Any, kind: Any) -> Any:
    """``value`` if it is of that type, a list as a tuple; see ``from_fields``.

    Raises ValueError, which has the ``name``.
    """
    if get_origin(kind) is tuple and isinstance(value, list):
        value = tuple(value)
    if not _is_a(value, kind):
        raise ValueError(f"{name} must be {_in_words(kind)}, got {short(value)}")
    return value


def short(value: Any) -> str:
    """A JSON value as an error shows it: the beginning of what is long."""
    text = json.dumps(value, default=repr)
    return text if len(text) <= 40 else text[:37] + "..."


def _is_a(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return any(_is_a(value, one) for one in get_args(kind))
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and all(_is_a(one, get_args(kind)[0]) for one in value)
    if kind is float:
        return _finite(value)
    if kind is int and isinstance(value, bool):
        return False
    return isinstance(value, origin or kind)


def _finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the floats
        return False


def _in_words(kind: Any) -> str:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(_in_words(one) for one in get_args(kind))
    if origin is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if origin is tuple:
        return f"a list of {_NAMED_ITEMS.get(get_args(kind)[0], 'objects')}"
    return "null" if kind is type(None) else _WORDS.get(origin or kind, str(kind))
