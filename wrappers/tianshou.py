"""Policies of Tianshou (2 and newer) as policies of ours. Needs tianshou."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.data import Batch
from torch import nn

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game
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
) -> CallablePolicy:
    """A policy that plays ``game`` as ``policy`` would, its illegal moves left out.

    ``policy`` is a Tianshou Policy, or an Algorithm, which has one. DQN and its kin play the
    highest value; those with a distribution of actions (PPO, A2C, SAC for discrete actions) by
    chance, or the likeliest with ``greedy``. ``encoding`` is the one it was trained on, by default
    the first the game has. ``masked``: its network reads ``obs.obs`` and ``obs.mask``, as it gets
    them from Tianshou's environments; without, the observation alone. A recurrent one reads the
    observations of its own turns, as in an environment, unless ``sees="all"``.

    Raises UnsupportedError for other things, and for policies of other spaces.
    """
    policy = getattr(policy, "policy", policy)
    if not isinstance(policy, nn.Module) or not hasattr(policy, "action_space"):
        raise UnsupportedError(f"expected a Policy of Tianshou, got {type(policy).__name__}")
    return TianshouActor(policy, masked).policy(game, encoding=encoding, greedy=greedy, sees=sees)


class TianshouActor(TrainedActor):
    """A Tianshou Policy. A recurrent one's state is hidden and cell, each [B, L, H]."""

    def __init__(self, policy: Any, masked: bool) -> None:
        seen = policy.observation_space
        known = seen if isinstance(seen, spaces.Box) else None  # many policies are not told of it
        super().__init__(policy, type(policy).__name__, known, policy.action_space)
        self.values = isinstance(policy, DiscreteQLearningPolicy)
        self.masked = masked

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

    def _forward(self, obs: Any, mask: Any, state: Any) -> Any:
        given = Batch(obs=obs, mask=mask) if self.masked else obs
        return self.model(Batch(obs=given, info=Batch()), state)
