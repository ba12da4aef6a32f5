"""Measure one seat among partners whose policies it does not know (docs/results/partners.md).

python -m benchmarks.partners adapt --players 4 --search sparta --games 200
python -m benchmarks.partners identify --players 4 --games 50

In every game the partners are drawn from the list, independently and uniformly. ``adapt``: one
seat plays the blueprint; a search that takes everybody to play it; the search that is told who they
are; and the same over the posterior of the partners' policies, by exact likelihoods and by learned
ones. All meet the same decks, tables and streams. ``identify``: what the posteriors say of the true
policies.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from hanabi_search_plugin import HanabiGame, Policy, load_policy, upgrade
from hanabi_search_plugin.beliefs.unknown_partners import PartnersBelief
from hanabi_search_plugin.cli.line_ups import partners_of
from hanabi_search_plugin.cli.searches import make_search
from hanabi_search_plugin.cli.table_options import BeliefChoice
from hanabi_search_plugin.core import MakeBelief
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.match import SEARCHES, deal_game
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.registry import load_policies, policy_names

app = CommandLine(__doc__)
console = Console(highlight=False)

TABLES = 4  # what a SeedSequence([seed, use, game]) is for, beside those of ``match``
BLUEPRINT, ALL_ALIKE, TOLD = "blueprint", "search, all play the blueprint", "search, told"
AFTER = (1, 2, 5, 10, 15)  # moves of a partner
FAVOURITE = "evalfn-c:rules=table-2"
BELIEFS = {  # beside --partners
    "exact": BeliefChoice(),
    "learned": BeliefChoice(likelihoods="learned"),
    "exact+prior": BeliefChoice(favourite=FAVOURITE),
    "learned+prior": BeliefChoice(likelihoods="learned", favourite=FAVOURITE),
}

Players = Annotated[int, typer.Option(help="Seats.")]
Partners = Annotated[str, typer.Option(help="Policies that partners are drawn from.")]
Blueprint = Annotated[str, typer.Option("--policy", help="What the seat itself plays.")]
Games = Annotated[int, typer.Option(help="Decks and tables.")]
Seed = Annotated[int, typer.Option(help="Decides on everything.")]
Beliefs = Annotated[str, typer.Option(help=f"Of {', '.join(BELIEFS)}.")]
Resume = Annotated[Path | None, typer.Option(help="Keep finished games here.")]
Bomb = Annotated[str, typer.Option(help="The score when the last life is lost.")]


@dataclasses.dataclass(frozen=True)
class Setting:
    """A game, the list of candidates, and who sits where in each of many games."""

    game: HanabiGame
    own: Policy
    partners: str
    candidates: tuple[Policy, ...]
    seed: int

    def beliefs(self, names: str) -> dict[str, MakeBelief]:
        """Some of BELIEFS over these candidates."""
        return {
            name: partners_of(dataclasses.replace(choice, partners=self.partners), self.game)
            for name, choice in BELIEFS.items()
            if name in names.split(",")
        }

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
    own, candidates = load_policy(policy, game), load_policies(partners, game)
    return Setting(game, own, partners, candidates, seed)


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
    partners: Partners = "mixed-track",
    search: Annotated[str, typer.Option(help="sparta or predictor, say.")] = "sparta",
    budget: Annotated[int, typer.Option(help="Rollouts or iterations of a decision.")] = 2_000,
    rules: Annotated[str, typer.Option(help="Moves that a tree looks at.")] = "all",
    convention: Annotated[str, typer.Option(help="Of these rules.")] = "off",
    evaluation: Annotated[str, typer.Option(help="Estimates of these moves.")] = "none",
    leaves: Annotated[str, typer.Option(help="rollouts or estimates.")] = "rollouts",
    beliefs: Beliefs = "exact,learned",
    games: Games = 200,
    seed: Seed = 1,
    bomb: Bomb = "keep",
    resume: Resume = None,
) -> None:
    """What adapting gains."""
    given = setting(players, policy, partners, bomb, seed)
    options = {
        "rollouts" if search == "sparta" else "iterations": budget,
        "rules": rules, "convention": convention, "evaluation": evaluation, "leaves": leaves,
    }  # fmt: skip
    found = make_search(search, options, threads=1).search
    assert found is not None
    logging.getLogger("hanabi_search_plugin").setLevel(logging.ERROR)  # recoveries are counted
    own, game = given.own, given.game
    makers = given.beliefs(beliefs)
    adapting = {f"search, adapts, {name}": make for name, make in makers.items()}
    agents: dict[str, Callable[[int], Policy]] = {
        BLUEPRINT: lambda number: own,
        ALL_ALIKE: lambda number: upgrade(own, game, found),
        TOLD: lambda number: upgrade(given.table(number, own), game, found),
    }
    for side, make in adapting.items():
        agent = upgrade(own, game, found, belief=make)
        agents[side] = lambda number, agent=agent: agent  # type: ignore[misc]
    for who in agents.values():
        play(given, 0, who(0))  # compiles
    results: dict[tuple[str, int], dict[str, Any]] = {}
    parameters = {
        "game": game.config.to_dict(), "policy": policy, "partners": partners, "search": search,
        "options": options, "seed": seed,
    }  # fmt: skip
    with Checkpoint(resume, parameters) if resume else nullcontext() as kept:
        if kept is not None:
            results |= {(line["side"], line["game"]): line for line in kept.lines}
        for number in track(range(games), console=Console(stderr=True)):
            for side, who in agents.items():
                if (side, number) not in results:
                    line = {"side": side, "game": number} | play(given, number, who(number))
                    results[side, number] = line
                    if kept is not None:
                        kept.append(line)
    scores = {s: np.array([results[s, i]["score"] for i in range(games)]) for s in agents}
    ahead = [f"gain of adapting, {name}" for name in makers]
    table = Table("seat", "score", "gain over the blueprint", *ahead, "CPU s", box=None)
    for side in agents:
        rows = [results[side, i] for i in range(games)]
        table.add_row(
            side,
            with_error(scores[side]),
            "" if side == BLUEPRINT else with_error(scores[side] - scores[BLUEPRINT], sign="+"),
            *(
                "" if side == s else with_error(scores[s] - scores[side], sign="+")
                for s in adapting
            ),
            f"{np.mean([row['cpu'] for row in rows]):.2f}",
        )
    console.print(f"{players} players, {policy} + {search} {budget}, {games} games, seed {seed}")
    console.print(table)
    for side in list(agents)[1:]:
        share = np.mean([results[side, i]["recovered"] for i in range(games)])
        console.print(f"games with a belief that recovered, {side}: {100 * share:.0f} %")


@app.command()
def identify(
    players: Players = 4,
    policy: Blueprint = "piers",
    partners: Partners = "mixed-track",
    beliefs: Beliefs = "exact,learned,learned+prior",
    games: Games = 50,
    seed: Seed = 1,
    bomb: Bomb = "keep",
    resume: Resume = None,
) -> None:
    """The probability of a partner's true policy after so many of its moves."""
    given = setting(players, policy, partners, bomb, seed)
    logging.getLogger("hanabi_search_plugin").setLevel(logging.ERROR)
    makers = given.beliefs(beliefs)
    parameters = {"game": given.game.config.to_dict(), "policy": policy, "partners": partners}
    lines: dict[tuple[str, int], dict[str, Any]] = {}
    with Checkpoint(resume, parameters | {"seed": seed}) if resume else nullcontext() as kept:
        if kept is not None:
            lines |= {(line["belief"], line["game"]): line for line in kept.lines}
        for number in track(range(games), console=Console(stderr=True)):
            for name, make in makers.items():
                if (name, number) not in lines:
                    line = {"belief": name, "game": number} | follow(given, number, make)
                    lines[name, number] = line
                    if kept is not None:
                        kept.append(line)
    console.print(f"{players} players, {games} games: mean probability of a partner's true policy")
    for name in makers:
        table = Table(f"{name}: partner", *(f"{n} moves" for n in AFTER), box=None)
        seen = [lines[name, number]["seen"] for number in range(games)]
        for k, candidate in enumerate(policy_names(partners)):
            mine = [[s for s in game if s["policy"] == k] for game in seen]
            table.add_row(candidate, *(_by_game(mine, n, "chance") for n in AFTER))
        table.add_row("all", *(_by_game(seen, n, "chance") for n in AFTER))
        table.add_row("likeliest is true", *(_by_game(seen, n, "likeliest") for n in AFTER))
        console.print(table)
        spent = np.mean([lines[name, number]["cpu"] for number in range(games)])
        console.print(f"{spent:.2f} CPU s a game")


def follow(given: Setting, number: int, make: MakeBelief) -> dict[str, Any]:
    """What a belief says of every partner of one game, after some of its moves."""
    seat, drawn = given.seat(number), given.drawn(number)
    worlds, stream = deal_game(given.game, given.seed, number)
    table = given.table(number, given.own)
    belief = make((given.own,) * len(table), worlds.view(seat))
    moves, seen, spent = [0] * len(table), [], 0.0
    for turn in play_game(worlds, table, stream, ()):
        future = worlds.select(np.zeros(1, dtype=np.int64))
        event = future.step(np.array([turn.action]))
        if future.terminal[0]:
            break
        began = time.process_time()
        belief = belief.update(event, future.view(seat))
        spent += time.process_time() - began
        moves[turn.seat] += 1
        if turn.seat != seat and moves[turn.seat] in AFTER:
            assert isinstance(belief, PartnersBelief)
            chance = belief.posterior(turn.seat)
            true = drawn[turn.seat]
            seen.append(
                {
                    "policy": true,
                    "moves": moves[turn.seat],
                    "chance": float(chance[true]),
                    "likeliest": bool(chance.argmax() == true),
                }
            )
    return {"seen": seen, "cpu": spent}


def _by_game(games: list[list[dict[str, Any]]], moves: int, what: str) -> str:
    """The mean over games of a game's mean, its standard error, and how many partners."""
    found = [[s[what] for s in game if s["moves"] == moves] for game in games]
    means = np.array([np.mean(game) for game in found if game])
    count = sum(map(len, found))
    return f"{with_error(means)} ({count})" if len(means) > 1 else f"- ({count})"


if __name__ == "__main__":
    app()
