"""Learned Belief Search (Hu, Lerer, Brown and Foerster, 2021): SPARTA without exact beliefs.

Three things differ from SPARTA, and each is implemented where any search can use it:

* The belief is a model, learned from games of the blueprint, that draws what the seat does not see
  token by token (``beliefs.learned_belief``). Draws that contradict the observation are rejected;
  if too few are left, the blueprint's move is played, and the result says so.
* A rollout is cut after ``depth`` moves, and the blueprint's values estimate the rest (equation 4;
  ``core.rollout.remaining_return``).
* A sampled world needs no replay of the game if the blueprint's memory is public; if it is not, the
  history is played again under what was drawn (section 4).

The rest is SPARTA's: common random numbers, a threshold, pruning. With an exact belief and no depth
it is SPARTA, number by number. One seat searches: the model has learned the others' blueprint and
knows nothing of their searches.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanabi_search_plugin.algorithms.rounds import ROUND_SIZE
from hanabi_search_plugin.algorithms.sparta import (
    ERRORS,
    MIN_ROLLOUTS,
    PRUNING,
    Pruning,
    Sparta,
)
from hanabi_search_plugin.core.settings import DEPTH, described, setting


@described
@dataclass(frozen=True, kw_only=True, repr=False)
class Lbs(Sparta):
    """LBS: ``upgrade(policy, game, Lbs(depth=16), belief=Learned(model))``.

    ``depth`` is the moves of a rollout, from 1 (the searched move alone) to None (the whole game);
    16 is best in the paper (Table 2). Any but None needs a blueprint with values
    (``policy.Value``). The other parameters are those of ``Sparta``; values vary less than final
    scores, so that moves are dropped by paired differences, and the threshold alone decides.
    """

    depth: int | None = setting(16, DEPTH)
    errors: float = setting(0.0, ERRORS)
    pruning: Pruning = setting("paired", PRUNING)
    min_rollouts: int = setting(100, MIN_ROLLOUTS)
    round_size: int = setting(100, ROUND_SIZE)
