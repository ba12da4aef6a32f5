"""NPY and NPZ files that others wrote: what they say is not believed."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from hanabi_search_plugin.core import array_files
from hanabi_search_plugin.core.array_files import read_npy, read_npz


def npy(array: object) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def said(header: str, body: bytes = bytes(8)) -> bytes:
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def shaped(shape: str, kind: str = "'<f8'", body: bytes = bytes(8)) -> bytes:
    return said(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}", body)


@pytest.mark.parametrize(
    "array",
    [np.arange(6).reshape(2, 3), np.zeros((2, 3), order="F"), np.array(2.5), np.zeros((0, 4), "?")],
)
def test_numbers_are_read_as_they_were_written(array: np.ndarray) -> None:
    found = read_npy(npy(array))
    assert found.dtype == array.dtype and np.array_equal(found, array)
    assert np.array_equal(read_npz(_npz(a=array))["a"], array)


def _npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (shaped("(1000000000000,)"), "its header says 8,000,000,000,000 bytes"),
        (shaped("(True,)"), "its shape must be lengths"),
        (shaped("(-1,)"), "its shape must be lengths"),
        (shaped("(2,)"), "its header says 16 bytes of float64, it has 8"),
        (shaped("(0,)"), "its header says 0 bytes"),
        (shaped("(" * 90 + "1," + "),)" * 90), "its header cannot be read"),
        (shaped("(1,)", "'|O'"), "it must hold numbers, got object"),
        (shaped("(1,)", "'<U2'"), "it must hold numbers"),
        (shaped("(1,)", "[('a', '<f8')]"), "it must hold numbers"),
        (shaped("(1,)", "'x'"), "its header cannot be read"),
        (said("[" * 60_000), "its header cannot be read"),
        (said(""), "its header cannot be read"),
        (b"\x93NUMPY\x09\x00", "its header cannot be read"),
        (b"\x93NUMPY", "its header cannot be read"),
    ],
)
def test_a_header_is_not_believed(content: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_npy(content)


def test_nothing_is_allocated_for_what_a_header_claims() -> None:
    tracemalloc.start()
    with pytest.raises(ValueError, match="it has 8"):
        read_npy(shaped("(100000000,)"))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_damaged_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _npz(a=np.arange(100))
    for content in (b"", whole[:-30], whole[:50] + b"\xff" * 20 + whole[70:], b"PK\x05\x06"):
        with pytest.raises(ValueError, match="it is no whole ZIP file"):
            read_npz(content)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.npy", shaped("(9,)"))
    with pytest.raises(ValueError, match=r"a\.npy: its header says 72 bytes"):
        read_npz(out.getvalue())
    monkeypatch.setattr(array_files, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match="must take at most 100 bytes"):
        read_npz(whole)
