"""How much does a bigger budget help? Both budgets play the same decks, so few games tell.

python examples/02_evaluate.py [games]
"""

import sys

from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, evaluate, upgrade
from hanabi_search_plugin.evaluation.match import GameResult

games = int(sys.argv[1]) if len(sys.argv) > 1 else 4
game = HanabiGame(players=2)
bot = SmartBot()
small = upgrade(bot, game, search=Sparta(rollouts=2_000))
large = upgrade(bot, game, search=Sparta(rollouts=10_000))


def tell(finished: GameResult) -> None:
    """Called for every game as it finishes, with all its decisions."""
    if finished.side == "policies":
        left = [f"turn {turn}" for turn, _, d in finished.decisions if d.reason == "improved"]
        print(f"game {finished.game}: {finished.score:g}, left the blueprint at {', '.join(left)}")


result = evaluate(
    game, (bot, large), baseline=(bot, small), games=games, seed=7, threads=2, on_game=tell
)
print(f"2,000 rollouts a decision:  {result.baseline_mean:.2f}")
print(f"10,000 rollouts a decision: {result.mean:.2f}")
print(f"gain: {result.gain:+.2f} +- {result.gain_sem or 0:.2f}")
print(f"CPU seconds a game: {result.to_dict()['cpu_seconds_per_game']:.2f}")
