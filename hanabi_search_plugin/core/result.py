"""The result of one search decision. M = legal moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hanabi_search_plugin.core.game import FloatArray, IntArray

Reason = Literal[
    "improved",  # the search's move beats the blueprint's by more than the threshold
    "tree_choice",  # the tree's choice (most visits, or highest mean) is not the blueprint's move
    "blueprint_best",  # the blueprint's move has the highest estimate, or is the tree's choice
    "below_threshold",  # another move looks better, but not by more than the threshold
    "single_move",  # there was nothing to choose
    "budget_too_small",  # too few rollouts to compare moves: the blueprint's move is played
    "belief_too_small",  # the belief found too few worlds: the blueprint's move is played
    "search_not_allowed",  # the protocol forbids a search here: the blueprint's move is played
]


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """One decision of a search. Means and gains are returns of the searching seat, score points."""

    action: int  # the move to play
    blueprint_action: int
    reason: Reason
    actions: IntArray  # [M] the legal moves
    mean: FloatArray  # [M] estimated return of each, nan where never tried
    stderr: FloatArray  # [M] standard error of mean
    count: IntArray  # [M] rollouts spent
    gain: float  # estimated return of ``action`` minus that of ``blueprint_action``
    gain_stderr: float  # standard error of ``gain``, paired where both met the same worlds
    rollouts: int  # spent at this decision; the iterations of a tree
    belief_size: int  # worlds in the belief's support, or an upper bound
    likelihoods: int | None  # policy evaluations of the belief since the game began; None: unknown
    depth: int | None = None  # moves from the root of a tree to its deepest node; None: no tree
    note: str = ""  # anything unusual: a belief that had to recover, say

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON types, with None in place of nan."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("actions", "mean", "stderr", "count"):
            values = out[name].tolist()
            out[name] = [None if value != value else value for value in values]
        for name in ("gain", "gain_stderr"):
            out[name] = None if out[name] != out[name] else out[name]
        return out
