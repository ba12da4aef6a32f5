"""Models of Stable-Baselines3 and sb3-contrib as policies of ours. Needs stable-baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.policies.callables import CallablePolicy, Sees, from_callable
from hanabi_search_plugin.wrappers._trained import mask_keys, require_fit


def as_policy(
    model: Any,
    game: Game,
    *,
    encoding: str | None = None,
    greedy: bool = False,
    normalize: Any = None,
    sees: Sees = "own turns",
) -> CallablePolicy:
    """A policy that plays ``game`` as ``model`` would, its illegal moves left out.

    ``model`` is an algorithm as ``load`` gives it, or its ``policy``: PPO, A2C, TRPO, MaskablePPO
    and RecurrentPPO play by their probabilities, or the likeliest move with ``greedy``; DQN and
    QRDQN the move of the highest value. ``encoding`` is the one it was trained on, by default the
    first the game has; Dict observations of an observation and its mask are understood.
    ``normalize`` is the ``VecNormalize`` that it was trained with. A recurrent model reads the
    observations of its own turns, as in an environment, unless ``sees="all"``.

    Raises UnsupportedError for other models, and for those of other spaces.
    """
    actor = Sb3Actor(model, normalize)
    spaces = actor.policy.observation_space, actor.policy.action_space
    require_fit(type(model).__name__, game, encoding, *spaces)
    return from_callable(
        actor,
        returns="logits",
        encoding=encoding,
        greedy=greedy or actor.values,
        initial_state=actor.start if actor.recurrent else None,
        state_axis=1 if actor.recurrent else 0,
        sees=sees,
    )


class Sb3Actor(nn.Module):
    """(obs, mask) -> logits [B, A]; a recurrent model's with its state (h, c), each [L, B, H]."""

    def __init__(self, model: Any, normalize: Any) -> None:
        super().__init__()
        self.policy = getattr(model, "policy", model)
        self.recurrent = hasattr(self.policy, "lstm_actor")
        self.values = hasattr(self.policy, "q_net") or hasattr(self.policy, "quantile_net")
        if not self.values and not hasattr(self.policy, "get_distribution"):
            raise UnsupportedError(
                "expected a model with a distribution or values of actions, got "
                f"{type(model).__name__}"
            )
        self.keys = mask_keys(self.policy.observation_space)
        self.normalize = None
        if normalize is not None and normalize.norm_obs:
            if self.keys is not None:
                raise UnsupportedError("normalize must be None where observations hold masks")
            spread = np.sqrt(normalize.obs_rms.var + normalize.epsilon)
            self.normalize = normalize.obs_rms.mean, spread, normalize.clip_obs

    def start(self, n: int) -> Any:
        """States before the first observation."""
        layers, _, hidden = self.policy.lstm_hidden_state_shape
        return torch.zeros(layers, n, hidden), torch.zeros(layers, n, hidden)

    def forward(self, obs: Any, mask: Any, state: Any = None) -> Any:
        if self.normalize is not None:
            mean, spread = (torch.as_tensor(x).to(obs) for x in self.normalize[:2])
            obs = ((obs - mean) / spread).clamp(-self.normalize[2], self.normalize[2])
        given = obs if self.keys is None else dict(zip(self.keys, (obs, mask), strict=True))
        if self.recurrent:
            running = torch.zeros(len(obs), device=obs.device)  # nowhere a game begins
            distribution, state = self.policy.get_distribution(given, state, running)
            return distribution.distribution.logits, state
        if hasattr(self.policy, "q_net"):
            return self.policy.q_net(given)
        if self.values:
            return self.policy.quantile_net(given).mean(dim=1)
        return self.policy.get_distribution(given).distribution.logits
