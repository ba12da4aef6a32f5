"""A bot of OpenSpiel's, upgraded by search, back in OpenSpiel's own arena."""

import pyspiel

from hanabi_search_plugin import Sparta, upgrade
from hanabi_search_plugin.wrappers.openspiel import as_bot, as_policy, load_game

spiel = pyspiel.load_game("hanabi(players=2,colors=2,ranks=2,hand_size=2,max_information_tokens=2)")
PLAY_OLDEST = 2  # after a discard of each card


class Hopeful(pyspiel.Bot):
    """Hints while it can, else plays its oldest card."""

    def __init__(self):
        pyspiel.Bot.__init__(self)

    def step(self, state):
        return max(state.legal_actions()[-1], PLAY_OLDEST)  # hints come last


game = load_game(spiel)  # hanabi: the native engine
agent = upgrade(as_policy(Hopeful(), game), game, Sparta(rollouts=200, min_rollouts=20))


def mean(bot, games=20):
    """Mean score with ``bot`` at the first seat; every bot gets the same deals."""
    play = pyspiel.evaluate_bots
    scores = [play(spiel.new_initial_state(), [bot, Hopeful()], k)[0] for k in range(games)]
    return sum(scores) / games


print(f"hopeful {mean(Hopeful()):.2f}, upgraded {mean(as_bot(agent, game, 0)):.2f}")
