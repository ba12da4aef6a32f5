"""Time a move of RIS-MCTS without rollouts (docs/results/tree_search.md).

python -m benchmarks.evalfn --games 20

The CIG competition allowed 40 ms a move.
"""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command_line import CommandLine
from hanabi_search_plugin import HanabiGame, RisMcts, upgrade
from hanabi_search_plugin.core.rollout import observe_all, start_memories
from hanabi_search_plugin.evaluation.match import SEARCHES, deal_game
from hanabi_search_plugin.hanabi.bots.evalfn import EvalFn, shipped

LIMIT = 0.040  # seconds

app = CommandLine(__doc__)


@app.command()
def main(
    games: Annotated[int, typer.Option(help="Of each row; everybody searches.")] = 20,
    iterations: Annotated[int, typer.Option(help="Of a decision.")] = 1_000,
) -> None:
    """CPU milliseconds of a decision and of following one move, one core, 2 to 5 players."""
    guide = EvalFn(shipped("evalfn-3"), convention="any-giver")
    search = RisMcts(iterations=iterations, guide=guide, leaves="estimates")
    names = ("players", "decisions", "mean", "median", "99 %", "most", "over 40 ms", "following")
    table = Table(*names, title=f"{iterations:,} iterations, CPU ms", box=None)
    for players in (2, 3, 4, 5):
        game = HanabiGame(players=players, bomb="keep")
        agent = upgrade(guide, game, search)
        decided, followed = [], []
        for number in range(games + 1):  # the first compiles
            worlds, _ = deal_game(game, 1, number)
            memories = start_memories(worlds, (agent,) * players)
            rng = np.random.default_rng([1, SEARCHES, number])
            while not worlds.terminal[0]:
                seat = int(worlds.current_player[0])
                began = time.thread_time()
                action = np.array([agent.decide(memories[seat][0], rng).action])
                ended = time.thread_time()
                event = worlds.step(action)
                if not worlds.terminal[0]:
                    memories = observe_all(
                        worlds, event.player, action, (agent,) * players, memories
                    )
                if number > 0:
                    decided.append(ended - began)
                    followed.append((time.thread_time() - ended) / players)
        spent = 1e3 * np.array(decided)
        cells = (spent.mean(), np.median(spent), np.quantile(spent, 0.99), spent.max())
        over = f"{100 * (spent > 1e3 * LIMIT).mean():.2f} %"
        figures = (f"{cell:.1f}" for cell in cells)
        following = f"{1e3 * np.mean(followed):.2f}"
        table.add_row(str(players), f"{len(spent):,}", *figures, over, following)
    Console(highlight=False).print(table)


if __name__ == "__main__":
    app()
