"""What policies remember where a game is met in its middle: nothing but what the table shows.

Letters: B worlds, P players, H cards of a hand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.core.game import View
from hanabi_search_plugin.core.policy import Memory, Policy, started
from hanabi_search_plugin.hanabi.bots.compiled import MaskBot
from hanabi_search_plugin.hanabi.bots.memories import with_moves
from hanabi_search_plugin.hanabi.bots.smartbot import ABSENT
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.layout import HANDS, LEFT0, MOVES, NO_CARD


def memory_shown(policy: Policy, view: View) -> Memory:
    """[B] the memory of ``policy`` that meets a game at ``view``; before the first move ``start``.

    Bots that remember which identities each card may have (``MaskBot``) take them from the hints
    that are shown, which are the same for every seat. Any other policy starts as in a new game.
    """
    if isinstance(policy, MaskBot) and isinstance(view, HanabiView):
        return shown_masks(view)
    memory = started(policy, view)
    if isinstance(policy, Mixture):
        memories = tuple(memory_shown(candidate, view) for candidate in policy.candidates)
        return policy.with_chances(view, memory | {"memories": memories})
    return memory


def shown_identities(view: HanabiView) -> NDArray[np.int64]:
    """[B, P, H] the identities that hints leave each card, a bit each; 0 where there is no card."""
    config, rows = view.game.config, view.rows
    p, h, c, r = config.players, config.hand_size, config.colors, config.ranks
    cards = rows[:, HANDS : HANDS + p * h].reshape(len(rows), p, h)
    words = rows[:, HANDS + p * h : HANDS + 2 * p * h].reshape(len(rows), p, h).astype(np.int64)
    ranks = words >> 5 & (1 << r) - 1
    masks = np.zeros_like(words)
    for color in range(c):
        masks |= np.where(words >> color & 1, ranks << r * color, 0)
    return np.where(cards == NO_CARD, 0, masks)


def shown_masks(view: HanabiView) -> NDArray[np.int32]:
    """int32 [B, P * H + 1] the memory of a ``MaskBot`` that has seen these hints and nothing else.

    Identities of which no copy is left are out, where a card may be another one.
    """
    masks = shown_identities(view)
    left = masks & ~view.rows[:, LEFT0].astype(np.int64)[:, None, None]
    masks = np.where(left != 0, left, masks)
    words = np.where(masks == 0, ABSENT, masks).reshape(len(masks), -1).astype(np.int32)
    return with_moves(words, view.rows[:, MOVES])
