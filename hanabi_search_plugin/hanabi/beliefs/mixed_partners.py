"""Partners of unknown policy in beliefs of native Hanabi, if every candidate is compiled.

Letters: N hands, P players, K candidates, G groups of hands under which memories are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.beliefs.mixture import UNKNOWN, Mixture, posterior
from hanabi_search_plugin.core.game import Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy
from hanabi_search_plugin.hanabi.beliefs.hand_filters import filter_hands
from hanabi_search_plugin.hanabi.beliefs.hand_range import HandRange, Partners
from hanabi_search_plugin.hanabi.beliefs.partners import CompiledPartners
from hanabi_search_plugin.hanabi.bots.compiled import is_compiled, pack_memories
from hanabi_search_plugin.hanabi.bots.shown_memories import memory_shown
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules

R = TypeVar("R", bound=HandRange)

# Hands that a belief keeps, each asked of all candidates: all of 4 cards, or of 5 after a hint.
MAX_MIXED = 1 << 20
_NO_FLOATS = np.empty(0)
NO_GROUPS = np.empty(0, dtype=np.int64)  # all hands are in the first group


@dataclass(frozen=True, eq=False)
class MixedPartners(Partners):
    """Seats that play a compiled bot or a ``Mixture`` of such.

    Column k holds the k-th candidate of every seat.
    """

    columns: tuple[CompiledPartners, ...]  # [K]
    groups: tuple[IntArray, ...]  # [K] of [N]: the row of each hand in the column's memories; 0
    # under hands that rule the candidate out, since nobody asks it there
    weights: tuple[FloatArray, ...]  # [P] of [N, K]: P(candidate | hand, the seat's own moves)
    prior: tuple[FloatArray, ...]  # [P] of [1, K]
    epsilon: tuple[float, ...]  # [P] the mixtures' own
    uncertainty: float

    see_new_cards = False

    @property
    def max_hands(self) -> int:
        return MAX_MIXED

    def condition(self, belief: R, actor: int, action: int, allowed: IntArray) -> R:
        listed = belief.enumerate(allowed)
        found = listed.partners
        assert isinstance(found, MixedPartners)
        weights = found.weights[actor]
        chance = np.zeros_like(weights)
        asked = 0
        for k in range(weights.shape[1]):
            rows = np.flatnonzero(weights[:, k] > 0)
            if len(rows):
                chance[rows, k] = found.chance_of(listed, k, rows, actor, action, allowed)
                asked += len(rows)
        weights, total = posterior(weights, chance)
        moved = total + self.uncertainty * (1.0 - total)
        counted = replace(
            listed,
            likelihood=moved * (listed.likelihood if len(listed.likelihood) else 1.0),
            likelihoods=listed.likelihoods + asked,
            partners=replace(
                found, weights=(*found.weights[:actor], weights, *found.weights[actor + 1 :])
            ),
        )
        return counted.select(np.flatnonzero(moved > 0.0))

    def chance_of(
        self,
        belief: HandRange,
        k: int,
        rows: IntArray,
        actor: int,
        action: int,
        allowed: IntArray,
    ) -> FloatArray:
        """[rows] probability that candidate k of ``actor`` makes the move under these hands."""
        column, groups = self.columns[k], self.groups[k]
        hands = belief.hands[rows]
        found = np.empty(len(rows) + 1, dtype=hands.dtype)
        likelihood, parents = np.empty(len(found)), np.empty(len(found), dtype=np.int32)
        n = filter_hands(
            belief.game.dims, belief.view.rows[0].copy(), belief.seat, hands, _NO_FLOATS,
            groups[rows] if len(groups) else groups,
            np.ascontiguousarray(column.table[:, actor]), belief.known, belief.known,
            belief.unseen, allowed, column.scripts[actor], self.epsilon[actor], 0.0, action,
            0, 0, 0, np.array([0, -1, 0]), np.zeros(8, dtype=np.int64),
            np.zeros(32, dtype=np.int64), found, likelihood, parents,
        )  # fmt: skip
        chance = np.zeros(len(rows))
        chance[parents[:n]] = likelihood[:n]
        return chance

    def observe(self, belief: HandRange, event: Event) -> tuple[Partners, IntArray] | None:
        columns: list[CompiledPartners] = []
        groups: list[IntArray] = []
        for k, column in enumerate(self.columns):
            rows = self._rows_of(k)
            found = column.observe(self._column(belief, k).select(rows), event)
            if found is None:
                return None
            new, part = found
            if len(part) and len(rows) < len(belief.hands):
                whole = np.zeros(len(belief.hands), dtype=np.int64)
                whole[rows] = part
                part = whole
            columns.append(new)
            groups.append(part)
        return replace(self, columns=tuple(columns), groups=tuple(groups)), NO_GROUPS

    def _rows_of(self, k: int) -> IntArray:
        """The hands under which some seat may be its k-th candidate; one if there are none."""
        columns = [part[:, k] for part in self.weights if k < part.shape[1]]
        possible = np.flatnonzero(np.any([column > 0.0 for column in columns], axis=0))
        return possible if len(possible) else np.zeros(1, dtype=np.int64)

    def select(self, keep: NDArray[np.integer | np.bool_]) -> Partners:
        groups = tuple(part[keep] if len(part) else part for part in self.groups)
        return replace(self, groups=groups, weights=tuple(part[keep] for part in self.weights))

    def recover(self, before: HandRange, hand: int) -> Partners:
        """See ``Partners.recover``. The posterior of candidates is averaged with the prior.

        Either the belief had left a hand out, and the posterior stands, or the posterior is wrong.
        """
        columns = tuple(
            column.recover(self._column(before, k), hand) for k, column in enumerate(self.columns)
        )
        chance = before.weights() / before.weights().sum()
        weights = tuple(
            0.5 * (chance @ part)[None] + 0.5 * prior
            for part, prior in zip(self.weights, self.prior, strict=True)
        )
        return replace(self, columns=columns, groups=(NO_GROUPS,) * len(columns), weights=weights)

    def memories(self, belief: HandRange, pick: IntArray) -> tuple[Memory, ...]:
        """See ``Partners.memories``; those of mixtures lack ``chances``."""
        by_candidate = [
            column.memories(self._column(belief, k), pick) for k, column in enumerate(self.columns)
        ]
        memories: list[Memory] = []
        for p, policy in enumerate(belief.blueprint):
            memory = by_candidate[0][p]
            if isinstance(policy, Mixture):
                memory = {
                    "weights": self.weights[p][pick],
                    "drawn": np.full(len(pick), UNKNOWN),
                    "memories": tuple(each[p] for each in by_candidate[: len(policy.candidates)]),
                    "chances": None,
                }
            memories.append(memory)
        return tuple(memories)

    def _column(self, belief: R, k: int) -> R:
        """The range as if every seat were its k-th candidate."""
        return replace(belief, groups=self.groups[k], partners=self.columns[k])


def mixes_compiled(policy: Policy) -> bool:
    """True for a compiled bot and for a mixture of such."""
    if isinstance(policy, Mixture):
        return all(is_compiled(candidate) for candidate in policy.candidates)
    return is_compiled(policy)


def make_mixed(
    game: HanabiRules, blueprint: Blueprint, seat: int, view: View, uncertainty: float
) -> MixedPartners:
    """The partners of ``seat`` at ``view``, anybody's; every other seat ``mixes_compiled``."""
    mixtures = [
        policy if isinstance(policy, Mixture) and p != seat else Mixture([policy])
        for p, policy in enumerate(blueprint)
    ]
    most = max(len(mixture.candidates) for mixture in mixtures)
    columns = []
    for k in range(most):
        column = tuple(m.candidates[min(k, len(m.candidates) - 1)] for m in mixtures)
        starts = tuple(
            None if p == seat else memory_shown(policy, view) for p, policy in enumerate(column)
        )
        columns.append(CompiledPartners(game, column, pack_memories(starts)))
    prior = tuple(mixture.prior[None] for mixture in mixtures)
    epsilon = tuple(mixture.epsilon for mixture in mixtures)
    return MixedPartners(tuple(columns), (NO_GROUPS,) * most, prior, prior, epsilon, uncertainty)
