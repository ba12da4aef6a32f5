"""``hanabi-search decode``: observation vectors shown as boards."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.text import Text

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.option_groups import Given
from hanabi_search_plugin.core.array_files import MAGIC, read_npy
from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.plain_json import parse_json
from hanabi_search_plugin.core.whole_files import read_stream, read_whole
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

if TYPE_CHECKING:
    from hanabi_search_plugin.hanabi.files.observation import SeenGame

_UNSEEN = ("random_start_player", "bomb")  # of the rules, by an observation


def decode(
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]",
            help="One observation or a list of them, JSON or NPY; - is the standard input.",
        ),
    ] = "-",
    seat: Annotated[int, typer.Option(help="Whose observation it is.")] = 0,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="openspiel, packed or v0.")
    ] = None,
    known: Annotated[dict[str, Any], Given(HanabiConfig, without=_UNSEEN)],
    json_file: option.JsonFile = None,
) -> None:
    """Read vectors, find out their configuration, show each."""
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.hanabi.files.observation import configuration_of, rows_of, seen
    from hanabi_search_plugin.rendering import colored_text

    console = terminal.open_console(json_file)
    result_files.check_files(json=json_file)
    vectors = load_vectors(file)
    with terminal.compile_progress(console):
        config, encoding = configuration_of(vectors, seat=seat, encoding=encoding, **known)
        rows = rows_of(config, vectors, seat=seat, encoding=encoding)
    views = [seen(config, row, seat) for row in rows]
    console.print(
        f"{config.players} players, {counted(config.colors, 'colour')}, "
        f"{counted(config.ranks, 'rank')}, "
        f"{config.observation_type} as {encoding}, seen by P{seat}"
    )
    for number, (row, view) in enumerate(zip(rows, views, strict=True)):
        if len(views) > 1:
            console.rule(f"observation {number}")
        names = tuple("" for _ in range(config.players))
        console.print(colored_text.board(config, row, names, you=seat), end="")
        console.print(_last_move(view), end="")
    content = {
        "command": "decode",
        "config": config.to_dict(),
        "encoding": encoding,
        "observations": [_without_config(view) for view in views],
    }
    result_files.write_json(json_file, content)


def load_vectors(source: str) -> NDArray[Any]:
    """[B, N] from a file of JSON or NPY, "-" for the standard input; one vector [N] is a batch.

    Raises RecordError for what is neither, OSError for a file that cannot be read.
    """
    name = "the standard input" if source == "-" else source
    raw = read_stream(sys.stdin.buffer, name) if source == "-" else read_whole(source)
    try:
        vectors = read_npy(raw) if raw.startswith(MAGIC) else np.array(parse_json(raw))
    except (ValueError, OverflowError) as error:  # numpy's and json's
        raise RecordError(f"{name}: expected numbers as JSON or NPY: {error}") from None
    if vectors.ndim not in (1, 2) or vectors.dtype.kind not in "biuf":
        raise RecordError(
            f"{name}: expected one observation or a list of them, got {vectors.dtype} of shape "
            f"{vectors.shape}"
        )
    return np.atleast_2d(vectors)


def _last_move(view: SeenGame) -> Text:
    from hanabi_search_plugin.rendering import colored_text

    return colored_text.labelled(
        "last move", Text(view.last_move.words if view.last_move else "none")
    )


def _without_config(view: SeenGame) -> dict[str, Any]:
    return {name: value for name, value in view.to_dict().items() if name != "config"}
