"""A stochastic policy: a batch of worlds at a time, with its probabilities."""

import numpy as np

from hanabi_search_plugin import ConfigError, Policy
from hanabi_search_plugin.core.policy import sample_actions
from my_hanabi_plugin.game import TwoNumbers


class Mumbler(Policy):
    """Says as much of the other's number as words can, with slips, and guesses what it hears"""

    deterministic = False

    def __init__(self, game, slip: float = 0.4):
        """Plugins' policies get the game first; ``slip`` is an option: mumbler:slip=0.1."""
        if not isinstance(game, TwoNumbers):
            raise ConfigError(f"mumbler plays two-numbers, got {game!r}")
        self.slip = slip

    def probabilities(self, view, legal, memory):
        """[B, A] of B worlds and A actions; 0 for what is not legal."""
        seen = view.observation("observation")  # [B, 5]
        rows = np.arange(len(view))
        speaking = seen[:, 1 + view.player] == -1
        said = np.minimum(seen[:, 0], legal.sum(axis=1) - 1)
        heard = np.maximum(seen[:, 2 - view.player], 0)
        chance = legal * (np.where(speaking, self.slip, 0.0) / legal.sum(axis=1))[:, None]
        chance[rows, np.where(speaking, said, heard)] += np.where(speaking, 1 - self.slip, 1.0)
        return chance

    def act(self, view, legal, memory, rng):
        return sample_actions(self.probabilities(view, legal, memory), rng)
