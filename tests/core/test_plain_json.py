"""JSON that others wrote: every wrong one is a ValueError with a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from hanabi_search_plugin.core.plain_json import from_fields, parse_json, typed


@dataclass(frozen=True)
class Line:
    game: int
    score: float
    side: Literal["a", "b"]
    moves: tuple[int, ...]
    note: str | None = None


GOOD: dict[str, Any] = {"game": 1, "score": 2, "side": "a", "moves": [1, 2]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[NaN]", "NaN is no number"),
        ("-Infinity", "-Infinity is no number"),
        (b"\xff", "utf"),
        ("{", "Expecting"),
    ],
)
def test_what_is_no_json(text: str | bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_json(text)


def test_an_object_becomes_a_dataclass() -> None:
    assert from_fields(Line, GOOD) == Line(1, 2, "a", (1, 2))
    assert from_fields(Line, GOOD | {"note": "x"}).note == "x"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"game": True}, "game must be an integer, got true"),
        ({"game": 1.0}, "game must be an integer, got 1.0"),
        ({"score": float("inf")}, "score must be a finite number, got Infinity"),
        ({"score": 10**400}, "score must be a finite number, got 1000"),
        ({"score": "x" * 99}, 'got "xxxx.*\\.\\.\\.'),
        ({"side": ["a"]}, 'side must be one of a, b, got \\["a"\\]'),
        ({"moves": [1, None]}, "moves must be a list of integers"),
        ({"moves": 3}, "moves must be a list of integers, got 3"),
        ({"note": 3}, "note must be a text or null, got 3"),
        ({"more": 3}, "'more' is no field"),
    ],
)
def test_values_of_other_types(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        from_fields(Line, GOOD | change)


def test_what_is_missing_or_no_object() -> None:
    with pytest.raises(ValueError, match="game is missing"):
        from_fields(Line, {})
    with pytest.raises(ValueError, match=r"a JSON object was expected, got \[\]"):
        from_fields(Line, [])
    assert typed("x", [1], tuple[int, ...]) == (1,)
