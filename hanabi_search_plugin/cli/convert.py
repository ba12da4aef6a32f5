"""``hanabi-search convert``: recorded games from one format to another."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Annotated, get_args

import typer

from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import Bomb
from hanabi_search_plugin.hanabi.files.hanab_live_json import to_hanab_live
from hanabi_search_plugin.hanabi.files.hanab_live_link import to_link
from hanabi_search_plugin.hanabi.files.records import RecordedGame, line_of_record

FORMATS: dict[str, Callable[[RecordedGame], str]] = {
    "hanab-live": lambda game: json.dumps(to_hanab_live(game), separators=(",", ":")),
    "link": to_link,
    "jsonl": line_of_record,
}
"""The line that a game is in each."""


def convert(
    *,
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="Recorded games (JSON lines, .gz), a folder of `hanabi-search record`, games of "
            "hanab.live as JSON, one or one a line, its short links, or one such link itself, a "
            "data file of AH2AC2: it is recognised.",
        ),
    ],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="A game a line (.gz: compressed); - is the standard output."
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="|".join(FORMATS),
            help="hanab-live: its JSON, for shared replays; link: its short link; jsonl: recorded "
            "games, for `hanabi-search replay`.",
            autocompletion=lambda: list(FORMATS),
        ),
    ],
    bomb: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="What a lost last life counts in scores: zero, keep, minus_one. Default: as "
            "recorded; where nothing is, zero, as on hanab.live.",
        ),
    ] = None,
) -> None:
    """Read, play by the rules, write."""
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.hanabi.files.any_games import read_any_games
    from hanabi_search_plugin.hanabi.files.played_out import played_out

    require_choice("to", to, FORMATS)
    rule = _rule(bomb)
    result_files.check_files(out=out)
    console = terminal.open_console(out)
    written = 0

    def lines() -> Iterator[bytes]:
        nonlocal written
        for game in read_any_games(source):
            yield FORMATS[to](played_out(game, rule)).encode() + b"\n"
            written += 1
            show(written)

    with (
        terminal.progress_bar(console, "games", None) as show,
        terminal.compile_progress(console),
        _opened(out) as file,
    ):
        file.writelines(lines())
    terminal.say(f"{counted(written, 'game')} written{'' if out == '-' else f' to {out}'}")


def _rule(bomb: str | None) -> Bomb | None:
    if bomb is None:
        return None
    rules: dict[str, Bomb] = {rule: rule for rule in get_args(Bomb)}
    require_choice("bomb", bomb, rules)
    return rules[bomb]


def _opened(out: str) -> AbstractContextManager[IO[bytes]]:
    from hanabi_search_plugin.atomic_files import atomic_write

    return nullcontext(sys.stdout.buffer) if out == "-" else atomic_write(out)
