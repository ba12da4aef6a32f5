"""``hanabi-search hanab-live bot``: a bot at tables of hanab.live."""

from __future__ import annotations

import getpass
import os
import sys
from typing import Annotated

import numpy as np
import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.searches import ChosenSearch, SearchOptions
from hanabi_search_plugin.cli.table_options import BeliefChoice, Seating, beliefs, seating
from hanabi_search_plugin.core.errors import ConfigError, HanabiSearchError
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.hanab_live.connection import SITE
from hanabi_search_plugin.hanab_live.table_bot import MakePolicy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

PASSWORD = "HANAB_LIVE_PASSWORD"


def bot(
    *,
    username: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"The bot's account, which begins with Bot-. Its password is taken from the "
            f"environment variable {PASSWORD}, or asked for.",
            rich_help_panel="Account",
        ),
    ],
    url: Annotated[
        str, typer.Option(help="Another server of the same kind.", rich_help_panel="Account")
    ] = SITE,
    games: Annotated[
        int | None,
        typer.Option(help="Stop after so many games. Default: never.", rich_help_panel="Run"),
    ] = None,
    table: Annotated[Seating, seating("seats", "search_seats")],
    search: Annotated[ChosenSearch, SearchOptions(threads=True)],
    belief: Annotated[BeliefChoice, beliefs()],
    seed: option.Seed = 0,
) -> None:
    """Sign in, wait to be invited, play."""
    from hanabi_search_plugin.cli import terminal
    from hanabi_search_plugin.cli.line_ups import line_up
    from hanabi_search_plugin.cli.plain_text import one_line
    from hanabi_search_plugin.core.extras import require_extra
    from hanabi_search_plugin.hanab_live.connection import (
        play_at,
        require_bot_name,
        require_url,
        sign_in,
    )
    from hanabi_search_plugin.hanab_live.table_bot import TableBot

    require_bot_name(username)
    require_url(url)
    require_integer("seed", seed, 0)
    if games is not None:
        require_integer("games", games, 1)
    require_extra("hanab-live", "a bot of hanab.live", "websockets")
    terminal.show_warnings(terminal.open_console(None))

    def make_policy(game: HanabiGame, seat: int) -> Policy:
        at_seat = Seating(policy=table.policy, search_seats=str(seat) if search.search else None)
        return line_up(game, at_seat, search, belief).policies[seat]

    _require_some_table(make_policy)
    rng = np.random.default_rng(seed)
    player = TableBot(make_policy, rng, lambda text: terminal.say(one_line(text)))
    cookie = sign_in(url, username, _password())
    terminal.say(f"{username} waits to be invited: write it /join on the site, Ctrl-C ends it")
    play_at(url, cookie, player, games=games)


def _require_some_table(make_policy: MakePolicy) -> None:
    """Raises what ``make_policy`` raises for every number of players."""
    errors: list[HanabiSearchError] = []
    for players in (2, 3, 4, 5):
        try:
            make_policy(HanabiGame(players=players), 1)
            return
        except HanabiSearchError as error:
            errors.append(error)
    raise errors[0]


def _password() -> str:
    """Never an argument: those are seen by everybody on the machine."""
    if password := os.environ.get(PASSWORD):
        return password
    if not sys.stdin.isatty():
        raise ConfigError(f"{PASSWORD} must hold the bot's password where nobody can be asked")
    return getpass.getpass("password: ")
