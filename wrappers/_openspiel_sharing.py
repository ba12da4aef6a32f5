"""Uniform draws among all ways to share cards out, each to a holder that may have it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from hanabi_search_plugin.core.game import FloatArray

Holder = TypeVar("Holder")


@dataclass(frozen=True)
class Limit(Generic[Holder]):
    """What the cards of one holder may be worth together, at most."""

    holder: Holder
    most: int
    worth: Mapping[int, int]  # of each card, 0 where it is not here


class Sharing(Generic[Holder]):
    """All ways to give cards to holders: ``capacity`` cards each, none that it may not have.

    ``allowed`` says of each card who may have it, ``limit`` what those of a holder may be worth.
    Cards of the same worth that the same holders may have are counted together: how many of them
    each holder gets is drawn by the number of ways, and then which.
    """

    def __init__(
        self,
        capacity: Mapping[Holder, int],
        allowed: Mapping[int, tuple[Holder, ...]],
        limit: Limit[Holder] | None = None,
    ) -> None:
        self.holders = list(capacity)
        self.capacity = tuple(capacity.values())
        worth: Mapping[int, int] = {} if limit is None else limit.worth
        self._limited, self._most = 0, 0  # without a limit no card is worth anything
        if limit is not None:
            self._limited, self._most = self.holders.index(limit.holder), limit.most
        groups: dict[tuple[tuple[int, ...], int], list[int]] = {}
        for card, could in allowed.items():
            alike = tuple(map(self.holders.index, could)), worth.get(card, 0)
            groups.setdefault(alike, []).append(card)
        self.groups = sorted(groups.items(), key=lambda group: (len(group[0][0]), group[0]))
        self._shares = lru_cache(maxsize=None)(self._shares_of)

    @property
    def ways(self) -> float:
        """Ways to share the cards out, not counting the order of a holder's."""
        return self._shares(0, self.capacity, self._most)[2]

    def draw(self, rng: np.random.Generator) -> dict[Holder, list[int]] | None:
        """The cards of each holder, in random order; None where there is no way."""
        capacity, most = self.capacity, self._most
        hands: list[list[int]] = [[] for _ in self.holders]
        for i, ((_, worth), cards) in enumerate(self.groups):
            splits, cumulative, total = self._shares(i, capacity, most)
            if total == 0:
                return None
            split = splits[int(np.searchsorted(cumulative, rng.random() * total, side="right"))]
            first, order = 0, rng.permutation(len(cards))
            for h, count in enumerate(split):
                hands[h] += [cards[k] for k in order[first : first + count].tolist()]
                first += count
            capacity = tuple(a - b for a, b in zip(capacity, split, strict=True))
            most -= worth * split[self._limited]
        return dict(zip(self.holders, hands, strict=True))

    def _shares_of(
        self, i: int, capacity: tuple[int, ...], most: int
    ) -> tuple[list[tuple[int, ...]], FloatArray, float]:
        """How group i may be split, the cumulative ways of each, and all of them.

        ``most`` is what the cards of the limited holder may still be worth.
        """
        if i == len(self.groups):
            return [()], np.ones(1), 1.0
        (could, worth), cards = self.groups[i]
        splits, ways = [], []
        for split in _splits(len(cards), could, capacity):
            left = most - worth * split[self._limited]
            if left < 0:
                continue
            after = tuple(a - b for a, b in zip(capacity, split, strict=True))
            orders = math.factorial(len(cards)) // math.prod(map(math.factorial, split))
            if more := self._shares(i + 1, after, left)[2]:
                splits.append(split)
                ways.append(orders * more)
        cumulative = np.cumsum(ways)
        return splits, cumulative, float(cumulative[-1]) if ways else 0.0


def _splits(n: int, could: tuple[int, ...], capacity: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to give n like cards to the holders that may have them."""
    if not could:
        if n == 0:
            yield (0,) * len(capacity)
        return
    first, rest = could[0], could[1:]
    spare = sum(capacity[h] for h in rest)
    for count in range(max(0, n - spare), min(n, capacity[first]) + 1):
        for split in _splits(n - count, rest, capacity):
            yield (*split[:first], count, *split[first + 1 :])
