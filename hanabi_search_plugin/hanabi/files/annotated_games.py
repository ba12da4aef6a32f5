"""Games to look at: a recorded game, and what every move of a searched decision was worth.

The one place where a file is read as games to look at: games of any format (``any_games``) with
the decisions of a trace beside them, and folders of searched games (``searched_games``).

Letters: M legal moves of a decision.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.files.any_games import read_any_games
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.searched_games import read_about, read_searched


@dataclass(frozen=True, kw_only=True)
class SearchedTurn:
    """One decision of a search, as far as it was recorded: None where it was not."""

    action: int  # the search's move; of a game that was analysed the best, not the played one
    blueprint_action: int
    actions: tuple[int, ...]  # [M] legal moves
    mean: tuple[float | None, ...]  # [M] expected score of each; None: never tried
    stderr: tuple[float | None, ...]  # [M] standard error of mean
    count: tuple[int, ...]  # [M] rollouts spent on each
    gain: float | None = None  # of ``action`` over ``blueprint_action``
    gain_stderr: float | None = None
    reason: str | None = None  # see ``core.result.Reason``
    belief_size: int | None = None  # hands
    depth: int | None = None  # of a tree; None: no tree
    note: str = ""
    lost: float | None = None  # see ``analysis.AnalysedTurn``, as the next two; None: not analysed
    lost_stderr: float | None = None
    mistake: bool | None = None


@dataclass(frozen=True)
class AnnotatedGame:
    """A recorded game with its searched decisions, by turn."""

    record: RecordedGame
    decisions: Mapping[int, SearchedTurn] = field(default_factory=dict)


def searched_turn(result: SearchResult) -> SearchedTurn:
    """A decision that was made in this process."""
    return _searched_turn(result.to_dict())


def read_annotated_game(
    path: str | Path, number: int | None = None, *, trace: str | Path | None = None
) -> AnnotatedGame:
    """Game ``number`` of a file, a folder or a link; None: its first.

    ``path`` is what ``read_any_games`` takes, with the decisions of a ``trace`` beside it; a folder
    of searched games holds its own. Raises RecordError for what is neither or damaged, and
    where the game is not there; OSError where a file cannot be opened.
    """
    if Path(path).is_dir():
        if trace is not None:
            raise RecordError(f"{path}: a folder of searched games has no trace, got {trace}")
        return _from_folder(Path(path), number)
    seen: list[int] = []
    try:
        for record in read_any_games(path):
            if number is None or record.game == number:
                decisions = {} if trace is None else _decisions(Path(trace), record)
                return AnnotatedGame(record, decisions)
            seen.append(record.game)
    except RecordError:
        if not _is_trace(Path(path)):
            raise
        raise RecordError(
            f"{path}: expected recorded games, got a trace, which has no decks: give the file of "
            "--save, and this one as --trace"
        ) from None
    raise RecordError(
        f"{path}: expected the number of one of its {counted(len(seen), 'game')}, "
        f"{min(seen)} to {max(seen)}, got {number}"
    )


# ------------------------------------------------------------------------------------------ traces


def _is_trace(path: Path) -> bool:
    if not path.exists():  # a link
        return False
    with path.open("rb") as lines:
        try:
            fields = json.loads(lines.readline())
        except ValueError:
            return False
    return isinstance(fields, dict) and "blueprint_action" in fields and "deck" not in fields


def _decisions(path: Path, record: RecordedGame) -> dict[int, SearchedTurn]:
    """The decisions of one game of a file that ``evaluate --trace`` wrote."""
    found: dict[int, SearchedTurn] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path}:{number}"
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise RecordError(f"{where}: expected a JSON object: {error}") from None
            if not isinstance(fields, dict) or not _is_number(fields.get("game")):
                raise RecordError(f"{where}: expected a searched decision with the field game")
            if fields["game"] == record.game:
                turn, move = _decision(fields, record, where)
                found[turn] = move
    return found


def _decision(fields: dict[str, Any], record: RecordedGame, where: str) -> tuple[int, SearchedTurn]:
    turn: Any = fields.get("turn")
    if not _is_number(turn) or not 0 <= turn < len(record.actions):
        raise RecordError(
            f"{where}: turn must be from 0 to {len(record.actions) - 1}, got {turn!r}"
        )
    numbers = range(record.config.num_actions)
    legal = fields.get("actions")
    if not isinstance(legal, list) or not all(_is_number(a) and a in numbers for a in legal):
        raise RecordError(f"{where}: actions must be action ids from 0 to {numbers[-1]}")
    for name in ("action", "blueprint_action"):
        if fields.get(name) not in legal:
            raise RecordError(f"{where}: {name} must be one of actions, got {fields.get(name)!r}")
    if fields["action"] != record.actions[turn]:
        raise RecordError(
            f"{where}: expected the move of turn {turn} of the game, action "
            f"{record.actions[turn]}, got {fields['action']}: the trace is of other games"
        )
    for name, least in (("mean", -math.inf), ("stderr", 0), ("count", 0)):
        values = fields.get(name)
        wanted = values if isinstance(values, list) else []
        if len(wanted) != len(legal) or not all(
            _is_finite(value, least) or (value is None and name != "count") for value in wanted
        ):
            raise RecordError(f"{where}: {name} must be a number for each of actions")
    for name in ("gain", "gain_stderr", "belief_size", "depth"):
        value = fields.get(name)
        if value is not None and not _is_finite(value, -math.inf):
            raise RecordError(f"{where}: {name} must be a number, got {value!r}")
    for name in ("reason", "note"):
        if not isinstance(fields.get(name, ""), str):
            raise RecordError(f"{where}: {name} must be text, got {fields[name]!r}")
    return turn, _searched_turn(fields)


def _searched_turn(fields: Mapping[str, Any]) -> SearchedTurn:
    others = ("gain", "gain_stderr", "reason", "belief_size", "depth", "note")
    return SearchedTurn(
        action=int(fields["action"]),
        blueprint_action=int(fields["blueprint_action"]),
        actions=tuple(fields["actions"]),
        mean=tuple(fields["mean"]),
        stderr=tuple(fields["stderr"]),
        count=tuple(fields["count"]),
        **{name: fields[name] for name in others if name in fields},
    )


_LARGEST = 1e15  # what is more is damage, not a score or a count


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: object, least: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value and abs(value) < _LARGEST


# ----------------------------------------------------------------------------------------- folders


def _from_folder(folder: Path, number: int | None) -> AnnotatedGame:
    about = read_about(folder)
    games = read_searched(folder)
    index = 0 if number is None else number
    if not 0 <= index < len(games):
        raise RecordError(
            f"{folder}: expected the number of one of its {counted(len(games), 'game')}, from 0, "
            f"got {number}"
        )
    played = games.played
    decisions = {}
    for row in np.flatnonzero(games.game == index).tolist():
        legal = np.flatnonzero(games.legal[row])
        mean = games.mean[row, legal].astype(float)
        value = dict(zip(legal.tolist(), mean.tolist(), strict=True))
        action, blueprint = int(played[row]), int(games.blueprint[row])
        decisions[int(games.turn[row])] = SearchedTurn(
            action=action,
            blueprint_action=blueprint,
            actions=tuple(legal.tolist()),
            mean=tuple(None if math.isnan(one) else one for one in mean.tolist()),
            stderr=(None,) * len(legal),
            count=tuple(games.count[row, legal].tolist()),
            gain=_or_none(value[action] - value[blueprint]),
        )
    names = [name.strip() for name in about.policy.split(",")]
    players = about.config.players
    policies = tuple(names if len(names) == players else names[:1] * players)
    return AnnotatedGame(replace(games.recorded(about.config)[index], policies=policies), decisions)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
