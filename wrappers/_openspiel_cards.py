"""Deals of a card game of OpenSpiel that a seat cannot tell from the true one.

For games in which every player sees every move (but for those that ``_openspiel_hidden_moves``
knows) and chance does nothing but deal cards from one deck, each once: at the start, and perhaps
drawn from a stock later. A move with the number of a card plays it, as gin rummy's melds play
theirs (``_openspiel_melds``). So what a seat does not see is which card lies at which of the
deck's places, and two rules say what can lie there:

* who plays a card had it: it was at a place of that player's, dealt before the move;
* who holds a card and may not play it holds none of the cards that may be played in its stead, as
  where suits must be followed. This is for games that deal at the start alone.

All deals that keep both are drawn with equal probability, and each is played through the moves of
the game: one that does not allow them, or in which the seat would have seen or could have done
something else, is dropped.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cache, cached_property

import numpy as np

from hanabi_search_plugin.beliefs.tracked_worlds import DRAWN
from hanabi_search_plugin.core.errors import TooFewWorldsError, UnsupportedError
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_hidden_moves import (
    HiddenMoves,
    Holder,
    hidden_moves,
)
from hanabi_search_plugin.wrappers._openspiel_layout import Layout
from hanabi_search_plugin.wrappers._openspiel_melds import cards_of, limit_of_hand, rules_of_gin
from hanabi_search_plugin.wrappers._openspiel_rules import State
from hanabi_search_plugin.wrappers._openspiel_sharing import Sharing

CHECKED, CHECKED_MOVES = 3, 40  # games by which it is found whether moves name cards
HIDES_MOVES = frozenset(["euchre", "hearts"])  # moves whose effects ``hidden_moves`` knows
ENOUGH = 32  # deals in a row that fit: then the rules of who holds what are known
PLACE = -2  # in a list of moves: chance deals the card of a place
TRIES = 400  # deals drawn for each that is wanted, at most


class Holdings:
    """What a seat knows of who holds which card.

    ``state`` is the true one, of which nothing is read but what ``seat`` sees. Raises
    UnsupportedError for a game that hides moves, or whose moves do not name cards, and as
    ``Layout`` does.
    """

    def __init__(self, game: OpenSpielGame, state: State, seat: int) -> None:
        self.game, self.seat = game, seat
        _require_known_moves(game)
        layout = Layout(game, state)
        self.layout = layout
        self.unseen = _unseen(game, state, layout.places[-1].time + 1, seat)
        self.known = {
            k: layout.moves[place.time]
            for k, place in enumerate(layout.places)
            if seat in place.owners
        }
        self.hidden = [k for k in range(len(layout.places)) if k not in self.known]
        unknown = layout.deck - set(self.known.values()) - self.unseen.own
        self.pool = sorted(unknown.union(self.unseen.fixed, self.unseen.turned))
        self.script = [  # (PLACE, number of a place), or who moves and how
            (PLACE, layout.place_at[t]) if t in layout.place_at else (int(item.player), item.action)
            for t, item in enumerate(state.full_history())
        ]
        self._shown, self._last = self._own_looks(state)
        gin = rules_of_gin(state)
        self.played: dict[int, tuple[int, int]] = {}  # a hidden card, by whom, and when
        for t, (player, action) in enumerate(self.script):
            if player < 0 or player == seat or t in self.unseen.times:
                continue
            for card in cards_of(gin, action):
                if card in self.pool and card not in self.played:
                    self.played[card] = (player, t)
        self.limit = limit_of_hand(gin, state, seat, self.played)

    def _own_looks(self, state: State) -> tuple[dict[int, Hashable], Hashable]:
        """What the seat saw and could do at each of its moves, and now."""
        here, looks = self.game.initial_state(), {}
        for t, item in enumerate(state.full_history()):
            if item.player == self.seat:
                looks[t] = self._look(here, now=False)
            here.apply_action(item.action)
        return looks, self._look(here, now=True)

    def _look(self, state: State, *, now: bool) -> Hashable:
        """An information state holds all earlier ones, so that of now is enough."""
        seen = self.game.key(state, self.seat) if now or not self.game.remembers else None
        mover = state.current_player()
        return seen, mover, tuple(state.legal_actions()) if mover == self.seat else ()

    @cached_property
    def sharing(self) -> Sharing[Holder]:
        """How the hidden cards may be shared out. A function of what the seat has seen alone."""
        rng, barred = np.random.default_rng(0), set[tuple[int, int]]()
        sharing, streak = self._sharing(barred), 0
        for _ in range(TRIES * ENOUGH):
            state, bars = self.play(*self._deal(sharing, rng))
            if bars - barred and not self.layout.draws:
                barred |= bars
                sharing, streak = self._sharing(barred), 0
            elif state is not None:
                streak += 1
                if streak == ENOUGH or self.layout.draws:  # with draws there is nothing to learn
                    return sharing
        raise TooFewWorldsError(
            f"hardly any deal of {self.game.name} agrees with what seat {self.seat} has seen: its "
            "moves depend on hidden cards in another way than by who holds which"
        )

    @cached_property
    def _places(self) -> dict[Holder, list[int]]:
        """The places of which the seat does not see the card, by who does."""
        places: dict[Holder, list[int]] = {}
        for k in self.hidden:
            places.setdefault(self.layout.places[k].owners, []).append(k)
        return places

    def _sharing(self, barred: set[tuple[int, int]]) -> Sharing[Holder]:
        capacity: dict[Holder, int] = {holder: len(there) for holder, there in self._places.items()}
        capacity |= self.unseen.capacity
        if left := len(self.pool) - sum(capacity.values()):
            capacity[None] = left
        allowed = {}
        for card in self.pool:
            could = self.unseen.allowed(card, list(capacity))
            if card in self.played:
                player, _ = self.played[card]
                could = [h for h in could if h is not None and player in h]
            else:
                could = [h for h in could if not any((card, p) in barred for p in h or ())]
            allowed[card] = tuple(could)
        return Sharing(capacity, allowed, self.limit)

    def _deal(
        self, sharing: Sharing[Holder], rng: np.random.Generator
    ) -> tuple[list[int], dict[int, int]]:
        """A drawn card for every place, the seat's own among them; and the unseen moves by time."""
        held = sharing.draw(rng)
        if held is None:
            raise TooFewWorldsError(
                f"no deal of {self.game.name} agrees with what seat {self.seat} has seen"
            )
        deal = [self.known.get(k, -1) for k in range(len(self.layout.places))]
        unseen = self.unseen.undo(held, rng)
        for holder, hand in held.items():
            if holder is not None:
                self._lay(deal, hand, self._places[holder], rng)
        return deal, unseen

    def _lay(
        self, deal: list[int], hand: list[int], places: list[int], rng: np.random.Generator
    ) -> None:
        """Lay a holder's cards into its places: first those that had to be there early."""
        free = [places[k] for k in rng.permutation(len(places)).tolist()]
        if self.layout.draws:
            played, at = self.played, self.layout.places
            for card in sorted((c for c in hand if c in played), key=lambda c: played[c][1]):
                k = next((k for k in free if at[k].time < played[card][1]), free[0])
                deal[k] = card
                free.remove(k)
            hand = [card for card in hand if card not in deal]
        for k, card in zip(free, hand, strict=True):
            deal[k] = card

    def play(
        self, deal: Sequence[int], unseen: Mapping[int, int]
    ) -> tuple[State | None, set[tuple[int, int]]]:
        """Play the moves of the game with the cards of ``deal``, one a place, and ``unseen`` moves.

        Returns the state that they lead to, None where the seat would have seen something else; and
        what a move that is not allowed tells: cards that its mover cannot have held.
        """
        state = self.game.initial_state()
        for t, (player, action) in enumerate(self.script):
            if player == PLACE:
                action = deal[action]
            elif player >= 0 and state.current_player() != player:
                return None, set()
            elif t in self.unseen.times:
                action = unseen[t]
                if action not in state.legal_actions():
                    return None, set()
            elif player == self.seat:
                if self._look(state, now=False) != self._shown[t]:
                    return None, set()
            elif player >= 0 and action not in (legal := state.legal_actions()):
                held = action in self.layout.deck and action in self.played
                return None, {(card, player) for card in legal if held and card in self.pool}
            state.apply_action(action)
        return (state if self._look(state, now=True) == self._last else None), set()

    def draw(self, rng: np.random.Generator, n: int) -> list[State]:
        """n states that the seat cannot tell from the true one, by the chance of their deals.

        Raises TooFewWorldsError where they are too rare.
        """
        found: list[State] = []
        for _ in range(TRIES * n):
            state, _ = self.play(*self._deal(self.sharing, rng))
            if state is not None:
                found.append(state)
                if len(found) == n:
                    return found
        raise TooFewWorldsError(
            f"{len(found)} of {TRIES * n:,} deals of {self.game.name} agree with what seat "
            f"{self.seat} has seen, expected {n}"
        )


def _unseen(game: OpenSpielGame, state: State, first: int, seat: int) -> HiddenMoves:
    if game.public_actions:
        return HiddenMoves()
    found = hidden_moves(game.spiel.get_type().short_name, state, first, seat)
    assert found is not None
    return found


@cache
def _names_cards(spiel_name: str, game: OpenSpielGame) -> bool:
    """True if in some games of random moves nobody is the first to play a card that another got."""
    rng = np.random.default_rng(0)
    for _ in range(CHECKED):
        state = game.deal(rng, 1).states[0].clone()
        for _ in range(CHECKED_MOVES):
            if state.is_terminal():
                break
            state.apply_action(int(rng.choice(state.legal_actions())))
        layout, seen = Layout(game, state), set[int]()
        for t, item in enumerate(state.full_history()):
            first = item.action in layout.deck - seen and item.player >= 0
            if first and item.player not in layout.owners_of(item.action, t):
                return False
            if item.player >= 0:
                seen.add(item.action)  # whoever takes it up then may play it again
    return True


def _require_known_moves(game: OpenSpielGame) -> None:
    name = game.spiel.get_type().short_name
    if not game.public_actions and name not in HIDES_MOVES:
        raise UnsupportedError(
            f"moves of {game.name} are hidden from some players, so that other deals cannot be "
            f"played through them: {game.belief_to_use or DRAWN}"
        )
    if name == "bridge":
        raise UnsupportedError(
            f"every replay of a deal of {game.name} solves it double dummy, so other deals cannot "
            f"be drawn in bearable time: {game.belief_to_use}"
        )
    if name not in HIDES_MOVES and not _names_cards(game.name, game):
        raise UnsupportedError(
            f"moves of {game.name} do not have the numbers of the cards that they play, so they do "
            "not tell who held what"
        )
