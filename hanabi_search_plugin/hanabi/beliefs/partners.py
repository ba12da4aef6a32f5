"""The other seats in beliefs of native Hanabi: how they choose and what they remember, by hand.

Two kinds. Compiled bots, whose memories are the same under nearly all hands, keep one memory for
each group of hands. Any other policies are asked in batches, with one memory per hand, or one for
all hands where it is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.error_places import asking
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    Shared,
    join,
    observed,
    take,
)
from hanabi_search_plugin.core.rollout import likelihood
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs.hand_filters import DEPENDS_ON_PENDING, regroup
from hanabi_search_plugin.hanabi.beliefs.hand_range import HandRange, Partners
from hanabi_search_plugin.hanabi.bots.compiled import script_of
from hanabi_search_plugin.hanabi.bots.memories import with_moves
from hanabi_search_plugin.hanabi.bots.script import SCRIPT, WORDS
from hanabi_search_plugin.hanabi.bots.shown_memories import memory_shown
from hanabi_search_plugin.hanabi.engine.hanabi_rules import (
    HanabiRules,
    HanabiView,
    HanabiWorlds,
)
from hanabi_search_plugin.hanabi.engine.layout import DREW, LAST_FLAGS, MOVES

R = TypeVar("R", bound=HandRange)

MAX_STORED = 10_000_000  # hands a belief keeps where partners are compiled: all of 5 cards
MAX_ASKED = 1 << 18  # where they are not: each hand costs a call of Python and a memory
MAX_BATCHED = 10_000_000  # where they are not, but one public memory serves all hands
_BATCH = 4096  # hands that a policy is asked about in one call


@dataclass(frozen=True, eq=False)
class CompiledPartners(Partners):
    """Compiled bots, with one row of memories for each group of hands."""

    game: HanabiRules
    blueprint: Blueprint
    table: NDArray[np.int32]  # [G, P, words] memories

    see_new_cards = False

    @property
    def max_hands(self) -> int:
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

    def condition(self, belief: R, actor: int, action: int, allowed: IntArray) -> R:
        mine = np.ascontiguousarray(self.table[:, actor])
        return belief.enumerate(allowed, script=self.scripts[actor], action=action, memories=mine)

    def observe(self, belief: HandRange, event: Event) -> tuple[CompiledPartners, IntArray] | None:
        drew = event.player[0] == belief.seat and belief.view.rows[0, LAST_FLAGS] & DREW
        pending = belief.present - belief.known - bool(drew)  # besides a card drawn just now
        capacity = 2 * len(self.table) + 2
        row = belief.view.rows[0].copy()
        groups = np.empty(len(belief.hands), dtype=np.int64)
        while True:
            table = np.empty((capacity, *self.table.shape[1:]), dtype=np.int32)
            n = regroup(
                belief.game.dims, row, belief.seat, belief.hands, belief.known, belief.groups,
                self.table, self.scripts, pending > 0, groups, table,
            )  # fmt: skip
            if n >= 0:
                break
            if n == DEPENDS_ON_PENDING:
                return None
            capacity *= 4
        new = replace(self, table=table[:n].copy())
        return new, groups if n > 1 else np.empty(0, dtype=np.int64)

    def select(self, keep: NDArray[np.integer | np.bool_]) -> Partners:
        return self

    def recover(self, before: HandRange, hand: int) -> CompiledPartners:
        group = int(before.groups[hand]) if len(before.groups) else 0
        return replace(self, table=self.table[group : group + 1])

    def memories(self, belief: HandRange, pick: IntArray) -> tuple[Memory, ...]:
        groups = belief.groups[pick] if len(belief.groups) else np.zeros(len(pick), dtype=np.int64)
        moves = belief.view.rows[0, MOVES]
        return tuple(
            with_moves(self.table[groups, p, :words], moves) if words else None
            for p, words in enumerate(self.scripts[:, WORDS].tolist())
        )


class JudgesHands(ABC):
    """A policy of public memory that says itself how likely a move is under many hands.

    It need not work out the probabilities of all other moves then.
    """

    @abstractmethod
    def likelihood_of_hands(
        self, view: HanabiView, seat: int, hands: IntArray, memory: Memory, action: int
    ) -> FloatArray | None:
        """[N] the probability of ``action`` if ``seat`` holds each of ``hands`` int [N].

        These have five bits a card, oldest lowest. ``view`` (a batch of one) is that of the player
        to move under one of the hands, ``memory`` its memory. The numbers are those of
        ``probabilities``. None if the policy is to be asked for these.
        """


@dataclass(frozen=True, eq=False)
class PolicyPartners(Partners):
    """Any policies, with one memory per hand, none, or one that all hands share."""

    epsilon: float
    uncertainty: float
    seats: tuple[Memory, ...]  # [P] memories, with one row per hand where ``by_hand``, else one
    by_hand: tuple[bool, ...]  # [P] True if the memory may differ by hand
    see_new_cards: bool
    limit: int

    @property
    def max_hands(self) -> int:
        return self.limit

    def start(self, belief: HandRange) -> Partners:
        return self._with_memories(
            belief, lambda p, view, part: memory_shown(belief.blueprint[p], view)
        )

    def condition(self, belief: R, actor: int, action: int, allowed: IntArray) -> R:
        listed = belief.enumerate(allowed)
        assert isinstance(listed.partners, PolicyPartners)
        partners = listed.partners
        chance = partners._likelihood(listed, actor, action)
        if self.epsilon > 0.0:
            for worlds, part in _batches(listed, len(chance)):
                uniform = 1.0 / worlds.legal.sum(axis=1)
                chance[part] = (1.0 - self.epsilon) * chance[part] + self.epsilon * uniform
        chance += self.uncertainty * (1.0 - chance)
        counted = replace(
            listed,
            likelihood=chance * (listed.likelihood if len(listed.likelihood) else 1.0),
            likelihoods=listed.likelihoods + len(chance),
        )
        return counted.select(np.flatnonzero(chance > 0.0))

    def _likelihood(self, belief: HandRange, actor: int, action: int) -> FloatArray:
        """[N] the probability that ``actor`` plays ``action`` under each hand."""
        policy, chance = belief.blueprint[actor], np.empty(len(belief.hands))
        if isinstance(policy, JudgesHands) and not self.by_hand[actor]:
            for worlds, one in _batches(belief, min(len(chance), 1)):
                memory, view = self._memory(actor, one), worlds.view(actor)
                with asking(policy, actor, "likelihood_of_hands"):
                    given = policy.likelihood_of_hands(
                        view, belief.seat, belief.hands, memory, action
                    )
                if given is not None:
                    return given
        for worlds, part in _batches(belief, len(chance)):
            played, memory = np.full(len(part), action), self._memory(actor, part)
            chance[part] = likelihood(worlds, policy, actor, memory, played)
        return chance

    def observe(self, belief: HandRange, event: Event) -> tuple[Partners, IntArray]:
        def ask(p: int, view: View, part: IntArray) -> Memory:
            seen = event.select(np.zeros_like(part))
            return observed(belief.blueprint[p], view, seen, self._memory(p, part))

        new = self._with_memories(belief, ask)
        for policy, memory, by_hand in zip(belief.blueprint, new.seats, self.by_hand, strict=True):
            if not (by_hand or policy.public_memory or is_shared(memory)):
                raise UnsupportedError(
                    "a policy that starts with a memory of None or Shared must keep to it, got rows"
                )
        return new, np.empty(0, dtype=np.int64)

    def _with_memories(
        self, belief: HandRange, ask: Callable[[int, View, IntArray], Memory]
    ) -> PolicyPartners:
        """With the memories that ``ask(seat, view, hands)`` gives, asked once if hands share it."""
        seats: list[Memory] = []
        for p, by_hand in enumerate(self.by_hand):
            if p == belief.seat:
                seats.append(None)
                continue
            parts = _batches(belief, len(belief.hands) if by_hand else 1)
            seats.append(join([ask(p, worlds.view(p), part) for worlds, part in parts]))
        return replace(self, seats=tuple(seats))

    def _memory(self, p: int, pick: IntArray) -> Memory:
        """The memory of seat p under the hands at ``pick``."""
        return take(self.seats[p], pick if self.by_hand[p] else np.zeros_like(pick))

    def select(self, keep: NDArray[np.integer | np.bool_]) -> Partners:
        seats = (
            take(memory, keep) if by_hand else memory
            for memory, by_hand in zip(self.seats, self.by_hand, strict=True)
        )
        return replace(self, seats=tuple(seats))

    def recover(self, before: HandRange, hand: int) -> Partners:
        return self.select(np.array([hand]))

    def memories(self, belief: HandRange, pick: IntArray) -> tuple[Memory, ...]:
        return tuple(self._memory(p, pick) for p in range(len(self.seats)))


def _batches(belief: HandRange, n: int) -> Iterator[tuple[HanabiWorlds, IntArray]]:
    """Batches of worlds of the first n hands, and the rows of these; their decks are arbitrary."""
    for start in range(0, n, _BATCH):
        part = np.arange(start, min(start + _BATCH, n))
        chance = Streams(np.zeros(len(part), dtype=np.uint64))
        yield belief.worlds_of(belief.hands[part], chance), part


def is_shared(memory: Memory) -> bool:
    """True if the memory is declared the same in every world."""
    return memory is None or isinstance(memory, Shared)
