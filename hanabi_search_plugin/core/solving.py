"""Exact values of a decision; and, advanced, games that find them in compiled code.

Only a game with a compiled solver implements ``SolvesEndgames``. Letters: N worlds, M moves.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from hanabi_search_plugin.core.capabilities import Branches
from hanabi_search_plugin.core.game import FloatArray, View, Worlds
from hanabi_search_plugin.core.objective import Objective
from hanabi_search_plugin.core.policy import Blueprint, Memory


@dataclass(frozen=True)
class Solution:
    """What was found out about a decision."""

    #: [M] exact return of each legal move, nan for one that cannot be better than the best of the
    #: others; None: over the budget
    values: FloatArray | None
    states: int  #: worlds that moves were played into


class SolvesEndgames(Branches):
    """A game with a compiled solver of endgames, for the policies that its compiled code knows.

    ``algorithms.endgame`` calls it first. The values are the same, to rounding; it counts fewer
    states, since it leaves out moves that cannot be the best.
    """

    @abstractmethod
    def likely_states(self, view: View, worlds: int) -> float:
        """Roughly the states of a decision at ``view`` (a batch of one) with so many worlds.

        If nobody prolongs the game, and nothing is left out.
        """

    @abstractmethod
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
        """As ``algorithms.endgame.solve``; None if a policy is not compiled."""
