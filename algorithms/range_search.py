"""SPARTA's one-ply search in many information states of a player at once: the range search.

Multi-agent SPARTA (Lerer, Hu, Foerster and Brown, 2020) uses it to find in which information states
a player would have made its move. Each is searched in worlds of its own belief, and its result does
not depend on which others are searched. So the player and those who follow its reasoning come to
the same decision. All information states meet the same chance.

A move is compared with the blueprint's move alone, world by world. So whether it beats that, and
after how many worlds it is dropped, does not depend on other moves either, and two moves are often
enough to show that an information state would not have played the observed move.

Letters: E information states, A actions, n worlds of a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hanabi_search_plugin.algorithms import sums
from hanabi_search_plugin.algorithms.pruning import gains_too_little
from hanabi_search_plugin.algorithms.rounds import next_round
from hanabi_search_plugin.algorithms.tally import regularised_error
from hanabi_search_plugin.core.game import SKIP, BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.objective import Objective, utility
from hanabi_search_plugin.core.policy import moves_of
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.streams import Streams

RangePruning = Literal["expected", "paired"]
WORLDS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Round:
    """The chance of n worlds, the same for all information states; one may use fewer of them."""

    start: int  # worlds of all rounds before
    chance: Streams  # [n] that draw the worlds and their future chance
    policies: Streams  # [n] that stochastic policies draw from


@dataclass
class RangeSearchState:
    """The progress of a search of E information states: running sums of returns and gains.

    The gain of a move in a world is its return minus that of the blueprint's move there. Returns
    are integers in most games, and then all sums are exact.
    """

    ids: IntArray  # [E] of the information states
    legal: BoolArray  # [E, A]
    base: IntArray  # [E] the blueprint's move
    share: IntArray  # [E] the most worlds of a move
    rounds: tuple[Round, ...]
    returns: FloatArray  # [E, largest share] of the blueprint's move, nan where not yet known
    open: BoolArray  # [E, A] moves still to be tried in more worlds
    dropped: BoolArray  # [E, A] moves found to be behind the blueprint's
    count: IntArray  # [E, A] worlds in which the move was tried
    total: FloatArray  # [E, A] sum of returns
    squares: FloatArray  # [E, A] sum of squared returns
    gains: FloatArray  # [E, A] sum of gains
    gains_squared: FloatArray  # [E, A] sum of squared gains

    @property
    def rollouts(self) -> int:
        return int(self.count.sum())

    def gain(self) -> tuple[FloatArray, FloatArray]:
        """[E, A] mean gain over the blueprint's move, and its standard error; nan where unknown."""
        return sums.mean(self.gains, self.count), sums.stderr(
            self.gains, self.gains_squared, self.count
        )

    def mean(self) -> tuple[FloatArray, FloatArray]:
        """[E, A] mean return, and its standard error; nan where unknown."""
        return sums.mean(self.total, self.count), sums.stderr(self.total, self.squares, self.count)

    def final(self, threshold: float) -> FloatArray:
        """[E, A] the mean gain of moves that end above the threshold; -inf for all others."""
        done = (self.count > 0) & ~self.open & ~self.dropped
        gain = np.where(done, self.gain()[0], -np.inf)
        return np.where(gain > threshold, gain, -np.inf)

    def chosen(self, threshold: float) -> IntArray:
        """[E] the move with the highest gain above the threshold, else the blueprint's."""
        final = self.final(threshold)
        best = final.argmax(axis=1)
        return np.where(final.max(axis=1) > -np.inf, best, self.base)


@dataclass(frozen=True, kw_only=True)
class RangeSearch:
    """The one-ply search of a range; ``JointSparta`` documents the parameters."""

    rollouts: int
    threshold: float
    pruning: RangePruning
    indifference: float
    deviations: float
    min_rollouts: int
    round_size: int
    depth: int | None
    objective: Objective
    threads: int

    def search(
        self, public: PublicBelief, player: int, ids: IntArray, seed: tuple[int, ...]
    ) -> RangeSearchState:
        """Search the infostates ``ids`` [E] of ``player``, which is to move; all must be possible.

        All randomness follows from ``seed``, whatever the ids.
        """
        state = self._begin(public, player, ids, seed)
        while state.open.any():
            self._advance(public, player, state, state.open)
        return state

    def plays(
        self,
        public: PublicBelief,
        player: int,
        ids: IntArray,
        seed: tuple[int, ...],
        observed: int,
    ) -> tuple[BoolArray, int]:
        """[E] True where the search would play the observed move; and the rollouts this took.

        The same answers as from ``search``, but an infostate is left once its answer is settled:
        when the observed move does not beat the blueprint's, or another beats both. Of the other
        moves those are tried first that are ahead so far.
        """
        state = self._begin(public, player, ids, seed)
        plays = state.legal[:, observed].copy()
        is_observed = np.arange(state.legal.shape[1]) == observed
        while (tried := state.open & is_observed & plays[:, None]).any():
            self._advance(public, player, state, tried)
        is_base = state.base == observed
        to_beat = np.where(is_base, self.threshold, state.final(self.threshold)[:, observed])
        plays &= to_beat > -np.inf
        earlier = np.arange(state.legal.shape[1]) < observed  # of equal gains the first is played
        earlier = earlier & ~is_base[:, None]
        while True:
            final = state.final(self.threshold)
            beaten = (final > to_beat[:, None]) | (earlier & (final == to_beat[:, None]))
            plays &= ~(beaten & ~is_observed).any(axis=1)
            tried = state.open & plays[:, None]
            if not tried.any():
                return plays, state.rollouts
            ahead = tried & (state.gain()[0] > to_beat[:, None])
            tried &= ahead | ~ahead.any(axis=1, keepdims=True)
            self._advance(public, player, state, tried)

    def _begin(
        self, public: PublicBelief, player: int, ids: IntArray, seed: tuple[int, ...]
    ) -> RangeSearchState:
        rng = np.random.default_rng(seed)
        view = public.view_of(player, ids)
        legal = view.legal
        same = Streams(np.repeat(Streams.spawn(rng, 1).state, len(ids)))
        memory = public.memory_of(player, ids)
        base = moves_of(public.blueprint[player], view, memory, same)
        share = self.rollouts // legal.sum(axis=1)
        most, rounds, done = int(share.max(initial=0)), [], 0
        while done < most:
            n = next_round(self.round_size, done)
            rounds.append(Round(done, Streams.spawn(rng, n), Streams.spawn(rng, n)))
            done += n
        others = legal & (share > 0)[:, None]
        others[np.arange(len(base)), base] = False
        return RangeSearchState(
            ids, legal, base, share, tuple(rounds), np.full((len(base), most), np.nan), others,
            np.zeros(legal.shape, dtype=np.bool_), np.zeros(legal.shape, dtype=np.int64),
            *(np.zeros(legal.shape) for _ in range(4)),
        )  # fmt: skip

    def _advance(
        self, public: PublicBelief, player: int, state: RangeSearchState, tried: BoolArray
    ) -> None:
        """Play one more round for each of the moves [E, A] ``tried``, which must be open."""
        for number, part in enumerate(state.rounds):
            now = tried & (state.count == np.minimum(part.start, state.share)[:, None])
            if not now.any():
                continue
            sizes = np.minimum(len(part.chance), state.share - part.start)
            sizes = np.where(now.any(axis=1), sizes, 0)
            for size in sorted(set(sizes.tolist()) - {0}):
                some = np.flatnonzero(sizes == size)
                at_once = max(1, WORLDS_AT_ONCE // size)
                for rows in np.split(some, range(at_once, len(some), at_once)):
                    self._play(public, player, state, rows, number, size, now[rows])
            tried = tried & ~now

    def _play(
        self,
        public: PublicBelief,
        player: int,
        state: RangeSearchState,
        rows: IntArray,
        number: int,
        n: int,
        tried: BoolArray,
    ) -> None:
        """Play the first n worlds of a round for the infostates at ``rows``, then drop moves."""
        part = state.rounds[number]
        each, base = np.arange(len(rows)), state.base[rows]
        worlds_at = slice(part.start, part.start + n)
        known = ~np.isnan(state.returns[rows, part.start])
        needed = tried.copy()
        needed[each, base] = ~known
        moves = np.flatnonzero(needed.any(axis=0))
        worlds, memories = public.sample(player, state.ids[rows], part.chance.select(np.arange(n)))
        actions = np.where(needed[:, moves], moves, SKIP)
        values = action_values(
            worlds, np.repeat(actions, n, axis=0).T, public.blueprint, memories, player,
            Streams(np.tile(part.policies.state[:n], len(rows))), depth=self.depth,
            threads=self.threads,
        )  # fmt: skip
        values = utility(self.objective, values, public.game).reshape(len(moves), len(rows), n)
        at_base = np.searchsorted(moves, base[~known])
        state.returns[rows[~known], worlds_at] = values[at_base, each[~known]]
        row, move = np.nonzero(needed[:, moves])
        values = values[move, row]  # [needed, n]
        gains = values - state.returns[rows, worlds_at][row]
        at = rows[row], moves[move]
        state.count[at] += n
        state.total[at] += values.sum(axis=1)
        state.squares[at] += np.einsum("ij,ij->i", values, values)
        state.gains[at] += gains.sum(axis=1)
        state.gains_squared[at] += np.einsum("ij,ij->i", gains, gains)
        looked = tried & (state.count[rows] >= max(2, self.min_rollouts))
        behind = self._behind(state, rows, looked, part.start + n)
        finished = tried & (state.count[rows] == state.share[rows, None])
        state.dropped[rows] |= behind
        state.open[rows] &= ~behind & ~finished

    def _behind(
        self, state: RangeSearchState, rows: IntArray, looked: BoolArray, count: int
    ) -> BoolArray:
        """[rows, A] True for those of the moves ``looked`` at, after ``count`` worlds, to drop."""
        row, move = np.nonzero(looked)
        if not len(row):
            return looked
        at = rows[row], move
        lead = self.threshold - state.gains[at] / count
        error = sums.stderr(state.gains[at], state.gains_squared[at], np.array(count))
        if self.pruning == "paired":
            drop = lead > self.deviations * error
        else:
            typical = state.returns[rows, :count].var(axis=1, ddof=1)[row]
            error = regularised_error(error, typical, count)
            left = state.share[rows][row] - count
            drop = (left > 0) & gains_too_little(lead, error, count, left, self.indifference)
        behind = np.zeros(looked.shape, dtype=np.bool_)
        behind[row[drop], move[drop]] = True
        return behind
