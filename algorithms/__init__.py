"""Searches: each a frozen configuration that is called with (rng, belief) for a SearchResult.

``Sparta`` and ``JointSparta`` are SPARTA, ``Lbs`` is Learned Belief Search, ``Mds``
mirror-descent search; ``SoIsmcts``, ``MoIsmcts`` and ``RisMcts`` grow trees, and so do
``Predictor``, over partners of unknown policy, and ``Pomcp``, under SPARTA's best moves. Names load
on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts, SoIsmcts
    from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
    from hanabi_search_plugin.algorithms.lbs import Lbs
    from hanabi_search_plugin.algorithms.mds import Mds
    from hanabi_search_plugin.algorithms.pomcp import Pomcp
    from hanabi_search_plugin.algorithms.predictor import Predictor
    from hanabi_search_plugin.algorithms.sparta import Sparta

__all__ = [
    "JointSparta",
    "Lbs",
    "Mds",
    "MoIsmcts",
    "Pomcp",
    "Predictor",
    "RisMcts",
    "SoIsmcts",
    "Sparta",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "ismcts": ("MoIsmcts", "RisMcts", "SoIsmcts"),
        "joint_sparta": ("JointSparta",),
        "lbs": ("Lbs",),
        "mds": ("Mds",),
        "pomcp": ("Pomcp",),
        "predictor": ("Predictor",),
        "sparta": ("Sparta",),
    },
)
