"""The policy contract: one seat's behaviour, with explicit, forkable, batched memory.

Letters in shapes: B worlds, A actions, P players.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.require import class_given
from hanabi_search_plugin.core.streams import Streams

Memory = Any  # None, an array with a row a world, or a tuple, list or dict of memories


@dataclass(frozen=True)
class Shared:
    """A memory that is the same in every world of the batch: one row, never copied by ``take``."""

    row: Any


def take(memory: Memory, index: NDArray[np.integer | np.bool_]) -> Memory:
    """The memory rows at ``index``, for arrays (and tensors) and containers of them."""
    if memory is None or isinstance(memory, Shared):
        return memory
    if isinstance(memory, tuple):
        return tuple(take(part, index) for part in memory)
    if isinstance(memory, dict):
        return {name: take(part, index) for name, part in memory.items()}
    if isinstance(memory, list):
        where = np.flatnonzero(index) if index.dtype == np.bool_ else index
        return [memory[i] for i in where]
    return memory[index]


def join(parts: Sequence[Memory]) -> Memory:
    """One memory with the rows of all ``parts`` (at least one), for what ``take`` understands.

    Shared memories must be equal; they stay one row.
    """
    first = parts[0]
    if first is None or isinstance(first, Shared):
        return first
    if isinstance(first, tuple):
        return tuple(join(column) for column in zip(*parts, strict=True))
    if isinstance(first, dict):
        return {name: join([part[name] for part in parts]) for name in first}
    if isinstance(first, list):
        return [row for part in parts for row in part]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    return sys.modules["torch"].cat(list(parts))  # a tensor: whoever made it has loaded PyTorch


class Policy(ABC):
    """One seat's behaviour. Configuration lives in the object, a game's state in its memory.

    ``start`` is called with the seat's first view, ``observe`` after **every** event the seat sees,
    its own moves and the others', with the view after it. ``act`` and ``probabilities`` change
    nothing. A list is a container of one entry a world; arrays have a row a world.

    One that declares ``public_memory`` has the same memory in all worlds of one public history:
    beliefs keep it once, and ask the policy about millions of hands in batches.
    """

    deterministic: bool = True
    public_memory: bool = False  # does its memory follow from what everybody sees?

    def __repr__(self) -> str:
        return type(self).__name__

    def start(self, view: View) -> Memory:
        """Memory for a batch of games at their first decision; None: it will never have any."""
        return None

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        """Memory after ``event``; ``view`` is what the seat sees after it.

        The old memory stays as it was: searches observe different moves from the same one.
        """
        return memory

    @abstractmethod
    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        """Actions [B] where this seat is to move. A stochastic policy takes one draw a world."""

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A] probability of each action. Deterministic policies: one-hot of ``act``."""
        if not self.deterministic:
            raise UnsupportedError(
                f"{type(self).__name__} is stochastic and does not give its probabilities"
            )
        actions = self.act(view, legal, memory, Streams(np.zeros(len(view), dtype=np.uint64)))
        chance = np.zeros(legal.shape)
        chance[np.arange(len(view)), actions] = 1.0
        return chance

    def preferences(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A] the higher, the better it likes the move; read where it is legal.

        Its probabilities, or what it knows better. Raises UnsupportedError where it names one move.
        """
        if self.deterministic:
            raise UnsupportedError(
                f"candidates are the moves that the blueprint likes best, but {self!r} is "
                "deterministic and has no preferences"
            )
        return self.probabilities(view, legal, memory)


Blueprint = tuple[Policy, ...]  # one policy a seat


class Value(ABC):
    """A policy that also predicts what is still to come."""

    combine: Literal["sum", "mean", "central"]  # how the seats' values make the team's

    @abstractmethod
    def value(self, view: View, memory: Memory) -> FloatArray:
        """[B] expected remaining return in score points."""

    @property
    def critic_id(self) -> str:
        """What tells its critic from others; "" where it has none."""
        return ""

    def world_value(self, worlds: Worlds, memories: tuple[Memory, ...], seat: int) -> FloatArray:
        """[B] what ``seat`` may expect of worlds that are shown whole, by the critic.

        Everybody plays this policy, which has a ``critic_id``. For worlds that a search has drawn,
        never for an agent's own.
        """
        raise UnsupportedError(f"{self!r} has no critic")


class Proposes(Policy):
    """A policy that also says which moves are worth a look: what a tree is restricted to.

    Its memory is public: the same whatever is hidden, so that it may be kept from any seat's view.
    """

    public_memory = True

    @abstractmethod
    def proposed(self, view: View, legal: BoolArray, memory: Memory) -> BoolArray:
        """[B, A] legal moves worth a look where ``view.player`` is to move; may be none."""


class Estimates(Proposes):
    """One that also says what the moves are worth."""

    @abstractmethod
    def estimates(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A] expected final return of ``view.player``, in score points; read where proposed."""


class Redraws(Proposes):
    """One that draws what a player cannot see by what its conventions let that player conclude."""

    @abstractmethod
    def redraw(self, worlds: Worlds, player: int, memory: Memory, rng: Streams) -> Worlds:
        """As ``Redeterminizes.redeterminize``, but as the moves that were made are understood.

        ``memory`` is this policy's, B rows or one. Where nothing fits the convention, the worlds
        are those of the game.
        """


def sample_actions(chance: FloatArray, rng: Streams) -> IntArray:
    """Actions [B] drawn from probabilities [B, A] by inverse CDF; one draw a world."""
    cumulative = np.cumsum(chance, axis=1)
    draw = rng.uniform() * cumulative[:, -1]
    return np.asarray((cumulative > draw[:, None]).argmax(axis=1), dtype=np.int64)


class UniformPolicy(Policy):
    """Uniform over the legal moves, for any game. One draw a world and act."""

    deterministic = False

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        # The k-th legal action, k = floor(u * legal count): what the compiled twin does, too.
        count = legal.sum(axis=1)
        k = (rng.uniform() * count).astype(np.int64)
        return np.asarray((np.cumsum(legal, axis=1) > k[:, None]).argmax(axis=1), dtype=np.int64)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        return np.asarray(legal / legal.sum(axis=1, keepdims=True), dtype=np.float64)


def memory_from(policy: Policy, history: History) -> Memory:
    """The memory of ``policy`` after a whole history (a batch of one)."""
    memory = policy.start(history.views[0])
    for event, view in zip(history.events, history.views[1:], strict=True):
        memory = policy.observe(view, event, memory)
    return memory


def as_blueprint(policy: Policy | tuple[Policy, ...], num_players: int) -> Blueprint:
    """One policy a seat. Raises UnsupportedError for what is no policy, and for a wrong number."""
    policies = tuple(policy) if isinstance(policy, tuple | list) else (policy,) * num_players
    for each in policies:
        require_policy(each, f"a Policy, or {num_players} of them, one a seat")
    if len(policies) != num_players:
        raise UnsupportedError(f"expected {num_players} policies, one a seat, got {len(policies)}")
    return policies


def require_policy(given: object, expected: str) -> None:
    """Raises UnsupportedError for what is no policy; ``expected`` says what should have come."""
    if isinstance(given, Policy):
        return
    if isinstance(given, type):
        raise UnsupportedError(f"expected {expected}, got {class_given(given)}")
    raise UnsupportedError(
        f"expected {expected}, got a {type(given).__name__}: from_callable makes one of a "
        "function, load_policy of a name, as_policy of what OpenSpiel has"
    )
