"""Safetensors that others wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save

from hanabi_search_plugin.evaluation.tensor_files import read_tensors


def retyped(kind: str, size: int) -> bytes:
    """One tensor of two numbers of that type."""
    header = {"x": {"dtype": kind, "shape": [2], "data_offsets": [0, 2 * size]}}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(2 * size)


def test_tensors_and_metadata() -> None:
    x = np.arange(6, dtype=np.float16).reshape(2, 3)
    tensors, metadata = read_tensors(save({"x": x, "y": np.array([True])}, {"a": "b"}))
    assert np.array_equal(tensors["x"], x) and tensors["x"].dtype == x.dtype
    assert tensors["y"].tolist() == [True] and metadata == {"a": "b"}
    assert read_tensors(save({}))[1] == {}


def test_bfloat16_becomes_float32() -> None:
    content = retyped("BF16", 2)[:-4] + b"\x80\x3f\x00\xc0"
    assert read_tensors(content)[0]["x"].tolist() == [1.0, -2.0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "header"),
        (b"\xff" * 20, "header"),
        (retyped("F8_E5M2", 1), "the type of x must be one of F64, .*, got F8_E5M2"),
        (retyped("F32", 4)[:-1], "[Mm]etadata|offset|incomplete"),
        (save({"x": np.array([1.0, np.nan])}), "x must hold finite numbers, got nan"),
        (save({"x": np.array([-np.inf])}), "x must hold finite numbers, got -inf"),
    ],
)
def test_what_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_tensors(content)
