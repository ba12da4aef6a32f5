"""The table of speeds: this package beside OpenSpiel, in one run on one core.

CPU time of this process, medians of several runs. Compilation happens before anything is timed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from hanabi_search_plugin.core.rollout import start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.compiled import scripts_of
from hanabi_search_plugin.hanabi.engine import row_kernels
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.hanabi.search import compiled_rollouts
from hanabi_search_plugin.registry import load_policy

RUNS = 7


def rate(work: Callable[[], int], runs: int = RUNS) -> float:
    """Units of work a CPU second: the median of ``runs`` after one that is not counted."""
    work()
    rates = []
    for _ in range(runs):
        began = time.process_time()
        done = work()
        rates.append(done / (time.process_time() - began))
    return statistics.median(rates)


def random_games(players: int, n: int = 200_000) -> Callable[[], int]:
    """Games of uniform random legal moves, dealt and played."""
    game = HanabiGame(players=players)
    seeds = np.arange(n, dtype=np.uint64)
    returns, moves = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)

    def work() -> int:
        row_kernels.play_random(game.dims, game.template, seeds, False, returns, moves)
        return n

    return work


def bot_games(name: str, players: int, n: int = 20_000) -> Callable[[], int]:
    """A compiled bot in self-play."""
    game = HanabiGame(players=players)
    worlds = game.deal(np.random.default_rng(0), n)
    blueprint = (load_policy(name, game),) * players
    memories = start_memories(worlds, blueprint)
    scripts = scripts_of(blueprint, worlds.game)
    assert scripts is not None
    streams = Streams(np.zeros(n, dtype=np.uint64))

    def work() -> int:
        compiled_rollouts.play_out(worlds, scripts, memories, streams)
        return n

    return work


def observations(players: int, n: int = 50_000) -> Callable[[], int]:
    """OpenSpiel's observation vector as uint8, from views."""
    game = HanabiGame(players=players)
    view = game.deal(np.random.default_rng(0), n).view(1)

    def work() -> int:
        view.observation("openspiel")
        return n

    return work


def openspiel_random_games(n: int = 300) -> Callable[[], int]:
    """The same games in OpenSpiel's hanabi, driven from Python."""
    import pyspiel

    game = pyspiel.load_game("hanabi", {"players": 2})
    rng = np.random.default_rng(0)

    def work() -> int:
        for _ in range(n):
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    actions, chances = zip(*state.chance_outcomes(), strict=True)
                    pick = int(np.searchsorted(np.cumsum(chances), rng.random() * 0.999999))
                    state.apply_action(actions[pick])
                else:
                    legal = state.legal_actions()
                    state.apply_action(legal[int(rng.integers(len(legal)))])
        return n

    return work


def openspiel_compiled_games(n: int = 1000) -> Callable[[], int]:
    """The same games in OpenSpiel's own loop in C++, with its uniform random bots."""
    import pyspiel

    game = pyspiel.load_game("hanabi", {"players": 2})
    bots = [pyspiel.make_uniform_random_bot(player, 1) for player in range(2)]

    def work() -> int:
        for seed in range(n):
            pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)
        return n

    return work


def openspiel_observations(n: int = 3000) -> Callable[[], int]:
    """The same vector from OpenSpiel, by its quickest way from Python."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    game = pyspiel.load_game("hanabi", {"players": 2})
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    observer = make_observation(game)

    def work() -> int:
        for _ in range(n):
            observer.set_from(state, 1)
        return n

    return work


def searched_games(games: int = 20) -> dict[str, float]:
    """SPARTA over SmartBot in a process of its own that compiles everything anew."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "hanabi_search_plugin", "evaluate", "--policy", "smartbot"),
            *("--search", "sparta", "--games", str(games), "--seed", "7", "--json", "-"),
        ]
        environment = {**os.environ, "HANABI_SEARCH_CACHE_DIR": folder}
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def second_start() -> float:
    """Seconds from starting the command line to the first move of the demo, kernels cached."""
    command = [sys.executable, "-m", "hanabi_search_plugin", "demo"]
    subprocess.run(command, capture_output=True, check=True)  # compiles what is not cached
    waits = []
    for _ in range(3):
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("move"):
                    waits.append(time.perf_counter() - began)
                    break
            process.kill()
    return statistics.median(waits)


def bench() -> None:
    """Measure and print the table."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)

    games, compiled = rate(openspiel_random_games()), rate(openspiel_compiled_games())
    seen = rate(openspiel_observations())
    table = Table(title="one core, CPU time, medians", box=None, padding=(0, 2, 0, 0))
    for heading in ("a second", "ours", "OpenSpiel, Python", "ratio", "OpenSpiel, C++", "ratio"):
        table.add_column(heading, justify="left" if heading == "a second" else "right")

    def row(measure: str, ours: float, *theirs: float) -> None:
        beside = [text for rate in theirs for text in (f"{rate:,.0f}", f"{ours / rate:,.0f} x")]
        table.add_row(measure, f"{ours:,.0f}", *beside)

    for players in (2, 3, 4, 5):
        row(
            f"random games, {players}p",
            rate(random_games(players)),
            *((games, compiled) if players == 2 else ()),
        )
    for name in ("smartbot", "hatbot", "hatbot-b", "vdb"):
        for players in (2, 3, 4, 5):
            row(f"{name} games, {players}p", rate(bot_games(name, players)))
    row("observations, 2p", rate(observations(2)), seen)
    console.print(table)
    searched = searched_games()
    console.print(
        f"SPARTA over SmartBot, 2 players, {searched['games']:.0f} games: "
        f"{searched['cpu_seconds_per_game']:.2f} CPU seconds and "
        f"{searched['rollouts_per_game']:,.0f} rollouts a game; "
        f"peak memory {searched['peak_rss_mb']:.0f} MB with "
        f"{searched['compile_seconds']:.0f} s of compilation",
        soft_wrap=True,
    )
    console.print(f"second start of the demo to its first move: {second_start():.2f} s (wall)")
