"""The data files of AH2AC2, a challenge to play with people (2025): games from hanab.live.

A file of safetensors of N games holds ``decks`` [N, 50, 2] (colour and rank from 0, top first),
``actions`` [N, T, P] (OpenSpiel's ids for the player to move; no-op, the id after the last, for the
others and after the end), ``num_actions``, ``scores`` and ``game_ids`` [N], and ``num_players``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files.records import RecordedGame, require_deck

_BLOCK = 256  # games in memory
_MOST_GAMES, _MOST_TURNS = 10_000_000, 10_000
_HEADER = 8  # bytes of its length, before the header


def is_safetensors(path: Path) -> bool:
    """Does the file begin as one of safetensors does: a length, and a JSON object?"""
    with path.open("rb") as file:
        head = file.read(_HEADER + 1)
    return head[_HEADER:] == b"{" and head[_HEADER - 2 : _HEADER] == b"\0\0"


def read_ah2ac2(path: str | Path) -> Iterator[RecordedGame]:
    """The games of a file, one at a time; a lost game scores 0.

    Raises RecordError naming the file and the game, and OSError where it cannot be opened.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="np") as file:
            size, config = _checked(path, file)
            for start in range(0, size, _BLOCK):
                block = slice(start, min(size, start + _BLOCK))
                names = ("decks", "actions", "num_actions", "scores", "game_ids")
                parts = {name: _whole(path, name, file.get_slice(name)[block]) for name in names}
                for i in range(len(parts["decks"])):
                    game = {name: part[i] for name, part in parts.items()}
                    yield _game(game, config, f"{path}: game {start + i}")
    except SafetensorError as error:
        raise RecordError(f"{path}: expected a file of safetensors: {error}") from None


def _checked(path: str | Path, file: Any) -> tuple[int, HanabiConfig]:
    """How many games there are, and of what kind. Reads shapes and one number alone."""
    names = ("decks", "actions", "num_actions", "scores", "game_ids", "num_players")
    for name in names:
        if name not in file.keys():
            raise RecordError(f"{path}: expected tensors {', '.join(names)}, got no {name}")
    shapes = {name: tuple(file.get_slice(name).get_shape()) for name in names}
    players = -1
    if shapes["num_players"] in ((), (1,)):
        players = int(_whole(path, "num_players", file.get_tensor("num_players")).reshape(()))
    try:
        config = HanabiConfig(players=players)
    except ConfigError as error:
        raise RecordError(f"{path}: num_players: {error}") from None
    size, turns, *_ = (*shapes["actions"], 0, 0)
    wanted = {
        "decks": (size, config.deck_size, 2),
        "actions": (size, turns, players),
        "num_actions": (size,),
        "scores": (size,),
        "game_ids": (size,),
    }
    for name, shape in wanted.items():
        if shapes[name] != shape:
            raise RecordError(
                f"{path}: {name} of {size} games must be of shape {shape}, got {shapes[name]}"
            )
    if not 1 <= size <= _MOST_GAMES or turns > _MOST_TURNS:
        raise RecordError(
            f"{path}: expected 1 to {_MOST_GAMES:,} games of at most {_MOST_TURNS:,} turns, got "
            f"{size:,} of {turns:,}"
        )
    return size, config


def _whole(path: str | Path, name: str, values: NDArray[Any]) -> NDArray[np.int64]:
    """The values as whole numbers, which they must be."""
    if values.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            integers = values.astype(np.int64)
        if np.array_equal(integers, values):
            return integers
    raise RecordError(f"{path}: {name} must be whole numbers, got others ({values.dtype})")


def _game(parts: dict[str, NDArray[np.int64]], config: HanabiConfig, where: str) -> RecordedGame:
    colors, ranks = parts["decks"].T
    if not ((colors >= 0) & (colors < config.colors) & (ranks >= 0) & (ranks < config.ranks)).all():
        raise RecordError(
            f"{where}: decks must be of colours and ranks from 0 to {config.colors - 1}, got others"
        )
    deck = tuple((config.ranks * colors + ranks).tolist())
    require_deck(deck, config, where)
    turns, no_op = int(parts["num_actions"]), config.num_actions
    table = parts["actions"]
    if not 0 <= turns <= len(table):
        raise RecordError(f"{where}: num_actions must be from 0 to {len(table)}, got {turns}")
    movers = np.arange(turns) % config.players
    actions = table[np.arange(turns), movers]
    others = table[:turns].copy()
    others[np.arange(turns), movers] = no_op
    wrong = np.flatnonzero((actions < 0) | (actions >= no_op) | (others != no_op).any(axis=1))
    if len(wrong):
        turn = int(wrong[0])
        raise RecordError(
            f"{where}: actions[{turn}] (turn {turn + 1}) must be a move of player {movers[turn]} "
            f"from 0 to {no_op - 1} and {no_op} for the others, got {table[turn].tolist()}"
        )
    score = int(parts["scores"])
    if not 0 <= score <= config.max_score:
        raise RecordError(f"{where}: scores must be from 0 to {config.max_score}, got {score}")
    return RecordedGame(
        config=config,
        game=int(parts["game_ids"]),
        deck=deck,
        actions=tuple(actions.tolist()),
        score=score,
        bomb="zero",
        source=where,
    )
