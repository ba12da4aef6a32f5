"""Policies made of any function or PyTorch module of observations and legal moves.

``from_callable`` makes them. Letters in shapes: B worlds in a batch, A actions.

A recurrent function reads each observation once, when the seat gets it. Its output is kept in the
memory beside the new state, and ``act`` looks it up.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    HanabiSearchError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import (
    Combination,
    Memory,
    Policy,
    Value,
    sample_actions,
    take,
)
from hanabi_search_plugin.core.require import class_given, require_flag, require_integer
from hanabi_search_plugin.core.settings import named_arguments
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.policies.recurrent import (
    Start,
    State,
    filled,
    leaves_of,
    like_leaf,
    put,
    require_fit,
    structure,
)
from hanabi_search_plugin.policies.tensor_leaves import (
    Leaf,
    as_array,
    contiguous,
    copied,
    home,
    is_module,
    load_torch,
    move_axis,
    run_module,
    stack,
)

Returns = Literal["actions", "logits", "probabilities"]
Sees = Literal["all", "own turns"]

SUM_TOLERANCE = 0.01  # that probabilities may miss a sum of 1 by: half precision misses by less

LIBRARIES = (  # a library, a class of it, and the wrapper that takes its kind
    ("stable_baselines3", "BaseAlgorithm", "stable_baselines3"),
    ("stable_baselines3", "BasePolicy", "stable_baselines3"),
    ("ray", "RLModule", "rllib"),
    ("tianshou", "Policy", "tianshou"),
    ("tianshou", "Algorithm", "tianshou"),
)


@named_arguments()
def from_callable(
    f: Callable[..., Any],
    *,
    returns: Returns,
    encoding: str | None = None,
    initial_state: State | Callable[[int], State] = None,
    state_axis: int = 0,
    sees: Sees = "all",
    batched: bool = True,
    greedy: bool = False,
    temperature: float = 1.0,
    values: Callable[..., Any] | None = None,
    combine: Combination = "mover",
) -> CallablePolicy:
    """Make a policy that plays by ``f(obs, mask)``; ``f`` is kept, never copied.

    ``obs`` [B, ...] is the seat's observation in ``encoding`` (by default the game's first),
    ``mask`` bool [B, A] its legal moves. A function or module that takes one argument less, as
    ``torch.nn.Linear`` does, is called without ``mask``. With ``batched=False`` both come for one
    world at a time, without B. ``returns`` says what ``f`` returns, as an array or a tensor:

    * ``"actions"`` [B]: the policy is deterministic;
    * ``"logits"`` [B, A]: it is stochastic, by the softmax over the legal moves of the logits
      divided by ``temperature``;
    * ``"probabilities"`` [B, A]: it is stochastic; each row sums to 1, over all moves or the legal
      ones. Those of illegal moves are ignored, and the rest is scaled.

    With ``greedy`` the likeliest legal move is played, for logits and probabilities.

    With an ``initial_state`` the function is recurrent: ``f(obs, mask, state) -> (output, state)``.
    A state is an array or a tensor, or tuples, lists and dicts of them, with the batch on
    ``state_axis`` (1 for the states of ``torch.nn.LSTM``) and types that do not change.
    ``initial_state`` is that of one game, without the axis of the batch, or a function of the batch
    size. The function is called for every observation that the seat gets; where another seat is to
    move, ``mask`` is all False and the output is ignored. With ``sees="own turns"`` it is called
    only for observations at which the seat is to move.

    With ``values`` the policy is a ``policy.Value``, by which searches cut rollouts short
    (``Lbs(depth=...)``): ``values(obs, mask)`` gives what the seat still gets from here on, [B] or
    [B, 1], in score points, not discounted; what has been scored is not counted again. Of a
    recurrent function it is ``values(obs, mask, state)``, with the state that ``f`` is given beside
    the same observation, and called as often. ``combine`` says how the seats' values make one:
    "mover", the value of the player to move, for values that were learned at the seat's own turns
    and games of identical rewards; "mean" or "sum" of all seats', for values that hold at any time;
    or "central", that of the searching seat alone, whose partners then need none.

    A PyTorch module gets tensors on its device, observations in its dtype, and runs in evaluation
    mode without gradients, one thread at a time. Its flags and the global generators are left
    unchanged. States in tensors stay tensors. The last digits of a network's output vary with the
    batch, so that a ``greedy`` policy may break near ties differently in another batch; a belief
    with some ``epsilon`` tolerates that.

    Raises ConfigError for options that do not fit together, UnsupportedError for models of RL
    libraries, which their wrappers take. The policy raises UnsupportedError if a
    game lacks the encoding, and ContractError if ``f`` does not return what is described here.
    """
    _require_option("returns", returns, get_args(Returns))
    _require_option("sees", sees, get_args(Sees))
    _require_function(f)
    for name, flag in (("batched", batched), ("greedy", greedy)):
        require_flag(name, flag)
    require_integer("state_axis", state_axis, 0)
    if encoding is not None and not isinstance(encoding, str):
        raise ConfigError(f"encoding must be a name, or None, got {encoding!r}")
    if not (isinstance(temperature, (int, float)) and 0 < temperature < math.inf):
        raise ConfigError(f"temperature must be a positive number, got {temperature!r}")
    if temperature != 1.0 and returns != "logits":
        raise ConfigError(f"temperature must be 1 where f returns {returns}, got {temperature}")
    if greedy and returns == "actions":
        raise ConfigError("greedy must be False where f returns actions, got True")
    if not batched and (state_axis != 0 or callable(initial_state)):
        raise ConfigError(
            "batched must be True where the state has a state_axis or is a function of the batch "
            "size, got False"
        )
    _require_option("combine", combine, get_args(Combination))
    if values is not None and not callable(values):
        raise ConfigError(f"values must be callable, got {type(values).__name__}")
    recurrent = initial_state is not None
    _require_call("f", f, recurrent)
    if values is not None:
        _require_call("values", values, recurrent)
    if values is not None and recurrent and sees == "own turns" and combine != "mover":
        raise ConfigError(
            f"combine must be 'mover' where a state sees own turns alone, got {combine!r}"
        )
    output = _Output(_name_of(f), returns, greedy, float(temperature))
    call = _Call(f, _name_of(f), encoding, batched, state_axis, recurrent)
    start = Start.of(f, initial_state, state_axis) if recurrent else None
    if values is None:
        return CallablePolicy(call, output, start, sees)
    valued = _Call(values, _name_of(values), encoding, batched, state_axis, recurrent)
    return ValuedCallable(call, output, start, sees, valued, combine)


class CallablePolicy(Policy):
    """A policy made by ``from_callable``.

    Its memory is None, or for a recurrent function (output, leaves of the state), each with one row
    per world.
    """

    def __init__(self, call: _Call, output: _Output, start: Start | None, sees: Sees) -> None:
        self.deterministic = output.returns == "actions" or output.greedy
        self._call = call
        self._output = output
        self._start = start
        self._sees = sees

    def __repr__(self) -> str:
        return f"<CallablePolicy of {self._call.name}, which returns {self._output.returns}>"

    @property
    def to_have_values(self) -> str:
        """As ``Policy``; a function may say it of itself by an attribute of this name."""
        ours = "from_callable(..., values=g) gives it some: g(obs, mask), [B]"
        return str(getattr(self._call.f, "to_have_values", ours))

    def start(self, view: View) -> Memory:
        if self._start is None:
            return None
        return self._read(view, (self._output.blank(view), self._start.leaves(len(view))))

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return None if self._start is None else self._read(view, memory)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        output = self._output_at(view, legal, memory)
        if self._output.returns == "actions":
            return self._output.actions(output, legal)
        chance = self._output.chance(output, legal)
        return chance.argmax(axis=1) if self._output.greedy else sample_actions(chance, rng)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        if self.deterministic:
            return super().probabilities(view, legal, memory)
        return self._output.chance(self._output_at(view, legal, memory), legal)

    def preferences(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        if self._output.returns == "actions":
            return super().preferences(view, legal, memory)
        return self._output.chance(self._output_at(view, legal, memory), legal)

    def _output_at(self, view: View, legal: BoolArray, memory: Memory) -> NDArray[Any]:
        """The function's output at a decision, [B] or [B, A]."""
        expected = (len(view), view.game.num_actions)
        if legal.shape != expected:
            raise ContractError(f"legal moves must be of shape {expected}, got {legal.shape}")
        if self._start is not None:
            output: NDArray[Any] = memory[0]
            return output
        if len(view) == 0:
            return self._output.blank(view)
        return self._output.checked(self._call.plain(view, legal), view)

    def _seen(self, view: View) -> IntArray:
        """The rows of ``view`` that the function is to see."""
        if self._sees == "own turns":
            return np.flatnonzero(view.current_player == view.player)
        return np.arange(len(view))

    def _read(self, view: View, memory: Memory) -> Memory:
        """The memory after the observations of ``view`` that the function is to see."""
        assert self._start is not None
        output, leaves = memory
        rows = self._seen(view)
        if len(rows) == 0:
            return output, leaves
        if len(rows) < len(view):
            view = view.select(rows)
        fresh_output, fresh = self._call.recurrent(view, self._start, take(leaves, rows))
        after = output.copy()
        after[rows] = self._output.checked(fresh_output, view)
        return after, tuple(put(*pair, rows) for pair in zip(leaves, fresh, strict=True))


class ValuedCallable(CallablePolicy, Value):
    """A policy made by ``from_callable`` with ``values``.

    The memory of a recurrent one holds the value of the latest observation, too.
    """

    combine: Combination = "mover"
    recorded_as = "CallablePolicy"  # in the headers of runs: values are no part of what it plays

    def __init__(
        self,
        call: _Call,
        output: _Output,
        start: Start | None,
        sees: Sees,
        values: _Call,
        combine: Combination,
    ) -> None:
        super().__init__(call, output, start, sees)
        self._values = values
        if combine != type(self).combine:
            self.combine = combine

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, with the values of {self._values.name}>"

    def value(self, view: View, memory: Memory) -> FloatArray:
        if len(view) == 0:
            return np.zeros(0)
        if self._start is not None:
            found: FloatArray = memory[2]
            return found
        return self._checked(self._values.plain(view, view.legal), len(view))

    def _read(self, view: View, memory: Memory) -> Memory:
        assert self._start is not None
        output, leaves, *before = memory
        after = super()._read(view, (output, leaves))
        values = before[0].copy() if before else np.zeros(len(view))
        rows = self._seen(view)
        if len(rows):
            seen = view.select(rows) if len(rows) < len(view) else view
            given = self._values.with_state(seen, self._start, take(leaves, rows))
            values[rows] = self._checked(given, len(rows))
        return (*after, values)

    def _checked(self, values: Any, size: int) -> FloatArray:
        """[B] of what came. Raises ContractError for other shapes and for what is not finite."""
        array = as_array(values)
        if array.shape == (size, 1):
            array = array[:, 0]
        name = self._values.name
        if array.shape != (size,) or array.dtype.kind not in "fiu":
            raise ContractError(
                f"{name} must return values [B] of shape ({size},) in numbers, got {array.dtype} "
                f"of shape {array.shape}"
            )
        if not np.isfinite(array).all():
            wrong = array[~np.isfinite(array)]
            raise ContractError(
                f"{name} must return finite values, got {wrong[0]} in {len(wrong)} of "
                f"{counted(size, 'world')}"
            )
        return array.astype(np.float64)


# ------------------------------------------------------------------------ the output


@dataclass(frozen=True)
class _Output:
    """How the output of a function is checked and turned into moves."""

    name: str
    returns: Returns
    greedy: bool
    temperature: float

    def blank(self, view: View) -> NDArray[Any]:
        """The output of the right shape before the first call: all 0."""
        if self.returns == "actions":
            return np.zeros(len(view), dtype=np.int64)
        return np.zeros((len(view), view.game.num_actions))

    def checked(self, output: Any, view: View) -> NDArray[Any]:
        """A copy of the output as an array; raises ContractError for a wrong shape or type."""
        blank = self.blank(view)
        letters = "[B]" if self.returns == "actions" else "[B, A]"
        wanted = f"{self.name} must return {self.returns} {letters} of shape {blank.shape}"
        if output is None or isinstance(output, (tuple, dict)):
            hint = " (a state may come with it where there is an initial_state)"
            raise ContractError(f"{wanted}, got {structure(output)}{hint}")
        array = as_array(output)
        if array.shape != blank.shape:
            raise ContractError(f"{wanted}, got {array.shape}")
        if array.dtype.kind not in ("iu" if self.returns == "actions" else "fiub"):
            kind = "integers" if self.returns == "actions" else "numbers"
            raise ContractError(f"{wanted} in {kind}, got {array.dtype}")
        return array.astype(blank.dtype)

    def actions(self, actions: IntArray, legal: BoolArray) -> IntArray:
        """[B] a copy of the actions; raises ContractError unless all are legal."""
        known = (actions >= 0) & (actions < legal.shape[1])
        fine = known & legal[np.arange(len(actions)), np.where(known, actions, 0)]
        if not fine.all():
            b = int(fine.argmin())
            allowed = np.flatnonzero(legal[b]).tolist()
            raise ContractError(
                f"{self.name} must choose one of the legal actions {allowed}, got {actions[b]}"
            )
        return actions.copy()

    def chance(self, output: FloatArray, legal: BoolArray) -> FloatArray:
        """[B, A] the probabilities: 0 for illegal moves, summing to 1."""
        if self.returns == "logits":
            right = (output < np.inf).all(axis=1)  # neither inf nor NaN
            right &= (legal & (output > -np.inf)).any(axis=1)
            self._require(right, "finite for some legal move and never NaN or inf", output, legal)
            score = np.where(legal, output, -np.inf)
            with np.errstate(over="ignore"):  # to -inf, which is right
                weight = np.exp((score - score.max(axis=1, keepdims=True)) / self.temperature)
        else:
            weight = np.where(legal, output, 0.0)
            right = np.isfinite(output).all(axis=1) & (output >= 0).all(axis=1)
            right &= (weight > 0).any(axis=1)
            self._require(
                right, "finite, not negative, and positive for some legal move", output, legal
            )
            with np.errstate(over="ignore"):  # to inf, which is no sum of 1
                sums = np.stack([output.sum(axis=1), weight.sum(axis=1)])  # [2, B] of all, of legal
            self._require_sum((abs(sums - 1.0) <= SUM_TOLERANCE).any(axis=0), sums[0])
            weight /= weight.max(axis=1, keepdims=True)  # those of legal moves may be tiny
        return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)

    def _require(self, right: Any, what: str, output: FloatArray, legal: BoolArray) -> None:
        if not right.all():
            b = int(right.argmin())
            allowed = np.flatnonzero(legal[b]).tolist()
            raise ContractError(
                f"{self.name} must return {self.returns} that are {what}, got "
                f"{output[b].tolist()} where the legal actions are {allowed}"
            )

    def _require_sum(self, right: Any, sums: FloatArray) -> None:
        if not right.all():
            raise ContractError(
                f"{self.name} must return probabilities that sum to 1 in each row, got a row that "
                f"sums to {sums[int(right.argmin())]:g}: divide by the sum, or give "
                'returns="logits"'
            )


# ---------------------------------------------------------------------- the function


@dataclass(frozen=True)
class _Call:
    """A function and how it is called. It gets copies of masks and states and may write on them."""

    f: Callable[..., Any]
    name: str
    encoding: str | None
    batched: bool
    axis: int
    given_state: bool

    @cached_property
    def masked(self) -> bool:
        """Whether the function takes legal moves: not if it has room for one argument less."""
        return not _takes_only(self.f, 2 if self.given_state else 1)

    def plain(self, view: View, legal: BoolArray) -> Any:
        """The output of a function without a state."""
        obs, mask = self._inputs(view, legal)
        if self.batched:
            return self._run(obs, mask)
        outputs = [copied(as_array(self._run(obs[b], mask[b]))) for b in range(len(view))]
        return stack(outputs, self.name)

    def with_state(self, view: View, start: Start, leaves: tuple[Leaf, ...]) -> Any:
        """The output of a function that is shown a state and gives none."""
        obs, mask = self._inputs(view, view.legal)
        if self.batched:
            moved = [contiguous(move_axis(leaf, 0, self.axis)) for leaf in leaves]
            return self._run(obs, mask, filled(start.like, iter(copied(leaf) for leaf in moved)))
        outputs = []
        for b in range(len(view)):
            state = filled(start.like, (copied(leaf[b]) for leaf in leaves))
            outputs.append(copied(as_array(self._run(obs[b], mask[b], state))))
        return stack(outputs, self.name)

    def recurrent(self, view: View, start: Start, leaves: tuple[Leaf, ...]) -> tuple[Any, Any]:
        """The output, and the leaves of the new state with the batch first."""
        obs, mask = self._inputs(view, view.legal)
        if self.batched:
            moved = [contiguous(move_axis(leaf, 0, self.axis)) for leaf in leaves]
            output, after = self._pair(self._run(obs, mask, filled(start.like, iter(moved))))
            parts = leaves_of(start.like, after, f"the state of {self.name}")
            pairs = zip(leaves, parts, strict=True)
            fresh = [move_axis(like_leaf(*pair), self.axis, 0, self.name) for pair in pairs]
        else:
            outputs, states = [], []
            for b in range(len(view)):
                state = filled(start.like, (leaf[b] for leaf in leaves))
                one, after = self._pair(self._run(obs[b], mask[b], state))
                outputs.append(copied(as_array(one)))
                parts = leaves_of(start.like, after, f"the state of {self.name}")
                states.append(
                    [copied(like_leaf(*pair)) for pair in zip(leaves, parts, strict=True)]
                )
            output = stack(outputs, self.name)
            fresh = [stack(list(column), self.name) for column in zip(*states, strict=True)]
        for leaf, new in zip(leaves, fresh, strict=True):
            require_fit(leaf, new, self.axis, self.name)
        return output, fresh

    def _pair(self, result: Any) -> tuple[Any, Any]:
        """The output and the new state; raises ContractError unless both were returned."""
        if not isinstance(result, (tuple, list)) or len(result) != 2 or result[1] is None:
            several = isinstance(result, (tuple, list))
            got = f"{len(result)} things" if several else f"a {type(result).__name__}"
            if several and len(result) == 2:
                got = "None for a state"
            raise ContractError(
                f"{self.name} has an initial_state and must return (output, state), got {got}"
            )
        return result[0], result[1]

    def _inputs(self, view: View, legal: BoolArray) -> tuple[Any, Any]:
        """Observations and legal moves, as tensors for a module."""
        names = view.game.encodings
        encoding = self.encoding if self.encoding is not None else next(iter(names), "")
        if encoding not in names:
            raise UnsupportedError(
                f"{self.name} reads the encoding {self.encoding!r}, but {view.game.name} has "
                f"{', '.join(names) or 'none'}"
            )
        obs, mask = view.observation(encoding), legal.copy()
        if not is_module(self.f):
            return obs, mask
        if obs.dtype.kind not in "fiub":
            raise UnsupportedError(
                f"{self.name} is a module and needs an encoding in numbers, got {encoding!r}"
            )
        torch, (device, dtype) = load_torch(), home(self.f)
        return torch.from_numpy(obs).to(device, dtype), torch.from_numpy(mask).to(device)

    def _run(self, *given: Any) -> Any:
        taken = given if self.masked else (given[0], *given[2:])
        try:
            return run_module(self.f, taken) if is_module(self.f) else self.f(*taken)
        except HanabiSearchError:
            raise
        except (TypeError, ValueError, RuntimeError) as error:  # mostly shapes that do not fit
            shapes = " and legal moves of shape ".join(
                str(tuple(a.shape)) for a in given[: 1 + self.masked]
            )
            state = ""
            if len(given) > 2:
                parts = ", ".join(str(tuple(p.shape)) for p in leaves_of(given[2], given[2], ""))
                state = f" with a state of shape {parts}"
                if self.batched:
                    state += f", the batch on axis {self.axis} (state_axis)"
            if isinstance(error, TypeError) and not self.given_state and "missing 1" in str(error):
                error.add_note("where it takes a state, give from_callable initial_state=...")
            error.add_note(
                f"{self.name} was given {given[0].dtype} observations of shape {shapes}{state}"
            )
            raise


def _require_function(f: Any) -> None:
    """Raises ConfigError for what is not callable, UnsupportedError for a model of a library."""
    named = getattr(f, "__name__", "")
    model = getattr(f, "__self__", f) if named == "predict" else f
    kinds = model.__mro__ if isinstance(model, type) else type(model).__mro__
    names = {(kind.__module__.partition(".")[0], kind.__name__) for kind in kinds}
    for library, kind, wrapper in LIBRARIES:
        if (library, kind) in names:
            raise UnsupportedError(
                f"f must be a function of observations, got {_name_of(f)} of {library}: "
                f"wrappers.{wrapper}.as_policy(model, game) makes a policy of one"
            )
    if not callable(f):
        raise ConfigError(f"f must be callable, got {type(f).__name__}")
    if isinstance(f, type):
        raise ConfigError(f"f must be a function or a module, got {class_given(f)}")


def _require_call(name: str, f: Any, recurrent: bool) -> None:
    """Raises ConfigError for a function that takes neither observations and legal moves nor
    observations alone, and a state where there is one."""
    try:
        signature = inspect.signature(f.forward if is_module(f) else f)
    except (AttributeError, TypeError, ValueError):
        return  # it does not say
    state = ", state" if recurrent else ""
    if not any(_fits(signature, n + recurrent) for n in (1, 2)):
        way_out = ""
        if not recurrent and _fits(signature, 3):
            way_out = ": where the third is a state, give initial_state=..., that of one game"
        raise ConfigError(
            f"{name} must be called as {name}(obs, mask{state}) or {name}(obs{state}), got "
            f"{_name_of(f)}{signature}{way_out}"
        )


def _takes_only(f: Any, n: int) -> bool:
    """True for what takes n arguments by position and not one more."""
    try:
        signature = inspect.signature(f.forward if is_module(f) else f)
    except (AttributeError, TypeError, ValueError):
        return False  # it does not say
    return _fits(signature, n) and not _fits(signature, n + 1)


def _fits(signature: inspect.Signature, n: int) -> bool:
    try:
        signature.bind(*range(n))
    except TypeError:
        return False
    return True


def _name_of(f: Any) -> str:
    """The name of a function, with the place of a lambda."""
    name, code = str(getattr(f, "__qualname__", type(f).__name__)), getattr(f, "__code__", None)
    if name.endswith("<lambda>") and code is not None:
        return f"{name} at {Path(code.co_filename).name}:{code.co_firstlineno}"
    return name


def _require_option(name: str, value: Any, options: tuple[str, ...]) -> None:
    if value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ConfigError(f"{name} must be one of {listed}, got {value!r}")
