"""``hanabi-search view``: a recorded game as a page for a browser."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli.option_names import policy_names
from hanabi_search_plugin.cli.page_beliefs import ShownBelief, named_shown_belief, say_strangers
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.named_beliefs import EXACT, GROUNDED
from hanabi_search_plugin.networks.catalogue import HINTS


def view(
    *,
    games: Annotated[
        str,
        typer.Argument(
            metavar="GAMES",
            help="Recorded games (JSON lines, .gz), games of hanab.live (JSON or short links), a "
            "data file of AH2AC2, or a folder of `record`.",
        ),
    ],
    game: option.GameNumber = None,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Searched decisions, as `evaluate --trace` wrote them."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            autocompletion=policy_names,
            help="Whose moves exact beliefs understand (one name, or one a seat); of a learned "
            "belief who plays, where the record does not say so.",
        ),
    ] = None,
    belief: ShownBelief = None,
    seed: Annotated[int, typer.Option(help="Of the hands that a model draws.")] = 0,
    seat: Annotated[
        int | None,
        typer.Option(help="Put into the page only what this seat saw; default: everything."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page there; default: open it in a browser."),
    ] = None,
    json_file: option.JsonFile = None,
) -> None:
    """Read a game, work out what its seats believed, and show it.

    Raises ConfigError for an exact belief without policies, or policies that hints do not need.
    """
    from hanabi_search_plugin.cli import result_files, terminal
    from hanabi_search_plugin.cli.line_ups import per_seat
    from hanabi_search_plugin.hanabi.files.annotated_games import read_annotated_game
    from hanabi_search_plugin.hanabi.files.game_document import as_seen_by, game_document
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.registry import blueprint_of
    from hanabi_search_plugin.rendering.game_page import write_page

    console = terminal.open_console(json_file)
    result_files.check_files(json=json_file, out=out)
    terminal.show_warnings(console)
    found = read_annotated_game(games, game, trace=trace)
    config = found.record.config
    if seat is not None:
        require_integer("seat", seat, 0, config.players - 1)
    require_integer("seed", seed, 0)
    rules, blueprint, names, model = HanabiGame(config), None, None, None
    kind = belief or (HINTS if policy is None else EXACT)
    shown = named_shown_belief(kind, rules, seed)
    if (kind == EXACT) > (policy is not None):
        raise ConfigError("policy must name whose moves an exact belief understands, got none")
    if kind in (HINTS, GROUNDED) and policy is not None:
        raise ConfigError(f"policy is no option of the belief {kind}, got {policy!r}")
    if policy is not None:
        names = per_seat(policy, config.players, "policy")
        loaded = blueprint_of(names, rules)
        blueprint = loaded if kind == EXACT else None
    if not isinstance(shown, str):
        model = shown
        say_strangers(model, names or found.record.policies or ())
    total = len(found.record.actions)
    with terminal.progress_bar(console, "turns", total) as show, terminal.compile_progress(console):
        document = game_document(found, blueprint, names, model=model, on_turn=show)
    if seat is not None:
        document = as_seen_by(document, seat)
    result_files.write_json(json_file, document)
    if out is not None:
        write_page(out, document)
        console.print(f"written: {out}", markup=False, soft_wrap=True)
    elif json_file is None:
        page = Path(tempfile.mkdtemp(prefix="hanabi-search-")) / f"game-{found.record.game}.html"
        write_page(page, document)
        opened = webbrowser.open(page.as_uri())
        outcome = "opened in your browser" if opened else "no browser was found; open it in one"
        console.print(f"{page}: {outcome}", markup=False, soft_wrap=True)
