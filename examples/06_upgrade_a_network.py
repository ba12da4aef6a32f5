"""A network as the blueprint: any function of observations and legal moves, upgraded by search.

This one is a linear layer that was never trained. A ``torch.nn.Module`` goes in the same way; a
recurrent one brings its ``initial_state``.
"""

import numpy as np

from hanabi_search_plugin import HanabiGame, Sparta, evaluate, from_callable, upgrade
from hanabi_search_plugin.hanabi import observation_size

game = HanabiGame(players=2, colors=2, ranks=3, hand_size=3, bomb="keep")
inputs = observation_size(game.config)
weights = np.random.default_rng(0).normal(size=(inputs, game.num_actions)) / np.sqrt(inputs)


def network(obs, mask):
    """Logits [B, A] from observations uint8 [B, N] and legal moves bool [B, A]."""
    return obs @ weights


policy = from_callable(network, returns="logits", encoding="openspiel")
agent = upgrade(policy, game, Sparta(rollouts=300, min_rollouts=20))
result = evaluate(game, (policy, agent), games=10, seed=7)
print(f"network {result.blueprint_mean:.2f}, upgraded {result.mean:.2f}")
