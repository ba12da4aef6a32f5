"""The commands that play games: ``demo``, ``play`` and ``evaluate``."""

from __future__ import annotations

import secrets
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.cluster_options import ClusterChoice, the_cluster
from hanabi_search_plugin.cli.fitted_table import FittedTable
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.cli.searches import ChosenSearch, SearchOptions, require_no_search
from hanabi_search_plugin.cli.table_options import (
    BeliefChoice,
    GameChoice,
    Seating,
    beliefs,
    given_options,
    seating,
    set_table,
    the_game,
)
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.evaluation import summary

if TYPE_CHECKING:
    from rich.console import Console

    from hanabi_search_plugin.cli.line_ups import LineUp
    from hanabi_search_plugin.cli.shown_game import Shown
    from hanabi_search_plugin.core.agent import SearchAgent
    from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
    from hanabi_search_plugin.evaluation.match import GameResult

DEMO_SEED = 3  # fixed, so that the demo is the same everywhere: one where the search helps
DRAWN_SEEDS = 2**31  # so many
DEMO = {"policy": "smartbot", "search": "sparta", "players": 2}


def demo(
    *,
    context: typer.Context,
    table: Annotated[Seating, seating("policy", "seats")],
    search: Annotated[Sparta, Fields(Sparta, panel="Search", only=("rollouts", "threads"))],
    seed: option.Seed = DEMO_SEED,
    json_file: option.JsonFile = None,
) -> None:
    """Show SPARTA over SmartBot."""
    from hanabi_search_plugin.cli.line_ups import line_up
    from hanabi_search_plugin.cli.result_files import parameters

    chosen = ChosenSearch("sparta", search)
    who = line_up(GameChoice().load(), table, chosen, BeliefChoice())
    _show(who, seed, {"command": "demo", "parameters": parameters(context) | DEMO}, json_file)


def play(
    *,
    context: typer.Context,
    table: Annotated[Seating, seating()],
    search: Annotated[ChosenSearch, SearchOptions(threads=True)],
    belief: Annotated[BeliefChoice, beliefs()],
    game: Annotated[GameChoice, the_game("game")],
    seed: option.DrawnSeed = None,
    json_file: option.JsonFile = None,
    trace: option.Trace = None,
    save: option.Save = None,
) -> None:
    """Show one game, turn by turn."""
    from hanabi_search_plugin.cli import terminal
    from hanabi_search_plugin.cli.line_ups import adviser, line_up
    from hanabi_search_plugin.cli.result_files import parameters

    table, game = _set_table(context, table, game)
    console = terminal.open_console(json_file)
    terminal.show_warnings(console)  # of what sits down, too
    if trace is not None and search.search is None:
        require_no_search({"trace": str(trace)})
    who = line_up(game.load(), table, search, belief)
    if seed is None:
        seed = secrets.randbelow(DRAWN_SEEDS)
        console.print(f"seed {seed}")
    content = {"command": "play", "parameters": parameters(context)}
    advises = adviser(who, search) if who.people else None
    _show(who, seed, content, json_file, trace, save, advises)


def _set_table(
    context: typer.Context, table: Seating, game: GameChoice
) -> tuple[Seating, GameChoice]:
    """As ``set_table``. Raises ConfigError where a person should play without a terminal."""
    given = given_options(context)
    if not given & {"seats", "policy"} and not sys.stdin.isatty():
        raise ConfigError(
            "play seats you at seat 0, which needs a terminal: name who plays, as in "
            "--seats smartbot,smartbot"
        )
    return set_table(given, table, game)


def _show(
    who: LineUp,
    seed: int,
    content: dict[str, Any],
    json_file: str | None,
    trace: Path | None = None,
    save: Path | None = None,
    adviser: SearchAgent | None = None,
) -> None:
    """One game on the terminal, and its files."""
    from hanabi_search_plugin.atomic_files import atomic_write
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.cli.shown_game import print_ending, show_game
    from hanabi_search_plugin.hanabi.files.records import write_games

    console = terminal.open_console(json_file)
    require_integer("seed", seed, 0)
    result_files.check_files(json=json_file, trace=trace, save=save)
    terminal.show_warnings(console, who.policies)
    with terminal.compile_progress(console):
        shown = show_game(console, who, seed, adviser)
    print_ending(console, who, shown, seed)
    if trace is not None:
        with atomic_write(trace) as file:
            file.writelines(result_files.trace_lines(who.game, shown.result))
    if save is not None:
        write_games(save, [result_files.record(who, shown.result, seed, shown.finished)])
        saved = f"saved in {save}: hanabi-search replay {save}"
        console.print(saved, markup=False, soft_wrap=True)
    result_files.write_json(json_file, content | shown.to_dict(who, seed))
    if who.people and shown.result.actions and sys.stdin.isatty():
        _offer_replay(console, who, seed, shown)
    if shown.interrupted:
        raise typer.Exit(terminal.INTERRUPTED)


def _offer_replay(console: Console, who: LineUp, seed: int, shown: Shown) -> None:
    """Ask whether the game is to be shown again, with all hands open."""
    from hanabi_search_plugin.cli.line_input import LineReader
    from hanabi_search_plugin.cli.shown_game import show_again

    question = "Type replay to see it again with open hands, or Enter to leave: "
    leaving = ("", "quit", "q", "exit", "leave")
    try:
        while True:
            answer = LineReader(console).read(question, ["replay", "quit"]).strip().lower()
            if answer in leaving:
                return
            if answer in ("replay", "r"):
                show_again(console, who, seed, shown)
    except (EOFError, KeyboardInterrupt):
        console.print()


def evaluate(
    *,
    context: typer.Context,
    table: Annotated[Seating, seating("seats")],
    search: Annotated[ChosenSearch, SearchOptions()],
    belief: Annotated[BeliefChoice, beliefs()],
    game: Annotated[GameChoice, the_game()],
    games: option.Games = 100,
    seed: option.Seed = 0,
    threads: option.Threads = 1,
    cluster: Annotated[ClusterChoice, the_cluster()],
    resume: option.Resume = None,
    skip_failed: Annotated[
        bool,
        typer.Option(
            "--skip-failed",
            help="Go on where a game fails, and list those at the end.",
            rich_help_panel="Run",
        ),
    ] = False,
    json_file: option.JsonFile = None,
    trace: option.Trace = None,
    save: option.Save = None,
) -> None:
    """Play many games, with and without the search on the same decks."""
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.cli.line_ups import line_up
    from hanabi_search_plugin.evaluation.evaluate import evaluate as run_evaluation
    from hanabi_search_plugin.hanabi.files.records import write_games

    console = terminal.open_console(json_file)
    terminal.show_warnings(console)  # of what sits down, too
    if trace is not None and search.search is None:
        require_no_search({"trace": str(trace)})
    who = line_up(game.load(), table, search, belief)
    result_files.check_files(json=json_file, trace=trace, save=save, resume=resume)
    if save is not None:
        who.hanabi()  # raises now, not after the games
    terminal.show_warnings(console, who.policies)
    with ExitStack() as stack:
        traced = stack.enter_context(result_files.TraceFile(trace, resume)) if trace else None
        executor = stack.enter_context(cluster.executor(threads))
        stack.enter_context(terminal.compile_progress(console))

        def on_game(result: GameResult) -> None:
            assert traced is not None
            traced.add(who.game, result)

        evaluation = run_evaluation(
            who.game,
            who.policies,
            games=games,
            seed=seed,
            executor=executor,
            on_game=None if traced is None else on_game,
            resume=resume,
            skip_failed=skip_failed,
            progress=terminal.notes(console),
        )
    console.print(evaluation_table(evaluation, who.names))
    for note in summary.notes(evaluation.to_dict()):
        console.print(note, markup=False, soft_wrap=True)
    for skipped in evaluation.skipped:
        console.print(f"skipped {skipped}", markup=False, soft_wrap=True)
    if save is not None:
        write_games(save, (result_files.record(who, one, seed) for one in evaluation.games))
    content = {"command": "evaluate", "parameters": result_files.parameters(context)}
    result_files.write_json(json_file, content | evaluation.to_dict())
    if evaluation.interrupted:
        if resume is not None:
            terminal.say(f"stopped: the same command goes on after the games in {resume}")
        else:
            terminal.say("stopped: with --resume FILE the same command would go on from here")
        raise typer.Exit(terminal.INTERRUPTED)


def evaluation_table(evaluation: Evaluation, names: tuple[str, ...]) -> FittedTable:
    """What ``print(evaluation)`` shows, with the names that the command line was given."""
    figures = evaluation.to_dict()
    rows = summary.rows(figures, evaluation.baseline_names)
    return FittedTable(
        summary.headings(figures),
        [(row.title, *row.cells) for row in rows],
        title=summary.title(figures, names),
        strong=frozenset(number for number, row in enumerate(rows) if row.strong),
    )
