"""What the commands of ``hanabi-search train`` that train networks share. PyTorch when they run."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hanabi_search_plugin.cli.games import game_options
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.training.training_settings import MOST

if TYPE_CHECKING:
    from rich.console import Console

    from hanabi_search_plugin.core.policy import Policy
    from hanabi_search_plugin.evaluation.executor import Executor
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.networks.modules import Network
    from hanabi_search_plugin.networks.training.training_run import Row, TrainingRun

MOST_THREADS = 1024

R = TypeVar("R", bound="TrainingRun")

MODEL = "model.safetensors"  # as networks.training.training_run, which imports PyTorch

NO_START = ("random_start_player", "observation_type")
"""Of the rules: what no training here takes."""

NO_RULES = (*NO_START, "bomb")
"""And where a lost game's score does not matter."""

EvaluationGames = Annotated[
    int, typer.Option(help="New games on which the finished network is measured; 0: none.")
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        help="Stop before a round that could end later than this, in wall time; the same command "
        "goes on. Default: none."
    ),
]
Device = Annotated[str, typer.Option(help="As PyTorch names it.")]
Threads = Annotated[int, typer.Option(help="Threads of PyTorch.")]


def begin(threads: int, evaluation_games: int, device: str = "cpu") -> Console:
    """A console, once PyTorch is there, has its threads and the device.

    Raises UnsupportedError without PyTorch, ConfigError for bad numbers and devices.
    """
    from rich.console import Console

    require_extra("torch", "training", "torch", "safetensors")
    import torch

    require_integer("threads", threads, 1, MOST_THREADS)
    require_integer("evaluation-games", evaluation_games, 0, MOST)
    from hanabi_search_plugin.networks.modules import require_device

    require_device(device)
    torch.set_num_threads(threads)
    return Console(highlight=False)


def to_the_end(
    console: Console,
    begun: Callable[[], R],
    rounds: int,
    line: Callable[[Row, float], str],
    max_seconds: float | None = None,
) -> R:
    """The run that ``begun`` gives, finished; ``line`` says what a round's metrics and its wall
    seconds look like. TensorBoard gets the metrics where it is installed.

    The run is left unfinished where the next round might end more than ``max_seconds`` after the
    command began.
    """
    from hanabi_search_plugin.cli.terminal import compile_progress, notes, progress_bar

    notes_to = notes(console)
    start = time.perf_counter()
    longest = 0.0
    with ExitStack() as stack:
        stack.enter_context(compile_progress(console))
        run = begun()
        if run.finished:
            notes_to.print(f"all {run.done} rounds are done already", soft_wrap=True)
        elif run.done:
            notes_to.print(f"goes on after round {run.done}", soft_wrap=True)
        log = _tensorboard(stack, notes_to, run.folder, run.done)
        bar = progress_bar(console, "rounds", rounds, done=run.done)
        show = stack.enter_context(bar)
        while not run.finished:
            began = time.perf_counter()
            if max_seconds is not None and began - start + longest > max_seconds:
                console.print(f"{max_seconds:g} seconds are over: the same command goes on")
                break
            try:
                row = run.iterate()
            except KeyboardInterrupt:
                notes_to.print("stopped: the same command goes on after the last whole round")
                raise
            log(row)
            longest = max(longest, time.perf_counter() - began)
            text = line(row, time.perf_counter() - began)
            notes_to.print(f"{run.done:>5}  {text}", soft_wrap=True)
            show(run.done)
    return run


def show_games(
    console: Console,
    game: HanabiGame,
    network: Network,
    *,
    games: int,
    seed: int,
    out: Path,
    device: str,
    executor: Executor,
    baseline: Policy | None = None,
    partner: Policy | None = None,
) -> None:
    """The finished network's games as a table, on the decks of ``baseline``; 0: nothing.

    Beside a ``partner`` the network, as the baseline, sits at the last seat alone.
    """
    from hanabi_search_plugin.cli.commands import evaluation_table
    from hanabi_search_plugin.evaluation.evaluate import evaluate
    from hanabi_search_plugin.networks.policy_of_network import network_policy

    def seated(player: Policy) -> Policy | tuple[Policy, ...]:
        return player if partner is None else (*[partner] * (game.num_players - 1), player)

    if games:
        result = evaluate(
            game, seated(network_policy(network, device=device)), games=games, seed=seed,
            baseline=baseline and seated(baseline), executor=executor,
        ).whole()  # fmt: skip
        console.print(evaluation_table(result, (str(out),)))


def show_use(
    console: Console, out: Path, config: HanabiConfig, *, options: str, python: str, more: bool
) -> None:
    """Say where the finished model is, and how to use it.

    ``options`` are those of `hanabi-search evaluate`, ``python`` is an expression, and MODEL and
    GAME stand in them for the file and the game. ``more``: the training has ``--start``.
    """
    from hanabi_search_plugin.cli.terminal import notes
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

    path = str(out / MODEL)
    play = f"hanabi-search evaluate {options.replace('MODEL', path)}"
    line = " ".join([*map(shlex.quote, play.split(" ")), *game_options(config)])
    code = python.replace("MODEL", path).replace("GAME", repr(HanabiGame(config)))
    lines = [f"the model is {path}", f"  play it: {line}", f"  in Python: {code}"]
    if more:
        lines.append(f"  train it further: --start {shlex.quote(path)}, with another --out")
    for text in lines:
        notes(console).print(text, markup=False, soft_wrap=True)


def _tensorboard(
    stack: ExitStack, notes_to: Console, folder: Path, done: int
) -> Callable[[Row], None]:
    """Writes a row of metrics; ``stack`` ends the writer, which has a thread of its own.

    What was logged of rounds after the ``done`` first is hidden: they are done again.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return lambda row: None
    command = f"tensorboard --logdir {shlex.quote(str(folder))}"
    notes_to.print(f"{command} shows the curves", markup=False, soft_wrap=True)
    writer = SummaryWriter(str(folder), purge_step=done + 1)
    stack.callback(writer.close)

    def log(row: Row) -> None:
        for name, value in row.items():
            writer.add_scalar(name, value, int(row["iteration"]))
        writer.flush()

    return log
