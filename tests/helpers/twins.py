"""No peeking: decisions on a deck, and on twins of it that look the same to the seat that decides.

A twin has the same history for one seat, and other cards wherever that seat cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers.openspiel import (
    history_of,
    hypothetical_state,
    sorted_deck,
    to_state,
)

Deck = tuple[int, ...]
Decide = Callable[[Deck, list[int], int], Hashable]
"""(deck, moves, seat) -> what is decided after these moves; the seat is to move.

A tuple begins with the move; all of it must be the same on a twin.
"""


class Peeked(AssertionError):
    """A decision was another one on a twin."""


def require_same(decide: Callable[[Any], Hashable], truth: Any, twins: list[Any]) -> Hashable:
    """What is decided on ``truth``. Raises Peeked where a twin of it changes that."""
    decision = decide(truth)
    for twin in twins:
        other = decide(twin)
        if other != decision:
            raise Peeked(f"decided {decision} and, by what it cannot see, {other}")
    return decision


def twin_deck(game: HanabiGame, deck: Deck, moves: list[int], seed: int) -> Deck:
    """A deck on which the moves show the seat to move the same."""
    state = to_state(game, deck, moves)
    guess = hypothetical_state(history_of(state, state.current_player()), seed)
    dealt = [item.action for item in guess.full_history() if item.player < 0]
    rest = sorted_deck(game)
    for card in dealt:
        rest.remove(card)
    return (*dealt, *np.random.default_rng(seed).permutation(rest).tolist())


def unlike_twin(game: HanabiGame, deck: Deck, moves: list[int], seed: int) -> Deck | None:
    """A twin in which the seat holds other cards; None where it knows all that it holds."""
    dealt = sum(item.player < 0 for item in to_state(game, deck, moves).full_history())
    for k in range(8):
        twin = twin_deck(game, deck, moves, 8 * seed + k)
        if twin[:dealt] != deck[:dealt]:
            return twin
    return None


def check_decisions(
    decide: Decide, game: HanabiGame, seed: int = 0, *, forced: bool = True, asked: int = 3
) -> None:
    """Play one game, and ask for ``asked`` of its first decisions on its deck and on a twin.

    With ``forced`` moves are random, and whoever is to move is asked, so that histories hold what
    no agent would do; else one seat is asked on each of its turns, and moves so.
    """
    rng, compared, moves = np.random.default_rng(seed), 0, list[int]()
    deck = tuple(rng.permutation(sorted_deck(game)).tolist())
    seat = int(rng.integers(game.num_players))
    turns = set(rng.permutation(2 * asked)[:asked].tolist())
    while compared < asked and not (state := to_state(game, deck, moves)).is_terminal():
        mover, move = state.current_player(), int(rng.choice(state.legal_actions()))
        if len(moves) in turns if forced else mover == seat:
            twin = unlike_twin(game, deck, moves, seed)
            twins = [] if twin is None else [twin]
            decision = require_same(lambda d, m=moves, p=mover: decide(d, m, p), deck, twins)
            compared += len(twins)
            if not forced:
                move = decision[0] if isinstance(decision, tuple) else decision  # type: ignore[assignment]
        moves.append(move)
    assert compared > 0
