"""Files that the commands write: results as JSON, searched decisions, played games."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from hanabi_search_plugin.cli.line_ups import LineUp
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.require import require_writable
from hanabi_search_plugin.evaluation.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.match import GameResult, deal_game
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.hanabi.files.records import RecordedGame


def check_files(**files: str | Path | None) -> None:
    """Raises ConfigError for a file that cannot be written, before the work is done."""
    for option, path in files.items():
        if path is not None and str(path) != "-":
            require_writable(option, path)


def write_json(path: str | None, content: dict[str, Any]) -> None:
    """Write results to a file, whole or not at all, or to the standard output ("-")."""
    if path is None:
        return
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with atomic_write(path) as file:
        file.write(text.encode())


def parameters(context: typer.Context) -> dict[str, Any]:
    """A command's options as plain JSON types."""
    return {name: str(v) if isinstance(v, Path) else v for name, v in context.params.items()}


def trace_lines(game: Game, result: GameResult) -> Iterator[bytes]:
    """A line for each searched decision of a game."""
    for turn, seat, decision in result.decisions:
        words = game.action_to_string(seat, decision.action)
        line = {"game": result.game, "turn": turn, "seat": seat, "words": words}
        yield json.dumps(line | decision.to_dict(), separators=(",", ":")).encode() + b"\n"


def record(who: LineUp, result: GameResult, seed: int, finished: bool = True) -> RecordedGame:
    """A game of ``seed`` as the recorded-games format has it; without a score if unfinished."""
    game = who.hanabi()
    worlds, _ = deal_game(game, seed, result.game)
    row = worlds.rows[0]  # type: ignore[attr-defined]  # HanabiGame deals HanabiWorlds
    return RecordedGame(
        config=game.config,
        game=result.game,
        deck=tuple(row[len(row) - game.config.deck_size :].tolist()),
        actions=result.actions,
        first_player=int(row[TURN]),
        score=int(result.score) if finished else None,
        lives_left=result.lives_left if finished else None,
        bomb=game.config.bomb,
        seed=seed,
        policies=who.names,
    )
