"""Train the blueprints and belief models that a figure needs, for the rounds that it sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.training.belief_training import BeliefRun
from hanabi_search_plugin.networks.training.self_play import SelfPlayRun
from hanabi_search_plugin.networks.training.training_run import MODEL, TrainingRun
from hanabi_search_plugin.networks.training.training_settings import BeliefSettings, SelfPlay
from hanabi_search_plugin.registry import load_policy
from hanabi_search_plugin.reproduce.plan import Run

BLUEPRINT: dict[str, Any] = {
    "architecture": "masks", "batch": 1024, "rate": 1e-3, "lenient": 0.1, "seed": 0,
}  # fmt: skip
"""Of ``SelfPlay``, as for the small game of docs/how_to/self_play.md."""
BELIEF: dict[str, Any] = {"games": 120, "steps": 20, "batch": 32, "rate": 2e-3, "seed": 0}
"""Of ``BeliefSettings``, as for the models of the package."""
BELIEF_NETWORK: dict[str, Any] = {"hidden": 192, "decoder": 128, "embedding": 32}

Finish = Callable[[str, TrainingRun, int], None]  # a name, what to finish, and all its rounds


def trained(run: Run, folder: Path, finish: Finish) -> Run:
    """``run`` with the policy and, where it searches, the belief model of its ``training``.

    Each is kept in a folder of ``folder`` by its rounds, and learned there, by ``finish``, unless
    it is finished. Raises as ``SelfPlayRun`` and ``BeliefRun`` do.
    """
    training = run.training
    assert training is not None
    name = f"blueprint-{training.blueprint}"
    settings = SelfPlay(config=run.config, iterations=training.blueprint, **BLUEPRINT)
    finish(name, SelfPlayRun(settings, folder / name), training.blueprint)
    policy = f"network:file={folder / name / MODEL}"
    if run.search is None:
        return replace(run, policy=policy)
    game, model = HanabiGame(run.config), f"belief-{training.belief}-of-{name}"
    blueprint = (load_policy(policy, HanabiGame(run.config)),) * game.num_players
    of_belief = BeliefSettings(iterations=training.belief, **BELIEF)
    learning = BeliefRun(
        game, blueprint, of_belief, folder / model, name=name, options=BELIEF_NETWORK
    )
    finish(model, learning, training.belief)
    return replace(run, policy=policy, belief=str(folder / model / MODEL))
