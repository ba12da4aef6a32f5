"""What a search says where its rollouts are too few for the moves that it tries.

A warning is logged once for each pair of settings. The SearchResult says it every time.
"""

from __future__ import annotations

import logging

from hanabi_search_plugin.core.words import counted

_logger = logging.getLogger("hanabi_search_plugin")
_warned: set[tuple[int, int]] = set()


def few_rollouts_notes(rollouts: int, moves: int, min_rollouts: int) -> list[str]:
    """The note of a decision with too few rollouts for so many moves to drop any; else none.

    Logs a warning the first time for each pair of numbers that were set.
    """
    share = rollouts // moves
    if share >= min_rollouts:
        return []
    if (rollouts, min_rollouts) not in _warned:
        _warned.add((rollouts, min_rollouts))
        _warn_of_noise(rollouts, moves, min_rollouts)
    return [
        f"{rollouts} rollouts are {share} a move, below min_rollouts={min_rollouts}: no move was "
        "dropped"
    ]


def warn_of_small_budget(rollouts: int, moves: int) -> None:
    """Log, the first time for a budget, that it does not reach for a rollout of each move."""
    if (rollouts, 0) not in _warned:
        _warned.add((rollouts, 0))
        _logger.warning(
            "%s cannot give each of %d legal moves one, and then the blueprint's move is played "
            "(said once): raise rollouts",
            counted(rollouts, "rollout"),
            moves,
        )


def _warn_of_noise(rollouts: int, moves: int, min_rollouts: int) -> None:
    _logger.warning(
        "%s rollouts cannot give each of %d moves min_rollouts=%d (%s): moves are compared by "
        "noise, and such a search can score below its blueprint; raise rollouts or lower "
        "min_rollouts",
        f"{rollouts:,}",
        moves,
        min_rollouts,
        f"{moves * min_rollouts:,}",
    )
