"""What a search makes as large as it can: a function of a game's final return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.core.game import FloatArray, Game

Named = Literal["score", "perfect"]

Objective = Named | Callable[[FloatArray], FloatArray]
"""``"score"``: the return itself. ``"perfect"``: the return, and ``BONUS`` of the range of returns
where it is the highest there is. A function: it gets an array of final returns and gives one of
their worth, of the same shape, such as ``lambda score: score >= 20``."""

BONUS = 0.4
"""A share of the range of returns: where these go from 0 to 25, 10 points."""

OBJECTIVE = "What is made as large as can be: score, or perfect, which adds points to the best one."


def require_objective(objective: object, *, cut: bool = False) -> None:
    """Raises ConfigError for what is no objective, and where rollouts are cut.

    Values of a blueprint estimate the return that is still to come, and no function of it.
    """
    if not callable(objective) and objective not in get_args(Named):
        known = ", ".join(get_args(Named))
        raise ConfigError(f"objective must be one of {known}, or a function, got {objective!r}")
    if cut and objective != "score":
        raise ConfigError(
            f"objective must be score where values stand for the rest of a rollout, got "
            f"{objective!r}: play rollouts to the end, with depth=None"
        )


def utility(objective: Objective, returns: FloatArray, game: Game) -> FloatArray:
    """What final returns are worth, in an array of their shape; nan stays nan.

    Raises ContractError where a function gives another shape, or what is not finite.
    """
    if objective == "score":
        return returns
    if objective == "perfect":
        low, high = game.return_range
        return returns + BONUS * (high - low) * (returns >= high)
    assert callable(objective)
    known = ~np.isnan(returns)
    found = np.full(returns.shape, np.nan)
    values = np.asarray(objective(returns[known]), dtype=np.float64)
    name = getattr(objective, "__qualname__", repr(objective))
    if values.shape != (known.sum(),) or not np.isfinite(values).all():
        raise ContractError(
            f"objective {name} must give a finite number for each of {known.sum()} returns, "
            f"got an array of shape {values.shape}"
        )
    found[known] = values
    return found
