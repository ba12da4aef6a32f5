"""Models of Stable-Baselines3 and sb3-contrib as policies of ours. Needs stable-baselines3."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.extras import needing

with needing("frameworks", "wrappers.stable_baselines3", "Stable-Baselines3 and PyTorch"):
    import torch

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game, require_game
from hanabi_search_plugin.core.policy import Combination
from hanabi_search_plugin.policies.callables import CallablePolicy, Sees
from hanabi_search_plugin.wrappers._trained import TrainedActor

_logger = logging.getLogger("hanabi_search_plugin")


def as_policy(
    model: Any,
    game: Game,
    *,
    encoding: str | None = None,
    greedy: bool = False,
    normalize: Any = None,
    sees: Sees = "own turns",
    combine: Combination = "mover",
) -> CallablePolicy:
    """Make a policy that plays ``game`` as ``model`` does, by its legal actions alone.

    ``model`` is what an algorithm's ``load`` returns, or its ``policy``. PPO, A2C, TRPO,
    MaskablePPO and RecurrentPPO play by their probabilities, or with ``greedy`` the likeliest
    action. DQN and QRDQN play the action of the highest value. ``encoding`` is the one it was
    trained on (default: the first of the game); its observations may also be dicts of an
    observation and a mask. ``normalize`` is the ``VecNormalize`` that it was trained with. A
    recurrent model reads the observations of its own turns, as in training, or of all turns with
    ``sees="all"``.

    The model's critic, or the highest of its values of actions, is the policy's value, by which
    searches cut rollouts short: rewards still to come, in the units and with the discount of the
    training. ``combine`` is that of ``from_callable``: "central" where the others have no values. A
    recurrent model whose critic has an LSTM of its own has none.

    Raises UnsupportedError for other models, and for models of other spaces.
    """
    require_game(game, model, call="as_policy(model, game)")
    actor = Sb3Actor(model, normalize)
    return actor.policy(game, encoding=encoding, greedy=greedy, sees=sees, combine=combine)


class Sb3Actor(TrainedActor):
    """The policy of a model. A recurrent one's state is (h, c), each [L, B, H]."""

    def __init__(self, model: Any, normalize: Any) -> None:
        if isinstance(model, str | Path | type):
            raise UnsupportedError(
                f"expected a model, as PPO.load(...) returns, got {model!r}: load it first"
            )
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
        if self.recurrent:
            self.to_have_values = (
                "its critic has an LSTM of its own, which play does not follow: train with "
                "policy_kwargs={'enable_critic_lstm': False}"
            )
        self.normalize, self.scale = None, 1.0  # of the rewards in training
        trained_with = getattr(model, "get_vec_normalize_env", lambda: None)()
        if normalize is None and trained_with is not None:
            _logger.warning(
                "this model was trained with a VecNormalize, and reads other numbers without it: "
                "give normalize=model.get_vec_normalize_env()"
            )
        if normalize is not None and normalize.norm_reward:
            self.scale = float(np.sqrt(normalize.ret_rms.var + normalize.epsilon))
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

    @property
    def has_critic(self) -> bool:
        separate = self.recurrent and self.model.lstm_critic is not None
        return self.values or (hasattr(self.model, "predict_values") and not separate)

    def critic(self, obs: Any, mask: Any, state: Any = None) -> Any:
        if self.values:
            return super().critic(obs, mask, state) * self.scale
        given = self._given(obs, mask)
        if not self.recurrent:
            return self.model.predict_values(given) * self.scale
        running = torch.zeros(len(obs), device=obs.device)  # nowhere a game begins
        return self.model.predict_values(given, state, running) * self.scale

    def _given(self, obs: Any, mask: Any) -> Any:
        """What the model reads, normalised as in training."""
        if self.normalize is not None:
            mean, spread = (torch.as_tensor(x).to(obs) for x in self.normalize[:2])
            obs = ((obs - mean) / spread).clamp(-self.normalize[2], self.normalize[2])
        return self.given(obs, mask)

    def forward(self, obs: Any, mask: Any, state: Any = None) -> Any:
        given = self._given(obs, mask)
        if self.recurrent:
            running = torch.zeros(len(obs), device=obs.device)  # nowhere a game begins
            distribution, state = self.model.get_distribution(given, state, running)
            return distribution.distribution.logits, state
        if hasattr(self.model, "q_net"):
            return self.model.q_net(given)
        if self.values:
            return self.model.quantile_net(given).mean(dim=1)
        return self.model.get_distribution(given).distribution.logits
