"""``hanabi-search serve``: tables in a browser."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.option_names import shown_belief_names
from hanabi_search_plugin.cli.page_beliefs import KINDS
from hanabi_search_plugin.cli.searches import ChosenSearch, SearchOptions
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
from hanabi_search_plugin.named_beliefs import EXACT

_SERVER = "Server"


def serve(
    *,
    context: typer.Context,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen: an IP address. All but this machine's own lets others in.",
            rich_help_panel=_SERVER,
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: one that is free.", rich_help_panel=_SERVER)] = 8765,
    tables: Annotated[
        int, typer.Option(help="Tables at once, at most.", rich_help_panel=_SERVER)
    ] = 100,
    searches: Annotated[
        int,
        typer.Option(
            help="Searches that compute at once; others wait. Default: 0, one a processor.",
            rich_help_panel=_SERVER,
        ),
    ] = 0,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open your browser.", rich_help_panel=_SERVER)
    ] = False,
    table: Annotated[Seating, seating()],
    search: Annotated[ChosenSearch, SearchOptions()],
    belief: Annotated[BeliefChoice, beliefs()],
    game: Annotated[GameChoice, the_game("game", "observation_type")],
    analysis_belief: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=shown_belief_names,
            help=f"What the analysis afterwards shows of what players believe: {KINDS}",
            rich_help_panel="Analysis",
        ),
    ] = EXACT,
    seed: option.DrawnSeed = None,
) -> None:
    """Open a table, and serve it and those of the form until Ctrl-C."""
    from hanabi_search_plugin.cli import terminal
    from hanabi_search_plugin.cli.table_plans import choices, plan_of_options, plan_of_wish
    from hanabi_search_plugin.core.extras import require_extra
    from hanabi_search_plugin.core.require import require_integer

    require_integer("port", port, 0, 65_535)
    require_integer("tables", tables, 1, 10_000)
    require_integer("searches", searches, 0, 1_000)
    if seed is not None:
        require_integer("seed", seed, 0)
    require_extra("web", "a table in a browser", "starlette", "uvicorn", "websockets")

    from hanabi_search_plugin.serving.web_app import LiveTables
    from hanabi_search_plugin.serving.web_server import listen, require_address, run, usual_threads
    from hanabi_search_plugin.serving.workers import Workers

    address = require_address(host)
    console = terminal.open_console(None)
    terminal.show_warnings(console)
    given = given_options(context)
    if "seats" not in given:  # the first is yours
        names = table.policy.split(",")
        bots = names[1:] if len(names) > 1 else names * (game.config.players - 1)
        table = replace(table, seats=",".join(["human", *bots]))
    table, game = set_table(given | {"seats"}, table, game)
    plan = plan_of_options(game, table, search, belief, analysis_belief)
    terminal.show_warnings(console, plan.policies)
    place = LiveTables(Workers(searches or usual_threads()), plan_of_wish, choices(), tables)
    with listen(address, port) as socket:
        site = socket.address
        for seat, token in place.add(plan, seed).items():
            console.print(f"P{seat}: {site}/seat/{token}/", markup=False, soft_wrap=True)
        start = f"{site}/{place.token}/"
        console.print(f"other tables: {start}", markup=False, soft_wrap=True)
        if not address.is_loopback:
            terminal.say(
                f"warning: others reach this server at {address}, and what goes to and fro is not "
                "encrypted: whoever sees an address plays at its seat"
            )
        terminal.say("Ctrl-C ends it")
        if open_browser:
            webbrowser.open(start)
        run(place, socket)
