"""Two partners whose policies the searching seat learns from their moves."""

import numpy as np

from hanabi_search_plugin import HanabiGame, Sparta, Streams, UnknownPartners, load_policy, upgrade

game = HanabiGame(players=3, colors=4, hand_size=3, bomb="keep")
names = ("vdb", "clivej2", "piers", "smartbot", "random")
agent = upgrade("vdb", game, Sparta(rollouts=2_500), belief=UnknownPartners(names))
table = (agent, load_policy("clivej2", game), load_policy("smartbot", game))

rng = np.random.default_rng(1)
worlds, streams = game.deal(rng, 1), Streams.spawn(rng, 1)  # a batch of one game
memories = [policy.start(worlds.view(seat)) for seat, policy in enumerate(table)]
first = memories[0][0].posterior(2)[3]  # an agent's memory is its belief
while not worlds.terminal[0]:
    seat = worlds.current_player[0]
    view = worlds.view(seat)
    event = worlds.step(table[seat].act(view, view.legal, memories[seat], streams))
    memories = [
        policy.observe(worlds.view(seat), event, memory)
        for seat, (policy, memory) in enumerate(zip(table, memories, strict=True))
    ]
last = memories[0][0].posterior(2)[3]
print(f"P(seat 2 is SmartBot): {first:.2f} at first, {last:.2f} at the end")
