"""Moves of OpenSpiel's card games that lay several cards at once, and what they tell of the rest.

In gin rummy who knocks lays down melds, and what is left of the hand is worth few points: at most
as many as the game's knock card says.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

import pyspiel

from hanabi_search_plugin.wrappers._openspiel_hidden_moves import Holder
from hanabi_search_plugin.wrappers._openspiel_rules import State
from hanabi_search_plugin.wrappers._openspiel_sharing import Limit


@cache
def _rules(ranks: int, suits: int, hand_size: int) -> Any:
    return pyspiel.gin_rummy.GinRummyUtils(ranks, suits, hand_size)


def rules_of_gin(state: State) -> Any:
    """The rules of a state's game if it is gin rummy, else None."""
    game = state.get_game()
    if game.get_type().short_name != "gin_rummy":
        return None
    found = game.get_parameters()
    return _rules(found["num_ranks"], found["num_suits"], found["hand_size"])


def cards_of(rules: Any, action: int) -> list[int]:
    """The cards that an action plays, if it plays any: its own number, or those of a meld.

    ``rules`` as of ``rules_of_gin``.
    """
    if rules is None or action < pyspiel.gin_rummy.MELD_ACTION_BASE:
        return [action]
    meld = rules.int_to_meld[action - pyspiel.gin_rummy.MELD_ACTION_BASE]
    return [int(card) for card in meld]


def limit_of_hand(
    rules: Any, state: State, seat: int, played: Collection[int]
) -> Limit[Holder] | None:
    """What the hidden rest of a knocker's hand may be worth, once another lays off at ``seat``.

    ``rules`` as of ``rules_of_gin``; ``played`` are the cards that were played, so that they are no
    part of it.
    """
    if rules is None or state.current_phase() != pyspiel.gin_rummy.LAYOFF:
        return None
    (knocker,) = (p for p, knocked in enumerate(state.knocked()) if knocked)
    if knocker == seat:
        return None
    laid = {card for meld in state.layed_melds()[knocker] for card in rules.int_to_meld[meld]}
    taken = set(state.known_cards()[knocker]) - laid  # from the discards, so that all know them
    found = state.get_game().get_parameters()
    cards = range(found["num_ranks"] * found["num_suits"])
    worth = {card: int(rules.card_value(card)) for card in cards}
    most = int(state.knock_card()) - sum(worth[card] for card in taken)
    rest = {card: points for card, points in worth.items() if card not in played}
    return Limit(frozenset([knocker]), most, rest)
