"""The encoding "status-1": cards described by the value of their identities; see ``status``.

Letters as in ``status``; T other players, N hints to one player.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import one_hot

from hanabi_search_plugin.core.game import View
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import HANDS, LAST_PLAYER, NO_CARD, TURN, dims_of
from hanabi_search_plugin.networks.encodings import status
from hanabi_search_plugin.networks.encodings.mask_features import HEADER, public_words
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding
from hanabi_search_plugin.networks.encodings.status import STATUSES, SUMMARY, PublicTable

Tensor = Any  # torch.Tensor


class Status(Encoding):
    """The words of a native row that a seat sees, expanded to the features of ``status``.

    ``public``: int32 [B, HEADER, then a word of hint knowledge a card (P x H), then one word a
    player with bit i set where slot i has a card], the same for every seat. ``private``: int32
    [B, P x H] cards by player, NO_CARD in the own hand and past the end of others'. Expanded,
    players stand in order from the one to move, and masks are what hints and the table leave open.
    """

    name = "status-1"
    seat_relative = False

    def __init__(self, config: HanabiConfig) -> None:
        super().__init__(config)
        cards = config.players * config.hand_size
        each = SUMMARY + STATUSES + config.ranks + 2
        table = status.board_size(config) + status.event_size(config)
        self.public_size = table + cards * each
        self.private_size = self.public_size + cards * (status.identities(config) + STATUSES)
        self.public_words = len(HEADER) + cards + config.players
        self.alone = slice(self.public_size, self.private_size)

    def public(self, view: View) -> NDArray[np.int32]:
        rows = self.native(view).rows
        words = np.empty((len(rows), self.public_words), dtype=np.int32)
        public_words(dims_of(self.config), rows, words)
        return words

    def private(self, view: View) -> NDArray[np.int32]:
        size = self.config.hand_size
        cards = self.native(view).rows[:, HANDS : HANDS + self.config.players * size].copy()
        cards[:, view.player * size : (view.player + 1) * size] = NO_CARD
        return cards

    def expand_public(self, public: Tensor) -> Tensor:
        config, seen = self.config, status.table(self.config, public)
        mover = seen.word(TURN).clamp(min=0)
        planes = status.statuses(config, seen.left, seen.played)
        open_ = status.without_located(seen.hinted.flatten(1, 2), seen.left)
        masks = status.turned(open_.reshape(seen.hinted.shape), mover)
        summary = status.summary(masks.flatten(1, 2), planes)
        shares = summary[..., 2 : 2 + STATUSES].reshape(*masks.shape[:3], STATUSES)
        hit = status.turned(status.touched(config, seen), self._since(seen, mover))
        cards = torch.cat(
            [
                summary,
                status.margins(shares).flatten(1, 2),
                status.ranks_of(config, masks).flatten(1, 2),
                hit.flatten(1).unsqueeze(-1),
                status.turned(seen.present, mover).flatten(1).unsqueeze(-1),
            ],
            -1,
        )
        event = status.event(config, seen, *status.statuses_before(config, seen))
        return torch.cat([status.board(config, seen), event, cards.flatten(1)], 1)

    def expand_alone(self, public: Tensor, private: Tensor) -> Tensor:
        config, seen = self.config, status.table(self.config, public)
        cards = private.reshape(-1, config.players, config.hand_size)
        mover = seen.word(TURN).clamp(min=0).expand(len(cards))
        cards = status.turned(cards, mover).long()
        held = one_hot(cards, NO_CARD + 1)[..., : status.identities(config)].float()
        planes = status.statuses(config, seen.left, seen.played)
        worth = held.flatten(1, 2) @ planes.transpose(1, 2)
        return torch.cat([held.flatten(1), worth.flatten(1)], 1)

    def _since(self, seen: PublicTable, mover: Tensor) -> Tensor:
        """[B] seats from the player of the last move to the one to move."""
        return (mover - seen.word(LAST_PLAYER).clamp(min=0)) % self.config.players
