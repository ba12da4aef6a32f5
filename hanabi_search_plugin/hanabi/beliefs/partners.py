"""How the other seats choose and what they remember, under every hand a belief considers.

Two kinds: bots that are compiled, whose memories are the same under nearly all hands and are kept
once a group; and any other policy, asked in batches, with one memory a hand, or one for all hands
where it is public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Event, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, Shared, join, take
from hanabi_search_plugin.core.rollout import likelihood
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs.hand_filters import DEPENDS_ON_PENDING, regroup
from hanabi_search_plugin.hanabi.beliefs.hand_range import HandRange, Partners
from hanabi_search_plugin.hanabi.bots.compiled import script_of
from hanabi_search_plugin.hanabi.bots.script import SCRIPT, WORDS
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DREW, LAST_FLAGS

R = TypeVar("R", bound=HandRange)

MAX_STORED = 10_000_000  # hands a belief keeps where partners are compiled: all of 5 cards
MAX_ASKED = 1 << 18  # hands it keeps where they are not: a call of Python and a memory each
MAX_BATCHED = 10_000_000  # where one public memory serves all and they are asked in batches
_BATCH = 4096  # of them at once


@dataclass(frozen=True, eq=False)
class CompiledPartners(Partners):
    """Bots of ``kernels``: memories int32 [G, P, words]."""

    game: HanabiRules
    blueprint: Blueprint
    table: NDArray[np.int32]

    see_new_cards = False

    @property
    def most(self) -> int:
        return MAX_STORED

    @cached_property
    def scripts(self) -> IntArray:
        """[P, SCRIPT] of all seats; the belief's own may be any policy and is not asked."""
        nobody = np.zeros(SCRIPT, dtype=np.int64)
        scripts = [script_of(policy, self.game) for policy in self.blueprint]
        return np.stack([nobody if script is None else script for script in scripts])

    def __getstate__(self) -> dict[str, object]:
        """Without the scripts: they hold addresses of this process."""
        return {key: value for key, value in vars(self).items() if key != "scripts"}

    def explain(self, belief: R, actor: int, action: int, allowed: IntArray) -> R:
        mine = np.ascontiguousarray(self.table[:, actor])
        return belief.enumerate(allowed, script=self.scripts[actor], action=action, memories=mine)

    def observed(self, belief: HandRange, event: Event) -> tuple[CompiledPartners, IntArray] | None:
        drew = event.player[0] == belief.seat and belief.view.rows[0, LAST_FLAGS] & DREW
        pending = belief.present - belief.known - bool(drew)  # besides a card drawn just now
        room = 2 * len(self.table) + 2
        row = belief.view.rows[0].copy()
        groups = np.empty(len(belief.hands), dtype=np.int64)
        while True:
            table = np.empty((room, *self.table.shape[1:]), dtype=np.int32)
            n = regroup(
                belief.game.dims, row, belief.seat, belief.hands, belief.known, belief.groups,
                self.table, self.scripts, pending > 0, groups, table,
            )  # fmt: skip
            if n >= 0:
                break
            if n == DEPENDS_ON_PENDING:
                return None
            room *= 4
        new = replace(self, table=table[:n].copy())
        return new, groups if n > 1 else np.empty(0, dtype=np.int64)

    def kept(self, keep: NDArray[np.integer | np.bool_]) -> Partners:
        return self

    def alone(self, before: HandRange, hand: int) -> CompiledPartners:
        group = int(before.groups[hand]) if len(before.groups) else 0
        return replace(self, table=self.table[group : group + 1])

    def memories(self, belief: HandRange, pick: IntArray) -> tuple[Memory, ...]:
        groups = belief.groups[pick] if len(belief.groups) else np.zeros(len(pick), dtype=np.int64)
        return tuple(
            self.table[groups, p, :words] if words else None
            for p, words in enumerate(self.scripts[:, WORDS].tolist())
        )


@dataclass(frozen=True, eq=False)
class PolicyPartners(Partners):
    """Any policies: one memory a hand, or none, or one that all hands share."""

    epsilon: float
    uncertainty: float
    seats: tuple[Memory, ...]  # [P] memories with a row a hand, or one where not ``apart``
    apart: tuple[bool, ...]  # [P] may the memory differ by hand?
    see_new_cards: bool
    limit: int

    @property
    def most(self) -> int:
        return self.limit

    def started(self, belief: HandRange) -> Partners:
        return self._asked(belief, lambda p, view, part: belief.blueprint[p].start(view))

    def explain(self, belief: R, actor: int, action: int, allowed: IntArray) -> R:
        whole = belief.enumerate(allowed)
        assert isinstance(whole.partners, PolicyPartners)
        partners = whole.partners
        chance = np.empty(len(whole.hands))
        policy = belief.blueprint[actor]
        for worlds, part in _batches(whole, len(chance)):
            played = np.full(len(part), action)
            memory = partners._of(actor, part)
            chance[part] = likelihood(worlds, policy, actor, memory, played)
            if self.epsilon > 0.0:
                uniform = 1.0 / worlds.legal.sum(axis=1)
                chance[part] = (1.0 - self.epsilon) * chance[part] + self.epsilon * uniform
        chance += self.uncertainty * (1.0 - chance)
        counted = replace(
            whole,
            likelihood=chance * (whole.likelihood if len(whole.likelihood) else 1.0),
            likelihoods=whole.likelihoods + len(chance),
        )
        return counted.select(np.flatnonzero(chance > 0.0))

    def observed(self, belief: HandRange, event: Event) -> tuple[Partners, IntArray]:
        def observe(p: int, view: View, part: IntArray) -> Memory:
            seen = event.select(np.zeros_like(part))
            return belief.blueprint[p].observe(view, seen, self._of(p, part))

        new = self._asked(belief, observe)
        for policy, memory, apart in zip(belief.blueprint, new.seats, self.apart, strict=True):
            if not (apart or policy.public_memory or alike(memory)):
                raise UnsupportedError(
                    "a policy that starts with a memory of None or Shared must keep to it, got rows"
                )
        return new, np.empty(0, dtype=np.int64)

    def _asked(
        self, belief: HandRange, ask: Callable[[int, View, IntArray], Memory]
    ) -> PolicyPartners:
        """With the memories that ``ask(seat, view, hands)`` gives; one hand will do for all."""
        seats: list[Memory] = []
        for p, apart in enumerate(self.apart):
            if p == belief.seat:
                seats.append(None)
                continue
            parts = _batches(belief, len(belief.hands) if apart else 1)
            seats.append(join([ask(p, worlds.view(p), part) for worlds, part in parts]))
        return replace(self, seats=tuple(seats))

    def _of(self, p: int, pick: IntArray) -> Memory:
        """The memory of a seat under the hands at ``pick``."""
        return take(self.seats[p], pick if self.apart[p] else np.zeros_like(pick))

    def kept(self, keep: NDArray[np.integer | np.bool_]) -> Partners:
        seats = (
            take(memory, keep) if apart else memory
            for memory, apart in zip(self.seats, self.apart, strict=True)
        )
        return replace(self, seats=tuple(seats))

    def alone(self, before: HandRange, hand: int) -> Partners:
        return self.kept(np.array([hand]))

    def memories(self, belief: HandRange, pick: IntArray) -> tuple[Memory, ...]:
        return tuple(self._of(p, pick) for p in range(len(self.seats)))


def _batches(belief: HandRange, n: int) -> Iterator[tuple[HanabiWorlds, IntArray]]:
    """Worlds of the first n hands, and which; the order of their decks is arbitrary."""
    for start in range(0, n, _BATCH):
        part = np.arange(start, min(start + _BATCH, n))
        chance = Streams(np.zeros(len(part), dtype=np.uint64))
        yield belief.worlds_of(belief.hands[part], chance), part


def alike(memory: Memory) -> bool:
    """Is the memory the same in every world?"""
    return memory is None or isinstance(memory, Shared)
