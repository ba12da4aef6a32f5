"""How much does a bigger budget help? Both budgets play the same decks, so few games tell.

python examples/02_evaluate.py [games]
"""

import sys

from hanabi_search_plugin import HanabiGame, Sparta, evaluate, upgrade

games = int(sys.argv[1]) if len(sys.argv) > 1 else 4
game = HanabiGame(players=2)
small = upgrade("smartbot", game, Sparta(rollouts=2_000))
large = upgrade("smartbot", game, Sparta(rollouts=10_000))


def tell(finished):
    """Called for every game as it finishes, with all its decisions; the baseline's come first."""
    if finished.side == "policies":
        left = [f"turn {turn}" for turn, _, d in finished.decisions if d.reason == "improved"]
        print(f"game {finished.game}: {finished.score:g}, left the blueprint at {', '.join(left)}")


result = evaluate(
    game,
    ("smartbot", large),
    baseline=("smartbot", small),
    games=games,
    seed=7,
    threads=2,
    on_game=tell,
)
print(f"2,000 rollouts a decision:  {result.blueprint_mean:.2f}")
print(f"10,000 rollouts a decision: {result.mean:.2f}")
print(f"gain: {result.gain:+.2f} +- {result.gain_sem or 0:.2f}")
print(f"CPU seconds a game: {result.to_dict()['cpu_seconds_per_game']:.2f}")
