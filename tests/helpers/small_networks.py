"""Networks of random weights, as those of ``hanabi.bots.evalfn``."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.bots.evalfn import ValueNetwork
from hanabi_search_plugin.hanabi.bots.features import FEATURES
from hanabi_search_plugin.hanabi.bots.value_kernels import HIDDEN


def tensors(seed: int = 0, inputs: int = FEATURES, outputs: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    parts = {
        "mean": rng.random(inputs),
        "deviation": rng.uniform(0.2, 1.0, inputs),
        "hidden.weight": rng.normal(size=(HIDDEN, inputs)),
        "hidden.bias": rng.normal(size=HIDDEN),
        "output.weight": rng.normal(size=(outputs, HIDDEN)) / 10,
        "output.bias": rng.normal(size=outputs),
    }
    return {name: part.astype(np.float32) for name, part in parts.items()}


def random_network(**options: int) -> ValueNetwork:
    return ValueNetwork(tensors(**options))
