"""Moves as texts have them: OpenSpiel's "(Play 2)", "(Reveal player +1 color R)", and in words.

Slots count from 0, the oldest card first, as everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.plain_json import short
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.text import (
    COLOR_LETTERS,
    COLOR_NAMES,
    action_from_dict,
    action_to_dict,
)

_WAYS = (  # whom: a player's number, or an offset from the mover after "+"
    r"(?P<card>play|discard)s? (?:slot |card |position )?(?P<slot>\d+)",
    r"reveals?(?: to)? (?:player |p)(?P<whom>\+?\d+) (?:colou?r |rank |number )?(?P<what>\w+)",
    r"(?:hint|tell)s? (?:(?:player |p)(?P<whom>\+?\d+) )?(?:colou?r |rank )?(?P<what>\w+)",
    r"(?:hint|tell)s? (?:colou?r |rank )?(?P<what>\w+) to (?:player |p)(?P<whom>\+?\d+)",
)


def move_name(config: HanabiConfig, action: int) -> str:
    """OpenSpiel's name of an action: "(Play 2)", "(Reveal player +1 rank 3)".

    Slots count from 0, the oldest card first; ranks from 1; "+1" is the next player. Raises
    RecordError where the configuration has no such action.
    """
    move = action_to_dict(config, action)
    if "slot" in move:
        return f"({move['type'].capitalize()} {move['slot']})"
    what = (
        f"color {COLOR_LETTERS[move['color']]}" if "color" in move else f"rank {move['rank'] + 1}"
    )
    return f"(Reveal player +{move['target']} {what})"


def read_move(config: HanabiConfig, player: int, move: Any) -> int:
    """The id of a move of ``player``, which need not be legal.

    ``move``: an id; OpenSpiel's text; words as "play 2", "P0 plays slot 2", "hint P1 red", "hints 3
    to P1" ("hint red" with two players); or the object of recorded games. Any case, brackets or
    none. Raises RecordError for what is none of these.
    """
    if isinstance(move, Mapping):
        return action_from_dict(config, move)
    if isinstance(move, Integral) and not isinstance(move, bool):
        return _require_id(config, int(move))
    if not isinstance(move, str):
        raise RecordError(f"a move must be text, an id or an object, got {short(move)}")
    words = " ".join(re.sub(r"[().:,;\"'`*]", " ", move.lower()).split())
    if words.isdecimal():
        return _require_id(config, int(words))
    words = re.sub(rf"^p{player} ", "", words)
    for way in _WAYS:
        found = re.fullmatch(way, words)
        if found is not None:
            return action_from_dict(config, _object(config, player, found.groupdict(), move))
    raise _unknown(config, move)


def _object(
    config: HanabiConfig, player: int, found: Mapping[str, str | None], move: str
) -> dict[str, Any]:
    if found.get("card"):
        return {"type": found["card"], "slot": int(found["slot"] or 0)}
    whom, what = found["whom"], found["what"] or ""
    if whom is None:
        if config.players > 2:
            raise RecordError(f"a hint must say to whom, as in 'hint P1 {what}', got {move!r}")
        target = 1
    elif whom.startswith("+"):
        target = int(whom)
    else:
        others = [f"P{seat}" for seat in range(config.players) if seat != player]
        if f"P{int(whom)}" not in others:
            raise RecordError(
                f"a hint of P{player} must go to another player, {' or '.join(others)}, got "
                f"{move!r}"
            )
        target = (int(whom) - player) % config.players
    if what.isdecimal():
        if not 1 <= int(what) <= config.ranks:
            raise RecordError(f"a rank must be from 1 to {config.ranks}, got {move!r}")
        return {"type": "reveal_rank", "target": target, "rank": int(what) - 1}
    letters = {letter.lower(): color for color, letter in enumerate(COLOR_LETTERS)}
    colors = letters | {name: color for color, name in enumerate(COLOR_NAMES)}
    if what not in colors:
        raise _unknown(config, move)
    return {"type": "reveal_color", "target": target, "color": colors[what]}


def _require_id(config: HanabiConfig, action: int) -> int:
    action_to_dict(config, action)  # refuses what is none
    return action


def _unknown(config: HanabiConfig, move: str) -> RecordError:
    return RecordError(
        "a move must be as in '(Play 2)', '(Discard 0)', '(Reveal player +1 color R)', 'play 2' or "
        f"'hint P1 red', or an id from 0 to {config.num_actions - 1}, got {short(move)}"
    )
