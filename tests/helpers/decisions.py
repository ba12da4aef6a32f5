"""A decision to show and to compare."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.result import SearchResult

RESULT = SearchResult(
    action=5,
    blueprint_action=2,
    reason="improved",
    actions=np.array([2, 5, 7]),
    mean=np.array([3.5, 4.25, np.nan]),
    stderr=np.array([0.125, 0.0625, np.nan]),
    count=np.array([100, 1200, 0]),
    gain=0.75,
    gain_stderr=0.1,
    rollouts=1300,
    belief_size=40,
    likelihoods=None,
)
