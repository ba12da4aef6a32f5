"""Single-agent SPARTA (Lerer, Hu, Foerster and Brown, 2020; Algorithm 1): one-ply search.

Each legal move is played in worlds drawn from the belief, after which all follow the blueprint to
the end of the game; the move with the best mean return is played. Moves that are clearly behind are
dropped on the way ("Estimating Action Expected Values via UCB"), and another move replaces the
blueprint's only for a gain above a threshold. Letters: M legal moves, n worlds of a round.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

import numpy as np

from hanabi_search_plugin.algorithms.budget_warnings import (
    few_rollouts_notes,
    warn_of_small_budget,
)
from hanabi_search_plugin.algorithms.continuation import (
    Continuation,
    Portfolio,
    PortfolioTally,
    continued,
    listed_continuations,
)
from hanabi_search_plugin.algorithms.endgame import exact_values
from hanabi_search_plugin.algorithms.pruning import gains_too_little, least_gain
from hanabi_search_plugin.algorithms.rounds import ROUND_SIZE, next_round
from hanabi_search_plugin.algorithms.tally import Tally, expected_improvement
from hanabi_search_plugin.core.agent import CutsRollouts, NamesPolicies, WrapsBelief, require_asked
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ConfigError, TooFewWorldsError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.objective import OBJECTIVE, Objective, require_objective, utility
from hanabi_search_plugin.core.policy import Policy, moves_of, preferences_of
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import (
    require_choice,
    require_flag,
    require_integers,
    require_positive,
    require_positive_or_0,
)
from hanabi_search_plugin.core.result import Reason, SearchResult
from hanabi_search_plugin.core.settings import DEPTH, THREADS, NamedOptions, described, setting
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted

Pruning = Literal["expected", "paired", "independent", "off"]
ROUNDING = 1e-9  # exact values that differ by less are equal
ERRORS = (
    "Standard errors of its gain over the blueprint's that a move must gain, too, times what the "
    "best of the moves left gains by chance."
)
PRUNING = (
    "How moves are dropped early: by what they may still gain, paired differences, independent "
    "means, or off."
)
INDIFFERENCE = "Score points that a move dropped as expected could still gain, on average."
MIN_ROLLOUTS = "Rollouts of a move before any is dropped."


@described
@dataclass(frozen=True, kw_only=True)
class Sparta(CutsRollouts, WrapsBelief, NamesPolicies, NamedOptions):
    """Single-agent SPARTA: ``Sparta(rollouts=10_000)(rng, belief)`` is one decision.

    All moves are tried in the same worlds with the same future chance (common random numbers) and
    compared by paired differences. ``pruning`` drops moves on the way: ``"expected"`` a move that
    would gain less than ``indifference`` points over the leader, in expectation, if the rest of the
    budget were played (the expected value of sample information: Chick and Inoue, 2001). From
    ``PATIENCE`` worlds on that grows with the worlds: each further world has to be worth as much.
    ``"paired"`` a move that is behind the leader by more than ``deviations`` standard errors of
    their difference; ``"independent"`` (the paper and its program) a move whose interval of
    ``deviations`` standard errors around its mean lies below the leader's; ``"off"`` none. All
    credit the blueprint's move with what another must gain. The first round is of no more worlds
    than ``min_rollouts``. ``rollouts`` and the threshold are as in the paper (Method).

    A move is played if its gain over the blueprint's is above ``threshold`` and above ``errors``
    standard errors of their paired difference times sqrt(ln k), roughly what the best of k equal
    moves gains by chance, for the k moves left: so noise is not played where the budget is small.
    ``confirm`` measures the gain of the move to play in that many fresh worlds, which nothing has
    been chosen by; only that gain decides and is reported. Their rollouts, two a world, are part of
    the budget. The paper has neither: ``Sparta(pruning="independent", errors=0.0, min_rollouts=100,
    round_size=100, reallocate=False)``.

    ``rollouts`` are shared equally by the legal moves. Those that a dropped move has not used go to
    the others; with ``reallocate=False`` unused rollouts are not reallocated. ``seconds`` ends the
    search after the round in which they are used up; decisions then depend on the machine's speed.
    Without ``seconds`` the same ``rng`` gives the same decision for any number of ``threads``.

    ``objective`` is what a move is to gain (``core.objective``): the ``threshold`` and all figures
    of the result are in its units. ``depth`` cuts rollouts short, as in LBS: the blueprint's values
    (``policy.Value``) estimate the rest. ``candidates`` limits the moves tried to those that the
    blueprint prefers (``Policy.preferences``), its own move among them, ``preferred`` to those that
    it prefers at least so much; with no other left nothing is searched. If the belief finds fewer
    worlds than a round needs, the blueprint's move is played for the reason "belief_too_small".

    ``continuation`` is what the seat itself may play on with in rollouts, besides the blueprint: a
    policy, its name, or several. The others take the seat to play the blueprint all the same. A
    move is worth what the best of them makes of it, without the optimism of choosing
    (``algorithms.continuation``); each counts as a rollout. The search then needs a belief that
    ``wrap`` made at the first view, which agents see to.

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
    errors: float = setting(1.0, ERRORS)
    confirm: int | None = setting(
        None,
        "Measure the gain of the move to play in so many fresh worlds, which alone decide; None: "
        "by the worlds that it was found in.",
    )
    pruning: Pruning = setting("expected", PRUNING)
    indifference: float = setting(0.002, INDIFFERENCE)
    deviations: float = setting(
        2.0, "Standard errors by which a move is behind that is dropped by differences or means."
    )
    min_rollouts: int = setting(25, MIN_ROLLOUTS)
    reallocate: bool = setting(True, "Give what a dropped move did not use to the others.")
    round_size: int = setting(25, ROUND_SIZE)
    depth: int | None = setting(None, DEPTH)
    candidates: int | None = setting(
        None, "Try only so many moves, those that the blueprint likes best; None: all."
    )
    continuation: Continuation | None = setting(
        None,
        "Policies that the seat itself may play on with in rollouts, between commas, besides the "
        "blueprint; None: the blueprint alone.",
        metavar="NAMES",
    )
    preferred: float | None = setting(
        None,
        "Try only moves that the blueprint prefers at least so much, its probability where it has "
        "one; None: all.",
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
        for name in ("threshold", "errors", "indifference", "deviations"):
            require_positive_or_0(name, getattr(self, name))
        if self.preferred is not None:
            require_positive_or_0("preferred", self.preferred)
        if self.confirm is not None:
            require_integers(self, ("confirm",), 2)
            if 2 * self.confirm >= self.rollouts:
                raise ConfigError(
                    f"confirm must be less than half of the rollouts={self.rollouts}, got "
                    f"{self.confirm}"
                )
        if self.seconds is not None:
            require_positive("seconds", self.seconds)
        require_flag("reallocate", self.reallocate)
        require_choice("pruning", self.pruning, get_args(Pruning))
        listed_continuations(self.continuation)
        require_objective(self.objective, cut=self.depth is not None)

    def __repr__(self) -> str:
        return settings_repr(self, "rollouts")

    @property
    def assumes_blueprint(self) -> bool:
        return True

    def wrap(self, belief: Belief) -> Belief:
        return continued(belief, self.continuation)

    def with_policies(self, load: Callable[[str], Policy]) -> Self:
        """See ``NamesPolicies``."""
        policies = tuple(
            load(each) if isinstance(each, str) else each
            for each in listed_continuations(self.continuation)
        )
        return replace(self, continuation=policies or None)

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        """Decide for ``belief.seat``, which is to move.

        Takes one draw from ``rng`` for the blueprint's own move, then what each round takes.
        """
        require_asked(rng, belief)
        started = time.monotonic()
        legal = belief.view.legal
        actions = np.flatnonzero(legal[0])
        moves = len(actions)
        portfolio = Portfolio.of(belief, self.continuation)
        belief = portfolio.belief
        policy = belief.blueprint[belief.seat]
        choice = moves_of(policy, belief.view, belief.memory, Streams.spawn(rng, 1))
        base = int(np.searchsorted(actions, choice[0]))
        returns = PortfolioTally(moves, len(portfolio))
        alive = np.tile(self._tried(belief, actions, base), len(portfolio))
        notes = belief.caveats()
        share = self._budget // int(alive.sum())
        if alive.sum() == len(portfolio):
            return _result(belief, actions, base, base, "single_move", returns, notes)
        if self.endgame is not None:
            solved = exact_values(
                belief, self.endgame, base=int(choice[0]), every=self.pruning == "off",
                objective=self.objective,
            )  # fmt: skip
            if solved is not None and solved.values is not None:
                return _exact_result(belief, actions, base, solved.values, solved.states, notes)
        if share < 1:
            warn_of_small_budget(self.rollouts, int(alive.sum()))
            return _result(belief, actions, base, base, "budget_too_small", returns, notes)
        if self.pruning in ("paired", "independent"):
            notes += few_rollouts_notes(self.rollouts, int(alive.sum()), self.min_rollouts)
        while n := self._worlds_next(returns.tally, alive, share):
            try:
                worlds, memories = belief.sample(rng, n)
            except TooFewWorldsError as error:
                notes.append(str(error))
                return _result(belief, actions, base, base, "belief_too_small", returns, notes)
            arms = np.flatnonzero(alive)
            values = portfolio.values(
                worlds, actions, arms, memories, Streams.spawn(rng, n), depth=self.depth,
                threads=self.threads,
            )  # fmt: skip
            returns.add(arms, utility(self.objective, values, belief.game))
            behind, settled = self._behind(returns.tally, alive, base, moves, share)
            alive &= ~behind
            if settled or alive.reshape(-1, moves).any(axis=0).sum() == 1:
                break
            if self.seconds is not None and time.monotonic() - started >= self.seconds:
                notes.append(f"stopped after {self.seconds} seconds")
                break
        left = np.asarray(alive.reshape(-1, moves).any(axis=0))
        best, reason = self._choose(returns.cross_fitted(), left, base)
        if self.confirm is not None and best != base:
            return self._confirmed(rng, portfolio, actions, base, best, returns, notes)
        return _result(belief, actions, base, best, reason, returns, notes)

    @property
    def _budget(self) -> int:
        """The rollouts that are there to find a move."""
        return self.rollouts - 2 * (self.confirm or 0)

    def _confirmed(
        self,
        rng: np.random.Generator,
        portfolio: Portfolio,
        actions: IntArray,
        base: int,
        best: int,
        returns: PortfolioTally,
        notes: list[str],
    ) -> SearchResult:
        """The result where the best move's gain in ``confirm`` fresh worlds decides."""
        assert self.confirm is not None
        belief, both = portfolio.belief, returns.best()[[base, best]]
        fresh = Tally(2)
        try:
            worlds, memories = belief.sample(rng, self.confirm)
        except TooFewWorldsError as error:
            notes.append(str(error))
            return _result(belief, actions, base, base, "belief_too_small", returns, notes)
        values = portfolio.values(
            worlds, actions, both, memories, Streams.spawn(rng, self.confirm), depth=self.depth,
            threads=self.threads,
        )  # fmt: skip
        fresh.add(np.arange(2), utility(self.objective, values, belief.game))
        gain, stderr = (float(numbers[0]) for numbers in fresh.difference(1))
        notes.append(f"gain {gain:+.3f} ± {stderr:.3f} in {self.confirm} fresh worlds")
        played = best if gain > self._required(fresh, 1, 0, 2) else base
        reason: Reason = "improved" if played == best else "below_threshold"
        found = _result(belief, actions, base, played, reason, returns, notes)
        spent = found.rollouts + 2 * self.confirm
        if played == base:
            return replace(found, rollouts=spent)
        return replace(found, rollouts=spent, gain=gain, gain_stderr=stderr)

    def _tried(self, belief: Belief, actions: IntArray, base: int) -> BoolArray:
        """[M] True for the moves that are tried."""
        tried = np.ones(len(actions), dtype=np.bool_)
        few = self.candidates is not None and self.candidates < len(actions)
        if not few and self.preferred is None:
            return tried
        policy = belief.blueprint[belief.seat]
        liked = preferences_of(policy, belief.view, belief.memory)[0, actions]
        liked[base] = np.inf
        if few:
            tried[np.argsort(-liked, kind="stable")[self.candidates :]] = False
        if self.preferred is not None:
            tried &= liked >= self.preferred
        return tried

    def _worlds_next(self, tally: Tally, alive: BoolArray, share: int) -> int:
        """Worlds of the next round; 0 when the budget is spent."""
        left = self._worlds_left(tally, alive, share)
        done, first = int(tally.count.max()), min(self.round_size, self._fewest(share))
        return min(next_round(self.round_size, done) if done else first, left)

    def _worlds_left(self, tally: Tally, alive: BoolArray, share: int) -> int:
        """Worlds in which the budget can still play each of the moves alive."""
        if self.reallocate:
            return (self._budget - int(tally.count.sum())) // int(alive.sum())
        return share - int(tally.count[alive].max())

    def _fewest(self, share: int) -> int:
        """Worlds before a move is dropped: by expectations no more than half of an equal share."""
        if self.pruning == "expected":
            return min(self.min_rollouts, max(2, share // 2))
        return self.min_rollouts

    def _required(self, tally: Tally, move: int, base: int, moves: int) -> float:
        """What ``move``, the best of so many, must gain over the blueprint's to be played."""
        if self.errors == 0:
            return self.threshold
        error = float(tally.regularised_difference(move)[1][base])
        if math.isnan(error):  # of one world
            return math.inf
        return max(self.threshold, self.errors * math.sqrt(math.log(moves)) * error)

    def _behind(
        self, tally: Tally, alive: BoolArray, base: int, moves: int, share: int
    ) -> tuple[BoolArray, bool]:
        """[arms] True for those to drop now, never the leader; and is the decision settled?"""
        behind = np.zeros(len(alive), dtype=np.bool_)
        if self.pruning == "off" or tally.count[alive].min() < self._fewest(share):
            return behind, False
        credit = np.zeros(len(alive))
        credit[base::moves] = self.threshold
        leader = _leader(tally.mean + credit, alive, base)
        settled = False
        if self.pruning == "expected":
            worlds, left = int(tally.count[leader]), self._worlds_left(tally, alive, share)
            if left < 1:
                return behind, True
            lead, error = tally.regularised_difference(leader)
            lead = lead + credit[leader] - credit
            behind[alive] = gains_too_little(
                lead[alive], error[alive], worlds, left, self.indifference
            )
            behind[leader] = True
            settled = bool(behind[alive].all())
            # The blueprint's move is spared: unless it has lost for good, ``errors`` decide.
            own = slice(base, None, moves)
            lost = expected_improvement(lead[own], error[own])
            behind[own] &= lost < least_gain(self.indifference, worlds)
        elif self.pruning == "paired":
            lead, error = tally.difference(leader)
            behind = lead + credit[leader] - credit > self.deviations * error
        else:
            mean, margin = tally.mean + credit, self.deviations * tally.stderr
            behind = mean + margin < mean[leader] - margin[leader]
        behind[leader] = False
        return np.asarray(behind & alive), settled

    def _choose(self, tally: Tally, alive: BoolArray, base: int) -> tuple[int, Reason]:
        """The index of the move to play, and the reason. A blueprint's dropped move has lost."""
        best = _leader(tally.mean, alive, base)
        if best != base:
            gain = tally.difference(best)[0][base]
            if not alive[base] or gain > self._required(tally, best, base, int(alive.sum())):
                return best, "improved"
        better = (tally.difference(base)[0] < 0).any()
        return base, "below_threshold" if better else "blueprint_best"


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
    returns: PortfolioTally,
    notes: list[str],
) -> SearchResult:
    tally, count = returns.cross_fitted(), returns.count
    gain, error = tally.difference(best)
    return SearchResult(
        action=int(actions[best]),
        blueprint_action=int(actions[base]),
        reason=reason,
        actions=actions,
        mean=tally.mean,
        stderr=tally.stderr,
        count=count,
        gain=0.0 if best == base else float(gain[base]),
        gain_stderr=0.0 if best == base else float(error[base]),
        rollouts=int(count.sum()),
        belief_size=belief.size,
        likelihoods=belief.likelihoods,
        note="; ".join(notes),
    )
