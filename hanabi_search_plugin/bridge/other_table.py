"""The other table of a match: the same board, bid there by policies that are known."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Policy, as_blueprint
from hanabi_search_plugin.core.rollout import rollout, start_memories
from hanabi_search_plugin.core.streams import Streams

KEPT = 100_000  # boards whose result is remembered


class OtherTable:
    """Results of boards that deterministic policies bid, each found once.

    ``policies`` is one for all seats, or one a seat. Copies and pickles begin empty. Raises
    UnsupportedError for what is no policy and for a stochastic one.
    """

    def __init__(self, policies: Policy | Blueprint) -> None:
        self.policies = as_blueprint(policies, 4)
        for policy in self.policies:
            if not policy.deterministic:
                raise UnsupportedError(
                    f"the other table's policies must be deterministic, got {policy!r}"
                )
        self._known: OrderedDict[bytes, float] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return OtherTable, (self.policies,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OtherTable) and self.policies == other.policies

    def __hash__(self) -> int:
        return hash(self.policies)

    def __repr__(self) -> str:
        names = list(dict.fromkeys(map(repr, self.policies)))
        return f"OtherTable({names[0] if len(names) == 1 else self.policies})"

    def points(self, boards: Sequence[bytes], worlds: Worlds) -> FloatArray:
        """[B] points of N and S in ``worlds``, in which nobody has called yet.

        Worlds with equal ``boards`` [B] are alike.
        """
        with self._lock:
            known = {board: self._known.get(board) for board in boards}
        new = {board: b for b, board in enumerate(boards) if known[board] is None}
        if new:
            begun = worlds.select(np.array(list(new.values())))
            memories = start_memories(begun, self.policies)
            played = rollout(begun, self.policies, memories, Streams.still(len(begun)))
            found = dict(zip(new, played.returns[:, 0].tolist(), strict=True))
            known.update(found)
            with self._lock:
                self._known.update(found)
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)
        return np.array([known[board] for board in boards], dtype=np.float64)
