"""Tricks that the declarer wins if all play perfectly and see all cards, by the library endplay.

A solution takes some 20 milliseconds and is by far the dearest part of a search, so each is found
once, and only for the strain and declarer that an auction has come to.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np

from hanabi_search_plugin.bridge.deals import Owners, deal_text
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.game import IntArray

KEPT = 200_000  # solutions that are remembered, some 200 bytes each


class DoubleDummy:
    """Solutions of deals, found when they are asked for. Copies and pickles begin empty.

    ``solved`` counts those that had to be found.
    """

    def __init__(self) -> None:
        self.solved = 0
        self._known: OrderedDict[tuple[bytes, int, int], int] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return DoubleDummy, ()

    def tricks(self, owners: Owners, strain: IntArray, declarer: IntArray) -> IntArray:
        """[B] tricks of the declarer in deals [B, 52], strains [B] and declarers [B].

        Raises UnsupportedError where endplay is not installed.
        """
        found = np.empty(len(owners), dtype=np.int64)
        for b, key in enumerate(
            zip(map(bytes, owners), strain.tolist(), declarer.tolist(), strict=True)
        ):
            with self._lock:
                known = self._known.get(key)
            if known is None:
                known = _solve(owners[b], *key[1:])
                self._keep(key, known)
            found[b] = known
        return found

    def tell(self, owners: Owners, tables: IntArray) -> None:
        """Take solutions [B, 5, 4] that are known: tricks by strain and by declarer."""
        for deal, table in zip(map(bytes, owners), tables.tolist(), strict=True):
            for strain, row in enumerate(table):
                for declarer, tricks in enumerate(row):
                    self._keep((deal, strain, declarer), tricks, solved=0)

    def _keep(self, key: tuple[bytes, int, int], tricks: int, *, solved: int = 1) -> None:
        with self._lock:
            self._known[key] = tricks
            self.solved += solved
            if len(self._known) > KEPT:
                self._known.popitem(last=False)


def _solve(owners: Owners, strain: int, declarer: int) -> int:
    """Tricks of the declarer in one deal [52]."""
    require_extra("bridge", "a contract's result", "endplay")
    from endplay import _dds
    from endplay.dds.solve import SolveMode, solve_board
    from endplay.types import Deal, Denom, Player

    _dds.SetMaxThreads(1)  # it begins with one a processor
    denoms = (Denom.clubs, Denom.diamonds, Denom.hearts, Denom.spades, Denom.nt)
    players = (Player.north, Player.east, Player.south, Player.west)
    deal = Deal(deal_text(owners), first=players[(declarer + 1) % 4], trump=denoms[strain])
    _, won = next(iter(solve_board(deal, SolveMode.OptimalOne)))  # by the side that leads
    return 13 - int(won)
