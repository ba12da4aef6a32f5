"""A public belief over every card: the memory of ``PublicBeliefNet``, and what follows from it.

For each card of each hand a belief holds the likelihood of every identity, by what its owner's
partners have done: log W, in whole units of 1 / ``UNITS`` nat, so that the memory is a function of
the public history alone and never of how games were batched. With the hints and the copies that are
left it makes the probabilities. A learned public belief over independent cards as in the Bayesian
action decoder (Foerster et al., 2019, section 4). Letters: B worlds, P players, H slots of a hand,
K cards, V identities, C colours, R ranks, S statuses, X numbers of a card's memory, W features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, LAST_ACTION, LAST_PLAYER
from hanabi_search_plugin.networks.encodings import status
from hanabi_search_plugin.networks.encodings.belief_parts import (
    COUNTS,
    HIGHEST,
    LONGEST,
    LOWEST,
    ROUNDS,
    SCARCE,
    UNITS,
    WORTHS,
)
from hanabi_search_plugin.networks.encodings.status import STATUSES, PublicTable

Tensor = Any  # torch.Tensor

RECENCY, YOUTH = 0.8, 0.93  # what a move leaves of them


@dataclass(frozen=True)
class CardMemory:
    """The memory of cards, players in an order of the caller's."""

    log_weight: Tensor  # float32 [B, P, H, V] nats
    counts: Tensor  # int16 [B, P, H, COUNTS]

    def traces(self) -> Tensor:
        """[B, P, H, 3] how recently a card was touched, whether it ever was, how new it is."""
        since, ever, age = self.counts.float().unbind(-1)
        return torch.stack([ever * RECENCY**since, ever, YOUTH**age], -1)


def size(config: HanabiConfig) -> int:
    """X."""
    return status.identities(config) + COUNTS


def read(config: HanabiConfig, memory: Tensor) -> CardMemory:
    """int16 [B, P x H x X] in order of seats, or [B, P, H, X] in any."""
    cards = memory.reshape(-1, config.players, config.hand_size, size(config))
    every = status.identities(config)
    return CardMemory(cards[..., :every].float() / UNITS, cards[..., every:])


def moved_along(config: HanabiConfig, seen: PublicTable, memory: Tensor) -> Tensor:
    """int16 [B, P, H, X] of ``memory`` before the last move: with their cards, new ones blank."""
    cards = memory.reshape(-1, config.players, config.hand_size, size(config))
    action, mover = seen.word(LAST_ACTION), seen.word(LAST_PLAYER)
    places = torch.arange(config.hand_size, device=memory.device)
    left = (action >= 0) & (action < 2 * config.hand_size)
    first = torch.where(left, action % config.hand_size, config.hand_size)  # the slot that moves up
    players = torch.arange(config.players, device=memory.device)
    theirs = (players == mover.unsqueeze(1)).unsqueeze(2)  # [B, P, 1]
    up = theirs & (places >= first.view(-1, 1, 1))
    shifted = torch.cat([cards[:, :, 1:], torch.zeros_like(cards[:, :, :1])], 2)
    return torch.where(up.unsqueeze(-1), shifted, cards) * seen.present.short().unsqueeze(-1)


def counted_on(counts: Tensor, touched: Tensor, happened: Tensor) -> Tensor:
    """int16 [B, P, H, COUNTS] after a move that ``touched`` cards [B, P, H]; [B] it ``happened``"""
    since, ever, age = counts.unbind(-1)
    hit = touched > 0
    since = torch.where(hit, 0, (since + 1).clamp(max=LONGEST))
    after = torch.stack([since, ever | hit, (age + 1).clamp(max=LONGEST)], -1)
    return torch.where(happened.view(-1, 1, 1, 1), after, counts).to(counts.dtype)


def quantised(log_weight: Tensor) -> Tensor:
    """int16 units of float nats, within their bounds."""
    return (log_weight * UNITS).clamp(LOWEST, HIGHEST).round().short()


def settled(weight: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
    """(p, free) [B, K, V]: probabilities of cards, and the copies that each may be one of.

    ``weight`` [B, K, V] is the likelihood, 0 where a hint excludes an identity; ``left`` [B, V] the
    copies. A card counts on the copies less what the others take on average, round after round;
    those that a reader of one hand takes apart. A card of weight 0 is none and has p = 0.
    """
    copies = left.unsqueeze(1)
    p = normalised(weight * copies)
    free = copies
    for _ in range(ROUNDS):
        free = torch.maximum(copies - p.sum(1, keepdim=True) + p, SCARCE * copies)
        p = normalised(weight * free)
    return p, free


def normalised(weight: Tensor) -> Tensor:
    """Divided by their sum over the last axis; nothing where that is 0."""
    return weight / weight.sum(-1, keepdim=True).clamp(min=1e-9)


def worths(config: HanabiConfig, planes: Tensor) -> Tensor:
    """[B, WORTHS, V] statuses [B, S, V], and the cards that go on what is playable."""
    playable = planes[:, 0].unflatten(1, (config.colors, config.ranks))
    above = torch.cat([torch.zeros_like(playable[..., :1]), playable[..., :-1]], -1).flatten(1)
    return torch.cat([planes, (above * (1 - planes[:, 1])).unsqueeze(1)], 1)


def card_size(config: HanabiConfig) -> int:
    """Numbers of ``card_features``."""
    return WORTHS + 2 + STATUSES + 2 * STATUSES + config.ranks


def card_features(config: HanabiConfig, p: Tensor, hinted: Tensor, worth: Tensor) -> Tensor:
    """[B, ..., H, W] what beliefs [B, ..., H, V] and the identities that hints leave say of cards.

    The probability of each worth; of the likeliest identity; the entropy; each hand's margins in
    the statuses; whether all or none of the identities left have a status; and of each rank.
    ``worth`` [B, WORTHS, V].
    """
    planes = worth.transpose(1, 2)  # [B, V, WORTHS]
    of = _product(p, planes)
    count, whole = _product(hinted, planes[..., :STATUSES]), hinted.sum(-1, keepdim=True)
    entropy = -(p * p.clamp(min=1e-9).log()).sum(-1, keepdim=True)
    shares = of[..., :STATUSES]
    margins = status.margins(shares.flatten(0, -3).unsqueeze(1)).reshape(shares.shape)
    ranks = p.unflatten(-1, (config.colors, config.ranks)).sum(-2)
    return torch.cat(
        [
            of,
            p.amax(-1, keepdim=True),
            0.3 * entropy,
            margins,
            (count == whole).float(),
            (count == 0).float(),
            ranks,
        ],
        -1,
    )


def _product(cards: Tensor, planes: Tensor) -> Tensor:
    """[B, ..., N] of [B, ..., V] and [B, V, N]."""
    return (cards.flatten(1, -2) @ planes).unflatten(1, cards.shape[1:-1])


def identity_size(config: HanabiConfig) -> int:
    """Numbers of ``identity_features``."""
    return 5 + 2 * STATUSES + config.ranks


def identity_features(
    config: HanabiConfig, before: Tensor, after: Tensor, card: Tensor, held: Tensor
) -> Tensor:
    """[B, W, V] what a move may have said an identity is more or less likely for.

    ``before`` [B, WORTHS, V] and ``after`` are what cards were worth around it, ``card`` [B, V]
    the card that left the hand, ``held`` [B, V] how many the mover expects to hold itself.
    """
    of_rank = torch.eye(config.ranks, device=card.device).repeat(1, config.colors)  # [R, V]
    return torch.cat(
        [
            torch.ones_like(card).unsqueeze(1),
            before[:, :STATUSES],
            after[:, :STATUSES],
            (before[:, 0] * before[:, 2]).unsqueeze(1),
            before[:, STATUSES:],
            card.unsqueeze(1),
            of_rank.expand(len(card), -1, -1),
            held.clamp(max=1).unsqueeze(1),
        ],
        1,
    )


def board_size(config: HanabiConfig) -> int:
    """Numbers of ``board``."""
    return status.board_size(config) + 3


def board(config: HanabiConfig, seen: PublicTable) -> Tensor:
    """[B, board_size] tokens, the deck, the fireworks, and how far there is to go.

    That is: the score, the points that can be had no more, and the discards that one can afford.
    """
    best = config.max_score
    score = seen.played.sum(1, keepdim=True)
    reachable = torch.maximum(seen.played, (seen.left > 0).float())
    reachable = reachable.unflatten(1, (config.colors, config.ranks)).cumprod(-1)
    most = reachable.sum((1, 2)).unsqueeze(1)
    deck = (config.deck_size - seen.word(DECK_NEXT)).unsqueeze(1)
    pace = (score + deck + config.players - most) / 10
    far = [score / best, (best - most) / config.ranks, pace]
    return torch.cat([status.board(config, seen), *far], 1)


def board_after_hint(config: HanabiConfig, seen: PublicTable) -> Tensor:
    """``board`` as a hint would leave it: with one information token less."""
    before = board(config, seen)
    tokens = config.information_tokens + 1
    spent = torch.cat([before[:, 1:tokens], torch.zeros_like(before[:, :1])], 1)
    return torch.cat([spent, before[:, tokens:]], 1)
