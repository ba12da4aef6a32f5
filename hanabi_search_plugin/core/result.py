"""The result of one search decision. M = legal moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.reprs import search_repr

Reason = Literal[
    "improved",  # the search's move beats the blueprint's by more than the threshold
    "tree_choice",  # the tree's choice (most visits, or highest mean) is not the blueprint's move
    "policy_step",  # the improved policy drew another move than the blueprint's
    "blueprint_best",  # the blueprint's move has the highest estimate, or was chosen or drawn
    "below_threshold",  # another move looks better, but not by more than the threshold
    "single_move",  # there was nothing to choose
    "budget_too_small",  # too few rollouts to compare moves: the blueprint's move is played
    "belief_too_small",  # the belief found too few worlds: the blueprint's move is played
    "search_not_allowed",  # the protocol forbids a search here: the blueprint's move is played
]


REASONS: tuple[str, ...] = get_args(Reason)


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
    policy: FloatArray | None = None  # [M] what ``action`` was drawn from; None: it was not drawn
    note: str = ""  # anything unusual: a belief that had to recover, say

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON types, with None in place of nan."""
        out = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("actions", "mean", "stderr", "count"):
            values = out[name].tolist()
            out[name] = [None if value != value else value for value in values]
        out["policy"] = None if self.policy is None else self.policy.tolist()
        for name in ("gain", "gain_stderr"):
            out[name] = None if out[name] != out[name] else out[name]
        return out


def require_result(search: object, given: object, legal: BoolArray) -> SearchResult:
    """``given`` as a result of ``search`` where ``legal`` [A] actions are True.

    Raises ContractError for what is no SearchResult, for moves that are not legal, and for figures
    that are not one a legal move.
    """
    name = search_repr(search)
    if not isinstance(given, SearchResult):
        raise ContractError(
            f"{name} must return a SearchResult, got {type(given).__name__}: "
            "SearchResult(action=..., blueprint_action=..., reason=..., ...) of "
            "hanabi_search_plugin.core says what it found"
        )
    allowed = np.flatnonzero(legal)
    for field in ("action", "blueprint_action"):
        action = getattr(given, field)
        if isinstance(action, bool) or not isinstance(action, int | np.integer):
            raise ContractError(
                f"{name} must return an integer as {field}, got {type(action).__name__}"
            )
        if action not in allowed:
            raise ContractError(
                f"{name} must return one of the legal actions {allowed.tolist()} as {field}, got "
                f"{action}"
            )
    if np.shape(given.actions) != allowed.shape or (np.asarray(given.actions) != allowed).any():
        raise ContractError(
            f"{name} must return the legal actions {allowed.tolist()} as actions, got "
            f"{np.asarray(given.actions).tolist()}"
        )
    for field in ("mean", "stderr", "count"):
        if (shape := np.shape(getattr(given, field))) != allowed.shape:
            raise ContractError(
                f"{name} must return one {field} for each of {len(allowed)} legal actions, got the "
                f"shape {shape}"
            )
    if given.reason not in REASONS:
        raise ContractError(
            f"{name} must return one of {', '.join(REASONS)} as reason, got {given.reason!r}"
        )
    return given
