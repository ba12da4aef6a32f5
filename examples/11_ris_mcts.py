"""A tree search over Van den Bergh's agents, restricted to nine rules: everybody searches."""

from hanabi_search_plugin import HanabiGame, RisMcts, RuleAgent, evaluate, load_policy, upgrade
from hanabi_search_plugin.hanabi import TABLE_II

game = HanabiGame(players=4, bomb="keep")
rules = RuleAgent(TABLE_II, convention="any-giver")
agent = upgrade(load_policy("vdb", game), game, RisMcts(iterations=500, guide=rules))
report = evaluate(game, agent, games=8)
print(f"vdb {report.baseline_mean:.1f}, RIS-MCTS {report.mean:.1f}")
