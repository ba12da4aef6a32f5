"""How many worlds the rounds of a decision have: ``round_size`` at first, later ever more.

Between two rounds a search looks at which moves are behind. A look costs the same after 10,000
worlds as after 100, and tells less, so it comes after a quarter as many worlds again.
"""

from __future__ import annotations

ROUND_SIZE = (
    "Worlds between two looks at which moves are behind; a quarter of those before, if more."
)


def next_round(round_size: int, done: int) -> int:
    """Worlds of the round after so many worlds ``done``."""
    return max(round_size, done // 4)
