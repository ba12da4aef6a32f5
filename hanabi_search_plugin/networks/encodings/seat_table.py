"""Features of what a seat sees of the table: the input of ``MaskNet`` and of critics.

The seat's own cards come first, then the others' in their order of play. Computed with tensors on
any device; ``nets.mask_on_cpu.tables`` is the compiled twin. Letters as in ``status``; T other
players.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import one_hot

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import NO_CARD, TURN
from hanabi_search_plugin.networks.encodings import status
from hanabi_search_plugin.networks.encodings.status import STATUSES, SUMMARY, PublicTable

Tensor = Any  # torch.Tensor


@dataclass(frozen=True)
class SeatTable:
    """The features, and parts of them that ``MaskNet`` reads again."""

    planes: Tensor  # [B, S, V] statuses
    slots: Tensor  # [B, H, own_size] the own cards
    masks: Tensor  # [B, T, H, V] of the others' cards
    cards: Tensor  # [B, T, H, V] the others' cards
    features: Tensor  # [B, table_size] board, own slots, others' slots, whose turn it is


def own_size(config: HanabiConfig) -> int:
    """Numbers for each own card."""
    return 2 * (SUMMARY + STATUSES) + config.ranks + config.players - 1 + 1


def other_size(config: HanabiConfig) -> int:
    """Numbers for each card of another."""
    return SUMMARY + STATUSES + config.ranks + STATUSES + config.ranks + 3


def table_size(config: HanabiConfig) -> int:
    """Numbers of all features."""
    size, others = config.hand_size, config.players - 1
    own = status.board_size(config) + size * own_size(config)
    return own + others * size * other_size(config) + others


def by_tensors(config: HanabiConfig, public: Tensor, private: Tensor, memory: Tensor) -> SeatTable:
    """The table from "status-1" words [B, ...] and masks ``memory`` [B, P x H]."""
    players, size = config.players, config.hand_size
    table = status.table(config, public)
    turn, hands = table.word(TURN).clamp(min=0), private.reshape(-1, players, size)
    me = looking(table, hands, turn)
    masks = status.turned(status.masks_of(config, memory), me)
    cards = status.turned(hands, me)[:, 1:].long()
    cards = one_hot(cards, 32).float()[..., : status.identities(config)]
    planes = status.statuses(config, table.left, table.played)
    own, others = masks[:, 0], masks[:, 1:]
    slots = _own_slots(config, table, planes, own, cards)
    seen = [
        status.board(config, table),
        slots.flatten(1),
        _other_slots(config, planes, others, cards).flatten(1),
        one_hot((turn - me) % players, players)[:, 1:].float(),
    ]
    return SeatTable(planes, slots, others, cards, torch.cat(seen, 1))


def looking(table: PublicTable, hands: Tensor, turn: Tensor) -> Tensor:
    """[B] the seat whose view ``hands`` is: it has cards and sees none of them."""
    hidden = (hands == NO_CARD).all(-1) & (table.present > 0).any(-1)  # [B, P]
    return torch.where(hidden.any(1), hidden.int().argmax(1), turn)


def _own_slots(
    config: HanabiConfig, table: PublicTable, planes: Tensor, own: Tensor, cards: Tensor
) -> Tensor:
    """[B, H, own_size] the own cards, by what all know and by what the seat sees besides."""
    size = own.sum(-1, keepdim=True)
    located = ((size == 1) * own).sum(1) + cards.sum((1, 2))
    rest = own * (located < table.left).unsqueeze(1)
    seen = torch.where((size == 1) | (rest.sum(-1, keepdim=True) == 0), own, rest)
    parts = []
    for held in (own, seen):
        summary = status.summary(held, planes)
        parts += [summary, status.margins(summary[:, None, :, 2 : 2 + STATUSES])[:, 0]]
    parts.append(status.ranks_of(config, seen))
    newest = _newest(cards)  # [B, T, V]
    parts.append(own @ newest.transpose(1, 2) / size.clamp(min=1))
    parts.append((size > 0).float())
    return torch.cat(parts, -1)


def _newest(cards: Tensor) -> Tensor:
    """[B, T, V] the newest card of each other player."""
    held = cards.sum(-1)  # [B, T, H]
    after = held.flip(-1).cumsum(-1).flip(-1) - held
    return (cards * (held * (after == 0)).unsqueeze(-1)).sum(2)


def _other_slots(config: HanabiConfig, planes: Tensor, others: Tensor, cards: Tensor) -> Tensor:
    """[B, T, H, other_size] the others' cards: what they are and what all know of them."""
    shape = (*others.shape[:3], -1)
    summary = status.summary(others.flatten(1, 2), planes).reshape(shape)
    shares = summary[..., 2 : 2 + STATUSES]
    true = cards.flatten(1, 2) @ planes.transpose(1, 2)
    return torch.cat(
        [
            summary,
            status.margins(shares),
            status.ranks_of(config, others),
            true.reshape(shape),
            status.ranks_of(config, cards),
            (others * cards).sum(-1, keepdim=True),  # what is known is true
            cards.sum(-1, keepdim=True),
            (others.sum(-1, keepdim=True) > 0).float(),
        ],
        -1,
    )
