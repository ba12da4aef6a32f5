"""LBS with one player: the tiger problem of Kaelbling, Littman and Cassandra (1998).

A tiger waits behind one of two doors. Listening costs a point and is right in 85 % of cases; the
right door earns 10 points, the tiger's loses 100. The policy opens a door once it has heard the
tiger more often at the other; a search that knows how much it knows listens again.
"""

import numpy as np

from hanabi_search_plugin import BeliefModel, Lbs, Learned, PlainGame, Policy, evaluate, upgrade
from hanabi_search_plugin.core import NOBODY, PrivateTokens

LISTEN, OPEN_LEFT, OPEN_RIGHT = range(3)
RIGHT_EAR = 0.85
LONGEST = 8  # times that one may listen


class Tiger(PlainGame, PrivateTokens):
    """A state is the tiger's door (0 left, 1 right), what was heard, and the door opened."""

    name, num_players, num_actions, max_length = "tiger", 1, 3, LONGEST + 1
    return_range, public_actions = (-100.0 - LONGEST, 10.0), True
    num_factors, token_length, vocabulary = 1, 1, 2  # the one hidden thing is the tiger's door
    visible = np.zeros((1, 1), dtype=bool)

    def initial_states(self):
        return [((door, (), None), 0.5) for door in range(2)]

    def current_player(self, state):
        return 0 if state[2] is None else NOBODY

    def legal_actions(self, state):
        return range(3) if len(state[1]) < LONGEST else (OPEN_LEFT, OPEN_RIGHT)

    def next_states(self, state, action):
        door, heard, _ = state
        if action != LISTEN:
            return [((door, heard, action - OPEN_LEFT), 1.0)]
        odds = ((door, RIGHT_EAR), (1 - door, 1 - RIGHT_EAR))
        return [((door, (*heard, side), None), chance) for side, chance in odds]

    def returns(self, state):
        door, heard, opened = state
        return [(0.0 if opened is None else -100.0 if opened == door else 10.0) - len(heard)]

    def observation(self, state, player):
        """How often it has listened, and what it heard last: -1 left, 1 right."""
        heard = state[1]
        return [len(heard), 2 * heard[-1] - 1 if heard else 0]

    # What is hidden, as a token.

    def private_tokens(self, worlds, factor):
        return np.array([[state[0]] for state in worlds.states], dtype=np.int64)

    def with_private(self, worlds, factor, tokens, rng):
        made = self.deals()[0].select(tokens[:, 0])
        made.states = tuple(
            (door, *state[1:]) for door, state in zip(tokens[:, 0], worlds.states, strict=True)
        )
        made.streams = rng.fork()
        return made, np.ones(len(worlds), dtype=bool)

    def token_weights(self, view, before):
        if before.shape[1]:
            return np.zeros((len(view), 2))
        last = view.observation("observation")[:, 1]
        right = np.where(last == 0, 0.5, np.where(last > 0, RIGHT_EAR, 1 - RIGHT_EAR))
        return np.stack([1 - right, right], axis=1)

    def worlds_of(self, view, tokens, rng):
        times, last = view.observation("observation")[0]
        heard = (0,) * (times - 1) + ((last + 1) // 2,) if times else ()
        made = self.deals()[0].select(tokens[:, 0])
        made.states = tuple((int(door), heard, None) for door in tokens[:, 0])
        made.streams = rng.fork()
        return made


class Ears(BeliefModel):
    """What all that was heard says; its state is how often it was right rather than left."""

    def __init__(self, game):
        self.game = game

    def start(self, view):
        return np.zeros(len(view))

    def observe(self, view, event, state):
        return state + np.where(event.action == LISTEN, view.observation("observation")[:, 1], 0)

    def sample(self, view, state, rng, n):
        return (rng.random((n, 1)) >= self.chances(state)[0, 0]).astype(np.int64)

    def log_likelihood(self, view, state, tokens):
        return np.log(np.take_along_axis(self.chances(state), tokens, axis=1))

    @staticmethod
    def chances(state):
        right = 1 / (1 + (1 / RIGHT_EAR - 1) ** state)
        return np.stack([1 - right, right], axis=1)


class Hasty(Policy):
    """Listens until one side is ahead; its memory is by how much, right over left."""

    public_memory = True

    def start(self, view):
        return np.zeros(len(view))

    def observe(self, view, event, memory):
        seen = view.observation("observation").reshape(-1, 2)  # also of no views
        return memory + np.where(event.action == LISTEN, seen[:, 1], 0)

    def act(self, view, legal, memory, rng):
        wait = (memory == 0) & legal[:, LISTEN]
        return np.where(wait, LISTEN, np.where(memory > 0, OPEN_LEFT, OPEN_RIGHT))


if __name__ == "__main__":
    game = Tiger()
    search = Lbs(depth=None, rollouts=1_000, threshold=0.0)
    agent = upgrade(Hasty(), game, search, belief=Learned(Ears(game)))
    result = evaluate(game, agent, games=200, seed=7)
    print(f"hasty {result.blueprint_mean:.2f}, upgraded {result.mean:.2f}")
