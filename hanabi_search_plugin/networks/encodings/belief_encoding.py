"""The encoding "belief-1" of native Hanabi, an input of belief models.

Cards are described by the value of their identities, as in "status-1", but players stand in order
from the observing seat, whoever is to move. What a card may be follows from hints and, where there
is a ``listener`` (a policy that remembers masks of identities), from its conventions, too. Letters:
B views, P players, H slots of a hand, V identities, S statuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import one_hot

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Event, View
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.hanabi.bots.compiled import MaskBot
from hanabi_search_plugin.hanabi.bots.memories import words_of
from hanabi_search_plugin.hanabi.engine.layout import LAST_PLAYER, NO_CARD, TURN
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.encodings import status
from hanabi_search_plugin.networks.encodings.featurizers import BeliefInputs, Featurizer
from hanabi_search_plugin.networks.encodings.status import STATUSES, SUMMARY
from hanabi_search_plugin.networks.encodings.status_encoding import Status

Tensor = Any  # torch.Tensor

DOUBTED = 0.03  # factor for identities that the listener's mask rules out


@dataclass(frozen=True)
class _Words:
    """The parts of a view's numbers, [B, ...] each."""

    public: Tensor  # of "status-1"
    cards: Tensor  # [B, P, H] others' cards, from the seat that looks
    masks: Tensor  # [B, P, H, V] of the listener, or hints where there is none
    seat: Tensor  # [B]
    table: status.PublicTable


class BeliefEncoding(Featurizer):
    """Encodes views of native Hanabi as "belief-1"; ``listener`` is a policy that remembers masks.

    Raises ConfigError for a policy that remembers no masks.
    """

    name = "belief-1"

    def __init__(self, game: HanabiGame, listener: Policy | None = None) -> None:
        self.config, self.words = game.config, Status(game.config)
        self.cards = game.config.players * game.config.hand_size
        self.identities = status.identities(game.config)
        self.listener = listener
        if listener is not None:
            view = game.deal(np.random.default_rng(0), 1).view(0)
            memory = self._masks(listener.start(view))
            masks = isinstance(memory, np.ndarray) and memory.dtype == np.int32
            if not (masks and memory.shape == (1, self.cards)):
                raise ConfigError(
                    f"listener must remember a mask for each card, got {type(listener).__name__}"
                )
        players, own = game.config.players, game.config.hand_size
        table = status.board_size(game.config) + status.event_size(game.config)
        each = 2 * SUMMARY + self.identities + 2
        self.size = table + STATUSES * self.identities + 2 * players + self.cards * each
        self.size += (self.cards - own) * STATUSES
        self.token_features = STATUSES

    def start(self, view: View) -> Memory:
        return None if self.listener is None else self.listener.start(view)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return None if self.listener is None else self.listener.observe(view, event, memory)

    def numbers(self, view: View, memory: Memory) -> NDArray[np.int32]:
        """[B, the words of "status-1", then the masks, then the seat]"""
        parts = [self.words.public(view), self.words.private(view)]
        if memory is not None:
            parts.append(self._masks(memory))
        return np.concatenate([*parts, np.full((len(view), 1), view.player, np.int32)], axis=1)

    def _masks(self, memory: Memory) -> Memory:
        """[B, P * H] what the listener remembers of each card: bots, beside, how many moves."""
        return words_of(memory) if isinstance(self.listener, MaskBot) else memory

    def expand(self, numbers: Tensor) -> BeliefInputs:
        config, words = self.config, self._words(numbers)
        table, seat = words.table, words.seat
        players = config.players
        planes = status.statuses(config, table.left, table.played)  # [B, S, V]
        present = status.turned(table.present, seat)
        hinted = status.turned(table.hinted, seat)
        mover = table.word(LAST_PLAYER)
        hit = status.turned(status.touched(config, table), (seat - mover.clamp(min=0)) % players)
        seen = one_hot(words.cards.long(), NO_CARD + 1)[..., : self.identities].float()
        unseen = (table.left - seen.sum((1, 2))).clamp(min=0)  # [B, V]
        masks = words.masks * present.unsqueeze(-1)
        own = masks[:, :1] * unseen[:, None, None]
        own = own / own.sum(-1, keepdim=True).clamp(min=1)
        features = [
            status.board(config, table),
            status.event(config, table, *status.statuses_before(config, table)),
            planes.flatten(1),
            one_hot((table.word(TURN) - seat) % players, players).float(),
            one_hot((mover - seat) % players, players).float() * (mover >= 0).unsqueeze(1),
            status.summary(hinted.flatten(1, 2), planes).flatten(1),
            status.summary(masks.flatten(1, 2), planes).flatten(1),
            torch.cat([own, seen[:, 1:]], 1).flatten(1),
            hit.flatten(1),
            present.flatten(1),
            (seen[:, 1:].flatten(1, 2) @ planes.transpose(1, 2)).flatten(1),
        ]
        plausible = DOUBTED + (1 - DOUBTED) * words.masks[:, 0]
        return BeliefInputs(torch.cat(features, 1), plausible, planes)

    def _words(self, numbers: Tensor) -> _Words:
        players, size, n = self.config.players, self.config.hand_size, self.words.public_words
        public, cards = numbers[:, :n], numbers[:, n : n + self.cards]
        table, seat = status.table(self.config, public), numbers[:, -1].long()
        if self.listener is None:
            masks = table.hinted
        else:
            kept = numbers[:, n + self.cards : -1].reshape(-1, players, size)
            masks = status.bits(kept, self.identities)
        cards = status.turned(cards.reshape(-1, players, size), seat)
        return _Words(public, cards, status.turned(masks, seat), seat, table)
