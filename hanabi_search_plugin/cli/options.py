"""Options of the command line that are no settings of a search, a game or a training, once each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hanabi_search_plugin.core.settings import SEED, THREADS

_RUN = "Run"
_OUT = "Output"

Games = Annotated[int, typer.Option(help="Games to play.", rich_help_panel=_RUN)]
Seed = Annotated[int, typer.Option(help=SEED, rich_help_panel=_RUN)]
DrawnSeed = Annotated[
    int | None,
    typer.Option(help=f"{SEED} Default: one is drawn, and shown.", rich_help_panel=_RUN),
]
Threads = Annotated[int, typer.Option(help=THREADS, rich_help_panel=_RUN)]
GameNumber = Annotated[
    int | None, typer.Option(metavar="N", help="The game's number; default: the first.")
]
AnyEpsilon = Annotated[
    float, typer.Option(help="Probability, in the beliefs, that a player moves at random.")
]
MoveRollouts = Annotated[
    int, typer.Option(help="Games played on after each legal move; fewer after a hopeless one.")
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Keep finished games in FILE, and go on with those already there.",
        rich_help_panel=_RUN,
    ),
]
JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write results, parameters, seed and versions; - is the standard output.",
        rich_help_panel=_OUT,
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write every searched decision: JSON lines.", rich_help_panel=_OUT
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the games (JSON lines, .gz too); `hanabi-search replay` reads them.",
        rich_help_panel=_OUT,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="DIR",
        help="For all that is made; a run that was stopped goes on from there.",
        rich_help_panel=_OUT,
    ),
]
