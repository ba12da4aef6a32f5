"""Scores of moves, put together from those of own cards, of hints and of kinds of moves.

Letters: B worlds, A actions, T other players, N hints to one player, H slots of a hand.
"""

from __future__ import annotations

from abc import ABC
from typing import Any

import torch
from torch import nn
from torch.nn.functional import one_hot

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.modules import Network

Tensor = Any  # torch.Tensor


class MoveHeads(Network, ABC):
    """Base of the networks that score every own card and every hint by layers of their own.

    Head 0 is the logit of a move, head 1 its advantage.
    """

    planes: Tensor  # [N, V] the identities that a hint is about

    def add_heads(self, context: int, scorer: int) -> None:
        """Layers that read ``scorer`` numbers of a card or a hint, and a ``context``."""
        self.own_heads = nn.Linear(scorer, 4)  # logit and advantage of a play, of a discard
        self.hint_heads = nn.Linear(scorer, 2)
        self.kinds = nn.Linear(context, 8)  # the same, of each kind of move
        self.value = nn.Linear(context, 1)
        self.register_buffer("planes", hint_planes(self.config), persistent=False)

    def joined(self, head: int, moves: Tensor, hints: Tensor, kinds: Tensor) -> Tensor:
        """[B, A] logits (head 0) or advantages (head 1), in order of actions.

        Sums scores of own cards [B, H, 4] or hints [B, T x N, 2] and of kinds of moves [B, 8].
        """
        kind = kinds[:, 4 * head : 4 * head + 4]
        hints = hints[..., head].unflatten(1, (self.config.players - 1, len(self.planes)))
        colors = hints[:, :, : self.config.colors].flatten(1) + kind[:, 2:3]
        ranks = hints[:, :, self.config.colors :].flatten(1) + kind[:, 3:4]
        discards = moves[..., 2 + head] + kind[:, 1:2]
        plays = moves[..., head] + kind[:, 0:1]
        return torch.cat([discards, plays, colors, ranks], 1)


def hint_planes(config: HanabiConfig) -> Tensor:
    """float32 [N, V] 1 for the identities of a hint's colour, then of its rank."""
    of_colors = one_hot(torch.arange(config.colors), config.colors)
    of_ranks = one_hot(torch.arange(config.ranks), config.ranks)
    by_color = of_colors.repeat_interleave(config.ranks, 1)
    by_rank = of_ranks.repeat(1, config.colors)
    return torch.cat([by_color, by_rank]).float()
