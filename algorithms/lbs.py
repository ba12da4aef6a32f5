"""Learned Belief Search (Hu, Lerer, Brown and Foerster, 2021): SPARTA without exact beliefs.

Three things differ from SPARTA, and each lies where any search may use it:

* The belief is a model, learned from games of the blueprint, that draws what the seat does not see
  token by token (``learned_belief``). Draws that contradict the observation are thrown away; where
  too few are left, the blueprint's move is played, and the result says so.
* A rollout is cut after ``depth`` moves, and the blueprint's values stand for the rest (equation 4;
  ``rollout.still_to_come``).
* A sampled world needs no replay of the game where the blueprint's memory is public; where it is
  not, the history is played again under what was drawn (section 4).

The rest is SPARTA's: common random numbers, a threshold, pruning. With an exact belief and no depth
it is SPARTA, number by number. One seat searches: the model has learned the others' blueprint, and
knows nothing of their searches.
"""

from __future__ import annotations

from dataclasses import dataclass

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.core.settings import setting


@dataclass(frozen=True, kw_only=True, repr=False)
class Lbs(Sparta):
    """LBS: ``upgrade(policy, game, Lbs(depth=16), belief=Learned(model))``.

    ``depth`` is from 1, the searched move alone, to None, the end of the game; 16 is best in the
    paper (Table 2), and any number needs a blueprint with values (``policy.Value``). The other
    parameters are those of ``Sparta``.
    """

    depth: int | None = setting(
        16, "Moves of a rollout before the blueprint's values stand for the rest; None: to the end."
    )
