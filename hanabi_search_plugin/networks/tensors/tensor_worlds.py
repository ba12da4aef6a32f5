"""Worlds of Hanabi as tensors on any device: the rules of ``hanabi.engine.rules``, bit for bit.

Everything is whole-batch arithmetic: no step, mask or deal waits for the device, and a game that is
over stays in the batch as it is. The words are those of a native row (``hanabi.engine.layout``),
transposed, so that one word of all worlds is contiguous. Letters: B worlds, W words of a row, P
players, H slots of a hand, A actions, C colours, R ranks, V identities, D cards of the deck, T
other players, M numbers about an action.
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from hanabi_search_plugin.core.errors import IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import Worlds
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    ALL,
    COUNTDOWN,
    DECK_NEXT,
    DREW,
    GAINED_INFO,
    HANDS,
    INFO,
    LAST_FLAGS,
    LAST_PLAYER,
    LEFT0,
    LEFT2,
    LIVES,
    MAX_INFO,
    MOVES,
    NO_CARD,
    PLAYABLE,
    PLAYED,
    SCORED,
    TOP,
    TURN,
)
from hanabi_search_plugin.networks.tensors.tensor_constants import (
    Constants,
    Tensor,
    TensorMove,
    constants_of,
)
from hanabi_search_plugin.networks.tensors.tensor_streams import TensorStreams


class TensorWorlds:
    """B complete worlds of one game on one device; ``words`` is int32 [W, B].

    ``step`` and ``restart`` change them in place.
    """

    def __init__(self, game: HanabiRules, words: Tensor) -> None:
        self.game = game
        self.words = words
        config = game.config
        self._cards = config.players * config.hand_size
        self._deck = HANDS + 2 * self._cards  # where the deck begins

    # ------------------------------------------------------------------------------ in and out

    @classmethod
    def of(cls, worlds: Worlds, device: torch.device | str = "cpu") -> TensorWorlds:
        """A copy of native worlds. Raises UnsupportedError for others."""
        if not isinstance(worlds, HanabiWorlds):
            raise UnsupportedError(
                f"expected worlds of native Hanabi (HanabiGame), got {type(worlds).__name__}"
            )
        words = torch.from_numpy(np.ascontiguousarray(worlds.rows.T))
        copied = words.to(device, copy=True)
        return cls(worlds.game, copied)

    @classmethod
    def deal(cls, game: HanabiRules, streams: TensorStreams) -> TensorWorlds:
        """Deal a world for each stream, with a shuffled deck, on the streams' device.

        Takes as many numbers of a stream as the deck has cards, and one more for a random first
        player. The decks are not those that ``HanabiGame.deal`` makes of the same streams.
        """
        constants = constants_of(game, streams.state.device)
        order = streams.many(game.config.deck_size).argsort(1)  # [B, D]
        decks, first = constants.sorted_deck[order], 0
        if game.config.random_start_player:
            first = streams.below(game.num_players)
        return cls.from_decks(game, decks, first)

    @classmethod
    def from_decks(
        cls, game: HanabiRules, decks: Tensor, first_player: int | Tensor = 0
    ) -> TensorWorlds:
        """Deal worlds from integer decks [B, D] on their device, as ``HanabiGame.from_decks``.

        That the decks are permutations of the game's cards is not checked.
        """
        template = constants_of(game, decks.device).template
        dealt = game.num_players * game.config.hand_size
        words = template.unsqueeze(1).repeat(1, len(decks))
        words[-game.config.deck_size :] = decks.t()
        words[HANDS : HANDS + dealt] = decks.t()[:dealt]
        words[DECK_NEXT].fill_(dealt)
        words[TURN].add_(first_player)  # it is 0 before the deal
        return cls(game, words)

    def to_worlds(self) -> HanabiWorlds:
        """A native copy; waits for the device."""
        return HanabiWorlds(self.game, self.words.t().contiguous().cpu().numpy().copy())

    def select(self, index: Tensor) -> TensorWorlds:
        """Copies of the worlds at ``index``: int64 [N], or bool [B], which waits for the device."""
        return TensorWorlds(self.game, self.words[:, index])

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'world')} of {self.game!r} on {self.device}>"

    # ------------------------------------------------------------------------- what is on the table

    @property
    def device(self) -> torch.device:
        device: torch.device = self.words.device
        return device

    @property
    def current_player(self) -> Tensor:
        """int64 [B]; -1 where the game is over."""
        return self.words[TURN].long()

    @property
    def terminal(self) -> Tensor:
        """bool [B]"""
        return self.words[TURN] < 0

    @property
    def hands(self) -> Tensor:
        """int32 [P, H, B], the words of the cards themselves, not a copy."""
        config = self.game.config
        cards = self.words[HANDS : HANDS + self._cards]
        return cards.unflatten(0, (config.players, config.hand_size))

    @property
    def knowledge(self) -> Tensor:
        """int32 [P, H, B] hint knowledge, not a copy."""
        config = self.game.config
        words = self.words[HANDS + self._cards : self._deck]
        return words.unflatten(0, (config.players, config.hand_size))

    @property
    def points(self) -> Tensor:
        """int64 [B] cards on the fireworks."""
        identities = constants_of(self.game, self.device).identities
        return ((self.words[PLAYED] >> identities) & 1).sum(0)

    @property
    def returns(self) -> Tensor:
        """float32 [B] the return so far, in score points, the same for every player."""
        points = self.points
        return torch.where(self.words[LIVES] > 0, points, points - self._lost(points)).float()

    def _lost(self, points: Tensor) -> Tensor | int:
        """Points that losing the last life costs."""
        bomb = self.game.config.bomb
        return points if bomb == "zero" else int(bomb == "minus_one")

    @property
    def legal(self) -> Tensor:
        """bool [B, A]; nothing is legal where the game is over."""
        config, constants = self.game.config, constants_of(self.game, self.device)
        turn, info = self.words[TURN], self.words[INFO]
        hands = self.turned(self.hands, turn.clamp(min=0))  # [P, H, B]
        playing = turn >= 0
        held = (hands[0] != NO_CARD) & playing
        bits = torch.ones_like(hands[1:]) << hands[1:]  # [T, H, B]; NO_CARD is in no plane
        planes = functools.reduce(torch.bitwise_or, bits.unbind(1))  # [T, B]
        hints = (planes.unsqueeze(1) & constants.attributes) != 0  # [T, C + R, B]
        hints = hints & (playing & (info > 0))
        moves = [
            held & (info < self.words[MAX_INFO]),
            held,
            hints[:, : config.colors].flatten(0, 1),
            hints[:, config.colors :].flatten(0, 1),
        ]
        return torch.cat(moves).t().contiguous()

    def turned(self, by_player: Tensor, first: Tensor) -> Tensor:
        """[P, H, B] with player ``first`` [B] before the others in their order of play."""
        players = torch.arange(self.game.num_players, device=self.device).unsqueeze(1)
        order = (players + first) % self.game.num_players  # [P, B]
        return by_player.gather(0, order.unsqueeze(1).expand_as(by_player).long())

    # -------------------------------------------------------------------------------------- to play

    def require_legal(self, actions: Tensor) -> None:
        """Waits for the device. Raises IllegalActionError where one of ``actions`` [B] is not
        legal; of games that are over none is."""
        known = (actions >= 0) & (actions < self.game.num_actions)
        legal = self.legal.gather(1, (actions * known).long().unsqueeze(1)).squeeze(1) & known
        if not bool(legal.all()):
            wrong = int((~legal).int().argmax())
            raise IllegalActionError(
                f"actions must be legal, action {int(actions[wrong])} of world {wrong} is not"
            )

    def step(self, actions: Tensor) -> Tensor:
        """Play integer ``actions`` [B] in place; nothing happens where the game is over.

        Returns what the return changed by, float32 [B]. Actions must be legal: what an illegal one
        does is not defined, and ``require_legal`` alone tells.
        """
        config, constants = self.game.config, constants_of(self.game, self.device)
        words, turn, info = self.words, self.words[TURN], self.words[INFO]
        playing = turn >= 0
        made = torch.where(playing, actions, config.num_actions)  # A is no move
        move = constants.move(made)
        leaves = move.play + move.discard  # 1 where a card leaves the hand; such flags are int32

        place = (turn * config.hand_size + move.slot) * leaves
        card = words[HANDS : HANDS + self._cards].gather(0, place.long().unsqueeze(0))[0]
        bit = leaves << card
        scored = move.play & (words[PLAYABLE] >> card)
        goal = scored << card
        gained = scored & (words[TOP] >> card) & (info < words[MAX_INFO]) | move.discard
        lives = words[LIVES] - (move.play - scored)
        played = words[PLAYED] | goal
        left = words[LEFT0 : LEFT2 + 1]
        left = left | (torch.cat([left[1:], bit.unsqueeze(0)]) & bit)

        next_card = words[DECK_NEXT]
        more = next_card < config.deck_size
        countdown = words[COUNTDOWN] - (playing & ~more).int()
        over = (lives == 0) | (played == words[ALL]) | (countdown == 0) | ~playing
        drew = leaves & more & ~over
        at = next_card.clamp(max=config.deck_size - 1).long().unsqueeze(0)
        drawn = torch.where(drew == 1, words[self._deck :].gather(0, at)[0], NO_CARD)

        known, touched = self._hinted(move, turn, constants)
        cards = self._moved_up(move, turn, drawn, known, constants)
        flags = SCORED * scored + GAINED_INFO * gained + DREW * drew
        last = [turn, made.int(), torch.where(leaves == 1, card, -1), touched, flags]
        before = words[LAST_PLAYER : LAST_FLAGS + 1]
        points_lost = (move.play - scored) * (lives == 0) * self._lost(self.points)

        words[LAST_PLAYER : LAST_FLAGS + 1] = torch.where(playing, torch.stack(last), before)
        words[HANDS : self._deck] = cards.flatten(0, 2)
        words[TURN] = torch.where(over, -1, (turn + 1) % config.players)
        words[LIVES] = lives
        words[INFO] = info + gained - move.hint
        words[DECK_NEXT] = next_card + drew
        words[COUNTDOWN] = countdown
        words[PLAYABLE] = (words[PLAYABLE] & ~goal) | ((goal << 1) & words[ABOVE0])
        words[PLAYED] = played
        words[LEFT0 : LEFT2 + 1] = left
        words[MOVES] += playing.int()
        return (scored - points_lost).float()

    def _hinted(
        self, move: TensorMove, turn: Tensor, constants: Constants
    ) -> tuple[Tensor, Tensor]:
        """Hint knowledge [P, H, B] after the hints among the moves, and what they touched [B]."""
        target = (turn + move.offset) % self.game.num_players
        hinted = (constants.players == target) & (move.hint == 1)  # [P, B]
        hit = (torch.where(hinted, move.plane, 0).unsqueeze(1) >> self.hands) & 1  # [P, H, B]
        missed = torch.where(hinted, move.missed, -1).unsqueeze(1)
        known = (self.knowledge & torch.where(hit == 1, move.kept, missed)) | (hit * move.told)
        return known, (hit << constants.slots).sum((0, 1), dtype=torch.int32)

    def _moved_up(
        self, move: TensorMove, turn: Tensor, drawn: Tensor, known: Tensor, constants: Constants
    ) -> Tensor:
        """[2, P, H, B] hands and knowledge: cards behind the one that left move up."""
        both = torch.stack([self.hands, known])
        new = torch.stack([drawn, torch.full_like(drawn, constants.nothing_known)])
        new = new[:, None, None].expand(-1, self.game.num_players, -1, -1)
        moved = (constants.players == turn).unsqueeze(1) & (constants.slots >= move.slot)
        return torch.where(moved, torch.cat([both[:, :, 1:], new], 2), both)

    def restart(self, which: Tensor, streams: TensorStreams) -> None:
        """Deal new games in place of the worlds ``which``, bool [B], from their own streams.

        Streams of the others stay, and their state where it is in memory. A game is dealt for every
        world, so that nobody has to wait for the device to say which: in a loop, do it every few
        steps.
        """
        before = streams.state
        fresh = TensorWorlds.deal(self.game, streams)
        streams.state = before.copy_(torch.where(which, streams.state, before))
        self.words.copy_(torch.where(which, fresh.words, self.words))
