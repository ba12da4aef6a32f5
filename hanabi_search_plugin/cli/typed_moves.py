"""Moves as a person types them: "p0", "hint red", "hint P2 3"."""

from __future__ import annotations

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.text import (
    COLOR_LETTERS,
    COLOR_NAMES,
    action_from_dict,
    action_to_dict,
)

VERBS = {"play": "play", "p": "play", "discard": "discard", "d": "discard"}


def spelled(config: HanabiConfig, player: int, action: int) -> str:
    """How ``player`` types an action in full: "play 2", "hint red", "hint P2 red"."""
    what = action_to_dict(config, action)
    if "slot" in what:
        return f"{what['type']} {what['slot']}"
    hinted = COLOR_NAMES[what["color"]] if "color" in what else what["rank"] + 1
    whom = f"P{(player + what['target']) % config.players} " if config.players > 2 else ""
    return f"hint {whom}{hinted}"


def parse_move(config: HanabiConfig, player: int, line: str) -> int:
    """The action that a typed line means. Raises ConfigError, which says what was expected."""
    words = line.lower().split()
    if len(words) == 1 and len(words[0]) == 2:
        words = [words[0][0], words[0][1:]]  # p2, d0, h3, hr
    if len(words) == 1 and len(words[0]) == 3 and words[0][0] == "h":
        words = [*words[0]]  # h2y
    if words and words[0] in VERBS:
        return _of_slot(config, VERBS[words[0]], words[1:])
    if words and words[0] in ("hint", "h"):
        return _hint(config, player, words[1:])
    raise ConfigError(f"{line!r} is not a move: help lists them")


def _of_slot(config: HanabiConfig, verb: str, words: list[str]) -> int:
    slots = [str(slot) for slot in range(config.hand_size)]
    if len(words) != 1 or words[0] not in slots:
        raise ConfigError(
            f"{verb} takes a slot from 0 to {slots[-1]}, as in {verb} 0; "
            f"got {' '.join(words) or 'none'}"
        )
    return action_from_dict(config, {"type": verb, "slot": int(words[0])})


def _hint(config: HanabiConfig, player: int, words: list[str]) -> int:
    others = [seat for seat in range(config.players) if seat != player]
    names = " or ".join(f"P{seat}" for seat in others)
    if len(words) == 2:
        known = {name: seat for seat in others for name in (f"p{seat}", str(seat))}
        if words[0] not in known:
            yours = words[0].removeprefix("p") == str(player)
            got = "yourself" if yours else words[0]
            raise ConfigError(f"a hint goes to another player, {names}; got {got}")
        seat = known[words[0]]
    elif len(words) == 1 and len(others) == 1:
        seat = others[0]
    elif len(words) == 1:
        raise ConfigError(f"say whom, {names}, as in hint P{others[0]} {words[0]}")
    else:
        raise ConfigError("hint takes a colour or a rank, as in hint red or hint 1")
    what, target = words[-1], (seat - player) % config.players
    ranks = [str(rank + 1) for rank in range(config.ranks)]
    names_of_colors = COLOR_NAMES[: config.colors]
    letters = list(COLOR_LETTERS[: config.colors].lower())
    if what in ranks:
        return action_from_dict(
            config, {"type": "reveal_rank", "target": target, "rank": ranks.index(what)}
        )
    if what not in (*names_of_colors, *letters):
        raise ConfigError(
            f"a hint names a colour, {', '.join(names_of_colors)}, or a rank from 1 to "
            f"{config.ranks}; got {what}"
        )
    color = letters.index(what[0])
    return action_from_dict(config, {"type": "reveal_color", "target": target, "color": color})
