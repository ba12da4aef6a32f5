"""``hanabi-search decode``: observation vectors shown as boards."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from hanabi_search_plugin.cli import render, shared
from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi.files.observation import SeenGame, configuration_of, rows_of, seen
from hanabi_search_plugin.jit import compile_progress

_NPY = b"\x93NUMPY"
_GIVEN = ("players", "colors", "ranks", "hand_size", "information_tokens", "life_tokens",
          "observation_type")  # fmt: skip


def decode(settings: Mapping[str, Any]) -> None:
    """Read vectors, find out their configuration, show each."""
    console = shared.open_console(settings["json_file"])
    shared.check_files(json=settings["json_file"])
    source, seat = settings["file"], settings["seat"]
    vectors = load_vectors(source)
    known = {name: settings[name] for name in _GIVEN if settings[name] is not None}
    with compile_progress(console):
        config, encoding = configuration_of(
            vectors, seat=seat, encoding=settings["encoding"], **known
        )
        rows = rows_of(config, vectors, seat=seat, encoding=encoding)
    views = [seen(config, row, seat) for row in rows]
    console.print(
        f"{config.players} players, {config.colors} colours, {config.ranks} ranks, "
        f"{config.observation_type} as {encoding}, seen by P{seat}"
    )
    for number, (row, view) in enumerate(zip(rows, views, strict=True)):
        if len(views) > 1:
            console.rule(f"observation {number}")
        names = tuple("" for _ in range(config.players))
        console.print(render.board(config, row, names, you=seat), end="")
        console.print(_last_move(view), end="")
    content = {
        "command": "decode",
        "config": config.to_dict(),
        "encoding": encoding,
        "observations": [_without_config(view) for view in views],
    }
    shared.write_json(settings["json_file"], content)


def load_vectors(source: str) -> NDArray[Any]:
    """[B, N] from a file of JSON or NPY, "-" for the standard input; one vector [N] is a batch.

    Raises RecordError for what is neither, OSError for a file that cannot be read.
    """
    raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    name = "the standard input" if source == "-" else source
    try:
        if raw.startswith(_NPY):
            vectors = np.load(io.BytesIO(raw), allow_pickle=False)
        else:
            vectors = np.array(json.loads(raw))
    except ValueError as error:  # numpy's and json's
        raise RecordError(f"{name}: expected numbers as JSON or NPY: {error}") from None
    if vectors.ndim not in (1, 2) or vectors.dtype.kind not in "biuf":
        raise RecordError(
            f"{name}: expected one observation or a list of them, got {vectors.dtype} of shape "
            f"{vectors.shape}"
        )
    return np.atleast_2d(vectors)


def _last_move(view: SeenGame) -> Text:
    return render.labelled("last move", Text(view.last_move.words if view.last_move else "none"))


def _without_config(view: SeenGame) -> dict[str, Any]:
    return {name: value for name, value in view.to_dict().items() if name != "config"}
