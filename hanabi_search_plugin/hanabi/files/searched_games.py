"""Record games with every searched decision in a folder, and read them back.

``about.json`` says what was played, and ``00000.npz``, ``00001.npz``, ... hold ``SHARD`` games
each, arrays of plain numbers as ``SearchedGames`` names them. A file appears when its last game is
over: what was stopped goes on at the first file that is missing. ``log.jsonl`` has a line a file:
its games, their mean score and what they cost.

Letters: G games, T moves of the longest, D searched decisions, A actions, C cards of the deck.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.array_files import read_npz
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.game import PAD
from hanabi_search_plugin.core.plain_json import parse_json, parse_object, typed
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.evaluation.executor import Executor
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.locks import locked
from hanabi_search_plugin.evaluation.match import (
    GameResult,
    Match,
    deal_game,
    play_matches,
    searching_seats,
)
from hanabi_search_plugin.evaluation.provenance import critics, describe
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.replay import replay
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

FORMAT = "hanabi-search-plugin searched games 1"
ABOUT, LOG = "about.json", "log.jsonl"
SHARD = 100  # games of a file


@dataclass(frozen=True)
class SearchedGames:
    """G games, and the decisions in them that were searched, in order of games and turns."""

    deck: NDArray[np.uint8]  # [G, C] identities, first dealt first
    first_player: NDArray[np.uint8]  # [G]
    moves: NDArray[np.int8]  # [G, T] OpenSpiel's action ids, PAD after the end
    score: NDArray[np.int8]  # [G] by the game's ``bomb``
    lives: NDArray[np.uint8]  # [G] left
    game: NDArray[np.int32]  # [D] row of the game
    turn: NDArray[np.int16]  # [D] from 0
    seat: NDArray[np.uint8]  # [D] who searched
    blueprint: NDArray[np.int8]  # [D] the blueprint's move; the search's is in ``moves``
    legal: NDArray[np.bool_]  # [D, A]
    mean: NDArray[np.float32]  # [D, A] return in score points; nan where never tried
    count: NDArray[np.int32]  # [D, A] rollouts

    def __len__(self) -> int:
        return len(self.deck)

    @property
    def played(self) -> NDArray[np.int8]:
        """[D] the search's move."""
        return self.moves[self.game, self.turn]

    def recorded(self, config: HanabiConfig) -> list[RecordedGame]:
        """The games as the recorded-games format has them."""
        return [
            RecordedGame(
                config=config,
                game=i,
                deck=tuple(self.deck[i].tolist()),
                actions=tuple(self.moves[i][self.moves[i] != PAD].tolist()),
                first_player=int(self.first_player[i]),
                score=int(self.score[i]),
                lives_left=int(self.lives[i]),
                bomb=config.bomb,
            )
            for i in range(len(self))
        ]


@dataclass(frozen=True)
class About:
    """The description of a folder's games."""

    config: HanabiConfig
    policy: str  # the blueprint's name, as ``load_policy`` takes it
    parameters: dict[str, Any]  # all that decides on the games


def record_games(
    game: HanabiGame,
    line_ups: Sequence[Blueprint],
    folder: str | Path,
    *,
    policy: str,
    games: int,
    seed: int = 0,
    threads: int = 1,
    executor: Executor | None = None,
    on_game: Callable[[GameResult], None] | None = None,
) -> None:
    """Play ``games`` games in which somebody searches, and keep every searched decision.

    Game i of ``seed`` is played by line-up i modulo their number, so that seats may search in turn;
    ``policy`` is the name of what everybody plays without a search. The same ``seed`` gives the
    same files for any number of ``threads``, or by any ``executor`` in their place. Games in files
    that are there already are not played again; ``on_game`` hears of the others. Raises ConfigError
    for bad numbers, where nobody searches, for a folder of other games and where another process
    records to it.
    """
    games = require_integer("games", games, 1)
    executor = executor or Threads(threads)
    seed = require_integer("seed", seed, 0)
    if not all(searching_seats(line_up) for line_up in line_ups):
        raise ConfigError("search must be one, got none: there would be nothing to record")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _begin(folder, game, line_ups, policy, seed)
        matches = [
            Match(game, line_up, "policies", searching_seats(line_up)[0], seed)
            for line_up in line_ups
        ]
        shards = [range(i, min(games, i + SHARD)) for i in range(0, games, SHARD)]
        missing = [
            shard
            for number, shard in enumerate(shards)
            if not (path := _shard(folder, number)).exists()
            or len(_read_shard(path, game.config)) < len(shard)
        ]
        results: dict[int, GameResult] = {}  # of files that are not complete

        def keep(result: GameResult) -> None:
            results[result.game] = result
            if on_game is not None:
                on_game(result)
            number = result.game // SHARD
            if all(i in results for i in shards[number]):
                _write_shard(folder, number, game, [results.pop(i) for i in shards[number]], seed)

        play_matches(matches, [i for shard in missing for i in shard], executor, keep)


def _write_shard(
    folder: Path, number: int, game: HanabiGame, played: list[GameResult], seed: int
) -> None:
    arrays = _packed(game, played, seed)
    line = {
        "games": len(played),
        "first": played[0].game,
        "score": float(arrays.score.mean()),
        "cpu_seconds": sum(result.cpu_seconds for result in played),
        "rollouts": sum(result.rollouts for result in played),
        "changed_moves": sum(result.changed_moves for result in played),
    }
    _log(folder, line)  # first: a file that is there is not played again
    with atomic_write(_shard(folder, number)) as file:
        np.savez_compressed(file, **{f.name: getattr(arrays, f.name) for f in fields(arrays)})


def read_about(folder: str | Path) -> About:
    """Read a folder's ``about.json``. Raises RecordError for no folder of searched games."""
    path = Path(folder) / ABOUT
    try:
        about = parse_json(path.read_bytes())
        if about["format"] != FORMAT:
            raise RecordError(f"{path}: expected the format {FORMAT!r}, got {about['format']!r}")
        policy, parameters = about["policy"], about["parameters"]
        return About(
            HanabiConfig(**typed("config", about["config"], dict)),
            typed("policy", policy, str),
            typed("parameters", parameters, dict),
        )
    except FileNotFoundError:
        raise RecordError(f"{folder}: expected searched games, got no {ABOUT} in it") from None
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, RecordError):
            raise
        raise RecordError(f"{path}: expected a description of searched games: {error}") from None


def read_searched(folder: str | Path, games: int | None = None) -> SearchedGames:
    """The first ``games`` games of a folder, or all.

    Raises RecordError where the folder holds none, fewer, or damaged ones.
    """
    config = read_about(folder).config
    parts: list[SearchedGames] = []
    found = 0
    while games is None or found < games:
        path = _shard(Path(folder), len(parts))
        if not path.exists():
            break
        part = _read_shard(path, config)
        parts.append(part)
        found += len(part)
        if len(part) < SHARD:
            break
    if not found or (games is not None and found < games):
        raise RecordError(f"{folder}: expected {games or 'any'} searched games, got {found}")
    whole = _joined(parts)
    return whole if games is None else first_games(whole, 0, games)


def first_games(whole: SearchedGames, start: int, stop: int) -> SearchedGames:
    """Games ``start`` to ``stop``, numbered from 0."""
    rows = (whole.game >= start) & (whole.game < stop)
    content = {
        f.name: getattr(whole, f.name)[rows if f.name in _OF_DECISIONS else slice(start, stop)]
        for f in fields(whole)
    }
    return SearchedGames(**content | {"game": content["game"] - np.int32(start)})


_OF_DECISIONS = ("game", "turn", "seat", "blueprint", "legal", "mean", "count")


def _shard(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.npz"


def _begin(
    folder: Path, game: HanabiGame, line_ups: Sequence[Blueprint], policy: str, seed: int
) -> None:
    """Write the description of what will be played, or compare it with the one there."""
    parameters = {
        "game": describe(game),
        "line_ups": [describe(line_up) for line_up in line_ups],
        "seed": seed,
        "critics": critics(line_ups[0]),
    }
    parameters = json.loads(json.dumps(parameters))
    if (folder / ABOUT).exists():
        other = difference(read_about(folder).parameters, parameters)
        if other is not None:
            name, there, here = other
            raise ConfigError(
                f"out must go on with the parameters of {folder}: {name} is {json.dumps(there)} "
                f"there, {json.dumps(here)} here"
            )
        return
    about = {
        "format": FORMAT,
        "config": game.config.to_dict(),
        "policy": policy,
        "parameters": parameters,
    }
    with atomic_write(folder / ABOUT) as file:
        file.write(json.dumps(about, indent=1).encode() + b"\n")


def _log(folder: Path, line: dict[str, Any]) -> None:
    """Add a file's line to the log, in place of what was said of that file before."""
    path = folder / LOG
    lines = {}
    for text in path.read_bytes().splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError, TypeError, KeyError):  # cut off, or not ours
            one = parse_object(text)
            lines[int(one["first"])] = one
    lines[line["first"]] = line
    with atomic_write(path) as file:
        file.writelines(json.dumps(lines[first]).encode() + b"\n" for first in sorted(lines))


def _packed(game: HanabiGame, played: list[GameResult], seed: int) -> SearchedGames:
    rows = [deal_game(game, seed, result.game)[0].rows[0] for result in played]  # type: ignore[attr-defined]  # native
    cards = game.config.deck_size
    longest = max(len(result.actions) for result in played)
    moves = np.full((len(played), longest), PAD, dtype=np.int8)
    for i, result in enumerate(played):
        moves[i, : len(result.actions)] = result.actions
    found = [
        (i, turn, seat, decision)
        for i, result in enumerate(played)
        for turn, seat, decision in result.decisions
        if decision.reason != "search_not_allowed"
    ]
    size = (len(found), game.num_actions)
    legal, mean = np.zeros(size, dtype=np.bool_), np.full(size, np.nan, dtype=np.float32)
    count = np.zeros(size, dtype=np.int32)
    for row, (*_, decision) in enumerate(found):
        legal[row, decision.actions] = True
        mean[row, decision.actions] = decision.mean
        count[row, decision.actions] = decision.count
    return SearchedGames(
        deck=np.array([row[len(row) - cards :] for row in rows], dtype=np.uint8),
        first_player=np.array([row[TURN] for row in rows], dtype=np.uint8),
        moves=moves,
        score=np.array([result.score for result in played], dtype=np.int8),
        lives=np.array([result.lives_left for result in played], dtype=np.uint8),
        game=np.array([i for i, *_ in found], dtype=np.int32),
        turn=np.array([turn for _, turn, *_ in found], dtype=np.int16),
        seat=np.array([seat for _, _, seat, _ in found], dtype=np.uint8),
        blueprint=np.array([d.blueprint_action for *_, d in found], dtype=np.int8),
        legal=legal,
        mean=mean,
        count=count,
    )


_SHAPES = {
    "deck": "GC", "first_player": "G", "moves": "GT", "score": "G", "lives": "G", "game": "D",
    "turn": "D", "seat": "D", "blueprint": "D", "legal": "DA", "mean": "DA", "count": "DA",
}  # fmt: skip
"""The axes of the arrays in a file."""


def _read_shard(path: Path, config: HanabiConfig) -> SearchedGames:
    """The games in a file. Raises RecordError where they are no whole games of ``config``."""
    try:
        part = _of_arrays(read_npz(path.read_bytes()), config)
        _require_games(part, config)
        _require_decisions(part, config)
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: expected a file of searched games: {error}") from None
    return part


def _of_arrays(arrays: Mapping[str, NDArray[Any]], config: HanabiConfig) -> SearchedGames:
    """Arrays of the types and shapes that ``SearchedGames`` has. Raises ValueError for others."""
    sizes = {"C": config.deck_size, "A": config.num_actions}
    kinds = get_type_hints(SearchedGames)
    for name, letters in _SHAPES.items():
        if name not in arrays:
            raise ValueError(f"{name} is missing")
        array, kind = arrays[name], get_args(get_args(kinds[name])[1])[0]
        if array.ndim == len(letters):
            for letter, size in zip(letters, array.shape, strict=True):
                sizes.setdefault(letter, size)
        shape = tuple(sizes.get(letter, 0) for letter in letters)
        if array.shape != shape or array.dtype != kind:
            raise ValueError(
                f"{name} must be {np.dtype(kind)} of shape {list(shape)}, got {array.dtype} "
                f"{list(array.shape)}"
            )
    if not sizes["G"]:
        raise ValueError("it has no games")
    return SearchedGames(**{name: arrays[name] for name in _SHAPES})


def _require_games(part: SearchedGames, config: HanabiConfig) -> None:
    """Raises ValueError unless the games can be played to the end, and score what they say."""
    cards = np.repeat(np.arange(config.colors * config.ranks), config.copies * config.colors)
    if (np.sort(part.deck, axis=1) != cards).any():
        raise ValueError("a deck is none of this game")
    _require_range("first_player", part.first_player, 0, config.players - 1)
    _require_range("moves", part.moves, PAD, config.num_actions - 1)
    over = part.moves == PAD
    if (over[:, :-1] & ~over[:, 1:]).any():
        raise ValueError("a move follows the end of a game")
    report = replay(part.recorded(config))
    if report.problems or report.unfinished:
        raise ValueError((report.problems or ["a game is unfinished"])[0].lstrip(": "))


def _require_decisions(part: SearchedGames, config: HanabiConfig) -> None:
    """Raises ValueError unless decisions are of moves that the games have."""
    _require_range("game", part.game, 0, len(part) - 1)
    _require_range("turn", part.turn, 0, part.moves.shape[1] - 1)
    _require_range("blueprint", part.blueprint, 0, config.num_actions - 1)
    _require_range("count", part.count, 0, np.iinfo(np.int32).max)
    mover = (part.first_player[part.game].astype(np.int64) + part.turn) % config.players
    rows = np.arange(len(part.game))
    played = part.played
    if (part.seat != mover).any() or (played == PAD).any():
        raise ValueError("a decision is of no move of its game")
    if not (part.legal[rows, played] & part.legal[rows, part.blueprint]).all():
        raise ValueError("a decision is for a move that it holds to be illegal")
    if not np.isfinite(part.mean[part.count > 0]).all():
        raise ValueError("mean must be finite where count is above 0")


def _require_range(name: str, values: NDArray[Any], least: int, most: int) -> None:
    if ((values < least) | (values > most)).any():
        raise ValueError(f"{name} must be from {least} to {most}")


def _joined(parts: list[SearchedGames]) -> SearchedGames:
    longest = max(part.moves.shape[1] for part in parts)
    starts = np.cumsum([0, *(len(part) for part in parts)])
    parts = [
        replace(
            part,
            game=(part.game + start).astype(np.int32),
            moves=np.pad(
                part.moves, ((0, 0), (0, longest - part.moves.shape[1])), constant_values=PAD
            ),
        )
        for part, start in zip(parts, starts.tolist(), strict=False)
    ]
    return SearchedGames(
        **{
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(SearchedGames)
        }
    )
