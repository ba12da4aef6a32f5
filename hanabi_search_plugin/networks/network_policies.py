"""Play a network as a policy, on views of native Hanabi.

Letters: B worlds, A actions, M numbers of a memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View, Worlds
from hanabi_search_plugin.core.policy import (
    Blueprint,
    EstimatingGuide,
    Memory,
    Value,
    sample_actions,
)
from hanabi_search_plugin.core.rollout import PlaysRollouts, Rollout
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs.partners import JudgesHands
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView, HanabiWorlds, points
from hanabi_search_plugin.networks.modules import (
    Network,
    Output,
    PlaysOn,
    as_tensor,
    digest_of,
    to_device,
)
from hanabi_search_plugin.networks.nets.critic_net import Critic
from hanabi_search_plugin.networks.tensors.tensor_rollout import DevicePolicy, rollout_on_device

Tensor = Any  # torch.Tensor

_ODD = np.uint64(0x9E3779B97F4A7C15)
BATCH = 4096  # worlds a network is asked about at a time
ON_GPU = 32_768  # worlds played on at a time where that is one


class NetworkPolicy(DevicePolicy, Value, PlaysRollouts, JudgesHands):
    """Play ``network`` at one seat of native Hanabi, greedily or by chance.

    The network is moved to ``device`` and set to evaluation mode.

    Memory: an array [B, M], or None for a network without one. Where it is public and all worlds of
    a batch share one public history, as in a belief, it is computed once for all of them, and the
    seats of one policy share it. ``temperature`` 0 plays the move of the highest logit; above it
    the softmax of the logits divided by it, one draw a world.

    The last digits of what networks return vary with the batch (not those of ``public-belief`` on a
    CPU): where two moves nearly tie, a belief with an ``epsilon`` of noise forgives that. Raises
    ConfigError for a temperature below 0.

    ``value`` is Q of the move that it plays where the seat is to move, else the network's value. A
    lost game counts as in the games that the network was trained on. ``critic`` values fully
    visible worlds under greedy play (``world_value``); it is not used at temperatures above 0.
    """

    def __init__(
        self,
        network: Network,
        *,
        temperature: float = 0.0,
        device: str = "cpu",
        critic: Critic | None = None,
    ) -> None:
        if not (isinstance(temperature, (int, float)) and 0 <= temperature < math.inf):
            raise ConfigError(f"temperature must be a number of at least 0, got {temperature!r}")
        self.network = to_device(network, device).eval()
        self.combine = network.combine
        self.temperature = float(temperature)
        self.device = device
        self.digest = digest_of(network)  # so that records say which network it was
        self.deterministic = temperature == 0
        self._critic = to_device(critic, device).eval() if critic and self.deterministic else None
        self._critics_digest = digest_of(self._critic) if self._critic else ""
        self.public_memory = network.public_memory
        self.loaded_as = ""  # the name or the file that it was loaded by, if any
        self._last: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None

    def __repr__(self) -> str:
        if self.loaded_as:
            shown = "" if self.deterministic else f", temperature={self.temperature!r}"
            shown += "" if self.device == "cpu" else f", device={self.device!r}"
            return f"{type(self).__name__}({self.loaded_as!r}{shown})"
        how = "greedy" if self.deterministic else f"temperature {self.temperature}"
        return f"<{type(self).__name__} of {type(self.network).__name__}, {how}>"

    def start(self, view: View) -> Memory:
        with torch.inference_mode():
            blank = self.network.blank(len(view)).cpu().numpy()
        return self._remember(view, blank) if blank.shape[1] else None

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return None if memory is None else self._remember(view, memory)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        if self.deterministic:
            logits = self._logits(view, legal, memory)
            return np.asarray(logits.argmax(axis=1), dtype=np.int64)
        return sample_actions(self.probabilities(view, legal, memory), rng)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        if self.deterministic:
            return super().probabilities(view, legal, memory)
        logits = self._logits(view, legal, memory) / self.temperature
        weight = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)

    def preferences(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        return self._logits(view, legal, memory)

    @property
    def has_values(self) -> bool:
        return bool(self.network.values)

    @property
    def to_have_values(self) -> str:
        return "clones have none, nor foreign files without fc_v"

    def value(self, view: View, memory: Memory) -> FloatArray:
        if not self.has_values:
            raise UnsupportedError(f"the network has no values: {self.to_have_values}")
        view = self.network.encoding.native(view)
        if len(view) == 0:
            return np.zeros(0)
        mask = torch.from_numpy(view.legal).to(self.device)  # nothing where others are to move

        def read(output: Output, part: slice) -> Tensor:
            q = output.q(mask[part])  # the value alone where nothing is legal
            logits = output.logits.masked_fill(~mask[part], -1e9)
            if self.deterministic:
                return q.gather(1, logits.argmax(1, keepdim=True)).squeeze(1)
            return (q * (logits / self.temperature).softmax(1)).sum(1)

        return np.where(view.current_player < 0, 0.0, self._decide(view, memory, read))

    @property
    def critic_id(self) -> str:
        return self._critics_digest

    def world_value(self, worlds: Worlds, memories: tuple[Memory, ...], seat: int) -> FloatArray:
        if self._critic is None:
            return super().world_value(worlds, memories, seat)
        assert isinstance(worlds, HanabiWorlds)
        positions = self._critic.positions(self.network, worlds, memories[seat])
        return np.where(worlds.terminal, 0.0, self._critic.values(positions))

    @property
    def rollout_batch(self) -> int:
        """0 on a CPU: no more at once than others."""
        return ON_GPU if torch.device(self.device).type == "cuda" else 0

    def play_rollouts(
        self,
        worlds: Worlds,
        blueprint: Blueprint,
        memories: tuple[Memory, ...],
        rng: Streams,
        depth: int | None,
    ) -> Rollout | None:
        """Play on the network's GPU, if every policy can; see ``PlaysRollouts``.

        On a CPU by a compiled loop, where this policy plays all seats greedily and its network has
        one.
        """
        if self.rollout_batch:
            return rollout_on_device(worlds, blueprint, memories, rng, depth)
        alone = self.deterministic and all(policy is self for policy in blueprint)
        alone &= self.plays_on_device and isinstance(worlds, HanabiWorlds)
        if not (alone and isinstance(self.network, PlaysOn)):
            return None
        assert isinstance(worlds, HanabiWorlds)
        self.network.encoding.require(worlds.game.config)
        rows, memory = worlds.rows.copy(), np.array(memories[0])
        self.network.play_on(rows, memory, depth)
        ended = HanabiWorlds(worlds.game, rows)
        on = np.flatnonzero(~ended.terminal)
        left = tuple(memory[on] for _ in blueprint)
        return Rollout(ended.returns, on, ended.select(on), left, rng.select(on))

    def likelihood_of_hands(
        self, view: HanabiView, seat: int, hands: IntArray, memory: Memory, action: int
    ) -> FloatArray | None:
        """By a compiled loop on a CPU, where the policy is greedy and its network has one."""
        alone = self.deterministic and self.plays_on_device and not self.rollout_batch
        if not (alone and isinstance(self.network, PlaysOn)):
            return None
        self.network.encoding.require(view.game.config)
        given = self.inputs(view, memory)
        return self.network.chooses(*given, seat, hands, action).astype(np.float64)

    @property
    def plays_on_device(self) -> bool:
        """False for subclasses, which may play in another way."""
        return type(self) in (NetworkPolicy, EstimatingPolicy)

    def inputs(self, view: View, memory: Memory) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Inputs of ``network.decide``: public part [B, N], private part and memory [B, M]."""
        encoding = self.network.encoding
        if memory is None:
            memory = np.zeros((len(view), 0), dtype=np.float32)
        return encoding.public(view), encoding.private(view), memory

    def _logits(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """[B, A], -inf where a move is not legal."""
        logits = self._decide(view, memory, lambda output, part: output.logits)
        if np.isnan(logits).any():
            raise ContractError(f"{self!r} must give logits that are numbers, got nan")
        return np.where(legal, logits, -np.inf)

    def _decide(
        self, view: View, memory: Memory, read: Callable[[Output, slice], Tensor]
    ) -> FloatArray:
        """``read(output, rows)`` of the outputs, a batch of rows at a time, as float64."""
        public, private, memory = self.inputs(view, memory)
        shared = self.network.public_memory and _one_row(public) and _one_row(memory)
        if shared:
            public, memory = public[:1], memory[:1]
        if len(view) == 0:
            return np.zeros((0, view.game.num_actions))
        found = []
        with torch.inference_mode():
            for part in _parts(len(view)):
                rows = slice(0, 1) if shared else part
                given = (
                    as_tensor(x, self.device) for x in (public[rows], private[part], memory[rows])
                )
                found.append(read(self.network.decide(*given), part).double().cpu().numpy())
        return np.concatenate(found)

    def _remember(self, view: View, memory: NDArray[Any]) -> NDArray[Any]:
        seen, public = self.network.seen(view), self.network.public_memory
        if len(view) == 0:
            return memory
        last = self._last  # another seat's, in the same position
        if last is not None and np.array_equal(seen, last[0]) and np.array_equal(memory, last[1]):
            return last[2].copy()
        first, which = _different(seen, memory)
        after = self._updated_memory(seen[first], memory[first])[which]
        if public:
            self._last = (seen, memory.copy(), after)
        return after.copy()

    def _updated_memory(self, seen: NDArray[Any], memory: NDArray[Any]) -> NDArray[Any]:
        after = []
        with torch.inference_mode():
            for part in _parts(len(seen)):
                given = (as_tensor(seen[part], self.device), as_tensor(memory[part], self.device))
                after.append(self.network.remember(*given).cpu().numpy())
        return np.concatenate(after)


class EstimatingPolicy(NetworkPolicy, EstimatingGuide):
    """For a network whose memory is the same from every seat, so that it can guide a tree search.

    It proposes every legal move.
    """

    def proposed(self, view: View, legal: BoolArray, memory: Memory) -> BoolArray:
        return legal.copy()

    def estimates(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        assert isinstance(view, HanabiView)
        mask = torch.from_numpy(legal).to(self.device)
        q = self._decide(view, memory, lambda output, part: output.q(mask[part]))
        return q + points(view.rows)[:, None]


def _one_row(array: NDArray[Any]) -> bool:
    """Are all rows equal?"""
    return bool((array == array[:1]).all())


def _different(*arrays: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Distinct rows: (first, which), where row b equals row ``first[which[b]]``.

    Returns all rows where half of them or more are distinct, since little is gained then. Worlds of
    a belief mostly share one public part, or have a few.
    """
    every = np.arange(len(arrays[0]))
    code = np.zeros(len(every), dtype=np.uint64)
    for array in arrays:
        words = np.ascontiguousarray(array).view(f"u{array.itemsize}").astype(np.uint64)
        factors = np.arange(1, 2 * words.shape[1] + 1, 2, dtype=np.uint64) * _ODD
        code = (code ^ (code >> np.uint64(29))) * _ODD + (words * factors).sum(axis=1)
    _, first, which = np.unique(code, return_index=True, return_inverse=True)
    same = all(np.array_equal(array, array[first[which]]) for array in arrays)
    if not same or 2 * len(first) > len(every):  # two rows of one code, or too many
        return every, every
    return first, which


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, BATCH):
        yield slice(start, min(start + BATCH, n))
