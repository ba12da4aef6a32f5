"""Count steps a second of Hanabi as tensors, beside the compiled engine (docs/results/gpu.md).

    python -m benchmarks.tensor_steps --device cuda

A step is one move in one game, uniformly drawn from the legal ones; games that end begin anew. The
second column also encodes what the seat to move sees, as "v0-1" for a network. A second table says
what each part of a step costs, at the largest number of games. Games by a network are dealt and
played to their end. A processor is measured by the CPU time of one thread, a GPU by the clock; best
of several rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command_line import CommandLine
from hanabi_search_plugin import HanabiGame, Streams, load_policy
from hanabi_search_plugin.core.policy import as_blueprint
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.engine import row_kernels
from hanabi_search_plugin.hanabi.engine.encoding import encode
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding
from hanabi_search_plugin.networks.tensors.tensor_constants import Tensor
from hanabi_search_plugin.networks.tensors.tensor_encoding import encoded
from hanabi_search_plugin.networks.tensors.tensor_rollout import (
    TensorPlayers,
    play_out,
    uniform_moves,
)
from hanabi_search_plugin.networks.tensors.tensor_streams import TensorStreams
from hanabi_search_plugin.networks.tensors.tensor_worlds import TensorWorlds

ROUNDS = 3
STEPS = 32  # of all games between two looks at the clock
RESTART_EVERY = 8  # steps
ENGINE_GAMES = 4096  # that the engine steps at once

app = CommandLine(__doc__)


def rate(work: Callable[[], int], device: str, seconds: float) -> float:
    """Units of work a second: the best of ROUNDS after one call that is not counted."""

    def now() -> float:
        if device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    work()
    best = 0.0
    for _ in range(ROUNDS):
        began, done = now(), work()
        while (spent := now() - began) < seconds / ROUNDS:
            done += work()
        best = max(best, done / spent)
    return best


def tensor_steps(
    game: HanabiGame, n: int, device: str, seen: bool, compiled: bool
) -> Callable[[], int]:
    streams = TensorStreams.spawn(np.random.default_rng(0), n, device)
    worlds = TensorWorlds.deal(game, streams)
    encoding = make_encoding("v0-1", game.config)

    def move(words: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        worlds, streams = TensorWorlds(game, words), TensorStreams(state)
        if seen:
            public, private = encoded(encoding, worlds, worlds.current_player)
        worlds.step(uniform_moves(worlds.legal, streams))
        return (streams.state, public, private) if seen else (streams.state,)

    play = torch.compile(move, dynamic=False) if compiled else move

    def work() -> int:
        made = torch.zeros((), dtype=torch.int64, device=device)
        for step in range(STEPS):
            if step % RESTART_EVERY == 0:
                worlds.restart(worlds.terminal, streams)
            made += (~worlds.terminal).sum()
            streams.state = play(worlds.words, streams.state)[0]
        return int(made)

    return work


def engine_steps(game: HanabiGame, seen: bool) -> Callable[[], int]:
    """One compiled loop of whole games, or with observations batch by batch."""
    if not seen:
        returns, moves = (np.empty(ENGINE_GAMES, dtype=np.int64) for _ in range(2))
        seeds = np.arange(ENGINE_GAMES, dtype=np.uint64)

        def play() -> int:
            row_kernels.play_random(game.dims, game.template, seeds, False, returns, moves)
            return int(moves.sum())

        return play
    rng = np.random.default_rng(0)
    worlds = game.deal(rng, ENGINE_GAMES)

    def work() -> int:
        for _ in range(STEPS):
            ended = np.flatnonzero(worlds.rows[:, TURN] < 0)
            worlds.rows[ended] = game.deal(rng, len(ended)).rows
            turns = worlds.rows[:, TURN]
            for seat in range(game.num_players):
                part = HanabiWorlds(game, worlds.rows[turns == seat])
                encode(game.config, part.view(seat).rows, seat, "packed")
            noise = rng.random((ENGINE_GAMES, game.num_actions), dtype=np.float32)
            worlds.step(np.where(worlds.legal, noise, -1.0).argmax(axis=1))
        return STEPS * ENGINE_GAMES

    return work


def parts(game: HanabiGame, n: int, device: str, seconds: float) -> dict[str, float]:
    """Games a second of each part of a step by itself."""
    streams = TensorStreams.spawn(np.random.default_rng(0), n, device)
    worlds, encoding = TensorWorlds.deal(game, streams), make_encoding("v0-1", game.config)
    actions = uniform_moves(worlds.legal, streams)
    calls: dict[str, Callable[[], object]] = {
        "legal moves": lambda: worlds.legal,
        "uniform draws": lambda: uniform_moves(worlds.legal, streams),
        "encoding v0-1": lambda: encoded(encoding, worlds, worlds.current_player),
        "restart": lambda: worlds.restart(worlds.terminal, streams),
        "step": lambda: worlds.step(actions),  # the last one, since games end by it
    }

    def counted(call: Callable[[], object]) -> Callable[[], int]:
        def work() -> int:
            for _ in range(STEPS):
                call()
            return STEPS * n

        return work

    return {name: rate(counted(call), device, seconds) for name, call in calls.items()}


def network_games(name: str, players: int, n: int, device: str) -> tuple[float, float]:
    """Games a second on the device, and through the processor, of a network of the package."""
    game, rng = HanabiGame(players=players), np.random.default_rng(0)
    policy = load_policy(f"{name}:device={device}", game)
    streams = TensorStreams.spawn(rng, n, device)

    def on_device() -> int:
        worlds = TensorWorlds.deal(game, streams)
        play_out(worlds, TensorPlayers(policy, worlds), streams)
        return n

    def through_processor() -> int:
        self_play(game.deal(rng, n), as_blueprint(policy, players), Streams.spawn(rng, n))
        return n

    return rate(on_device, device, 0.0), rate(through_processor, device, 0.0)


@app.command()
def main(
    device: Annotated[str, typer.Option(help="cpu, or a GPU as PyTorch calls it.")] = "cpu",
    players: Annotated[str, typer.Option(help="Numbers of players.")] = "2,3,4,5",
    games: Annotated[str, typer.Option(help="Games at once.")] = "1024,16384,131072",
    networks: Annotated[str, typer.Option(help="Of the package, for 2 players.")] = (
        "smartnet,lstmnet"
    ),
    network_batch: Annotated[int, typer.Option(help="Games at once by a network.")] = 1024,
    seconds: Annotated[float, typer.Option(help="For each figure.")] = 1.0,
    compiled: Annotated[bool, typer.Option("--compile", help="Steps by torch.compile.")] = False,
) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    name = "one core" if device == "cpu" else torch.cuda.get_device_name(device)
    table = Table("a second", "steps", "steps, seen", box=None, title=f"tensors on {name}")
    sizes = [int(size) for size in games.split(",")]
    for count in (int(each) for each in players.split(",")):
        game = HanabiGame(players=count)
        engine = [rate(engine_steps(game, seen), "cpu", seconds) for seen in (False, True)]
        table.add_row(f"{count} players, engine, one core", *(f"{x:,.0f}" for x in engine))
        for n in sizes:
            tensors = [
                rate(tensor_steps(game, n, device, seen, compiled), device, seconds)
                for seen in (False, True)
            ]
            label = f"{count} players, {n:,} games as tensors"
            table.add_row(label, *(f"{x:,.0f}" for x in tensors))
    Console().print(table)
    table = Table(f"{sizes[-1]:,} games, 2 players", "nanoseconds a game", box=None)
    for part, found in parts(HanabiGame(), sizes[-1], device, seconds).items():
        table.add_row(part, f"{1e9 / found:,.1f}")
    Console().print(table)
    if not networks:
        return
    table = Table("games a second by a network", "tensors", "views and arrays", "ratio", box=None)
    for each in networks.split(","):
        ours, theirs = network_games(each, 2, network_batch, device)
        table.add_row(each, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.1f} x")
    Console().print(table)


if __name__ == "__main__":
    app()
