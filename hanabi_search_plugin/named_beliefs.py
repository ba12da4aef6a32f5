"""What a search believes, by name, for Python and the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hanabi_search_plugin import plugins
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.core.agent import MakeBelief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.lazy import resolve

EXACT, GROUNDED, PARTICLES, REDEALT = "exact", "grounded", "particles", "redealt"
NAMED = (EXACT, GROUNDED, PARTICLES, REDEALT)  # beliefs that are no file's

_REDEALT = "hanabi_search_plugin.wrappers.openspiel:Redealt"
_MODEL = "hanabi_search_plugin.networks.catalogue:load_belief_model"


def load_belief(
    name: str,
    game: Game,
    *,
    explain: bool = True,
    epsilon: float = 0.0,
    uncertainty: float = 0.0,
) -> MakeBelief | None:
    """What makes the belief of that name; None for "exact", the game's own.

    "particles" is ``Particles``, which takes ``epsilon`` and whose options may follow:
    "particles:particles=5000"; "redealt" is ``wrappers.openspiel.Redealt``. Any other name is that
    of a model, "grounded" or as ``load_belief_model`` knows it: ``Learned(model, explain)``, which
    takes ``uncertainty``. Raises as these do, and ConfigError without ``explain`` where there is no
    model.
    """
    head, *words = name.split(":")
    if head == PARTICLES:
        _require_explain(explain, "particles")
        return Particles(**_options(Particles, head, words), epsilon=epsilon)
    if head == REDEALT:
        _require_explain(explain, "redealt")
        kind = resolve(_REDEALT)
        redealt: MakeBelief = kind(**_options(kind, head, words))
        return redealt
    if name == EXACT:
        _require_explain(explain, "an exact one")
        return None
    learned = Learned(resolve(_MODEL)(name, game, words=NAMED), explain=explain)
    return learned.doubting(uncertainty)


def _options(kind: Any, name: str, words: list[str]) -> dict[str, Any]:
    """What the words after a belief's name set; epsilon is an option of its own."""
    known = [one.name for one in fields(kind) if one.name != "epsilon"]
    chosen: dict[str, Any] = plugins.read_options(f"belief {name}", words, known)
    return chosen


def _require_explain(explain: bool, got: str) -> None:
    if not explain:
        raise ConfigError(f"no-explain is an option of learned beliefs, got {got}")
