"""Measured self-play scores of the policies of this package."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any


@functools.cache
def self_play_scores() -> dict[str, dict[str, Any]]:
    """Measured self-play of the policies of this package, some with options, by name and players.

    ``[name][str(players)]`` = {"games", "seed", "zero": [mean, standard error], "keep": [...],
    "perfect", "bombs"}: score points where a lost game is worth nothing, and where it keeps its
    points; ``python -m benchmarks.blueprints self-play`` measures them.
    """
    file = resources.files("hanabi_search_plugin.hanabi.bots") / "scores.json"
    scores = json.loads(file.read_text())
    assert isinstance(scores, dict)
    return scores
