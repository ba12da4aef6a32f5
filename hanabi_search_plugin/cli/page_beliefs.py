"""The option for the beliefs that the page of a game shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hanabi_search_plugin.cli.option_names import shown_belief_names
from hanabi_search_plugin.named_beliefs import EXACT, GROUNDED
from hanabi_search_plugin.networks.catalogue import HINTS, SHOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hanabi_search_plugin.hanabi.files.shown_beliefs import ModelBeliefs
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

KINDS = (
    "exact, hints (by hints and copies alone), grounded, a learned model of `hanabi-search list` "
    "or a file of `hanabi-search train belief`."
)

ShownBelief = Annotated[
    str | None,
    typer.Option(
        "--belief",
        metavar="NAME",
        autocompletion=shown_belief_names,
        help=f"What is shown of what seats believe of their hands: {KINDS} Default: exact with "
        "--policy, else hints.",
    ),
]
AnalysedBelief = Annotated[
    str,
    typer.Option(
        "--belief",
        metavar="NAME",
        autocompletion=shown_belief_names,
        help=f"What the page of --out shows of what players believe of their hands: {KINDS} "
        "Moves are valued by exact ones.",
    ),
]


def named_shown_belief(
    name: str, game: HanabiGame, seed: int = 0
) -> ModelBeliefs | Literal["exact", "hints"]:
    """What --belief names. Raises as ``load_belief_model``."""
    from hanabi_search_plugin.hanabi.files.shown_beliefs import ModelBeliefs
    from hanabi_search_plugin.networks.catalogue import (
        belief_models,
        load_belief_model,
        own_beliefs,
    )

    if name in (EXACT, HINTS):
        return cast('Literal["exact", "hints"]', name)
    model = load_belief_model(name, game, words=SHOWN)
    known = name in (GROUNDED, *belief_models(), *own_beliefs())
    return ModelBeliefs(model, name if known else Path(name).name, seed=seed)


def say_strangers(belief: ModelBeliefs, names: Sequence[str]) -> None:
    """Warn where seats play something else than what a model has learned; "" is not known."""
    from hanabi_search_plugin.cli import terminal
    from hanabi_search_plugin.cli.plain_text import printable

    learned = belief.model.policy
    others = [f"P{p} plays {name}" for p, name in enumerate(names) if name not in ("", learned)]
    if learned and others:
        text = f"belief {belief.name} has learned games of {learned}, and {', '.join(others)}"
        terminal.say(f"warning: {printable(text)}")
