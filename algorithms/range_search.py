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

from hanabi_search_plugin.game import HIDDEN, BoolArray, FloatArray, IntArray
from hanabi_search_plugin.public_belief import PublicBelief
from hanabi_search_plugin.streams import Streams

WORLDS_AT_ONCE = 1 << 14


@dataclass
class Contest:
    """A search of E entries: sums over the returns of the moves, and over their gains.

    The gain of a move in a world is its return minus that of the blueprint's move there. Returns
    are integers in most games: then all sums are exact.
    """

    entries: IntArray  # [E] labels
    legal: BoolArray  # [E, A]
    base: IntArray  # [E] the blueprint's move
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
        return _mean(self.gains, self.count), _stderr(self.gains, self.gains_squared, self.count)

    def mean(self) -> tuple[FloatArray, FloatArray]:
        """[E, A] mean return, and its standard error; nan where unknown."""
        return _mean(self.total, self.count), _stderr(self.total, self.squares, self.count)

    def chosen(self, threshold: float) -> IntArray:
        """[E] the move of the highest gain above the threshold, else the blueprint's."""
        tried = (self.count > 0) & ~self.dropped
        gain = np.where(tried, self.gain()[0], -np.inf)
        best = gain.argmax(axis=1)
        return np.where(gain.max(axis=1) > threshold, best, self.base)

    def take(self, other: Contest, rows: IntArray, move: int) -> None:
        """One move's results from another search, whose entries at ``rows`` are these."""
        for name in ("open", "dropped", "count", "total", "squares", "gains", "gains_squared"):
            tried = np.flatnonzero(self.base != move)
            getattr(self, name)[tried, move] = getattr(other, name)[rows[tried], move]


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
        moves: BoolArray | None = None,
    ) -> Contest:
        """Search the entries [E] of ``player``, which is to move and can hold each of them.

        Of the moves [E, A] alone, where given. ``seed`` decides on all chance, whatever the entries
        and moves.
        """
        rng = np.random.default_rng(seed)
        contest = self._begin(public, player, entries, Streams.spawn(rng, 1))
        if moves is not None:
            contest.open &= moves
        share = self.rollouts // contest.legal.sum(axis=1)  # [E] worlds of an entry
        done = 0
        while (left := contest.open.any(axis=1) & (share > done)).any():
            n = max(self.round_size, done // 4)
            chance, policies = Streams.spawn(rng, n), Streams.spawn(rng, n)
            sizes = np.where(left, np.minimum(n, share - done), 0)
            for size in np.unique(sizes[left]).tolist():
                some, first = np.flatnonzero(sizes == size), np.arange(size)
                streams = chance.select(first), policies.select(first)
                at_once = max(1, WORLDS_AT_ONCE // size)
                for rows in np.split(some, range(at_once, len(some), at_once)):
                    self._round(public, player, contest, rows, *streams)
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
        """[E] would the entry play the observed move? And the rollouts this took.

        The same as asking what each would play. The observed move is tried alone at first, and the
        others only where it beats the blueprint's or is that.
        """
        shape = (len(entries), public.game.num_actions)
        only = np.broadcast_to(np.arange(shape[1]) == observed, shape)
        duel = self.search(public, player, entries, seed, only)
        plays = duel.legal[:, observed] & (duel.chosen(self.threshold) == observed)
        rows = np.flatnonzero(plays)
        rest = self.search(public, player, entries[rows], seed, ~only[rows])
        spent = duel.rollouts + rest.rollouts
        rest.take(duel, rows, observed)
        plays[rows] = rest.chosen(self.threshold) == observed
        return plays, spent

    def _begin(
        self, public: PublicBelief, player: int, entries: IntArray, draw: Streams
    ) -> Contest:
        view = public.view_of(player, entries)
        legal = view.legal
        same = Streams(np.repeat(draw.state, len(entries)))
        memory = public.memory_of(player, entries)
        base = public.blueprint[player].act(view, legal, memory, same)
        others = legal.copy()
        others[np.arange(len(base)), base] = False
        sums = [np.zeros(legal.shape) for _ in range(4)]
        count = np.zeros(legal.shape, dtype=np.int64)
        return Contest(
            entries, legal, base, others, np.zeros(legal.shape, dtype=np.bool_), count, *sums
        )

    def _round(
        self,
        public: PublicBelief,
        player: int,
        contest: Contest,
        rows: IntArray,
        chance: Streams,
        policies: Streams,
    ) -> None:
        """n more worlds for the entries at ``rows``; then moves are dropped."""
        n, (_, num_actions) = len(chance), contest.legal.shape
        each, base = np.arange(len(rows)), contest.base[rows]
        tried = contest.open[rows].copy()
        tried[each, base] = True
        worlds, memories = public.sample(player, contest.entries[rows], chance)
        actions = np.where(tried, np.arange(num_actions), HIDDEN)
        values = public.game.action_values(
            worlds, np.repeat(actions, n, axis=0).T, public.blueprint, memories, player,
            Streams(np.tile(policies.state, len(rows))), threads=self.threads,
        )  # fmt: skip
        values = values.reshape(num_actions, len(rows), n).transpose(1, 0, 2)
        gains = np.where(tried[:, :, None], values - values[each, base][:, None], 0.0)
        values = np.where(tried[:, :, None], values, 0.0)
        contest.count[rows] += n * tried
        contest.total[rows] += values.sum(axis=2)
        contest.squares[rows] += (values * values).sum(axis=2)
        contest.gains[rows] += gains.sum(axis=2)
        contest.gains_squared[rows] += (gains * gains).sum(axis=2)
        count = contest.count[rows]
        gain = _mean(contest.gains[rows], count)
        error = _stderr(contest.gains[rows], contest.gains_squared[rows], count)
        behind = contest.open[rows] & (count >= self.min_rollouts)
        behind &= self.threshold - gain > self.deviations * error
        contest.open[rows] &= ~behind
        contest.dropped[rows] |= behind


def _mean(total: FloatArray, n: IntArray) -> FloatArray:
    mean = np.full(total.shape, np.nan)
    np.divide(total, n, out=mean, where=n > 0)
    return mean


def _stderr(total: FloatArray, squares: FloatArray, n: IntArray) -> FloatArray:
    spread = np.maximum(squares - total * total / np.maximum(n, 1), 0.0)
    square = np.full(total.shape, np.nan)
    np.divide(spread, (n - 1.0) * n, out=square, where=n > 1)
    return np.asarray(np.sqrt(square), dtype=np.float64)
