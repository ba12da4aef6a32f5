"""A partner of unknown policy as one policy: a Bayesian mixture of candidates.

If a seat draws its policy from a list and keeps to it, then to others it makes a move with
probability sum_k w[k] p_k(move), where w is the posterior of the policies given the seat's moves so
far. So a mixture is a policy whose memory holds w, and any belief that follows policies follows
partners of unknown policy as exactly as known ones.

Letters: B worlds, K candidates, A actions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import (
    Memory,
    Policy,
    join,
    moves_of,
    observed,
    probabilities_of,
    require_policy,
    sample_actions,
    started,
    take,
)
from hanabi_search_plugin.core.require import require_share
from hanabi_search_plugin.core.streams import Streams

UNKNOWN = -1  # in place of a candidate, in a world where none has been drawn


def loaded_candidates(
    candidates: Sequence[Policy | str], load: Callable[[str], Policy]
) -> tuple[Policy, ...]:
    """``load(name)`` in place of each name."""
    return tuple(load(each) if isinstance(each, str) else each for each in candidates)


def unnamed(candidates: Sequence[Policy | str]) -> list[Policy]:
    """Candidates of which none is a name. Raises ConfigError for names: nobody has loaded them."""
    found = [each for each in candidates if not isinstance(each, str)]
    if len(found) < len(candidates):
        raise ConfigError(
            f"candidates must be policies where `upgrade` does not load them by name, got "
            f"{[each for each in candidates if isinstance(each, str)]}"
        )
    return found


class Mixture(Policy):
    """One of ``candidates``, drawn by the probabilities ``prior`` (None: all equal) for the game.

    With probability ``epsilon`` a move is a uniformly random legal one instead, so that no move
    rules a candidate out for good.

    The memory is a dict:

    * ``weights`` float64 [B, K]: the posterior
    * ``drawn`` int64 [B]: the candidate that plays the world whatever the weights (see ``draw``),
      or UNKNOWN
    * ``memories``: the memory of each candidate
    * ``chances`` float64 [B, K, A]: the candidates' probabilities where the seat is to move

    A candidate that is ruled out in a world is not asked there again.

    Raises UnsupportedError for what is no policy, ConfigError for an empty list or a prior that
    does not fit it.
    """

    deterministic = False

    def __init__(
        self,
        candidates: Sequence[Policy],
        *,
        prior: Sequence[float] | None = None,
        epsilon: float = 0.0,
    ) -> None:
        self.candidates = tuple(candidates)
        if not self.candidates:
            raise ConfigError("candidates must be at least one policy, got none")
        for policy in self.candidates:
            require_policy(policy, "candidates that are policies")
        shares = np.array([1.0] * len(self.candidates) if prior is None else prior, dtype=float)
        fits = shares.shape == (len(self.candidates),) and np.isfinite(shares).all()
        if not (fits and (shares >= 0).all() and shares.sum() > 0):
            raise ConfigError(
                f"prior must be {len(self.candidates)} numbers of at least 0, one a candidate and "
                f"not all 0, got {prior}"
            )
        require_share("epsilon", epsilon)
        self.prior: FloatArray = shares / shares.sum()  # [K]
        self.epsilon = epsilon

    def start(self, view: View) -> Memory:
        n = len(view)
        memory = {
            "weights": np.repeat(self.prior[None], n, axis=0),
            "drawn": np.full(n, UNKNOWN),
            "memories": tuple(started(policy, view) for policy in self.candidates),
        }
        return self.with_chances(view, memory)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        weights, drawn = memory["weights"], memory["drawn"]
        own = np.flatnonzero((event.player == view.player) & (drawn == UNKNOWN))
        if len(own):
            weights = weights.copy()
            weights[own], _ = posterior(weights[own], self._likelihoods(memory, own, event.action))
        alive = self._alive(weights, drawn)
        memories = tuple(
            _observed(policy, view, event, own, alive[:, k])
            for k, (policy, own) in enumerate(zip(self.candidates, memory["memories"], strict=True))
        )
        return self.with_chances(view, {"weights": weights, "drawn": drawn, "memories": memories})

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        """See ``Policy.act``. Takes what the drawn candidate takes; one draw if none is drawn."""
        actions = np.empty(len(view), dtype=np.int64)
        drawn = memory["drawn"]
        for k in np.unique(drawn).tolist():
            rows = np.flatnonzero(drawn == k)
            stream = rng.select(rows)
            if k == UNKNOWN:
                chance = self.probabilities(view, legal, memory)[rows]
                actions[rows] = sample_actions(chance, stream)
            else:
                own = take(memory["memories"][k], rows)
                seen = view.select(rows)
                actions[rows] = moves_of(self.candidates[k], seen, own, stream)
            rng.state[rows] = stream.state
        return actions

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        if memory["chances"] is None:
            memory = self.with_chances(view, memory)
        chance = np.einsum("bk,bka->ba", memory["weights"], memory["chances"])
        drawn = memory["drawn"]
        for k in np.unique(drawn[drawn != UNKNOWN]).tolist():
            rows = np.flatnonzero(drawn == k)
            own = take(memory["memories"][k], rows)
            chance[rows] = probabilities_of(self.candidates[k], view.select(rows), own)
        return np.asarray(chance, dtype=np.float64)

    # --------------------------------------------------------------------------- for beliefs

    def draw(self, memory: Memory, number: FloatArray) -> Memory:
        """The memory with a candidate drawn in each world by a number [B] in [0, 1)."""
        cumulative = np.cumsum(memory["weights"], axis=1)
        which = (cumulative > number[:, None] * cumulative[:, -1:]).argmax(axis=1)
        drawn = np.where(memory["drawn"] == UNKNOWN, which, memory["drawn"])
        return memory | {"drawn": drawn}

    def with_chances(self, view: View, memory: Memory) -> Memory:
        """The memory with ``chances``: asks the candidates what they would do at ``view``, now."""
        weights, drawn = memory["weights"], memory["drawn"]
        chances = np.zeros((*weights.shape, view.game.num_actions))
        turn = (view.current_player == view.player) & (drawn == UNKNOWN)
        if turn.any():
            legal = view.legal
            uniform = legal / np.maximum(legal.sum(axis=1, keepdims=True), 1)
            for k, policy in enumerate(self.candidates):
                rows = np.flatnonzero(turn & (weights[:, k] > 0))
                if len(rows):
                    own = take(memory["memories"][k], rows)
                    chance = probabilities_of(policy, view.select(rows), own)
                    chances[rows, k] = (1 - self.epsilon) * chance + self.epsilon * uniform[rows]
        return memory | {"chances": chances}

    def _alive(self, weights: FloatArray, drawn: IntArray) -> BoolArray:
        """[B, K] True if the candidate may still be the one that plays the world."""
        chosen = np.arange(len(self.candidates)) == drawn[:, None]
        return np.where((drawn == UNKNOWN)[:, None], weights > 0, chosen)

    def _likelihoods(self, memory: Memory, rows: IntArray, action: IntArray) -> FloatArray:
        """[rows, K] probability of each candidate for the moves ``action`` [B]."""
        if memory["chances"] is None:
            raise ContractError("expected a mixture's memory with chances before its own move")
        chances: FloatArray = memory["chances"][rows, :, action[rows]]
        return chances

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.candidates)!r})"


def posterior(weights: FloatArray, likelihoods: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bayes' rule: the weights [B, K] after a move, and the probability of the move [B].

    ``likelihoods`` [B, K] are the candidates' probabilities of it. Where no candidate makes the
    move, the weights stay as they are.
    """
    after = weights * likelihoods
    total = after.sum(axis=1)
    scale = np.where(total > 0, total, 1.0)[:, None]
    return np.where(total[:, None] > 0, after / scale, weights), total


def _observed(policy: Policy, view: View, event: Event, own: Memory, rows: BoolArray) -> Memory:
    """``policy.observe`` in the worlds of ``rows`` (bool [B]); elsewhere the memory may be old."""
    if rows.all() or not isinstance(own, np.ndarray | list):  # such as what all worlds share
        return observed(policy, view, event, own)
    at = np.flatnonzero(rows)
    if len(at) == 0:
        return own
    new = observed(policy, view.select(at), event.select(at), take(own, at))
    order = len(at) + np.arange(len(rows))
    order[at] = np.arange(len(at))
    return take(join([new, own]), order)
