"""Hanabi in words: cards, actions, boards, and actions as the objects of recorded games.

Colours are R Y G W B and ranks are printed from 1, as OpenSpiel does; slots count from 0, the
oldest card first. W: words of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import (
    COUNTDOWN,
    DECK_NEXT,
    DECK_SIZE,
    HANDS,
    HIDDEN_CARD,
    INFO,
    LAST_ACTION,
    LAST_CARD,
    LAST_PLAYER,
    LAST_TOUCHED,
    LEFT0,
    LEFT1,
    LEFT2,
    LIVES,
    MAX_INFO,
    MAX_LIVES,
    MOVES,
    NO_CARD,
    PLAYED,
    TURN,
)

COLOR_LETTERS = "RYGWB"
COLOR_NAMES = ("red", "yellow", "green", "white", "blue")


def card_name(config: HanabiConfig, card: int) -> str:
    """Colour letter and rank, "??" for a hidden card, "--" for none."""
    if card in (HIDDEN_CARD, NO_CARD):
        return "??" if card == HIDDEN_CARD else "--"
    return f"{COLOR_LETTERS[card // config.ranks]}{card % config.ranks + 1}"


def action_to_dict(config: HanabiConfig, action: int) -> dict[str, Any]:
    """An action id as the object of recorded games; a hint's target is an offset from the actor.

    Raises RecordError where the configuration has no such action.
    """
    p, h, c, r = config.players, config.hand_size, config.colors, config.ranks
    if not 0 <= action < config.num_actions:
        raise RecordError(f"action must be from 0 to {config.num_actions - 1}, got {action}")
    if action < 2 * h:
        return {"type": "play" if action >= h else "discard", "slot": action % h}
    hint = action - 2 * h
    if hint < (p - 1) * c:
        return {"type": "reveal_color", "target": hint // c + 1, "color": hint % c}
    hint -= (p - 1) * c
    return {"type": "reveal_rank", "target": hint // r + 1, "rank": hint % r}


def action_from_dict(config: HanabiConfig, action: Mapping[str, Any]) -> int:
    """The id of an action of a recorded game. Raises RecordError naming the field."""
    p, h, c, r = config.players, config.hand_size, config.colors, config.ranks
    kind = action.get("type")
    fields: dict[Any, tuple[tuple[str, int, int], ...]] = {
        "discard": (("slot", 0, h - 1),),
        "play": (("slot", 0, h - 1),),
        "reveal_color": (("target", 1, p - 1), ("color", 0, c - 1)),
        "reveal_rank": (("target", 1, p - 1), ("rank", 0, r - 1)),
    }
    if not isinstance(kind, str) or kind not in fields:
        raise RecordError(f"type must be one of {', '.join(fields)}, got {kind!r}")
    values = []
    for name, low, high in fields[kind]:
        value = action.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise RecordError(f"{name} of {kind} must be from {low} to {high}, got {value!r}")
        values.append(value)
    extra = set(action) - {"type", *(name for name, _, _ in fields[kind])}
    if extra:
        raise RecordError(f"{kind} takes no {', '.join(sorted(map(str, extra)))}")
    if kind == "discard":
        return values[0]
    if kind == "play":
        return h + values[0]
    target, value = values
    if kind == "reveal_color":
        return 2 * h + (target - 1) * c + value
    return 2 * h + (p - 1) * c + (target - 1) * r + value


def action_in_words(config: HanabiConfig, player: int, action: int) -> str:
    """What ``player`` does: "P1 hints red to P0", "P0 hints 3 to P1", "P0 plays slot 2".

    Raises RecordError where the configuration has no such action.
    """
    what = action_to_dict(config, action)
    if what["type"] in ("play", "discard"):
        return f"P{player} {what['type']}s slot {what['slot']}"
    value = COLOR_NAMES[what["color"]] if "color" in what else str(what["rank"] + 1)
    return f"P{player} hints {value} to P{(player + what['target']) % config.players}"


def why_illegal(config: HanabiConfig, row: NDArray[np.int32], action: int) -> str:
    """Which rule forbids an action in a world; the action has to be illegal."""
    if row[TURN] < 0:
        return "the game is over"
    if not 0 <= action < config.num_actions:
        return f"actions are from 0 to {config.num_actions - 1}"
    what = action_to_dict(config, action)
    if "slot" in what:
        slot = HANDS + int(row[TURN]) * config.hand_size + what["slot"]
        if row[slot] == NO_CARD:
            return "that slot is empty"
        return f"all {row[MAX_INFO]} information tokens are there"
    return "no information token is left" if row[INFO] == 0 else "it would touch no card"


def describe(config: HanabiConfig, row: NDArray[np.int32], seat: int | None = None) -> str:
    """A board as plain text, a line for each part.

    ``row`` [W] is a world, or a view's row, in which hidden cards show as ??. ``seat`` is marked as
    the reader's. Under each hand stands what hints have left possible: colours/ranks, * for all.
    """
    over = row[TURN] < 0
    score = int(row[PLAYED]).bit_count()
    lines = [
        f"move {row[MOVES]}, {'the game is over' if over else f'P{row[TURN]} to move'}",
        f"score {score} of {config.max_score}, lives {row[LIVES]} of {row[MAX_LIVES]}, "
        f"information {row[INFO]} of {row[MAX_INFO]}, {_deck(row)}",
        "fireworks " + " ".join(_fireworks(config, int(row[PLAYED]))),
    ]
    h = config.hand_size
    for player in range(config.players):
        hand = HANDS + player * h
        told = hand + config.players * h
        cards = [int(card) for card in row[hand : hand + h]]
        words = [int(word) for word in row[told : told + h]]
        hints = [
            "--" if card == NO_CARD else could_be(config, word)
            for card, word in zip(cards, words, strict=True)
        ]
        width = max(map(len, hints))
        lines.append(
            f"P{player} "
            + " ".join(card_name(config, card).ljust(width) for card in cards)
            + (" (you)" if player == seat else "")
        )
        lines.append("   " + " ".join(hint.ljust(width) for hint in hints))
    lines.append(
        "discards "
        + (" ".join(card_name(config, card) for card in discards(config, row)) or "none")
    )
    if row[LAST_PLAYER] >= 0:
        lines.append("last move: " + last_move(config, row))
    return "\n".join(line.rstrip() for line in lines)


def _deck(row: NDArray[np.int32]) -> str:
    left = int(row[DECK_SIZE] - row[DECK_NEXT])
    return f"deck {left}" if left else f"deck 0, {counted(int(row[COUNTDOWN]), 'move')} left"


def _fireworks(config: HanabiConfig, played: int) -> list[str]:
    every = (1 << config.ranks) - 1
    return [
        f"{COLOR_LETTERS[color]}{(played >> config.ranks * color & every).bit_count()}"
        for color in range(config.colors)
    ]


def could_be(config: HanabiConfig, word: int) -> str:
    """What hints have left possible of a card, by its knowledge word: "RG/12", * for all."""
    colors = "".join(COLOR_LETTERS[k] for k in range(config.colors) if word >> k & 1)
    ranks = "".join(str(k + 1) for k in range(config.ranks) if word >> (k + 5) & 1)
    return (
        f"{'*' if len(colors) == config.colors else colors}/"
        f"{'*' if len(ranks) == config.ranks else ranks}"
    )


def discards(config: HanabiConfig, row: NDArray[np.int32]) -> list[int]:
    """Discarded and misplayed cards, in order of identity."""
    cards = []
    for card in range(config.colors * config.ranks):
        left = 3 - sum(int(row[plane]) >> card & 1 for plane in (LEFT0, LEFT1, LEFT2))
        gone = config.copies[card % config.ranks] - left - (int(row[PLAYED]) >> card & 1)
        cards += [card] * gone
    return cards


def last_move(config: HanabiConfig, row: NDArray[np.int32]) -> str:
    """The move before, with what it showed: "P0 hints 1 to P1, slots 0, 2"; needs one."""
    words = action_in_words(config, int(row[LAST_PLAYER]), int(row[LAST_ACTION]))
    if row[LAST_CARD] >= 0:
        return f"{words}, {card_name(config, int(row[LAST_CARD]))}"
    slots = [str(i) for i in range(config.hand_size) if row[LAST_TOUCHED] >> i & 1]
    return f"{words}, slot{'s' if len(slots) > 1 else ''} {', '.join(slots)}"
