"""Mirror-descent search (Sokota et al., "The Update-Equivalence Framework for Decision-Time
Planning", ICLR 2024): one small step of policy improvement, which all seats may take at once.

As in SPARTA each legal move is played in worlds drawn from the belief, after which all follow the
blueprint pi; q is the mean return of each. The move is then drawn from a step of mirror descent,

    pi'(a)  ~  pi(a) exp(eta q(a)),

which stays close to pi. So each seat may take the others to play pi although they search, too, and
nothing has to be public. A large eta is SPARTA without a threshold, and eta -> 0 is pi. Adversarial
games have the magnetic step, which a temperature alpha draws to a uniform magnet rho:

    pi'(a)  ~  [pi(a) exp(eta q(a)) rho(a)^(eta alpha)]^(1 / (1 + eta alpha)).

q is an estimate. A normal error of standard deviation sigma makes exp(eta q) too large on average,
by exp(eta^2 sigma^2 / 2), which favours the moves that are known least. The step takes that out,
with the sigma of q(a) - sum_b pi(b) q(b); a magnet makes eta / (1 + eta alpha) of eta here. With
more rollouts sigma goes to 0.

Rollouts go where the step needs them: a move whose weight would stay negligible even were its mean
``deviations`` standard errors better is tried no further.

No step plays a move that pi excludes, so a bot that plays one move alone is softened: with a
probability of ``softening`` it makes any legal move. M is the number of legal moves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from hanabi_search_plugin.algorithms.budget_warnings import warn_of_small_budget
from hanabi_search_plugin.algorithms.rounds import ROUND_SIZE, next_round
from hanabi_search_plugin.algorithms.tally import Tally
from hanabi_search_plugin.core.agent import CutsRollouts, SmallSteps, require_asked
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ConfigError, TooFewWorldsError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray
from hanabi_search_plugin.core.objective import OBJECTIVE, Objective, require_objective, utility
from hanabi_search_plugin.core.policy import Policy, probabilities_of
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import (
    require_flag,
    require_integers,
    require_positive_or_0,
    require_share,
)
from hanabi_search_plugin.core.result import Reason, SearchResult
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.settings import DEPTH, THREADS, NamedOptions, described, setting
from hanabi_search_plugin.core.streams import Streams

SOFTENING = 0.05  # of a bot that plays one move alone
NEGLIGIBLE = 0.01  # weight, beside the likeliest move's, of a move that is tried no further


@described
@dataclass(frozen=True, kw_only=True)
class Mds(CutsRollouts, SmallSteps, NamedOptions):
    """Mirror-descent search: ``Mds(rollouts=10_000, eta=5.0)(rng, belief)`` is one decision.

    Moves are tried in the same worlds with the same future chance. ``rollouts`` are shared by those
    that may yet be played: after each round a move is dropped whose weight in the step would be
    less than a hundredth of the likeliest one's (``greedy``: less than that) even if its mean were
    ``deviations`` standard errors better. With one move left the search ends; ``inf`` drops none.
    ``eta`` is the size of the step, per score point, without what the noise of few rollouts would
    add to it; ``math.inf`` plays the best move. ``kl`` bounds the divergence KL(pi' | pi), in nats:
    eta is lowered where a step would go further.
    ``greedy`` plays the likeliest move of pi' in place of a draw. ``magnet`` is the temperature
    alpha of the magnetic step; 0 is plain mirror descent.

    The blueprint's probabilities are those of its policy, mixed with ``softening`` of a uniform
    one (None: 0.05 for a deterministic policy, else 0). In beliefs the others are softened alike by
    ``upgrade(..., epsilon=...)``, which ``agent.for_all_seats()`` sets so where it is 0.

    ``depth`` cuts rollouts short as in ``Sparta``. If the belief finds too few worlds, or
    ``rollouts`` are fewer than the legal moves, the blueprint's move is played, and the result says
    so. Raises ConfigError for settings out of range, and for deciding UnsupportedError where the
    blueprint gives no probabilities.
    """

    rollouts: int = setting(10_000, "Budget of a decision, shared by the legal moves.")
    eta: float = setting(10.0, "Size of the step, per score point; inf: the best move.")
    kl: float | None = setting(
        None, "Largest divergence from the blueprint's policy, in nats; None: no bound."
    )
    greedy: bool = setting(False, "Play the likeliest move of the new policy; else draw from it.")
    softening: float | None = setting(
        None,
        "Share of a uniform policy mixed into the blueprint's; None: 0.05 for a policy that plays "
        "one move alone, which no step would leave, else 0.",
    )
    magnet: float = setting(
        0.0, "Temperature of the magnetic step, for adversarial games; 0: plain mirror descent."
    )
    deviations: float = setting(
        3.0,
        "Drop moves that the step would hardly play even were they so many standard errors better; "
        "inf: none.",
    )
    round_size: int = setting(25, ROUND_SIZE)
    depth: int | None = setting(None, DEPTH)
    objective: Objective = setting("score", OBJECTIVE)
    threads: int = setting(1, THREADS)

    def __post_init__(self) -> None:
        require_integers(self, ("rollouts", "round_size", "threads"), 1)
        if self.depth is not None:
            require_integers(self, ("depth",), 1)
        require_objective(self.objective, cut=self.depth is not None)
        for name in ("eta", "deviations"):
            value: float = getattr(self, name)
            if not (isinstance(value, Real) and value >= 0):
                raise ConfigError(f"{name} must be a number of at least 0, or inf, got {value!r}")
        if self.kl is not None:
            require_positive_or_0("kl", self.kl)
        require_positive_or_0("magnet", self.magnet)
        require_flag("greedy", self.greedy)
        if self.softening is not None:
            require_share("softening", self.softening)

    def __repr__(self) -> str:
        return settings_repr(self, "rollouts")

    def softening_of(self, policy: Policy) -> float:
        if self.softening is not None:
            return self.softening
        return SOFTENING if policy.deterministic else 0.0

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        """Decide for ``belief.seat``, which is to move.

        Takes from ``rng`` what the worlds take, then one draw for the move unless ``greedy``.
        """
        require_asked(rng, belief)
        legal = belief.view.legal
        actions = np.flatnonzero(legal[0])
        policy = belief.blueprint[belief.seat]
        chance = probabilities_of(policy, belief.view, belief.memory)[0, actions]
        chance = chance / chance.sum()
        soft = self.softening_of(policy)
        prior = (1.0 - soft) * chance + soft / len(actions)
        tally, notes = Tally(len(actions)), belief.caveats()
        ended: Reason | None = None
        if len(actions) == 1:
            ended = "single_move"
        elif self.rollouts < len(actions):
            warn_of_small_budget(self.rollouts, len(actions))
            ended = "budget_too_small"
        else:
            try:
                self._try_moves(rng, belief, actions, prior, tally)
            except TooFewWorldsError as error:
                notes.append(str(error))
                ended = "belief_too_small"
        found = chance if ended else self.step(prior, paired_means(tally), noise(prior, tally))
        draw = rng.random()
        base = int(chance.argmax()) if self.greedy else _drawn(chance, draw)
        best = int(found.argmax()) if self.greedy else _drawn(found, draw)
        gain, error_of_gain = tally.difference(best)
        return SearchResult(
            action=int(actions[best]),
            blueprint_action=int(actions[base]),
            reason=ended or ("blueprint_best" if best == base else "policy_step"),
            actions=actions,
            mean=tally.mean,
            stderr=tally.stderr,
            count=tally.count,
            gain=0.0 if best == base else float(gain[base]),
            gain_stderr=0.0 if best == base else float(error_of_gain[base]),
            rollouts=int(tally.count.sum()),
            belief_size=belief.size,
            likelihoods=belief.likelihoods,
            policy=found,
            note="; ".join(notes),
        )

    def _try_moves(
        self,
        rng: np.random.Generator,
        belief: Belief,
        actions: IntArray,
        prior: FloatArray,
        tally: Tally,
    ) -> None:
        """Play the moves in the same worlds until the budget is spent or one move is left."""
        alive = np.ones(len(actions), dtype=np.bool_)
        while alive.sum() > 1 and (n := self._worlds_next(tally, alive)):
            worlds, memories = belief.sample(rng, n)
            tried = np.flatnonzero(alive)
            values = action_values(worlds, actions[tried], belief.blueprint, memories, belief.seat,
                Streams.spawn(rng, n), depth=self.depth, threads=self.threads,
            )  # fmt: skip
            tally.add(tried, utility(self.objective, values, belief.game))
            if self.deviations < math.inf:
                alive &= ~self._negligible(prior, tally, alive)

    def _worlds_next(self, tally: Tally, alive: BoolArray) -> int:
        """Worlds of the next round, half of an equal share at first; 0 when the budget is spent."""
        left = (self.rollouts - int(tally.count.sum())) // int(alive.sum())
        done = int(tally.count.max())
        return min(next_round(self.round_size, done), left if done else -(-left // 2))

    def _negligible(self, prior: FloatArray, tally: Tally, alive: BoolArray) -> BoolArray:
        """[M] True for moves that would have hardly any weight even were they so much better.

        Never the likeliest move alive.
        """
        values = paired_means(tally)
        eta = self._bounded(prior, values, self.eta)
        kept = self._less_noise(values, noise(prior, tally), eta)
        weight = mirror_step(prior, kept, eta, magnet=self.magnet)
        leader = int(np.where(alive, weight, -1.0).argmax())
        lead, error = tally.regularised_difference(leader)
        behind = lead - self.deviations * error - (values[leader] - kept[leader])  # at least
        margin = 0.0 if self.greedy else -math.log(NEGLIGIBLE)  # of log weights
        if eta == math.inf:
            gone = (behind > margin * self.magnet) | (prior == 0.0)
        else:
            with np.errstate(divide="ignore"):
                behind = eta * behind + np.log(prior[leader] / prior)
            gone = behind > margin * (1.0 + eta * self.magnet)
        gone[leader] = False
        return np.asarray(gone)

    def step(
        self, prior: FloatArray, values: FloatArray, variance: FloatArray | float = 0.0
    ) -> FloatArray:
        """[M] the policy after the step, ``eta`` lowered until ``kl`` allows it.

        ``variance`` [M] is that of the errors of ``values`` [M]; an infinite step leaves it in.
        """
        eta = self._bounded(prior, values, self.eta)
        values = self._less_noise(values, variance, eta)
        return mirror_step(prior, values, self._bounded(prior, values, eta), magnet=self.magnet)

    def _less_noise(
        self, values: FloatArray, variance: FloatArray | float, eta: float
    ) -> FloatArray:
        """[M] values whose step of ``eta`` is right on average; an infinite one's as they are."""
        if eta < math.inf:
            return values - eta / (1.0 + eta * self.magnet) * variance / 2.0
        return values - variance / self.magnet / 2.0 if self.magnet > 0.0 else values

    def _bounded(self, prior: FloatArray, values: FloatArray, eta: float) -> float:
        """The largest step up to ``eta`` that ``kl`` allows."""
        if self.kl is None:
            return eta
        found = mirror_step(prior, values, eta, magnet=self.magnet)
        if divergence(found, prior) <= self.kl:
            return eta
        spread = float(np.ptp(values))
        least, most = 0.0, 1.0  # of eta * spread / (1 + eta * spread), in which KL grows
        for _ in range(50):
            middle = (least + most) / 2
            tried = min(middle / (1.0 - middle) / spread, eta)
            found = mirror_step(prior, values, tried, magnet=self.magnet)
            least, most = (middle, most) if divergence(found, prior) <= self.kl else (least, middle)
        return least / (1.0 - least) / spread


def paired_means(tally: Tally) -> FloatArray:
    """[M] mean returns as far as they can be compared: each by its difference to the move that was
    tried most, in the worlds in which both were tried.
    """
    most = int(tally.count.argmax())
    return np.asarray(tally.mean[most] - tally.lead(most))


def noise(prior: FloatArray, tally: Tally) -> FloatArray:
    """[M] the variance of each move's mean return less that of ``prior`` [M]; 0 of one world.

    The moves have been tried in the same worlds, so that what moves them all alike is no noise.
    """
    pairs = np.nan_to_num(np.square(tally.regularised_errors()))  # [M, M] of differences
    found: FloatArray = np.maximum(pairs @ prior - prior @ pairs @ prior / 2.0, 0.0)
    return found


def mirror_step(
    prior: FloatArray, values: FloatArray, eta: float, *, magnet: float = 0.0
) -> FloatArray:
    """[M] the policy after a step of mirror descent from ``prior`` [M] by ``values`` [M].

    ``eta`` is per unit of ``values``; with inf the best of the moves that ``prior`` allows share
    all weight as they did there. ``magnet`` is the temperature alpha of the magnetic step, whose
    magnet is uniform: then inf is the softmax of ``values / alpha``.
    """
    allowed = prior > 0.0
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    best = values[allowed].max()
    if eta == math.inf and magnet == 0.0:
        logits = np.where(values == best, log_prior, -np.inf)
    elif eta == math.inf:
        logits = np.where(allowed, (values - best) / magnet, -np.inf)
    else:
        logits = (log_prior + eta * (values - best)) / (1.0 + eta * magnet)
    weight = np.exp(logits - logits.max())
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def divergence(found: FloatArray, prior: FloatArray) -> float:
    """KL(found | prior) in nats, both [M]; ``found`` has weight only where ``prior`` has."""
    kept = found > 0.0
    return float((found[kept] * np.log(found[kept] / prior[kept])).sum())


def _drawn(chance: FloatArray, draw: float) -> int:
    """The move that a number from [0, 1) draws from ``chance`` [M]: the same for equal ones."""
    cumulative = np.cumsum(chance)
    return int((cumulative > draw * cumulative[-1]).argmax())
