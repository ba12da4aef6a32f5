"""Measure what single decisions of cheaper searches are worth (docs/results/lbs.md).

A game's score is mostly the deck's, so that two searches need hundreds of games to be told apart.
Here positions are kept from games of the blueprint, or from games in which the seat searched, each
with the value of every move: the mean of rollouts to the end over the exact belief, drawn for this
alone. The gain of a search is the value of what it plays minus that of the blueprint's move, summed
over a seat's turns of a game: what it would gain at each turn if it searched at that turn only.

python -m benchmarks.decisions values --games 20 --out runs/decisions.jsonl
python -m benchmarks.decisions values --searched GAMES --out runs/searched.jsonl
python -m benchmarks.decisions compare depth=16 depth=16,rollouts=300 exact,threshold=0.15
python -m benchmarks.decisions gains GAMES
"""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Column, Table

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from hanabi_search_plugin import (
    Belief,
    HanabiGame,
    Lbs,
    Learned,
    Policy,
    Sparta,
    Streams,
    load_belief_model,
    load_policy,
)
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core import FloatArray, action_values
from hanabi_search_plugin.core.agent import MakeBelief
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.match import GameResult, Match, deal_game
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.reproduce.lbs_paper import BUDGET

SEAT = 1
R = TypeVar("R")
EXACT = Sparta(**BUDGET)

app = CommandLine(__doc__)
KEPT = Path("runs/decisions.jsonl")


@app.command()
def values(
    policy: Annotated[str, typer.Option(help="A network with a belief model.")] = "rlnet",
    games: Annotated[int, typer.Option(help="Games of the blueprint.")] = 20,
    worlds: Annotated[int, typer.Option(help="Of a position, in which every move is tried.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the games and the searches.")] = 7,
    searched: Annotated[
        Path | None,
        typer.Option(help="Games of that seed, as reproduce keeps them; else the policy's."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where they are kept.")] = KEPT,
) -> None:
    """Keep positions, the value of every move, and what SPARTA plays there; resumable."""
    torch.set_num_threads(1)
    game, player = HanabiGame(players=2), load_policy(policy)
    about = {
        "name": policy, "policy": describe(player), "search": describe(EXACT), "seed": seed,
        "worlds": worlds, "searched": searched and searched.name,
    }  # fmt: skip
    moves = _moves(game, player, searched, seed, games)
    out.parent.mkdir(parents=True, exist_ok=True)
    with Checkpoint(out, about) as checkpoint:
        for index in range(len(checkpoint.lines), games):
            turns = []
            own = exact_belief(game)
            told = seed, index, moves[index]
            for turn, belief, result, seconds in decisions_of(game, player, own, EXACT, *told):
                rng = np.random.default_rng([seed, 99, index, turn])
                drawn, memories = belief.sample(rng, worlds)
                tried = action_values(drawn, result.actions, belief.blueprint, memories, SEAT,
                    Streams.spawn(rng, worlds),
                )  # fmt: skip
                turns.append(
                    {
                        "actions": result.actions.tolist(),
                        "values": tried.mean(axis=1).tolist(),
                        "blueprint": result.blueprint_action,
                        "sparta": result.action,
                        "seconds": seconds,
                    }
                )
            checkpoint.append({"game": index, "moves": moves[index], "turns": turns})
            print(f"game {index}: {len(turns)} turns", flush=True)


@app.command()
def gains(
    searched: Annotated[
        list[Path], typer.Argument(help="Games as reproduce keeps them, of seat 1.")
    ],
    policy: Annotated[str, typer.Option(help="The blueprint of these games.")] = "rlnet",
    games: Annotated[int, typer.Option(help="The first so many of each file.")] = 200,
    worlds: Annotated[int, typer.Option(help="In which a changed move is compared.")] = 100,
    out: Annotated[
        Path | None, typer.Option(help="A folder for finished games; default: beside the games.")
    ] = None,
) -> None:
    """What a search gained in games that it played, by their scores and by its moves; resumable.

    By moves: the sum, over the moves that it changed, of the blueprint's value of its move less
    that of the blueprint's own, in the same worlds of the exact belief. Its mean is that of the
    scores' gain (the performance difference lemma, Kakade and Langford, 2002), without the luck of
    the decks. Both: the mean of the two that errs least, by their covariance over the games. Of
    several files, say of two seeds: of each, and of all their games.
    """
    torch.set_num_threads(1)
    game, player = HanabiGame(players=2), load_policy(policy)
    table = Table(
        Column("", overflow="fold"),
        "games",
        "by scores",
        "by moves",
        "both",
        "moves changed",
        box=None,
    )
    every = []
    for file in searched:
        kept = (out or file.parent) / f"{file.stem}.gains.jsonl"
        lines = _gained(game, player, file, games, worlds, kept)
        by_moves = [sum(line["gained"].values()) for line in lines]
        every.append(np.array([_score_gains(file, games), by_moves]))
        changed = np.mean([len(line["gained"]) for line in lines])
        table.add_row(file.stem, *_both_ways(every[-1]), f"{changed:.1f}")
    if len(every) > 1:
        table.add_row("all", *_both_ways(np.concatenate(every, axis=1)))
    Console().print(table)


def _both_ways(gains: FloatArray) -> tuple[str, ...]:
    """[2, games] by scores and by moves: how many, each, and what they say together."""
    by_scores, by_moves = gains
    apart = by_scores - by_moves  # 0 in the mean
    share = -np.cov(by_moves, apart)[0, 1] / apart.var(ddof=1)
    both = by_moves + share * apart
    return f"{len(both)}", *(with_error(each, sign="+") for each in (*gains, both))


def _score_gains(searched: Path, games: int) -> list[float]:
    """A game: the score with the search less that without it."""
    scores: dict[str, dict[int, float]] = {"policies": {}, "baseline": {}}
    for line in map(json.loads, searched.read_text().splitlines()[1:]):
        scores[line["side"]][line["game"]] = line["score"]
    return [scores["policies"][i] - scores["baseline"][i] for i in range(games)]


def _gained(
    game: HanabiGame, player: Policy, searched: Path, games: int, worlds: int, kept: Path
) -> list[dict[str, Any]]:
    """A line a game: what each of its changed moves gained, by turn."""
    with searched.open() as file:
        seed = json.loads(file.readline())["parameters"]["seed"]
    about = {"policy": describe(player), "games": searched.name, "seed": seed, "worlds": worlds}
    moves = _moves(game, player, searched, seed, games)

    def unsearched(rng: np.random.Generator, belief: Belief) -> int:
        """What the blueprint would play; it draws nothing."""
        view = belief.view
        return int(player.act(view, view.legal, belief.memory, Streams.spawn(rng, 1))[0])

    with Checkpoint(kept, about) as checkpoint:
        lines = list(checkpoint.lines)
        for index in range(len(lines), games):
            gained = {}
            told = seed, index, moves[index]
            for turn, belief, own, _ in decisions_of(
                game, player, exact_belief(game), unsearched, *told
            ):
                if own == moves[index][turn]:
                    continue
                rng = np.random.default_rng([seed, 97, index, turn])
                drawn, memories = belief.sample(rng, worlds)
                moved = np.array([moves[index][turn], own])
                tried = action_values(
                    drawn, moved, belief.blueprint, memories, SEAT,
                    Streams.spawn(rng, worlds),
                )  # fmt: skip
                gained[turn] = float((tried[0] - tried[1]).mean())
            lines.append({"game": index, "gained": gained})
            checkpoint.append(lines[-1])
    return lines[:games]


@app.command()
def compare(
    searches: Annotated[
        list[str],
        typer.Argument(
            help="Options, depth=4,rollouts=300. After the word exact: of an exact belief; after "
            "the word drawn: of hands that explain moves, drawn however few there are; after the "
            "word plain: of hands as the model draws them, whether they explain moves or not"
        ),
    ],
    kept: Annotated[Path, typer.Option("--values", help="What the other command kept.")] = KEPT,
    games: Annotated[int | None, typer.Option(help="The first so many alone.")] = None,
) -> None:
    """The gain and the cost of each search, and of SPARTA, at the positions that were kept."""
    torch.set_num_threads(1)
    header, *lines = [json.loads(line) for line in kept.read_text().splitlines()]
    lines = lines[:games]
    policy, seed = header["parameters"]["name"], header["parameters"]["seed"]
    game, player = HanabiGame(players=2), load_policy(policy)
    model = load_belief_model(policy, game)
    beliefs: dict[str, Any] = {
        "exact": exact_belief(game),
        "drawn": Learned(model, listed=None),
        "plain": Learned(model, explain=False),
    }
    best = np.array([_gains(line, [turn["sparta"] for turn in line["turns"]]) for line in lines])
    cost = np.mean([sum(turn["seconds"] for turn in line["turns"]) for line in lines])
    first = Column("", overflow="fold")
    table = Table(first, "gain a game", "of SPARTA's", "changed", "CPU s", "of SPARTA's", box=None)
    changed = [turn["sparta"] != turn["blueprint"] for line in lines for turn in line["turns"]]
    table.add_row(
        "SPARTA", with_error(best, sign="+"), "", f"{np.mean(changed):.0%}", f"{cost:.2f}", ""
    )
    for options in searches:
        words = options.split(",")
        named = words[0] in beliefs
        belief = beliefs.get(words[0], Learned(model))
        chosen = BUDGET | _options(words[named:])
        whole = words[0] == "exact" and "depth" not in chosen
        search = Sparta(**chosen) if whole else Lbs(**chosen)
        gains, seconds, moved = [], [], []
        for line in lines:
            played, spent = [], 0.0
            told = seed, line["game"], line["moves"]
            for _, _, result, used in decisions_of(game, player, belief, search, *told):
                played.append(result.action)
                spent += used
                moved.append(result.action != result.blueprint_action)
            gains.append(_gains(line, played))
            seconds.append(spent)
        share = np.mean(gains) / best.mean()
        table.add_row(
            options, with_error(gains, sign="+"), f"{share:.0%}", f"{np.mean(moved):.0%}",
            f"{np.mean(seconds):.2f}", f"{np.mean(seconds) / cost:.0%}",
        )  # fmt: skip
    Console().print(table)


def _moves(
    game: HanabiGame, policy: Policy, searched: Path | None, seed: int, games: int
) -> list[list[int]]:
    """The moves of games 0, 1, ...: of the policy alone, or of the games that were ``searched``."""
    kept: dict[int, list[int]] = {}
    if searched is None:
        match = Match(game, (policy,) * game.num_players, "baseline", SEAT, seed)

        def keep(one: GameResult) -> None:
            kept[one.game] = list(one.actions)

        match.play(list(range(games)), Threads(), keep)
    else:
        for line in map(json.loads, searched.read_text().splitlines()[1:]):
            if line["side"] == "policies":
                kept[line["game"]] = line["actions"]
    return [kept[index] for index in range(games)]


def decisions_of(
    game: HanabiGame,
    policy: Policy,
    make: Any,
    search: Callable[[np.random.Generator, Belief], R],
    seed: int,
    index: int,
    moves: list[int],
) -> Iterator[tuple[int, Belief, R, float]]:
    """(turn, belief, decision, CPU seconds since the last) of the seat in a game that was played.

    Seconds are those of beliefs and search, without what compiling took.
    """
    worlds, _ = deal_game(game, seed, index)
    began = _clock()
    belief = make((policy,) * game.num_players, worlds.view(SEAT))
    spent = _clock() - began
    for turn, action in enumerate(moves):
        if worlds.current_player[0] == SEAT:
            began = _clock()
            result = search(np.random.default_rng([seed, 98, index, turn]), belief)
            yield turn, belief, result, spent + _clock() - began
            spent = 0.0
        event = worlds.step(np.array([action]))
        if turn + 1 < len(moves):
            began = _clock()
            belief = belief.update(event, worlds.view(SEAT))
            spent += _clock() - began


def exact_belief(game: HanabiGame) -> MakeBelief:
    """The game's own belief, of (blueprint, first view)."""
    return partial(private_belief, game)


def _clock() -> float:
    return time.thread_time() - compile_seconds()


def _gains(line: dict[str, Any], played: list[int]) -> float:
    """Over a game, of what was ``played`` at its turns."""
    total = 0.0
    for turn, action in zip(line["turns"], played, strict=True):
        value = dict(zip(turn["actions"], turn["values"], strict=True))
        total += value[action] - value[turn["blueprint"]]
    return total


def _options(words: list[str]) -> dict[str, Any]:
    pairs = (word.split("=") for word in words)
    return {name: ast.literal_eval(value) for name, value in pairs}


if __name__ == "__main__":
    app()
