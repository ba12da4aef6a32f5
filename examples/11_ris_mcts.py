"""RIS-MCTS at every seat: tree searches over Van den Bergh's agent, restricted to nine rules."""

from hanabi_search_plugin import HanabiGame, RisMcts, RuleAgent, evaluate, upgrade
from hanabi_search_plugin.hanabi import TABLE_II

game = HanabiGame(players=4, bomb="keep")
rules = RuleAgent(TABLE_II, convention="any-giver")
agent = upgrade("vdb", game, RisMcts(iterations=500, guide=rules))
result = evaluate(game, agent, games=8)
print(f"vdb {result.blueprint_mean:.1f}, RIS-MCTS {result.mean:.1f}")
