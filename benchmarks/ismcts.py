"""Measure IS-MCTS beside OpenSpiel's bots: speed, head to head (docs/results/tree_search.md).

python -m benchmarks.ismcts speed                  # beside OpenSpiel's bots: one core, CPU time
python -m benchmarks.ismcts native                 # trees of native Hanabi
python -m benchmarks.ismcts versus --deals 2000    # OpenSpiel's C++ bot, both sides of every deal
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np
import pyspiel
import typer
from open_spiel.python.algorithms import ismcts, mcts
from rich.console import Console
from rich.table import Table

from benchmarks.command_line import CommandLine
from hanabi_search_plugin import (
    Belief,
    HanabiGame,
    MoIsmcts,
    RisMcts,
    RuleAgent,
    Streams,
    UniformPolicy,
    load_policy,
    private_belief,
    upgrade,
)
from hanabi_search_plugin.algorithms.ismcts import TreeSearch
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.hanabi import TABLE_II
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

GAMES = ("kuhn_poker", "leduc_poker", "leduc_poker(players=3)")
C = 2.0  # score points
ITERATIONS = 2_000
PHASES = {"early": 5, "middle": 30, "late": 45}  # moves made

app = CommandLine(__doc__)
console = Console(highlight=False)


def like_theirs(game: OpenSpielGame, iterations: int) -> MoIsmcts:
    """OpenSpiel's bots spend their first simulation on the root, and key nodes by what is seen."""
    span = game.return_range[1] - game.return_range[0]
    return MoIsmcts(iterations=iterations - 1, nodes="observations", exploration=C / span)


def compiled_bot(spiel: Any, iterations: int, seed: int) -> Any:
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    return pyspiel.ISMCTSBot(seed, evaluator, C, iterations, -1, final)


def python_bot(spiel: Any, iterations: int, seed: int) -> Any:
    random = np.random.RandomState(seed)
    evaluator = mcts.RandomRolloutEvaluator(1, random)
    return ismcts.ISMCTSBot(spiel, evaluator, C, iterations, random_state=random)


def seconds(decide: Callable[..., Any], *arguments: Any) -> float:
    started = time.process_time()
    decide(*arguments)
    return time.process_time() - started


def our_rate(search: TreeSearch, belief: Belief) -> float:
    """Iterations a CPU second, the best of three decisions."""
    assert search.iterations is not None
    spent = min(seconds(search, np.random.default_rng(0), belief) for _ in range(3))
    return search.iterations / spent


@app.command()
def speed(
    repeats: Annotated[int, typer.Option(help="Decisions of each, one after the other.")] = 15,
) -> None:
    """Iterations a second beside OpenSpiel's bots, uniform rollouts: medians."""
    table = Table(
        "game, first decision", "ours", "OpenSpiel, Python", "times", "OpenSpiel, C++", box=None
    )
    for name in GAMES:
        game = OpenSpielGame(name)
        worlds = game.deal(np.random.default_rng(0), 1)
        state, seat = worlds.states[0], int(worlds.current_player[0])
        search, blueprint = like_theirs(game, ITERATIONS), (UniformPolicy(),) * game.num_players
        spent = []
        for seed in range(repeats):
            belief = search.wrap(private_belief(game, blueprint, worlds.view(seat)))
            bots = [make(game.spiel, ITERATIONS, seed) for make in (python_bot, compiled_bot)]
            ours = seconds(search, np.random.default_rng(seed), belief)
            spent.append([ours, *(seconds(bot.step, state) for bot in bots)])
        times = np.array(spent)
        our, python, compiled = (f"{r:,.0f}" for r in ITERATIONS / np.median(times, axis=0))
        ratio = np.median(times[:, 1] / times[:, 0])
        table.add_row(name, our, python, f"{ratio:.1f}", compiled)
    console.print(table)


@app.command()
def native() -> None:
    """Iterations a second of the trees of native Hanabi, compiled and by the generic loop."""
    table = Table("4-player Hanabi", *PHASES, "generic, middle", box=None)
    guides = {"all moves": None, "nine rules": RuleAgent(TABLE_II, convention="any-giver")}
    for kind in (MoIsmcts, RisMcts):
        for words, guide in guides.items():
            for rollouts in ("random", "vdb"):
                search_in = kind(iterations=ITERATIONS, guide=guide)
                row = []
                for moves in PHASES.values():
                    belief = hanabi_belief(search_in, rollouts, moves)
                    row.append(our_rate(search_in, belief))
                with generic():
                    belief = hanabi_belief(search_in, rollouts, PHASES["middle"])
                    few = kind(iterations=200, guide=guide)
                    row.append(our_rate(few, belief))
                name = f"{kind.__name__}, {words}, {rollouts} rollouts"
                table.add_row(name, *(f"{r:,.0f}" for r in row))
    console.print(table)


@contextmanager
def generic() -> Iterator[None]:
    """Trees of native Hanabi by the algorithm's own loop."""
    compiled = HanabiGame.start_tree
    HanabiGame.start_tree = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        HanabiGame.start_tree = compiled  # type: ignore[method-assign]


def hanabi_belief(search: TreeSearch, rollouts: str, moves: int) -> Belief:
    """Of whoever is to move after so many moves of a game of Van den Bergh's agents."""
    game = HanabiGame(players=4, bomb="keep")
    blueprint = (load_policy(rollouts, game),) * 4
    players = (load_policy("vdb", game),) * 4
    for seed in range(100):
        worlds = game.deal(np.random.default_rng(seed), 1)
        beliefs = [search.wrap(private_belief(game, blueprint, worlds.view(p))) for p in range(4)]
        memories, rng = start_memories(worlds, players), Streams(np.zeros(1, dtype=np.uint64))
        for _ in range(moves):
            if worlds.terminal[0]:
                break
            event = worlds.step(choose(worlds, players, memories, rng))
            memories = observe_all(worlds, event.player, event.action, players, memories)
            beliefs = [b.update(event, worlds.view(p)) for p, b in enumerate(beliefs)]
        if not worlds.terminal[0]:
            belief = beliefs[int(worlds.current_player[0])]
            if search(np.random.default_rng(0), belief).reason != "single_move":
                return belief
    raise AssertionError("no game of vdb is that long")


@app.command()
def versus(
    deals: Annotated[int, typer.Option(help="Each is played from every seat.")] = 2_000,
    iterations: Annotated[int, typer.Option(help="Of a decision.")] = 100,
) -> None:
    """Our agent against OpenSpiel's C++ bots at equal settings: points a game, standard error."""
    table = Table("game", "ours", "standard error", "deals", box=None)
    for name in GAMES:
        game = OpenSpielGame(name)
        agent = upgrade(UniformPolicy(), game, like_theirs(game, iterations))
        won = np.array(
            [
                np.mean(
                    [play(game, agent, seat, deal, iterations) for seat in range(game.num_players)]
                )
                for deal in range(deals)
            ]
        )
        error = won.std(ddof=1) / np.sqrt(deals)
        table.add_row(name, f"{won.mean():+.3f}", f"{error:.3f}", f"{deals:,}")
    console.print(table)


def play(game: OpenSpielGame, agent: Any, seat: int, deal: int, iterations: int) -> float:
    """What ``agent`` earns at ``seat``, the bots at all others."""
    rng = np.random.default_rng([deal, seat])
    worlds = game.deal(np.random.default_rng(deal), 1)
    bots = [compiled_bot(game.spiel, iterations, int(rng.integers(2**31))) for _ in range(3)]
    memory = agent.start(worlds.view(seat))
    while not worlds.terminal[0]:
        player = int(worlds.current_player[0])
        if player == seat:
            action = agent.decide(memory[0], rng).action
        else:
            action = bots[player].step(worlds.states[0])
        event = worlds.step(np.array([action]))
        if not worlds.terminal[0]:
            memory = agent.observe(worlds.view(seat), event, memory)
    return float(worlds.returns[0, seat])


if __name__ == "__main__":
    app()
