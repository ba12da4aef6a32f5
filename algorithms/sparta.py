"""Single-agent SPARTA (Lerer, Hu, Foerster and Brown, 2020; Algorithm 1): one-ply search.

For every legal move, play it in worlds drawn from the exact belief and let everybody follow the
blueprint to the end; play the move with the best mean return.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanabi_search_plugin.algorithms.one_ply import OnePly


@dataclass(frozen=True, kw_only=True)
class Sparta(OnePly):
    """Single-agent SPARTA: ``Sparta(rollouts=10_000)(rng, belief)`` is one decision.

    The parameters are those of ``OnePly``.
    """
