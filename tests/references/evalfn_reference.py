"""The features of the evaluation function once more, in plain Python on a plain table."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable

from hanabi_search_plugin.hanabi.bots.rulebook import Convention
from tests.references.rules_reference import Card, Held, Table

Predicate = Callable[[Card], bool]


def features(table: Table, convention: Convention, action: int | None = None) -> list[float]:
    """Of the player to move, after ``action`` where it is a hint, else before it."""
    me, hand_size = table.turn, table.config.hand_size
    if action is not None and action >= 2 * hand_size:
        table = copy.deepcopy(table)
        table.apply(action)
        action = None
    game = table.config
    players = [(me + k) % game.players for k in range(game.players)]
    by_player = [_player(table, convention, me, player) for player in players]
    by_player += [[0.0] * 4] * (5 - game.players)
    heights = [[pile >= rank for pile in table.piles] for rank in (5, 4, 3, 2, 1)]
    points = sum(game.ranks - table.reachable(color) for color in range(game.colors))
    return [
        sum(table.piles) / game.max_score,
        _share(table.tokens, game.information_tokens),
        table.lives / game.life_tokens,
        _share(len(table.deck), game.deck_size - game.players * hand_size),
        *(value for values in by_player for value in values),
        *_action(table, convention, me, action),
        _moves_left(table),
        points / game.max_score,
        *(sum(done) / game.colors for done in heights),
    ]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _moves_left(table: Table) -> float:
    """A player moves once after the last card is drawn, its drawer too."""
    n = table.config.players
    if table.deck:
        return (n + 1) / n
    return (n - table.moves_without_deck) / n


def _player(table: Table, convention: Convention, me: int, player: int) -> list[float]:
    possible = table.possible(player, convention, me)
    known = [(held.color is not None) + (held.rank is not None) for held in possible]
    return [
        _most(possible, table.playable),
        _most(possible, lambda card: _almost(table, card)),
        _most(possible, table.useless),
        0.5 * sum(known) / len(known) if known else 0.0,
    ]


def _almost(table: Table, card: Card) -> bool:
    missing = Card(card.color, card.rank - 1)
    return card.rank > 0 and table.playable(missing) and not table.gone(missing)


def _action(table: Table, convention: Convention, me: int, action: int | None) -> list[float]:
    if action is None:
        return [0.0] * 7
    slot, plays = action % table.config.hand_size, action >= table.config.hand_size
    possible = table.possible(me, convention)
    cards = next(cards for held, cards in possible.items() if table.slot(me, held) == slot)

    def gone_or_none(card: Card) -> bool:
        return card.rank == table.config.ranks or table.gone(card)

    def completes(card: Card) -> bool:
        return table.playable(card) and gone_or_none(Card(card.color, card.rank + 1))

    if plays:
        return [1.0, _chance(cards, table.playable), _chance(cards, completes), *[0.0] * 4]
    points = 0.0
    for card, n in cards.items():
        if table.necessary(card):
            lost = 1
            while not gone_or_none(Card(card.color, card.rank + lost)):
                lost += 1
            points += lost * n / cards.total()
    discards = [1.0, _chance(cards, table.useless), _chance(cards, table.necessary), points]
    return [*[0.0] * 3, *discards]


def _most(possible: dict[Held, Counter[Card]], predicate: Predicate) -> float:
    return max((_chance(cards, predicate) for cards in possible.values()), default=0.0)


def _chance(cards: Counter[Card], predicate: Predicate) -> float:
    return sum(n for card, n in cards.items() if predicate(card)) / cards.total()
