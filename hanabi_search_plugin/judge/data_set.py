"""Data sets of judged positions: lines of JSON with a position in words and what its moves are
worth, for people who train language models; as Parquet, too.

Fields of a line, which is of one position:

* ``source`` and ``turn``: where it is from; turn None: of no game;
* ``players``; ``observation``: the position in OpenSpiel's words, as the player to move sees it;
  ``history``: all moves before it in words, the first first (empty where they are not known);
* those of ``Verdict.to_dict``: ``seat``, ``best``, ``blueprint``, ``legal_moves``, ``actions``,
  ``values``, ``errors``, ``counts``, ``regrets``, ``regret_errors``, ``rewards`` [M each],
  ``belief``, ``belief_size``, ``note``;
* ``move``, ``reward``, ``regret``: of the move that was made or asked about; None: of none, or of
  one that is not legal (``reward`` 0).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.atomic_files import atomic_write, naming_errors
from hanabi_search_plugin.core.errors import (
    ConfigError,
    HanabiSearchError,
    IllegalActionError,
    RecordError,
)
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.game import require_game
from hanabi_search_plugin.core.plain_json import short
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.evaluation.executor import Executor, Place
from hanabi_search_plugin.evaluation.interrupts import uninterrupted
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.locks import lock_file
from hanabi_search_plugin.evaluation.match import SEARCHES, deal_game
from hanabi_search_plugin.evaluation.playing import RunningGame
from hanabi_search_plugin.evaluation.provenance import describe, versions
from hanabi_search_plugin.hanabi.engine.text import last_move
from hanabi_search_plugin.hanabi.files.game_document import first_position
from hanabi_search_plugin.hanabi.files.move_names import move_name
from hanabi_search_plugin.hanabi.files.observation_text import observation_text
from hanabi_search_plugin.hanabi.files.records import RecordedGame, json_object, recorded_game
from hanabi_search_plugin.hanabi.files.text_lines import text_lines
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.judge.judging import Judge
from hanabi_search_plugin.judge.verdict import Verdict
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of

_KINDS = {str: "text", list: "a list"}

Question = RecordedGame | dict[str, Any]
"""What a line of a file asks: about every move of a game, or about one position."""


def play_games(
    game: HanabiGame, policies: AnyBlueprint, games: int, seed: int = 0
) -> Iterator[RecordedGame]:
    """``games`` games of ``policies``, those that ``evaluate`` of that seed plays, one at a time.

    ``policies`` are one, or one a seat; names, too. Scores count lost games as the game does. All
    chance follows from ``seed`` and the game's number. Raises as ``evaluate``.
    """
    require_game(game, policies, call="play_games(game, policies, games)")
    games, seed = require_integer("games", games, 0), require_integer("seed", seed, 0)
    blueprint = blueprint_of(policies, game)
    for number in range(games):
        worlds, stream = deal_game(game, seed, number)
        deck = worlds.rows[0][game.deck_start :].tolist()  # type: ignore[attr-defined]
        first = int(worlds.current_player[0])
        running = RunningGame.begin(worlds, blueprint, stream, (seed, SEARCHES, number))
        actions: list[int] = []
        while not running.over:
            actions.append(running.decide().action)
            running.play(actions[-1])
        yield RecordedGame(
            config=game.config,
            game=number,
            deck=tuple(deck),
            actions=tuple(actions),
            first_player=first,
            score=int(running.worlds.returns[0, 0]),
            bomb=game.config.bomb,
            seed=seed,
            source=f"game {number}",
        )


def read_questions(path: str | Path) -> Iterator[Question]:
    """What the lines of a file ask.

    A line is a JSON object: a recorded game, every move of which is meant; or ``observation``, a
    text; or ``observations``, a list of them, with ``moves`` between them, if need be; and ``move``
    (text, id or object), if one is asked about. Raises RecordError naming file and line.
    """
    for number, line in text_lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        fields = json_object(line, where)
        if "deck" in fields:
            yield recorded_game(fields, where, number - 1)
            continue
        asked = {name: fields.get(name) for name in ("observation", "observations", "moves")}
        if (asked["observation"] is None) == (asked["observations"] is None):
            raise RecordError(
                f"{where}: expected a recorded game, or one of observation and observations"
            )
        for name, kind in (("observation", str), ("observations", list), ("moves", list)):
            if asked[name] is not None and not isinstance(asked[name], kind):
                raise RecordError(
                    f"{where}: {name} must be {_KINDS[kind]}, got {short(asked[name])}"
                )
        yield asked | {"move": fields.get("move"), "source": where}


def judged_lines(
    judge: Judge, questions: Iterable[Question], executor: Executor
) -> Iterator[list[dict[str, Any]]]:
    """The lines of each question, in order, as JSON objects: of a game one a move, else one.

    Raises RecordError beginning with where a question is from. The executor changes no line.
    """
    yield from executor.map(_Lines(judge), questions)


class _Lines:
    """The work of an executor: the lines of a question."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def __call__(self, question: Question, place: Place) -> list[dict[str, Any]]:
        if isinstance(question, RecordedGame):
            return _of_game(self._judge, question)
        try:
            return [_of_position(self._judge, question)]
        except HanabiSearchError as error:
            raise RecordError(f"{question['source']}: {error}") from None


def _of_game(judge: Judge, record: RecordedGame) -> list[dict[str, Any]]:
    verdicts = judge.game(record)
    _, worlds = first_position(record)
    history: list[str] = []
    lines = []
    for turn, (action, verdict) in enumerate(zip(record.actions, verdicts, strict=True)):
        row = worlds.view(verdict.seat).rows[0]
        lines.append(
            {
                "source": record.source or f"game {record.game}",
                "turn": turn,
                "players": record.config.players,
                "observation": observation_text(record.config, row, verdict.seat),
                "history": list(history),
            }
            | verdict.to_dict()
            | _answer(verdict, action)
        )
        worlds.step(np.array([action]))
        history.append(last_move(record.config, worlds.rows[0]))
    return lines


def _of_position(judge: Judge, question: dict[str, Any]) -> dict[str, Any]:
    text = question["observation"]
    texts = question["observations"] if text is None else [text]
    verdict = judge(texts if text is None else text, moves=question["moves"])
    return {
        "source": question["source"],
        "turn": None,
        "players": verdict.config.players,
        "observation": texts[-1],
        "history": [],
    } | (verdict.to_dict() | _answer(verdict, question["move"]))


def _answer(verdict: Verdict, move: Any) -> dict[str, Any]:
    """What a move is worth; None: nothing was asked."""
    if move is None:
        return {"move": None, "reward": None, "regret": None}
    try:
        action = verdict.action(move)
    except (RecordError, IllegalActionError):
        return {"move": None, "reward": 0.0, "regret": None}
    return {
        "move": move_name(verdict.config, action),
        "reward": round(verdict.reward(action), 4),
        "regret": round(verdict.regret(action), 4),
    }


def record_lines(
    judge: Judge,
    questions: Iterable[Question],
    path: str | Path,
    executor: Executor,
    *,
    about: dict[str, Any] | None = None,
    on_lines: Callable[[list[dict[str, Any]]], None] | None = None,
) -> None:
    """Write the lines of all questions to ``path``; what is there already is not asked again.

    The last question that is there is asked again, since it may have been cut off. Beside it,
    ``NAME.about.json`` holds what the lines depend on: the judge, and ``about``, the rest.
    ``on_lines`` hears of the lines of each question, those that are there first. Raises ConfigError
    for a file of another judge and where another process writes it, RecordError for what is no file
    of such lines, and as ``judged_lines``.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ConfigError(f"record must name a file, got a folder, a pipe or a device: {path}")
    with path.open("ab") as file:
        lock_file(file, path)
        _require_about(path, {"judge": describe(judge)} | (about or {}))
        done = _read_done(path)
        file.truncate(sum(len(line_bytes(line)) for lines in done for line in lines))
        for lines in done:
            if on_lines is not None:
                on_lines(lines)
        left = itertools.islice(questions, len(done), None)
        for lines in judged_lines(judge, left, executor):
            with uninterrupted(), naming_errors(path):
                file.write(b"".join(map(line_bytes, lines)))
                file.flush()
            if on_lines is not None:
                on_lines(lines)


def _require_about(path: Path, about: dict[str, Any]) -> None:
    """Write the description beside ``path``, or compare it with the one that is there."""
    beside = path.with_name(f"{path.name}.about.json")
    about = json.loads(json.dumps(about))
    if beside.exists() and path.stat().st_size:
        other = difference(json_object(beside.read_text(), str(beside)).get("about"), about)
        if other is not None:
            name, there, here = other
            raise ConfigError(
                f"record must go on with the parameters of {beside}: {name} is "
                f"{json.dumps(there)} there, {json.dumps(here)} here"
            )
        return
    if path.stat().st_size:
        raise ConfigError(f"record must name a new file, or one with {beside} beside it: {path}")
    with atomic_write(beside) as file:
        file.write(json.dumps({"about": about, "versions": versions()}, indent=1).encode() + b"\n")


def _read_done(path: Path) -> list[list[dict[str, Any]]]:
    """The lines of each question that is surely whole: of all but the last."""
    content = path.read_bytes()
    done: list[list[dict[str, Any]]] = []
    for number, text in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), start=1):
        line = json_object(text.decode(errors="replace"), f"{path}:{number}")
        if line_bytes(line) != text + b"\n" or "source" not in line:
            raise RecordError(f"{path}:{number}: expected a line of judged positions")
        if done and done[-1][0]["source"] == line["source"]:
            done[-1].append(line)
        else:
            done.append([line])
    return done[:-1]


def write_parquet(lines: str | Path, path: str | Path, rows: int = 10_000) -> int:
    """Write a file of judged lines as Parquet, ``rows`` at a time; returns how many there are.

    Raises UnsupportedError without pyarrow, RecordError for what are no judged lines.
    """
    require_extra("parquet", "a Parquet file", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers, names = pa.list_(pa.float64()), pa.list_(pa.string())
    kinds = {
        "source": pa.string(), "turn": pa.int32(), "players": pa.int32(),
        "observation": pa.string(), "history": names, "seat": pa.int32(), "best": pa.string(),
        "blueprint": pa.string(), "legal_moves": names, "actions": pa.list_(pa.int32()),
        "values": numbers, "errors": numbers, "counts": pa.list_(pa.int32()), "regrets": numbers,
        "regret_errors": numbers, "rewards": numbers, "belief": pa.string(),
        "belief_size": pa.int64(), "note": pa.string(), "move": pa.string(),
        "reward": pa.float64(), "regret": pa.float64(),
    }  # fmt: skip
    schema = pa.schema(list(kinds.items()))
    written = 0
    with atomic_write(path) as file, pq.ParquetWriter(file, schema) as writer:
        batch: list[dict[str, Any]] = []

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
            batch.clear()

        for number, text in text_lines(lines):
            fields = json_object(text, f"{lines}:{number}")
            lacking = [name for name in schema.names if name not in fields]
            if lacking:
                raise RecordError(f"{lines}:{number}: field {lacking[0]} is missing")
            batch.append({name: fields[name] for name in schema.names})
            written += 1
            if len(batch) == rows:
                flush()
        if batch or not written:
            flush()
    return written


def line_bytes(line: dict[str, Any]) -> bytes:
    """A line of a data set as it is written."""
    return json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
