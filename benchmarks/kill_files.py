"""What a run left, but for what was measured on the way: times, memory, TensorBoard's files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hanabi_search_plugin.atomic_files import unfinished

MEASURED = (
    b"seconds", b"cpu_seconds", b"cpu_seconds_per_game", b"compile_seconds", b"game_cpu_seconds",
    b"fit_cpu_seconds", b"peak_rss_mb", b"decisions_a_second", b"playing",
)  # fmt: skip
_FIGURES = rb"(?:[-+.\deE]+|\[[-+.\deE,\s]*\])"  # one, or one a game
_MEASURED = re.compile(rb'(\\?"(?:%s)\\?": ?)%s' % (b"|".join(MEASURED), _FIGURES))
UNFINISHED = unfinished(Path("x")).suffix
_TENSORBOARD = "events.out.tfevents."


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a run, without what was measured on the way."""
    return {
        str(path.relative_to(folder)): _plain(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(_TENSORBOARD)
    }


def _plain(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".safetensors":  # a length, a description padded with spaces, tensors
        size = int.from_bytes(content[:8], "little")
        return _MEASURED.sub(rb"\1 0", content[8 : 8 + size].rstrip()) + content[8 + size :]
    return _MEASURED.sub(rb"\1 0", content) if path.suffix in (".json", ".jsonl") else content


def differences(found: dict[str, bytes], expected: dict[str, bytes]) -> Iterator[str]:
    for name in sorted(found.keys() | expected.keys()):
        if name not in expected:
            yield f"left over: {name}"
        elif name not in found:
            yield f"missing: {name}"
        elif found[name] != expected[name]:
            yield f"differs: {name}"
