"""What a search believes, by name, for Python and the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hanabi_search_plugin import plugins
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.core.agent import MakeBelief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.lazy import resolve

EXACT, GROUNDED = "exact", "grounded"
DRAWN = {  # beliefs that draw worlds where there are too many to list
    "particles": "hanabi_search_plugin.beliefs.particles:Particles",
    "seatwise": "hanabi_search_plugin.beliefs.seatwise:Seatwise",
    "redealt": "hanabi_search_plugin.wrappers.openspiel:Redealt",
}
NAMED = (EXACT, GROUNDED, *DRAWN)  # beliefs that are no file's

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

    "particles" is ``Particles``, which takes ``epsilon``, "seatwise" ``Seatwise`` and "redealt"
    ``wrappers.openspiel.Redealt``; options may follow: "particles:particles=5000". Any other name
    is that of a model, "grounded" or as ``load_belief_model`` knows it: ``Learned(model,
    explain)``, which takes ``uncertainty``. Raises as these do, and ConfigError without ``explain``
    where there is no model.
    """
    head, *words = name.split(":")
    if head in DRAWN:
        _require_explain(explain, head)
        kind = resolve(DRAWN[head])
        known = [one.name for one in fields(kind) if one.name not in ("epsilon", "explained_by")]
        options: dict[str, Any] = plugins.read_options(f"belief {head}", words, known)
        if head == "particles":
            options["epsilon"] = epsilon
        drawn: MakeBelief = kind(**options)
        return drawn
    if name == EXACT:
        _require_explain(explain, "an exact one")
        return None
    learned = Learned(resolve(_MODEL)(name, game, words=NAMED), explain=explain)
    return learned.doubting(uncertainty)


def _require_explain(explain: bool, got: str) -> None:
    if not explain:
        raise ConfigError(f"no-explain is an option of learned beliefs, got {got}")
