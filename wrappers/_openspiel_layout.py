"""What everybody knows of a card game's deal in OpenSpiel: its places, and who sees each.

Chance deals cards from one deck, each once: at the start, and perhaps drawn from a stock later.
Which players see a place is found by exchanging cards and looking at who notices.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_rules import State

EXCHANGES = 12  # of a place with others, to find who sees it


@dataclass(frozen=True)
class CardPlace:
    """One card that chance dealt."""

    time: int  # in the game's list of moves
    owners: frozenset[int]  # the players who see it


class Layout:
    """What everybody knows of a game's deal so far: places, who sees each, and all moves.

    Raises UnsupportedError for a game whose chance does something else than dealing one deck.
    """

    def __init__(self, game: OpenSpielGame, state: State) -> None:
        self.game = game
        self.moves = list(state.history())
        runs, self.deck = _runs(game, state)
        self.places: list[CardPlace] = []
        for run in runs:
            self.places += _seen(game, tuple(self.moves[: run[-1] + 1]), run, self.deck)
        self.place_at = {place.time: k for k, place in enumerate(self.places)}
        self.draws = len(runs) > 1

    def owners_of(self, card: int, time: int) -> frozenset[int]:
        """The players who saw a card dealt before a move; none where it was not."""
        for place in self.places:
            if place.time < time and self.moves[place.time] == card:
                return place.owners
        return frozenset()


def _runs(game: OpenSpielGame, state: State) -> tuple[list[list[int]], frozenset[int]]:
    """The times of the cards that chance dealt, those dealt together in a list; and the deck.

    What chance decides before the first card, as who deals, is taken to be known to all.
    """
    here, runs, run = game.initial_state(), list[list[int]](), list[int]()
    offered: dict[int, frozenset[int]] = {}
    moves = state.history()
    for t, action in enumerate(moves):
        if here.is_chance_node():
            outcomes = here.chance_outcomes()
            chances = [chance for _, chance in outcomes]
            if max(chances) > min(chances) + 1e-9:
                raise _other_chance(game)
            offered[t] = frozenset(outcome for outcome, _ in outcomes)
            run.append(t)
        elif run:
            runs.append(run)
            run = []
        here.apply_action(action)
    if run:
        runs.append(run)
    if not runs:
        raise UnsupportedError(f"{game.name} deals no cards")
    first = runs[0]
    start = len(first) - 1
    while start and offered[first[start - 1]] == offered[first[start]] | {moves[first[start - 1]]}:
        start -= 1
    runs[0] = first[start:]
    deck = left = offered[first[start]]
    for t in (t for each in runs for t in each):
        if offered[t] != left:
            raise _other_chance(game)
        left -= {moves[t]}
    return runs, deck


def _other_chance(game: OpenSpielGame) -> UnsupportedError:
    return UnsupportedError(
        f"chance of {game.name} does not deal one deck of cards, each as likely and only once"
    )


_KNOWN: dict[Hashable, list[CardPlace]] = {}
_MOST_KNOWN = 10_000


def _seen(
    game: OpenSpielGame, moves: tuple[int, ...], run: list[int], deck: frozenset[int]
) -> list[CardPlace]:
    """The places of one run, and who sees each: the same whatever the cards are."""
    shape = tuple(-1 if move in deck and t in run else move for t, move in enumerate(moves))
    key = (str(game.spiel), game.remembers, tuple(run), shape)
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = [CardPlace(t, owners) for t, owners in _owners(game, moves, run, deck)]
    return _KNOWN[key]


def _owners(
    game: OpenSpielGame, moves: tuple[int, ...], run: list[int], deck: frozenset[int]
) -> Iterator[tuple[int, frozenset[int]]]:
    """Who sees each place of a run: the players who notice every exchange that anybody notices."""
    players = range(game.num_players)

    def views(changed: dict[int, int]) -> list[Hashable]:
        state = game.initial_state()
        for t, move in enumerate(moves):
            state.apply_action(changed.get(t, move))
        return [game.key(state, p) for p in players]

    before = views({})
    undealt = sorted(deck - set(moves[t] for t in run) - set(moves[: run[0]]))[:1]
    for t in run:
        others = np.random.default_rng(0).permutation([s for s in run if s != t]).tolist()
        others = others[:EXCHANGES]
        exchanges = [{t: card} for card in undealt]
        exchanges += [{t: moves[s], s: moves[t]} for s in others]
        noticed = []
        for exchange in exchanges:
            after = views(exchange)
            noticed.append({p for p in players if after[p] != before[p]})
        noticed = [each for each in noticed if each]
        yield t, frozenset(set.intersection(*noticed) if noticed else set())
