"""Games to look at: a recorded game, and what every move of a searched decision was worth.

The one place where a file is read as games to look at: games of any format (``any_games``) with
the decisions of a trace beside them, and folders of searched games (``searched_games``).

Letters: M legal moves of a decision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.plain_json import parse_object, short, typed
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.files.any_games import read_any_games
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.searched_games import read_about, read_searched
from hanabi_search_plugin.hanabi.files.text_lines import LONGEST, text_lines


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
    worth: float | None = None  # of the final score, by the objective of an analysis


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
            fields = parse_object(lines.readline(LONGEST))
        except ValueError:
            return False
    return "blueprint_action" in fields and "deck" not in fields


def _decisions(path: Path, record: RecordedGame) -> dict[int, SearchedTurn]:
    """The decisions of one game of a file that ``evaluate --trace`` wrote."""
    found: dict[int, SearchedTurn] = {}
    for number, line in text_lines(path):
        try:
            fields = parse_object(line)
            if typed("game", fields.get("game"), int) == record.game:
                turn, move = _decision(fields, record)
                found[turn] = move
        except ValueError as error:
            raise RecordError(f"{path}:{number}: {error}") from None
    return found


def _decision(given: dict[str, Any], record: RecordedGame) -> tuple[int, SearchedTurn]:
    """Turn and decision of a line. Raises ValueError for what is none of the game."""
    fields = {name: typed(name, given.get(name), kind) for name, kind in _TYPES.items()}
    fields |= {
        name: typed(name, given[name], kind) for name, kind in _OPTIONAL.items() if name in given
    }
    turn, legal = fields["turn"], fields["actions"]
    if not 0 <= turn < len(record.actions):
        raise ValueError(f"turn must be from 0 to {len(record.actions) - 1}, got {turn}")
    if not set(legal) <= set(range(record.config.num_actions)):
        raise ValueError(f"actions must be action ids from 0 to {record.config.num_actions - 1}")
    for name in ("action", "blueprint_action"):
        if fields[name] not in legal:
            raise ValueError(f"{name} must be one of actions, got {fields[name]}")
    if fields["action"] != record.actions[turn]:
        raise ValueError(
            f"expected the move of turn {turn} of the game, action {record.actions[turn]}, got "
            f"{fields['action']}: the trace is of other games"
        )
    for name, least in (("mean", -_LARGEST), ("stderr", 0), ("count", 0)):
        numbers = [value for value in fields[name] if value is not None]
        if len(fields[name]) != len(legal) or not all(least <= n < _LARGEST for n in numbers):
            raise ValueError(f"{name} must be a number for each of actions")
    for name in ("gain", "gain_stderr", "belief_size", "depth"):
        if abs(fields.get(name) or 0) >= _LARGEST:
            raise ValueError(f"{name} must be less than {_LARGEST:g}, got {short(fields[name])}")
    return turn, _searched_turn(fields)


def _searched_turn(fields: Mapping[str, Any]) -> SearchedTurn:
    others = ("gain", "gain_stderr", "reason", "belief_size", "depth", "note")
    return SearchedTurn(
        action=fields["action"],
        blueprint_action=fields["blueprint_action"],
        actions=tuple(fields["actions"]),
        mean=tuple(fields["mean"]),
        stderr=tuple(fields["stderr"]),
        count=tuple(fields["count"]),
        **{name: fields[name] for name in others if name in fields},
    )


_LARGEST = 1e15  # what is more is damage, not a score or a count
_TYPES = {
    "turn": int, "action": int, "blueprint_action": int, "actions": tuple[int, ...],
    "mean": tuple[float | None, ...], "stderr": tuple[float | None, ...], "count": tuple[int, ...],
}  # fmt: skip
_OPTIONAL = {
    "gain": float | None, "gain_stderr": float | None, "reason": str, "belief_size": int | None,
    "depth": float | None, "note": str,
}  # fmt: skip


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
