"""Record the golden decisions again: ``python -m tests.golden``, or groups and cases by name.

    python -m tests.golden                       # all
    python -m tests.golden trees native/epsilon  # a group and a case

It needs everything that the cases need; a diff of ``tests/data/golden`` then says what has changed.
"""

from __future__ import annotations

import sys
import time

from tests.golden.cases import FOLDER, Found
from tests.golden.catalogue import GROUPS, file_of, read, write


def record(wanted: list[str]) -> None:
    """Write the files anew; those of groups and cases that were not asked for stay."""
    known = [*GROUPS, *(f"{group}/{name}" for group, cases in GROUPS.items() for name in cases)]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"expected groups or cases, got {', '.join(unknown)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for group, cases in GROUPS.items():
        whole = not wanted or group in wanted
        asked = [name for name in cases if whole or f"{group}/{name}" in wanted]
        found: dict[str, Found] = {}
        for name in asked:
            began = time.process_time()
            found[name] = cases[name]()
            print(f"{group}/{name} {time.process_time() - began:.2f} s", flush=True)
        if asked:
            before = read(group) if not whole and file_of(group).exists() else {}
            write(group, before | found)


if __name__ == "__main__":
    record(sys.argv[1:])
