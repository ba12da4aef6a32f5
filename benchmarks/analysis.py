"""Is `hanabi-search analyse` right, and what does it cost? (docs/how_to/analysis.md)

python -m benchmarks.analysis gains --games 200 --resume gains.jsonl
python -m benchmarks.analysis blunders --games 100 --resume blunders.jsonl
python -m benchmarks.analysis cost --games 10

All of 2-player SmartBot. ``gains``: the gains of a searching seat's moves, summed over a game, have
the mean of what the search gains on the same decks, by paired games. ``blunders``: a bad move is
put into a game, which is analysed as far as that; it should be the one that lost most points. What
comes after it does not compete: bots that have been misled make blunders of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from hanabi_search_plugin import HanabiGame, Policy, Sparta, load_policy, upgrade
from hanabi_search_plugin.core.policy import Blueprint, moves_of
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.match import SEARCHES, deal_game
from hanabi_search_plugin.evaluation.playing import RunningGame
from hanabi_search_plugin.hanabi.files.analysis import analyse_game, move_values
from hanabi_search_plugin.hanabi.files.recorded_positions import Candidates, follow
from hanabi_search_plugin.hanabi.files.records import RecordedGame

app = CommandLine(__doc__)
console = Console(highlight=False)

BLUNDER = 2.0  # points that a planted move loses at least
EARLIEST, LATEST = 4, 40  # turns of a blunder

Games = Annotated[int, typer.Option(help="Decks.")]
Seed = Annotated[int, typer.Option(help="Decides on everything.")]
Rollouts = Annotated[int, typer.Option(help="Of each move that is analysed.")]
Resume = Annotated[Path | None, typer.Option(help="Keep finished games here.")]


def play(game: HanabiGame, policies: Blueprint, seed: int, number: int) -> RecordedGame:
    """A game of a seed."""
    worlds, stream = deal_game(game, seed, number)
    deck = worlds.rows[0][-game.config.deck_size :].tolist()  # type: ignore[attr-defined]
    running, actions = RunningGame.begin(worlds, policies, stream, (seed, SEARCHES, number)), []
    while not running.over:
        actions.append(running.decide().action)
        running.play(actions[-1])
    return RecordedGame(
        config=game.config, game=number, deck=tuple(deck), actions=tuple(actions),
        score=int(running.worlds.returns[0, 0]), bomb=game.config.bomb, seed=seed,
    )  # fmt: skip


def gains_of(
    game: HanabiGame, number: int, seed: int, rollouts: int, bot: Policy, agent: Policy
) -> dict[str, Any]:
    """What the agent gained at seat 1, by the sum of its moves and by games in pairs."""
    searched = play(game, (bot, agent), seed, number)
    plain = play(game, (bot, bot), seed, number)
    assert searched.score is not None and plain.score is not None
    total = square = 0.0
    sure = Candidates(((bot,), (bot,)), (("",), ("",)))
    for position in follow(searched, sure, (bot, bot)):
        if position.seat == 1 and position.action is not None:
            belief = position.belief
            rng = np.random.default_rng([seed, number, position.turn])
            chosen = moves_of(bot, belief.view, belief.memory, Streams.spawn(rng, 1))[0]
            if chosen != position.action:
                values = move_values(rng, belief, rollouts, keep=[position.action])
                gain, error = values.difference(position.action, int(chosen))
                total, square = total + gain, square + error**2
    return {"moves": total, "paired": searched.score - plain.score, "stderr": square**0.5}


def bots(game: HanabiGame, epsilon: float) -> tuple[Policy, Candidates]:
    bot = load_policy("smartbot", game)
    return bot, Candidates(((bot,), (bot,)), (("smartbot",), ("smartbot",)), epsilon)


def measured(
    games: int,
    resume: Path | None,
    parameters: dict[str, Any],
    one: Callable[[int], dict[str, Any]],
) -> list[dict[str, Any]]:
    """``one`` of each game, those of an earlier run from its file; with CPU seconds."""
    with Checkpoint(resume, parameters) if resume else nullcontext() as kept:
        done = {line["game"]: line for line in kept.lines} if kept is not None else {}
        for number in track(range(games), console=Console(stderr=True)):
            if number not in done:
                started = time.process_time()
                done[number] = {"game": number} | one(number)
                done[number]["cpu"] = time.process_time() - started
                if kept is not None:
                    kept.append(done[number])
    return [done[number] for number in range(games)]


@app.command()
def gains(
    games: Games = 200, seed: Seed = 1, rollouts: Rollouts = 200, resume: Resume = None
) -> None:
    """The sum of a searching seat's gains beside the paired gain of its games."""
    game = HanabiGame(players=2)
    bot, _ = bots(game, 0.0)
    agent = upgrade(bot, game, Sparta(rollouts=1_000, min_rollouts=20))

    def one(number: int) -> dict[str, Any]:
        return gains_of(game, number, seed, rollouts, bot, agent)

    lines = measured(games, resume, {"measure": "gains", "seed": seed, "rollouts": rollouts}, one)
    moves, paired = (np.array([line[name] for line in lines]) for name in ("moves", "paired"))
    for name, values in (
        ("sum of the moves' gains", moves),
        ("paired gain of the games", paired),
        ("difference", paired - moves),
    ):
        console.print(f"{name}: {with_error(values, 3, '+')}")
    _costs(lines)


@app.command()
def blunders(
    games: Games = 100, seed: Seed = 2, rollouts: Rollouts = 200, resume: Resume = None
) -> None:
    """How often a planted blunder is the move that lost most."""
    game = HanabiGame(players=2)
    bot, candidates = bots(game, 0.1)
    sure = replace(candidates, epsilon=0.0)

    def one(number: int) -> dict[str, Any]:
        record = play(game, (bot, bot), seed, number)
        rng = np.random.default_rng([seed, number])
        wanted = int(rng.integers(EARLIEST, LATEST))
        for position in follow(record, sure, (bot, bot)):
            if position.turn >= wanted and position.action is not None:
                values = move_values(rng, position.belief, 400)
                bad = [a for a in values.actions.tolist() if values.lost(a)[0] >= BLUNDER]
                if bad:
                    planted = int(rng.choice(bad))
                    break
        else:
            return {"turn": None}
        actions = (*record.actions[: position.turn], planted)
        spoiled = replace(record, actions=actions, score=None)
        found = analyse_game(spoiled, candidates, rollouts=rollouts, seed=seed)
        worst = max(found.turns, key=lambda turn: turn.lost)
        return {
            "turn": position.turn, "planted": values.lost(planted)[0], "found": worst.turn,
            "lost": worst.lost, "there": found.turns[position.turn].lost,
        }  # fmt: skip

    lines = measured(
        games, resume, {"measure": "blunders", "seed": seed, "rollouts": rollouts}, one
    )
    planted = [line for line in lines if line["turn"] is not None]
    first = sum(line["turn"] == line["found"] for line in planted)
    console.print(f"planted in {len(planted)} of {games} games; found first in {first}")
    for line in planted:
        if line["turn"] != line["found"]:
            console.print(f"missed: {line}")
    _costs(lines)


@app.command()
def cost(games: Games = 10, seed: Seed = 3, rollouts: Rollouts = 1_000) -> None:
    """CPU seconds of an analysis, of bots known for sure and of one that no candidate is."""
    from hanabi_search_plugin.cli.analyse_command import PARTNERS, SLIPS
    from hanabi_search_plugin.registry import load_policies, policy_names

    game = HanabiGame(players=2)
    bot, sure = bots(game, 0.0)
    several = Candidates((load_policies(PARTNERS, game),) * 2, (policy_names(PARTNERS),) * 2, SLIPS)
    stranger = load_policy("outer", game)
    for name, who, candidates in (
        ("smartbot for sure", bot, sure),
        (f"outer, by {PARTNERS}", stranger, several),
    ):

        def one(
            number: int, who: Policy = who, candidates: Candidates = candidates
        ) -> dict[str, Any]:
            record = play(game, (who, who), seed, number)
            analyse_game(record, candidates, rollouts=rollouts, seed=seed, with_beliefs=True)
            return {}

        one(0)  # compiles
        console.print(name)
        _costs(measured(games, None, {}, one))


def _costs(lines: list[dict[str, Any]]) -> None:
    spent = np.array([line["cpu"] for line in lines])
    console.print(f"CPU seconds a game: {spent.mean():.1f}, at most {spent.max():.1f}")


if __name__ == "__main__":
    app()
