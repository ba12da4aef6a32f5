"""What a search returns. M = number of legal moves considered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hanabi_search_plugin.core.game import FloatArray, IntArray

Reason = Literal[
    "improved",  # the search's move beats the blueprint's by more than the threshold
    "tree_choice",  # a tree's final choice (most visits, or highest mean), not the blueprint's move
    "blueprint_best",  # the blueprint's move has the highest estimate, or is a tree's choice
    "below_threshold",  # another move looks better, but not by more than the threshold
    "single_move",  # nothing to choose
    "budget_too_small",  # not enough rollouts to compare moves: the blueprint's move
    "belief_too_small",  # not enough valid worlds: the blueprint's move
    "search_not_allowed",  # the protocol forbids a search here: the blueprint's move
]


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """One decision. Means are score points of the searching seat."""

    action: int  # the move to play
    blueprint_action: int
    reason: Reason
    actions: IntArray  # [M] legal moves
    mean: FloatArray  # [M] estimated return, nan where never tried
    stderr: FloatArray  # [M] standard error of mean
    count: IntArray  # [M] rollouts spent
    gain: float  # estimate of action minus blueprint's, on the same worlds
    gain_stderr: float  # its (paired) standard error
    rollouts: int  # sum of count
    belief_size: int  # worlds in the belief's support, or an upper bound
    likelihoods: int | None  # policy evaluations of the belief since the game began; None: unknown
    depth: int | None = None  # of a tree: moves from its root to its deepest node
    note: str = ""  # anything unusual, a belief that had to recover, say

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("actions", "mean", "stderr", "count"):
            values = out[name].tolist()
            out[name] = [None if value != value else value for value in values]
        for name in ("gain", "gain_stderr"):
            out[name] = None if out[name] != out[name] else out[name]
        return out
