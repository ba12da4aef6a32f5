"""A network whose memory is public knowledge: for every card, the identities it may have.

The memory is int32 [B, P x hand] masks of 25 bits, in order of seats, the same for every seat. What
hints exclude, and where cards move to, is computed; what a convention implies is learned: for each
card, learned weights over features of the identities say which ones to rule out. One network scores
the own cards, another the hints, from the masks as a hint would leave them. The value head serves
seats that are not to move, too: players stand in order from the observing seat, and whose turn it
is, is an input. Letters as in ``status``; A actions, T other players, N hints to one player.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import LAST_PLAYER
from hanabi_search_plugin.networks.encodings import seat_table, status
from hanabi_search_plugin.networks.encodings.mask_features import IDENTITY, KEPT
from hanabi_search_plugin.networks.encodings.status import STATUSES, SUMMARY, PublicTable
from hanabi_search_plugin.networks.encodings.status_encoding import Status
from hanabi_search_plugin.networks.modules import (
    Output,
    SharedScorer,
    layers,
    require_sizes,
)
from hanabi_search_plugin.networks.nets import mask_on_cpu
from hanabi_search_plugin.networks.nets.move_heads import MoveHeads

Tensor = Any  # torch.Tensor


class MaskMemory(nn.Module):
    """Updates masks: from those before the last move, and the table after it."""

    def __init__(self, config: HanabiConfig, hidden: int, context: int, scorer: int) -> None:
        super().__init__()
        self.config = config
        cards = config.players * config.hand_size
        self.slot_size = 2 * (SUMMARY + STATUSES) + 2
        table = status.event_size(config) + status.board_size(config)
        self.table_size = table + cards * self.slot_size
        self.context = layers(self.table_size, hidden, context)
        self.slot = SharedScorer(context, cards, self.slot_size, scorer)
        self.weights = nn.Linear(scorer, IDENTITY)
        nn.init.zeros_(self.weights.weight)
        nn.init.zeros_(self.weights.bias)

    def forward(self, seen: PublicTable, masks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(logits, open, first) [B, P, H, V], players in order from ``first`` [B].

        ``masks`` [B, P, H, V] in order of seats. ``open`` is 1 where hints and counted copies leave
        an identity; only there a logit has a meaning.
        """
        config = self.config
        players, size = config.players, config.hand_size
        first = seen.word(LAST_PLAYER).clamp(min=0)
        before, card = status.statuses_before(config, seen)
        masks = status.moved_along(config, seen, masks)
        open_ = masks * seen.hinted
        empty = open_.sum(-1, keepdim=True) == 0
        open_ = torch.where(empty, seen.hinted, open_)
        open_ = status.without_located(open_.flatten(1, 2), seen.left).reshape(masks.shape)
        masks, open_ = status.turned(masks, first), status.turned(open_, first)
        hit = status.touched(config, seen)
        parts = []
        for held in (masks, open_):
            summary = status.summary(held.flatten(1, 2), before)
            shares = summary[..., 2 : 2 + STATUSES].reshape(-1, players, size, STATUSES)
            parts += [summary, status.margins(shares).flatten(1, 2)]
        present = status.turned(seen.present, first)
        parts += [hit.flatten(1).unsqueeze(-1), present.flatten(1).unsqueeze(-1)]
        slots = torch.cat(parts, -1)  # [B, K, slot_size]
        event = status.event(config, seen, before, card)
        table = torch.cat([event, status.board(config, seen), slots.flatten(1)], 1)
        weights = self.weights_of(table)
        after = status.statuses(config, seen.left, seen.played)
        rest = torch.stack([torch.ones_like(card), card, before[:, 0] * before[:, 2]], 1)
        identities = torch.cat([before, after, rest], 1)  # [B, IDENTITY, V]
        logits = (KEPT + weights @ identities).reshape(masks.shape)
        return logits, open_, first

    def weights_of(self, table: Tensor) -> Tensor:
        """[B, K, IDENTITY] weights that say which identities to rule out; table [B, table_size]."""
        cards = self.config.players * self.config.hand_size
        slots = table[:, -cards * self.slot_size :].unflatten(1, (cards, self.slot_size))
        return self.weights(self.slot(self.context(table), slots))


class MaskNet(MoveHeads):
    """The whole network, with layers of these sizes. Raises ConfigError for one below 1."""

    public_memory = True

    def __init__(
        self,
        config: HanabiConfig,
        *,
        hidden: int = 256,
        context: int = 128,
        scorer: int = 128,
    ) -> None:
        super().__init__(config)
        self.identities = status.identities(config)
        require_sizes(hidden=hidden, context=context, scorer=scorer)
        self.options = {"hidden": hidden, "context": context, "scorer": scorer}
        self.encoding = Status(config)
        self.memory = MaskMemory(config, hidden, context, scorer)
        players, size = config.players, config.hand_size
        self.own_size = seat_table.own_size(config)
        self.board_size = status.board_size(config)
        self.table_size = seat_table.table_size(config)
        self.context = layers(self.table_size, hidden, context)
        self.own = SharedScorer(context, size, self.own_size, scorer, scorer // 2)
        hints = (players - 1) * (config.colors + config.ranks)
        self.hint_size = size * (4 + SUMMARY + STATUSES)
        self.hint = SharedScorer(context, hints, self.hint_size, scorer, scorer // 2)
        self.add_heads(context, scorer // 2)

    def blank(self, n: int) -> Tensor:
        everything = (1 << self.identities) - 1
        cards = self.config.players * self.config.hand_size
        return torch.full((n, cards), everything, dtype=torch.int32, device=self.planes.device)

    def masks_of(self, memory: Tensor) -> Tensor:
        """[B, P, H, V] of words [B, P x H]."""
        return status.masks_of(self.config, memory)

    def remember(self, seen: Tensor, memory: Tensor) -> Tensor:
        if seen.device.type == "cpu":
            return mask_on_cpu.remember(self, seen, memory)
        return self.remember_by_tensors(seen, memory)

    def remember_by_tensors(self, seen: Tensor, memory: Tensor) -> Tensor:
        """``remember`` on any device."""
        table = status.table(self.config, seen)
        logits, open_, first = self.memory(table, self.masks_of(memory))
        return self.settled(table, logits, open_, first)

    def settled(self, table: PublicTable, logits: Tensor, open_: Tensor, first: Tensor) -> Tensor:
        """[B, P x H] masks of what is left; a card that would have no identity keeps ``open_``."""
        kept = open_ * (logits > 0)
        kept = torch.where(kept.sum(-1, keepdim=True) == 0, open_, kept)
        kept = status.turned(kept, (-first) % self.config.players)
        kept = status.without_located(kept.flatten(1, 2), table.left)
        return status.pack(kept > 0)

    def decide(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        if private.device.type == "cpu":
            return mask_on_cpu.decide(self, public, private, memory)
        return self.decide_by_tensors(public, private, memory)

    def decide_by_tensors(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        """``decide`` on any device."""
        public, memory = (x.expand(len(private), -1) for x in (public, memory))
        at = seat_table.by_tensors(self.config, public, private, memory)
        context = self.context(at.features)
        moves = self.own_heads(self.own(context, at.slots))  # [B, H, 4]
        hints = self._hints(at.planes, at.masks, at.cards)  # [B, T, N, hint_size]
        scores = self.hint_heads(self.hint(context, hints.flatten(1, 2)))  # [B, T x N, 2]
        kinds = self.kinds(context)
        heads = [self.joined(head, moves, scores, kinds) for head in range(2)]
        return Output(heads[0], heads[1], self.value(context).squeeze(1))

    def _hints(self, planes: Tensor, others: Tensor, cards: Tensor) -> Tensor:
        """[B, T, N, hint_size] by the masks as each hint would leave them."""
        batch, players, size = others.shape[:3]
        hints = len(self.planes)
        touch = cards @ self.planes.T  # [B, T, H, N]
        # Sizes of masks and of their part in each status, inside the hint's plane and outside.
        by_status = torch.cat([torch.ones_like(planes[:, :1]), planes], 1)  # [B, 1 + S, V]
        parts = others.unsqueeze(3) * by_status[:, None, None]  # [B, T, H, 1 + S, V]
        inside = (parts @ self.planes.T).transpose(3, 4)  # [B, T, H, N, 1 + S]
        whole = parts.sum(-1).unsqueeze(3)
        left = torch.where(touch.unsqueeze(-1) > 0, inside, whole - inside)
        told = status.counted(left[..., :1], left[..., 1:], self.identities)
        true = (cards.flatten(1, 2) @ planes.transpose(1, 2)).reshape(batch, players, size, 1, -1)
        lost = (whole - left)[..., :1] / self.identities
        playable, all_of_it = whole[..., 1:2], whole[..., :1]
        sure = torch.cat([playable == all_of_it, playable == 0], -1).float()  # before the hint
        same = torch.cat([sure, true], -1).expand(-1, -1, -1, hints, -1)
        slots = torch.cat([touch.unsqueeze(-1), lost, told, same], -1)
        return slots.transpose(2, 3).flatten(3)
