"""Agents that play by a small learned network (arXiv:1902.06075, section VI).

``EvalFn`` values the moves that rules propose and makes the best; ``RuleClassifier`` picks a rule
directly. Both are compiled bots, and an ``EvalFn`` is a guide of tree searches with estimates.
``hanabi-search train evalfn`` trains their networks; those that come with the package are in
``weights/``. Letters: B worlds, A actions, F features, H hidden units, K outputs.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import EstimatingGuide, Memory
from hanabi_search_plugin.core.require import unknown
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.evaluation.tensor_files import read_tensors
from hanabi_search_plugin.hanabi.bots import action_rules as ops
from hanabi_search_plugin.hanabi.bots import features, value_kernels
from hanabi_search_plugin.hanabi.bots.compiled import Routines, _native
from hanabi_search_plugin.hanabi.bots.features import FEATURES
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import (
    SHIPPED_EVALUATION,
    TABLE_II,
    Convention,
    Rule,
    named_rules,
)
from hanabi_search_plugin.hanabi.bots.value_kernels import ALL_MOVES, HIDDEN
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, Rows

STATE_FEATURES = np.delete(np.arange(FEATURES), features.ACTION)
"""The features that are not of an action: what the rule classifier reads."""

SHIPPED = ("evalfn-1", "evalfn-2", "evalfn-3", "evalfn-3-roots", "rules")
"""The networks that come with the package: three stages of the evaluation function, the third of a
longer training, from the roots of its trees, and rules."""

TENSORS = ("mean", "deviation", "hidden.weight", "hidden.bias", "output.weight", "output.bias")


def move_features(
    agent: RuleAgent, game: HanabiRules, rows: Rows, memory: Memory, actions: IntArray
) -> FloatArray:
    """[B, F] of the legal moves ``actions`` [B] in ``rows`` [B, W]; see ``bots.features``.

    What players may hold is read by the convention of ``agent``, whose memory it is; its words
    [B or 1, words] alone will do.
    """
    found = np.empty((len(rows), FEATURES))
    words = np.ascontiguousarray(memory[:, : agent.words(game)])
    features.feature_rows(game.dims, agent.script(game), rows, words, actions, found)
    return found


def state_features(agent: RuleAgent, game: HanabiRules, rows: Rows, memory: Memory) -> FloatArray:
    """[B, F] of the tables themselves: ``move_features`` without an action."""
    found = np.empty((len(rows), FEATURES))
    words = np.ascontiguousarray(memory[:, : agent.words(game)])
    features.state_feature_rows(game.dims, agent.script(game), rows, words, found)
    return found


_interned: dict[bytes, NDArray[np.float64]] = {}


class ValueNetwork:
    """Features to K outputs over one hidden layer of rectified linear units.

    ``tensors``: "mean" and "deviation" [F], which normalise the features, "hidden.weight" [H, F],
    "hidden.bias" [H], "output.weight" [K, H] and "output.bias" [K]. F is FEATURES, or those of the
    state alone. Raises RecordError for tensors of other names or shapes, or that are not finite.
    """

    recorded_as = "Network"  # in the headers of recorded runs

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        if set(tensors) != set(TENSORS):
            raise RecordError(f"a network must have {', '.join(TENSORS)}, got {sorted(tensors)}")
        mean, deviation, hidden, hidden_bias, output, output_bias = (
            np.asarray(tensors[name], dtype=np.float64) for name in TENSORS
        )
        inputs, outputs = mean.size, output_bias.size
        shapes = {
            "mean": (inputs,),
            "deviation": (inputs,),
            "hidden.weight": (HIDDEN, inputs),
            "hidden.bias": (HIDDEN,),
            "output.weight": (outputs, HIDDEN),
            "output.bias": (outputs,),
        }
        for name, shape in shapes.items():
            if tensors[name].shape != shape or not np.isfinite(tensors[name]).all():
                raise RecordError(
                    f"{name} must be finite, of shape {shape}, got {tensors[name].shape}"
                )
        if inputs not in (FEATURES, len(STATE_FEATURES)) or (deviation <= 0).any():
            raise RecordError(
                f"a network must read {FEATURES} or {len(STATE_FEATURES)} features with deviations "
                f"above 0, got {inputs}"
            )
        self.tensors = dict(tensors)
        self.outputs = outputs
        scaled = np.zeros((FEATURES, HIDDEN))
        scaled[STATE_FEATURES if inputs < FEATURES else slice(None)] = (hidden / deviation).T
        bias = hidden_bias - hidden @ (mean / deviation)
        parts = (scaled, bias, output, output_bias)
        self._packed = np.concatenate([part.ravel() for part in parts])
        self.digest = hashlib.sha256(self._packed.tobytes()).hexdigest()[:16]

    def __call__(self, x: NDArray[Any]) -> FloatArray:
        """[B, K] from [B, F]."""
        t = {name: np.asarray(tensor, dtype=np.float64) for name, tensor in self.tensors.items()}
        hidden = (x - t["mean"]) / t["deviation"] @ t["hidden.weight"].T + t["hidden.bias"]
        found: FloatArray = np.maximum(hidden, 0) @ t["output.weight"].T + t["output.bias"]
        return found

    @property
    def address(self) -> int:
        """Where compiled code finds the numbers. They stay there as long as the process lives."""
        numbers = _interned.setdefault(self._packed.tobytes(), self._packed)
        return int(numbers.ctypes.data)

    def save(self, path: str | Path, about: Mapping[str, str] | None = None) -> None:
        """Write a file of safetensors, whole or not at all; ``about`` becomes its metadata."""
        from safetensors.numpy import save

        with atomic_write(path) as file:
            file.write(save(self.tensors, None if about is None else dict(about)))

    @classmethod
    def load(cls, path: str | Path) -> ValueNetwork:
        """From a file of safetensors. Raises RecordError where it is none, or no network."""
        return cls.from_bytes(read_whole(path), str(path))

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> ValueNetwork:
        """See ``load``; ``name`` says in errors whose content it is."""
        return cls.with_metadata(content, name)[0]

    @classmethod
    def with_metadata(cls, content: bytes, name: str) -> tuple[ValueNetwork, dict[str, str]]:
        """See ``from_bytes``; and what the file says besides."""
        try:
            tensors, metadata = read_tensors(content)
            return cls(tensors), metadata
        except ValueError as error:  # RecordError is one
            raise RecordError(f"{name}: expected a network of this package: {error}") from None


@functools.cache
def shipped(name: str) -> ValueNetwork:
    """A network that comes with the package, such as "evalfn-3" or "rules"."""
    folder = resources.files("hanabi_search_plugin.hanabi.bots") / "weights"
    return ValueNetwork.from_bytes((folder / f"{name}.safetensors").read_bytes(), name)


def named_network(name: str) -> ValueNetwork:
    """``shipped(name)``, or from a file that ends in ".safetensors"; raises ConfigError."""
    if name in SHIPPED:
        return shipped(name)
    if name.endswith(".safetensors"):
        return ValueNetwork.load(name)
    raise unknown("network", name, SHIPPED, "or a file")


class _NetworkAgent(RuleAgent):
    """Rules that propose moves, and a network that chooses."""

    def __init__(
        self,
        network: ValueNetwork,
        rules: Sequence[Rule],
        convention: Convention,
        name: str,
        decide: Any,
    ) -> None:
        super().__init__(rules, convention=convention, name=name)
        self.routines = Routines(decide=decide, observe=ops.observe, common=ops.common)
        self.network = network
        self.weights = network.digest  # for records of what was played

    def script(self, game: HanabiRules) -> IntArray:
        script = super().script(game)
        script[ops.WEIGHTS] = self.network.address
        return script


class EvalFn(_NetworkAgent, EstimatingGuide):
    """Makes the move of the highest value among those that the rules propose; of equals the first.

    Where they propose none, among all legal moves. Memory as of a RuleAgent. Raises ConfigError as
    a RuleAgent does, and for a network of more than one output.
    """

    def __init__(
        self,
        network: ValueNetwork,
        rules: Sequence[Rule] = SHIPPED_EVALUATION,
        *,
        convention: Convention = "off",
        name: str = "evalfn",
    ) -> None:
        if network.outputs != 1:
            raise ConfigError(f"network must have one output, got {network.outputs}")
        super().__init__(network, rules, convention, name, value_kernels.decide_by_value)
        self.deterministic = True

    def estimates(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A] the points expected on the table at the end, nan where a move is not legal."""
        native = _native(view)
        values = np.empty((len(native), native.game.num_actions))
        value_kernels.estimate_rows(
            native.game.dims,
            self.script(native.game),
            native.rows,
            self.read(native, memory),
            ALL_MOVES,
            values,
        )
        return values


class RuleClassifier(_NetworkAgent):
    """Makes the move of the rule that the network likes best, of those that propose one.

    Memory as of a RuleAgent. Raises ConfigError as a RuleAgent does, and for a network that has not
    one output a rule.
    """

    def __init__(
        self,
        network: ValueNetwork,
        rules: Sequence[Rule] = TABLE_II,
        *,
        convention: Convention = "off",
        name: str = "rule-classifier",
    ) -> None:
        if network.outputs != len(rules):
            raise ConfigError(
                f"network must have an output for each of {len(rules)} rules, got {network.outputs}"
            )
        super().__init__(network, rules, convention, name, value_kernels.decide_by_rule)


def evalfn(
    convention: Convention,
    *,
    network: str = "evalfn-3",
    rules: str = "shipped-evaluation",
) -> EvalFn:
    """An ``EvalFn`` by the names of its parts. Raises ConfigError for an unknown one."""
    name = "evalfn" if convention == "off" else "evalfn-c"
    agent = EvalFn(
        named_network(network), named_rules(str(rules)), convention=convention, name=name
    )
    usual = {"network": "evalfn-3", "rules": "shipped-evaluation"}
    given = {"network": network, "rules": rules}
    return agent.set_to(**{key: value for key, value in given.items() if value != usual[key]})


def rule_classifier(convention: Convention) -> RuleClassifier:
    """The ``RuleClassifier`` that comes with the package, over the nine rules."""
    return RuleClassifier(shipped("rules"), convention=convention)
