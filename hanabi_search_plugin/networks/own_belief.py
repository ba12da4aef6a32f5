"""What a network with a public belief takes a seat's own cards to be, as a belief model.

Such a network (``PublicBeliefNet``) remembers of every card how likely its partners' moves made
each identity. With the copies that a seat does not see that is a belief over its hand; nothing more
has to be learned. Letters: B views, H slots of the hand, V identities.
"""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import (
    BeliefModel,
    draw_by_weights,
    log_by_weights,
    require_tokens,
)
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Event, FloatArray, Game, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.encodings import card_beliefs, status
from hanabi_search_plugin.networks.encodings.belief_parts import UNITS
from hanabi_search_plugin.networks.nets.public_belief_net import PublicBeliefNet
from hanabi_search_plugin.networks.network_policies import NetworkPolicy


class OwnBelief(BeliefModel):
    """P(card j | cards before it), by the memory of ``policy``, a network with a public belief.

    In proportion to the copies that may be left of an identity, times its likelihood by the others'
    moves. Its state is the policy's memory. Raises ConfigError for another policy.
    """

    def __init__(self, game: Game, policy: Policy) -> None:
        if not has_own_belief(policy):
            raise ConfigError(f"an own belief is of a public-belief network, got {policy!r}")
        assert isinstance(policy, NetworkPolicy)
        self.game = require_tokens(game)
        self.policy = self.loaded_as = policy.loaded_as
        self.digest = policy.digest
        self._blueprint = policy
        self._config: HanabiConfig = policy.network.config

    def start(self, view: View) -> Memory:
        return self._blueprint.start(view)

    def observe(self, view: View, event: Event, state: Memory) -> Memory:
        return self._blueprint.observe(view, event, state)

    def sample(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> IntArray:
        return draw_by_weights(self.game, view, rng, n, self._likelihood(view, state))[0]

    def marginals(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> FloatArray:
        """See ``BeliefModel``: the mean of what each draw was made by, exact of the first token."""
        return draw_by_weights(self.game, view, rng, n, self._likelihood(view, state))[1]

    def log_likelihood(self, view: View, state: Memory, tokens: IntArray) -> FloatArray:
        return log_by_weights(self.game, view, tokens, self._likelihood(view, state))

    def _likelihood(self, view: View, state: Memory) -> FloatArray:
        """[B, H, V] of each identity of the seat's own cards; 1 where nothing is known."""
        config = self._config
        shape = (-1, config.players, config.hand_size, card_beliefs.size(config))
        own = state.reshape(shape)[:, view.player, :, : status.identities(config)]
        return np.asarray(np.exp(own / UNITS), dtype=np.float64)


def has_own_belief(policy: Policy) -> bool:
    """Is this policy a network with a public belief?"""
    return isinstance(policy, NetworkPolicy) and isinstance(policy.network, PublicBeliefNet)
