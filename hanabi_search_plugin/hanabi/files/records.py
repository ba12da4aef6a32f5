"""Read and write recorded games: JSON lines, one game a line, plain or ``.gz``.

Fields of a line:

* needed: ``players``, ``deck`` (every card, first dealt first, identity = ranks * colour + rank)
  and ``actions`` (objects such as ``{"type": "play", "slot": 2}``, or OpenSpiel's integers);
* optional: ``game`` (a number; the line's own by default), ``score``, ``lives_left``, ``bomb`` (how
  a lost last life counts in ``score``), ``first_player``, ``seed``, ``policies`` (a name a seat);
* ``colors``, ``ranks``, ``hand_size``, ``information_tokens`` and ``life_tokens`` are written where
  they are not the standard game's, which is what a line without them means.

Other fields are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.html_tables import html_table
from hanabi_search_plugin.core.plain_json import parse_object, short
from hanabi_search_plugin.core.require import require_writable
from hanabi_search_plugin.hanabi.engine.config import Bomb, HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import INFO, LIVES, PLAYED
from hanabi_search_plugin.hanabi.engine.text import action_from_dict, action_to_dict, last_move
from hanabi_search_plugin.hanabi.files.text_lines import text_lines
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

_SIZES = ("colors", "ranks", "hand_size", "information_tokens", "life_tokens")


@dataclass(frozen=True, kw_only=True)
class RecordedGame:
    """One game. ``config.bomb`` is not read: the record has its own ``bomb``."""

    config: HanabiConfig  #: the rules it was played by
    game: int  #: its number in the file or the evaluation
    deck: tuple[int, ...]  #: [deck size] card identities, first dealt first
    actions: tuple[int, ...]  #: [T] OpenSpiel's action ids
    first_player: int = 0  #: the seat that moved first
    score: int | None = None  #: None: not recorded
    lives_left: int | None = None  #: at the end; None: not recorded
    bomb: Bomb | None = None  # the convention of ``score``; None: not recorded
    seed: int | None = None  #: of the evaluation it is of; None: not recorded
    policies: tuple[str, ...] | None = None  #: a name a seat
    source: str = ""  #: "file:line" it was read from

    def _repr_html_(self) -> str:
        """For notebooks: its moves, one a row. ``rendering.game_page.GamePage`` shows the table."""
        rules = HanabiGame(self.config)
        worlds = rules.from_decks([self.deck], first_player=self.first_player)
        rows: list[tuple[str, ...]] = []
        for number, action in enumerate(self.actions):
            player = int(worlds.current_player[0])
            if player < 0 or not worlds.legal[0, action]:
                rows.append((str(number), "not legal", "", "", ""))
                break
            worlds.step(np.array([action]))
            row = worlds.rows[0]
            figures = (int(row[PLAYED]).bit_count(), row[INFO], row[LIVES])
            rows.append((str(number), last_move(self.config, row), *map(str, figures)))
        names = f", {', '.join(self.policies)}" if self.policies else ""
        score = "" if self.score is None else f", score {self.score}"
        return html_table(
            f"game {self.game}{names}{score}", ("turn", "move", "points", "hints", "lives"), rows
        )


def read_games(path: str | Path) -> Iterator[RecordedGame]:
    """The games of a file, one at a time.

    Raises RecordError naming file, line and field where the file is damaged or holds no game, and
    OSError where it cannot be opened.
    """
    count = 0
    for number, line in text_lines(path):
        if line.strip():
            where = f"{path}:{number}"
            yield recorded_game(json_object(line, where), where, number - 1)
            count += 1
    if not count:
        raise RecordError(f"{path}: expected recorded games, one JSON object a line, got none")


def write_games(
    path: str | Path,
    games: Iterable[RecordedGame],
    *,
    actions: Literal["objects", "integers"] = "objects",
) -> None:
    """Write a file of games (compressed where ``path`` ends in ``.gz``), whole or not at all.

    ``actions`` says how moves are written: as objects with words, or as OpenSpiel's ids. Raises
    ConfigError for a path that cannot be written, and as ``recorded``.
    """
    require_writable("path", path)
    with atomic_write(path) as file:
        for game in recorded(games):
            file.write(line_of_record(game, actions).encode() + b"\n")


def recorded(games: Iterable[RecordedGame]) -> Iterator[RecordedGame]:
    """The games, one by one. Raises ConfigError for what is none."""
    if isinstance(games, RecordedGame | str) or not isinstance(games, Iterable):
        one = isinstance(games, RecordedGame)
        raise ConfigError(
            "games must be a list of RecordedGames, as read_games(path) gives it, got "
            f"{'one of them: write [record]' if one else repr(games)}"
        )
    for game in games:
        if not isinstance(game, RecordedGame):
            raise ConfigError(
                f"games must be RecordedGames, as read_games(path) gives them, got {game!r}"
            )
        yield game


# ------------------------------------------------------------------------------------- reading


def json_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object that a text is. Raises RecordError beginning with ``where``."""
    try:
        return parse_object(text)
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None


def recorded_game(fields: dict[str, Any], where: str, index: int) -> RecordedGame:
    """The game of a line's fields, number ``index`` where they give none. Raises RecordError."""
    config = _config(fields, where)
    return RecordedGame(
        config=config,
        game=_integer(fields, "game", where, default=index),
        deck=_deck(fields, config, where),
        actions=_actions(fields, config, where),
        first_player=_integer(fields, "first_player", where, (0, config.players - 1), default=0),
        score=_optional(fields, "score", where, (-1, config.max_score)),
        lives_left=_optional(fields, "lives_left", where, (0, config.life_tokens)),
        bomb=_bomb(fields, where),
        seed=_optional(fields, "seed", where),
        policies=_policies(fields, config, where),
        source=where,
    )


def _config(fields: dict[str, Any], where: str) -> HanabiConfig:
    if "players" not in fields:
        if {"turn", "seat", "words"} <= fields.keys():
            raise RecordError(
                f"{where}: that is a trace of searched decisions (--trace); --save writes games"
            )
        if "command" in fields:
            raise RecordError(f"{where}: that is a result (--json); --save writes games")
        raise RecordError(f"{where}: field players is missing")
    sizes = {name: fields[name] for name in ("players", *_SIZES) if fields.get(name) is not None}
    try:
        return HanabiConfig(**sizes)
    except ConfigError as error:
        raise RecordError(f"{where}: {error}") from None


def _deck(fields: dict[str, Any], config: HanabiConfig, where: str) -> tuple[int, ...]:
    deck = tuple(_integers(fields, "deck", where))
    require_deck(deck, config, where)
    return deck


def require_deck(deck: tuple[int, ...], config: HanabiConfig, where: str) -> None:
    """Raises RecordError beginning with ``where`` unless ``deck`` holds the game's cards."""
    wanted = {
        config.ranks * color + rank: copies
        for color in range(config.colors)
        for rank, copies in enumerate(config.copies)
    }
    if len(deck) != config.deck_size:
        raise RecordError(f"{where}: deck must hold {config.deck_size} cards, got {len(deck)}")
    for i, card in enumerate(deck):
        if card not in wanted:
            raise RecordError(
                f"{where}: deck[{i}] must be a card from 0 to {len(wanted) - 1}, got {card}"
            )
    for card, copies in wanted.items():
        if deck.count(card) != copies:
            raise RecordError(
                f"{where}: deck must hold card {card} {copies} times, got {deck.count(card)}"
            )


def _actions(fields: dict[str, Any], config: HanabiConfig, where: str) -> tuple[int, ...]:
    return tuple(
        _action(entry, config, f"{where}: actions[{i}]")
        for i, entry in enumerate(_list(fields, "actions", where))
    )


def _action(entry: Any, config: HanabiConfig, where: str) -> int:
    if isinstance(entry, dict):
        try:
            return action_from_dict(config, entry)
        except ValueError as error:
            raise RecordError(f"{where}: {error}") from None
    if isinstance(entry, bool) or not isinstance(entry, int):
        raise RecordError(f"{where} must be an object or an integer, got {short(entry)}")
    if not 0 <= entry < config.num_actions:
        raise RecordError(f"{where} must be from 0 to {config.num_actions - 1}, got {entry}")
    return entry


def _policies(fields: dict[str, Any], config: HanabiConfig, where: str) -> tuple[str, ...] | None:
    if fields.get("policies") is None:
        return None
    names = _list(fields, "policies", where)
    if len(names) != config.players or not all(isinstance(name, str) for name in names):
        raise RecordError(
            f"{where}: policies must be {config.players} names, one a seat, got {short(names)}"
        )
    return tuple(names)


def _bomb(fields: dict[str, Any], where: str) -> Bomb | None:
    bomb: Bomb | None = fields.get("bomb")
    if bomb is not None and bomb not in get_args(Bomb):
        raise RecordError(
            f"{where}: bomb must be one of {', '.join(get_args(Bomb))}, got {short(bomb)}"
        )
    return bomb


def _list(fields: dict[str, Any], name: str, where: str) -> list[Any]:
    if name not in fields:
        raise RecordError(f"{where}: field {name} is missing")
    value = fields[name]
    if not isinstance(value, list):
        raise RecordError(f"{where}: {name} must be a list, got {short(value)}")
    return value


def _integers(fields: dict[str, Any], name: str, where: str) -> list[int]:
    values = _list(fields, name, where)
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int):
            raise RecordError(f"{where}: {name}[{i}] must be an integer, got {short(value)}")
    return values


def _optional(
    fields: dict[str, Any], name: str, where: str, bounds: tuple[int, int] | None = None
) -> int | None:
    if fields.get(name) is None:
        return None
    return _integer(fields, name, where, bounds, default=0)


def _integer(
    fields: dict[str, Any],
    name: str,
    where: str,
    bounds: tuple[int, int] | None = None,
    *,
    default: int,
) -> int:
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise RecordError(f"{where}: {name} must be an integer, got {short(value)}")
    if bounds is not None and not bounds[0] <= value <= bounds[1]:
        raise RecordError(f"{where}: {name} must be from {bounds[0]} to {bounds[1]}, got {value}")
    return value


# ------------------------------------------------------------------------------------- writing


def line_of_record(game: RecordedGame, actions: Literal["objects", "integers"] = "objects") -> str:
    """The line of a game, without its end."""
    return json.dumps(_to_json(game, actions == "objects"), separators=(",", ":"))


def _to_json(game: RecordedGame, objects: bool) -> dict[str, Any]:
    config = game.config
    standard = HanabiConfig(players=config.players)
    out: dict[str, Any] = {"players": config.players, "game": game.game}
    for name in _SIZES:
        if getattr(config, name) != getattr(standard, name):
            out[name] = getattr(config, name)
    if game.first_player:
        out["first_player"] = game.first_player
    out["deck"] = list(game.deck)
    out["actions"] = [action_to_dict(config, a) if objects else a for a in game.actions]
    for name in ("score", "lives_left", "bomb", "seed"):
        if getattr(game, name) is not None:
            out[name] = getattr(game, name)
    if game.policies is not None:
        out["policies"] = list(game.policies)
    return out
