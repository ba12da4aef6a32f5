"""All golden cases, and the files that hold what they find: a file a group, a line a decision."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from tests.golden import frameworks, generic, models, native, networks, runs, trees
from tests.golden.cases import FOLDER, Cases, Found

GROUPS: dict[str, Cases] = {
    "native": native.CASES,
    "trees": trees.CASES,
    "networks": networks.CASES,
    "generic": generic.CASES,
    "frameworks": frameworks.CASES,
    "runs": runs.CASES,
    "models": models.CASES,
}


def file_of(group: str) -> Path:
    return FOLDER / f"{group}.json"


def read(group: str) -> dict[str, Found]:
    """What was found in a group's cases, by their names."""
    content = json.loads(file_of(group).read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def write(group: str, found: dict[str, Found]) -> None:
    """Replace a group's file as a whole. Floats keep the digits that are compared, and one more."""
    cases = []
    for name, entries in sorted(found.items()):
        digits = 2 - round(math.log10(GROUPS[group][name].tolerance))
        lines = [
            json.dumps(rounded(entry, digits), sort_keys=True, separators=(",", ":"))
            for entry in entries
        ]
        cases.append(json.dumps(name) + ": [\n" + ",\n".join(lines) + "\n]")
    path = file_of(group)
    beside = path.with_suffix(".new")
    beside.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8")
    os.replace(beside, path)


def rounded(entry: Any, digits: int) -> Any:
    """JSON with floats of so many digits."""
    if isinstance(entry, float):
        return float(f"{entry:.{digits}g}")
    if isinstance(entry, list):
        return [rounded(each, digits) for each in entry]
    if isinstance(entry, dict):
        return {name: rounded(each, digits) for name, each in entry.items()}
    return entry
