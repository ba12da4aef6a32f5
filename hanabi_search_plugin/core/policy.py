"""The policy contract: how one seat plays, with explicit memory that is copied row by row.

``Policy`` is all that a blueprint has to be. The classes at the end of the file add what only some
searches ask for: ``Value`` (rollouts cut short), ``Guide`` and its kinds (tree search).

Letters in shapes: B worlds, A actions, P players.
"""

from __future__ import annotations

import reprlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.error_places import asking
from hanabi_search_plugin.core.errors import ContractError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    History,
    IntArray,
    View,
    Worlds,
)
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.require import class_given
from hanabi_search_plugin.core.streams import Streams, require_streams
from hanabi_search_plugin.core.words import an, counted

# None, an array with one row per world, a list with one entry per world, or a tuple or dict of
# memories.
Memory = Any


@dataclass(frozen=True)
class Shared:
    """A memory that is the same in every world of the batch: one row, which ``take`` keeps."""

    row: Any  #: the memory of one world


def take(memory: Memory, index: NDArray[np.integer | np.bool_]) -> Memory:
    """The rows of a memory at ``index`` (int [N] or bool [B]).

    Understands arrays and tensors [B, ...], lists [B], ``Shared``, None, and tuples and dicts of
    these. ``Shared`` and None have no rows, and stay as they are. Raises IndexError for rows that
    are not there.
    """
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
    """One memory with the rows of all ``parts`` (at least one), in their order.

    Understands what ``take`` does. Parts must have the same structure. ``Shared`` memories must be
    equal in all of them, which is not checked: that of the first stays.
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
    """The behaviour of one seat. The object holds the configuration, a memory the game so far.

    ``start`` is called with the seat's first view; ``observe`` after **every** event, own moves and
    others' alike, with the view after it. ``act`` and ``probabilities`` change nothing.

    One object plays many worlds at once, and searches go back to earlier moves. So what it
    remembers is what ``start`` and ``observe`` return, a row for each world, and nothing on
    ``self``; ``testing.check_policy`` finds what is:

        class Patient(Policy):
            def start(self, view):
                return np.zeros(len(view), dtype=int)  # [B] moves seen

            def observe(self, view, event, memory):
                return memory + 1  # a new array: the old memory stays as it is

            def act(self, view, legal, memory, rng):
                last = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
                return np.where(memory < 6, last, legal.argmax(axis=1))

    What a class of yours may set:

    * ``deterministic`` (True): False if it draws its moves from the stream it is given; then it
      should override ``probabilities``, too
    * ``public_memory`` (False): True if the memory is the same in all worlds of one public history,
      so that beliefs keep it once and ask the policy about many worlds in one batch
    """

    deterministic: bool = True
    public_memory: bool = False

    def __repr__(self) -> str:
        return type(self).__name__

    @property
    def to_have_values(self) -> str:
        """Words for a message: what gives a policy values, where it has none."""
        return "networks have them, and classes of yours that inherit from Value, too"

    def start(self, view: View) -> Memory:
        """The memory [B] at the first decision. A policy that starts with None keeps to None."""
        return None

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        """The memory [B] after ``event``; ``view`` is what the seat sees after it.

        Must leave the old memory unchanged: searches observe different moves from the same memory.
        """
        return memory

    @abstractmethod
    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        """Legal actions [B]; the seat is to move in every world.

        A stochastic policy takes one draw per world from ``rng``, a deterministic one none.
        """

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A] the probability of each action; one-hot for a deterministic policy.

        Raises UnsupportedError for a stochastic policy that does not override it, ContractError for
        one that draws from its stream and does not say that it is stochastic.
        """
        if not self.deterministic:
            raise without_probabilities(self)
        rng = Streams.still(len(view))
        given = self.act(view, legal, memory, rng)
        actions = require_moves(self, given, legal)
        if rng.state.any():
            raise ContractError(
                f"{self!r} draws its moves from rng, yet its class says deterministic = True: set "
                "it to False, and override probabilities(view, legal, memory), which gives [B, A]"
            )
        chance = np.zeros(legal.shape)
        chance[np.arange(len(view)), actions] = 1.0
        return chance

    def preferences(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A] a score of each action, higher for better; only legal actions are read.

        By default the probabilities. Raises UnsupportedError for a deterministic policy, which
        ranks no moves.
        """
        if self.deterministic:
            raise UnsupportedError(
                f"candidates are the moves that the blueprint likes best, but {self!r} is "
                "deterministic and has no preferences"
            )
        return self.probabilities(view, legal, memory)


Blueprint = tuple[Policy, ...]  #: One policy a seat.
TOLERANCE = 1e-5  # that probabilities may miss a sum of 1 by: those of float32 networks do


def sample_actions(chance: FloatArray, rng: Streams) -> IntArray:
    """Actions [B] drawn from probabilities [B, A]; takes one draw per world from ``rng``.

    Raises ContractError for what are no numbers [B, A], for numbers below 0 and for rows that do
    not sum to 1.
    """
    if np.ndim(chance) != 2 or np.asarray(chance).dtype.kind not in "fiub":
        raise ContractError(
            f"probabilities must be numbers [B, A], got {np.asarray(chance).dtype} of shape "
            f"{np.shape(chance)}"
        )
    require_streams(rng, len(chance))
    cumulative = np.cumsum(chance, axis=1)
    right = (abs(cumulative[:, -1] - 1.0) <= TOLERANCE) & (chance >= 0.0).all(axis=1)
    if not right.all():
        raise ContractError(
            "probabilities must be numbers of at least 0 that sum to 1, got "
            f"{chance[int(right.argmin())].tolist()}"
        )
    draw = rng.uniform() * cumulative[:, -1]
    return np.asarray((cumulative > draw[:, None]).argmax(axis=1), dtype=np.int64)


class UniformPolicy(Policy):
    """The uniform policy over the legal moves of any game; ``act`` takes one draw per world."""

    deterministic = False

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        require_streams(rng, len(legal))
        # The k-th legal action, k = floor(u * legal count): as compiled loops choose it, too.
        count = legal.sum(axis=1)
        if not count.all():
            raise IllegalActionError(
                f"no action is legal in world {int(count.argmin())}, where the game is over or "
                "another seat is to move: worlds.current_player tells whose turn it is"
            )
        k = (rng.uniform() * count).astype(np.int64)
        return np.asarray((np.cumsum(legal, axis=1) > k[:, None]).argmax(axis=1), dtype=np.int64)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        count = legal.sum(axis=1, keepdims=True)  # 0 where the seat is not to move
        return np.asarray(legal / np.maximum(count, 1), dtype=np.float64)


def lacks_probabilities(policy: Policy) -> bool:
    """True for a stochastic policy that does not override ``probabilities``."""
    return not policy.deterministic and type(policy).probabilities is Policy.probabilities


def without_probabilities(policy: Policy) -> UnsupportedError:
    """The error where a policy is asked for probabilities and ``lacks_probabilities``."""
    return UnsupportedError(
        f"{policy!r} is stochastic and does not give its probabilities, which whoever follows its "
        "moves must know: override probabilities(view, legal, memory), which gives [B, A]"
    )


# What policies answer comes in here, and is checked before anything is made of it.


def started(policy: Policy, view: View) -> Memory:
    """[B] the memory of ``policy`` at its first view. Raises as ``require_rows`` and ``asking``."""
    with asking(policy, view.player, "start"):
        memory = policy.start(view)
    return require_rows(policy, view, "start", memory)


def require_rows(policy: Policy, view: View, method: str, memory: Memory) -> Memory:
    """``memory``, which ``method`` gave. Raises ContractError unless it has a row a world."""
    for part in _parts(memory):
        try:
            rows = len(part)
        except TypeError:
            rows = None
        if rows != len(view) or isinstance(part, str | set):
            raise ContractError(
                f"{type(policy).__name__} at seat {view.player}: {method} must give None or a "
                f"memory with a row for each of {counted(len(view), 'world')}, got "
                f"{reprlib.repr(part)}"
            )
    return memory


def _parts(memory: Memory) -> Iterator[Any]:
    """What has a row a world."""
    if isinstance(memory, tuple | dict):
        for part in memory.values() if isinstance(memory, dict) else memory:
            yield from _parts(part)
    elif memory is not None and not isinstance(memory, Shared):
        yield memory


def observes(policy: Policy) -> bool:
    """False for a policy that keeps its memory as it is, whatever happens."""
    return getattr(policy.observe, "__func__", None) is not Policy.observe


def observed(policy: Policy, view: View, event: Event, memory: Memory) -> Memory:
    """[B] the memory of ``policy`` after an event. Raises as ``asking``."""
    with asking(policy, view.player, "observe"):
        return policy.observe(view, event, memory)


def moves_of(policy: Policy, view: View, memory: Memory, rng: Streams) -> IntArray:
    """[B] what ``policy``, which is to move, plays. Raises as ``require_moves`` and ``asking``."""
    legal = view.legal
    with asking(policy, view.player, "act"):
        return require_moves(policy, policy.act(view, legal, memory, rng), legal)


def probabilities_of(policy: Policy, view: View, memory: Memory) -> FloatArray:
    """[B, A] the probabilities of ``policy``, which is to move.

    Raises ContractError unless they are numbers of at least 0 that sum to 1, none of them of an
    illegal action, and as ``asking``; UnsupportedError where it does not give any.
    """
    legal = view.legal
    with asking(policy, view.player, "probabilities"):
        given = policy.probabilities(view, legal, memory)
        chance = _numbers(policy, "give probabilities as", given, legal.shape)
        right = (chance >= 0).all(axis=1) & (abs(chance.sum(axis=1) - 1.0) <= TOLERANCE)
        right &= (chance <= TOLERANCE).all(axis=1, where=~legal)
        right |= ~legal.any(axis=1)  # not to move there
        if not right.all():
            b = int(right.argmin())
            raise ContractError(
                f"{policy!r} must give probabilities of at least 0 that sum to 1 over the legal "
                f"actions {np.flatnonzero(legal[b]).tolist()}, got {chance[b].tolist()}"
            )
        return chance


def preferences_of(policy: Policy, view: View, memory: Memory) -> FloatArray:
    """[B, A] how ``policy``, which is to move, likes the actions.

    Raises ContractError for what are no numbers and for nan of a legal action, and as ``asking``;
    UnsupportedError where it ranks no moves.
    """
    legal = view.legal
    with asking(policy, view.player, "preferences"):
        given = policy.preferences(view, legal, memory)
        liked = _numbers(policy, "prefer actions by", given, legal.shape)
        if np.isnan(liked, where=legal, out=np.zeros(liked.shape, dtype=np.bool_)).any():
            raise ContractError(f"{policy!r} must prefer actions by numbers, got {liked.tolist()}")
        return liked


def _numbers(policy: object, what: str, given: object, shape: tuple[int, ...]) -> FloatArray:
    """``given`` as floats of this shape. Raises ContractError for other things."""
    numbers = _array(policy, f"{what} numbers of shape {shape}", given)
    if numbers.dtype.kind not in "fiub" or numbers.shape != shape:
        raise ContractError(
            f"{policy!r} must {what} numbers of shape {shape}, got {numbers.dtype} of shape "
            f"{numbers.shape}"
        )
    return numbers.astype(np.float64, copy=False)


def _array(policy: object, what: str, given: object) -> NDArray[Any]:
    """``given`` as an array. Raises ContractError for what cannot be one."""
    try:
        return np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # rows of unequal length; a tensor
        raise ContractError(f"{policy!r} must {what}, got {given!r}: {error}") from error


def require_moves(policy: Policy, given: object, legal: BoolArray) -> IntArray:
    """``given`` as actions [B], all in ``legal`` [B, A].

    Raises ContractError for what are no integers, one a world, IllegalActionError for the rest.
    """
    size = len(legal)
    wanted = f"act in integers, one for each of {counted(size, 'world')}"
    actions = _array(policy, wanted, given)
    if actions.dtype.kind not in "iu" or actions.shape != (size,):
        came = f"{actions.dtype} of shape {actions.shape}" if actions.ndim else repr(given)
        raise ContractError(f"{policy!r} must {wanted}, got {came}")
    known = (actions >= 0) & (actions < legal.shape[1])
    right = known & legal[np.arange(size), np.where(known, actions, 0)]
    if not right.all():
        b = int(right.argmin())
        raise IllegalActionError(
            f"{policy!r} must play one of the legal actions {np.flatnonzero(legal[b]).tolist()}, "
            f"which act is given as legal, got {actions[b]}"
        )
    return actions


def memory_from(policy: Policy, history: History) -> Memory:
    """The memory of ``policy`` at the end of a history."""
    memory = started(policy, history.views[0])
    for event, view in zip(history.events, history.views[1:], strict=True):
        memory = observed(policy, view, event, memory)
    return memory


def as_blueprint(policy: Policy | tuple[Policy, ...], num_players: int) -> Blueprint:
    """One policy a seat. Raises UnsupportedError for what is no policy, and for a wrong number."""
    policies = tuple(policy) if isinstance(policy, tuple | list) else (policy,) * num_players
    for each in policies:
        require_policy(each, f"a Policy, or {num_players} of them, one a seat")
    if len(policies) != num_players:
        raise UnsupportedError(
            f"expected {counted(num_players, 'policy', 'policies')}, one a seat, "
            f"got {len(policies)}"
        )
    return policies


def require_policy(given: object, expected: str) -> None:
    """Raises UnsupportedError for what is no policy; ``expected`` says what should have come."""
    if isinstance(given, Policy):
        return
    if isinstance(given, type):
        raise UnsupportedError(f"expected {expected}, got {class_given(given)}")
    if isinstance(given, Value):
        name = type(given).__name__
        raise UnsupportedError(
            f"expected {expected}, got {an(name)}, which has values and does not act: inherit from "
            f"Policy, too, as in class {name}(Policy, Value)"
        )
    raise UnsupportedError(
        f"expected {expected}, got {an(type(given).__name__)}: from_callable makes one of a "
        "function or a torch module, load_policy of a name, and as_policy of wrappers.openspiel, "
        ".stable_baselines3, .rllib or .tianshou of what these frameworks have"
    )


# ------------------------------------------------------------- what only some searches ask for


def values_of(policy: Value, view: View, memory: Memory) -> FloatArray:
    """[B] what ``policy`` says is still to come. Raises ContractError unless that is finite."""
    with asking(policy, view.player, "value"):
        return require_values(policy, policy.value(view, memory), len(view))


def require_values(policy: Value, given: object, size: int) -> FloatArray:
    """``given`` as values [size]. Raises ContractError unless they are finite numbers."""
    values = _numbers(policy, "give values as", given, (size,))
    if not np.isfinite(values).all():
        raise ContractError(f"{policy!r} must give finite values, got {values.tolist()}")
    return values


def has_values(policy: Policy) -> TypeGuard[Value]:
    """Does ``policy`` estimate returns?"""
    return isinstance(policy, Value) and policy.has_values


Combination = Literal["sum", "mean", "central", "mover"]
"""How values make one estimate of a seat's remaining return: the sum or the mean of all seats'
values, that of the seat itself, or that of the player to move, in games of identical rewards."""


def require_combinations(policies: Sequence[Policy]) -> None:
    """Raises ContractError for a policy whose values combine in no way that there is."""
    known = get_args(Combination)
    for policy in policies:
        if isinstance(policy, Value) and policy.combine not in known:
            raise ContractError(
                f"combine of {policy!r} must be one of {', '.join(known)}, got {policy.combine!r}"
                f"{did_you_mean(policy.combine, known)}"
            )


class Value(ABC):
    """What a policy inherits from, beside ``Policy``, to estimate returns, so that rollouts can be
    cut short:

        class Careful(Policy, Value):
            combine = "mean"  # "mover" where it is not set

            def act(self, view, legal, memory, rng):
                return legal.argmax(axis=1)

            def value(self, view, memory):
                return np.full(len(view), 3.0)  # points that are still to come

        upgrade(Careful(), game, Sparta(depth=4))

    ``combine`` says how the values of the seats make one estimate: "mover", that of the player to
    move, in games of identical rewards; "sum" or "mean" of all seats'; "central", that of the
    searching seat alone, in games of any rewards.
    """

    combine: Combination = "mover"  #: how the values of the seats make one estimate

    @property
    def has_values(self) -> bool:
        """False for one of a kind with values that has none itself, as a network that imitates."""
        return True

    @abstractmethod
    def value(self, view: View, memory: Memory) -> FloatArray:
        """[B] expected remaining return of the view's player, in score points."""

    @property
    def critic_id(self) -> str:
        """An identifier of the policy's critic; "" if it has none."""
        return ""

    def world_value(self, worlds: Worlds, memories: tuple[Memory, ...], seat: int) -> FloatArray:
        """[B] expected remaining return of ``seat`` if all seats play this policy.

        The critic sees complete worlds: it judges worlds that a search has drawn, and an agent
        never asks it about the true one. Raises UnsupportedError where there is no critic.
        """
        raise UnsupportedError(f"{self!r} has no critic")


class Guide(Policy):
    """A policy that also says which moves are worth trying, to narrow a search tree.

    Its memory is public, the same whatever is hidden, so a search may keep it from any seat's view.
    """

    public_memory = True

    @abstractmethod
    def proposed(self, view: View, legal: BoolArray, memory: Memory) -> BoolArray:
        """[B, A] True for legal moves worth trying by ``view.player``, to move; may be none."""


class EstimatingGuide(Guide):
    """A guide that also estimates the return of each move: the priors of a search tree."""

    @abstractmethod
    def estimates(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A] expected final return of ``view.player``, in score points.

        Only proposed moves are read.
        """


class RedrawingGuide(Guide):
    """A guide that draws what a player cannot see, given what conventions tell that player."""

    @abstractmethod
    def redraw(self, worlds: Worlds, player: int, memory: Memory, rng: Streams) -> Worlds:
        """As ``Redeterminizes.redeterminize``, but the moves so far are read by the conventions.

        ``memory`` is the guide's, B rows or one. A world in which nothing fits the conventions is
        drawn as the game would draw it.
        """
