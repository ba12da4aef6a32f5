"""The games of an evaluation as a pandas DataFrame. Pandas is loaded when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hanabi_search_plugin.core.errors import MissingExtraError
from hanabi_search_plugin.evaluation.game_table import column
from hanabi_search_plugin.evaluation.match import GameResult

if TYPE_CHECKING:
    import pandas as pd

_SEARCH = (
    *("cpu_seconds", "rollouts", "likelihoods", "searched_moves", "changed_moves"),
    *("fallback_moves", "recovered_moves", "depth"),
)
_NULLABLE = {"lost": "boolean", "lives_left": "Int64", "likelihoods": "Int64", "depth": "Float64"}


def frame_of(
    games: Sequence[GameResult],
    baseline: Sequence[GameResult] | None,
    *,
    seed: int,
    best: float,
    searched: bool,
) -> pd.DataFrame:
    """A row a game; ``best`` is the highest score. Raises MissingExtraError without pandas."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise MissingExtraError("a frame needs pandas: pip install pandas") from None
    columns: dict[str, Any] = {"seed": [seed for _ in games], "game": [one.game for one in games]}
    columns |= _outcomes(games, best)
    if searched:
        columns |= {name: [getattr(game, name) for game in games] for name in _SEARCH}
    if baseline is not None:
        columns |= {f"blueprint_{k}": v for k, v in _outcomes(baseline, best).items()}
        both = zip(games, baseline, strict=True)
        columns["gain"] = [one.score - other.score for one, other in both]
    return pandas.DataFrame(
        {
            name: pandas.Series(values, dtype=_NULLABLE.get(name.removeprefix("blueprint_")))
            for name, values in columns.items()
        }
    )


def _outcomes(games: Sequence[GameResult], best: float) -> dict[str, list[Any]]:
    """How games ended; None: the game counts no lives."""
    return {
        "score": [game.score for game in games],
        "perfect": [game.score == best for game in games],
        "lost": [None if game.lives_left is None else game.lives_left == 0 for game in games],
        "lives_left": [game.lives_left for game in games],
        "turns": [int(moves) for moves in column(games, "moves")],
    }
