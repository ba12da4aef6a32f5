"""Decisions are those that were recorded, number by number.

Every search, belief and wrapper decides as it did when ``tests/data/golden`` was written. Where a
change is meant to alter decisions, ``python -m tests.golden`` records them again.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.golden.catalogue import GROUPS, read

ALL = [
    pytest.param(group, name, id=f"{group}/{name}")
    for group, cases in GROUPS.items()
    for name in cases
]


@pytest.mark.parametrize(("group", "name"), ALL)
def test_decisions_are_those_recorded(group: str, name: str) -> None:
    case = GROUPS[group][name]
    for module in case.needs:
        pytest.importorskip(module, reason=f"needs {module}")
    require_same(case(), read(group)[name], case.tolerance, f"{group}/{name}")


@pytest.mark.parametrize("group", GROUPS)
def test_every_recorded_case_is_there(group: str) -> None:
    assert set(read(group)) == set(GROUPS[group])


def require_same(found: Any, recorded: Any, tolerance: float, where: str) -> None:
    """The same to the last bit, but for floats, which may differ by the tolerance."""
    if isinstance(found, float) and isinstance(recorded, float):
        same = math.isclose(found, recorded, rel_tol=tolerance, abs_tol=tolerance)
        assert same, f"{where}: recorded {recorded!r}, found {found!r}"
        return
    assert type(found) is type(recorded), f"{where}: recorded {recorded!r}, found {found!r}"
    if isinstance(found, dict):
        assert set(found) == set(recorded), where
        for key in found:
            require_same(found[key], recorded[key], tolerance, f"{where}, {key}")
    elif isinstance(found, list):
        assert len(found) == len(recorded), f"{where}: {len(recorded)} there, {len(found)} here"
        for i, (a, b) in enumerate(zip(found, recorded, strict=True)):
            require_same(a, b, tolerance, f"{where}[{i}]")
    else:
        assert found == recorded, f"{where}: recorded {recorded!r}, found {found!r}"


@pytest.mark.parametrize(
    ("recorded", "message"),
    [
        ([{"action": 1, "mean": [0.5, None]}], "action"),
        ([{"action": 0, "mean": [0.5 + 1e-9, None]}], "mean"),
        ([{"action": 0, "mean": [0.5, 0.0]}], "mean"),
        ([{"action": 0}], "case"),
        ([], "case"),
    ],
)
def test_what_differs_is_told(recorded: Any, message: str) -> None:
    found = [{"action": 0, "mean": [0.5, None]}]
    require_same(found, [{"action": 0, "mean": [0.5 + 1e-15, None]}], 1e-12, "case")
    with pytest.raises(AssertionError, match=message):
        require_same(found, recorded, 1e-12, "case")
