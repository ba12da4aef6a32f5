"""A game of your own in thirty lines: checked, a policy for it, and what a search adds.

A number from 0 to 8 is drawn. Player 0 sees it and says one of three words; player 1 knows whether
it is odd, hears the word and guesses: 1 point for both if that is right.
"""

from hanabi_search_plugin import PlainGame, Policy, Sparta, evaluate, upgrade
from hanabi_search_plugin.core import NOBODY
from hanabi_search_plugin.testing import check_game


class Guess(PlainGame):
    """A state is the number, the word said and the guess; None for what is still to come."""

    name, num_players, num_actions, return_range, max_length = "guess", 2, 9, (0.0, 1.0), 2
    public_actions = True

    def initial_states(self):
        return [((number, None, None), 1 / 9) for number in range(9)]

    def current_player(self, state):
        return (0, 1, NOBODY)[2 - state.count(None)]

    def legal_actions(self, state):
        return range(3) if self.current_player(state) == 0 else range(9)

    def next_states(self, state, action):
        number, word, _ = state
        return [((number, action, None) if word is None else (number, word, action), 1.0)]

    def returns(self, state):
        number, _, guess = state
        return [float(number == guess)] * 2

    def observation(self, state, player):
        number, word, _ = state
        return [number if player == 0 else number % 2, -1 if word is None else word]


class Thirds(Policy):
    """Says the third that the number is in, guesses the middle of the third, odd or not."""

    def act(self, view, legal, memory, rng):
        seen, word = view.observation("observation").T
        return seen // 3 if view.player == 0 else 3 * word + 1


game = Guess()
check_game(game)
agent = upgrade(Thirds(), game, Sparta(rollouts=1_000, threshold=0.0))
result = evaluate(game, (Thirds(), agent), games=200, seed=7)
print(f"thirds {result.blueprint_mean:.2f}, upgraded {result.mean:.2f}")
