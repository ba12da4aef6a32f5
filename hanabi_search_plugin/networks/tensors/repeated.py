"""Call one function again and again; on a GPU, by a CUDA graph in place of its operations.

A move of many games is a thousand small operations, and a step of learning is two thousand. To
start each of them by itself takes longer than a GPU needs to compute it; a graph starts all at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensor = Any  # torch.Tensor
Function = Callable[[Sequence[Tensor]], Any]

WARM_UP = 2  # calls before a function is recorded: libraries get ready, optimisers make their state


class Repeated:
    """``function`` of tensors, called once a call.

    Where it is ``recorded``, on a GPU, the first two calls with tensors of some shapes run it, the
    third records it, and from then on the record is replayed: the same operations on the same
    memory. So it must neither wait for the GPU nor draw random numbers, what it reads and changes
    beside its arguments must stay where it is, and what it returns is overwritten by the next call.
    """

    def __init__(self, function: Function, device: str, *, recorded: bool = True) -> None:
        self._function, self._device = function, torch.device(device)
        self._recorded = recorded and self._device.type == "cuda"
        self._records: dict[tuple[Any, ...], _Record] = {}  # by the shapes of arguments

    def __call__(self, given: Sequence[Tensor]) -> Any:
        if not self._recorded:
            return self._function(given)
        shapes = tuple(tensor.shape for tensor in given)
        record = self._records.setdefault(shapes, _Record(self._function))
        with torch.cuda.device(self._device):
            return record(given)


class _Record:
    """A function of tensors of certain shapes on the current GPU."""

    def __init__(self, function: Function) -> None:
        self._function, self._calls = function, 0
        self._graph: Any = None  # torch.cuda.CUDAGraph
        self._given: list[Tensor] = []
        self._returned: Any = None

    def __call__(self, given: Sequence[Tensor]) -> Any:
        self._calls += 1
        if self._calls <= WARM_UP:
            return self._beside(given)
        if self._graph is None:
            self._given = [tensor.clone() for tensor in given]
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._returned = self._function(self._given)
        else:
            for kept, tensor in zip(self._given, given, strict=True):
                kept.copy_(tensor)
        self._graph.replay()
        return self._returned

    def _beside(self, given: Sequence[Tensor]) -> Any:
        """Run on a stream of its own, as PyTorch wants it before a record."""
        here, beside = torch.cuda.current_stream(), torch.cuda.Stream()
        beside.wait_stream(here)
        with torch.cuda.stream(beside):
            returned = self._function(given)
        here.wait_stream(beside)
        return returned
