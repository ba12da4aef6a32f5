"""A random player and SmartBot, each move judged by the text that a language model would read."""

import numpy as np

from hanabi_search_plugin import HanabiGame
from hanabi_search_plugin.judge import Judge, observation_text, play_games

game = HanabiGame(players=2)
judge = Judge("smartbot", rollouts=100)
means = {}
for player in ("random", "smartbot"):
    texts, moves = [], []
    for record in play_games(game, (player, "smartbot"), games=5, seed=1):
        worlds = game.from_decks([record.deck])
        for turn, action in enumerate(record.actions):
            if turn % 2 == 0:  # the judged player's
                texts.append(observation_text(game.config, worlds.rows[0], seat=0))
                moves.append(game.action_to_string(0, action))
            worlds.step(np.array([action]))
    verdicts = judge.many(texts)  # on all cores
    means[player] = np.mean([v.reward(move) for v, move in zip(verdicts, moves, strict=True)])
    print(f"{player}: {len(moves)} moves, the last: {moves[-1]}, of {verdicts[-1]!r}")
print(f"reward of random {means['random']:.3f}, SmartBot {means['smartbot']:.3f}")
