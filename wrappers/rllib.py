"""RLModules of Ray's RLlib as policies of ours. Needs ray[rllib]."""

from __future__ import annotations

from typing import Any

from ray.rllib.algorithms.dqn.default_dqn_rl_module import DefaultDQNRLModule
from ray.rllib.core.rl_module import MultiRLModule, RLModule
from torch import nn

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.policies.callables import CallablePolicy, Sees
from hanabi_search_plugin.wrappers._trained import TrainedActor


def as_policy(
    module: Any,
    game: Game,
    *,
    encoding: str | None = None,
    greedy: bool = False,
    sees: Sees = "own turns",
) -> CallablePolicy:
    """A policy that plays ``game`` as an RLModule in PyTorch would, its illegal moves left out.

    ``module`` is what ``Algorithm.get_module`` or ``RLModule.from_checkpoint`` gives; an Algorithm
    stands for its default module. What its ``forward_inference`` says of the distribution of
    actions is played, with ``greedy`` the likeliest; DQN's modules play the highest value.
    ``encoding`` is the one it was trained on, by default the first the game has; Dict observations
    of an observation and its mask are understood. A module with a state reads the observations of
    its own turns, as in an environment, unless ``sees="all"``. Connectors of your own, filters for
    instance, are not part of a module: put them into a function for ``from_callable``.

    Raises UnsupportedError for other things, and for modules of other spaces.
    """
    if not isinstance(module, RLModule) and hasattr(module, "get_module"):
        module = module.get_module()
    if isinstance(module, MultiRLModule):
        raise UnsupportedError(
            f"expected one RLModule, got a MultiRLModule of {', '.join(module.keys())}: give the "
            "one that plays"
        )
    if not isinstance(module, RLModule) or not isinstance(module, nn.Module):
        raise UnsupportedError(f"expected an RLModule in PyTorch, got {type(module).__name__}")
    return RllibActor(module).policy(game, encoding=encoding, greedy=greedy, sees=sees)


class RllibActor(TrainedActor):
    """An RLModule."""

    def __init__(self, module: Any) -> None:
        spaces = module.observation_space, module.action_space
        super().__init__(module, type(module).__name__, *spaces)
        self.values = isinstance(module, DefaultDQNRLModule)

    def initial_state(self, game: Game, encoding: str) -> Any:
        return self.model.get_initial_state() if self.model.is_stateful() else None

    def forward(self, obs: Any, mask: Any, state: Any = None) -> Any:
        mask = mask.to(obs.dtype)
        if state is not None:  # one step of a sequence [B, T, ...]
            obs, mask = obs.unsqueeze(1), mask.unsqueeze(1)
        given = self.given(obs, mask)
        batch = {"obs": given} if state is None else {"obs": given, "state_in": state}
        if self.values:
            out = self.model.compute_q_values(batch)
        else:
            out = self.model.forward_inference(batch)
        said = "qf_preds" if self.values else "action_dist_inputs"
        if said not in out:
            raise UnsupportedError(
                f"{self.name}.forward_inference must give {said}, got {', '.join(out)}"
            )
        logits = out[said]
        return logits if state is None else (logits.squeeze(1), out["state_out"])
