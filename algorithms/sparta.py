"""Single-agent SPARTA (Lerer, Hu, Foerster and Brown, 2020; Algorithm 1): one-ply search.

Each legal move is played in worlds drawn from the belief, after which all follow the blueprint to
the end of the game; the move with the best mean return is played. Moves that are clearly behind are
dropped on the way ("Estimating Action Expected Values via UCB"), and another move replaces the
blueprint's only for a gain above a threshold. Letters: M legal moves, n worlds of a round.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hanabi_search_plugin.algorithms import sums
from hanabi_search_plugin.algorithms.endgame import exact_values
from hanabi_search_plugin.core.agent import CutsRollouts, require_asked
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import TooFewWorldsError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.objective import OBJECTIVE, Objective, require_objective, worth
from hanabi_search_plugin.core.policy import moves_of, preferences_of
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import (
    require_choice,
    require_integers,
    require_positive,
    require_positive_or_0,
)
from hanabi_search_plugin.core.result import Reason, SearchResult
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.settings import THREADS, setting
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted

_logger = logging.getLogger("hanabi_search_plugin")

Pruning = Literal["paired", "independent", "off"]
ROUNDING = 1e-9  # exact values that differ by less are equal


@dataclass(frozen=True, kw_only=True)
class Sparta(CutsRollouts):
    """Single-agent SPARTA: ``Sparta(rollouts=10_000)(rng, belief)`` is one decision.

    All moves are tried in the same worlds with the same future chance (common random numbers) and
    compared by paired differences. ``pruning`` drops moves on the way: ``"paired"`` a move that is
    behind the leader by more than ``deviations`` standard errors of their difference;
    ``"independent"`` (the paper and its program) a move whose interval of ``deviations`` standard
    errors around its mean lies below the leader's; ``"off"`` none. Both credit the blueprint's move
    with ``threshold``. The first round is of no more worlds than ``min_rollouts``. ``rollouts`` is
    as in the paper's program; the threshold and the numbers of the pruning are as in the paper
    (Method).

    ``rollouts`` are shared equally by the legal moves. Those that a dropped move has not used go to
    the others; with ``reallocate=False`` unused rollouts are not reallocated. ``seconds`` ends the
    search after the round in which they are used up; decisions then depend on the machine's speed.
    Without ``seconds`` the same ``rng`` gives the same decision for any number of ``threads``.

    ``objective`` is what a move is to gain (``core.objective``): the ``threshold`` and all figures
    of the result are in its units. ``depth`` cuts rollouts short, as in LBS: the blueprint's values
    (``policy.Value``) estimate the rest. ``candidates`` limits the moves tried to those that the
    blueprint prefers (``Policy.preferences``), its own move among them. If the belief finds fewer
    worlds than a round needs, the blueprint's move is played for the reason "belief_too_small".

    ``endgame`` solves a decision exactly where that takes no more than so many states, with the
    seat playing its best to the end and not the blueprint (``algorithms.endgame``). Then any gain
    counts, whatever the threshold, and the result is ``exact``. With ``pruning="off"`` every move
    is solved, else mean is nan for those that cannot be better. It needs a belief that lists its
    worlds and a game that lists its chance; elsewhere all decisions are those of rollouts.

    Raises ConfigError for settings out of range.
    """

    rollouts: int = setting(10_000, "Budget of a decision, shared by the legal moves.")
    seconds: float | None = setting(
        None, "Stop a decision after this long, too: then results depend on the machine's speed."
    )
    threshold: float = setting(0.05, "Score points that a move must gain over the blueprint's.")
    pruning: Pruning = setting(
        "paired", "How moves are dropped early: by paired differences, independent means, or off."
    )
    deviations: float = setting(2.0, "Standard errors by which a dropped move is behind.")
    min_rollouts: int = setting(100, "Rollouts of a move before any is dropped.")
    reallocate: bool = setting(True, "Give what a dropped move did not use to the others.")
    round_size: int = setting(
        100,
        "Worlds between two looks at which moves are behind; a quarter of those before, if more.",
    )
    depth: int | None = setting(
        None,
        "Moves of a rollout before the blueprint's values stand for the rest; None: to the end.",
    )
    candidates: int | None = setting(
        None, "Try only so many moves, those that the blueprint likes best; None: all."
    )
    endgame: int | None = setting(
        None, "Solve decisions exactly that take no more than so many states; None: none."
    )
    objective: Objective = setting("score", OBJECTIVE)
    threads: int = setting(1, THREADS)

    def __post_init__(self) -> None:
        require_integers(self, ("rollouts", "min_rollouts", "round_size", "threads"), 1)
        if self.endgame is not None:
            require_integers(self, ("endgame",), 1)
        if self.depth is not None:
            require_integers(self, ("depth",), 1)
        if self.candidates is not None:
            require_integers(self, ("candidates",), 2)
        for name in ("threshold", "deviations"):
            require_positive_or_0(name, getattr(self, name))
        if self.seconds is not None:
            require_positive("seconds", self.seconds)
        require_choice("pruning", self.pruning, get_args(Pruning))
        require_objective(self.objective, cut=self.depth is not None)

    def __repr__(self) -> str:
        return settings_repr(self, "rollouts")

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        """Decide for ``belief.seat``, which is to move.

        Takes one draw from ``rng`` for the blueprint's own move, then what the rounds take.
        """
        require_asked(rng, belief)
        started = time.monotonic()
        legal = belief.view.legal
        actions = np.flatnonzero(legal[0])
        policy = belief.blueprint[belief.seat]
        choice = moves_of(policy, belief.view, belief.memory, Streams.spawn(rng, 1))
        base = int(np.searchsorted(actions, choice[0]))
        tally = Tally(len(actions))
        alive = self._tried(belief, actions, base)
        notes = belief.caveats()
        share = self.rollouts // int(alive.sum())
        if len(actions) == 1:
            return _result(belief, actions, base, base, "single_move", tally, notes)
        if self.endgame is not None:
            solved = exact_values(
                belief, self.endgame, base=int(choice[0]), every=self.pruning == "off",
                objective=self.objective,
            )  # fmt: skip
            if solved is not None and solved.values is not None:
                return _exact_result(belief, actions, base, solved.values, solved.states, notes)
        if share < 1:
            warn_of_budget(self.rollouts, int(alive.sum()))
            return _result(belief, actions, base, base, "budget_too_small", tally, notes)
        if self.pruning != "off":
            notes += noise_notes(self.rollouts, int(alive.sum()), self.min_rollouts)
        while n := self._worlds_next(tally, alive, share):
            try:
                worlds, memories = belief.sample(rng, n)
            except TooFewWorldsError as error:
                notes.append(str(error))
                return _result(belief, actions, base, base, "belief_too_small", tally, notes)
            values = action_values(worlds, actions[alive], belief.blueprint, memories, belief.seat,
                Streams.spawn(rng, n), depth=self.depth, threads=self.threads,
            )  # fmt: skip
            tally.add(np.flatnonzero(alive), worth(self.objective, values, belief.game))
            alive &= ~self._behind(tally, alive, base)
            if alive.sum() == 1:
                break
            if self.seconds is not None and time.monotonic() - started >= self.seconds:
                notes.append(f"stopped after {self.seconds} seconds")
                break
        best, reason = self._choose(tally, alive, base)
        return _result(belief, actions, base, best, reason, tally, notes)

    def _tried(self, belief: Belief, actions: IntArray, base: int) -> BoolArray:
        """[M] True for the moves that are tried."""
        if self.candidates is None or self.candidates >= len(actions):
            return np.ones(len(actions), dtype=np.bool_)
        policy = belief.blueprint[belief.seat]
        liked = preferences_of(policy, belief.view, belief.memory)[0, actions]
        liked[base] = np.inf
        tried = np.zeros(len(actions), dtype=np.bool_)
        tried[np.argsort(-liked, kind="stable")[: self.candidates]] = True
        return tried

    def _worlds_next(self, tally: Tally, alive: BoolArray, share: int) -> int:
        """Worlds of the next round; 0 when the budget is spent."""
        left = share - int(tally.count[alive].max())
        if self.reallocate:
            left = (self.rollouts - int(tally.count.sum())) // int(alive.sum())
        done = int(tally.count.max())
        size = max(self.round_size, done // 4) if done else min(self.round_size, self.min_rollouts)
        return min(size, left)

    def _behind(self, tally: Tally, alive: BoolArray, base: int) -> BoolArray:
        """[M] True for the moves to drop now; never the leader."""
        behind = np.zeros(len(alive), dtype=np.bool_)
        if self.pruning == "off" or tally.count[alive].min() < self.min_rollouts:
            return behind
        credit = np.where(np.arange(len(alive)) == base, self.threshold, 0.0)
        leader = _leader(tally.mean + credit, alive, base)
        if self.pruning == "paired":
            lead, error = tally.difference(leader)
            behind = lead + credit[leader] - credit > self.deviations * error
        else:
            mean, margin = tally.mean + credit, self.deviations * tally.stderr
            behind = mean + margin < mean[leader] - margin[leader]
        behind[leader] = False
        return np.asarray(behind & alive)

    def _choose(self, tally: Tally, alive: BoolArray, base: int) -> tuple[int, Reason]:
        """The index of the move to play, and the reason. A blueprint's dropped move has lost."""
        best = _leader(tally.mean, alive, base)
        if best != base and (not alive[base] or tally.difference(best)[0][base] > self.threshold):
            return best, "improved"
        better = (tally.difference(base)[0] < 0).any()
        return base, "below_threshold" if better else "blueprint_best"


def noise_notes(rollouts: int, moves: int, min_rollouts: int) -> list[str]:
    """The note of a decision with too few rollouts for so many moves to drop any; else none.

    Logs a warning the first time for each pair of numbers that were set.
    """
    share = rollouts // moves
    if share >= min_rollouts:
        return []
    if (rollouts, min_rollouts) not in _warned:
        _warned.add((rollouts, min_rollouts))
        _warn_of_noise(rollouts, moves, min_rollouts)
    return [
        f"{rollouts} rollouts are {share} a move, below min_rollouts={min_rollouts}: no move was "
        "dropped"
    ]


_warned: set[tuple[int, int]] = set()  # the SearchResult says it every time


def warn_of_budget(rollouts: int, moves: int) -> None:
    """Log, the first time for a budget, that it does not reach for a rollout of each move."""
    if (rollouts, 0) not in _warned:
        _warned.add((rollouts, 0))
        _logger.warning(
            "%s cannot give each of %d legal moves one, and then the blueprint's move is played "
            "(said once): raise rollouts",
            counted(rollouts, "rollout"),
            moves,
        )


def _warn_of_noise(rollouts: int, moves: int, min_rollouts: int) -> None:
    _logger.warning(
        "%s rollouts cannot give each of %d moves min_rollouts=%d (%s): moves are compared by "
        "noise, and such a search can score below its blueprint; raise rollouts or lower "
        "min_rollouts",
        f"{rollouts:,}",
        moves,
        min_rollouts,
        f"{moves * min_rollouts:,}",
    )


class Tally:
    """Running sums of the returns of M moves and of their differences in shared worlds.

    Returns are integers in most games, and then all sums are exact.
    """

    def __init__(self, moves: int) -> None:
        self.count: IntArray = np.zeros(moves, dtype=np.int64)
        self._sum = np.zeros(moves)
        self._squares = np.zeros(moves)
        self._pairs = np.zeros((moves, moves))  # worlds in which both moves were tried
        self._lead = np.zeros((moves, moves))  # sum of return of row - return of column
        self._lead_squares = np.zeros((moves, moves))

    def add(self, moves: IntArray, values: FloatArray) -> None:
        """Add the returns [len(moves), n] of these moves in n more worlds."""
        total, squares = values.sum(axis=1), (values * values).sum(axis=1)
        self.count[moves] += values.shape[1]
        self._sum[moves] += total
        self._squares[moves] += squares
        both = np.ix_(moves, moves)
        self._pairs[both] += values.shape[1]
        self._lead[both] += total[:, None] - total
        self._lead_squares[both] += squares[:, None] + squares - 2 * (values @ values.T)

    @property
    def mean(self) -> FloatArray:
        """[M] mean return; nan where never tried."""
        return sums.mean(self._sum, self.count)

    @property
    def stderr(self) -> FloatArray:
        """[M] standard error of the mean; nan below two rollouts."""
        return sums.stderr(self._sum, self._squares, self.count)

    def difference(self, move: int) -> tuple[FloatArray, FloatArray]:
        """[M] mean return of ``move`` minus that of each, in shared worlds; and standard errors."""
        pairs = self._pairs[move]
        lead = self._lead[move]
        return sums.mean(lead, pairs), sums.stderr(lead, self._lead_squares[move], pairs)


def _leader(score: FloatArray, alive: BoolArray, base: int) -> int:
    """The index of the best move alive; the blueprint's if no other is better."""
    score = np.where(alive, score, -np.inf)
    best = int(score.argmax())
    return base if score[base] == score[best] else best


def _exact_result(
    belief: Belief,
    actions: IntArray,
    base: int,
    values: FloatArray,
    states: int,
    notes: list[str],
) -> SearchResult:
    """The best move by exact values [M]; the blueprint's where no other is better."""
    good = values >= np.nanmax(values) - ROUNDING
    best = base if good[base] else int(good.argmax())
    return SearchResult(
        action=int(actions[best]),
        blueprint_action=int(actions[base]),
        reason="blueprint_best" if best == base else "improved",
        actions=actions,
        mean=values,
        stderr=np.where(np.isnan(values), np.nan, 0.0),
        count=np.zeros(len(actions), dtype=np.int64),
        gain=float(values[best] - values[base]),
        gain_stderr=0.0,
        rollouts=0,
        belief_size=belief.size,
        likelihoods=belief.likelihoods,
        exact=True,
        note="; ".join([*notes, f"solved exactly, {counted(states, 'state')}"]),
    )


def _result(
    belief: Belief,
    actions: IntArray,
    base: int,
    best: int,
    reason: Reason,
    tally: Tally,
    notes: list[str],
) -> SearchResult:
    gain, error = tally.difference(best)
    return SearchResult(
        action=int(actions[best]),
        blueprint_action=int(actions[base]),
        reason=reason,
        actions=actions,
        mean=tally.mean,
        stderr=tally.stderr,
        count=tally.count,
        gain=0.0 if best == base else float(gain[base]),
        gain_stderr=0.0 if best == base else float(error[base]),
        rollouts=int(tally.count.sum()),
        belief_size=belief.size,
        likelihoods=belief.likelihoods,
        note="; ".join(notes),
    )
