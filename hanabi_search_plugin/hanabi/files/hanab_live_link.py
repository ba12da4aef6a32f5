"""The short links of hanab.live: a whole game in some 200 characters.

After ``.../shared-replay-json/`` stand three fields with commas between them, and a hyphen after
every 20 characters, which mean nothing: players, ranks and deck; types and actions; the number of
the variant. A character of ``ALPHABET`` is a number from 0 to 61. A card is one of them, suit * R +
rank - 1 of R ranks. An action is two: (value + 1, or 0 without one) * T + type - least type, of T
types from the least to the most in the game, and the target. A ``#`` and a turn may follow.

A link knows neither names nor options: who begins and larger hands cannot be said in one.
"""

from __future__ import annotations

import re
from typing import Any

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi.files.hanab_live_json import (
    COLOR_CLUE,
    NAMES,
    RANK_CLUE,
    VARIANTS,
    to_hanab_live,
)
from hanabi_search_plugin.hanabi.files.records import RecordedGame

SITE = "https://hanab.live"
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST_LINK = 4096  # characters; a game of 120 moves takes 350

_NUMBERS = {"No Variant": 0, "4 Suits": 15, "3 Suits": 18}
_LINK = re.compile(
    r"(?:(?:https?://[^/\s#]+)?/?(?:shared-)?replay-json/)?([\w-]*(?:,[\w-]*){2,3})(?:#\d*)?",
    re.ASCII,
)
_HYPHEN_EVERY = 20
_RANKS = "15"  # from 1 to 5


def is_link(text: str) -> bool:
    """Has the text the form of a short link, with its address or without?"""
    return len(text) <= LONGEST_LINK and _LINK.fullmatch(text.strip()) is not None


def to_link(game: RecordedGame) -> str:
    """The link of a game of legal moves. Raises RecordError where a link cannot say it."""
    fields, where = to_hanab_live(game), game.source or f"game {game.game}"
    options = dict(fields.get("options", {}))
    variant = options.pop("variant", "No Variant")
    if options:
        raise RecordError(
            f"{where}: a short link cannot say {', '.join(options)}, expected none: hanab-live, "
            "the JSON, can"
        )
    deck = "".join(ALPHABET[5 * card["suitIndex"] + card["rank"] - 1] for card in fields["deck"])
    actions = fields["actions"]
    types = [action["type"] for action in actions] or [0]
    least, most = min(types), max(types)
    pairs = "".join(
        ALPHABET[(action.get("value", -1) + 1) * (most - least + 1) + action["type"] - least]
        + ALPHABET[action["target"]]
        for action in actions
    )
    text = f"{game.config.players}{_RANKS}{deck},{least}{most}{pairs},{_NUMBERS[variant]}"
    parts = (text[i : i + _HYPHEN_EVERY] for i in range(0, len(text), _HYPHEN_EVERY))
    return f"{SITE}/shared-replay-json/{'-'.join(parts)}"


def from_link(link: str, where: str) -> dict[str, Any]:
    """The fields of a link as ``from_hanab_live`` takes them.

    Raises RecordError, which begins with ``where``, for what is no link of a variant of ours.
    """
    found = _LINK.fullmatch(link.strip()) if len(link) <= LONGEST_LINK else None
    if found is None:
        raise RecordError(f"{where}: expected a short link of hanab.live, got {link[:40]!r}")
    head, moves, number, *_ = found[1].replace("-", "").split(",")
    variants = {str(number): name for name, number in _NUMBERS.items()}
    if number not in variants:
        known = ", ".join(f"{number} ({name})" for number, name in variants.items())
        raise RecordError(f"{where}: the variant must be one of {known}, got {number!r}")
    if not re.fullmatch(rf"\d{_RANKS}.*", head):
        raise RecordError(
            f"{where}: a link must begin with the players and the ranks {_RANKS}, got {head[:3]!r}"
        )
    players = int(head[0])
    if not 2 <= players <= len(NAMES):
        raise RecordError(f"{where}: players must be from 2 to {len(NAMES)}, got {players}")
    deck = [divmod(_number(character, where), 5) for character in head[3:]]
    return {
        "players": list(NAMES[:players]),
        "deck": [{"suitIndex": suit, "rank": rank + 1} for suit, rank in deck],
        "actions": _actions(moves, where),
        "options": {"variant": variants[number]},
    }


assert set(_NUMBERS) == set(VARIANTS)


def _actions(moves: str, where: str) -> list[dict[str, int]]:
    if not re.fullmatch(r"\d\d.*", moves) or moves[0] > moves[1] or len(moves) % 2:
        raise RecordError(
            f"{where}: actions must be the least and the largest type and two characters each, got "
            f"{moves[:10]!r}"
        )
    least, types = int(moves[0]), int(moves[1]) - int(moves[0]) + 1
    actions = []
    for i in range(2, len(moves), 2):
        value, kind = divmod(_number(moves[i], where), types)
        action = {"type": kind + least, "target": _number(moves[i + 1], where)}
        if action["type"] in (COLOR_CLUE, RANK_CLUE):
            action["value"] = value - 1
        actions.append(action)
    return actions


def _number(character: str, where: str) -> int:
    number = ALPHABET.find(character)
    if number < 0:
        raise RecordError(f"{where}: a link is letters and digits, got {character!r}")
    return number
