"""Searches over untrained models of other libraries, and over modules of PyTorch."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.wrappers.gymnasium import HanabiEnv
from tests.golden.cases import TENSORS, Cases, Found, searched
from tests.golden.native import second, sparta

CASES = Cases()

SMALL: dict[str, Any] = {"colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 4}
GAME = HanabiGame(players=2, **SMALL)


def environment() -> Any:
    return gymnasium.wrappers.DtypeObservation(HanabiEnv(**SMALL), np.float32)


def weighted(module: Any) -> Any:
    """With weights that do not depend on how a library begins."""
    import torch

    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, parameter in sorted(module.named_parameters()):
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return module


def over(policy: Policy) -> Found:
    agent = upgrade(policy, GAME, sparta(100))
    return searched(GAME, second(GAME, policy, agent), keep=1)


@CASES.case("torch", tolerance=TENSORS)
def module_with_a_memory() -> Found:
    import torch

    size = HanabiEnv(**SMALL).observation_space.shape[0]

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(size, 4)
            self.head = torch.nn.Linear(4, GAME.num_actions)

        def forward(self, obs: Any, mask: Any, state: Any) -> Any:
            output, state = self.lstm(obs.float().flatten(1)[None], state)
            return self.head(output[0]), state

    def zeros(n: int) -> Any:
        return torch.zeros(1, n, 4), torch.zeros(1, n, 4)

    network = weighted(Network())
    return over(from_callable(network, returns="logits", initial_state=zeros, state_axis=1))


@CASES.case("torch", "sb3_contrib", tolerance=TENSORS)
def stable_baselines3() -> Found:
    from sb3_contrib import MaskablePPO

    from hanabi_search_plugin.wrappers.stable_baselines3 import as_policy

    model = MaskablePPO("MlpPolicy", environment(), n_steps=64, device="cpu", seed=0)
    weighted(model.policy)
    return over(as_policy(model, GAME))


@CASES.case("torch", "ray.rllib", tolerance=TENSORS)
def rllib() -> Found:
    from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule

    from hanabi_search_plugin.wrappers.rllib import as_policy

    env = environment()
    module = DefaultPPOTorchRLModule(
        observation_space=env.observation_space,
        action_space=env.action_space,
        model_config={"use_lstm": True, "lstm_cell_size": 16, "max_seq_len": 20},
    )
    return over(as_policy(weighted(module), GAME))


@CASES.case("torch", "tianshou", tolerance=TENSORS)
def tianshou() -> Found:
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.discrete import DiscreteActor

    from hanabi_search_plugin.wrappers.tianshou import as_policy

    env = environment()
    net = Net(state_shape=env.observation_space.shape, hidden_sizes=[16])
    actor = DiscreteActor(preprocess_net=net, action_shape=GAME.num_actions, softmax_output=False)
    policy = DiscreteActorPolicy(actor=weighted(actor), action_space=env.action_space)
    return over(as_policy(policy, GAME, masked=False))
