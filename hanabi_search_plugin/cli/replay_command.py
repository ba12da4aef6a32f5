"""``hanabi-search replay``: recorded games, checked by the engine and compared with a policy."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.option_names import policy_names
from hanabi_search_plugin.cli.plain_text import printable
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.registry import blueprint_of


def replay(
    *,
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Recorded games, of any format that convert reads."),
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            autocompletion=policy_names,
            help="Compare each recorded move with this policy's (one name, or one a seat).",
        ),
    ] = None,
    bomb: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="What a bombed game's score must follow: zero, keep, minus_one; "
            "auto takes the record's own rule, or any.",
        ),
    ] = "auto",
    seed: option.Seed = 0,
    json_file: option.JsonFile = None,
) -> None:
    """Replay, and print what was found."""
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.cli.line_ups import per_seat
    from hanabi_search_plugin.evaluation.provenance import versions
    from hanabi_search_plugin.hanabi.files import replay as engine
    from hanabi_search_plugin.hanabi.files.any_games import read_any_games
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

    require_integer("seed", seed, 0)
    console = terminal.open_console(json_file)
    result_files.check_files(json=json_file)
    terminal.show_warnings(console)

    def blueprint(config: HanabiConfig) -> Any:
        assert policy is not None
        return blueprint_of(per_seat(policy, config.players, "policy"), HanabiGame(config))

    with terminal.progress_bar(console, "games", None) as show, terminal.compile_progress(console):
        report = engine.replay(
            read_any_games(file),
            None if policy is None else blueprint,
            bomb=cast(Any, bomb),
            seed=seed,
            on_games=show,
        )
    _print_replay(console, report)
    content = {"command": "replay", "parameters": result_files.parameters(context)}
    content |= report.to_dict() | {"versions": versions()}
    result_files.write_json(json_file, content)


def _print_replay(console: Console, report: Any) -> None:
    from hanabi_search_plugin.rendering import colored_text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name in ("games", "moves", "illegal", "score_mismatches", "lives_mismatches", "unfinished"):
        table.add_row(name.replace("_", " "), f"{getattr(report, name):,}")
    if report.bombed:
        rule = report.bomb or "no single rule fits"
        table.add_row("bombed games", f"{report.bombed}, recorded score: {rule}")
    if report.agreement is not None:
        share = f"{100 * report.agreement:.2f} % of {counted(report.decisions, 'decision')}"
        table.add_row("agreement", share)
    console.print(table)
    for problem in report.problems:
        console.print(printable(str(problem)), markup=False, soft_wrap=True)
    first = report.first_disagreement
    if first is not None:
        message = printable(f"first disagreement: {first.source}: {first}")
        console.print(message, markup=False, soft_wrap=True)
        config, row = first.worlds.game.config, first.worlds.rows[0]
        seats = ("",) * config.players
        console.print(colored_text.board(config, row, seats), end="")
