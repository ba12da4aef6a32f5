"""Fit the small networks of ``hanabi.bots.evalfn`` with PyTorch, on the CPU.

Letters: M examples, F features, K outputs.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.bots.value_kernels import HIDDEN

Loss = Literal["squared", "cosine", "entropy"]

STEPS = 20_000
BATCH = 256  # the paper has 16
RATE = 3e-3  # of Adam, brought down to 0 along a cosine; the paper has 1e-4
PENALTY = 3e-5  # on the sum of the weights' absolute values; the paper has 1e-5
SETTINGS = {"optimizer": "Adam", "rate": RATE, "batch": BATCH, "steps": STEPS, "penalty": PENALTY}


def fit(
    inputs: NDArray[np.float32], targets: NDArray[np.float32], loss: Loss, seed: int
) -> dict[str, NDArray[np.float32]]:
    """Fit the tensors of a ``ValueNetwork`` that predicts targets [M, K] from inputs [M, F].

    Losses: ``"squared"`` error; ``"cosine"`` distance of output and target, the paper's for rules;
    cross ``"entropy"`` of the outputs' softmax, for targets that sum to 1.
    The result depends on ``seed`` and on the version of PyTorch.
    """
    import torch

    mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
    deviation = np.where(deviation > 1e-6, deviation, 1.0).astype(np.float32)
    x, y = torch.from_numpy((inputs - mean) / deviation), torch.from_numpy(targets)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the network is too small to share
    try:
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            hidden = torch.nn.Linear(x.shape[1], HIDDEN)
            output = torch.nn.Linear(HIDDEN, y.shape[1])
            network = torch.nn.Sequential(hidden, torch.nn.ReLU(), output)
            _descend(network, x, y, loss)
    finally:
        torch.set_num_threads(threads)
    tensors: dict[str, Any] = {
        "mean": mean,
        "deviation": deviation,
        "hidden.weight": hidden.weight.detach().numpy(),
        "hidden.bias": hidden.bias.detach().numpy(),
        "output.weight": output.weight.detach().numpy(),
        "output.bias": output.bias.detach().numpy(),
    }
    return tensors


def _descend(network: Any, x: Any, y: Any, loss: Loss) -> None:
    """STEPS of Adam over shuffled batches."""
    import torch

    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    weights = [network[0].weight, network[2].weight]
    order, first = torch.randperm(len(x)), 0
    for _ in range(STEPS):
        if first >= len(x):
            order, first = torch.randperm(len(x)), 0
        rows = order[first : first + BATCH]
        first += BATCH
        penalty = sum(weight.abs().sum() for weight in weights)
        optimizer.zero_grad()
        (_error(network(x[rows]), y[rows], loss) + PENALTY * penalty).backward()
        optimizer.step()
        schedule.step()


def _error(found: Any, wanted: Any, loss: Loss) -> Any:
    import torch

    if loss == "squared":
        return torch.mean((found - wanted) ** 2)
    if loss == "entropy":
        return torch.nn.functional.cross_entropy(found, wanted)
    return 1 - torch.nn.functional.cosine_similarity(found, wanted).mean()
