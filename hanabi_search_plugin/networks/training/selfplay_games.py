"""Collect trajectory segments of self-play: one network at every seat of many games, or at one
beside a policy that learns nothing.

A segment is a fixed number of moves of every game; a game that ends is dealt anew, and games go on
in the next segment. Letters: T moves of a segment, G games, P players, A actions, M numbers of a
memory, K memories of a game: one, or one a seat where the seats' inputs differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from hanabi_search_plugin.networks.modules import Network, Output
from hanabi_search_plugin.networks.nets.central_critic import CentralCritic
from hanabi_search_plugin.networks.nets.split_nets import Sequential
from hanabi_search_plugin.networks.tensors.repeated import Repeated
from hanabi_search_plugin.networks.tensors.simulator import Observations, Simulator

Tensor = Any  # torch.Tensor


@dataclass(frozen=True)
class Segment:
    """A trajectory segment: T moves of each of G games, which may have begun before it."""

    mover: Tensor  # int64 [T, G]
    legal: Tensor  # bool [T, G, A]
    public: Tensor  # [T, P or 1, G, ...] of every seat, or of all
    private: Tensor  # [T, P, G, ...] of every seat
    fresh: Tensor  # bool [T, G] the first move of a game
    first_memory: Tensor  # [K, G, M] memories before the first observation
    memory: Tensor  # [T, K, G, M] those after each; M = 0 for a network that is replayed
    prepared: tuple[Tensor, ...]  # [T, G, ...] what the mover's output is read from, if kept
    own: Tensor  # bool [T, G] the network's choice, not a partner's; [T, 0] where all are
    action: Tensor  # int64 [T, G]
    log_prob: Tensor  # float32 [T, G] of the action, by the network
    value: Tensor  # float32 [T, G] of the mover, before it moved; or the central critic's
    last_value: Tensor  # float32 [P, G] of every seat, after the last move; or the critic's
    points: Tensor  # float32 [T, G] cards that came onto the fireworks
    forfeit: Tensor  # float32 [T, G] points that a lost game loses
    ended: Tensor  # bool [T, G] the move ended the game
    lost: Tensor  # bool [T, G] and no life was left
    score: Tensor  # float32 [T, G] the return of the game up to here


MOVE = [
    name
    for name in Segment.__dataclass_fields__
    if name not in ("first_memory", "prepared", "last_value")
]
"""A segment's tensors that have a row for each move."""


def is_replayed(network: Network) -> bool:
    """True if its memory is trained through time, and so recomputed from the segment's start."""
    return isinstance(network, Sequential)


def memories_per_game(network: Network) -> int:
    """K, the memories that a game needs."""
    apart = network.encoding.seat_relative or not network.public_memory
    return network.config.players if apart else 1


def gather_seat(parts: Tensor, seat: Tensor) -> Tensor:
    """[B, ...] the entries [seat[b], b] of [P, B, ...]; [1, B, ...] is the same for all seats."""
    if len(parts) == 1:
        return parts[0]
    return parts[seat, torch.arange(len(seat), device=seat.device)]


def updated_memories(
    network: Network, public: Tensor, private: Tensor, fresh: Tensor, memory: Tensor
) -> Tensor:
    """Memories [K, B, M] after an observation; games that are ``fresh`` [B] begin blank."""
    k, batch, size = memory.shape
    if size == 0:
        return memory
    blank = network.blank(1).to(memory.device)
    memory = torch.where(fresh.unsqueeze(-1), blank, memory)
    seen = public.expand(k, *public.shape[1:])
    if not network.public_memory:
        seen = torch.cat([seen, private], -1)
    return network.remember(seen.flatten(0, 1), memory.flatten(0, 1)).unflatten(0, (k, batch))


class Collector:
    """Plays a simulator's games with one network, and keeps its memories of them.

    Where there is a central ``critic``, values are its own.
    """

    def __init__(
        self,
        network: Network,
        simulator: Simulator,
        games: int,
        device: str,
        critic: CentralCritic | None = None,
    ) -> None:
        self.network, self.simulator, self.critic = network, simulator, critic
        blank = network.blank(1).to(device)
        self.memory = blank.repeat(memories_per_game(network), games, 1)  # [K, G, M]
        self.fresh = torch.ones(games, dtype=torch.bool, device=device)
        self._moved = Repeated(self._move, device)

    def state(self) -> dict[str, Tensor]:
        """What has to be kept to go on: the games and the memories of them."""
        return self.simulator.state() | {"memory": self.memory, "fresh": self.fresh}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a ``state``; raises KeyError or ValueError for one that does not fit."""
        for name, kept in (("memory", self.memory), ("fresh", self.fresh)):
            found = state[name]
            if found.shape != kept.shape or found.dtype != kept.dtype:
                raise ValueError(
                    f"expected {name} {kept.dtype} {list(kept.shape)}, got {found.dtype} "
                    f"{list(found.shape)}"
                )
        self.memory.copy_(state["memory"])
        self.fresh.copy_(state["fresh"])
        self.simulator.restore(state)

    def play(self, moves: int, rng: torch.Generator) -> Segment:
        """``moves`` moves of every game, drawn from the network's softmax.

        Takes A numbers of ``rng`` for each game and move.
        """
        first_memory, shape = (
            self.memory.clone(),
            (len(self.fresh), self.network.config.num_actions),
        )
        kept: list[Tensor] = []  # [T, ...] each
        with torch.no_grad():
            for t in range(moves):
                clocks = torch.empty(*shape, device=first_memory.device)
                moved = self._moved([clocks.exponential_(generator=rng)])
                if not kept:
                    kept = [tensor.new_empty(moves, *tensor.shape) for tensor in moved]
                for all_moves, tensor in zip(kept, moved, strict=True):
                    all_moves[t] = tensor
            last_value = self._values()
        tensors = dict(zip(MOVE, kept, strict=False))
        prepared = tuple(kept[len(MOVE) :])
        return Segment(
            first_memory=first_memory, last_value=last_value, prepared=prepared, **tensors
        )

    def _move(self, given: Sequence[Tensor]) -> list[Tensor]:
        """Make one move in every game, by exponential ``clocks`` [G, A].

        Returns the segment's tensors of that move: those of MOVE, then what the network's output is
        read from.
        """
        (clocks,) = given
        seen, memory = self._look()
        prepared = self._prepared(seen, memory, seen.mover)
        output = self.network.read(*prepared)
        log_probs = policy(output, seen.legal)
        # Exponential race: the first of clocks with rates p rings at move a with probability p[a].
        action, own = self.simulator.played((log_probs.exp() / clocks).argmax(1))
        value = self._central(seen, prepared)
        stepped, replayed = self.simulator.step(action), is_replayed(self.network)
        step = {
            "mover": seen.mover, "legal": seen.legal, "public": seen.public,
            "private": seen.private, "fresh": self.fresh.clone(),
            "memory": memory[..., :0] if replayed else memory,
            "own": own, "action": action,
            "log_prob": log_probs.gather(1, action.unsqueeze(1)).squeeze(1),
            "value": expected(output, seen.legal) if value is None else value,
            "points": stepped.points,
            "forfeit": stepped.forfeit, "ended": stepped.ended, "lost": stepped.lost,
            "score": stepped.score,
        }  # fmt: skip
        self.memory.copy_(memory)
        self.fresh.copy_(stepped.ended)
        return [*(step[name] for name in MOVE), *(() if replayed else prepared)]

    def _look(self) -> tuple[Observations, Tensor]:
        """The seats' observations, and the memories [K, G, M] after them."""
        seen = self.simulator.observe()
        given = (seen.public, seen.private, self.fresh, self.memory)
        return seen, updated_memories(self.network, *given)

    def _prepared(self, seen: Observations, memory: Tensor, seat: Tensor) -> tuple[Tensor, ...]:
        parts = (gather_seat(part, seat) for part in (seen.public, seen.private, memory))
        return self.network.prepare(*parts)

    def _central(self, seen: Observations, prepared: tuple[Tensor, ...]) -> Tensor | None:
        """[G] values by the critic, if there is one."""
        if self.critic is None:
            return None
        return self.critic(self.network.central(seen.public, seen.private, prepared, seen.mover))

    def _values(self) -> Tensor:
        """[P, G] of every seat as the games stand."""
        seen, memory = self._look()
        if self.critic is not None:
            value = self._central(seen, self._prepared(seen, memory, seen.mover))
            return torch.stack([value] * self.network.config.players)
        values = []
        for p in range(self.network.config.players):
            seat = torch.full_like(seen.mover, p)
            output = self.network.read(*self._prepared(seen, memory, seat))
            own = expected(output, seen.legal)
            values.append(torch.where(seen.mover == p, own, output.value))
        return torch.stack(values)


def policy(output: Output, legal: Tensor) -> Tensor:
    """Log-probabilities [B, A] of the softmax over legal moves; illegal moves get about -1e9."""
    return output.logits.masked_fill(~legal, -1e9).log_softmax(1)


def expected(output: Output, legal: Tensor) -> Tensor:
    """[B] the mean of Q under the softmax policy: the value of the seat to move."""
    return (policy(output, legal).exp() * output.q(legal)).sum(1)
