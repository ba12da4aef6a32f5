"""A package beside hanabi-search-plugin: a game, a policy and a search of its own."""

from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin import Policy, Sparta
from hanabi_search_plugin.core.game import NOBODY
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.core.settings import setting


class WhichNumber(PlainGame):
    """Player 0 sees a number and says one, player 1 guesses it"""

    name, num_players, return_range, max_length = "which-number", 2, (0.0, 1.0), 2
    public_actions = True

    def __init__(self, numbers: int = 3):
        self.num_actions = numbers

    def initial_states(self):
        return [((n, None, None), 1 / self.num_actions) for n in range(self.num_actions)]

    def current_player(self, state):
        return (NOBODY, 1, 0)[state.count(None)]

    def legal_actions(self, state):
        return range(self.num_actions)

    def next_states(self, state, action):
        number, said, _ = state
        return [((number, action, None) if said is None else (number, said, action), 1.0)]

    def returns(self, state):
        return [float(state[0] == state[2])] * 2

    def observation(self, state, player):
        number, said, _ = state
        return [number if player == 0 else -1, -1 if said is None else said]


class Lowest(Policy):
    """The lowest legal move, or the highest, in any game"""

    def __init__(self, game, highest: bool = False):
        self.highest = highest

    def act(self, view, legal, memory, rng):
        last = legal.shape[1] - 1
        return last - legal[:, ::-1].argmax(axis=1) if self.highest else legal.argmax(axis=1)


@dataclass(frozen=True)
class FirstBest:
    """SPARTA that takes any gain"""

    rollouts: int = setting(50, "Budget of a decision.")

    def __call__(self, rng: np.random.Generator, belief):
        return Sparta(rollouts=self.rollouts, threshold=0.0, pruning="off")(rng, belief)
