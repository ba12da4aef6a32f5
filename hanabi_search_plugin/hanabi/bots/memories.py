"""What compiled bots remember, as Python has it, and what is checked of it, and of what else they
are asked with, before they read it.

A memory is int32 [B, words + 1]: the words that the bot's routines read, then how many moves of the
game they hold. By that number a memory is told from one that does not belong to the view. Compiled
code makes no check, and reads no word behind a bot's own. Letters: B worlds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ContractError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import Event
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.core.words import an, counted
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView
from hanabi_search_plugin.hanabi.engine.layout import MOVES, TURN

Words = NDArray[np.int32]


def with_moves(words: Words, moves: int | Words) -> Words:
    """The memory of ``words`` [B, words] that hold so many moves, one number or [B]."""
    memory = np.empty((len(words), words.shape[1] + 1), dtype=np.int32)
    memory[:, :-1] = words
    memory[:, -1] = moves
    return memory


def words_of(memory: Words) -> Words:
    """A copy of the words [B, words] of a memory, for compiled code."""
    return memory[:, :-1].copy()


def require_words(bot: object, memory: Memory, words: int, game: HanabiRules, worlds: int) -> None:
    """Raises UnsupportedError for what is no array, ContractError unless it is a memory of ``bot``
    in ``game``, with so many words and a row for each of so many worlds."""
    if not isinstance(memory, np.ndarray):
        raise UnsupportedError(
            f"expected the memory of {bot!r}, an array as policy.start(view) and "
            f"policy.observe(view, event, memory) give it, got {an(type(memory).__name__)}"
        )
    if memory.dtype != np.int32 or memory.ndim != 2 or memory.shape[1] != words + 1:
        raise ContractError(
            f"expected the memory of {bot!r} in {game!r}, int32 of shape "
            f"({worlds}, {words + 1}), got {memory.dtype} of shape {memory.shape}"
        )
    if len(memory) != worlds:
        raise ContractError(
            f"expected the memory of {counted(worlds, 'world')}, as the view has, got {len(memory)}"
        )


def require_to_move(view: HanabiView) -> None:
    """Raises IllegalActionError unless the seat of ``view`` is to move in every world."""
    turn = view.rows[:, TURN]
    wrong = turn != view.player
    if np.count_nonzero(wrong):  # a third of what any() takes
        b = int(wrong.argmax())
        whose = "the game is over" if turn[b] < 0 else f"seat {turn[b]} is to move"
        raise IllegalActionError(f"seat {view.player} has no move to make in world {b}: {whose}")


def require_some_legal(legal: Any, view: HanabiView) -> None:
    """Raises ContractError unless ``legal`` is [B, A] as ``view`` has it, IllegalActionError where
    it leaves no move."""
    shape = (len(view), view.game.num_actions)
    if not isinstance(legal, np.ndarray) or legal.shape != shape:
        came = f"shape {legal.shape}" if isinstance(legal, np.ndarray) else an(type(legal).__name__)
        raise ContractError(f"legal must be a mask of shape {shape}, as view.legal is, got {came}")
    # Rows whose first move is 0, and those with a later one: a fifth of what any() takes.
    some = np.count_nonzero(legal[:, 0]) + np.count_nonzero(legal.argmax(axis=1))
    if some < len(view):
        raise IllegalActionError(
            f"legal must leave seat {view.player}, which is to move, a move, got none in world "
            f"{int(legal.any(axis=1).argmin())}"
        )


def require_all_held(memory: Words, view: HanabiView) -> None:
    """Raises ContractError unless ``memory`` holds all moves that ``view`` shows."""
    held, shown = memory[:, -1], view.rows[:, MOVES]
    wrong = held != shown
    if np.count_nonzero(wrong):
        b = int(wrong.argmax())
        way = "take the view of the latest observe"
        if held[b] < shown[b]:
            way = "observe(view, event, memory) follows every move, own and others' alike"
        raise ContractError(
            f"a memory must hold as many moves as the view shows, {shown[b]}, got one of {held[b]}"
            f": {way}"
        )


def require_next(memory: Words, view: HanabiView, event: Event) -> None:
    """Raises ContractError unless ``event`` is the move that ``view`` shows last, and ``memory``
    holds all moves before it."""
    held, shown = memory[:, -1], view.rows[:, MOVES]
    wrong = held + 1 != shown
    if np.count_nonzero(wrong):
        b = int(wrong.argmax())
        way = "an event before it was left out"
        if held[b] >= shown[b]:
            way = "view = worlds.view(seat) comes after worlds.step(actions)"
        raise ContractError(
            "a memory is updated by each event once, in their order, with the view after it: it "
            f"holds {counted(int(held[b]), 'move')}, and the view shows {shown[b]}: {way}"
        )
    view.require_last(event)
