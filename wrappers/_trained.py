"""What the adapters of RL libraries share: a trained model as a module, and as a policy of a game.

Letters: B worlds, A actions, N elements of an observation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Combination
from hanabi_search_plugin.policies.callables import CallablePolicy, Sees, from_callable

MASKS = ("action_mask", "mask")


class TrainedActor(nn.Module):  # type: ignore[misc]  # PyTorch is taken as untyped
    """A model as a module ``(obs [B, N], mask [B, A]) -> logits [B, A]``.

    One with a state is ``(obs, mask, state) -> (logits, state)``. A subclass writes ``forward``,
    and ``critic`` where the model says what is still to come.
    """

    state_axis = 0  # of the batch in a state

    def __init__(self, model: Any, name: str, observations: Any, actions: Any) -> None:
        """``observations`` and ``actions`` are the spaces that the model was made for.

        The first may be None, where nobody knows. Raises UnsupportedError for Dict observations of
        other things than an observation and its mask.
        """
        super().__init__()
        self.model = model
        self.name = self.__qualname__ = name  # what policies and messages call it
        self.observations = observations
        self.actions = actions
        self.keys = mask_keys(observations)
        self.values = False  # True: the logits are values, and the highest is played
        self.to_have_values = "it was given without a critic"  # see Policy

    def given(self, obs: Any, mask: Any) -> Any:
        """What the model reads: the observation, or a dict of it and its mask."""
        return obs if self.keys is None else dict(zip(self.keys, (obs, mask), strict=True))

    def initial_state(self, game: Game, encoding: str) -> Any:
        """As ``from_callable`` takes it; None for a model without a state."""
        return None

    @property
    def has_critic(self) -> bool:
        """Whether ``critic`` answers. Values of actions say what the best is worth."""
        return self.values

    def critic(self, obs: Any, mask: Any, state: Any = None) -> Any:
        """[B] what the seat still gets, as the model was trained to say it.

        ``state`` is that before the observation. By default the highest value of a legal action.
        """
        output = self(obs, mask) if state is None else self(obs, mask, state)[0]
        return output.masked_fill(~mask.bool(), -torch.inf).max(dim=1).values

    def policy(
        self, game: Game, *, encoding: str | None, greedy: bool, sees: Sees, combine: Combination
    ) -> CallablePolicy:
        """The policy that plays ``game`` as the model does.

        Raises UnsupportedError where its spaces are not those of ``game``.
        """
        encoding = encoding or next(iter(game.encodings))
        self._require_fit(game, encoding)
        return from_callable(
            self,
            returns="logits",
            encoding=encoding,
            greedy=greedy or self.values,
            initial_state=self.initial_state(game, encoding),
            state_axis=self.state_axis,
            sees=sees,
            values=_Critic(self) if self.has_critic else None,
            combine=combine,
        )

    def _require_fit(self, game: Game, encoding: str) -> None:
        if not isinstance(self.actions, spaces.Discrete) or self.actions.n != game.num_actions:
            raise UnsupportedError(
                f"expected a {self.name} of {game.num_actions} actions for {game.name}, got one of "
                f"{self.actions}"
            )
        if encoding not in game.encodings:
            listed = ", ".join(game.encodings)
            raise UnsupportedError(f"{game.name} has the encodings {listed}, got {encoding!r}")
        box = self.observations if self.keys is None else self.observations[self.keys[0]]
        shape = game.deal(np.random.default_rng(0), 1).view(0).observation(encoding).shape[1:]
        if box is not None and box.shape != shape:
            raise UnsupportedError(
                f"expected a {self.name} of observations of shape {shape}, which is {encoding!r} "
                f"of {game.name}, got one of shape {box.shape}"
            )


class _Critic(nn.Module):  # type: ignore[misc]
    """The critic of an actor as a module of its own, without a state or with one."""

    def __init__(self, actor: TrainedActor) -> None:
        super().__init__()
        self.__qualname__ = f"the critic of {actor.name}"
        self.actor = actor

    def forward(self, obs: Any, mask: Any, state: Any = None) -> Any:
        if mask.any(dim=1).all():
            return self.actor.critic(obs, mask, state)
        # Where another seat is to move nothing is legal: for a mask that leaves something, all is.
        return self.actor.critic(obs, mask | ~mask.any(dim=1, keepdim=True), state)


def mask_keys(space: Any) -> tuple[str, str] | None:
    """The names of the observation and of its mask in a Dict space of these two.

    None for a space that is no Dict. Raises UnsupportedError for any other Dict.
    """
    if not isinstance(space, spaces.Dict):
        return None
    names = list(space.spaces)
    masks = [name for name in names if name in MASKS]
    if len(names) != 2 or len(masks) != 1:
        raise UnsupportedError(
            f"expected observations with a mask under one of {', '.join(MASKS)}, got a Dict of "
            f"{', '.join(names)}"
        )
    names.remove(masks[0])
    return names[0], masks[0]
