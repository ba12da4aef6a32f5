"""A file that lets a long evaluation go on where it stopped: a header, then a line a game."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hanabi_search_plugin.atomic_files import naming_errors
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.plain_json import parse_object
from hanabi_search_plugin.core.require import require_path, require_writable
from hanabi_search_plugin.evaluation.closing import Closing
from hanabi_search_plugin.evaluation.interrupts import uninterrupted
from hanabi_search_plugin.evaluation.locks import lock_file

FORMAT = "hanabi-search-plugin evaluation 1"
RESULTS = "hanabi-search-plugin results 1"  # of the files of --json

# By type: options that came when there were files of it, and what was played without them.
_OF_SPARTA = {"objective": "score", "errors": 0.0, "indifference": 0.002}
_BEFORE: dict[str, dict[str, Any]] = {
    "Sparta": _OF_SPARTA,
    "Lbs": _OF_SPARTA,
    "JointSparta": {"objective": "score", "indifference": 0.002, "pruning": "paired"},
    "Mds": {"objective": "score"},
    "SoIsmcts": {"objective": "score"},
    "MoIsmcts": {"objective": "score"},
    "RisMcts": {"objective": "score"},
    "Predictor": {"objective": "score"},
    "Learned": {"uncertainty": 0.0},
}


class Checkpoint(Closing):
    """Finished games by key, appended and flushed one by one.

    Raises ConfigError for what is no file, where it was begun with other parameters or another
    process writes it, RecordError where it is damaged. A last line that was cut off while it was
    written is dropped.
    """

    def __init__(self, path: str | Path, parameters: dict[str, Any]) -> None:
        require_path("resume", path)
        self._path = path = Path(path)
        header = {"format": FORMAT, "parameters": json.loads(json.dumps(parameters))}
        self.lines: list[dict[str, Any]] = []  # what earlier runs finished
        if path.exists() and not path.is_file():
            raise ConfigError(f"resume must name a file, got a folder, a pipe or a device: {path}")
        require_writable("resume", path)
        self._file = path.open("ab")
        try:
            lock_file(self._file, path)
            content = path.read_bytes()
            complete = content[: content.rfind(b"\n") + 1]
            _require_no_other(content, path)
            if complete:
                self.lines = _read(complete, path, header)
            elif content and FORMAT.encode() not in content:
                raise RecordError(f"{path}:1: expected a file of this program to resume from")
            self._file.truncate(len(complete))
            if not complete:
                self.append(header)
        except BaseException:
            self._file.close()
            raise

    def append(self, line: dict[str, Any]) -> None:
        with uninterrupted(), naming_errors(self._path):
            self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            self._file.flush()

    def close(self) -> None:
        with naming_errors(self._path):  # it is tried again to write what could not be
            self._file.close()


def _require_no_other(content: bytes, path: Path) -> None:
    """Raises ConfigError for another file that an evaluation writes."""
    kind = ""
    if content.startswith(b"{\n") and RESULTS.encode() in content:
        kind = "that is a result of --json"
    elif content.startswith(b'{"game":') and b'"words":' in content[:1000]:
        kind = "that is a trace (--trace)"
    elif b'"players":' in content[:1000] and b'"deck":' in content[:1000]:
        kind = "those are games of --save"
    if kind:
        raise ConfigError(f"{path}: {kind}; give --resume another file")


def _read(content: bytes, path: Path, header: dict[str, Any]) -> list[dict[str, Any]]:
    lines = []
    for number, text in enumerate(content.splitlines(), start=1):
        try:
            lines.append(parse_object(text))
        except ValueError as error:
            raise RecordError(f"{path}:{number}: {error}") from None
    if lines[0].get("format") != FORMAT:
        raise RecordError(f"{path}:1: expected a file of this program to resume from")
    other = difference(lines[0].get("parameters"), header["parameters"])
    if other is not None:
        name, there, here = other
        kind, _, whose = name.partition(".")
        if kind == "contents":
            raise ConfigError(
                f"resume must go on with the game and policies of {path}: the code, weights or "
                f"attributes of {whose} are others now: give those, or another file"
            )
        raise ConfigError(
            f"resume must go on with the parameters of {path}: "
            f"{name} is {json.dumps(there)} there, {json.dumps(here)} here: give these, "
            "or another file"
        )
    return lines[1:]


def difference(
    there: Any, here: Any, name: str = "", before: Any = None
) -> tuple[str, Any, Any] | None:
    """The first place where two JSON values differ: its name and both values.

    An option that only one of them knows makes no difference while it is None, off, or at what was
    played ``before`` there was a choice, as ``_BEFORE`` has it. Nor does the name that a network
    was loaded by, beside its digest, nor what version 0.1 recorded beside settings: private fields,
    and the docstrings of compiled code; nor ``contents``, which it did not record.
    """
    if isinstance(there, dict) and isinstance(here, dict):
        came_later = _BEFORE.get(str(here.get("type")), {})
        parts = [
            (there.get(key), here.get(key), f"{name}.{key}".lstrip("."), came_later.get(key))
            for key in dict.fromkeys([*here, *there])
            if not (key.startswith("_") or key in ("doc", "loaded_as"))
            and not (key == "contents" and key not in there)
        ]
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        parts = [
            (a, b, f"{name}[{i}]", None) for i, (a, b) in enumerate(zip(there, here, strict=True))
        ]
    else:
        off = all(one is None or one is False or one == before for one in (there, here))
        return None if there == here or off else (name, there, here)
    found = (difference(*part) for part in parts)
    return next((one for one in found if one is not None), None)
