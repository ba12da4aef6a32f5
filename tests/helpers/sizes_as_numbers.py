"""Run a program with the sizes of games of 3 to 5 players as numbers, as the tests themselves do.

python -m tests.helpers.sizes_as_numbers PROGRAM
"""

from __future__ import annotations

import runpy
import sys

from hanabi_search_plugin.hanabi.engine import layout


def read_sizes_as_numbers() -> None:
    """From now on, in this process, but for 2 players."""
    layout.TYPED_PLAYERS.intersection_update({2})


if __name__ == "__main__":
    read_sizes_as_numbers()
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
