"""Vectors in kernels: every function against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from hanabi_search_plugin.networks.encodings import lanes
from hanabi_search_plugin.networks.encodings.lanes import WIDTH, kept, most, read, total, write

A = np.random.default_rng(0).normal(size=WIDTH).astype(np.float32)
B = np.random.default_rng(1).normal(size=WIDTH).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plus", A + B),
        ("minus", A - B),
        ("times", A * B),
        ("larger", np.maximum(A, B)),
        ("smaller", np.minimum(A, B)),
    ],
)
def test_lane_by_lane(name: str, expected: Any) -> None:
    function = getattr(lanes, name)

    @njit
    def compiled(a: Any, b: Any, out: Any) -> None:
        write(out, function(read(a), read(b)))

    out = np.empty(WIDTH, dtype=np.float32)
    compiled(A, B, out)
    np.testing.assert_array_equal(out, expected)


@njit
def logs_and_powers(x: Any, log: Any, exp: Any) -> None:
    write(log, lanes.log_of(read(x)))
    write(exp, lanes.exp_of(lanes.minus(lanes.spread(np.float32(0)), read(x))))


def test_logarithms_and_powers() -> None:
    for x in (np.geomspace(1e-9, 1, WIDTH), np.linspace(0.001, 79, WIDTH)):
        log, exp = (np.empty(WIDTH, dtype=np.float32) for _ in range(2))
        logs_and_powers(x.astype(np.float32), log, exp)
        np.testing.assert_allclose(log, np.log(x.astype(np.float32)), rtol=3e-7, atol=1e-7)
        np.testing.assert_allclose(exp, np.exp(-x.astype(np.float32)), rtol=2e-6)


@njit
def of_some(x: Any, mask: int) -> Any:
    lowest = np.float32(-np.inf)
    return total(kept(read(x), mask, np.float32(0))), most(kept(read(x), mask, lowest))


def test_numbers_of_a_mask() -> None:
    for mask in (0b1, 0b1011 << 20, (1 << WIDTH) - 1):
        chosen = A[[v for v in range(WIDTH) if mask >> v & 1]]
        added, highest = of_some(A, mask)
        assert added == pytest.approx(chosen.sum(), abs=1e-5) and highest == chosen.max()
