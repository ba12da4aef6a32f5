"""Files that the commands write: results as JSON, searched decisions, played games."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from hanabi_search_plugin.atomic_files import atomic_write, naming_errors
from hanabi_search_plugin.cli.line_ups import LineUp
from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.require import require_writable
from hanabi_search_plugin.evaluation.closing import Closing
from hanabi_search_plugin.evaluation.locks import lock_file
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


class TraceFile(Closing):
    """The searched decisions of an evaluation's games, written as they finish.

    With the games in ``resume`` it is gone on with: decisions at its end that are of none of them
    are dropped, since their game is played again. Raises ConfigError where another process writes
    it, RecordError for a file that is gone on with and is no trace.
    """

    def __init__(self, path: Path, resume: Path | None) -> None:
        plain = path.is_file() or not path.exists()  # else a terminal or a pipe
        self._path = path
        self._journal = resume if plain and resume is not None and resume.exists() else None
        self._file = path.open("ab" if plain else "wb")
        try:
            if plain:
                lock_file(self._file, path)
                if self._journal is None:
                    self._file.truncate(0)
        except BaseException:
            self._file.close()
            raise

    def add(self, game: Game, result: GameResult) -> None:
        self._cut()
        with naming_errors(self._path):
            self._file.writelines(trace_lines(game, result))
            self._file.flush()

    def _cut(self) -> None:
        """Before the first decision, when the games of ``resume`` are locked."""
        if self._journal is None:
            return
        games = [json.loads(line) for line in self._journal.read_bytes().split(b"\n")[1:-1]]
        played = {line["game"] for line in games if line["side"] == "policies"}
        self._journal = None
        lines = self._path.read_bytes().splitlines(keepends=True)
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        begin = b'{"game":'
        try:
            if rest[: len(begin)] != begin[: len(rest)]:
                raise ValueError
            while lines and json.loads(lines[-1])["game"] not in played:
                lines.pop()
        except (ValueError, KeyError, TypeError):
            raise RecordError(
                f"{self._path}: expected searched decisions to go on with, a line each"
            ) from None
        self._file.truncate(sum(map(len, lines)))

    def close(self) -> None:
        with naming_errors(self._path):  # it is tried again to write what could not be
            self._file.close()


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
