"""The base class of all networks, and layers that they share.

A network updates a memory after every event, and reads policy and values off it. Letters: B worlds,
A actions, M numbers of a memory.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import BoolArray, View
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.encodings.mask_features import add_context
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding

Tensor = Any  # torch.Tensor
M = TypeVar("M", bound=nn.Module)

MOST_OF_A_SIZE = 1 << 14  # numbers or layers
MOST_NUMBERS = 1 << 28  # of a network: 1 GiB, and as much again for each moment of an optimiser


def require_device(device: str) -> None:
    """Raises ConfigError for a device that PyTorch does not have here, or that holds no numbers."""
    try:
        torch.zeros(1, device=device).tolist()
    # PyTorch without a kind of device fails an assertion, or lacks an operation.
    except (AssertionError, RuntimeError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ConfigError(
            f"device must be one that PyTorch has here, as cpu, got {device!r}: {reason}"
        ) from None


def to_device(module: M, device: str) -> M:
    """Move the module to ``device``; raises ConfigError as ``require_device``."""
    require_device(device)
    module.to(device)
    return module


def as_tensor(array: NDArray[Any], device: Any) -> Tensor:
    """The array as a tensor on ``device``; on the CPU they share memory."""
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


def digest_of(module: nn.Module) -> str:
    """A hash of the module's weights, by which records identify it."""
    digest = hashlib.sha256()
    for tensor in module.state_dict().values():
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Output:
    """A network's output at an observation. Values are of the points still to come."""

    logits: Tensor  #: [B, A] of the policy, before illegal moves are masked
    advantage: Tensor  #: [B, A]
    value: Tensor  #: [B]
    off_turn_value: Tensor | None = None  #: [B] value where the seat is not to move; None: the same

    def q(self, legal: Tensor) -> Tensor:
        """[B, A] Q values of a duelling head: value + advantage - sum of legal advantages / A.

        The value alone where nothing is legal. A network with a no-op action, from which
        ``off_turn_value`` comes, counts it in A.
        """
        advantage, value, actions = self.advantage * legal, self.value, legal.shape[1]
        if self.off_turn_value is not None:
            value, actions = torch.where(legal.any(1), value, self.off_turn_value), actions + 1
        return value.unsqueeze(1) + advantage - advantage.sum(1, keepdim=True) / actions


class Network(nn.Module, ABC):
    """Base of all architectures.

    ``remember`` is called with the first observation and after every event, ``decide`` where the
    seat is to move or is asked for its value.

    ``public_memory``: the memory follows from what everybody sees, so ``remember`` gets the public
    part of the encoding alone; else it gets both parts, concatenated. ``values``: ``decide``
    returns trained values. ``combine``: how the seats' values make the team's, as in
    ``policy.Value``; each is trained on the team's return, so their mean estimates it, too.
    ``options``: the keyword arguments that made the network, plain JSON types.
    """

    public_memory: bool
    values: bool = True
    combine: Literal["sum", "mean", "central"] = "mean"
    encoding: Encoding  #: what makes numbers of views
    options: dict[str, Any]

    def __init__(self, config: HanabiConfig) -> None:
        super().__init__()
        self.config = config

    def seen(self, view: View) -> NDArray[Any]:
        """[B, N] the input of ``remember``."""
        public = self.encoding.public(view)
        if self.public_memory:
            return public
        return np.concatenate([public, self.encoding.private(view)], axis=1)

    @abstractmethod
    def blank(self, n: int) -> Tensor:
        """[n, M] memories before the first observation; M is 0 for a network without one."""

    @abstractmethod
    def remember(self, seen: Tensor, memory: Tensor) -> Tensor:
        """[B, M] memories after an observation [B, N]."""

    @abstractmethod
    def decide(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        """Policy and values at the observation that ``memory`` was last updated with.

        For a seat that is not to move only the value has a meaning. Where the memory is public,
        ``public`` and ``memory`` may be one row for all worlds.
        """

    # What training asks for besides.

    def prepare(self, public: Tensor, private: Tensor, memory: Tensor) -> tuple[Tensor, ...]:
        """What ``read`` takes: ``decide`` up to its first trained layer, [B, ...] each.

        A training works it out once and reads it many times. By default the inputs themselves.
        """
        return public, private, memory

    def read(self, *prepared: Tensor) -> Output:
        """``decide`` from what ``prepare`` returned."""
        return self.decide(*prepared)

    def seat_value(self, public: Tensor, private: Tensor, memory: Tensor) -> Tensor:
        """[B] the value that ``decide`` returns."""
        return self.decide(public, private, memory).value

    @property
    def central_numbers(self) -> int:
        """S, the numbers of ``central``."""
        return self.encoding.private_size + _alone_size(self.encoding)

    def central(
        self, public: Tensor, private: Tensor, prepared: tuple[Tensor, ...], seat: Tensor
    ) -> Tensor:
        """[B, S] what a critic reads that sees all hands, where ``seat`` [B] is to move.

        ``public`` [P or 1, B, N] and ``private`` [P, B, ...] are every seat's, ``prepared`` is the
        mover's. By default what the seat sees, then the cards that the seat before it sees.
        """
        rows = torch.arange(len(seat), device=seat.device)

        def of(parts: Tensor, whose: Tensor) -> Tensor:
            return parts[0] if len(parts) == 1 else parts[whose, rows]

        before = (seat - 1) % len(private)
        own = self.encoding.expand_private(of(public, seat), of(private, seat))
        other = self.encoding.expand_alone(of(public, before), of(private, before))
        return torch.cat([own, other], 1)


def _alone_size(encoding: Encoding) -> int:
    return len(range(encoding.private_size)[encoding.alone])


class LearnsBelief(Network, ABC):
    """A network whose memory is a belief that learns from what cards were."""

    cell: nn.Module
    """The layers that learn it, and nothing else."""

    @abstractmethod
    def belief_loss(
        self, public: Tensor, private: Tensor, memory: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross entropy a card, in nats, of beliefs after an event; and figures to log.

        Of the cards that the mover saw, one event at a time: ``memory`` [B, M] before it is given.
        ``public`` [B, N] is after it, as is ``private`` [P or 2, B, ...], of all seats or of two,
        who see all cards between them.
        """


class PlaysOn(Network, ABC):
    """A network that plays worlds of native Hanabi on by a compiled loop, on a CPU.

    It chooses the moves that its policy chooses view by view, greedily at every seat. And it says
    for many hands of another seat whether it would make a given move.
    """

    @abstractmethod
    def play_on(self, rows: NDArray[np.int32], memory: NDArray[Any], depth: int | None) -> None:
        """Plays worlds [B, W] in place, to the end or for ``depth`` moves.

        ``memory`` [B, M] is the one of all seats, kept up to date but for games that end. Raises
        ContractError where logits are no numbers.
        """

    @abstractmethod
    def chooses(
        self,
        public: NDArray[Any],
        private: NDArray[Any],
        memory: NDArray[Any],
        seat: int,
        hands: NDArray[Any],
        action: int,
    ) -> BoolArray:
        """[N] whether ``action`` is the move played if ``seat`` holds each of ``hands`` [N].

        Hands have five bits a card, oldest lowest. ``public``, ``private`` and ``memory`` are one
        row each, of the seat to move, under one of the hands. Raises as ``play_on``.
        """


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Weights made inside follow from ``seed``; PyTorch's global generator is left as it was."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        yield


def first_line(error: Exception) -> str:
    """What an error of PyTorch says, without its details."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) or type(error).__name__


class _TooManyNumbers(Exception):
    """A module has more parameters than it may."""


@contextmanager
def _at_most(most: int) -> Iterator[None]:
    """Modules that this thread makes inside have at most so many numbers in all.

    Raises _TooManyNumbers as a parameter is made, before its numbers take memory.
    """
    thread, made = threading.get_ident(), 0

    def count(module: nn.Module, name: str, parameter: Any) -> None:
        nonlocal made
        if parameter is not None and threading.get_ident() == thread:
            made += parameter.numel()
            if made > most:
                raise _TooManyNumbers

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


SLACK = 1 << 22  # numbers that a module may have beyond those of a file: 16 MiB


def built(make: Callable[[], M]) -> M:
    """The module that ``make`` makes. Raises ConfigError for one of more than MOST_NUMBERS."""
    try:
        with _at_most(MOST_NUMBERS):
            return make()
    except _TooManyNumbers:
        raise ConfigError(
            f"a network must have at most {MOST_NUMBERS:,} numbers, got sizes that make more"
        ) from None


def with_tensors(make: Callable[[], M], tensors: Mapping[str, Tensor]) -> M:
    """The same with the tensors of a file. None is made that the file has no numbers for.

    Raises RuntimeError or ValueError where they do not fit.
    """
    try:
        # Not the exact number: what lacks a tensor is named below.
        with _at_most(2 * sum(x.numel() for x in tensors.values()) + SLACK):
            module = make()
    except _TooManyNumbers:
        raise ValueError("it must have a number for each of its network's, got far fewer") from None
    shapes = {name: tuple(x.shape) for name, x in module.state_dict().items()}
    given = {name: tuple(x.shape) for name, x in tensors.items()}
    for name in (*shapes, *given):
        if name not in given or name not in shapes:
            raise ValueError(f"{name} {'is missing' if name in shapes else 'is no part of it'}")
        if shapes[name] != given[name]:
            raise ValueError(
                f"{name} must be of shape {list(shapes[name])}, got {list(given[name])}"
            )
    module.load_state_dict(tensors)
    return module


def require_options(what: str, make: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raises ConfigError for an option that ``make`` does not take beside its first argument."""
    known = list(signature(make).parameters)[1:]
    for option in options:
        if option not in known:
            guess = did_you_mean(option, known)
            raise ConfigError(f"options of {what} are {', '.join(known)}, got {option!r}{guess}")


def require_sizes(**sizes: Any) -> None:
    """Raises ConfigError unless all are integers from 1 to MOST_OF_A_SIZE."""
    for name, value in sizes.items():
        require_integer(name, value, 1, MOST_OF_A_SIZE)


def layers(*sizes: int) -> nn.Sequential:
    """Linear layers with a ReLU after each."""
    parts: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        parts += [nn.Linear(before, after), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts)


class SharedScorer(nn.Module):
    """The same layers for every row of a table [B, K, F]; they also read a context [B, C].

    Each of the K rows has a bias of its own, so that layers can tell first from last.
    """

    def __init__(self, context: int, rows: int, features: int, *sizes: int) -> None:
        super().__init__()
        self.context = nn.Linear(context, sizes[0], bias=False)
        self.features = nn.Linear(features, sizes[0])
        self.rows = nn.Parameter(torch.zeros(rows, sizes[0]))
        self.rest = layers(*sizes)

    def forward(self, context: Tensor, rows: Tensor) -> Tensor:
        if rows.device.type == "cpu" and not torch.is_grad_enabled():
            n, k = rows.shape[:2]
            at = np.stack([np.repeat(np.arange(n), k), np.tile(np.arange(k), n)], 1)
            return self.apart(context, rows.flatten(0, 1), at).unflatten(0, (n, k))
        hidden = self.features(rows) + self.context(context).unsqueeze(1) + self.rows
        return self.rest(torch.relu(hidden))

    def apart(self, context: Tensor, rows: Tensor, at: NDArray[np.int64]) -> Tensor:
        """Rows [m, F] one by one; ``at`` [m, 2 or more]: each one's table, and its place there.

        On a processor, where one kernel does what tensors need five passes for.
        """
        hidden = self.features(rows)
        if torch.is_grad_enabled():
            whose, which = torch.from_numpy(at[:, 0]), torch.from_numpy(at[:, 1])
            hidden = torch.relu(hidden + self.context(context)[whose] + self.rows[which])
        else:
            around, places = self.context(context).numpy(), self.rows.detach().numpy()
            add_context(hidden.numpy(), around, places, at)
        return self.rest(hidden)
