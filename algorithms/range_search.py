"""SPARTA's one-ply search for many private histories at once: what would each of them play?

The range-search of multi-agent SPARTA (Lerer, Hu, Foerster and Brown, 2020). Every entry is
searched in worlds of its own belief, and what comes out for it does not depend on the others asked
for: the player that holds it and those who wonder what it holds decide alike. All entries meet the
same chance. Where only one move is asked about, an entry is left as soon as that move is settled.

Letters: E entries, A actions, n worlds of a round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.game import HIDDEN, BoolArray, FloatArray, IntArray
from hanabi_search_plugin.public_belief import PublicBelief
from hanabi_search_plugin.streams import Streams

WORLDS_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Tally:
    """Sums over the returns of E entries' moves, all in the same ``count`` worlds of an entry.

    Only moves that were tried in all of them may be compared. Returns are integers in most games:
    then all sums are exact.
    """

    count: IntArray  # [E]
    total: FloatArray  # [E, A]
    squares: FloatArray  # [E, A]
    products: FloatArray  # [E, A, A]

    @classmethod
    def empty(cls, entries: int, actions: int) -> Tally:
        return cls(
            np.zeros(entries, dtype=np.int64),
            np.zeros((entries, actions)),
            np.zeros((entries, actions)),
            np.zeros((entries, actions, actions)),
        )

    def select(self, rows: IntArray) -> Tally:
        return Tally(self.count[rows], self.total[rows], self.squares[rows], self.products[rows])

    def put(self, rows: IntArray, part: Tally) -> None:
        """Replace the entries at ``rows``."""
        self.count[rows], self.total[rows] = part.count, part.total
        self.squares[rows], self.products[rows] = part.squares, part.products

    def plus(self, values: FloatArray) -> Tally:
        """With the returns [E, A, n] in n more worlds, 0 where not tried."""
        return Tally(
            self.count + values.shape[2],
            self.total + values.sum(axis=2),
            self.squares + (values * values).sum(axis=2),
            self.products + values @ values.transpose(0, 2, 1),
        )

    @property
    def mean(self) -> FloatArray:
        """[E, A]"""
        return np.asarray(self.total / np.maximum(self.count, 1)[:, None])

    def lead(self) -> tuple[FloatArray, FloatArray]:
        """[E, A, A] mean return of row - column, and its standard error."""
        n = np.maximum(self.count, 2)[:, None, None]
        lead = self.total[:, :, None] - self.total[:, None, :]
        squares = self.squares[:, :, None] + self.squares[:, None, :] - 2 * self.products
        spread = np.maximum(squares - lead * lead / n, 0.0)
        return lead / n, np.sqrt(spread / (n * (n - 1.0)))


@dataclass
class Contest:
    """The state of a search of E entries."""

    entries: IntArray  # [E] labels
    base: IntArray  # [E] the blueprint's move
    legal: BoolArray  # [E, A]
    alive: BoolArray  # [E, A] moves still considered
    open: BoolArray  # [E] is anything still to be found out?
    tally: Tally
    tried: IntArray  # [E, A] rollouts spent

    def chosen(self, threshold: float) -> IntArray:
        """[E] the best move alive; the blueprint's unless it is ahead by more than the threshold.

        A dropped blueprint move has lost already.
        """
        rows = np.arange(len(self.entries))
        mean = np.where(self.alive, self.tally.mean, -np.inf)
        best = mean.argmax(axis=1)
        ahead = mean[rows, best] - mean[rows, self.base] > threshold
        return np.where(ahead, best, self.base)


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
        self,
        public: PublicBelief,
        player: int,
        entries: IntArray,
        seed: tuple[int, ...],
        observed: int | None = None,
    ) -> Contest:
        """Search the entries [E] of ``player``, which is to move and can hold each of them.

        ``observed``: find out no more than whether each entry plays this move. ``seed`` decides on
        all chance, whatever the entries.
        """
        rng = np.random.default_rng(seed)
        view = public.view_of(player, entries)
        legal = view.legal
        draws = Streams(np.repeat(Streams.spawn(rng, 1).state, len(entries)))
        memory = public.memory_of(player, entries)
        base = public.blueprint[player].act(view, legal, memory, draws)
        contest = Contest(
            entries, base, legal, legal.copy(), legal.sum(axis=1) > 1,
            Tally.empty(*legal.shape), np.zeros(legal.shape, dtype=np.int64),
        )  # fmt: skip
        if observed is not None:
            contest.open &= legal[:, observed]
        share = self.rollouts // legal.sum(axis=1)  # [E] worlds of each entry
        done = 0
        while (left := contest.open & (share > done)).any():
            n = max(self.round_size, done // 4)
            chance, policies = Streams.spawn(rng, n), Streams.spawn(rng, n)
            sizes = np.where(left, np.minimum(n, share - done), 0)
            for size in np.unique(sizes[left]).tolist():
                some, first = np.flatnonzero(sizes == size), np.arange(size)
                streams = chance.select(first), policies.select(first)
                at_once = max(1, WORLDS_AT_ONCE // size)
                for rows in np.split(some, range(at_once, len(some), at_once)):
                    self._round(public, player, contest, rows, streams, observed)
            done += n
        return contest

    def plays(
        self,
        public: PublicBelief,
        player: int,
        entries: IntArray,
        seed: tuple[int, ...],
        observed: int,
    ) -> tuple[BoolArray, int]:
        """[E] would the entry play the observed move? And the rollouts this took."""
        contest = self.search(public, player, entries, seed, observed)
        return contest.chosen(self.threshold) == observed, int(contest.tried.sum())

    def _round(
        self,
        public: PublicBelief,
        player: int,
        contest: Contest,
        rows: IntArray,
        streams: tuple[Streams, Streams],
        observed: int | None,
    ) -> None:
        """n more worlds for the entries at ``rows``; then moves are dropped."""
        n = len(streams[0])
        worlds, memories = public.sample(player, contest.entries[rows], streams[0])
        policies = Streams(np.tile(streams[1].state, len(rows)))
        actions = np.arange(contest.legal.shape[1])

        def returns(tried: BoolArray) -> FloatArray:
            """[E, A, n] of the moves [E, A] tried, 0 of others."""
            contest.tried[rows] += n * tried
            first = np.where(np.repeat(tried, n, axis=0).T, actions[:, None], HIDDEN)
            values = public.game.action_values(
                worlds, first, public.blueprint, memories, player, policies, threads=self.threads
            )
            return np.nan_to_num(values.reshape(len(actions), len(rows), n).transpose(1, 0, 2))

        alive, base = contest.alive[rows], contest.base[rows]
        before = contest.tally.select(rows)
        drops = int(before.count[0]) + n >= self.min_rollouts
        pair = np.zeros_like(alive)
        values = np.zeros((*alive.shape, n))
        going_on = np.ones(len(rows), dtype=np.bool_)
        if observed is not None and drops:
            # The observed move against the blueprint's first: that settles most entries.
            pair[:, observed] = base != observed
            pair[np.arange(len(rows)), base] |= base != observed
            pair &= alive
            values = returns(pair)
            going_on = ~self._behind(before.plus(values), pair, base)[:, observed]
        values = values + returns(alive & ~pair & going_on[:, None])
        after = before.plus(values)
        if drops:
            alive = alive & ~self._behind(after, alive, base)
        if observed is not None:
            alive[~going_on, observed] = False
            contest.open[rows] &= alive[:, observed]
        contest.tally.put(rows, after)
        contest.alive[rows] = alive
        contest.open[rows] &= alive.sum(axis=1) > 1

    def _behind(self, tally: Tally, alive: BoolArray, base: IntArray) -> BoolArray:
        """[E, A] moves that some other move is ahead of; the blueprint's gets the threshold."""
        lead, error = tally.lead()
        credit = np.zeros(alive.shape)
        credit[np.arange(len(base)), base] = self.threshold
        lead += credit[:, :, None] - credit[:, None, :]
        beats = (lead > self.deviations * error) & alive[:, :, None] & alive[:, None, :]
        return np.asarray(beats.any(axis=1) & alive)
