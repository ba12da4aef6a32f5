"""The same search on any sequential game of OpenSpiel; here, uniform play of tiny_hanabi."""

from hanabi_search_plugin import Sparta, UniformPolicy, evaluate, upgrade
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

game = OpenSpielGame("tiny_hanabi")
blueprint = UniformPolicy()
agent = upgrade(blueprint, game, Sparta(rollouts=300, threshold=0.0))
result = evaluate(game, (blueprint, agent), games=200, seed=7)
print(f"blueprint {result.blueprint_mean:.2f}, upgraded {result.mean:.2f}")
print(f"gain {result.gain:+.2f} +- {result.gain_sem:.2f} points, of {game.return_range[1]:g}")
