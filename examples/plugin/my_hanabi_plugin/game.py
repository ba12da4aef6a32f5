"""A game in six methods about one state at a time."""

from itertools import product

from hanabi_search_plugin import PlainGame
from hanabi_search_plugin.core.game import NOBODY

TURNS = 4  # player 0 says a word, player 1 says one, then each guesses


class TwoNumbers(PlainGame):
    """Each player sees the other's number alone, says a word, and guesses its own"""

    name, num_players, max_length = "two-numbers", 2, TURNS
    return_range = (0.0, 2.0)
    public_actions = True  # everybody hears words and guesses

    def __init__(self, numbers: int = 4, words: int = 2):
        self.numbers, self.words = numbers, words
        self.num_actions = max(numbers, words)

    def initial_states(self):
        """Every deal and its probability. A state is (numbers, actions so far)."""
        deals = list(product(range(self.numbers), repeat=2))
        return [((deal, ()), 1 / len(deals)) for deal in deals]

    def current_player(self, state):
        turn = len(state[1])
        return NOBODY if turn == TURNS else turn % 2

    def legal_actions(self, state):
        return range(self.words if len(state[1]) < 2 else self.numbers)

    def next_states(self, state, action):
        """What may follow, and its probability: here no chance does."""
        numbers, actions = state
        return [((numbers, (*actions, action)), 1.0)]

    def returns(self, state):
        """A point for each right guess, to both."""
        numbers, actions = state
        right = sum(a == b for a, b in zip(numbers, actions[2:], strict=False))
        return [float(right)] * 2

    def observation(self, state, player):
        """The other's number, then two words and two guesses; -1 for what is still to come."""
        numbers, actions = state
        return [numbers[1 - player], *actions, *[-1] * (TURNS - len(actions))]
