"""A belief of any game by weighted samples: a particle filter (Gordon, Salmond and Smith, 1993).

For games with too many worlds to list. It needs nothing of a game but ``deal`` and ``step``; in an
``Enumerable`` one no particle is lost because its chance differs from what the seat sees. The error
falls with the square root of the number of particles. Letters: N particles.
"""

from __future__ import annotations

import logging
import math
import sys
from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin.beliefs.resampling import effective_sample_size, systematic_resample
from hanabi_search_plugin.beliefs.tracked_worlds import (
    TrackedBelief,
    TrackedWorlds,
    one_view,
    showing,
    track_event,
)
from hanabi_search_plugin.core.agent import FitsGames
from hanabi_search_plugin.core.belief import require_update
from hanabi_search_plugin.core.capabilities import OWN_BELIEF, Enumerable, HasBeliefs
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import (
    UNSEEN,
    Event,
    FloatArray,
    Game,
    History,
    IntArray,
    View,
)
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    observed,
    probabilities_of,
    sample_actions,
    started,
    take,
)
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import require_integers, require_share
from hanabi_search_plugin.core.rollout import likelihood, observe_all, start_memories
from hanabi_search_plugin.core.settings import NamedOptions
from hanabi_search_plugin.core.streams import Streams

TRIES = 50_000  # deals to find particles that show the seat's first view, before giving up
ENOUGH = 10  # a belief goes on with one of so many of the particles that were asked for
ROUNDS = 10  # times that a recovery deals anew

_log = logging.getLogger(__name__)


class ParticleBelief(TrackedBelief):
    """An approximate private belief of a seat. ``start`` makes the first.

    An update multiplies the weight of a particle by the probability of the mover's move, then plays
    the move. In an ``Enumerable`` game the chance that follows is drawn among the outcomes that
    show what the seat sees; in another it is the particle's own, and a particle that shows
    something else is dropped. When the effective number of particles falls below half, all are
    drawn anew by weight (systematic resampling).

    When no particle is left, new ones are dealt and the history is played in them, its moves being
    no evidence. An update raises UnsupportedError if that leaves none, too.

    ``size`` is the number of particles. In a game that is not ``Enumerable``, samples of the same
    particle meet the same future chance.
    """

    exact = False

    def __init__(
        self,
        game: Game,
        blueprint: Blueprint,
        history: History,
        tracked: TrackedWorlds,
        memory: Memory,
        *,
        particles: int,
        seed: int,
        epsilon: float,
        tries: int,
        likelihoods: int = 0,
        recovered: int = 0,
        ran_out: bool = False,
        missing: int = 0,
    ) -> None:
        super().__init__(
            game, blueprint, history, tracked, memory, epsilon=epsilon, likelihoods=likelihoods,
            recovered=recovered,
        )  # fmt: skip
        self.particles = particles  # how many there are after resampling
        self._seed = seed  # of all updates: the same events give the same belief
        self._tries = tries
        self.ran_out = ran_out
        self._missing = missing  # of those that were asked for, in no deal at the beginning

    @classmethod
    def start(
        cls,
        game: Game,
        blueprint: Blueprint,
        view: View,
        *,
        particles: int = 1000,
        rng: np.random.Generator,
        epsilon: float = 0.0,
        tries: int = TRIES,
    ) -> ParticleBelief:
        """The belief at the first decision, from the seat's first view (a batch of one).

        Takes one draw from ``rng``. Deals ever larger batches of worlds, the last one of ``tries``,
        until ``particles`` worlds of one batch show the view. Goes on with fewer, which ``caveats``
        tells, if they are a tenth at least. Raises UnsupportedError for fewer still: earlier, where
        a belief fits the game better and ``tries`` deals would hardly show the view so often.
        Raises ConfigError for parameters out of range.
        """
        if particles < 1 or tries < particles:
            raise ConfigError(
                f"particles must be from 1 to tries={tries}, got {particles}; each takes a deal"
            )
        require_share("epsilon", epsilon)
        view, seed = one_view(view), int(rng.integers(2**63))
        tracked = _deal(game, blueprint, view, particles, tries, np.random.default_rng(seed))
        return cls(
            game, blueprint, History(view.player, (view,)), tracked,
            started(blueprint[view.player], view), particles=len(tracked), seed=seed,
            epsilon=epsilon, tries=tries, missing=particles - len(tracked),
        )  # fmt: skip

    def caveats(self) -> list[str]:
        few = f"{self.particles} particles were found, expected {self.particles + self._missing}"
        return [*super().caveats(), *([few] if self._missing else [])]

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> ParticleBelief:
        require_update(event, view, self.game, self.view)
        event, view = event.seen_by(self.seat, self.game), one_view(view)
        history, recovered = self.history.append(event, view), self.recovered
        ran_out = self.ran_out
        rng = np.random.default_rng([self._seed, len(history.events)])
        evidence = by_blueprint and int(event.player[0]) != self.seat
        after, likelihoods = self._advance(self.tracked, event, view, rng, evidence=evidence)
        if after is None:
            ran_out = not evidence or self._none_shows(event, view)
            why = "the particles ran out, none shows" if ran_out else "no particle explains"
            _log.info(
                "%s: %s player %d's move %d to seat %d; the belief deals new ones and drops the "
                "evidence of all moves",
                self.game.name, why, event.player[0], event.action[0], self.seat,
            )  # fmt: skip
            after, recovered = self._recover(history, rng), recovered + 1
        return ParticleBelief(
            self.game, self.blueprint, history, self._resampled(after, rng),
            observed(self.blueprint[self.seat], view, event, self.memory),
            particles=self.particles, seed=self._seed, epsilon=self.epsilon, tries=self._tries,
            likelihoods=self.likelihoods + likelihoods, recovered=recovered, ran_out=ran_out,
            missing=self._missing,
        )  # fmt: skip

    def _none_shows(self, event: Event, view: View) -> bool:
        """Does no particle show what the seat sees after an event, whoever plays what?"""
        rng = np.random.default_rng(self._seed)
        return self._advance(self.tracked, event, view, rng, evidence=False)[0] is None

    def _advance(
        self,
        before: TrackedWorlds,
        event: Event,
        view: View,
        rng: np.random.Generator,
        *,
        evidence: bool,
    ) -> tuple[TrackedWorlds | None, int]:
        """The particles after an event, None if none is left; and policy evaluations spent."""
        if not isinstance(self.game, Enumerable):
            return self._play(before, event, view, rng, evidence)
        step = track_event(
            self.game, self.blueprint, before, event, view, evidence=evidence,
            epsilon=self.epsilon, max_worlds=sys.maxsize,
        )  # fmt: skip
        if step.after is None:
            return None, step.likelihoods
        chosen, weights = _one_child_each(step.parent, step.after.weights, rng)
        after = step.after.select(chosen)
        return TrackedWorlds(after.worlds, weights, after.memories), step.likelihoods

    def _play(
        self,
        before: TrackedWorlds,
        event: Event,
        view: View,
        rng: np.random.Generator,
        evidence: bool,
    ) -> tuple[TrackedWorlds | None, int]:
        """As ``_advance``, by the particles' own chance."""
        actor, action = int(event.player[0]), int(event.action[0])
        able = before.worlds.current_player == actor
        if action != UNSEEN:
            able &= before.worlds.legal[:, action]
        part = before.select(np.flatnonzero(able))
        if len(part) == 0:
            return None, 0
        weights, likelihoods = part.weights, 0
        actions = np.full(len(part), action)
        legal = part.worlds.legal
        uniform = legal / legal.sum(axis=1, keepdims=True)
        if action == UNSEEN:
            chance = uniform
            if evidence:
                policy, at = self.blueprint[actor], part.worlds.view(actor)
                chance = probabilities_of(policy, at, part.memories[actor])
                chance, likelihoods = self._mixed(chance, uniform), len(part)
            actions = sample_actions(chance, Streams.spawn(rng, len(part)))
        elif evidence:
            policy, memory = self.blueprint[actor], part.memories[actor]
            likely = likelihood(part.worlds, policy, actor, memory, actions)
            weights = weights * self._mixed(likely, uniform[:, action])
            likelihoods = len(part)
        part.worlds.step(actions)
        kept = np.flatnonzero(showing(part.worlds, view) & (weights > 0))
        if len(kept) == 0:
            return None, likelihoods
        worlds = part.worlds.select(kept)
        memories = tuple(take(memory, kept) for memory in part.memories)
        actors = np.full(len(kept), actor)
        memories = observe_all(worlds, actors, actions[kept], self.blueprint, memories)
        return TrackedWorlds(worlds, weights[kept], memories), likelihoods

    def _mixed(self, chance: FloatArray, uniform: FloatArray) -> FloatArray:
        return (1 - self.epsilon) * chance + self.epsilon * uniform

    def _resampled(self, after: TrackedWorlds, rng: np.random.Generator) -> TrackedWorlds:
        """The particles, drawn anew by weight if the weights have become too unequal."""
        weights = after.weights / after.weights.sum()
        if effective_sample_size(weights) >= self.particles / 2:
            return after
        drawn = after.select(systematic_resample(weights, self.particles, rng))
        return TrackedWorlds(drawn.worlds, np.ones(self.particles), drawn.memories)

    def _recover(self, history: History, rng: np.random.Generator) -> TrackedWorlds:
        """New particles that show all that the seat has seen; moves are no evidence."""
        for _ in range(ROUNDS):
            now: TrackedWorlds | None = _deal(
                self.game, self.blueprint, history.views[0], self.particles, self._tries, rng
            )
            for event, view in zip(history.events, history.views[1:], strict=True):
                if now is not None:
                    now, _ = self._advance(now, event, view, rng, evidence=False)
                if now is not None:  # those that agree so far multiply
                    now = self._resampled(now, rng)
            if now is not None:
                return now
        own = f"; {OWN_BELIEF}" if isinstance(self.game, HasBeliefs) else ""
        raise UnsupportedError(
            f"{ROUNDS} times {self.particles} new particles of {self.game.name} did not show what "
            f"seat {self.seat} has seen; use more particles or an uncertainty epsilon{own}"
        )


def _deal(
    game: Game,
    blueprint: Blueprint,
    view: View,
    particles: int,
    tries: int,
    rng: np.random.Generator,
) -> TrackedWorlds:
    """As many particles at the first decision, dealt until they show ``view``.

    Fewer, if ``tries`` deals show it at least as often as one in ``ENOUGH`` of them. Raises
    UnsupportedError where they show it more seldom; where the game knows a better belief, as soon
    as they surely would.
    """
    n, enough = particles, math.ceil(particles / ENOUGH)
    better = OWN_BELIEF if isinstance(game, HasBeliefs) else ""
    while True:
        worlds = game.deal(rng, n)
        rows = np.flatnonzero(showing(worlds, view))[:particles]
        if len(rows) == particles or (n == tries and len(rows) >= enough):
            worlds = worlds.select(rows)
            return TrackedWorlds(worlds, np.ones(len(rows)), start_memories(worlds, blueprint))
        at_most = (len(rows) + 4.0 * math.sqrt(len(rows)) + 7.0) / n  # one in a thousand is above
        rare = at_most * tries < enough  # and so it surely is in all tries
        better = better or game.belief_to_use
        if n == tries or (rare and better):
            way = better or "use fewer particles, more tries, or another belief"
            if len(rows) == 0 and not better:
                way = f"give more tries (now {tries}), or the game a belief of its own (HasBeliefs)"
            raise UnsupportedError(
                f"{len(rows)} of {n} deals of {game.name} show what seat {view.player} sees, "
                f"expected {particles}: {way}"
            )
        n = min(4 * n, tries)


def _one_child_each(
    parent: IntArray, weights: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Draw one child row of each parent by weight; and the total weight of its children."""
    order = np.argsort(parent, kind="stable")
    first = np.flatnonzero(np.diff(parent[order], prepend=-1))
    cumulative = np.cumsum(weights[order])
    until = np.append(cumulative[first[1:] - 1], cumulative[-1])  # by the last child of each
    before = np.append(0.0, until[:-1])
    drawn = np.searchsorted(cumulative, before + rng.random(len(first)) * (until - before), "right")
    last = np.append(first[1:], len(order)) - 1
    return order[np.clip(drawn, first, last)], until - before


@dataclass(frozen=True)
class Particles(FitsGames, NamedOptions):
    """Beliefs by particle filters: ``upgrade(..., belief=Particles(1000, seed=0))``.

    For games with too many worlds to list. ``particles`` worlds are followed; they are found by
    dealing whole games until so many show the seat's first view, ``tries`` deals in the last batch
    before an UnsupportedError says that it is too rare, as it is where a seat is dealt a hand of
    many cards; a tenth of the particles will do. ``epsilon`` is the probability with which the
    others are taken to move at random.
    All randomness follows from ``seed``, the seat and what it sees. ``ParticleBelief.start``
    documents the errors raised, beside ConfigError for settings out of range.
    """

    particles: int = 1000
    seed: int = 0
    epsilon: float = 0.0
    tries: int = TRIES

    def __post_init__(self) -> None:
        require_integers(self, ("particles", "tries"), 1)
        require_integers(self, ("seed",), 0)
        require_share("epsilon", self.epsilon)

    def __repr__(self) -> str:
        return settings_repr(self, "particles")

    def require_fit(self, game: Game, blueprint: Blueprint) -> None:
        """See ``FitsGames``: a game with a belief of its own must show what a seat sees, of a
        first deal, often enough."""
        if isinstance(game, HasBeliefs):
            rng = np.random.default_rng(self.seed)
            view = one_view(game.deal(rng, 1).view(0))
            _deal(game, blueprint, view, self.particles, self.tries, rng)

    def __call__(self, blueprint: Blueprint, view: View) -> ParticleBelief:
        """The belief of ``view.player`` at its first view."""
        return ParticleBelief.start(
            view.game,
            blueprint,
            view,
            particles=self.particles,
            rng=np.random.default_rng([self.seed, view.player]),
            epsilon=self.epsilon,
            tries=self.tries,
        )
