"""The commands that play games: ``demo``, ``play`` and ``evaluate``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.cli.searches import ChosenSearch, SearchOptions
from hanabi_search_plugin.cli.table_options import (
    BeliefChoice,
    GameChoice,
    Seating,
    beliefs,
    seating,
    the_game,
)
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.evaluation import summary

if TYPE_CHECKING:
    from hanabi_search_plugin.cli.line_ups import LineUp
    from hanabi_search_plugin.evaluation.evaluate import Evaluation
    from hanabi_search_plugin.evaluation.match import GameResult

DEMO_SEED = 3  # fixed, so that the demo is the same everywhere: one where the search helps
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
    seed: option.Seed = 0,
    json_file: option.JsonFile = None,
    trace: option.Trace = None,
    save: option.Save = None,
) -> None:
    """Show one game, turn by turn."""
    from hanabi_search_plugin.cli.line_ups import line_up
    from hanabi_search_plugin.cli.result_files import parameters

    who = line_up(game.load(), table, search, belief)
    content = {"command": "play", "parameters": parameters(context)}
    _show(who, seed, content, json_file, trace, save)


def _show(
    who: LineUp,
    seed: int,
    content: dict[str, Any],
    json_file: str | None,
    trace: Path | None = None,
    save: Path | None = None,
) -> None:
    """One game on the terminal, and its files."""
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.cli.shown_game import print_ending, show_game
    from hanabi_search_plugin.evaluation.atomic_files import atomic_write
    from hanabi_search_plugin.hanabi.files.records import write_games

    console = terminal.open_console(json_file)
    require_integer("seed", seed, 0)
    result_files.check_files(json=json_file, trace=trace, save=save)
    terminal.show_warnings(console, who.policies)
    with terminal.compile_progress(console):
        shown = show_game(console, who, seed)
    print_ending(console, who, shown)
    if trace is not None:
        with atomic_write(trace) as file:
            file.writelines(result_files.trace_lines(who.game, shown.result))
    if save is not None:
        write_games(save, [result_files.record(who, shown.result, seed, shown.finished)])
    result_files.write_json(json_file, content | shown.to_dict(who, seed))
    if not shown.finished:
        raise typer.Exit(terminal.INTERRUPTED)


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
    resume: option.Resume = None,
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
    who = line_up(game.load(), table, search, belief)
    result_files.check_files(json=json_file, trace=trace, save=save, resume=resume)
    if save is not None:
        who.hanabi()  # raises now, not after the games
    terminal.show_warnings(console, who.policies)
    finished = 0
    with ExitStack() as stack:
        going_on = resume is not None and resume.exists()
        lines = stack.enter_context(trace.open("ab" if going_on else "wb")) if trace else None
        total = games * (2 if who.searching else 1)
        show = stack.enter_context(terminal.progress_bar(console, "games", total))
        stack.enter_context(terminal.compile_progress(console))

        def on_game(result: GameResult) -> None:
            nonlocal finished
            finished += 1
            show(finished)
            if lines is not None:
                lines.writelines(result_files.trace_lines(who.game, result))
                lines.flush()

        evaluation = run_evaluation(
            who.game,
            who.policies,
            games=games,
            seed=seed,
            threads=threads,
            on_game=on_game,
            resume=resume,
        )
    console.print(evaluation_table(evaluation, who.names))
    if save is not None:
        write_games(save, (result_files.record(who, one, seed) for one in evaluation.games))
    content = {"command": "evaluate", "parameters": result_files.parameters(context)}
    result_files.write_json(json_file, content | evaluation.to_dict())
    if evaluation.interrupted:
        raise typer.Exit(terminal.INTERRUPTED)


def evaluation_table(evaluation: Evaluation, names: tuple[str, ...]) -> Table:
    """What ``print(evaluation)`` shows, with the names that the command line was given."""
    figures = evaluation.to_dict()
    table = Table(
        title=summary.title(figures, names), box=None, padding=(0, 2, 0, 0), title_justify="left"
    )
    for heading in summary.HEADINGS:
        table.add_column(heading, justify="right" if heading else "left")
    for row in summary.rows(figures):
        table.add_row(row.title, *row.cells, style="bold" if row.strong else None)
    return table
