"""Games of every format that is known here, recognised by what the file holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.require import require_path
from hanabi_search_plugin.hanabi.files.ah2ac2 import is_safetensors, read_ah2ac2
from hanabi_search_plugin.hanabi.files.hanab_live_json import from_hanab_live
from hanabi_search_plugin.hanabi.files.hanab_live_link import from_link, is_link
from hanabi_search_plugin.hanabi.files.records import RecordedGame, json_object, recorded_game
from hanabi_search_plugin.hanabi.files.searched_games import read_about, read_searched
from hanabi_search_plugin.hanabi.files.text_lines import LONGEST, text_lines


def read_any_games(source: str | Path) -> Iterator[RecordedGame]:
    """The games of a file, a folder or a link, one at a time.

    * lines, plain or ``.gz``, each a recorded game (``records``), a game of hanab.live as JSON, or
      a short link; blank lines are passed over;
    * one game of hanab.live over several lines;
    * a folder of ``hanabi-search record``, a data file of AH2AC2;
    * a short link itself.

    Raises RecordError naming file and line (or game) where something is damaged, of unknown format
    or of rules that are not ours, and OSError where the file cannot be opened.
    """
    require_path("a source of games", source)
    path = Path(source)
    if "://" in str(source) and not is_link(str(source)):
        raise RecordError(
            "expected a file, a folder or a short link (https://hanab.live/shared-replay-json/...),"
            f" got {source}: of a replay there, save its JSON and give that"
        )
    if is_link(str(source)) and not path.exists():
        return iter([from_hanab_live(from_link(str(source), "link"), "link", 0)])
    if path.is_dir():
        return _searched(path)
    if is_safetensors(path):
        return read_ah2ac2(path)
    return _lines(path)


def _searched(path: Path) -> Iterator[RecordedGame]:
    games = read_searched(path).recorded(read_about(path).config)
    for game in games:
        yield replace(game, source=f"{path}: game {game.game}")


def _lines(path: Path) -> Iterator[RecordedGame]:
    lines = ((number, line) for number, line in text_lines(path) if line.strip())
    first = next(lines, None)
    if first is None:
        raise RecordError(f"{path}: expected games, got an empty file")
    number, line = first
    if line.lstrip().startswith("{") and not line.rstrip().endswith("}"):
        yield _of_object(_joined(path, chain([first], lines)), f"{path}:{number}", 0)
        return
    for number, line in chain([first], lines):
        where = f"{path}:{number}"
        if line.lstrip().startswith("{"):
            yield _of_object(line, where, number - 1)
        elif is_link(line):
            yield from_hanab_live(from_link(line, where), where, number - 1)
        else:
            raise RecordError(
                f"{where}: expected a recorded game, a game of hanab.live or a short link, got "
                f"{line.strip()[:40]!r}"
            )


def _of_object(text: str, where: str, index: int) -> RecordedGame:
    """A recorded game says how many players there are, hanab.live who they are."""
    fields = json_object(text, where)
    if isinstance(fields.get("players"), list):
        return from_hanab_live(fields, where, index)
    return recorded_game(fields, where, index)


def _joined(path: Path, lines: Iterator[tuple[int, str]]) -> str:
    """The lines as one text, which is bounded as a line is."""
    text = ""
    for number, line in lines:
        text += line
        if len(text) > LONGEST:
            raise RecordError(
                f"{path}:{number}: expected a game of at most {LONGEST:,} bytes, got a larger one"
            )
    return text
