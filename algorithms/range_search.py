"""SPARTA's one-ply search for many private histories at once: what would each of them play?

The range-search of multi-agent SPARTA (Lerer, Hu, Foerster and Brown, 2020). Every entry is
searched in worlds of its own belief, and what comes out for it does not depend on the others asked
for: the player that holds it and those who wonder what it holds decide alike. All entries meet the
same chance.

A move is compared with the blueprint's move alone, world by world. So whether it beats that does
not depend on the other moves either, and an entry that would not have played an observed move is
found out by trying two moves.

Letters: E entries, A actions, n worlds of a round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.algorithms import sums
from hanabi_search_plugin.core.game import SKIP, BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.streams import Streams

WORLDS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Round:
    """Worlds that every entry meets together, at most: an entry may have fewer left."""

    start: int  # worlds before
    chance: Streams  # [n]
    policies: Streams  # [n]


@dataclass
class RangeSearchState:
    """A search of E entries: sums over the returns of the moves, and over their gains.

    The gain of a move in a world is its return minus that of the blueprint's move there. Returns
    are integers in most games: then all sums are exact.
    """

    entries: IntArray  # [E] labels
    legal: BoolArray  # [E, A]
    base: IntArray  # [E] the blueprint's move
    share: IntArray  # [E] worlds of a move at most
    rounds: tuple[Round, ...]
    returns: FloatArray  # [E, largest share] of the blueprint's move, nan where not yet known
    open: BoolArray  # [E, A] moves still tried
    dropped: BoolArray  # [E, A] moves found to be behind the blueprint's
    count: IntArray  # [E, A] worlds
    total: FloatArray  # [E, A] returns
    squares: FloatArray  # [E, A]
    gains: FloatArray  # [E, A]
    gains_squared: FloatArray  # [E, A]

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
        """[E, A] the gain of moves above the threshold after all their worlds, else -inf."""
        done = (self.count > 0) & ~self.open & ~self.dropped
        gain = np.where(done, self.gain()[0], -np.inf)
        return np.where(gain > threshold, gain, -np.inf)

    def chosen(self, threshold: float) -> IntArray:
        """[E] the move of the highest gain above the threshold, else the blueprint's."""
        final = self.final(threshold)
        best = final.argmax(axis=1)
        return np.where(final.max(axis=1) > -np.inf, best, self.base)


@dataclass(frozen=True, kw_only=True)
class RangeSearch:
    """One-ply search of the entries of a range; see ``JointSparta`` for the parameters."""

    rollouts: int
    threshold: float
    deviations: float
    min_rollouts: int
    round_size: int
    threads: int

    def search(
        self, public: PublicBelief, player: int, entries: IntArray, seed: tuple[int, ...]
    ) -> RangeSearchState:
        """What the entries [E] of ``player``, which is to move and can hold each, would play.

        ``seed`` decides on all chance, whatever the entries.
        """
        contest = self._begin(public, player, entries, seed)
        while contest.open.any():
            self._advance(public, player, contest, contest.open)
        return contest

    def plays(
        self,
        public: PublicBelief,
        player: int,
        entries: IntArray,
        seed: tuple[int, ...],
        observed: int,
    ) -> tuple[BoolArray, int]:
        """[E] would the entry play the observed move? And the rollouts this took.

        The same as asking ``search`` what each would play, but an entry is left once that is
        settled: where the observed move does not beat the blueprint's, or another beats both. The
        most promising one is tried first.
        """
        contest = self._begin(public, player, entries, seed)
        rows = np.arange(len(entries))
        plays = contest.legal[:, observed].copy()
        alone = np.arange(contest.legal.shape[1]) == observed
        while (tried := contest.open & alone & plays[:, None]).any():
            self._advance(public, player, contest, tried)
        is_base = contest.base == observed
        to_beat = np.where(is_base, self.threshold, contest.final(self.threshold)[:, observed])
        plays &= to_beat > -np.inf
        earlier = np.arange(contest.legal.shape[1]) < observed  # of equal gains the first is played
        earlier = earlier & ~is_base[:, None]
        while True:
            final = contest.final(self.threshold)
            beaten = (final > to_beat[:, None]) | (earlier & (final == to_beat[:, None]))
            plays &= ~(beaten & ~alone).any(axis=1)
            tried = contest.open & plays[:, None]
            if not tried.any():
                return plays, contest.rollouts
            fresh = tried & (contest.count < self.min_rollouts)
            if not fresh.any():
                hopes = np.where(tried, contest.gain()[0], -np.inf)
                first = np.zeros_like(tried)
                first[rows, hopes.argmax(axis=1)] = True
                tried &= first
            self._advance(public, player, contest, fresh if fresh.any() else tried)

    def _begin(
        self, public: PublicBelief, player: int, entries: IntArray, seed: tuple[int, ...]
    ) -> RangeSearchState:
        rng = np.random.default_rng(seed)
        view = public.view_of(player, entries)
        legal = view.legal
        same = Streams(np.repeat(Streams.spawn(rng, 1).state, len(entries)))
        memory = public.memory_of(player, entries)
        base = public.blueprint[player].act(view, legal, memory, same)
        share = self.rollouts // legal.sum(axis=1)
        most, rounds, done = int(share.max(initial=0)), [], 0
        while done < most:
            n = max(self.round_size, done // 4)
            rounds.append(Round(done, Streams.spawn(rng, n), Streams.spawn(rng, n)))
            done += n
        others = legal & (share > 0)[:, None]
        others[np.arange(len(base)), base] = False
        return RangeSearchState(
            entries, legal, base, share, tuple(rounds), np.full((len(base), most), np.nan), others,
            np.zeros(legal.shape, dtype=np.bool_), np.zeros(legal.shape, dtype=np.int64),
            *(np.zeros(legal.shape) for _ in range(4)),
        )  # fmt: skip

    def _advance(
        self, public: PublicBelief, player: int, contest: RangeSearchState, tried: BoolArray
    ) -> None:
        """One more round for each of the moves [E, A] tried, which must be open."""
        for number, part in enumerate(contest.rounds):
            now = tried & (contest.count == np.minimum(part.start, contest.share)[:, None])
            sizes = np.minimum(len(part.chance), contest.share - part.start)
            sizes = np.where(now.any(axis=1), sizes, 0)
            for size in np.unique(sizes[sizes > 0]).tolist():
                some = np.flatnonzero(sizes == size)
                at_once = max(1, WORLDS_AT_ONCE // size)
                for rows in np.split(some, range(at_once, len(some), at_once)):
                    self._play(public, player, contest, rows, number, size, now[rows])
            tried = tried & ~now

    def _play(
        self,
        public: PublicBelief,
        player: int,
        contest: RangeSearchState,
        rows: IntArray,
        number: int,
        n: int,
        tried: BoolArray,
    ) -> None:
        """The first n worlds of a round for the entries at ``rows``; then moves are dropped."""
        part = contest.rounds[number]
        each, base = np.arange(len(rows)), contest.base[rows]
        worlds_at = slice(part.start, part.start + n)
        known = ~np.isnan(contest.returns[rows, part.start])
        needed = tried.copy()
        needed[each, base] = ~known
        moves = np.flatnonzero(needed.any(axis=0))
        worlds, memories = public.sample(
            player, contest.entries[rows], part.chance.select(np.arange(n))
        )
        actions = np.where(needed[:, moves], moves, SKIP)
        values = action_values(
            worlds, np.repeat(actions, n, axis=0).T, public.blueprint, memories, player,
            Streams(np.tile(part.policies.state[:n], len(rows))), threads=self.threads,
        )  # fmt: skip
        values = values.reshape(len(moves), len(rows), n)
        at_base = np.searchsorted(moves, base[~known])
        contest.returns[rows[~known], worlds_at] = values[at_base, each[~known]]
        row, move = np.nonzero(needed[:, moves])
        values = values[move, row]  # [needed, n]
        gains = values - contest.returns[rows, worlds_at][row]
        at = rows[row], moves[move]
        contest.count[at] += n
        contest.total[at] += values.sum(axis=1)
        contest.squares[at] += np.einsum("ij,ij->i", values, values)
        contest.gains[at] += gains.sum(axis=1)
        contest.gains_squared[at] += np.einsum("ij,ij->i", gains, gains)
        count = contest.count[rows]
        gain = sums.mean(contest.gains[rows], count)
        error = sums.stderr(contest.gains[rows], contest.gains_squared[rows], count)
        behind = tried & (count >= self.min_rollouts)
        behind &= self.threshold - gain > self.deviations * error
        contest.dropped[rows] |= behind
        contest.open[rows] &= ~behind & ~(tried & (count == contest.share[rows, None]))
