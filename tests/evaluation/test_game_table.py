"""Results in columns are the results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hanabi_search_plugin.evaluation.game_table import GameTable, column
from hanabi_search_plugin.evaluation.match import GameResult

FULL = GameResult(
    side="policies", game=1, score=-1.5, lives_left=0, actions=(0, 19, 127), cpu_seconds=0.1 + 0.2,
    rollouts=2**40, likelihoods=7, searched_moves=3, changed_moves=2, fallback_moves=1, depth=2.5,
)  # fmt: skip
BARE = GameResult(
    side="policies", game=3, score=25.0, lives_left=None, actions=(), likelihoods=None, depth=None
)


@pytest.mark.parametrize("num_actions", [128, 129, 10_000])
def test_what_is_put_comes_out(num_actions: int) -> None:
    full = replace(FULL, actions=(0, num_actions - 1, 5))
    table = GameTable("policies", 5, num_actions)
    table.put(BARE)
    table.put(full)
    assert table.known.tolist() == [False, True, False, True, False]
    found = table.select(np.array([1, 3]))
    assert list(found) == [full, BARE] and found == (full, BARE)
    assert found[-1] == BARE and found[:1] == (full,) and found != [BARE, full]
    assert found[0].actions == (0, num_actions - 1, 5) and type(found[0].score) is float
    for name in ("game", "score", "lives_left", "likelihoods", "depth", "cpu_seconds", "moves"):
        assert list(column(found, name)) == list(column((full, BARE), name))


def test_it_takes_little_memory() -> None:
    table = GameTable("policies", 1000, 20)
    for number in range(1000):
        table.put(replace(FULL, game=number, actions=(1,) * 60))
    whole = sum(values.nbytes for values in table._columns.values())
    whole += table._moves.itemsize * len(table._moves)
    assert whole / 1000 < 150
