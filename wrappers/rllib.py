"""RLModules of Ray's RLlib as policies of ours. Needs ray[rllib]."""

from __future__ import annotations

from typing import Any

from hanabi_search_plugin.core.extras import needing

with needing("frameworks", "wrappers.rllib", "Ray's RLlib and PyTorch"):
    from ray.rllib.algorithms.dqn.default_dqn_rl_module import DefaultDQNRLModule
    from ray.rllib.core.rl_module import MultiRLModule, RLModule
    from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
    from torch import nn

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game, require_game
from hanabi_search_plugin.core.policy import Combination
from hanabi_search_plugin.policies.callables import CallablePolicy, Sees
from hanabi_search_plugin.wrappers._trained import TrainedActor


def as_policy(
    module: Any,
    game: Game,
    *,
    encoding: str | None = None,
    greedy: bool = False,
    sees: Sees = "own turns",
    combine: Combination = "mover",
) -> CallablePolicy:
    """Make a policy that plays ``game`` as an RLModule in PyTorch does, by its legal actions alone.

    ``module`` is what ``Algorithm.get_module`` or ``RLModule.from_checkpoint`` returns; an
    Algorithm stands for its default module. It plays by the probabilities of its
    ``forward_inference``, or with ``greedy`` the likeliest action. DQN's modules play the action of
    the highest value. ``encoding`` is the one it was trained on (default: the first of the game);
    its observations may also be dicts of an observation and a mask. A module with a state reads the
    observations of its own turns, as in training, or of all turns with ``sees="all"``. Connectors
    of your own, filters for instance, are no part of a module: put them into a function for
    ``from_callable``.

    The module's ``compute_values``, or the highest value of an action, is the policy's value, by
    which searches cut rollouts short: rewards still to come, in the units and with the discount of
    the training. A module that was made for inference alone has none. ``combine`` is that of
    ``from_callable``: "central" where the others have no values.

    Raises UnsupportedError for other things, and for modules of other spaces.
    """
    require_game(game, module, call="as_policy(module, game)")
    if not isinstance(module, RLModule) and hasattr(module, "get_module"):
        module = module.get_module()
    if isinstance(module, MultiRLModule):
        raise UnsupportedError(
            f"expected one RLModule, got a MultiRLModule of {', '.join(module.keys())}: give the "
            "one that plays"
        )
    if not isinstance(module, RLModule) or not isinstance(module, nn.Module):
        raise UnsupportedError(f"expected an RLModule in PyTorch, got {type(module).__name__}")
    return RllibActor(module).policy(
        game, encoding=encoding, greedy=greedy, sees=sees, combine=combine
    )


class RllibActor(TrainedActor):
    """An RLModule."""

    def __init__(self, module: Any) -> None:
        spaces = module.observation_space, module.action_space
        super().__init__(module, type(module).__name__, *spaces)
        self.to_have_values = "a module for inference alone has none: give the learner's"
        self.values = isinstance(module, DefaultDQNRLModule)

    def initial_state(self, game: Game, encoding: str) -> Any:
        return self.model.get_initial_state() if self.model.is_stateful() else None

    @property
    def has_critic(self) -> bool:
        return self.values or (
            isinstance(self.model, ValueFunctionAPI) and not self.model.inference_only
        )

    def critic(self, obs: Any, mask: Any, state: Any = None) -> Any:
        if self.values:
            return super().critic(obs, mask, state)
        values = self.model.compute_values(self._batch(obs, mask, state))
        return values if state is None else values.squeeze(1)

    def _batch(self, obs: Any, mask: Any, state: Any) -> dict[str, Any]:
        """What the module reads: with a state one step of a sequence [B, T, ...]."""
        mask = mask.to(obs.dtype)
        if state is None:
            return {"obs": self.given(obs, mask)}
        return {"obs": self.given(obs.unsqueeze(1), mask.unsqueeze(1)), "state_in": state}

    def forward(self, obs: Any, mask: Any, state: Any = None) -> Any:
        batch = self._batch(obs, mask, state)
        if self.values:
            out = self.model.compute_q_values(batch)
        else:
            out = self.model.forward_inference(batch)
        key = "qf_preds" if self.values else "action_dist_inputs"
        if key not in out:
            raise UnsupportedError(
                f"{self.name}.forward_inference must give {key}, got {', '.join(out)}"
            )
        logits = out[key]
        return logits if state is None else (logits.squeeze(1), out["state_out"])
