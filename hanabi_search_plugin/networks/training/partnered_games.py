"""Games for training in which another policy, which learns nothing, plays all seats but one.

What learns there learns a best response to it. Letters: G games, P players.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.extras import needing

with needing("torch", "training"):
    import torch

from hanabi_search_plugin.core.policy import Memory, Policy, as_blueprint
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding
from hanabi_search_plugin.networks.tensors.simulator import EngineGames, StepResult

Tensor = Any  # torch.Tensor


class PartneredGames(EngineGames):
    """``size`` games; ``partner`` plays all seats but seat g % P of game g.

    Takes a number of the simulator's stream for each game and move.
    """

    def __init__(
        self,
        game: HanabiGame,
        encoding: Encoding,
        size: int,
        seed: int,
        device: str,
        *,
        partner: Policy,
    ) -> None:
        super().__init__(game, encoding, size, seed, device)
        self.learner = np.arange(size) % game.num_players
        self.partners = as_blueprint(partner, game.num_players)
        self.memories = self._started(self.worlds)

    def played(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        own = self.worlds.current_player == self.learner
        streams = Streams.spawn(self.rng, len(self.worlds))
        theirs = choose(self.worlds, self.partners, self.memories, streams)
        mask = torch.from_numpy(own)
        return torch.where(mask, actions, torch.from_numpy(theirs)), mask

    def step(self, actions: Tensor) -> StepResult:
        after, moves = self.worlds.select(np.arange(len(self.worlds))), actions.numpy()
        actors = after.current_player
        after.step(moves)
        self.memories = observe_all(after, actors, moves, self.partners, self.memories)
        result = super().step(actions)
        ended = np.flatnonzero(result.ended.numpy())
        for memory, fresh in zip(
            self.memories, self._started(self.worlds.select(ended)), strict=True
        ):
            if memory is not None:
                memory[ended] = fresh
        return result

    def _started(self, worlds: HanabiWorlds) -> tuple[Memory, ...]:
        """Memories of games that begin; raises ConfigError for what ``state`` could not keep."""
        memories = start_memories(worlds, self.partners)
        for policy, memory in zip(self.partners, memories, strict=True):
            if memory is not None and not isinstance(memory, np.ndarray):
                raise ConfigError(
                    "partner must be a policy whose memory is an array, as those of compiled bots "
                    f"and of networks without an adviser are, got {policy!r}"
                )
        return memories

    def state(self) -> dict[str, Tensor]:
        kept = {
            f"partner{p}": torch.from_numpy(memory)
            for p, memory in enumerate(self.memories)
            if memory is not None
        }
        return super().state() | kept

    def restore(self, state: dict[str, Tensor]) -> None:
        super().restore(state)
        for p, memory in enumerate(self.memories):
            if memory is None:
                continue
            kept = state[f"partner{p}"].numpy()
            if kept.shape != memory.shape or kept.dtype != memory.dtype:
                raise ValueError(
                    f"expected partner{p} {memory.dtype} {memory.shape}, got {kept.dtype} "
                    f"{kept.shape}"
                )
            memory[:] = kept
