"""SmartBot plays 2-player Hanabi with a partner whose moves a search improves."""

from hanabi_search_plugin.agent import upgrade
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.blueprints.compiled import SmartBot
from hanabi_search_plugin.evaluation import evaluate
from hanabi_search_plugin.hanabi.game import HanabiGame

game = HanabiGame(players=2)
agent = upgrade(SmartBot(), game, search=Sparta(rollouts=10_000))
result = evaluate(game, (SmartBot(), agent), games=4, seed=7)
print(f"SmartBot alone {result.baseline_scores.mean():.2f}, upgraded {result.scores.mean():.2f}")
