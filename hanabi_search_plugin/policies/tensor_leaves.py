"""Operations on arrays and tensors alike, for ``callables``; PyTorch is loaded only if needed."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ContractError

Leaf = Any  # one array or tensor of a state

_MODULES = threading.RLock()
"""Held while a module runs, since its flags and the global generator serve one thread at a time."""


def move_axis(leaf: Leaf, source: int, target: int, name: str = "") -> Leaf:
    """The leaf with an axis moved. Raises ContractError, naming ``name``, if it has none such."""
    if leaf.ndim <= max(source, target):
        raise ContractError(
            f"{name} must return a state with the batch on axis {source}, got the shape "
            f"{tuple(leaf.shape)}"
        )
    moved = load_torch().movedim if is_tensor(leaf) else np.moveaxis
    return moved(leaf, source, target)


def copied(leaf: Leaf) -> Leaf:
    """A copy of the leaf."""
    return leaf.clone() if is_tensor(leaf) else leaf.copy()


def contiguous(leaf: Leaf) -> Leaf:
    """The leaf, contiguous in memory."""
    return leaf.contiguous() if is_tensor(leaf) else np.ascontiguousarray(leaf)


def stack(parts: list[Leaf], name: str) -> Leaf:
    """All parts stacked. Raises ContractError unless they have one shape."""
    different = {tuple(part.shape) for part in parts}
    if len(different) > 1:
        raise ContractError(
            f"{name} must return the same shape for every world, got {sorted(different)}"
        )
    return load_torch().stack(parts) if is_tensor(parts[0]) else np.stack(parts)


def load_torch() -> Any:
    """The module ``torch``."""
    import torch

    return torch


def is_tensor(thing: Any) -> bool:
    """True for a PyTorch tensor; never loads PyTorch."""
    torch: Any = sys.modules.get("torch")  # whoever has a tensor has loaded it
    return torch is not None and isinstance(thing, torch.Tensor)


def is_module(thing: Any) -> bool:
    """True for a PyTorch module; never loads PyTorch."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


def home(module: Any) -> tuple[Any, Any]:
    """The device of a module and the dtype of its floating point numbers."""
    device, torch = None, load_torch()
    for tensors in (module.parameters(), module.buffers()):
        for tensor in tensors:
            device = device or tensor.device
            if tensor.is_floating_point():
                return tensor.device, tensor.dtype
    return device or torch.device("cpu"), torch.float32


def as_array(thing: Any) -> NDArray[Any]:
    """The output of a function as a NumPy array. Raises ContractError if it is none."""
    if not is_tensor(thing):
        try:
            return np.asarray(thing)
        except ValueError as error:
            raise ContractError(f"a function must return an array or a tensor: {error}") from None
    tensor = thing.detach().cpu()
    array: NDArray[Any] = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    return array


def run_module(module: Any, given: tuple[Any, ...]) -> Any:
    """Call a module without gradients and in evaluation mode, with nothing changed outside."""
    torch, (device, _) = load_torch(), home(module)
    parts = list(module.modules())
    with _MODULES:
        training = [part.training for part in parts]
        try:
            module.eval()
            generators = [device] if device.type == "cuda" else []
            with torch.no_grad(), torch.random.fork_rng(generators):
                return module(*given)
        finally:
            for part, flag in zip(parts, training, strict=True):
                part.training = flag
