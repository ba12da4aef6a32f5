"""Rollouts by networks on a device: worlds, memories and random streams never leave it.

The twin of ``core.rollout.rollout``, which goes through views and NumPy arrays. Letters: B worlds,
P players, A actions, S seats, M numbers of a memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import Worlds
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    Policy,
    UniformPolicy,
    as_blueprint,
    take,
)
from hanabi_search_plugin.core.rollout import Rollout
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.tensors.tensor_encoding import encoded
from hanabi_search_plugin.networks.tensors.tensor_streams import TensorStreams
from hanabi_search_plugin.networks.tensors.tensor_worlds import TensorWorlds

Tensor = Any  # torch.Tensor

FEW = 0.75  # finished games are dropped once at most this share is still played


class DevicePolicy(Policy):
    """A policy that is a network, greedy or stochastic, and so can play on a device."""

    network: Network
    temperature: float

    @property
    @abstractmethod
    def plays_on_device(self) -> bool:
        """True if its moves depend on the network's output alone."""


@dataclass
class _Player:
    """One policy at its seats. ``memory`` is [S, B, M], or [1, B, M] where the seats share it."""

    policy: DevicePolicy | UniformPolicy
    seats: list[int]
    memory: Tensor | None = None


class TensorPlayers:
    """P policies at worlds on a device, with their networks' memories.

    ``policies`` is one for all seats or one a seat, of ``NetworkPolicy`` on the worlds' device and
    ``UniformPolicy``. ``memories`` are those of the seats as ``Policy.start`` and ``observe`` make
    them, one a world; without them the worlds are at their first decision.
    Raises UnsupportedError for other policies, and for networks of other games or devices.
    """

    def __init__(
        self,
        policies: Policy | tuple[Policy, ...],
        worlds: TensorWorlds,
        memories: Sequence[NDArray[Any] | None] | None = None,
    ) -> None:
        self._players: list[_Player] = []
        for seat, policy in enumerate(as_blueprint(policies, worlds.game.num_players)):
            known = [player for player in self._players if player.policy is policy]
            if known:
                known[0].seats.append(seat)
            else:
                self._players.append(_Player(_require(policy, worlds), [seat]))
        with torch.no_grad():
            for player in self._players:
                if isinstance(player.policy, DevicePolicy):
                    _start(player, player.policy, worlds, memories)

    def select(self, index: Tensor) -> TensorPlayers:
        """The players with copies of the memories at ``index``, int64 [N]."""
        part = copy(self)
        part._players = [
            replace(each, memory=None if each.memory is None else each.memory[:, index])
            for each in self._players
        ]
        return part

    def put(self, index: Tensor, part: TensorPlayers) -> None:
        """Write back the memories of ``part``, which ``select`` returned for ``index``."""
        for player, other in zip(self._players, part._players, strict=True):
            if player.memory is not None:
                player.memory = player.memory.index_copy(1, index, other.memory)

    def memory(self, seat: int) -> NDArray[Any] | None:
        """A seat's memory [B, M] as its policy keeps it; waits for the device."""
        (player,) = (player for player in self._players if seat in player.seats)
        if player.memory is None:
            return None
        at = 0 if len(player.memory) == 1 else player.seats.index(seat)
        memory: NDArray[Any] = player.memory[at].cpu().numpy()
        return memory

    def observe(self, worlds: TensorWorlds) -> None:
        """Update every memory with the event that led to ``worlds``."""
        with torch.no_grad():
            for player in self._players:
                if player.memory is not None:
                    _observe(player, worlds)

    def choose(self, worlds: TensorWorlds, streams: TensorStreams) -> Tensor:
        """int64 [B] the moves of the seats to move; anything where the game is over.

        A policy that plays by chance takes one number of the streams of worlds where it is to move.
        """
        turn, legal = worlds.current_player, worlds.legal
        actions = torch.zeros_like(turn)
        for player in self._players:
            mine = _is_one_of(turn, player.seats)
            before = streams.state
            with torch.no_grad():
                moves = _moves(player, worlds, turn, legal, streams)
            actions = torch.where(mine, moves, actions)
            if streams.state is not before:
                streams.state = torch.where(mine, streams.state, before)
        return actions


def play_out(
    worlds: TensorWorlds,
    players: TensorPlayers,
    streams: TensorStreams,
    *,
    moves: int | None = None,
    check_every: int = 8,
) -> None:
    """Play worlds on in place, to the end or for ``moves`` moves; updates players and streams.

    Every ``check_every`` moves it waits for the device to tell which games are not over, and drops
    finished ones where they are many.
    """
    longest = worlds.game.max_length if moves is None else moves
    for move in range(longest):
        if move % check_every == 0:
            alive = (~worlds.terminal).nonzero().squeeze(1)
            if len(alive) == 0:
                return
            if len(alive) <= FEW * len(worlds):
                rest, group = worlds.select(alive), players.select(alive)
                part = TensorStreams(streams.state[alive])
                play_out(rest, group, part, moves=longest - move, check_every=check_every)
                worlds.words[:, alive] = rest.words
                players.put(alive, group)
                streams.state = streams.state.index_copy(0, alive, part.state)
                return
        worlds.step(players.choose(worlds, streams))
        players.observe(worlds)


def rollout_on_device(
    worlds: Worlds,
    blueprint: Blueprint,
    memories: tuple[Memory, ...],
    rng: Streams,
    depth: int | None = None,
) -> Rollout | None:
    """``core.rollout.rollout`` on the networks' device.

    None where some policy cannot play there, networks are on several devices, or worlds are not of
    native Hanabi.
    """
    networks = [policy for policy in blueprint if isinstance(policy, DevicePolicy)]
    homes = {_home(policy) for policy in networks}
    if len(homes) != 1 or not all(plays_on_device(policy) for policy in blueprint):
        return None
    if not isinstance(worlds, HanabiWorlds):
        return None
    (device,) = homes
    tensors, streams = TensorWorlds.of(worlds, device), TensorStreams.of(rng, device)
    players = TensorPlayers(blueprint, tensors, memories)
    play_out(tensors, players, streams, moves=depth)
    ended = tensors.to_worlds()
    on = np.flatnonzero(~ended.terminal)
    return Rollout(
        returns=ended.returns,
        alive=on,
        worlds=ended.select(on),
        memories=tuple(take(players.memory(seat), on) for seat in range(len(blueprint))),
        rng=Streams(streams.state.cpu().numpy().view(np.uint64)[on]),
    )


def uniform_moves(legal: Tensor, streams: TensorStreams) -> Tensor:
    """int64 [B] the moves of ``UniformPolicy``; 0 where nothing is legal. One draw a world."""
    count = legal.sum(1)
    k = (streams.uniform() * count).long()
    return (legal.cumsum(1) > k.unsqueeze(1)).int().argmax(1)


def plays_on_device(policy: Policy) -> bool:
    """True if ``TensorPlayers`` can play it; false for subclasses that may play in another way."""
    if isinstance(policy, DevicePolicy):
        return policy.plays_on_device
    return type(policy) is UniformPolicy


def _require(policy: Policy, worlds: TensorWorlds) -> DevicePolicy | UniformPolicy:
    if not plays_on_device(policy):
        raise UnsupportedError(
            f"on a device play NetworkPolicy and UniformPolicy, got {type(policy).__name__}"
        )
    assert isinstance(policy, DevicePolicy | UniformPolicy)
    if isinstance(policy, DevicePolicy):
        policy.network.encoding.require(worlds.game.config)
        if _home(policy) != worlds.device:
            raise UnsupportedError(
                f"a network on {_home(policy)} cannot play worlds on {worlds.device}"
            )
    return policy


def _home(policy: DevicePolicy) -> torch.device:
    device: torch.device = next(policy.network.parameters()).device
    return device


def _start(
    player: _Player,
    policy: DevicePolicy,
    worlds: TensorWorlds,
    memories: Sequence[NDArray[Any] | None] | None,
) -> None:
    network = policy.network
    blank = network.blank(len(worlds)).to(worlds.device)  # [B, M]
    if blank.shape[1] == 0:
        return
    shared = network.public_memory and not network.encoding.seat_relative
    keepers = player.seats[:1] if shared else player.seats
    if memories is None:
        player.memory = blank.expand(len(keepers), -1, -1)
        _observe(player, worlds)
    else:
        given = [torch.as_tensor(memories[seat], device=worlds.device) for seat in keepers]
        player.memory = torch.stack(given)


def _observe(player: _Player, worlds: TensorWorlds) -> None:
    assert isinstance(player.policy, DevicePolicy) and player.memory is not None
    network, memory = player.policy.network, player.memory
    seen = []
    for seat in player.seats[: len(memory)]:
        public, private = encoded(network.encoding, worlds, seat)
        seen.append(public if network.public_memory else torch.cat([public, private], 1))
    after = network.remember(torch.cat(seen), memory.flatten(0, 1))
    player.memory = after.unflatten(0, memory.shape[:2])


def _moves(
    player: _Player, worlds: TensorWorlds, turn: Tensor, legal: Tensor, streams: TensorStreams
) -> Tensor:
    """int64 [B] what the policy would play at ``turn``, if the seat is one of its own."""
    policy = player.policy
    if not isinstance(policy, DevicePolicy):
        return uniform_moves(legal, streams)
    network = policy.network
    public, private = encoded(network.encoding, worlds, turn)
    memory = network.blank(len(worlds)) if player.memory is None else _of_turn(player, turn)
    logits = network.decide(public, private, memory).logits
    logits = logits.masked_fill(~legal, -torch.inf)
    if policy.deterministic:
        return logits.argmax(1)
    chance = (logits.double() / policy.temperature).softmax(1).cumsum(1)
    draw = streams.uniform() * chance[:, -1]
    return (chance > draw.unsqueeze(1)).int().argmax(1)


def _of_turn(player: _Player, turn: Tensor) -> Tensor:
    """[B, M] the memory of the seat to move; the first one's where that is not the policy's."""
    memory = player.memory
    assert memory is not None
    if len(memory) == 1:
        return memory[0]
    place = sum(i * (turn == seat) for i, seat in enumerate(player.seats))
    return memory.gather(0, place.view(1, -1, 1).expand(1, *memory.shape[1:]))[0]


def _is_one_of(turn: Tensor, seats: list[int]) -> Tensor:
    """bool [B]"""
    mine = [turn == seat for seat in seats]
    return torch.stack(mine).any(0)
