"""The states of recurrent functions, for ``callables``: their structure, start and rows.

A memory holds the leaves of a state: arrays or tensors, with the batch first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.policies.tensor_leaves import (
    Leaf,
    as_array,
    copied,
    home,
    is_module,
    is_tensor,
    load_torch,
    move_axis,
)

State = Any  # an array or tensor, or tuples, lists and dicts of them


@dataclass(frozen=True)
class Start:
    """The state of a recurrent function at the start of a game."""

    f: Callable[..., Any]
    given: State | Callable[[int], State]  # of one game, or a function of the batch size
    axis: int  # of the batch
    like: State  # any state, for its structure

    @classmethod
    def of(cls, f: Callable[..., Any], given: Any, axis: int) -> Start:
        """Make it of the user's ``initial_state``. Raises ConfigError if that is not a state."""
        if isinstance(axis, bool) or not isinstance(axis, int) or axis < 0:
            raise ConfigError(f"state_axis must be an integer of at least 0, got {axis!r}")
        like = given(1) if callable(given) else given
        start = cls(f, given, axis, like)
        leaves = start.leaves(2)
        if not leaves:
            raise ConfigError(f"initial_state must hold an array, got {like!r}")
        for leaf in leaves:
            if axis >= leaf.ndim:
                shape = tuple(leaf.shape[1:])
                raise ConfigError(
                    f"state_axis must be from 0 to {leaf.ndim - 1} for a state of shape {shape} in "
                    f"each game, got {axis}"
                )
        return start

    def leaves(self, n: int) -> tuple[Leaf, ...]:
        """Each leaf with n rows."""
        made = callable(self.given)
        state = self.given(n) if made else self.given
        leaves = [self._leaf(leaf) for leaf in leaves_of(self.like, state, "initial_state")]
        if not made:
            return tuple(leaf[None][np.zeros(n, dtype=np.int64)] for leaf in leaves)
        for leaf in leaves:
            if leaf.ndim <= self.axis or leaf.shape[self.axis] != n:
                raise ConfigError(
                    f"initial_state({n}) must have a batch of {n} on axis {self.axis}, got the "
                    f"shape {tuple(leaf.shape)}"
                )
        return tuple(move_axis(leaf, self.axis, 0) for leaf in leaves)

    def _leaf(self, leaf: Any) -> Leaf:
        """The leaf as an array; as a tensor on its device for a module."""
        if not is_tensor(leaf):
            leaf = np.asarray(leaf)
            if leaf.dtype.kind not in "fiub":
                raise ConfigError(f"initial_state must hold numbers, got {leaf.dtype}")
        if not is_module(self.f):
            return leaf
        device, dtype = home(self.f)
        leaf = load_torch().as_tensor(leaf).detach().to(device)
        return leaf.to(dtype) if leaf.is_floating_point() else leaf


def leaves_of(like: State, state: State, name: str) -> Iterator[Leaf]:
    """The leaves of a state. Raises ContractError unless its structure is that of ``like``."""
    if isinstance(like, (tuple, list)):
        if not isinstance(state, (tuple, list)) or len(state) != len(like):
            raise ContractError(f"{name} must be {len(like)} things, got {structure(state)}")
        for part, of in zip(like, state, strict=True):
            yield from leaves_of(part, of, name)
    elif isinstance(like, dict):
        if not isinstance(state, dict) or state.keys() != like.keys():
            raise ContractError(f"{name} must be a dict of {list(like)}, got {structure(state)}")
        for key, part in like.items():
            yield from leaves_of(part, state[key], name)
    elif like is not None:
        if state is None or isinstance(state, (tuple, list, dict)):
            raise ContractError(f"{name} must be an array here, got {structure(state)}")
        yield state
    elif state is not None:
        raise ContractError(f"{name} must be None here, got {structure(state)}")


def filled(like: State, leaves: Iterator[Leaf]) -> State:
    """The state with the structure of ``like`` and these leaves."""
    if isinstance(like, tuple) and hasattr(like, "_fields"):  # a named tuple
        return type(like)(*(filled(part, leaves) for part in like))
    if isinstance(like, (tuple, list)):
        return type(like)(filled(part, leaves) for part in like)
    if isinstance(like, dict):
        return {key: filled(part, leaves) for key, part in like.items()}
    return None if like is None else next(leaves)


def structure(state: State) -> str:
    """The structure of a state in words, for error messages."""
    if isinstance(state, (tuple, list)):
        return f"a {type(state).__name__} of {len(state)}"
    return f"a dict of {list(state)}" if isinstance(state, dict) else f"a {type(state).__name__}"


def like_leaf(leaf: Leaf, new: Any) -> Leaf:
    """``new`` as what ``leaf`` is: an array, or a tensor on the same device."""
    if is_tensor(leaf):
        return load_torch().as_tensor(new).detach().to(leaf.device)
    return as_array(new)


def require_fit(leaf: Leaf, new: Leaf, axis: int, name: str) -> None:
    """Raises ContractError unless ``new`` can replace ``leaf``; both have the batch first."""
    if new.shape != leaf.shape:
        shapes = [tuple(move_axis(part, 0, axis).shape) for part in (leaf, new)]
        raise ContractError(
            f"{name} must return a state of shape {shapes[0]}, with the batch of {len(leaf)} on "
            f"axis {axis}, got {shapes[1]}"
        )
    if is_tensor(leaf):
        fits = load_torch().can_cast(new.dtype, leaf.dtype)
    else:
        fits = np.can_cast(new.dtype, leaf.dtype, "same_kind")
    if not fits:
        raise ContractError(
            f"{name} must return a state that can be kept as {leaf.dtype}, the type of its "
            f"initial_state, got {new.dtype}"
        )


def put(leaf: Leaf, new: Leaf, rows: IntArray) -> Leaf:
    """A copy of a leaf with ``new`` at these rows."""
    after = copied(leaf)
    after[rows] = new
    return after
