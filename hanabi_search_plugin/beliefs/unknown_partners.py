"""Partners of unknown policy: a belief over worlds and each partner's policy, for any search.

A partner is a ``Mixture`` of candidates. Given the world, the partners' policies are independent,
since the moves of each are evidence of its own policy alone. So P(world, policies | history) is

    P(world | history)  x  product over partners j of P(policy of j | world, moves of j)

and one table of weights, worlds x partners x candidates, holds it exactly. Without the world given
the policies are not independent: a world in which one partner's moves make sense is evidence of how
another's are meant.

Letters: K candidates.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.mixture import Mixture, loaded_candidates, unnamed
from hanabi_search_plugin.core.agent import MakeBelief, NamesPolicies
from hanabi_search_plugin.core.belief import ExplicitBelief, WrappedBelief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Event, FloatArray, View, Worlds
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.core.streams import require_draws

MAX_LISTED = 20_000  # most worlds over which a posterior is summed exactly
POSTERIOR_SAMPLES = 4_000  # worlds that estimate it otherwise; its standard error is 0.008 at most


@dataclass(frozen=True)
class UnknownPartners(NamesPolicies):
    """Beliefs about partners of unknown policy: ``upgrade(..., belief=UnknownPartners(...))``.

    Each other seat is assumed to have drawn one of ``candidates`` by the probabilities ``prior``
    (None: all equal) and to keep to it, except for a random legal move with probability
    ``epsilon``. ``uncertainty`` is that of ``beliefs.exact.private_belief``. ``belief`` makes the
    belief over worlds in place of the game's exact one; ``uncertainty`` must then be 0.

    ``upgrade`` loads candidates that are given by name. Raises as ``Mixture`` does, and ConfigError
    for an uncertainty that is out of range or given with a belief.
    """

    candidates: Sequence[Policy | str]
    prior: Sequence[float] | None = None
    epsilon: float = 0.0
    uncertainty: float = 0.0
    belief: MakeBelief | None = None

    def __post_init__(self) -> None:
        require_share("uncertainty", self.uncertainty)
        if self.belief is not None and self.uncertainty != 0.0:
            raise ConfigError(
                f"uncertainty must be 0 where a belief is given, got {self.uncertainty}"
            )
        if not isinstance(self.candidates, Sequence) or isinstance(self.candidates, str):
            raise ConfigError(
                f"candidates must be a list of policies or their names, got {self.candidates!r}"
            )
        if not any(isinstance(each, str) for each in self.candidates):
            self.mixture()

    def __repr__(self) -> str:
        return settings_repr(self, "candidates")

    def with_policies(self, load: Callable[[str], Policy]) -> Self:
        return replace(self, candidates=loaded_candidates(self.candidates, load))

    def mixture(self) -> Mixture:
        """The policy of a partner."""
        return Mixture(unnamed(self.candidates), prior=self.prior, epsilon=self.epsilon)

    def __call__(self, blueprint: Blueprint, view: View) -> PartnersBelief:
        """The belief of ``view.player`` at its first view; the seat itself plays ``blueprint``."""
        partner = self.mixture()
        mixed = tuple(policy if p == view.player else partner for p, policy in enumerate(blueprint))
        if self.belief is not None:
            return MixtureBelief(self.belief(mixed, view))
        return MixtureBelief(private_belief(view.game, mixed, view, uncertainty=self.uncertainty))


class PartnersBelief(WrappedBelief):
    """A belief over partners that are mixtures (``inner``), whose samples draw their policies, too.

    In a sampled world every partner keeps to one candidate. So a search compares moves in the same
    worlds with the same partners, and its rollouts run as fast as those of known policies.
    """

    @abstractmethod
    def posterior(self, player: int) -> FloatArray:
        """[K] P(candidate of ``player`` | the seat's history).

        Raises ConfigError for a player whose policy is known.
        """

    @abstractmethod
    def with_posterior(self, player: int, memory: Memory) -> Memory:
        """A mixture's memory in worlds of ``inner``, with the weights to draw its candidate by."""

    def sample(self, rng: np.random.Generator, n: int) -> tuple[Worlds, tuple[Memory, ...]]:
        """See ``Belief.sample``. Takes what ``inner`` takes, then n doubles for each mixture."""
        require_draws(rng, n)
        worlds, memories = self.inner.sample(rng, n)
        return worlds, tuple(
            policy.draw(self.with_posterior(p, memory), rng.random(n))
            if isinstance(policy, Mixture)
            else memory
            for p, (policy, memory) in enumerate(zip(self.blueprint, memories, strict=True))
        )

    def require_unknown(self, player: int) -> None:
        """Raises ConfigError for a player whose policy is known."""
        if not isinstance(self.blueprint[player], Mixture):
            raise ConfigError(f"player must be one of unknown policy, got {player}")


class MixtureBelief(PartnersBelief):
    """A belief whose posterior is in the mixtures' own memories, world by world."""

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> MixtureBelief:
        return MixtureBelief(self.inner.update(event, view, by_blueprint=by_blueprint))

    def with_posterior(self, player: int, memory: Memory) -> Memory:
        return memory

    def posterior(self, player: int) -> FloatArray:
        """See ``PartnersBelief.posterior``.

        Estimated from POSTERIOR_SAMPLES worlds if the inner belief cannot list its worlds, or has
        more than MAX_LISTED.
        """
        self.require_unknown(player)
        if isinstance(self.inner, ExplicitBelief) and self.inner.size <= MAX_LISTED:
            _, chance = self.inner.support()
            memories = self.inner.support_memories()
        else:
            worlds, memories = self.inner.sample(np.random.default_rng(0), POSTERIOR_SAMPLES)
            chance = np.full(len(worlds), 1.0 / len(worlds))
        weights: FloatArray = memories[player]["weights"]
        return np.asarray(chance @ weights, dtype=np.float64)


def favouring(favourite: int, candidates: int) -> tuple[float, ...]:
    """The prior of the RIS-MCTS paper (section VII): a log likelihood of -40 for all but one.

    ``favourite`` is the number of that one among so many ``candidates``, from 0. Gives a
    probability for each, which sum to 1.
    """
    rest = math.exp(-40.0)
    best = 1.0 - (candidates - 1) * rest
    return tuple(best if k == favourite else rest for k in range(candidates))
