"""Uniform draws among all ways to share cards out, each to a holder that may have it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np

from hanabi_search_plugin.core.game import FloatArray

Holder = TypeVar("Holder")


class Sharing(Generic[Holder]):
    """All ways to give cards to holders: ``capacity`` cards each, none that it may not have.

    ``allowed`` says of each card who may have it. Cards that the same holders may have are counted
    together: how many of them each holder gets is drawn by the number of ways, and then which.
    """

    def __init__(
        self, capacity: Mapping[Holder, int], allowed: Mapping[int, tuple[Holder, ...]]
    ) -> None:
        self.holders = list(capacity)
        self.capacity = tuple(capacity.values())
        groups: dict[tuple[int, ...], list[int]] = {}
        for card, could in allowed.items():
            groups.setdefault(tuple(map(self.holders.index, could)), []).append(card)
        self.groups = sorted(groups.items(), key=lambda group: (len(group[0]), group[0]))
        self._shares = lru_cache(maxsize=None)(self._shares_of)

    @property
    def ways(self) -> float:
        """Ways to share the cards out, not counting the order of a holder's."""
        return self._shares(0, self.capacity)[2]

    def draw(self, rng: np.random.Generator) -> dict[Holder, list[int]] | None:
        """The cards of each holder, in random order; None where there is no way."""
        capacity = self.capacity
        hands: list[list[int]] = [[] for _ in self.holders]
        for i, (_, cards) in enumerate(self.groups):
            splits, cumulative, total = self._shares(i, capacity)
            if total == 0:
                return None
            split = splits[int(np.searchsorted(cumulative, rng.random() * total, side="right"))]
            first, order = 0, rng.permutation(len(cards))
            for h, count in enumerate(split):
                hands[h] += [cards[k] for k in order[first : first + count].tolist()]
                first += count
            capacity = tuple(a - b for a, b in zip(capacity, split, strict=True))
        return dict(zip(self.holders, hands, strict=True))

    def _shares_of(
        self, i: int, capacity: tuple[int, ...]
    ) -> tuple[list[tuple[int, ...]], FloatArray, float]:
        """How group i may be split, the cumulative ways of each, and all of them."""
        if i == len(self.groups):
            return [()], np.ones(1), 1.0
        could, cards = self.groups[i]
        splits, ways = [], []
        for split in _splits(len(cards), could, capacity):
            after = tuple(a - b for a, b in zip(capacity, split, strict=True))
            orders = math.factorial(len(cards)) // math.prod(map(math.factorial, split))
            if more := self._shares(i + 1, after)[2]:
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
