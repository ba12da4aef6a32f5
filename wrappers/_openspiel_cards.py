"""Deals of a card game of OpenSpiel that a seat cannot tell from the true one.

For games in which every player sees every move (but for those that ``_openspiel_hidden_moves``
knows) and chance does nothing but deal cards from one deck, each once: at the start, and perhaps
drawn from a stock later. A move with the number of a
card plays it. So what a seat does not see is which card lies at which of the deck's places, and two
rules say what can lie there:

* who plays a card had it: it was at a place of that player's, dealt before the move;
* who holds a card and may not play it holds none of the cards that may be played in its stead, as
  where suits must be followed. This is for games that deal at the start alone.

All deals that keep both are drawn with equal probability, and each is played through the moves of
the game: one that does not allow them, or in which the seat would have seen or could have done
something else, is dropped. Which players see a place is found by exchanging cards and looking at
who notices. Letters: K cards that the seat does not see, H holders of them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

from hanabi_search_plugin.beliefs.tracked_worlds import DRAWN
from hanabi_search_plugin.core.errors import TooFewWorldsError, UnsupportedError
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_hidden_moves import (
    HiddenMoves,
    Holder,
    hidden_moves,
)
from hanabi_search_plugin.wrappers._openspiel_rules import State

CHECKED, CHECKED_MOVES = 3, 40  # games by which it is found whether moves name cards
HIDES_MOVES = frozenset(["euchre", "hearts"])  # moves whose effects ``hidden_moves`` knows
ENOUGH = 32  # deals in a row that fit: then the rules of who holds what are known
EXCHANGES = 12  # of a place with others, to find who sees it
PLACE = -2  # in a list of moves: chance deals the card of a place
TRIES = 400  # deals drawn for each that is wanted, at most


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
        self.played: dict[int, tuple[int, int]] = {}  # a hidden card, by whom, and when
        for t, (player, action) in enumerate(self.script):
            told = player >= 0 and player != seat and t not in self.unseen.times
            if told and action in self.pool and action not in self.played:
                self.played[action] = (player, t)

    def _own_looks(self, state: State) -> tuple[dict[int, Hashable], Hashable]:
        """What the seat saw and could do at each of its moves, and now."""
        here, looks = self.game.spiel.new_initial_state(), {}
        for t, item in enumerate(state.full_history()):
            if item.player == self.seat:
                looks[t] = self._look(here, now=False)
            here.apply_action(item.action)
        return looks, self._look(here, now=True)

    def _look(self, state: State, *, now: bool) -> Hashable:
        """An information state holds all earlier ones, so that of now is enough."""
        seen = seen_by(self.game, state, self.seat) if now or not self.game.remembers else None
        mover = state.current_player()
        return seen, mover, tuple(state.legal_actions()) if mover == self.seat else ()

    @cached_property
    def sharing(self) -> Sharing:
        """How the hidden cards may be shared out. A function of what the seat has seen alone."""
        rng, barred = np.random.default_rng(0), set[tuple[int, int]]()
        sharing, streak = self._sharing(barred), 0
        for _ in range(TRIES * ENOUGH):
            state, bars = self.play(*sharing.draw(rng))
            if bars - barred and not self.layout.draws:
                barred |= bars
                sharing, streak = self._sharing(barred), 0
            elif state is not None:
                streak += 1
                if streak == ENOUGH:
                    return sharing
        raise TooFewWorldsError(
            f"hardly any deal of {self.game.name} agrees with what seat {self.seat} has seen: its "
            "moves depend on hidden cards in another way than by who holds which"
        )

    def _sharing(self, barred: set[tuple[int, int]]) -> Sharing:
        places: dict[Holder, list[int]] = {}
        for k in self.hidden:
            places.setdefault(self.layout.places[k].owners, []).append(k)
        room: dict[Holder, int] = {holder: len(there) for holder, there in places.items()}
        room |= self.unseen.room
        if left := len(self.pool) - sum(room.values()):
            room[None] = left
        allowed = {}
        for card in self.pool:
            could = self.unseen.allowed(card, list(room))
            if card in self.played:
                player, _ = self.played[card]
                could = [h for h in could if h is not None and player in h]
            else:
                could = [h for h in could if not any((card, p) in barred for p in h or ())]
            allowed[card] = tuple(could)
        return Sharing(self, places, room, allowed)

    def play(
        self, deal: Sequence[int], unseen: Mapping[int, int]
    ) -> tuple[State | None, set[tuple[int, int]]]:
        """Play the moves of the game with the cards of ``deal``, one a place, and ``unseen`` moves.

        Returns the state that they lead to, None where the seat would have seen something else; and
        what a move that is not allowed tells: cards that its mover cannot have held.
        """
        state = self.game.spiel.new_initial_state()
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
            state, _ = self.play(*self.sharing.draw(rng))
            if state is not None:
                found.append(state)
                if len(found) == n:
                    return found
        raise TooFewWorldsError(
            f"{len(found)} of {TRIES * n:,} deals of {self.game.name} agree with what seat "
            f"{self.seat} has seen, expected {n}"
        )


class Sharing:
    """Uniform draws among all ways to share hidden cards out, each to a holder that may have it.

    Cards that the same holders may have are counted together: how many of them each holder gets is
    drawn by the number of ways, and then which. Of a holder's cards, those that were played take
    places that were dealt before, and the rest any.
    """

    def __init__(
        self,
        holdings: Holdings,
        places: dict[Holder, list[int]],
        room: dict[Holder, int],
        allowed: dict[int, tuple[Holder, ...]],
    ) -> None:
        self.holdings, self.places = holdings, places
        self.holders = list(room)
        self.room = tuple(room.values())
        groups: dict[tuple[int, ...], list[int]] = {}
        for card, could in allowed.items():
            groups.setdefault(tuple(map(self.holders.index, could)), []).append(card)
        self.groups = sorted(groups.items(), key=lambda group: (len(group[0]), group[0]))
        self._shares = lru_cache(maxsize=None)(self._shares_of)

    @property
    def ways(self) -> float:
        """Ways to share the cards out, not counting the order of a holder's."""
        return self._shares(0, self.room)[2]

    def draw(self, rng: np.random.Generator) -> tuple[list[int], dict[int, int]]:
        """The card at every place, the seat's own among them; and the unseen moves by time."""
        known, room = self.holdings.known, self.room
        hands: list[list[int]] = [[] for _ in self.holders]
        for i, (_, cards) in enumerate(self.groups):
            splits, cumulative, total = self._shares(i, room)
            if total == 0:
                raise TooFewWorldsError(
                    f"no deal of {self.holdings.game.name} agrees with what seat "
                    f"{self.holdings.seat} has seen"
                )
            split = splits[int(np.searchsorted(cumulative, rng.random() * total, side="right"))]
            first, order = 0, rng.permutation(len(cards))
            for h, count in enumerate(split):
                hands[h] += [cards[k] for k in order[first : first + count].tolist()]
                first += count
            room = tuple(a - b for a, b in zip(room, split, strict=True))
        deal = [known.get(k, -1) for k in range(len(self.holdings.layout.places))]
        held = dict(zip(self.holders, hands, strict=True))
        unseen = self.holdings.unseen.undo(held, rng)
        for holder, hand in held.items():
            if holder is not None:
                self._lay(deal, hand, self.places[holder], rng)
        return deal, unseen

    def _lay(
        self, deal: list[int], hand: list[int], places: list[int], rng: np.random.Generator
    ) -> None:
        """Lay a holder's cards into its places: first those that had to be there early."""
        free = [places[k] for k in rng.permutation(len(places)).tolist()]
        if self.holdings.layout.draws:
            played, at = self.holdings.played, self.holdings.layout.places
            for card in sorted((c for c in hand if c in played), key=lambda c: played[c][1]):
                k = next((k for k in free if at[k].time < played[card][1]), free[0])
                deal[k] = card
                free.remove(k)
            hand = [card for card in hand if card not in deal]
        for k, card in zip(free, hand, strict=True):
            deal[k] = card

    def _shares_of(
        self, i: int, room: tuple[int, ...]
    ) -> tuple[list[tuple[int, ...]], FloatArray, float]:
        """How group i may be split, the cumulative ways of each, and all of them."""
        if i == len(self.groups):
            return [()], np.ones(1), 1.0
        could, cards = self.groups[i]
        splits, ways = [], []
        for split in _splits(len(cards), could, room):
            after = tuple(a - b for a, b in zip(room, split, strict=True))
            orders = math.factorial(len(cards)) // math.prod(map(math.factorial, split))
            if more := self._shares(i + 1, after)[2]:
                splits.append(split)
                ways.append(orders * more)
        cumulative = np.cumsum(ways)
        return splits, cumulative, float(cumulative[-1]) if ways else 0.0


def _splits(n: int, could: tuple[int, ...], room: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to give n like cards to the holders that may have them."""
    if not could:
        if n == 0:
            yield (0,) * len(room)
        return
    first, rest = could[0], could[1:]
    spare = sum(room[h] for h in rest)
    for count in range(max(0, n - spare), min(n, room[first]) + 1):
        for split in _splits(n - count, rest, room):
            yield (*split[:first], count, *split[first + 1 :])


def seen_by(game: OpenSpielGame, state: State, player: int) -> Hashable:
    """A key of what a player sees, as views have it."""
    string = game.string(state, player)
    if game.remembers or "tensor" not in game.encodings:
        return string
    return string, game.tensor(state, player).tobytes()


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


def _runs(game: OpenSpielGame, state: State) -> tuple[list[list[int]], frozenset[int]]:
    """The times of the cards that chance dealt, those dealt together in a list; and the deck.

    What chance decides before the first card, as who deals, is taken to be known to all.
    """
    here, runs, run = game.spiel.new_initial_state(), list[list[int]](), list[int]()
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
        state = game.spiel.new_initial_state()
        for t, move in enumerate(moves):
            state.apply_action(changed.get(t, move))
        return [seen_by(game, state, p) for p in players]

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
