"""What a line-up needs before it is played, and what its games will cost."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from hanabi_search_plugin.core.errors import HanabiSearchError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.named_beliefs import GROUNDED
from hanabi_search_plugin.registry import networks
from hanabi_search_plugin.reproduce.measure import UNSEARCHED_FACTOR, Effort, Measures
from hanabi_search_plugin.reproduce.plan import Run

ENOUGH = 5  # games of this machine that say more than what was measured on another


@dataclass(frozen=True)
class Forecast:
    """Games that are still to be played, and CPU seconds of one; None: not known."""

    games: int
    seconds: float | None

    @property
    def total(self) -> float | None:
        """CPU seconds."""
        return None if self.seconds is None else self.games * self.seconds


def forecast(run: Run, effort: Effort, measures: Measures = "scores") -> Forecast:
    """What is left of a measurement, by the games kept of it and by ``costs.json``."""
    expected = _costs().get(run.name)
    if run.search is None and measures == "scores":
        if expected is None:
            expected = _costs()["network" if needs_torch(run) else "bot"]
        return Forecast(UNSEARCHED_FACTOR * effort.games, expected)
    if measures == "beliefs":
        expected = _costs()["beliefs"]
    kept = effort.kept(run, measures)
    finished = [game for game in kept if game.get("side", "policies") == "policies"]
    seconds = [game["cpu_seconds"] for game in finished if "cpu_seconds" in game]
    if len(seconds) >= ENOUGH:
        expected = sum(seconds) / len(seconds)
    return Forecast(effort.games - len(finished), expected)


def needs_torch(run: Run) -> bool:
    """Does it play, train or believe by a network?"""
    learned = run.belief not in (None, GROUNDED)
    named = run.policy.partition(":")[0] in {entry.name for entry in networks()}
    return learned or named or run.training is not None


def lacking(runs: Iterable[Run]) -> dict[str, str]:
    """Why runs cannot be played here, by their names: an extra or a file that is missing, say."""
    found: dict[tuple[object, ...], str | None] = {}  # by what has to be loaded
    out = {}
    for run in runs:
        key = (run.policy, run.config, run.belief, run.training is None)
        if key not in found:
            found[key] = _obstacle(run)
        why = found[key]
        if why is not None:
            out[run.name] = why
    return out


def _obstacle(run: Run) -> str | None:
    try:
        if run.training is not None:
            require_extra("torch", "a training", "torch", "safetensors")
        else:
            run.line_up()
    except HanabiSearchError as error:
        return str(error)
    except ImportError as error:  # half installed
        return f"importing what it needs fails: {error}"
    except OSError as error:  # without a file where a library fails to load
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return None


@functools.cache
def _costs() -> dict[str, float]:
    """CPU seconds a game by the names of runs, and of three kinds of runs; made by
    ``benchmarks/reproduction_costs.py``."""
    file = resources.files("hanabi_search_plugin.reproduce") / "costs.json"
    costs = json.loads(file.read_text())
    assert isinstance(costs, dict)
    return costs
