"""One seat among partners drawn at random, whose policies it does not know.

python -m benchmarks.partners adapt --players 4 --search sparta --games 200
python -m benchmarks.partners identify --players 4 --games 50

In every game the partners are drawn from the list, independently and uniformly. ``adapt``: one
seat plays the blueprint; a search that takes everybody to play it; the same search over the
posterior of the partners' policies; and the search that is told who they are. All meet the same
decks, tables and streams. ``identify``: what the posterior says of the true policies.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hanabi_search_plugin.agent import upgrade
from hanabi_search_plugin.blueprints.registry import MIXED_TRACK, load_policies, load_policy
from hanabi_search_plugin.checkpoint import Checkpoint
from hanabi_search_plugin.cli_searches import make_search
from hanabi_search_plugin.game import Event
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.match import SEARCHES, deal_game
from hanabi_search_plugin.policy import Policy
from hanabi_search_plugin.selfplay import play_game
from hanabi_search_plugin.unknown_partners import UnknownPartners

app = typer.Typer(add_completion=False, help=__doc__)
console = Console(highlight=False)

TABLES = 4  # what a SeedSequence([seed, use, game]) is for, beside those of ``match``
SIDES = ("blueprint", "search, all play the blueprint", "search, adapts", "search, told")

Players = Annotated[int, typer.Option(help="Seats.")]
Partners = Annotated[str, typer.Option(help="Policies that partners are drawn from.")]
Blueprint = Annotated[str, typer.Option("--policy", help="What the seat itself plays.")]
Games = Annotated[int, typer.Option(help="Decks and tables.")]
Seed = Annotated[int, typer.Option(help="Decides on everything.")]
Bomb = Annotated[str, typer.Option(help="The score when the last life is lost.")]


@dataclasses.dataclass(frozen=True)
class Setting:
    """A game, the list of candidates, and who sits where in each of many games."""

    game: HanabiGame
    own: Policy
    candidates: tuple[Policy, ...]
    seed: int

    def seat(self, number: int) -> int:
        return number % self.game.num_players

    def drawn(self, number: int) -> list[int]:
        """The candidates that play in a game, one a seat; the own seat's does not count."""
        rng = np.random.default_rng([self.seed, TABLES, number])
        return rng.integers(len(self.candidates), size=self.game.num_players).tolist()

    def table(self, number: int, own: Policy) -> tuple[Policy, ...]:
        table = [self.candidates[k] for k in self.drawn(number)]
        table[self.seat(number)] = own
        return tuple(table)


def setting(players: int, policy: str, partners: str, bomb: Any, seed: int) -> Setting:
    game = HanabiGame(players=players, bomb=bomb)
    config = game.config
    return Setting(game, load_policy(policy, config), load_policies(partners, config), seed)


def play(given: Setting, number: int, own: Policy) -> dict[str, Any]:
    """One game: score, CPU seconds, and how often the belief had to recover."""
    worlds, stream = deal_game(given.game, given.seed, number)
    started, notes = time.process_time(), [""]
    table = given.table(number, own)
    for turn in play_game(worlds, table, stream, (given.seed, SEARCHES, number)):
        if turn.result is not None:
            notes.append(turn.result.note)
    spent = time.process_time() - started
    recovered = sum("recover" in note for note in notes[-1:])
    return {"score": float(worlds.returns[0, 0]), "cpu": spent, "recovered": recovered}


@app.command()
def adapt(
    players: Players = 4,
    policy: Blueprint = "piers",
    partners: Partners = MIXED_TRACK,
    search: Annotated[str, typer.Option(help="sparta or predictor, say.")] = "sparta",
    budget: Annotated[int, typer.Option(help="Rollouts or iterations of a decision.")] = 2_000,
    epsilon: Annotated[float, typer.Option(help="Random moves, in the beliefs.")] = 0.0,
    games: Games = 200,
    seed: Seed = 1,
    bomb: Bomb = "keep",
    resume: Annotated[Path | None, typer.Option(help="Keep finished games here.")] = None,
) -> None:
    """What adapting gains."""
    given = setting(players, policy, partners, bomb, seed)
    found = make_search(search, {"rollouts" if search == "sparta" else "iterations": budget}, 1)
    logging.getLogger("hanabi_search_plugin").setLevel(logging.ERROR)  # recoveries are counted
    own, game = given.own, given.game
    unknown = UnknownPartners(given.candidates, epsilon=epsilon)
    agents = {
        SIDES[0]: lambda number: own,
        SIDES[1]: lambda number: upgrade(own, game, found, epsilon=epsilon),
        SIDES[2]: lambda number: upgrade(own, game, found, belief=unknown),
        SIDES[3]: lambda number: upgrade(given.table(number, own), game, found, epsilon=epsilon),
    }
    for make in agents.values():
        play(given, 0, make(0))  # compiles
    results: dict[tuple[str, int], dict[str, Any]] = {}
    parameters = {
        "game": game.config.to_dict(), "policy": policy, "partners": partners, "search": search,
        "budget": budget, "epsilon": epsilon, "seed": seed,
    }  # fmt: skip
    with Checkpoint(resume, parameters) if resume else nullcontext() as kept:
        if kept is not None:
            results |= {(line["side"], line["game"]): line for line in kept.lines}
        for number in track(range(games), console=Console(stderr=True)):
            for side, make in agents.items():
                if (side, number) not in results:
                    line = {"side": side, "game": number} | play(given, number, make(number))
                    results[side, number] = line
                    if kept is not None:
                        kept.append(line)
    table = Table("seat", "score", "gain over the blueprint", "gain of adapting", "CPU s", box=None)
    scores = {s: np.array([results[s, i]["score"] for i in range(games)]) for s in SIDES}
    for side in SIDES:
        rows = [results[side, i] for i in range(games)]
        table.add_row(
            side,
            _mean(scores[side]),
            "" if side == SIDES[0] else _mean(scores[side] - scores[SIDES[0]], "+"),
            "" if side == SIDES[2] else _mean(scores[SIDES[2]] - scores[side], "+"),
            f"{np.mean([row['cpu'] for row in rows]):.2f}",
        )
    console.print(f"{players} players, {policy} + {search} {budget}, {games} games, seed {seed}")
    console.print(table)
    for side in SIDES[1:]:
        share = np.mean([results[side, i]["recovered"] for i in range(games)])
        console.print(f"games with a belief that recovered, {side}: {100 * share:.0f} %")


@app.command()
def identify(
    players: Players = 4,
    policy: Blueprint = "piers",
    partners: Partners = MIXED_TRACK,
    games: Games = 50,
    seed: Seed = 1,
    bomb: Bomb = "keep",
) -> None:
    """The probability of a partner's true policy after so many of its moves."""
    given = setting(players, policy, partners, bomb, seed)
    unknown, after = UnknownPartners(given.candidates), (1, 2, 5, 10, 15)
    chance: dict[tuple[int, int], list[float]] = {}
    for number in track(range(games), console=Console(stderr=True)):
        seat, drawn = given.seat(number), given.drawn(number)
        worlds, stream = deal_game(given.game, seed, number)
        belief = unknown((given.own,) * players, worlds.view(seat))
        moves = [0] * players
        for turn in play_game(worlds, given.table(number, given.own), stream, (seed, number)):
            future = worlds.select(np.zeros(1, dtype=np.int64))
            event: Event = future.step(np.array([turn.action]))
            if future.terminal[0]:
                break
            belief = belief.update(event, future.view(seat))
            moves[turn.seat] += 1
            if turn.seat != seat and moves[turn.seat] in after:
                true = belief.posterior(turn.seat)[drawn[turn.seat]]
                chance.setdefault((drawn[turn.seat], moves[turn.seat]), []).append(float(true))
    table = Table("partner", *(f"{n} moves" for n in after), box=None)
    names = partners.split(",")
    for k, name in enumerate(names):
        table.add_row(name, *(_share(chance.get((k, n), [])) for n in after))
    table.add_row(
        "all",
        *(_share([x for (_, m), found in chance.items() if m == n for x in found]) for n in after),
    )
    console.print(f"{players} players, {games} games: mean probability of the truth (partners)")
    console.print(table)


def _mean(values: Any, sign: str = "") -> str:
    return f"{values.mean():{sign}.2f} +- {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def _share(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ({len(values)})" if values else "-"


if __name__ == "__main__":
    app()
