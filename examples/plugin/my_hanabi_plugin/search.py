"""A search from the parts that this package has: a belief, rollouts, and a result that says why."""

from dataclasses import dataclass

import numpy as np

from hanabi_search_plugin import SearchResult, Streams
from hanabi_search_plugin.core import TooFewWorldsError, action_values
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.settings import setting


@dataclass(frozen=True)
class Flat:
    """Tries every move in the same drawn worlds, and plays the best"""

    rollouts: int = setting(200, "Budget of a decision, shared by the legal moves.")
    threads: int = setting(1, "Threads of compiled rollouts; they change no decision.")

    def __post_init__(self):
        require_integer("rollouts", self.rollouts, 1)
        require_integer("threads", self.threads, 1)

    def __call__(self, rng, belief):
        """All randomness comes from ``rng``, all knowledge of the game from ``belief``."""
        view, policy = belief.view, belief.blueprint[belief.seat]
        actions = np.flatnonzero(view.legal[0])
        base = int(policy.act(view, view.legal, belief.memory, Streams.spawn(rng, 1))[0])
        worlds_each = self.rollouts // len(actions)
        if len(actions) == 1:
            return self._result(belief, actions, base, "single_move")
        if worlds_each < 2:
            return self._result(belief, actions, base, "budget_too_small")
        try:
            worlds, memories = belief.sample(rng, worlds_each)
        except TooFewWorldsError as error:  # of beliefs that are learned
            return self._result(belief, actions, base, "belief_too_small", note=str(error))
        values = action_values(
            worlds, actions, belief.blueprint, memories, belief.seat,
            Streams.spawn(rng, worlds_each), threads=self.threads,
        )  # fmt: skip
        return self._result(belief, actions, base, None, values)

    def _result(self, belief, actions, base, reason, values=None, note=""):
        """``values`` [M, n]: what M moves brought in n worlds; None: nothing was tried."""
        blank = np.full(len(actions), np.nan)
        mean = blank if values is None else values.mean(axis=1)
        best, gain, error, tried = base, 0.0, 0.0, 0
        if values is not None:
            tried = values.shape[1]
            own = int(np.searchsorted(actions, base))
            k = own if mean[own] == mean.max() else int(mean.argmax())
            best, reason = int(actions[k]), "blueprint_best" if k == own else "improved"
            lead = values[k] - values[own]  # in the same worlds
            gain, error = float(lead.mean()), float(lead.std(ddof=1) / np.sqrt(tried))
        return SearchResult(
            action=best,
            blueprint_action=base,
            reason=reason,
            actions=actions,
            mean=mean,
            stderr=blank if values is None else values.std(axis=1, ddof=1) / np.sqrt(tried),
            count=np.full(len(actions), tried),
            gain=gain,
            gain_stderr=error,
            rollouts=tried * len(actions),
            belief_size=belief.size,
            likelihoods=belief.likelihoods,
            note="; ".join([*belief.caveats(), *([note] if note else [])]),
        )
