"""What each command of ``hanabi-search`` does with its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hanabi_search_plugin import plugins
from hanabi_search_plugin.cli import render, shared
from hanabi_search_plugin.cli.bench import run as run_bench
from hanabi_search_plugin.cli.searches import NONE, SEARCHES
from hanabi_search_plugin.cli.shown_game import print_ending, show_game
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.evaluation import summary
from hanabi_search_plugin.evaluation.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.evaluate import Evaluation
from hanabi_search_plugin.evaluation.evaluate import evaluate as run_evaluation
from hanabi_search_plugin.evaluation.match import GameResult
from hanabi_search_plugin.evaluation.provenance import versions
from hanabi_search_plugin.hanabi.bots.scores import self_play_scores
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files.records import read_games, write_games
from hanabi_search_plugin.hanabi.files.replay import replay as replay_records
from hanabi_search_plugin.jit import compile_progress
from hanabi_search_plugin.networks.catalogue import EXACT, GROUNDED, belief_models, network_models
from hanabi_search_plugin.registry import networks, policies

INTERRUPTED = 130
DEMO = {"policy": "smartbot", "search": "sparta", "players": 2}


def play(settings: Mapping[str, Any], command: str) -> None:
    """``demo`` and ``play``: one game, turn by turn."""
    console = shared.open_console(settings["json_file"])
    who = shared.line_up(settings, seats=settings.get("seats"), search_threads=settings["threads"])
    trace, save, seed = settings.get("trace"), settings.get("save"), settings["seed"]
    require_integer("seed", seed, 0)
    shared.check_files(json=settings["json_file"], trace=trace, save=save)
    shared.show_warnings(console, who)
    with compile_progress(console):
        shown = show_game(console, who, seed)
    result = shown.result
    print_ending(console, who, shown)
    if trace is not None:
        with atomic_write(trace) as file:
            file.writelines(shared.trace_lines(who.game, result))
    if save is not None:
        write_games(save, [shared.record(who, result, seed, shown.finished)])
    content = {"command": command, "parameters": shared.parameters(settings)}
    shared.write_json(settings["json_file"], content | shown.to_dict(who, seed))
    if not shown.finished:
        raise typer.Exit(INTERRUPTED)


def evaluate(settings: Mapping[str, Any]) -> None:
    """``evaluate``: many games, on the same decks with and without a search."""
    console = shared.open_console(settings["json_file"])
    who = shared.line_up(settings)
    trace, save, resume = settings["trace"], settings["save"], settings["resume"]
    shared.check_files(json=settings["json_file"], trace=trace, save=save, resume=resume)
    if save is not None:
        who.hanabi()  # raises now, not after the games
    shared.show_warnings(console, who)
    finished = 0
    with ExitStack() as stack:
        going_on = resume is not None and resume.exists()
        lines = stack.enter_context(trace.open("ab" if going_on else "wb")) if trace else None
        total = settings["games"] * (2 if who.searching else 1)
        show = stack.enter_context(shared.progress_bar(console, "games", total))
        stack.enter_context(compile_progress(console))

        def on_game(result: GameResult) -> None:
            nonlocal finished
            finished += 1
            show(finished)
            if lines is not None:
                lines.writelines(shared.trace_lines(who.game, result))
                lines.flush()

        evaluation = run_evaluation(
            who.game,
            who.policies,
            games=settings["games"],
            seed=settings["seed"],
            threads=settings["threads"],
            on_game=on_game,
            resume=resume,
        )
    console.print(evaluation_table(evaluation, who.names))
    if save is not None:
        seed = settings["seed"]
        write_games(save, (shared.record(who, game, seed) for game in evaluation.games))
    content = {"command": "evaluate", "parameters": shared.parameters(settings)}
    shared.write_json(settings["json_file"], content | evaluation.to_dict())
    if evaluation.interrupted:
        raise typer.Exit(INTERRUPTED)


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


def replay(settings: Mapping[str, Any]) -> None:
    """``replay``: recorded games, checked by the engine and compared with a policy."""
    console = shared.open_console(settings["json_file"])
    shared.check_files(json=settings["json_file"])
    shared.show_warnings(console)
    names = settings["policy"]

    def blueprint(config: HanabiConfig) -> Any:
        return shared.blueprint_of(names, config)

    with shared.progress_bar(console, "games", None) as show, compile_progress(console):
        report = replay_records(
            read_games(settings["file"]),
            None if names is None else blueprint,
            bomb=settings["bomb"],
            seed=settings["seed"],
            on_games=show,
        )
    _print_replay(console, report)
    content = {"command": "replay", "parameters": shared.parameters(settings)}
    content |= report.to_dict() | {"versions": versions()}
    shared.write_json(settings["json_file"], content)


def _print_replay(console: Console, report: Any) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name in ("games", "moves", "illegal", "score_mismatches", "lives_mismatches", "unfinished"):
        table.add_row(name.replace("_", " "), f"{getattr(report, name):,}")
    if report.bombed:
        rule = report.bomb or "no single rule fits"
        table.add_row("bombed games", f"{report.bombed}, recorded score: {rule}")
    if report.agreement is not None:
        share = f"{100 * report.agreement:.2f} % of {report.decisions:,} decisions"
        table.add_row("agreement", share)
    console.print(table)
    for problem in report.problems:
        console.print(problem, markup=False, soft_wrap=True)
    first = report.first_disagreement
    if first is not None:
        console.print(f"first disagreement: {first.source}: {first}", markup=False, soft_wrap=True)
        config, row = first.worlds.game.config, first.worlds.rows[0]
        seats = ("",) * config.players
        console.print(render.board(config, row, seats), end="")


def bench() -> None:
    """``bench``: the table of speeds."""
    run_bench(Console(highlight=False))


def list_names() -> None:
    """``list``: policies, searches and games, and whose they are."""
    console = Console(highlight=False)
    shared.show_warnings(console)
    table = _names_table("policy")
    for entry in policies():
        options = "".join(f"\n  :{name}  {text}" for name, text in entry.options.items())
        table.add_row(entry.name, entry.description + options, entry.source)
    _add_plugins(table, "policy", [entry.name for entry in (*policies(), *networks())])
    console.print(table)
    console.print()
    console.print(_self_play_table())
    console.print()
    console.print(_networks_table())
    console.print()
    table = _names_table("search")
    for search in SEARCHES.values():
        table.add_row(search.name, search.what, search.source)
    table.add_row(NONE, "the policies as they are", "")
    _add_plugins(table, "search", [*SEARCHES, NONE])
    console.print(table)
    console.print()
    table = _names_table("belief")
    table.add_row(EXACT, "every world, by Bayes' rule; of the game itself", "this package")
    table.add_row(GROUNDED, "what hints and visible cards allow, by copies left", "this package")
    for name, about in belief_models().items():
        lines = [about["description"]]
        for model in about["models"]:
            game = ", ".join(f"{key} {value}" for key, value in model["config"].items())
            both = f"{model['cross_entropy']:.2f}, grounded {model['grounded']:.2f}"
            lines.append(f"  {game}: {both} nats a card")
        table.add_row(name, "\n".join(lines), "this package")
    console.print(table)
    console.print()
    table = _names_table("game")
    table.add_row(shared.HANABI, "native Hanabi, set by options of the commands", "this package")
    _add_plugins(table, "game", [shared.HANABI])
    console.print(table)


def _names_table(kind: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in (kind, "what it is", "source"):
        table.add_column(heading)
    return table


def _add_plugins(table: Table, kind: plugins.Kind, own: Sequence[str]) -> None:
    for plugin in plugins.working(kind, own):
        options = "".join(f"\n  :{name}  {text}" for name, text in plugin.options.items())
        what = Text(plugin.description + options)  # another's words: no markup
        table.add_row(plugin.name, what, f"plugin: {plugin.source}")


def _networks_table() -> Table:
    """Networks, the games they were trained for, and their mean scores in these."""
    table = _names_table("network")
    for entry in networks():
        lines = [entry.description]
        for model in network_models().get(entry.name, {}).get("models", ()):
            game = ", ".join(f"{name} {value}" for name, value in model["config"].items())
            (zero, _), (keep, _) = model["self_play"]["zero"], model["self_play"]["keep"]
            lines.append(f"  {game}: {zero:.2f} / {keep:.2f}")
        lines += [f"  :{name}  {text}" for name, text in entry.options.items()]
        table.add_row(entry.name, "\n".join(lines), entry.source)
    return table


def _self_play_table() -> Table:
    """Means of the policies by themselves, both conventions of the last life."""
    table = Table(
        title="mean scores in self-play: a lost game counts nothing / keeps its points",
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    table.add_column("policy")
    scores = self_play_scores()
    for players in ("2", "3", "4", "5"):
        table.add_column(f"{players} players", justify="right")
    for entry in policies():
        rows = scores.get(entry.name, {})
        cells = [f"{rows[p]['zero'][0]:.2f} / {rows[p]['keep'][0]:.2f}" for p in sorted(rows)]
        table.add_row(entry.name, *cells)
    return table
