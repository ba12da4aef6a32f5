"""SmartBot plays 2-player Hanabi with a partner whose moves a search improves."""

from hanabi_search_plugin import HanabiGame, Sparta, evaluate, upgrade

game = HanabiGame(players=2)
agent = upgrade("smartbot", game, Sparta(rollouts=10_000))
result = evaluate(game, ("smartbot", agent), games=4, seed=7)
print(f"SmartBot alone {result.blueprint_mean:.2f}, upgraded {result.mean:.2f}")
