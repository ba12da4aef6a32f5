"""Is it its belief for which SPARTA's program loses so much in Table 4? (docs/results/sparta.md)

    python -m benchmarks.drawn_copies --games 200 --resume runs/drawn-copies

Both seats search, each as if the other followed SmartBot, with uncertainty 0.05 and a threshold of
0: the paper has 14.41 there, ours more than 20. One difference is known. When the searcher draws a
card, the authors' program gives each identity that is left the same chance, however many copies of
it there are. So games are played twice on the same decks, with exact beliefs and with theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import typer
from rich.console import Console

from hanabi_search_plugin import HanabiGame, Sparta, evaluate, load_policy, upgrade
from hanabi_search_plugin.core.game import Event, View
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules

app = typer.Typer(add_completion=False, help=__doc__)


class EvenDraws(HandBelief):
    """Weighs a card that its seat draws in mid-game without the copies that are left of it."""

    def update(self, event: Event, view: View, *, by_blueprint: bool = True) -> Self:
        new = super().update(event, view, by_blueprint=by_blueprint)
        if int(event.player[0]) != self.seat or int(event.action[0]) >= 2 * len(self.hinted):
            return new
        if new.present < self.present:  # the deck is empty
            return new
        new = new.fully_enumerated()
        last = new.known - 1
        card = (new.hands >> 5 * last) & 31
        held = sum((((new.hands >> 5 * slot) & 31) == card) for slot in range(last))
        ways = (new.unseen[card] - held).astype(np.float64)
        given = new.likelihood if len(new.likelihood) else np.ones(len(new.hands))
        return replace(new, likelihood=given / ways)


@dataclass(frozen=True)
class Doubting:
    """Makes beliefs of one kind, which doubt partners as Table 4 does."""

    even: bool
    uncertainty: float

    def __call__(self, blueprint: Blueprint, view: View) -> HandBelief:
        kind = EvenDraws if self.even else HandBelief
        assert isinstance(view.game, HanabiRules)
        return kind.start(view.game, blueprint, view, uncertainty=self.uncertainty)


@app.command()
def main(
    games: Annotated[int, typer.Option(help="Decks.")] = 200,
    uncertainty: Annotated[float, typer.Option(help="Of the beliefs.")] = 0.05,
    threshold: Annotated[float, typer.Option(help="Of the search.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Decides on everything.")] = 7,
    resume: Annotated[Path | None, typer.Option(help="Finished games: two files.")] = None,
) -> None:
    """Play the games, and compare the two beliefs."""
    console, game = Console(highlight=False), HanabiGame(players=2, bomb="zero")
    bot, search = load_policy("smartbot", game), Sparta(threshold=threshold)
    scores = {}
    for name, even in (("exact", False), ("even", True)):
        agent = upgrade(bot, game, search, belief=Doubting(even, uncertainty))
        kept = None if resume is None else resume.with_name(f"{resume.name}-{name}.jsonl")
        found = evaluate(
            game, (agent, agent), games=games, seed=seed, baseline=bot, resume=kept, progress=True
        )
        scores[name] = found.whole().scores
        console.print(f"{name} beliefs: {_mean(scores[name])}")
    console.print(f"exact minus even: {_mean(scores['exact'] - scores['even'])}")


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.2f} +- {values.std(ddof=1) / len(values) ** 0.5:.2f}"


if __name__ == "__main__":
    app()
