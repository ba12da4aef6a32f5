"""Models of Stable-Baselines3 and sb3-contrib as policies of ours. Needs stable-baselines3."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.policies.callables import CallablePolicy, Sees
from hanabi_search_plugin.wrappers._trained import TrainedActor


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
    return actor.policy(game, encoding=encoding, greedy=greedy, sees=sees)


class Sb3Actor(TrainedActor):
    """The policy of a model. A recurrent one's state is (h, c), each [L, B, H]."""

    def __init__(self, model: Any, normalize: Any) -> None:
        policy = getattr(model, "policy", model)
        values = hasattr(policy, "q_net") or hasattr(policy, "quantile_net")
        if not values and not hasattr(policy, "get_distribution"):
            raise UnsupportedError(
                "expected a model with a distribution or values of actions, got "
                f"{type(model).__name__}"
            )
        spaces = policy.observation_space, policy.action_space
        super().__init__(policy, type(model).__name__, *spaces)
        self.values = values
        self.recurrent = hasattr(policy, "lstm_actor")
        self.state_axis = 1 if self.recurrent else 0
        self.normalize = None
        if normalize is not None and normalize.norm_obs:
            if self.keys is not None:
                raise UnsupportedError("normalize must be None where observations hold masks")
            spread = np.sqrt(normalize.obs_rms.var + normalize.epsilon)
            self.normalize = normalize.obs_rms.mean, spread, normalize.clip_obs

    def initial_state(self, game: Game, encoding: str) -> Any:
        return self._blank if self.recurrent else None

    def _blank(self, n: int) -> Any:
        layers, _, hidden = self.model.lstm_hidden_state_shape
        return torch.zeros(layers, n, hidden), torch.zeros(layers, n, hidden)

    def forward(self, obs: Any, mask: Any, state: Any = None) -> Any:
        if self.normalize is not None:
            mean, spread = (torch.as_tensor(x).to(obs) for x in self.normalize[:2])
            obs = ((obs - mean) / spread).clamp(-self.normalize[2], self.normalize[2])
        given = self.given(obs, mask)
        if self.recurrent:
            running = torch.zeros(len(obs), device=obs.device)  # nowhere a game begins
            distribution, state = self.model.get_distribution(given, state, running)
            return distribution.distribution.logits, state
        if hasattr(self.model, "q_net"):
            return self.model.q_net(given)
        if self.values:
            return self.model.quantile_net(given).mean(dim=1)
        return self.model.get_distribution(given).distribution.logits
