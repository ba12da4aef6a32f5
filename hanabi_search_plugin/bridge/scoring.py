"""Duplicate scoring of a contract, and IMPs (Laws of Duplicate Bridge 2017, 77 and 78)."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.bridge.auction import Contract
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray

NO_TRUMP = 4
LIMITS = np.array(
    [15, 45, 85, 125, 165, 215, 265, 315, 365, 425, 495, 595, 745, 895, 1095, 1295, 1495, 1745,
     1995, 2245, 2495, 2995, 3495, 3995]
)  # fmt: skip
HIGHEST = 7600  # thirteen tricks down, redoubled and vulnerable
MOST_IMPS = len(LIMITS)


def declarer_score(contract: Contract, vulnerable: BoolArray, tricks: IntArray) -> IntArray:
    """[B] points of the declarer's side for tricks [B] won; 0 where all passed.

    ``vulnerable`` [B] is whether that side is.
    """
    level, strain, doubling = contract.level, contract.strain, contract.doubling
    over = tricks - level - 6
    times = 1 << doubling  # 1, 2, 4
    major = strain >= 2
    each = np.where(major, 30, 20)
    odd = (level * each + np.where(strain == NO_TRUMP, 10, 0)) * times
    game = np.where(odd >= 100, np.where(vulnerable, 500, 300), 50)
    slam = np.where(level == 6, np.where(vulnerable, 750, 500), 0)
    slam = np.where(level == 7, np.where(vulnerable, 1500, 1000), slam)
    extra = np.where(doubling == 0, each, np.where(vulnerable, 200, 100) * doubling)
    made = odd + game + slam + 50 * doubling + over * extra
    down = np.maximum(-over, 0)
    plain = down * np.where(vulnerable, 100, 50)
    steep = np.where(
        vulnerable, 300 * down - 100, np.where(down <= 3, 200 * down - 100, 300 * down - 400)
    )
    lost = np.where(doubling == 0, plain, steep * doubling)
    return np.where(level == 0, 0, np.where(over >= 0, made, -lost))


def imps(difference: FloatArray) -> FloatArray:
    """International match points of differences in points, with their sign."""
    found = np.searchsorted(LIMITS, np.abs(difference), side="right")
    return np.asarray(np.sign(difference) * found, dtype=np.float64)
