"""Encode what a seat sees of worlds on a device: observations and the networks' encodings.

The numbers equal those of ``hanabi.engine.encoding`` and of networks' encodings for the seat's
view. There is no view here: of the seat's own hand only the presence of cards is read, of the deck
nothing at all. Letters: B worlds, P players, H slots, V identities, C colours, R ranks, N bits of
an observation, M bytes of it, K words.
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    DECK_NEXT,
    GAINED_INFO,
    INFO,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    LAST_TOUCHED,
    LEFT0,
    LEFT2,
    LIVES,
    NO_CARD,
    PLAYED,
    SCORED,
    TOLD_COLOR,
    TOLD_RANK,
)
from hanabi_search_plugin.networks.encodings.mask_features import HEADER
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding
from hanabi_search_plugin.networks.encodings.status_encoding import Status
from hanabi_search_plugin.networks.encodings.v0_encoding import V0
from hanabi_search_plugin.networks.tensors.tensor_constants import Constants, Tensor, constants_of
from hanabi_search_plugin.networks.tensors.tensor_worlds import TensorWorlds


def observation(worlds: TensorWorlds, seat: int | Tensor) -> Tensor:
    """bool [B, N] the observation "openspiel" of ``seat``, one for all or int64 [B].

    Raises UnsupportedError for an ``observation_type`` other than card_knowledge.
    """
    return _bits(worlds, seat).t().contiguous()


def encoded(encoding: Encoding, worlds: TensorWorlds, seat: int | Tensor) -> tuple[Tensor, Tensor]:
    """The public and the private part for ``seat``, as ``encoding`` makes them of its view.

    ``seat`` is one for all or int64 [B]; in games that are over any seat will do. Raises
    UnsupportedError for an encoding that is not known here, or was made for other games.
    """
    encoding.require(worlds.game.config)
    if isinstance(encoding, V0):
        whole = packed(worlds, seat)
        keep = _without_hands(encoding, worlds.device)
        return whole & keep, whole
    if isinstance(encoding, Status):
        return _status_public(worlds), _status_private(worlds, seat)
    raise UnsupportedError(
        f"encoding must be one of {V0.name}, {Status.name} on a device, got {encoding.name}"
    )


def packed(worlds: TensorWorlds, seat: int | Tensor) -> Tensor:
    """uint8 [B, M] the observation "packed": eight bits a byte, the first one the highest."""
    bits = _bits(worlds, seat)
    rest = -len(bits) % 8
    whole = torch.cat([bits, bits.new_zeros(rest, len(worlds))]) if rest else bits
    worth = constants_of(worlds.game, worlds.device).bytes_
    packed = (whole.unflatten(0, (-1, 8)) * worth).sum(1, dtype=torch.uint8)  # [M, B]
    return packed.t().contiguous()


def _bits(worlds: TensorWorlds, seat: int | Tensor) -> Tensor:
    """bool [N, B]"""
    config = worlds.game.config
    if config.observation_type != "card_knowledge":
        raise UnsupportedError(
            f"observation_type must be card_knowledge on a device, got {config.observation_type!r}"
        )
    constants = constants_of(worlds.game, worlds.device)
    seats = _seats(worlds, seat)
    hands = worlds.turned(worlds.hands, seats)  # [P, H, B]
    parts = [
        (hands[1:].unsqueeze(2) == constants.identities).flatten(0, 2),
        hands[:, -1] == NO_CARD,
        *_table(worlds, constants),
        *_last_action(worlds, constants, seats),
        _knowledge(worlds, hands != NO_CARD, seats),
    ]
    return torch.cat(parts)


def _seats(worlds: TensorWorlds, seat: int | Tensor) -> Tensor:
    """int64 [B]"""
    if isinstance(seat, int):
        return torch.full((len(worlds),), seat, device=worlds.device)
    return seat.clamp(min=0)


def _table(worlds: TensorWorlds, constants: Constants) -> list[Tensor]:
    """Deck, fireworks, tokens and discards."""
    config, words = worlds.game.config, worlds.words
    undealt = config.deck_size - config.players * config.hand_size
    planes = (words[LEFT0 : LEFT2 + 1].unsqueeze(1) >> constants.identities) & 1  # [3, V, B]
    played = (words[PLAYED] >> constants.identities) & 1
    discarded = constants.copies - 3 + planes.sum(0) - played  # [V, B]
    tops = words[PLAYED] & ~((words[PLAYED] & words[ABOVE0]) >> 1)
    return [
        _thermometer(config.deck_size - words[DECK_NEXT], undealt),
        ((tops >> constants.identities) & 1).bool(),
        _thermometer(words[INFO], config.information_tokens),
        _thermometer(words[LIVES], config.life_tokens),
        discarded.index_select(0, constants.discards) > constants.copy,
    ]


def _last_action(worlds: TensorWorlds, constants: Constants, seats: Tensor) -> list[Tensor]:
    """Who, what, to whom, colour, rank, slots touched, slot, card, scored, token gained."""
    config, words = worlds.game.config, worlds.words
    action, players = words[LAST_ACTION], constants.players
    made = torch.where(action >= 0, action, config.num_actions)
    move = constants.move(made)
    who = (words[LAST_PLAYER] - seats) % config.players
    target = (who + move.offset) % config.players
    attributes = torch.arange(config.colors + config.ranks, device=worlds.device).unsqueeze(1)
    attribute = attributes == move.attribute  # [C + R, B]
    of_color, of_rank = attribute.split([config.colors, config.ranks])
    return [
        (players == who) & (action >= 0),
        torch.stack([move.play == 1, move.discard == 1, of_color.any(0), of_rank.any(0)]),
        (players == target) & (move.hint == 1),
        attribute,
        ((words[LAST_TOUCHED] >> constants.slots) & move.hint).bool(),
        constants.slots == move.slot,
        constants.identities == words[LAST_CARD],
        torch.stack([words[LAST_FLAGS] & flag for flag in (SCORED, GAINED_INFO)]).bool()
        & (move.play == 1),
    ]


def _knowledge(worlds: TensorWorlds, present: Tensor, seats: Tensor) -> Tensor:
    """Each card's plausible identities, then the colour and the rank it was told to be."""
    config = worlds.game.config
    known = worlds.turned(worlds.knowledge, seats) * present  # [P, H, B]
    known = known.unsqueeze(2)
    shifts = torch.arange(5, device=worlds.device, dtype=torch.int32).unsqueeze(1)
    colors = ((known >> shifts[: config.colors]) & 1).bool()  # [P, H, C, B]
    ranks = ((known >> 5 >> shifts[: config.ranks]) & 1).bool()
    plausible = (colors.unsqueeze(3) & ranks.unsqueeze(2)).flatten(2, 3)
    told_color, told_rank = (known & TOLD_COLOR).bool(), (known & TOLD_RANK).bool()
    return torch.cat([plausible, colors & told_color, ranks & told_rank], 2).flatten(0, 2)


def _thermometer(value: Tensor, size: int) -> Tensor:
    """bool [size, B] as many ones as ``value`` [B] says, then zeros."""
    return torch.arange(size, device=value.device, dtype=torch.int32).unsqueeze(1) < value


@functools.lru_cache(maxsize=64)
def _without_hands(encoding: V0, device: torch.device) -> Tensor:
    """uint8 [M] ones where a byte's bits belong to no hand."""
    bits = np.arange(8 * encoding.public_words) >= encoding.hands
    return torch.tensor(np.packbits(bits), device=device)


def _status_public(worlds: TensorWorlds) -> Tensor:
    """int32 [B, K] see ``Status``: the header, hint knowledge, and which slots hold cards."""
    constants = constants_of(worlds.game, worlds.device)
    present = (worlds.hands != NO_CARD).int() << constants.slots  # [P, H, B]
    parts = [
        torch.stack([worlds.words[word] for word in HEADER]),
        worlds.knowledge.flatten(0, 1),
        present.sum(1, dtype=torch.int32),
    ]
    return torch.cat(parts).t().contiguous()


def _status_private(worlds: TensorWorlds, seat: int | Tensor) -> Tensor:
    """int32 [B, P x H] the cards, NO_CARD in the own hand."""
    players = constants_of(worlds.game, worlds.device).players
    own = (players == _seats(worlds, seat)).unsqueeze(1)
    return torch.where(own, NO_CARD, worlds.hands).flatten(0, 1).t().contiguous()
