"""Hanabi as a ``core.game.Game``: its rules, batches of worlds, and the views of seats.

Letters: B worlds, W words of a row (see ``layout``), A actions, F factors (hands), L cards of a
hand, P players.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.capabilities import (
    Branches,
    PrivateTokens,
    Redeterminizes,
    Replays,
)
from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    IllegalActionError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import (
    PAD,
    BoolArray,
    Event,
    FloatArray,
    History,
    IntArray,
    View,
    Worlds,
    as_actions,
    require_said,
    require_seat,
)
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine import row_kernels
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig, HanabiParameters
from hanabi_search_plugin.hanabi.engine.encoding import ENCODINGS, encode
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DREW,
    HANDS,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    LIVES,
    NO_CARD,
    PLAYED,
    TURN,
    dims_of,
    empty_row,
)
from hanabi_search_plugin.hanabi.engine.redeterminize import redraw_hands, restore_hands, set_hands
from hanabi_search_plugin.hanabi.engine.text import action_in_words, why_illegal
from hanabi_search_plugin.hanabi.engine.tokens import lay_out, weigh_tokens

Rows = NDArray[np.int32]


class HanabiRules(Branches, PrivateTokens, Redeterminizes, Replays):
    """The rules of one configuration; equal where the configurations are.

    What bots and beliefs need. ``HanabiGame`` adds beliefs, rollouts and trees, and is what users
    make. A factor is a hand, a token the identity of a card. Raises ConfigError.
    """

    name = "hanabi"
    rewards: Literal["identical", "zero_sum", "general_sum"] = "identical"
    public_actions = True
    weights_are_chance = True
    encodings = ENCODINGS

    def __init__(
        self, config: HanabiConfig | None = None, **parameters: Unpack[HanabiParameters]
    ) -> None:
        if config is not None and parameters:
            raise ConfigError("expected a config or parameters, got both")
        if config is not None and not isinstance(config, HanabiConfig):
            raise ConfigError(
                f"config must be a HanabiConfig, got {config!r}: parameters have names, as in "
                "HanabiGame(players=2)"
            )
        known = {field.name for field in fields(HanabiConfig)}
        if unknown := sorted(set(parameters) - known):
            raise ConfigError(
                f"parameters must be from {', '.join(sorted(known))}, got {unknown}"
                f"{did_you_mean(unknown[0], known)}"
            )
        self.config = config if config is not None else HanabiConfig(**parameters)
        self.dims = dims_of(self.config)
        p = self.config.players
        self.num_players = p
        self.num_actions = self.config.num_actions
        self.return_range = (
            -1.0 if self.config.bomb == "minus_one" else 0.0,
            float(self.config.max_score),
        )
        # Emptying the deck takes a move for each of its cards, each of which brings at most one
        # token to spend on a hint; after the last of them everyone moves once more.
        draws = self.config.deck_size - p * self.config.hand_size
        tokens = self.config.information_tokens
        self.max_length = draws + (tokens + draws - 1 if tokens and draws else 0) + p
        self.num_factors = p
        self.token_length = self.config.hand_size
        self.vocabulary = self.config.colors * self.config.ranks
        hidden_own = self.config.observation_type != "seer"
        self.visible = ~(np.eye(p, dtype=np.bool_) & hidden_own)  # [P, F]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HanabiRules) and other.config == self.config

    def __hash__(self) -> int:
        return hash(self.config)

    def __repr__(self) -> str:
        default = HanabiConfig(players=self.config.players)
        changed = [
            f", {name}={value!r}"
            for name, value in self.config.to_dict().items()
            if value != getattr(default, name)
        ]
        return f"{type(self).__name__}(players={self.config.players}{''.join(changed)})"

    @functools.cached_property
    def template(self) -> NDArray[np.int32]:
        """[W] the row before the deal, with the whole deck in it, sorted."""
        row = empty_row(self.config)
        row[len(row) - self.config.deck_size :] = self._sorted_deck
        return row

    @functools.cached_property
    def _sorted_deck(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.vocabulary), self.config.copies * self.config.colors)

    def deal(self, rng: np.random.Generator, n: int) -> HanabiWorlds:
        """n worlds with shuffled decks. Takes one 64-bit draw a world from ``rng``."""
        seeds = Streams.spawn(rng, n).state
        rows = np.empty((n, len(self.template)), dtype=np.int32)
        row_kernels.deal_rows(
            self.dims, self.template, seeds, self.config.random_start_player, rows
        )
        return HanabiWorlds(self, rows)

    def from_decks(self, decks: Any, first_player: int | IntArray = 0) -> HanabiWorlds:
        """Worlds dealt from given decks, int [B, deck size], first dealt first.

        Player 0 gets the first hand, player 1 the next, whoever begins. ``first_player`` is one for
        all worlds or int [B]. Raises ConfigError unless each deck is a permutation of the deck.
        """
        size = self.config.deck_size
        try:
            decks = np.asarray(decks)
        except ValueError:
            raise ConfigError(f"decks must be lists of {size} cards, got several lengths") from None
        if decks.ndim != 2 or decks.shape[1] != size or decks.dtype.kind not in "iu":
            raise ConfigError(
                f"decks must be integers of shape [B, {size}], "
                f"got {decks.dtype} of shape {decks.shape}"
            )
        wrong = np.flatnonzero((np.sort(decks, axis=1) != self._sorted_deck).any(axis=1))
        if len(wrong):
            raise ConfigError(
                f"decks must be permutations of the game's {size} cards, deck {wrong[0]} is not"
            )
        first = np.broadcast_to(np.asarray(first_player, dtype=np.int64), len(decks))
        if ((first < 0) | (first >= self.num_players)).any():
            raise ConfigError(f"first_player must be from 0 to {self.num_players - 1}")
        rows = np.empty((len(decks), len(self.template)), dtype=np.int32)
        decks = np.ascontiguousarray(decks, dtype=np.int32)
        row_kernels.deal_decks(self.dims, self.template, decks, np.ascontiguousarray(first), rows)
        return HanabiWorlds(self, rows)

    def action_to_string(self, player: int, action: int) -> str:
        """For example "P1 hints red to P0". Raises as ``require_said``."""
        require_said(player, action, self)
        return action_in_words(self.config, player, action)

    def outcome(self, worlds: Worlds) -> Mapping[str, IntArray]:
        """``lives_left`` [B]."""
        return {"lives_left": self._rows(worlds)[:, LIVES].astype(np.int64)}

    def branch(
        self, worlds: Worlds, actions: IntArray
    ) -> tuple[HanabiWorlds, IntArray, FloatArray]:
        """See ``Branches``: one world for each identity that may be drawn, by its copies left.

        The order of the rest of the deck is arbitrary.
        """
        rows = self._rows(worlds)
        after = HanabiWorlds(self, rows.copy())
        after.step(actions)
        draws = (after.rows[:, LAST_FLAGS] & DREW) != 0
        top = rows[:, DECK_NEXT]
        deck = rows[:, self.deck_start :]
        undealt = np.arange(deck.shape[1]) >= top[:, None]
        copies = np.zeros((len(rows), self.vocabulary), dtype=np.int64)
        place = np.zeros_like(copies)  # where the first of them lies in the deck
        for card in range(self.vocabulary):
            left = (deck == card) & undealt & draws[:, None]
            copies[:, card], place[:, card] = left.sum(axis=1), left.argmax(axis=1)
        copies[~draws, 0] = 1  # one outcome where nothing is drawn
        parent, card_drawn = np.nonzero(copies)
        chance = copies[parent, card_drawn] / copies.sum(axis=1)[parent]
        found = rows[parent]
        n = np.flatnonzero(draws[parent])
        drawn, origin = card_drawn[n], parent[n]
        found[n, self.deck_start + place[origin, drawn]] = deck[origin, top[origin]]
        found[n, self.deck_start + top[origin]] = drawn
        children = HanabiWorlds(self, found)
        children.step(np.asarray(actions)[parent])
        return children, parent, chance

    def concat(self, parts: Sequence[Worlds]) -> HanabiWorlds:
        """See ``Branches``."""
        return HanabiWorlds(self, np.concatenate([self._rows(part) for part in parts]))

    def private_tokens(self, worlds: Worlds, factor: int) -> IntArray:
        cards = self._rows(worlds)[:, self.hand_slots(factor)]
        return np.where(cards == NO_CARD, PAD, cards).astype(np.int64)

    def with_private(
        self, worlds: Worlds, factor: int, tokens: IntArray, rng: Streams
    ) -> tuple[HanabiWorlds, BoolArray]:
        """The worlds with other cards in hand ``factor`` and the deck shuffled anew.

        Possible where tokens [B, L] have as many cards as the hand, agree with its hints, and are
        among the cards that its holder cannot see. Takes one number of ``rng`` for each undealt
        card but one, none in an impossible world.
        """
        rows = self._rows(worlds).copy()
        possible = np.empty(len(rows), dtype=np.bool_)
        tokens = np.ascontiguousarray(tokens, dtype=np.int64)
        if tokens.shape != (len(rows), self.token_length):
            expected = (len(rows), self.token_length)
            raise ValueError(f"tokens must be of shape {expected}, got {tokens.shape}")
        rng.state = rng.state.copy()
        set_hands(self.dims, rows, factor, tokens, rng.state, possible)
        return HanabiWorlds(self, rows), possible

    def token_weights(self, view: View, before: IntArray) -> FloatArray:
        """See ``PrivateTokens``: the unseen copies of each card that hints leave for a slot.

        0, too, for cards that would leave a later slot with none of its own.
        """
        rows = self._seen(view)
        weights = np.empty((len(rows), self.vocabulary))
        before = np.ascontiguousarray(before, dtype=np.int64)
        if len(self.hidden(view.player)) == 0:
            weights[:] = 0.0
        else:
            weigh_tokens(self.dims, rows, view.player, before, weights)
        return weights

    def worlds_of(self, view: View, tokens: IntArray, rng: Streams) -> HanabiWorlds:
        """See ``PrivateTokens``. Takes one number of ``rng`` for each undealt card but one."""
        seen = self._seen(view)[0]
        if len(self.hidden(view.player)) == 0:
            raise UnsupportedError("a seer sees its own hand: nothing is hidden but the deck")
        rows = np.empty((len(tokens), len(seen)), dtype=np.int32)
        tokens = np.ascontiguousarray(tokens, dtype=np.int64)
        lay_out(self.dims, seen, view.player, tokens, rng.state, rows)
        return HanabiWorlds(self, rows)

    def redeterminize(self, worlds: Worlds, player: int, rng: Streams) -> HanabiWorlds:
        """The worlds with ``player``'s hand and the deck drawn anew by the player's hints.

        Exactly uniform over the orders of the unseen cards that agree with the hints, by rejection;
        takes a varying number of draws of ``rng``. Only the deck changes for a ``"seer"``.
        """
        rows = self._rows(worlds).copy()
        rng.state = rng.state.copy()
        seer = bool(self.visible[player, player])
        anything = np.full(self.config.hand_size, -1)
        redraw_hands(self.dims, rows, player, seer, anything, rng.state)
        return HanabiWorlds(self, rows)

    def restore(self, worlds: Worlds, player: int, saved: Worlds, rng: Streams) -> HanabiWorlds:
        """Put ``player``'s true cards back; the conflict rules are those of `restore_hands`."""
        rows = self._rows(worlds).copy()
        rng.state = rng.state.copy()
        restore_hands(self.dims, rows, player, self._rows(saved), rng.state)
        return HanabiWorlds(self, rows)

    def replay(self, history: History, player: int, tokens: IntArray) -> History:
        """See ``Replays``: tokens [B, L] are the observer's hand of today.

        The cards that left the observer's hand are public, so today's hand determines all before.
        """
        if player == history.seat:
            return history
        past = self._past(history, tokens)
        views = [self._with_hands(seen, history.seat, hands).view(player) for seen, hands in past]
        return History(player, tuple(reversed(views)), history.events)

    def views_at(self, history: History, player: int, tokens: IntArray, turns: IntArray) -> View:
        """See ``Replays``."""
        if player == history.seat:
            shown = np.concatenate([self._seen(view) for view in history.views])
            return HanabiView(self, player, shown[turns])
        found = np.empty((len(tokens), len(self.template)), dtype=np.int32)
        last = len(history.views) - 1
        for back, (seen, hands) in enumerate(self._past(history, tokens)):
            now = turns == last - back
            if now.any():
                found[now] = self._with_hands(seen, history.seat, hands[now]).rows
        return HanabiWorlds(self, found).view(player)

    def tokens_at(self, history: History, tokens: IntArray, turn: int) -> IntArray:
        """See ``Replays``."""
        past = self._past(history, tokens)
        hands = next(itertools.islice(past, len(history.views) - 1 - turn, None))[1]
        return np.where(hands == NO_CARD, PAD, hands).astype(np.int64)

    def _past(self, history: History, tokens: IntArray) -> Iterator[tuple[Rows, Rows]]:
        """What the observer saw at each turn, [1, W], the last first; its cards [B, H] then."""
        observer, size = history.seat, self.config.hand_size
        hands = np.where(tokens == PAD, NO_CARD, tokens).astype(np.int32)
        for t in range(len(history.views) - 1, -1, -1):
            seen = self._seen(history.views[t])
            yield seen, hands
            if t == 0:
                break
            mover, card = int(history.events[t - 1].player[0]), int(seen[0, LAST_CARD])
            if mover == observer and card >= 0:
                slot = int(history.events[t - 1].action[0]) % size
                # What stood in the last place was drawn since, or is nothing.
                hands = np.insert(hands, slot, card, axis=1)[:, :size]

    def _with_hands(self, seen: Rows, player: int, hands: Rows) -> HanabiWorlds:
        """[B] worlds as ``seen`` [1, W] with the cards [B, H] of ``player``."""
        rows = np.repeat(seen, len(hands), axis=0)
        rows[:, self.hand_slots(player)] = hands
        return HanabiWorlds(self, rows)

    @property
    def deck_start(self) -> int:
        """Where the deck begins in a row, the cards already dealt first."""
        return len(self.template) - self.config.deck_size

    def hand_slots(self, player: int) -> slice:
        """Where a hand stands in a row."""
        start = HANDS + player * self.config.hand_size
        return slice(start, start + self.config.hand_size)

    @staticmethod
    def _rows(worlds: Worlds) -> Rows:
        if not isinstance(worlds, HanabiWorlds):
            raise TypeError(f"expected worlds of native Hanabi, got {type(worlds).__name__}")
        return worlds.rows

    @staticmethod
    def _seen(view: View) -> Rows:
        if not isinstance(view, HanabiView):
            raise TypeError(f"expected a view of native Hanabi, got {type(view).__name__}")
        return view.rows


class HanabiWorlds(Worlds):
    """B complete worlds. The chance stream of a world is the rest of its deck."""

    game: HanabiRules

    def __init__(self, game: HanabiRules, rows: Rows) -> None:
        self.game = game
        self.rows = rows  # [B, W], C-contiguous

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def current_player(self) -> IntArray:
        return self.rows[:, TURN].astype(np.int64)

    @property
    def returns(self) -> FloatArray:
        returns = np.empty((len(self), self.game.num_players))
        row_kernels.return_rows(self.rows, returns)
        return returns

    @property
    def legal(self) -> BoolArray:
        return _legal(self.game, self.rows, -1)

    def step(self, actions: IntArray) -> Event:
        """Play actions [B] in place.

        Raises IllegalActionError naming the first illegal one; then no world has moved.
        """
        actions = as_actions(actions, len(self))
        movers = self.current_player
        wrong = row_kernels.step_rows(self.game.dims, self.rows, actions)
        if wrong >= 0:
            raise IllegalActionError(self._explain(wrong, int(actions[wrong])))
        return Event(movers, actions)

    def _explain(self, index: int, action: int) -> str:
        config, row = self.game.config, self.rows[index]
        known = 0 <= action < config.num_actions and row[TURN] >= 0
        words = action_in_words(config, int(row[TURN]), action) if known else f"action {action}"
        reason = why_illegal(config, row, action)
        return f'"{words}" is not legal in world {index}: {reason}'

    def select(self, index: IntArray | BoolArray) -> HanabiWorlds:
        return HanabiWorlds(self.game, self.rows[index])

    def view(self, player: int) -> HanabiView:
        config = self.game.config
        require_seat(player, self.game)
        hide_hand = config.observation_type != "seer"
        hide_hints = config.observation_type == "minimal"
        rows = self.rows.copy()
        row_kernels.hide_rows(self.game.dims, rows, player, hide_hand, hide_hints)
        return HanabiView(self.game, player, rows)


class HanabiView(View):
    """What ``player`` sees of B worlds: rows in which all else is wiped.

    The undealt deck is NO_CARD, and so are the cards that were dealt from it. The own hand is
    HIDDEN_CARD, but for a ``"seer"``. Hint knowledge is there, except in a ``"minimal"``
    observation, where a player has to remember hints itself.
    """

    game: HanabiRules

    def __init__(self, game: HanabiRules, player: int, rows: Rows) -> None:
        self.game = game
        self.player = player
        self.rows = rows  # [B, W]

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, index: IntArray | BoolArray) -> HanabiView:
        return HanabiView(self.game, self.player, self.rows[index])

    @property
    def current_player(self) -> IntArray:
        return self.rows[:, TURN].astype(np.int64)

    @property
    def legal(self) -> BoolArray:
        return _legal(self.game, self.rows, self.player)

    def observation(self, encoding: str = "") -> NDArray[Any]:
        """The observation in one of ``game.encodings``; ``encoding.encode`` says what each is."""
        return encode(self.game.config, self.rows, self.player, encoding)

    def require_last(self, event: Event) -> None:
        """Raise ContractError unless ``event`` is the last move that is shown."""
        rows = self.rows
        wrong = (event.player != rows[:, LAST_PLAYER]) | (event.action != rows[:, LAST_ACTION])
        if np.count_nonzero(wrong):
            b = int(wrong.argmax())
            mover, action = rows[b, LAST_PLAYER], rows[b, LAST_ACTION]
            last = f"action {action} of seat {mover} last" if mover >= 0 else "no move yet"
            raise ContractError(
                f"expected the view after the event, action {event.action[b]} of seat "
                f"{event.player[b]}, got one that shows {last}"
            )

    def keys(self) -> Sequence[bytes]:
        return [row.tobytes() for row in self.rows]


def _legal(game: HanabiRules, rows: Rows, seat: int) -> BoolArray:
    legal = np.empty((len(rows), game.num_actions), dtype=np.bool_)
    row_kernels.legal_rows(game.dims, rows, seat, legal)
    return legal


def points(rows: Rows) -> FloatArray:
    """[B] cards on the fireworks."""
    return np.bitwise_count(rows[:, PLAYED]).astype(np.float64)
