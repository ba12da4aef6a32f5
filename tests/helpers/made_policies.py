"""A small policy of each kind that the package makes of other things, by the name of what makes it.

Networks are as they begin, without training; those of libraries that are not installed skip.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from open_spiel.python import policy as spiel_policy

from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.wrappers.gymnasium import HanabiEnv
from hanabi_search_plugin.wrappers.openspiel import as_policy, registered_bot, spiel_of


def environment(game: HanabiGame) -> Any:
    env = HanabiEnv(partners="random", **game.config.to_dict())
    return gymnasium.wrappers.DtypeObservation(env, np.float32)


def spaces(game: HanabiGame) -> dict[str, Any]:
    env = environment(game)
    return {"observation_space": env.observation_space, "action_space": env.action_space}


def plain(game: HanabiGame) -> Policy:
    """By a number made of the observation."""

    def logits(obs: Any, mask: Any) -> Any:
        number = np.cos(obs @ np.arange(1.0, obs.shape[1] + 1))[:, None]
        return 9 * number * np.arange(mask.shape[1])

    return from_callable(logits, returns="logits")


class ByInformationState(spiel_policy.Policy):  # type: ignore[misc]
    """Plays by a number made of what the player to move can see."""

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        legal, seen = state.legal_actions(), state.observation_tensor()
        return {legal[int(np.dot(seen, np.arange(len(seen)))) % len(legal)]: 1.0}


def of_openspiel(game: HanabiGame) -> Policy:
    seats = list(range(game.num_players))
    return as_policy(ByInformationState(spiel_of(game), seats), game)


def of_stable_baselines3(game: HanabiGame) -> Policy:
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    size = {"net_arch": [8]}
    return as_policy(sb3.PPO("MlpPolicy", environment(game), n_steps=64, policy_kwargs=size), game)


def of_rllib(game: HanabiGame) -> Policy:
    pytest.importorskip("ray.rllib", reason="ray[rllib] is not installed")
    from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule

    from hanabi_search_plugin.wrappers.rllib import as_policy

    settings = {"fcnet_hiddens": [8], "vf_share_layers": False}
    return as_policy(DefaultPPOTorchRLModule(**spaces(game), model_config=settings), game)


def of_tianshou(game: HanabiGame) -> Policy:
    pytest.importorskip("tianshou", reason="tianshou is not installed")
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.discrete import DiscreteActor

    from hanabi_search_plugin.wrappers.tianshou import as_policy

    space = spaces(game)
    net = Net(state_shape=space["observation_space"].shape, hidden_sizes=[8])
    actor = DiscreteActor(preprocess_net=net, action_shape=game.num_actions, softmax_output=False)
    return as_policy(DiscreteActorPolicy(actor=actor, action_space=space["action_space"]), game)


MADE: dict[str, Callable[[HanabiGame], Policy]] = {
    "hanabi_search_plugin.from_callable": plain,
    "openspiel.as_policy": of_openspiel,
    "openspiel.registered_bot": lambda game: registered_bot("uniform_random", game),
    "stable_baselines3.as_policy": of_stable_baselines3,
    "rllib.as_policy": of_rllib,
    "tianshou.as_policy": of_tianshou,
}
