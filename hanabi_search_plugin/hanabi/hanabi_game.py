"""The game of Hanabi with beliefs, rollouts, endgames and trees of its own: what users make.

Beliefs, endgames, trees and tables are imported when they are asked for, which makes the start of
a program that needs none of them faster.

Letters: B worlds, A actions, M actions tried, P players.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.capabilities import CompilesRollouts, HasBeliefs
from hanabi_search_plugin.core.game import FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.core.objective import Objective
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.solving import Solution, SolvesEndgames
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.tree import GrownTree, GrowsTrees, TreeSettings
from hanabi_search_plugin.hanabi.bots.compiled import table_of
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, DECK_SIZE
from hanabi_search_plugin.hanabi.engine.text import describe
from hanabi_search_plugin.hanabi.search import compiled_rollouts

if TYPE_CHECKING:
    from hanabi_search_plugin.hanabi.search.seat_tables import Tables


class HanabiGame(HanabiRules, HasBeliefs, CompilesRollouts, SolvesEndgames, GrowsTrees):
    """One configuration of Hanabi; equal where the configurations are.

    ``HanabiGame(config)``, or ``HanabiGame(players=3, ...)`` with the parameters of HanabiConfig.
    Raises ConfigError.
    """

    def describe(self, view: View) -> str:
        """The table in lines, hidden cards as ??.

        Below each card stands what hints have left possible: colours/ranks, * for all. A ``Judge``
        reads this text.
        """
        return describe(self.config, self._seen(view)[0], view.player)

    def require_beliefs(self) -> None:
        from hanabi_search_plugin.hanabi.beliefs.hand_range import require_hidden_hand

        require_hidden_hand(self)

    def private_belief(
        self, blueprint: Blueprint, view: View, *, epsilon: float = 0.0, uncertainty: float = 0.0
    ) -> Belief:
        """An exact belief over the seat's own hand; see ``hanabi.beliefs.hand_belief``."""
        from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief

        return HandBelief.start(self, blueprint, view, epsilon=epsilon, uncertainty=uncertainty)

    def public_belief(
        self, blueprint: Blueprint, view: View, *, epsilon: float = 0.0
    ) -> PublicBelief:
        """Exact; see ``hanabi.beliefs``: ``public_hands`` for 2 players, else ``joint_hands``."""
        from hanabi_search_plugin.hanabi.beliefs.joint_hands import JointHands
        from hanabi_search_plugin.hanabi.beliefs.public_hands import HandRanges

        kind = HandRanges if self.num_players == 2 else JointHands
        return kind.start(self, blueprint, view, epsilon=epsilon)

    def compiled_action_values(
        self,
        worlds: Worlds,
        actions: IntArray,
        blueprint: Blueprint,
        memories: tuple[Memory, ...],
        seat: int,
        rng: Streams,
        *,
        threads: int = 1,
    ) -> FloatArray | None:
        """[M, B] by one compiled loop; None unless every policy is compiled."""
        table = table_of(blueprint, memories, self)
        if table is None or not isinstance(worlds, HanabiWorlds):
            return None
        return compiled_rollouts.action_values(worlds, actions, *table, rng, threads=threads)

    def compiled_play_out(
        self, worlds: Worlds, blueprint: Blueprint, memories: tuple[Memory, ...], rng: Streams
    ) -> FloatArray | None:
        """[B, P] by one compiled loop; None unless every policy is compiled."""
        table = table_of(blueprint, memories, self)
        if table is None or not isinstance(worlds, HanabiWorlds):
            return None
        return compiled_rollouts.play_out(worlds, *table, rng).returns

    def likely_states(self, view: View, worlds: int) -> float:
        """By the moves that are left to the seat where nobody hints: each draws a card."""
        row = self._seen(view)[0]
        left = int(row[DECK_SIZE] - row[DECK_NEXT])
        own = 1 + (left + self.num_players - 1) // self.num_players if left else 1
        return float(worlds) * float(view.legal[0].sum()) ** own

    def compiled_solution(
        self,
        worlds: Worlds,
        weights: FloatArray,
        memories: tuple[Memory, ...],
        blueprint: Blueprint,
        seat: int,
        budget: int,
        *,
        base: int,
        every: bool,
        objective: Objective = "score",
    ) -> Solution | None:
        """By one compiled loop; None unless every other seat's policy is compiled."""
        if not isinstance(worlds, HanabiWorlds):
            return None
        from hanabi_search_plugin.hanabi.search import compiled_endgame

        return compiled_endgame.solve(
            worlds, weights, memories, blueprint, seat, budget, base=base, every=every,
            objective=objective,
        )  # fmt: skip

    def start_tree(
        self, seat: int, blueprint: Blueprint, settings: TreeSettings
    ) -> GrownTree | None:
        """Where every policy is compiled and the guide is a RuleAgent; else None."""
        from hanabi_search_plugin.hanabi.search.compiled_tree import start_tree

        return start_tree(self, seat, blueprint, settings)

    def tables(self, seat: int, partners: Mapping[int, Policy], size: int) -> Tables:
        """``size`` games side by side, ``seat`` played from outside."""
        from hanabi_search_plugin.hanabi.search.compiled_tables import make_tables

        return make_tables(self, seat, partners, size)
