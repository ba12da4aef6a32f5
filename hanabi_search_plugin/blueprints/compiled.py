"""Policies of native Hanabi that run compiled: the Python face of the bots in ``kernels``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.blueprints import kernels
from hanabi_search_plugin.errors import UnsupportedError
from hanabi_search_plugin.game import BoolArray, Event, IntArray, View
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.hanabi.layout import ALL
from hanabi_search_plugin.hanabi.worlds import HanabiView
from hanabi_search_plugin.policy import Memory, Policy, UniformPolicy
from hanabi_search_plugin.streams import Streams


class SmartBot(Policy):
    """SmartBot at one seat of native Hanabi, any configuration; see ``smartbot`` for how it plays.

    Memory: int32 [B, players * hand size], the seat's own copy of the public knowledge masks.
    """

    bot = kernels.SMARTBOT

    def start(self, view: View) -> Memory:
        game = _native(view).game.config
        words = game.players * game.hand_size
        return np.repeat(_native(view).rows[:, ALL, None], words, axis=1)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        memory = memory.copy()
        native = _native(view)
        kernels.observe_rows(native.game.dims, self.bot, native.rows, view.player, memory)
        return memory

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        native = _native(view)
        actions = np.empty(len(view), dtype=np.int64)
        kernels.act_rows(native.game.dims, self.bot, native.rows, memory, rng.state, actions)
        return actions

    def __repr__(self) -> str:
        return "SmartBot()"


def _native(view: View) -> HanabiView:
    if not isinstance(view, HanabiView):
        raise UnsupportedError(
            f"compiled bots play native Hanabi (HanabiGame), got a view of {view.game.name}"
        )
    return view


def bot_of(policy: Policy) -> int | None:
    """The compiled bot that plays as ``policy`` does, or None."""
    if isinstance(policy, SmartBot):
        return policy.bot
    return kernels.RANDOM if type(policy) is UniformPolicy else None


def bots_of(blueprint: tuple[Policy, ...]) -> IntArray | None:
    """A bot a seat, int64 [P], or None unless every seat's policy is compiled."""
    bots = [bot_of(policy) for policy in blueprint]
    return None if None in bots else np.array(bots, dtype=np.int64)


def pack_memories(game: HanabiGame, memories: tuple[Memory, ...]) -> NDArray[np.int32]:
    """[B, P, words]; seats without a memory get zeros."""
    words = game.config.players * game.config.hand_size
    rows = next((len(memory) for memory in memories if memory is not None), 1)
    blank = np.zeros((rows, words), dtype=np.int32)
    return np.stack([blank if memory is None else memory for memory in memories], axis=1)
