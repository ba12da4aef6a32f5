"""A policy of your own in ten lines, upgraded: it hints while it can and plays its oldest card."""

import numpy as np

from hanabi_search_plugin import HanabiGame, Policy, Sparta, evaluate, upgrade

game = HanabiGame(players=2, colors=2, ranks=3, hand_size=3, bomb="keep")
PLAY_OLDEST = game.config.hand_size  # discards come first, then plays, then hints
HINTS = 2 * game.config.hand_size


class Hopeful(Policy):
    """Needs no memory: all it looks at is which moves are legal, bool [B, A].

    What a policy remembers is what its ``start`` and ``observe`` return, never on ``self``:
    ``help(Policy)`` shows one.
    """

    def act(self, view, legal, memory, rng):
        can_hint = legal[:, HINTS:].any(axis=1)
        hint = HINTS + legal[:, HINTS:].argmax(axis=1)
        return np.where(can_hint, hint, PLAY_OLDEST)


agent = upgrade(Hopeful(), game, Sparta(rollouts=300, min_rollouts=20))
result = evaluate(game, (Hopeful(), agent), games=20, seed=7)
print(f"hopeful {result.blueprint_mean:.2f}, upgraded {result.mean:.2f}")
