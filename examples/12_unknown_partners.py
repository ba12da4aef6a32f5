"""Two partners whose policies the searching seat learns from their moves."""

import numpy as np

from hanabi_search_plugin import HanabiGame, Sparta, Streams, UnknownPartners, load_policy, upgrade
from hanabi_search_plugin.evaluation.playing import play_game

game = HanabiGame(players=3, colors=4, hand_size=3, bomb="keep")
names = ("vdb", "clivej2", "piers", "smartbot", "random")
candidates = [load_policy(name, game) for name in names]
unknown = UnknownPartners(candidates)
agent = upgrade(load_policy("vdb", game), game, Sparta(rollouts=2_500), belief=unknown)

rng = np.random.default_rng(1)
worlds = game.deal(rng, 1)
table = (agent, candidates[1], candidates[3])  # clivej2 and SmartBot
belief = unknown((candidates[0],) * 3, worlds.view(0))  # a second one, to look at
first = belief.posterior(2)[3]
for turn in play_game(worlds, table, Streams.spawn(rng, 1), (1,)):
    after = worlds.select(np.array([0]))
    event = after.step(np.array([turn.action]))
    belief = belief.update(event, after.view(0))
print(f"P(seat 2 is SmartBot): {first:.2f} at first, {belief.posterior(2)[3]:.2f} at the end")
