"""Contract bridge without the play: an auction of two sides, then the tricks of perfect play.

Letters: B worlds, K tokens hidden from a seat.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.bridge.auction import CALLS, LONGEST, Auctions, call_text
from hanabi_search_plugin.bridge.bidding_observation import NAME, encoded
from hanabi_search_plugin.bridge.deals import CARDS, HAND, Owners, deal_text, hand_text
from hanabi_search_plugin.bridge.double_dummy import DoubleDummy
from hanabi_search_plugin.bridge.other_table import OtherTable
from hanabi_search_plugin.bridge.scoring import HIGHEST, MOST_IMPS, declarer_score, imps
from hanabi_search_plugin.core.capabilities import DealsTokens
from hanabi_search_plugin.core.errors import UnsupportedError
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
    require_legal,
    require_said,
)
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.core.streams import Streams

VULNERABLE = {"none": (0, 0), "ns": (1, 0), "ew": (0, 1), "both": (1, 1)}


@dataclass(frozen=True, repr=False, eq=False)
class BridgeBidding(DealsTokens):
    """The bidding of contract bridge by four players, N and S against E and W.

    Dealer and vulnerability are drawn with the cards, or fixed: ``dealer`` is a seat 0 to 3,
    ``vulnerable`` one of none, ns, ew, both. A finished auction scores duplicate points with the
    tricks of double-dummy play; E and W are paid the negative of N and S.

    With ``other_table``, an ``OtherTable``, a return is IMPs: the same board is bid there by its
    policies, and the difference in points converted. The mean return of a side is then what it
    gains a board over them.

    Raises ConfigError for settings out of range.
    """

    dealer: int | None = None
    vulnerable: str | None = None
    other_table: OtherTable | None = None
    tricks: DoubleDummy = field(default_factory=DoubleDummy)  #: who counts the tricks of a deal

    num_players = 4
    num_actions = CALLS
    max_length = LONGEST
    rewards = "zero_sum"
    public_actions = True
    encodings = (NAME,)

    num_factors = 4
    token_length = HAND
    vocabulary = CARDS
    visible = np.eye(4, dtype=np.bool_)
    weights_are_chance = True

    def __post_init__(self) -> None:
        if self.dealer is not None:
            require_choice("dealer", self.dealer, range(4))
        if self.vulnerable is not None:
            require_choice("vulnerable", self.vulnerable, VULNERABLE)

    @property
    def unit(self) -> str:  # type: ignore[override]
        return "points" if self.other_table is None else "IMPs"

    @property
    def name(self) -> str:  # type: ignore[override]
        options = []
        if self.dealer is not None:
            options.append(f"dealer={self.dealer}")
        if self.vulnerable is not None:
            options.append(f"vulnerable={self.vulnerable}")
        if self.other_table is not None:
            options.append(f"other_table={self.other_table!r}")
        return f"bridge({', '.join(options)})"

    def __repr__(self) -> str:
        return f"BridgeBidding({self.name[7:-1]})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BridgeBidding)
            and (self.dealer, self.vulnerable) == (other.dealer, other.vulnerable)
            and self.other_table == other.other_table
        )

    def __hash__(self) -> int:
        return hash((self.dealer, self.vulnerable))

    @property
    def return_range(self) -> tuple[float, float]:  # type: ignore[override]
        most = float(HIGHEST if self.other_table is None else MOST_IMPS)
        return -most, most

    def deal(self, rng: np.random.Generator, n: int) -> BridgeWorlds:
        """Takes 52 n doubles from ``rng``, then 2 n integers."""
        owners = np.empty((n, CARDS), dtype=np.int8)
        order = np.argsort(rng.random((n, CARDS)), axis=1)
        np.put_along_axis(owners, order, np.repeat(np.arange(4, dtype=np.int8), HAND)[None], axis=1)
        dealer = rng.integers(0, 4, n).astype(np.int8)
        pairs = np.array(list(VULNERABLE.values()), dtype=np.bool_)
        vulnerable = pairs[rng.integers(0, 4, n)]
        if self.dealer is not None:
            dealer[:] = self.dealer
        if self.vulnerable is not None:
            vulnerable[:] = VULNERABLE[self.vulnerable]
        return self.boards(owners, dealer, vulnerable)

    def boards(
        self, owners: Owners, dealer: NDArray[np.int8], vulnerable: BoolArray
    ) -> BridgeWorlds:
        """The worlds of given deals [B, 52], dealers [B] and vulnerability of NS and EW [B, 2]."""
        return BridgeWorlds(self, owners, Auctions.begin(dealer), vulnerable)

    def action_to_string(self, player: int, action: int) -> str:
        require_said(player, action, self)
        return call_text(action)

    def outcome(self, worlds: Worlds) -> Mapping[str, IntArray]:
        """The contract: level, strain, declarer, doubling, and tricks."""
        batch = _ours(worlds)
        contract = batch.auctions.contract
        return {**contract._asdict(), "tricks": batch.won}

    # ------------------------------------------------------------------------ private tokens

    def private_tokens(self, worlds: Worlds, factor: int) -> IntArray:
        """[B, 13] the cards of a seat, in order."""
        return np.nonzero(_ours(worlds).owners == factor)[1].reshape(len(worlds), HAND)

    def with_private(
        self, worlds: Worlds, factor: int, tokens: IntArray, rng: Streams
    ) -> tuple[BridgeWorlds, BoolArray]:
        """See ``PrivateTokens``. The other seats hold all other cards, so that a hand can be
        replaced by itself alone."""
        same = (self.private_tokens(worlds, factor) == tokens).all(axis=1)
        return _ours(worlds).select(np.arange(len(worlds))), same

    def token_weights(self, view: View, before: IntArray) -> FloatArray:
        """See ``PrivateTokens``. Cards of a hand are in order, so that every hand is one sequence:
        a card's weight is the number of ways to draw those of the hand that follow it."""
        held = _seen(view).held
        j, size = before.shape[1], len(before)
        if j == 3 * HAND:
            return np.zeros((size, CARDS))
        free = ~held
        np.put_along_axis(free, before, False, axis=1)
        if j % HAND:
            free &= np.arange(CARDS) > before[:, -1:]
        above = free[:, ::-1].cumsum(axis=1)[:, ::-1] - free
        return np.where(free, _WAYS[HAND - 1 - j % HAND][above], 0.0)

    def worlds_of(self, view: View, tokens: IntArray, rng: Streams) -> BridgeWorlds:
        """See ``PrivateTokens``; a deal has no further chance."""
        seen, size = _seen(view), len(tokens)
        owners = np.repeat(np.where(seen.held, view.player, -1).astype(np.int8), size, axis=0)
        for k, seat in enumerate(self.hidden(view.player).tolist()):
            cards = tokens[:, HAND * k : HAND * (k + 1)]
            np.put_along_axis(owners, cards, np.int8(seat), axis=1)
        rows = np.zeros(size, dtype=np.int64)
        return BridgeWorlds(self, owners, seen.auctions.select(rows), seen.vulnerable[rows])

    def replay(self, history: History, player: int, tokens: IntArray) -> History:
        rows = np.zeros(len(tokens), dtype=np.int64)
        views = tuple(
            self.views_at(history, player, tokens, rows + t) for t in range(len(history.views))
        )
        return History(player, views, history.events)

    def views_at(self, history: History, player: int, tokens: IntArray, turns: IntArray) -> View:
        at = self.hidden(history.seat).tolist().index(player)
        cards = tokens[:, HAND * at : HAND * (at + 1)]
        held = np.zeros((len(tokens), CARDS), dtype=np.bool_)
        np.put_along_axis(held, cards, True, axis=1)
        which, row = np.unique(turns, return_inverse=True)
        past = [_seen(history.views[t]) for t in which.tolist()]
        auctions = _stacked([view.auctions for view in past]).select(row)
        vulnerable = np.repeat(past[0].vulnerable, len(tokens), axis=0)
        return BridgeView(self, player, held, auctions, vulnerable)

    def tokens_at(self, history: History, tokens: IntArray, turn: int) -> IntArray:
        return tokens  # hands do not change


@dataclass(repr=False, eq=False)
class BridgeView(View):
    """What one seat sees: its cards, the vulnerability and the auction."""

    game: BridgeBidding
    player: int
    held: BoolArray  # [B, 52]
    auctions: Auctions
    vulnerable: BoolArray  # [B, 2] NS, EW

    def __len__(self) -> int:
        return len(self.held)

    def select(self, index: IntArray | BoolArray) -> BridgeView:
        return BridgeView(
            self.game, self.player, self.held[index], self.auctions.select(index),
            self.vulnerable[index],
        )  # fmt: skip

    @property
    def current_player(self) -> IntArray:
        return self.auctions.caller

    @property
    def legal(self) -> BoolArray:
        mine = self.current_player == self.player
        return np.asarray(self.auctions.legal & mine[:, None])

    def observation(self, encoding: str = "") -> NDArray[Any]:
        """[B, 268], see ``bidding_observation``."""
        if encoding != NAME:
            raise UnsupportedError(f"expected one of the encodings {NAME}, got {encoding!r}")
        return encoded(self.held, self.auctions, self.vulnerable, self.player, self.legal)

    def keys(self) -> Sequence[Hashable]:
        a = self.auctions
        return [
            (self.held[b].tobytes(), int(a.dealer[b]), self.vulnerable[b].tobytes(),
             a.calls[b, : a.count[b]].tobytes())
            for b in range(len(self))
        ]  # fmt: skip

    def text(self, row: int = 0) -> str:
        """The hand and the auction, in words."""
        a = self.auctions
        calls = " ".join(map(call_text, a.calls[row, : a.count[row]].tolist()))
        return f"{'NESW'[self.player]} {hand_text(self.held[row])}: {calls or 'no call yet'}"


class BridgeWorlds(Worlds):
    """Deals with their auctions."""

    game: BridgeBidding

    def __init__(
        self, game: BridgeBidding, owners: Owners, auctions: Auctions, vulnerable: BoolArray
    ) -> None:
        self.game = game
        self.owners = owners  # [B, 52] the seat that holds each card; never changed
        self.auctions = auctions
        self.vulnerable = vulnerable  # [B, 2] NS, EW; never changed

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def current_player(self) -> IntArray:
        return self.auctions.caller

    @property
    def legal(self) -> BoolArray:
        return self.auctions.legal

    def step(self, actions: IntArray) -> Event:
        given = as_actions(actions, len(self))
        require_legal(given, self.legal)
        mover = self.current_player
        self.auctions.play(given)
        return Event(mover, given)

    def select(self, index: IntArray | BoolArray) -> BridgeWorlds:
        return BridgeWorlds(
            self.game, self.owners[index], self.auctions.select(index), self.vulnerable[index]
        )

    def view(self, player: int) -> BridgeView:
        return BridgeView(self.game, player, self.owners == player, self.auctions, self.vulnerable)

    @property
    def won(self) -> IntArray:
        """[B] tricks of the declarer; 0 where the auction is not over or all passed."""
        contract, won = self.auctions.contract, np.zeros(len(self), dtype=np.int64)
        rows = np.flatnonzero(self.auctions.over & (contract.level > 0))
        won[rows] = self.game.tricks.tricks(
            self.owners[rows], contract.strain[rows], contract.declarer[rows]
        )
        return won

    @property
    def points(self) -> FloatArray:
        """[B] duplicate points of N and S; 0 where the auction is not over."""
        contract, row = self.auctions.contract, np.arange(len(self))
        side = contract.declarer % 2
        score = declarer_score(contract, self.vulnerable[row, side], self.won)
        return np.where(self.auctions.over, np.where(side == 0, score, -score), 0).astype(float)

    @property
    def returns(self) -> FloatArray:
        """[B, 4] points, or IMPs where the game has another table."""
        paid = self.points
        there = self.game.other_table
        if there is not None:
            over = np.flatnonzero(self.auctions.over)
            boards = self.select(over)
            paid[over] = imps(paid[over] - there.points(boards.boards(), boards.begun()))
        return np.asarray(paid[:, None] * np.array([1.0, -1.0, 1.0, -1.0]))

    def boards(self) -> list[bytes]:
        """[B] equal for worlds of the same deal, dealer and vulnerability."""
        dealer = self.auctions.dealer.astype(np.int8)[:, None]
        table = np.concatenate([self.owners, dealer, self.vulnerable.astype(np.int8)], axis=1)
        return [row.tobytes() for row in table]

    def begun(self) -> BridgeWorlds:
        """The same boards before the first call, scored by points."""
        plain = BridgeBidding(tricks=self.game.tricks)
        return plain.boards(self.owners, self.auctions.dealer, self.vulnerable)

    def text(self, row: int = 0) -> str:
        """The deal in PBN and the auction, in words."""
        a = self.auctions
        calls = " ".join(map(call_text, a.calls[row, : a.count[row]].tolist()))
        return f"{deal_text(self.owners[row])} dealer {'NESW'[a.dealer[row]]}: {calls}"


def _ways() -> FloatArray:
    """[13, 53] ways to choose k of n."""
    table = np.zeros((HAND, CARDS + 1))
    table[0] = 1.0
    for n in range(1, CARDS + 1):
        table[1:, n] = table[1:, n - 1] + table[:-1, n - 1]
    return table


_WAYS = _ways()


def _stacked(parts: list[Auctions]) -> Auctions:
    """One batch of auctions, their calls padded to the longest."""
    width = max(part.calls.shape[1] for part in parts)
    arrays = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Auctions)}
    arrays["calls"] = [
        np.pad(calls, ((0, 0), (0, width - calls.shape[1])), constant_values=PAD)
        for calls in arrays["calls"]
    ]
    return Auctions(**{name: np.concatenate(column) for name, column in arrays.items()})


def _ours(worlds: Worlds) -> BridgeWorlds:
    if not isinstance(worlds, BridgeWorlds):
        raise UnsupportedError(f"expected BridgeWorlds, got {type(worlds).__name__}")
    return worlds


def _seen(view: View) -> BridgeView:
    if not isinstance(view, BridgeView):
        raise UnsupportedError(f"expected a BridgeView, got {type(view).__name__}")
    return view
