"""Features that describe cards by the value of their identities, as tensors.

Fireworks and discards tell of every identity whether it would score now (playable), will never
score (worthless), or is the last copy of a card still needed (critical). The mask of a card, the
identities that it may have, is summarised by these statuses. Everything is computed on the device,
from words of 25 bits. Letters: B worlds, P players, H slots of a hand, K masks, V identities, C
colours, R ranks, S statuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import one_hot

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    INFO,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    LAST_TOUCHED,
    LEFT0,
    LEFT1,
    LEFT2,
    LIVES,
    PLAYED,
    SCORED,
)
from hanabi_search_plugin.networks.encodings.mask_features import HEADER, LATE

Tensor = Any  # torch.Tensor

AT = {word: at for at, word in enumerate(HEADER)}

STATUSES = 3  # playable, worthless, critical
SUMMARY = 2 + 3 * STATUSES  # numbers in a summary


def bits(words: Tensor, n: int) -> Tensor:
    """[..., n] the lowest n bits of words as float32."""
    return ((words.unsqueeze(-1) >> torch.arange(n, device=words.device)) & 1).float()


def pack(mask: Tensor) -> Tensor:
    """Bool [..., n] as int32 words."""
    places = torch.arange(mask.shape[-1], device=mask.device)
    return (mask.long() << places).sum(-1).int()


def turned(x: Tensor, first: Tensor) -> Tensor:
    """[B, P, ...] with player ``first`` [B] before the others in their order of play."""
    players = x.shape[1]
    order = (first.unsqueeze(1) + torch.arange(players, device=x.device)) % players
    return x[torch.arange(len(x), device=x.device).unsqueeze(1), order]


def identities(config: HanabiConfig) -> int:
    """V."""
    return config.colors * config.ranks


def masks_of(config: HanabiConfig, words: Tensor) -> Tensor:
    """[B, P, H, V] of words [B, P x H], one a card."""
    every = identities(config)
    return bits(words, every).reshape(-1, config.players, config.hand_size, every)


def ranks_of(config: HanabiConfig, masks: Tensor) -> Tensor:
    """[..., R] the share of each rank in masks [..., V]."""
    by_rank = masks.unflatten(-1, (config.colors, config.ranks)).sum(-2)
    return by_rank / masks.sum(-1, keepdim=True).clamp(min=1)


def statuses(config: HanabiConfig, left: Tensor, played: Tensor) -> Tensor:
    """[B, S, V] of copies left and cards played, each [B, V]."""
    shape = (-1, config.colors, config.ranks)
    left, played = left.reshape(shape), played.reshape(shape)
    ones = torch.ones_like(played[..., :1])
    below = torch.cat([ones, played.cumprod(-1)[..., :-1]], -1)
    playable = below * (1 - played)
    reachable = torch.maximum(played, (left > 0).float())
    reachable = torch.cat([ones, reachable.cumprod(-1)[..., :-1]], -1)
    worthless = torch.maximum(played, 1 - reachable)
    critical = (left == 1) * (1 - worthless)
    return torch.stack([playable, worthless, critical], 1).flatten(2)


def summary(masks: Tensor, planes: Tensor) -> Tensor:
    """[B, K, SUMMARY] masks [B, K, V] against statuses [B, S, V].

    How many identities, whether it is one; then for each status the share of the mask that has it,
    whether all have it and whether none has.
    """
    size = masks.sum(-1, keepdim=True)
    return counted(size, masks @ planes.transpose(1, 2), masks.shape[-1])


def counted(size: Tensor, counts: Tensor, every: int) -> Tensor:
    """``summary`` of the sizes of masks [..., 1] and their identities of each status [..., S]."""
    return torch.cat(
        [
            size / every,
            (size == 1).float(),
            counts / size.clamp(min=1),
            (counts == size).float(),
            (counts == 0).float(),
        ],
        -1,
    )


def margins(shares: Tensor) -> Tensor:
    """[B, P, H, S] each slot's shares less the best of the other slots of its hand."""
    if shares.shape[2] == 1:
        return shares
    best, at = shares.max(dim=2, keepdim=True)
    second = shares.scatter(2, at, -1.0).max(dim=2, keepdim=True).values
    slots = torch.arange(shares.shape[2], device=shares.device).view(1, 1, -1, 1)
    return shares - torch.where(slots == at, second, best)


def without_located(masks: Tensor, left: Tensor, rounds: int = 2) -> Tensor:
    """Masks [B, K, V] less identities all of whose copies ``left`` [B, V] are located in them.

    A mask of one identity locates a copy. Masks of one stay, and none becomes empty.
    """
    for _ in range(rounds):
        known = masks.sum(-1, keepdim=True) == 1
        gone = left.unsqueeze(1) <= (masks * known).sum(1, keepdim=True)
        rest = masks * ~gone
        masks = torch.where(known | (rest.sum(-1, keepdim=True) == 0), masks, rest)
    return masks


@dataclass(frozen=True)
class PublicTable:
    """The public part of "status-1", expanded."""

    words: Tensor  # [B, N]
    left: Tensor  # [B, V] copies of each identity neither played nor discarded
    played: Tensor  # [B, V]
    hinted: Tensor  # [B, P, H, V] what hints leave open; nothing where there is no card
    present: Tensor  # [B, P, H]

    def word(self, name: int) -> Tensor:
        """[B] a word of HEADER as int64."""
        return self.words[:, AT[name]].long()


def table(config: HanabiConfig, public: Tensor) -> PublicTable:
    """Expand the public words [B, N]."""
    players, size, every = config.players, config.hand_size, identities(config)
    left0, left1, left2 = (bits(public[:, AT[word]], every) for word in (LEFT0, LEFT1, LEFT2))
    knowledge = public[:, len(HEADER) : len(HEADER) + players * size]
    knowledge = knowledge.reshape(-1, players, size)
    color = bits(knowledge, config.colors).unsqueeze(-1)
    rank = bits(knowledge >> 5, config.ranks).unsqueeze(-2)
    present = bits(public[:, len(HEADER) + players * size :], size)
    return PublicTable(
        words=public,
        left=3 - left0 - left1 - left2,
        played=bits(public[:, AT[PLAYED]], every),
        hinted=(color * rank).flatten(3) * present.unsqueeze(-1),
        present=present,
    )


def board_size(config: HanabiConfig) -> int:
    """Numbers of ``board``."""
    tokens = config.information_tokens + 1 + config.life_tokens + 1
    return tokens + LATE + 1 + identities(config)


def board(config: HanabiConfig, seen: PublicTable) -> Tensor:
    """[B, board_size] tokens, the deck and the fireworks."""
    deck = config.deck_size - seen.word(DECK_NEXT)
    return torch.cat(
        [
            one_hot(seen.word(INFO), config.information_tokens + 1).float(),
            one_hot(seen.word(LIVES), config.life_tokens + 1).float(),
            one_hot(deck.clamp(max=LATE - 1), LATE).float(),
            deck.unsqueeze(1) / config.deck_size,
            seen.played,
        ],
        1,
    )


def statuses_before(config: HanabiConfig, seen: PublicTable) -> tuple[Tensor, Tensor]:
    """The statuses as they were before the last move [B, S, V], and the card that left [B, V]."""
    card = seen.word(LAST_CARD)
    left = one_hot(card.clamp(min=0), identities(config)).float() * (card >= 0).unsqueeze(1)
    scored = ((seen.word(LAST_FLAGS) & SCORED) > 0).unsqueeze(1)
    return statuses(config, seen.left + left, seen.played - left * scored), left


def moved_along(config: HanabiConfig, seen: PublicTable, masks: Tensor) -> Tensor:
    """Masks [B, P, H, V] of the slots before the last move, as they lie after it.

    They stay with their cards; a new card may be anything.
    """
    size = config.hand_size
    action, mover = seen.word(LAST_ACTION), seen.word(LAST_PLAYER).clamp(min=0)
    slots = torch.arange(size, device=masks.device)
    slot = torch.where(action < 2 * size, action % size, size)
    slot = torch.where(seen.word(LAST_PLAYER) >= 0, slot, size)
    source = slots + (slots >= slot.unsqueeze(1)).long()  # [B, H]
    rows = torch.arange(len(masks), device=masks.device)
    hand = torch.cat([masks[rows, mover], torch.ones_like(masks[:, 0, :1])], 1)
    after = masks.clone()
    after[rows, mover] = hand[rows.unsqueeze(1), source]
    return after * seen.present.unsqueeze(-1)


def event_size(config: HanabiConfig) -> int:
    """Numbers of ``event``."""
    return config.num_actions + 3 + STATUSES


def event(config: HanabiConfig, seen: PublicTable, before: Tensor, card: Tensor) -> Tensor:
    """[B, event_size] the last move; zeros before the first. Arguments as ``statuses_before``."""
    action = seen.word(LAST_ACTION)
    made = (action >= 0).float().unsqueeze(1)
    played = one_hot(action.clamp(min=0), config.num_actions).float() * made
    flags = bits(seen.word(LAST_FLAGS), 3) * made
    return torch.cat([played, flags, (before * card.unsqueeze(1)).sum(-1)], 1)


def touched(config: HanabiConfig, seen: PublicTable) -> Tensor:
    """[B, P, H] cards that the last move hinted at, players in order from the one who moved."""
    players, size, action = config.players, config.hand_size, seen.word(LAST_ACTION)
    hint = action - 2 * size
    by_rank = hint - (players - 1) * config.colors
    offset = torch.where(by_rank >= 0, by_rank // config.ranks, hint // config.colors) + 1
    target = one_hot(torch.where(hint >= 0, offset, 0), players).float()
    slots = bits(seen.word(LAST_TOUCHED), size) * (hint >= 0).unsqueeze(1)
    return target.unsqueeze(-1) * slots.unsqueeze(1)
