"""Conversions between OpenSpiel's hanabi and the native engine: games, states and histories.

Cards, actions and the order of the deal are the same in both, so a conversion plays the same deck
and moves again on the other side. A card is ``ranks * colour + rank``.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyspiel

from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, UNSEEN, History, View
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DREW,
    HANDS,
    HIDDEN_CARD,
    LAST_CARD,
    LAST_FLAGS,
    LAST_TOUCHED,
    MOVES,
    TURN,
)
from hanabi_search_plugin.hanabi.engine.text import action_to_dict
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame, digest_of
from hanabi_search_plugin.wrappers._openspiel_rules import (
    HANABI_NAMES,
    State,
    load_spiel,
    options_in_its_name,
)

_TRIES = 10_000  # new games of a random first player before the one wanted must have come up

_NAMES = {**HANABI_NAMES, "observation_type": "observation_type"}


@options_in_its_name
def load_game(game: Any) -> HanabiGame | OpenSpielGame:
    """Make a game of a ``pyspiel.Game``, or of a string such as ``"hanabi(players=3)"``, which may
    begin as on the command line: ``"openspiel:leduc_poker"``.

    OpenSpiel's hanabi becomes a ``HanabiGame`` on the native engine, any other sequential game an
    ``OpenSpielGame``. A simultaneous game is turned into one of turns, in which nobody sees a move
    before all have moved (``pyspiel.convert_to_turn_based``). Raises ConfigError for an unknown
    game or a parameter out of its range, UnsupportedError for what is no game. Hands of more than 8
    cards and more than 50 tokens are too large for the native engine: give their ``pyspiel.Game``
    to ``OpenSpielGame``.
    """
    spiel = load_spiel(game)
    kind = spiel.get_type()
    if kind.short_name == "hanabi":
        return HanabiGame(config_of(spiel))
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        spiel = pyspiel.convert_to_turn_based(spiel)
    return OpenSpielGame(spiel)


def config_of(spiel: Any) -> HanabiConfig:
    """The configuration of OpenSpiel's hanabi. Raises UnsupportedError for another game."""
    if spiel.get_type().short_name != "hanabi":
        raise UnsupportedError(f"expected a game of hanabi, got {spiel}")
    given = spiel.get_parameters()
    return HanabiConfig(
        **{name: given[theirs] for name, theirs in _NAMES.items() if theirs in given}
    )


@functools.lru_cache(maxsize=64)
def spiel_of(game: HanabiGame) -> Any:
    """OpenSpiel's game of the same configuration, except ``bomb``, which it does not have."""
    values = game.config.to_dict()
    return pyspiel.load_game("hanabi", {theirs: values[name] for name, theirs in _NAMES.items()})


def from_state(
    state: State, *, game: HanabiGame | None = None, rng: np.random.Generator | None = None
) -> HanabiWorlds:
    """Convert a state to native worlds, a batch of one.

    ``rng`` shuffles the cards that are not dealt yet; without it they lie sorted. Give ``game``
    where its ``bomb`` is not OpenSpiel's. Raises UnsupportedError for a state of another game or
    configuration, and at a chance node: the card that is due belongs to the move before.
    """
    native = _native(state, game)
    deck, actions, first = _played(state)
    worlds = _dealt(native, deck, first, rng)
    for action in actions:
        worlds.step(np.array([action]))
    return worlds


def history_of(state: State, player: int, *, game: HanabiGame | None = None) -> History:
    """What ``player`` has seen up to ``state``: T events between T + 1 native views, each of one.

    Where a game has another ``bomb`` than OpenSpiel's give ``game``. No randomness. Raises as
    ``from_state``.
    """
    native = _native(state, game)
    deck, actions, first = _played(state)
    worlds = _dealt(native, deck, first, None)
    history = History(player, (worlds.view(player),))
    for action in actions:
        event = worlds.step(np.array([action]))
        history = history.append(event, worlds.view(player))
    return history


def to_state(
    game: HanabiGame, deck: Sequence[int], actions: Sequence[int], first_player: int = 0
) -> State:
    """Make OpenSpiel's state after ``actions``, with the cards of ``deck`` dealt in order.

    ``deck`` may end with the last card dealt. Raises ConfigError for a deck that is too short or
    not the game's, and for a first player who cannot be; IllegalActionError for an illegal action.
    """
    cards = [int(card) for card in deck]
    config = game.config
    for card, count in Counter(cards).items():
        if not 0 <= card < game.vocabulary or count > config.copies[card % config.ranks]:
            raise ConfigError(f"deck must be cards of the game, got {count} of card {card}")
    state, coming = initial_state(game, first_player), iter(cards)
    _deal(state, coming)
    for k, action in enumerate(actions):
        if state.is_terminal() or action not in state.legal_actions():
            legal = [] if state.is_terminal() else state.legal_actions()
            raise IllegalActionError(f"move {k} must be one of {legal}, got {action}")
        state.apply_action(int(action))
        _deal(state, coming)
    return state


def hypothetical_state(history: History, seed: int = 0) -> State:
    """Make a state of OpenSpiel that a seat cannot tell from the true one, from its native history.

    The seat's own cards are drawn among those it does not see, by what hints have told it; the
    history and ``seed`` are the only randomness. The seat knows all the rest. ``history`` is that
    of a game of native Hanabi, as ``history_of`` gives it.
    """
    record = HistoryRecord.start(history.views[0])
    for event, view in zip(history.events, history.views[1:], strict=True):
        record = record.observe(view, int(event.player[0]), int(event.action[0]))
    return record.state(history.views[-1], seed)


def sorted_deck(game: HanabiGame) -> list[int]:
    """Every card of the game, by color * ranks + rank, lowest first: what is dealt from."""
    return [int(card) for card in game.template[-game.config.deck_size :]]


def initial_state(game: HanabiGame, first_player: int = 0) -> State:
    """Make a state before the deal of a game that ``first_player`` begins.

    Where who begins is random, OpenSpiel draws it from a generator of its own when it makes a
    state. Raises ConfigError for a player who cannot begin.
    """
    config = game.config
    last = config.players - 1 if config.random_start_player else 0
    if not 0 <= first_player <= last:
        raise ConfigError(f"first_player must be from 0 to {last}, got {first_player}")
    return _initial(game, int(first_player)).clone()


@dataclass(frozen=True)
class HistoryRecord:
    """What one seat knows of a native game: all but the cards it has not seen.

    It is enough to play the game again in OpenSpiel with a hand that the seat may hold.
    """

    game: HanabiGame
    seat: int
    first: int  # who began
    actions: tuple[int, ...]
    deck: tuple[int, ...]  # cards dealt so far, UNSEEN where the seat does not know them
    slots: tuple[tuple[int, ...], ...]  # where in the deck each hand's cards lie, oldest first
    told: tuple[int, ...]  # hint knowledge of the own cards, as in a row

    @classmethod
    def start(cls, view: View) -> HistoryRecord:
        """Begin at a seat's first view, a batch of one. Raises UnsupportedError for a later one."""
        row = _row(view)
        if row[MOVES] != 0:
            raise UnsupportedError(
                "a history must begin before the first move, got one after "
                f"{counted(int(row[MOVES]), 'move')}"
            )
        game, seat = view.game, view.player
        assert isinstance(game, HanabiGame)
        hand, p = game.config.hand_size, game.num_players
        dealt = row[HANDS : HANDS + p * hand].tolist()
        deck = tuple(UNSEEN if card == HIDDEN_CARD else card for card in dealt)
        slots = tuple(tuple(range(q * hand, (q + 1) * hand)) for q in range(p))
        return cls(game, seat, int(row[TURN]), (), deck, slots, (_unknown(game),) * hand)

    def observe(self, view: View, mover: int, action: int) -> HistoryRecord:
        """The record after a move; ``view`` is the seat's after it, a batch of one."""
        row, config = _row(view), self.game.config
        what = action_to_dict(config, action)
        deck, told = list(self.deck), list(self.told)
        hand = list(self.slots[mover])
        if "slot" in what:
            deck[hand.pop(what["slot"])] = int(row[LAST_CARD])
            if mover == self.seat:
                told.pop(what["slot"])
            if row[LAST_FLAGS] & DREW:
                card = int(row[HANDS + (mover + 1) * config.hand_size - 1])
                hand.append(len(deck))
                deck.append(UNSEEN if card == HIDDEN_CARD else card)
                if mover == self.seat:
                    told.append(_unknown(self.game))
        elif (mover + what["target"]) % config.players == self.seat:
            bit = 1 << what["color"] if "color" in what else 1 << (what["rank"] + 5)
            group = 0b11111 if "color" in what else 0b11111 << 5
            for i, word in enumerate(told):
                touched = row[LAST_TOUCHED] >> i & 1
                told[i] = word & ~(group & ~bit) if touched else word & ~bit
        slots = (*self.slots[:mover], tuple(hand), *self.slots[mover + 1 :])
        return replace(
            self, actions=(*self.actions, action), deck=tuple(deck), slots=slots, told=tuple(told)
        )

    def showing(self, view: View) -> HistoryRecord:
        """The record with the cards that ``view`` shows in hands.

        They may differ from those recorded: a belief that has recovered keeps memories of other
        hands than those in its worlds.
        """
        row, deck = _row(view), list(self.deck)
        size = self.game.config.hand_size
        for p, hand in enumerate(self.slots):
            for at, card in zip(hand, row[HANDS + p * size :].tolist(), strict=False):
                if card != HIDDEN_CARD:
                    deck[at] = card
        return self if deck == list(self.deck) else replace(self, deck=tuple(deck))

    def state(self, view: View, seed: int = 0) -> State:
        """OpenSpiel's state with a hand that the seat may hold; ``view`` is the seat's last."""
        deck = self.showing(view).dealt(view, seed)
        return to_state(self.game, deck, self.actions, self.first)

    def dealt(self, view: View, seed: int = 0) -> list[int]:
        """The cards dealt so far, those the seat does not know drawn by its hints."""
        game, row = self.game, _row(view).copy()
        hand = HANDS + self.seat * game.config.hand_size
        told = hand + game.num_players * game.config.hand_size
        undealt = len(row) - game.config.deck_size + int(row[DECK_NEXT])
        left = Counter(sorted_deck(game))
        left.subtract(card for card in self.deck if card != UNSEEN)
        unseen = list(left.elements())
        for i, (at, word) in enumerate(zip(self.slots[self.seat], self.told, strict=True)):
            row[hand + i] = unseen.pop() if self.deck[at] == UNSEEN else self.deck[at]
            row[told + i] = word
        row[undealt:] = unseen
        stream = Streams(np.array([self.digest(seed)], dtype=np.uint64))
        drawn = game.redeterminize(HanabiWorlds(game, row[None]), self.seat, stream).rows[0]
        deck = list(self.deck)
        for i, at in enumerate(self.slots[self.seat]):
            deck[at] = int(drawn[hand + i])
        return deck

    def digest(self, seed: int) -> int:
        """A 64-bit hash of all that the seat knows and ``seed``."""
        key = (seed, self.seat, self.first, self.actions, self.deck, self.told)
        return digest_of(key)


def _row(view: View) -> Any:
    if not isinstance(view, HanabiView):
        raise UnsupportedError(f"expected a view of native Hanabi, got {type(view).__name__}")
    return view.rows[0]


def _unknown(game: HanabiGame) -> int:
    """Hint knowledge of a card nothing was told of."""
    return ((1 << game.config.colors) - 1) | ((1 << game.config.ranks) - 1) << 5


def _native(state: State, game: HanabiGame | None) -> HanabiGame:
    config = config_of(state.get_game())
    native = HanabiGame(config) if game is None else game
    if replace(native.config, bomb="zero") != config:
        raise UnsupportedError(f"expected a state of {native!r}, got one of {state.get_game()}")
    return native


def _played(state: State) -> tuple[list[int], list[int], int]:
    """Cards dealt, moves, and who began."""
    if state.is_chance_node() and not state.is_terminal():
        raise UnsupportedError(
            "expected a state at a decision or an end, got one at a chance node: a card is due"
        )
    deck, actions, first = [], [], NOBODY
    for item in state.full_history():
        if item.player == pyspiel.PlayerId.CHANCE:
            deck.append(item.action)
        else:
            actions.append(item.action)
            first = item.player if first == NOBODY else first
    return deck, actions, state.current_player() if first == NOBODY else first


def _dealt(
    game: HanabiGame, deck: list[int], first: int, rng: np.random.Generator | None
) -> HanabiWorlds:
    left = Counter(sorted_deck(game))
    left.subtract(deck)
    rest = list(left.elements())
    if rng is not None:
        rest = rng.permutation(rest).tolist()
    return game.from_decks(np.array([deck + rest], dtype=np.int64), first)


def _deal(state: State, coming: Iterator[int]) -> None:
    while state.is_chance_node() and not state.is_terminal():
        card = next(coming, None)
        if card is None:
            raise ConfigError(
                "deck must have every card that is dealt, got one that ends after "
                f"{sum(a.player == pyspiel.PlayerId.CHANCE for a in state.full_history())} cards"
            )
        state.apply_action(card)


@functools.lru_cache(maxsize=256)
def _initial(game: HanabiGame, first_player: int) -> State:
    spiel, deck = spiel_of(game), sorted_deck(game)
    for _ in range(_TRIES):
        state = spiel.new_initial_state()
        begun = state.clone()
        _deal(begun, iter(deck))
        if begun.current_player() == first_player:
            return state
    raise UnsupportedError(f"OpenSpiel's games of {game!r} are never begun by P{first_player}")
