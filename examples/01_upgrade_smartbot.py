"""SmartBot plays 2-player Hanabi with a partner whose moves a search improves."""

from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, evaluate, upgrade

game = HanabiGame(players=2)
agent = upgrade(SmartBot(), game, search=Sparta(rollouts=10_000))
result = evaluate(game, (SmartBot(), agent), games=4, seed=7)
print(f"SmartBot alone {result.baseline_mean:.2f}, upgraded {result.mean:.2f}")
