"""Critics: the expected points still to come under a policy, in a world with all hands visible.

A search draws whole worlds from its belief, so the value that replaces the rest of a rollout may
see every hand (a centralised value function; LBS paper, section 1). ``training.critic_training``
trains one on games with exploratory moves, and leaves the policy as it is. Letters: B worlds, P
players, H slots of a hand, N words of "status-1", M numbers of a memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import HANDS, NO_CARD, PLAYED, TURN, dims_of
from hanabi_search_plugin.networks.encodings import seat_table, status
from hanabi_search_plugin.networks.encodings.mask_features import HEADER, public_words
from hanabi_search_plugin.networks.encodings.status_encoding import Status
from hanabi_search_plugin.networks.modules import Network, layers, require_sizes
from hanabi_search_plugin.networks.nets import mask_on_cpu
from hanabi_search_plugin.networks.nets.mask_net import MaskNet

Tensor = Any  # torch.Tensor

BATCH = 1024  # worlds at a time, so that what layers pass on stays in the processor's caches


@dataclass(frozen=True)
class Positions:
    """The inputs of a critic, for B worlds."""

    public: NDArray[np.int32]  # [B, N]
    hands: NDArray[np.int32]  # [B, P x H] cards by player
    masks: NDArray[np.int32]  # [B, P x H] identities that each card may have, to all players

    def __len__(self) -> int:
        return len(self.public)

    @property
    def score(self) -> FloatArray:
        """[B] cards on the fireworks."""
        return np.bitwise_count(self.public[:, HEADER.index(PLAYED)]).astype(np.float64)

    def select(self, index: IntArray) -> Positions:
        return Positions(self.public[index], self.hands[index], self.masks[index])


class Critic(nn.Module):
    """Layers over what each seat sees of the table, from the seat to move on.

    There are two outputs: points still to come if the game is not lost, and the probability of
    losing it, which costs all points. Lost games are rare, but their large errors would dominate
    one common output. Masks are the memory of a ``MaskNet``; for other networks, what hints leave
    open. ``options`` are the keyword arguments that made it. Raises ConfigError for a size below 1.
    """

    def __init__(self, config: HanabiConfig, *, hidden: int = 256, deeper: int = 128) -> None:
        super().__init__()
        require_sizes(hidden=hidden, deeper=deeper)
        self.config, self.words = config, Status(config)
        self.options = {"hidden": hidden, "deeper": deeper}
        board, alone = status.board_size(config), config.players - 1  # whose turn it is, is known
        each = seat_table.table_size(config) - board - alone
        self.layers = layers(board + config.players * each, hidden, deeper, deeper)
        self.heads = nn.Linear(deeper, 2)

    def positions(self, network: Network, worlds: HanabiWorlds, memory: Memory) -> Positions:
        """The critic's inputs for worlds; ``memory`` [B, M] is that of ``network`` at any seat."""
        config, rows = self.config, worlds.rows
        public = np.empty((len(rows), self.words.public_words), dtype=np.int32)
        public_words(dims_of(config), rows, public)
        hands = rows[:, HANDS : HANDS + config.players * config.hand_size].copy()
        if isinstance(network, MaskNet):
            return Positions(public, hands, memory)
        hinted = status.table(config, torch.from_numpy(public)).hinted
        return Positions(public, hands, status.pack(hinted > 0).flatten(1).numpy())

    def forward(self, positions: Positions) -> tuple[Tensor, Tensor]:
        """Points to come if the game is not lost, and the logit of losing it, [B] each."""
        output = self.heads(self.layers(self.features(positions)))
        return output[:, 0] * self.config.max_score, output[:, 1]

    def features(self, positions: Positions) -> Tensor:
        """[B, ...] the board, then what each seat sees, from the seat to move on."""
        config, device = self.config, self.heads.weight.device
        players, size = config.players, config.hand_size
        board, end = status.board_size(config), seat_table.table_size(config) - (players - 1)
        turn = np.maximum(positions.public[:, HEADER.index(TURN)], 0)
        slots = np.arange(size)
        parts = []
        for place in range(players):
            seat = (turn + place) % players
            private, public = positions.hands.copy(), positions.public.copy()
            private[np.arange(len(seat))[:, None], seat[:, None] * size + slots] = NO_CARD
            public[:, HEADER.index(TURN)] = (seat + 1) % players  # so that nobody hints
            if device.type == "cpu":
                table = mask_on_cpu.tables(config, public, private, positions.masks)
            else:
                given = (public, private, positions.masks)
                tensors = (torch.from_numpy(x).to(device) for x in given)
                table = seat_table.by_tensors(config, *tensors).features
            parts.append(table[:, board if place else 0 : end])
        return torch.cat(parts, 1)

    def predictions(self, positions: Positions) -> tuple[FloatArray, FloatArray]:
        """Points to come if the game is not lost, and the probability to lose it, [B] each."""
        found = np.zeros((2, len(positions)))
        with torch.inference_mode():
            for start in range(0, len(positions), BATCH):
                part = np.arange(start, min(start + BATCH, len(positions)))
                points, lost = self(positions.select(part))
                found[:, part] = torch.stack([points, lost.sigmoid()]).cpu().numpy()
        return found[0], found[1]

    def values(self, positions: Positions) -> FloatArray:
        """[B] expected score points still to come; losing the game costs those scored so far."""
        points, lost = self.predictions(positions)
        return (1 - lost) * points - lost * positions.score
