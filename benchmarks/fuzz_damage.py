"""Damage to files: by bytes, and by the parts of each format.

Every function takes a ``random.Random`` and draws all chance from it.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import math
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

NESTED = 100_000  # deeper than any reader's stack
ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 3, 2**31, 2**63 - 1, 2**63, 10**30, 0.5, -0.0, 1e300, math.nan,
    math.inf, -math.inf, "", "x", "1", "nan", "\x1b[31mred", "[red]x[/]", "\u202e", "\ud800",
    "\x00", "a" * 5000, [], {}, [[]], [1, 2, 3], ["x"], {"a": 1}, [None], [math.nan],
)  # fmt: skip
"""Values that do not belong where they are put."""


# ------------------------------------------------------------------------------------------ bytes


def flipped(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncated(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.choice((0, 1, rng.randint(0, len(content)), max(len(content) - 1, 0)))]


def zeroed(rng: random.Random, content: bytes) -> bytes:
    start = rng.randint(0, len(content))
    stop = rng.randint(start, min(len(content), start + rng.choice((4, 64, 100_000))))
    return content[:start] + bytes(stop - start) + content[stop:]


def spliced(rng: random.Random, content: bytes) -> bytes:
    """A piece moved, doubled, left out, or of random bytes."""
    start, stop = sorted(rng.randint(0, len(content)) for _ in range(2))
    piece = content[start : min(stop, start + rng.choice((1, 16, 1000)))]
    at = rng.randint(0, len(content))
    return rng.choice(
        (
            content[:at] + piece + content[at:],
            content[:start] + content[stop:],
            content[:at] + rng.randbytes(rng.choice((1, 8, 200))) + content[at:],
            content + content,
        )
    )


def nested(rng: random.Random, content: bytes) -> bytes:
    """Brackets where a value or all stood."""
    left, right = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")")))
    depth = rng.choice((500, 5_000, NESTED))
    inner = rng.choice((b"1", b""))
    text = left * depth + inner + (right * depth if rng.random() < 0.7 else b"")
    at = rng.choice((0, rng.randint(0, len(content))))
    return text if rng.random() < 0.5 else content[:at] + text + content[at:]


def foreign(rng: random.Random, content: bytes) -> bytes:
    """Something else altogether."""
    return rng.choice(
        (
            b"", b"\n", b"{}", b"[]", b"null", b"0", b'"x"', b"NaN", b"\xff\xfe", b"\x00" * 100,
            b"PK\x05\x06" + bytes(18), b"\x1f\x8b\x08", b"\x93NUMPY\x01\x00", b"\x80\x04N.",
            (2**62).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"{}",
            rng.randbytes(rng.choice((3, 300))),
        )
    )  # fmt: skip


BYTES = (flipped, truncated, zeroed, spliced, nested, foreign)


# ------------------------------------------------------------------------------------------- JSON


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with every key or index in it."""
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict | list):
            keys = list(one) if isinstance(one, dict) else range(len(one))
            found += [(one, key) for key in keys]
            left += [one[key] for key in keys]
    return found


def odd_json(rng: random.Random, value: Any) -> Any:
    """The value with one to three parts replaced, dropped, renamed or moved."""
    box = [json.loads(json.dumps(value))]
    for _ in range(rng.choice((1, 1, 2, 3))):
        holder, key = rng.choice(places(box))
        how = rng.random()
        if how < 0.65 or holder is box:
            holder[key] = copy.deepcopy(rng.choice(ODD))
        elif how < 0.8:
            del holder[key]
        elif how < 0.9 and isinstance(holder, dict):
            holder[rng.choice(("x", "", "__class__", "\x1b[1m"))] = holder.pop(key)
        else:
            other, place = rng.choice(places(box))
            holder[key] = json.loads(json.dumps(other[place]))
    return box[0]


def json_text(rng: random.Random, content: bytes) -> bytes:
    value = odd_json(rng, json.loads(content))
    text = json.dumps(value)
    if rng.random() < 0.1:
        text = text.replace("0", "[" * NESTED, 1)
    return text.encode()


def json_lines(rng: random.Random, content: bytes) -> bytes:
    """One line of JSON changed, doubled or moved."""
    lines = content.splitlines()
    at = rng.randrange(len(lines))
    if rng.random() < 0.8:
        lines[at] = json_text(rng, lines[at])
    elif rng.random() < 0.5:
        lines.insert(rng.randrange(len(lines) + 1), lines[at])
    else:
        del lines[at]
    return b"".join(line + b"\n" for line in lines)


# ------------------------------------------------------------------------------- arrays and tensors


def npy(rng: random.Random, content: bytes) -> bytes:
    """An NPY file whose header says something else."""
    size = int.from_bytes(content[8:10], "little")
    header, body = content[10 : 10 + size].decode("latin1"), content[10 + size :]
    said = {
        part: header.split(f"'{part}': ")[1].split(", 'fortran" if part == "descr" else "}")[0]
        for part in ("descr",)
    }
    shape = header.split("'shape': ")[1].rpartition("}")[0].rstrip(", ")
    descr = said["descr"]
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.5:
            shape = rng.choice(
                (
                    "(1000000000000,)", "(True,)", "(-1,)", "()", "(0,)", "(2, 10**9)", "(None,)",
                    "(1.5,)", "('x',)", "'x'", "3", "(4294967296, 4294967296)", "(1,) * 40",
                    "(" * 90 + ")" * 90, "(1,1,1,1,1,1,1,1,1)", "(0, 1000000000000)", "{}",
                    "(" + "1," * 70 + ")", "(" * NESTED + ")" * NESTED, "(9" * 300, "(3, 0)",
                )
            )  # fmt: skip
        else:
            descr = rng.choice(
                (
                    "'|O'", "'<f8'", "'|b1'", "'<U10'", "'|S3'", "'|V8'", "'<M8[s]'", "'<c16'",
                    "'<f2'", "'<i8'", "'>i4'", "'x'", "''", "None", "3", "[('a', '<f8')]",
                    "[('a', '<i4', (2, 3))]", "'<U1000000000'", "'|S0'", "('<f8', (3,))", "'<f16'",
                    "[('a', '|O')]", "'|V0'",
                )
            )  # fmt: skip
    order = rng.choice(("False", "False", "True", "0", "None", "'x'"))
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if rng.random() < 0.05:
        text = "[" * NESTED
    if rng.random() < 0.3:
        body = rng.choice((b"", body[: len(body) // 2], body * 3, b"\xff" * len(body)))
    head = text.encode("latin1") + b"\n"
    if len(head) > 65535 or rng.random() < 0.1:
        return b"\x93NUMPY\x02\x00" + len(head).to_bytes(4, "little") + head + body
    version = rng.choice((b"\x01\x00",) * 8 + (b"\x03\x00", b"\x09\x00"))
    return b"\x93NUMPY" + version + len(head).to_bytes(2, "little") + head + body


def npz(rng: random.Random, content: bytes) -> bytes:
    """An NPZ file with one array damaged, of other values, left out, or twice; the ZIP is whole."""
    import numpy as np

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(rng.choice((1, 1, 2))):
        if not parts:
            break
        name, how = rng.choice(list(parts)), rng.random()
        if how < 0.3:
            parts[name] = npy(rng, parts[name])
        elif how < 0.4:
            parts[name] = rng.choice(BYTES)(rng, parts[name])
        elif how < 0.5:
            del parts[name]
        elif how < 0.9:
            array = np.load(io.BytesIO(parts[name]))
            parts[name] = _npy_of(_odd_array(rng, array))
        else:
            parts[rng.choice(("x.npy", "x", "deck", "../x.npy"))] = parts[name]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def _npy_of(array: Any) -> bytes:
    import numpy as np

    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _odd_array(rng: random.Random, array: Any) -> Any:
    """Another type, shape or some values out of their range."""
    import numpy as np

    how = rng.randrange(6)
    if how == 0:
        kind = rng.choice(("<f8", "<i8", "|b1", "<U3", "|u1", "<c16", "<f4", "|i1", "<M8[s]"))
        with np.errstate(all="ignore"):
            return array.astype(kind)
    if how == 1:
        return rng.choice((array[..., None], array.ravel(), array[:0], array[:1], array.T[None]))
    if how == 2:
        return np.concatenate([array, array]) if array.ndim else np.array([array, array])
    if how == 3:
        return np.array(rng.choice((0, -1, 1.5, True, "x")))
    changed = np.array(array)
    if not changed.size:
        return np.array([1])
    flat = changed.reshape(-1)
    if changed.dtype.kind == "f":
        odd: Any = rng.choice((math.nan, math.inf, -math.inf, 1e30, -1.0))
    elif changed.dtype.kind in "iu":
        info = np.iinfo(changed.dtype)
        odd = rng.choice((info.min, info.max, 0, 1, min(100, int(info.max)), min(7, int(info.max))))
    else:
        odd = rng.choice((True, False)) if changed.dtype.kind == "b" else flat[0]
    if how == 4:
        flat[:] = odd
    else:
        flat[rng.randrange(len(flat))] = odd
    return changed


def safetensors(rng: random.Random, content: bytes) -> bytes:
    """A safetensors file whose header, metadata or numbers say something else."""
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
    names = [name for name in header if name != "__metadata__"]
    metadata = header.get("__metadata__") or {}
    how = rng.random()
    if how < 0.4 and metadata:
        key = rng.choice(list(metadata))
        about = metadata.get("about")
        if about is not None and rng.random() < 0.8:
            about = json.loads(about)
            text = json.dumps(odd_json(rng, about))
            if rng.random() < 0.1:
                text = "[" * NESTED
            metadata["about"] = text
        elif rng.random() < 0.5:
            metadata[key] = rng.choice(
                ("", "x", "\x1b[31m", "[" * NESTED, "null", "[]", '["a"]', "[1]", "3", '{"a": 1}')
            )
        else:
            header["__metadata__"] = odd_json(rng, metadata)
    elif how < 0.7 and names:
        one = header[rng.choice(names)]
        kind = rng.randrange(4)
        if kind == 0:
            one["dtype"] = rng.choice(
                ("F8_E5M2", "F8_E4M3", "BF16", "F16", "F64", "I64", "U8", "BOOL", "I32", "C64",
                 "F4", "x", "", 3, None, "F8_E8M0", "U64")
            )  # fmt: skip
            width = {"F8_E5M2": 1, "F8_E4M3": 1, "BF16": 2, "F16": 2, "F64": 8, "I64": 8,
                     "U8": 1, "BOOL": 1, "I32": 4, "C64": 8, "F8_E8M0": 1, "U64": 8}  # fmt: skip
            if rng.random() < 0.7 and one["dtype"] in width:  # so that the sizes fit
                _respace(header, names, width, body)
        elif kind == 1:
            one["shape"] = rng.choice(
                ([], [0], [-1], [2**62, 2**62], [1], one["shape"][::-1], [True], ["x"], None,
                 [1, *one["shape"]], [10**12], [math.prod(one["shape"])])
            )  # fmt: skip
        elif kind == 2:
            one["data_offsets"] = rng.choice(([0, 2**60], [0, 0], [8, 0], [], "x", [-4, 0]))
        else:
            header = odd_json(rng, header)
    elif how < 0.8 and names:
        name = rng.choice(names)
        if rng.random() < 0.5:
            header[rng.choice(("x", "model.x", "a.b.c", "critic.x"))] = header.pop(name)
        else:
            dropped = header.pop(name)
            if rng.random() < 0.5:  # no hole is left
                start, stop = dropped["data_offsets"]
                del body[start:stop]
                for other in (one for n, one in header.items() if n != "__metadata__"):
                    if other["data_offsets"][0] >= stop:
                        other["data_offsets"] = [x - (stop - start) for x in other["data_offsets"]]
    elif names:
        start, stop = header[rng.choice(names)]["data_offsets"]
        number = rng.choice(
            (b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\xff\xff\x7f\x7f", bytes(4), b"\xff" * 4)
        )
        if rng.random() < 0.5:
            body[start:stop] = (number * (stop - start))[: stop - start]
        elif stop - start >= 4:
            body[start : start + 4] = number
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + bytes(body)


def _respace(header: Any, names: Sequence[str], width: dict[str, int], body: bytearray) -> None:
    """Offsets that fit types and shapes."""
    at = 0
    order = sorted(names, key=lambda name: header[name]["data_offsets"])
    for name in order:
        one = header[name]
        size = math.prod(one["shape"]) * width.get(one["dtype"], 4)
        one["data_offsets"] = [at, at + size]
        at += size
    body[:] = (bytes(body) + bytes(at))[:at]


# -------------------------------------------------------------------------------------- text files


def gzipped(damage: Callable[[random.Random, bytes], bytes]) -> Any:
    """Damage inside a whole gzip file."""

    def changed(rng: random.Random, content: bytes) -> bytes:
        return gzip.compress(damage(rng, gzip.decompress(content)), 1, mtime=0)

    return changed


def toml(rng: random.Random, content: bytes) -> bytes:
    """A line of TOML with another value or key."""
    lines = content.decode().splitlines()
    at = rng.randrange(len(lines))
    key = lines[at].partition(" =")[0]
    value = rng.choice(
        ("-1", "0", "1", "99999999999999999999", "nan", "-inf", "1e400", "true", "''", "'x'",
         '"\\u001b[31m"', "[]", "[1, 'a']", "{a = 1}", "[[1]]", "1979-05-27", "07:32:00", "0x1f",
         "'''\na\nb'''", "[" * NESTED, "{a=" * 2000, "2", "0.5", "'[red]'", "1_000", '"\\uD800"',
         "'a=1'", "['hidden=-1']", "['hidden=1e9', 'x=[[']", "'none'")
    )  # fmt: skip
    if rng.random() < 0.8:
        lines[at] = f"{key} = {value}"
    else:
        odd = rng.choice(("plicy", "config", "debug", "help", "''", '"\\u001b"', "a.b.c", "[x]"))
        lines.insert(at, f"{odd} = {value}")
    return "\n".join(lines).encode() + b"\n"


def ini(rng: random.Random, content: bytes) -> bytes:
    """A line of a plugin's metadata with other text."""
    lines = content.decode().splitlines()
    at = rng.randrange(len(lines))
    name = rng.choice(("x", "smartbot", "", " ", "a b", "\x1b[31m", "é", "[red]", "a:b", "mumbler"))
    thing = rng.choice(
        ("my_hanabi_plugin", "my_hanabi_plugin.none:None", ":", "", "a b:c", "json:loads",
         "my_hanabi_plugin.game:", "1:2", "my_hanabi_plugin.game:TwoNumbers.x.y", "os:sep",
         "builtins:int", "builtins:None", "collections:OrderedDict", "\x1b[31m:x", "é:é",
         "my_hanabi_plugin.policy:Mumbler [extra]", "math:pi", "math:sqrt", "operator:add")
    )  # fmt: skip
    lines[at] = rng.choice((f"{name} = {thing}", f"{name}: {thing}", name, f"[{name}]", thing))
    return "\n".join(lines).encode()


BY_NAME: dict[str, Any] = {
    ".json": json_text,
    ".jsonl": json_lines,
    ".jsonl.gz": gzipped(json_lines),
    ".npy": npy,
    ".npz": npz,
    ".safetensors": safetensors,
    ".toml": toml,
    "METADATA": ini,
    "entry_points.txt": ini,
}
"""What changes the parts of a format, by the end of a file's name."""


def damaged(rng: random.Random, content: bytes, name: str) -> bytes:
    """A damaged file, by its bytes or by the parts of its format."""
    end = max((end for end in BY_NAME if name.endswith(end)), key=len, default=None)
    if end is not None and content and rng.random() < 0.65:
        try:
            return BY_NAME[end](rng, content)
        except (ValueError, KeyError, IndexError, zipfile.BadZipFile):
            pass  # no such file to begin with
    return rng.choice(BYTES)(rng, content)


def damage_path(rng: random.Random, path: Path) -> None:
    """Damage a file, or one or two of a folder, or what it is."""
    if path.is_dir():
        inside = sorted(one for one in path.rglob("*") if one.is_file() and one.suffix != ".py")
        for one in rng.sample(inside, min(len(inside), rng.choice((1, 1, 2)))):
            damage_path(rng, one)
        return
    how = rng.random()
    if how < 0.9:
        path.write_bytes(damaged(rng, path.read_bytes(), path.name))
        return
    path.unlink()
    if how < 0.93:
        path.mkdir()
    elif how < 0.96:
        path.symlink_to(path.name)
