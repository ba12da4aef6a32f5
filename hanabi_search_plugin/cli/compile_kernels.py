"""``hanabi-search compile``: compile now what would else be compiled at its first use.

Each part does what its name says once, in one short game; what that compiles is kept for later
runs. Nothing is compiled twice: a part whose kernels are there takes seconds.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer
from rich.table import Table

from hanabi_search_plugin.algorithms.ismcts import RisMcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.cli import terminal
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.hanabi.bots.compiled import is_compiled
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.networks.catalogue import network_models
from hanabi_search_plugin.registry import AnyBlueprint, load_policy, policies

FEW = 50  # rollouts or iterations of a decision, enough to enter every loop


def _play(game: HanabiGame, policies: AnyBlueprint) -> None:
    """One game. Raises KeyboardInterrupt, which ``evaluate`` keeps."""
    if evaluate(game, policies, games=1).interrupted:
        raise KeyboardInterrupt


def _bots(game: HanabiGame) -> None:
    for entry in policies():
        bot = load_policy(entry.name, game)
        if is_compiled(bot):
            _play(game, bot)


def _sparta(game: HanabiGame) -> None:
    # SmartBot's rollouts have a loop of their own, all others share one.
    for name in ("smartbot", "piers"):
        searching = upgrade(name, game, Sparta(rollouts=FEW, min_rollouts=1))
        _play(game, (name,) * (game.num_players - 1) + (searching,))


def _joint_sparta(game: HanabiGame) -> None:
    _play(game, upgrade("smartbot", game, JointSparta(rollouts=FEW, min_rollouts=1)))


def _ris_mcts(game: HanabiGame) -> None:
    searching = upgrade("vdb", game, RisMcts(iterations=FEW))
    _play(game, ("vdb",) * (game.num_players - 1) + (searching,))


def _networks(game: HanabiGame) -> None:
    for name, about in network_models().items():
        if any(HanabiConfig(**model["config"]) == game.config for model in about["models"]):
            _play(game, name)


def _environments(game: HanabiGame) -> None:
    from hanabi_search_plugin.wrappers.pettingzoo import raw_env

    env = raw_env(players=game.num_players)
    env.reset(seed=0)
    env.step(game.config.hand_size)  # a play, legal from the first move on
    env.last()


PARTS: dict[str, tuple[Callable[[HanabiGame], None], str]] = {
    "bots": (_bots, ""),
    "sparta": (_sparta, ""),
    "joint-sparta": (_joint_sparta, ""),
    "ris-mcts": (_ris_mcts, ""),
    "networks": (_networks, "torch"),
    "environments": (_environments, "pettingzoo"),
}
"""What may be compiled: what does so, and the module that it needs."""


def compile_kernels(
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="PART", help=f"Of {', '.join(PARTS)}; without any, all of them."),
    ] = None,
    *,
    players: Annotated[
        str, typer.Option(metavar="N[,N...]", help="For games of so many players.")
    ] = "2,3,4,5",
) -> None:
    """Compile for the standard games; other sizes share one set, compiled at its first use."""
    unknown = [part for part in parts or () if part not in PARTS]
    if unknown:
        raise ConfigError(f"a part is one of {', '.join(PARTS)}, got {unknown[0]!r}")
    games = [HanabiGame(players=_number(text)) for text in players.split(",")]
    console = terminal.open_console(None)
    table = Table("part", "players", "CPU seconds", box=None)
    wanted = [(part, game) for game in games for part in parts or PARTS]
    with ExitStack() as stack:
        show = stack.enter_context(terminal.progress_bar(console, "parts", len(wanted)))
        stack.enter_context(terminal.compile_progress(console))
        for done, (part, game) in enumerate(wanted):
            show(done)
            work, module = PARTS[part]
            spent = f"needs {module}"
            if not module or importlib.util.find_spec(module):
                before = compile_seconds()
                work(game)
                taken = compile_seconds() - before
                spent = f"{taken:.1f}" if taken else "nothing new"
            table.add_row(part, str(game.num_players), spent)
    console.print(table)
    console.print(f"{compile_seconds():.0f} CPU seconds in all, kept for later runs")


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"--players takes numbers from 2 to 5, got {text!r}") from None
