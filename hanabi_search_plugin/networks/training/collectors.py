"""The games of self-play in parts: each has a collector of its own, which workers can play.

A part's games go on from round to round. Its state travels to a worker with a chunk, and comes back
with the segment that was played; the network's weights travel once a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from hanabi_search_plugin.evaluation.executor import Executor, Place
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.nets.central_critic import CentralCritic
from hanabi_search_plugin.networks.tensors.simulator import Simulator
from hanabi_search_plugin.networks.training.selfplay_games import Collector, Segment

Tensor = Any  # torch.Tensor
State = dict[str, Tensor]

GAMES_AXIS = {"public": 2, "private": 2, "memory": 2}
"""Of a segment's tensors, those whose games are not along axis 1."""


class Collectors:
    """Plays ``games`` games in ``parts`` parts.

    ``simulator`` makes so many games from a seed. With one part they are played here, with more by
    the ``executor``; which one changes no segment.
    """

    def __init__(
        self,
        network: Network,
        critic: CentralCritic | None,
        simulator: Callable[[int, int], Simulator],
        games: int,
        parts: int,
        seed: int,
        device: str,
        executor: Executor,
    ) -> None:
        self.network, self.critic, self.device = network, critic, device
        self._simulator, self._executor = simulator, executor
        sizes = [len(part) for part in np.array_split(np.arange(games), parts)]
        seeds = [seed]
        if parts > 1:
            seeds = np.random.default_rng(seed).integers(2**63, size=parts).tolist()
        self._parts = [
            Collector(network, simulator(size, own), size, device, critic)
            for size, own in zip(sizes, seeds, strict=True)
        ]

    def state(self) -> State:
        """What has to be kept to go on."""
        states = [part.state() for part in self._parts]
        if len(states) == 1:
            return states[0]
        return {f"{i}.{name}": x for i, state in enumerate(states) for name, x in state.items()}

    def restore(self, state: State) -> None:
        """Go on from a ``state``; raises KeyError or ValueError for one that does not fit."""
        if len(self._parts) == 1:
            self._parts[0].restore(state)
            return
        for i, part in enumerate(self._parts):
            part.restore({name: state[f"{i}.{name}"] for name in part.state()})

    def play(self, moves: int, rng: np.random.Generator) -> tuple[Segment, torch.Generator]:
        """``moves`` moves of every game, and a stream for the steps that learn from them.

        Takes two numbers of ``rng``, and with several parts two more for each.
        """
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**63)))
        deals = int(rng.integers(2**63))
        if len(self._parts) == 1:
            self._parts[0].simulator.begin(deals)
            return self._parts[0].play(moves, generator), generator
        seeds = rng.integers(2**63, size=(len(self._parts), 2)).tolist()
        sizes = [len(part.fresh) for part in self._parts]
        chunks = [
            (size, part.state(), own)
            for size, part, own in zip(sizes, self._parts, seeds, strict=True)
        ]
        work = _PlaysOn(self.network, self.critic, self._simulator, moves, self.device)
        segments = []
        for part, (segment, state) in zip(
            self._parts, self._executor.map(work, chunks), strict=True
        ):
            part.restore(state)
            segments.append(segment)
        return side_by_side(segments), generator


@dataclass(frozen=True)
class _PlaysOn:
    """The work: a part's games from a state on, by two seeds; the segment, and the next state."""

    network: Network
    critic: CentralCritic | None
    simulator: Callable[[int, int], Simulator]
    moves: int
    device: str

    def __call__(
        self, chunk: tuple[int, State, tuple[int, int]], place: Place
    ) -> tuple[Segment, State]:
        size, state, (seed, deals) = chunk
        games = self.simulator(size, deals)
        collector = Collector(self.network, games, size, self.device, self.critic)
        collector.restore(state)
        games.begin(deals)
        segment = collector.play(self.moves, torch.Generator(self.device).manual_seed(seed))
        return segment, collector.state()


def side_by_side(segments: list[Segment]) -> Segment:
    """The segment of all their games."""
    tensors: dict[str, Any] = {}
    for one in fields(Segment):
        values = [getattr(segment, one.name) for segment in segments]
        if one.name == "prepared":
            tensors[one.name] = tuple(torch.cat(each, 1) for each in zip(*values, strict=True))
        else:
            tensors[one.name] = torch.cat(values, GAMES_AXIS.get(one.name, 1))
    return Segment(**tensors)
