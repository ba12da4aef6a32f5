"""The public bidding network of Joint Policy Search as a policy (Tian, Gong and Jiang, 2020).

Its weights are not part of this package: they are under a licence of their own (CC BY-NC 4.0).
Letters: B views.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.bridge.auction import CALLS
from hanabi_search_plugin.bridge.bidding_observation import NAME, SIZE
from hanabi_search_plugin.core.errors import CheckpointError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy, sample_actions
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.core.streams import Streams

Weights = Mapping[str, NDArray[np.float32]]

HIDDEN, HELD = 200, 52
SHAPES = {
    "linear1": (HIDDEN, SIZE),
    **{f"enn_partner.fc.{k}.fc.{j}": (HIDDEN, HIDDEN) for k in (0, 1) for j in (0, 2)},
    "linear2": (HELD, HIDDEN),
    "linear3": (HIDDEN, SIZE + HELD),
    **{f"pnn.fc.{k}.fc.{j}": (HIDDEN, HIDDEN) for k in (0, 1) for j in (0, 2)},
    "linear_policy": (CALLS + 1, HIDDEN),
}
"""The layers that are used, and the shapes of their weights: outputs, inputs."""

FAINT = 1e-5  # of all legal calls together, below which each is as likely


class JpsBidder(Policy):
    """A bidder by the network's probabilities.

    It makes the likeliest call with probability ``greedy`` and otherwise draws one by the network;
    with ``greedy=1`` it is deterministic. Raises ConfigError for a share outside 0 to 1.
    """

    public_memory = True

    def __init__(self, weights: Weights, greedy: float = 1.0) -> None:
        require_share("greedy", greedy)
        self.greedy = greedy
        self.deterministic = greedy == 1.0
        self._weights = weights

    def __repr__(self) -> str:
        return "JpsBidder()" if self.deterministic else f"JpsBidder(greedy={self.greedy})"

    def softened(self, greedy: float) -> JpsBidder:
        """The same network with another share of likeliest calls."""
        return JpsBidder(self._weights, greedy)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        if self.deterministic:
            likeliest = self.preferences(view, legal, memory).argmax(axis=1)
            return np.asarray(likeliest, dtype=np.int64)
        return sample_actions(self.probabilities(view, legal, memory), rng)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        chance = self.preferences(view, legal, memory)
        likeliest = np.zeros(chance.shape)
        likeliest[np.arange(len(chance)), chance.argmax(axis=1)] = 1.0
        likeliest[~legal.any(axis=1)] = 0.0
        return self.greedy * likeliest + (1 - self.greedy) * chance

    def preferences(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, 38] the network's probabilities."""
        logits = self._logits(view.observation(NAME))[:, :CALLS].astype(np.float64)
        chance = np.exp(logits - logits.max(axis=1, keepdims=True))
        chance = np.where(legal, chance / chance.sum(axis=1, keepdims=True), 0.0)
        faint = chance.sum(axis=1) < FAINT
        chance[faint] = legal[faint]
        total = np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(chance / total, dtype=np.float64)

    def _logits(self, seen: NDArray[np.float32]) -> NDArray[np.float32]:
        """[B, 39]"""
        partner = self._blocks("enn_partner", self._linear("linear1", seen))
        guess = 1 / (1 + np.exp(-self._linear("linear2", partner)))
        both = self._linear("linear3", np.concatenate([seen, guess], axis=1))
        return self._linear("linear_policy", self._blocks("pnn", both))

    def _blocks(self, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        for k in (0, 1):
            inner = np.maximum(self._linear(f"{name}.fc.{k}.fc.0", x), 0)
            x = x + np.maximum(self._linear(f"{name}.fc.{k}.fc.2", inner), 0)
        return x

    def _linear(self, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]


def load_jps(file: str | Path, greedy: float = 1.0) -> JpsBidder:
    """The bidder of a network's file, as its authors publish it; needs PyTorch to read it.

    Raises CheckpointError for other files, UnsupportedError without PyTorch, OSError where there is
    none.
    """
    require_extra("torch", "a network of PyTorch", "torch")
    import torch

    try:
        held: Any = torch.load(file, map_location="cpu", weights_only=True)
        state = held["state_dict"]
        weights = {
            f"{layer}.{part}": state[f"online_net.{layer}.{part}"].numpy().astype(np.float32)
            for layer in SHAPES
            for part in ("weight", "bias")
        }
    except OSError:
        raise
    except Exception as error:  # whatever PyTorch makes of a damaged file
        raise CheckpointError(f"{file} holds no bidding network of JPS: {error}") from None
    for layer, shape in SHAPES.items():
        got = weights[f"{layer}.weight"].shape, weights[f"{layer}.bias"].shape
        if got != (shape, shape[:1]):
            raise CheckpointError(f"{file}: expected {layer} of shape {shape}, got {got[0]}")
    return JpsBidder(weights, greedy)
