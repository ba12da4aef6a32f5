"""Hand-written blueprints for the games of ``joint_policy_search``."""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin import Policy, Streams, View
from hanabi_search_plugin.core import BoolArray, IntArray, Memory
from hanabi_search_plugin.games import Communication, MiniBridge, SimpleBidding

PASS = 0


class LastBitUnsaid(Policy):
    """Communication: says the number's bits, highest first, but always 0 for the last; guesses
    what it hears, which is right for even numbers.
    """

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        game = view.game
        assert isinstance(game, Communication)
        seen = view.observation("observation").astype(np.int64)
        number, heard = seen[:, 0], seen[:, 1 : 1 + game.bits]
        if view.player == 1:
            return np.asarray(heard @ (1 << np.arange(game.bits)[::-1]), dtype=np.int64)
        said = (heard >= 0).sum(axis=1)
        last = said == game.bits - 1
        return np.where(last, 0, number >> (game.bits - 1 - said) & 1)


class OwnCard(Policy):
    """Simple Bidding: bids the highest contract that its card makes with the least that the
    partner's bid promises, which is half its points; passes where that is no higher.
    """

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        assert isinstance(view.game, SimpleBidding)
        bids = []
        for b, (card, *calls) in enumerate(view.observation("observation").astype(int).tolist()):
            made = [call for call in calls if call > PASS]
            promised = (1 << (made[-1] - 1)) // 2 if made else 0
            bid = max(1, min((card + promised).bit_length(), view.game.bids))
            bids.append(bid if legal[b, bid] else PASS)
        return np.array(bids, dtype=np.int64)


class LongSuit(Policy):
    """Mini-bridge: opens its longer suit at level 1, raises the partner's suit as high as its own
    cards and half of the partner's allow, and passes otherwise.
    """

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        assert isinstance(view.game, MiniBridge)
        cards, bids = view.game.cards, []
        for b, (hearts, *calls) in enumerate(view.observation("observation").astype(int).tolist()):
            made = [call for call in calls if call > PASS]
            suit = (made[-1] - 1) % 2 if made else int(2 * hearts < cards)
            own = cards - hearts if suit else hearts
            level = own + (cards + 1) // 2 - cards if made else int(2 * own > cards)
            bid = 2 * level - 1 + suit if level > 0 else PASS
            bids.append(bid if len(made) < 2 and bid < legal.shape[1] and legal[b, bid] else PASS)
        return np.array(bids, dtype=np.int64)
