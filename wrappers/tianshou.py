"""Policies of Tianshou (2 and newer) as policies of ours. Needs tianshou."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.core.extras import needing

with needing("frameworks", "wrappers.tianshou", "Tianshou"):
    import torch
    from gymnasium import spaces
    from tianshou.algorithm.algorithm_base import Policy
    from tianshou.algorithm.modelfree.a2c import ActorCriticOnPolicyAlgorithm
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.data import Batch

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game, require_game
from hanabi_search_plugin.core.policy import Combination
from hanabi_search_plugin.policies.callables import CallablePolicy, Sees
from hanabi_search_plugin.wrappers._trained import TrainedActor


def as_policy(
    policy: Any,
    game: Game,
    *,
    encoding: str | None = None,
    greedy: bool = False,
    masked: bool = False,
    sees: Sees = "own turns",
    combine: Combination = "mover",
) -> CallablePolicy:
    """Make a policy that plays ``game`` as ``policy`` does, by its legal actions alone.

    ``policy`` is a Tianshou Policy, or an Algorithm, which has one. DQN and its kin play the action
    of the highest value; PPO, A2C and SAC for discrete actions play by their probabilities, or with
    ``greedy`` the likeliest action. ``encoding`` is the one it was trained on (default: the first
    of the game). With ``masked`` its network reads ``obs.obs`` and ``obs.mask``, as Tianshou's
    environments give them, else the observation alone. A recurrent one reads the observations of
    its own turns, as in training, or of all turns with ``sees="all"``.

    The critic of PPO, A2C and their kin, which an Algorithm has and a Policy has not, or the
    highest value of an action, is the policy's value, by which searches cut rollouts short: rewards
    still to come, in the units and with the discount of the training. ``combine`` is that of
    ``from_callable``: "central" where the others have no values.

    Raises UnsupportedError for other things, and for policies of other spaces.
    """
    require_game(game, policy, call="as_policy(policy, game)")
    actor_critic = isinstance(policy, ActorCriticOnPolicyAlgorithm)
    state_values = policy.critic if actor_critic else None
    given, policy = policy, getattr(policy, "policy", policy)
    if not isinstance(policy, Policy):
        raise UnsupportedError(
            f"expected a Policy or an Algorithm of Tianshou, got {type(given).__name__} of "
            f"{type(given).__module__.partition('.')[0]}"
        )
    actor = TianshouActor(policy, masked, state_values)
    return actor.policy(game, encoding=encoding, greedy=greedy, sees=sees, combine=combine)


class TianshouActor(TrainedActor):
    """A Tianshou Policy. A recurrent one's state is hidden and cell, each [B, L, H]."""

    def __init__(self, policy: Any, masked: bool, state_values: Any) -> None:
        seen = policy.observation_space
        known = seen if isinstance(seen, spaces.Box) else None  # many policies are not told of it
        super().__init__(policy, type(policy).__name__, known, policy.action_space)
        self.to_have_values = "give the Algorithm, which has a critic, not its Policy"
        self.values = isinstance(policy, DiscreteQLearningPolicy)
        self.masked = masked
        self.state_values = state_values  # a critic, or None

    @property
    def has_critic(self) -> bool:
        return self.values or self.state_values is not None

    def critic(self, obs: Any, mask: Any, state: Any = None) -> Any:
        if self.values:
            return super().critic(obs, mask, state)
        return self.state_values(self._given(obs, mask))  # as in training, without a state

    def initial_state(self, game: Game, encoding: str) -> Any:
        view = game.deal(np.random.default_rng(0), 1).view(0)
        obs = torch.from_numpy(view.observation(encoding)).float()
        with torch.no_grad():
            state = self._forward(obs, torch.from_numpy(view.legal), None).state
        if state is None or len(state) == 0:
            return None
        return {name: torch.zeros_like(state[name][0]) for name in sorted(state.keys())}

    def forward(self, obs: Any, mask: Any, state: Any = None) -> Any:
        result = self._forward(obs, mask, None if state is None else Batch(state))
        if "dist" in result.keys():
            logits = result.dist.logits
        else:
            logits = self.model.compute_q_value(result.logits, None)
        return logits if state is None else (logits, dict(result.state.items()))

    def _given(self, obs: Any, mask: Any) -> Any:
        return Batch(obs=obs, mask=mask) if self.masked else obs

    def _forward(self, obs: Any, mask: Any, state: Any) -> Any:
        return self.model(Batch(obs=self._given(obs, mask), info=Batch()), state)
