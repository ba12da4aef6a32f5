"""Lookup tables of a game of Hanabi as tensors: planes of identities, effects of actions, decks.

Letters: W words of a row, P players, H slots of a hand, A actions, C colours, R ranks, V
identities, D cards of the deck, M numbers about an action, B worlds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import TOLD_COLOR, TOLD_RANK
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

Tensor = Any  # torch.Tensor


class TensorMove(NamedTuple):
    """The effect of an action, a number a field; or of many, int32 [B] a field."""

    play: Any  # 1 or 0, as the next two
    discard: Any
    hint: Any
    slot: Any  # H for a hint
    offset: Any  # how many seats on the hinted player sits
    attribute: Any  # the hinted colour, or rank from C on; -1 for none
    plane: Any  # the identities of that
    kept: Any  # what stays of the hint knowledge of a card that the hint touches
    missed: Any  # and of one that it misses
    told: Any  # what a touched card is told outright


@dataclass(frozen=True)
class Constants:
    """Constants of one game on one device."""

    template: Tensor  # int32 [W] the row before the deal
    sorted_deck: Tensor  # int32 [D]
    moves: Tensor  # int32 [M, A + 1] see ``moves_of``
    players: Tensor  # int32 [P, 1]
    slots: Tensor  # int32 [H, 1]
    identities: Tensor  # int32 [V, 1]
    attributes: Tensor  # int32 [C + R, 1] the plane of each colour and rank
    copies: Tensor  # int32 [V, 1] of each identity
    discards: Tensor  # int64 [D] the identity of each place of the discards in an observation
    copy: Tensor  # int32 [D, 1] and which of its copies the place stands for
    bytes_: Tensor  # uint8 [8, 1] what the bits of a byte are worth, the first one most
    nothing_known: int  # hint knowledge of a card that was just drawn

    def move(self, actions: Tensor) -> TensorMove:
        """The effects of ``actions`` [B]; A is no move."""
        return TensorMove(*self.moves[:, actions].unbind(0))


@functools.lru_cache(maxsize=64)
def constants_of(game: HanabiGame, device: torch.device) -> Constants:
    """Made at the first call, which waits for the device."""
    config = game.config

    def column(values: Any) -> Tensor:
        return torch.tensor(values, dtype=torch.int32, device=device).unsqueeze(1)

    template = torch.tensor(game.template, device=device)
    copies = config.copies * config.colors
    discards = [identity for identity, n in enumerate(copies) for _ in range(n)]
    return Constants(
        template=template,
        sorted_deck=template[-config.deck_size :],
        moves=torch.tensor(moves_of(config), dtype=torch.int32, device=device).t().contiguous(),
        players=column(range(config.players)),
        slots=column(range(config.hand_size)),
        identities=column(range(config.colors * config.ranks)),
        attributes=column(attribute_planes(config)),
        copies=column(copies),
        discards=torch.tensor(discards, device=device),
        copy=column([i for n in copies for i in range(n)]),
        bytes_=column([128, 64, 32, 16, 8, 4, 2, 1]).to(torch.uint8),
        nothing_known=((1 << config.colors) - 1) | ((1 << config.ranks) - 1) << 5,
    )


def attribute_planes(config: HanabiConfig) -> list[int]:
    """The identities of each colour, then those of each rank."""
    c, r = config.colors, config.ranks
    by_color = [((1 << r) - 1) << (r * color) for color in range(c)]
    by_rank = [sum(1 << (r * color + rank) for color in range(c)) for rank in range(r)]
    return by_color + by_rank


def moves_of(config: HanabiConfig) -> list[TensorMove]:
    """The effect of every action, then that of no move."""
    h, c, r, p = config.hand_size, config.colors, config.ranks, config.players
    planes = attribute_planes(config)

    def card(slot: int, play: int, discard: int) -> TensorMove:
        return TensorMove(play, discard, 0, slot, 0, -1, 0, -1, -1, 0)

    def hint(offset: int, attribute: int) -> TensorMove:
        of_rank = attribute >= c
        one = 1 << (5 + attribute - c if of_rank else attribute)
        group, told = (31 << 5, TOLD_RANK) if of_rank else (31, TOLD_COLOR)
        plane = planes[attribute]
        return TensorMove(0, 0, 1, h, offset, attribute, plane, ~(group & ~one), ~one, told)

    return [
        *(card(slot, 0, 1) for slot in range(h)),
        *(card(slot, 1, 0) for slot in range(h)),
        *(hint(offset, color) for offset in range(1, p) for color in range(c)),
        *(hint(offset, c + rank) for offset in range(1, p) for rank in range(r)),
        card(h, 0, 0),
    ]
