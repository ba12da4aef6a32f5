"""Hanabi on a terminal of 80 columns: the board, moves and searched decisions.

A board is drawn from one row of ``hanabi.layout``: a world's shows every card, a view's hides what
that seat does not see. Colour only repeats what the text says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from hanabi_search_plugin.core.result import Reason, SearchResult
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DECK_SIZE,
    HANDS,
    HIDDEN_CARD,
    INFO,
    LAST_PLAYER,
    LIVES,
    NO_CARD,
    PLAYABLE,
    PLAYED,
    TOLD_COLOR,
    TOLD_RANK,
)
from hanabi_search_plugin.hanabi.engine.text import (
    COLOR_LETTERS,
    COLOR_NAMES,
    action_to_dict,
    card_name,
    discards,
    last_move,
)

STYLES = ("red", "yellow", "green", "white", "blue")
WIDTH = 80
LABEL = 13  # columns before the cards
CELL = 11  # columns of a card, less for large hands


def board(config: HanabiConfig, row: Any, seats: tuple[str, ...], you: int | None = None) -> Text:
    """Fireworks, tokens, hands with what their holders were told, discards."""
    out = Text()
    label(out, "fireworks")
    for color in range(config.colors):
        height = sum(_bit(row[PLAYED], config.ranks * color + r) for r in range(config.ranks))
        out.append(f"{COLOR_LETTERS[color]}{height or '-'}", _style(color) if height else "dim")
        out.append("  ")
    out.append(f" hints {row[INFO]}/{config.information_tokens}")
    out.append(f"   lives {row[LIVES]}/{config.life_tokens}")
    out.append(f"   deck {row[DECK_SIZE] - row[DECK_NEXT]}\n")
    label(out, "slot")
    slots = (f"{slot:<{_cell(config)}}" for slot in range(config.hand_size))
    out.append("".join(slots).rstrip() + "\n", "dim")
    for seat, name in enumerate(seats):
        _hand(out, config, row, seat, f"P{seat} {'you' if seat == you else name}")
    label(out, "discards")
    gone = discards(config, row)
    for color in range(config.colors):
        ranks = "".join(str(c % config.ranks + 1) for c in gone if c // config.ranks == color)
        if ranks:
            out.append(f"{COLOR_LETTERS[color]}{ranks}", _style(color)).append("  ")
    if not gone:
        out.append("none")
    out.rstrip()
    return out.append("\n")


def print_board(config: HanabiConfig, row: Any, you: int | None = None) -> None:
    """The last move, if any, and the board, on the standard output; in colour on a terminal."""
    console = Console(highlight=False)
    console.rule("" if row[LAST_PLAYER] < 0 else last_move(config, row))
    console.print(board(config, row, ("",) * config.players, you), end="")


def move(config: HanabiConfig, row: Any, seat: int, action: int) -> Text:
    """A move and what it brings, from the row before it."""
    fields = action_to_dict(config, action)
    if "slot" in fields:
        slot = int(fields["slot"])
        card = int(row[HANDS + seat * config.hand_size + slot])
        if card == HIDDEN_CARD:
            return Text(f"{fields['type']}s slot {slot}")
        if fields["type"] == "discard":
            return Text.assemble(f"discards slot {slot}: ", _card(config, card))
        scores = _bit(row[PLAYABLE], card)
        brings = ", which scores" if scores else ", a misplay: a life is lost"
        return Text.assemble(f"plays slot {slot}: ", _card(config, card), brings)
    target = (seat + int(fields["target"])) % config.players
    if fields["type"] == "reveal_color":
        color = int(fields["color"])
        hint = Text(f"{COLOR_NAMES[color]}", _style(color))
    else:
        hint = Text(f"rank {int(fields['rank']) + 1}")
    slots = ", ".join(map(str, touched(config, row, target, fields)))
    plural = "s" if "," in slots else ""
    return Text.assemble("hints ", hint, f" to P{target}: slot{plural} {slots}")


def touched(config: HanabiConfig, row: Any, target: int, fields: dict[str, Any]) -> list[int]:
    """Slots of ``target`` that a hint touches."""
    slots = []
    for slot in range(config.hand_size):
        card = int(row[HANDS + target * config.hand_size + slot])
        if card < HIDDEN_CARD:
            color, rank = divmod(card, config.ranks)
            if fields.get("color", color) == color and fields.get("rank", rank) == rank:
                slots.append(slot)
    return slots


def decision(config: HanabiConfig, row: Any, seat: int, result: SearchResult) -> Text:
    """The blueprint's move, the search's, and what it gains."""
    out = Text()
    label(out, "blueprint")
    out.append_text(move(config, row, seat, result.blueprint_action)).append("\n")
    label(out, "search")
    if result.action == result.blueprint_action:
        out.append("agrees").append(f" ({_REASONS.get(result.reason, result.reason)})")
    else:
        out.append_text(move(config, row, seat, result.action)).append("\n")
        label(out, "gain")
        out.append(f"{result.gain:+.2f} +- {result.gain_stderr:.2f}", "bold")
    out.append(
        f"   {counted(result.rollouts, 'rollout')}, {counted(result.belief_size, 'hand')}\n", "dim"
    )
    if result.note:
        label(out, "note")
        out.append(result.note + "\n")
    return out


def advice(config: HanabiConfig, row: Any, seat: int, result: SearchResult) -> Text:
    """What every move is worth to a search, the best first: points at the end, standard errors."""
    order = np.argsort(np.where(np.isnan(result.mean), -np.inf, result.mean), kind="stable")[::-1]
    out = Text()
    label(out, "")
    out.append("points at the end\n", "dim")
    for index in order:
        action = int(result.actions[index])
        names = {result.action: "advice", result.blueprint_action: "blueprint"}
        label(out, "both agree" if len(names) == 1 and action in names else names.get(action, ""))
        mean, stderr = result.mean[index], result.stderr[index]
        worth = "not tried" if np.isnan(mean) else f"{mean:.2f} +- {stderr:.2f}"
        out.append(f"{worth:<17}", "bold" if action == result.action else "")
        out.append_text(move(config, row, seat, action)).append("\n")
    label(out, "")
    out.append(
        f"{counted(result.rollouts, 'rollout')}, {counted(result.belief_size, 'hand')}", "dim"
    )
    if result.action == result.blueprint_action:
        out.append(f"; {_REASONS.get(result.reason, result.reason)}", "dim")
    out.append("\n")
    if result.note:
        label(out, "note")
        out.append(result.note + "\n")
    return out


_REASONS: dict[Reason, str] = {
    "blueprint_best": "nothing is better",
    "below_threshold": "too small a gain",
    "single_move": "the only move",
    "budget_too_small": "budget too small",
    "belief_too_small": "too few worlds",
    "search_not_allowed": "no search allowed",
}


def labelled(text: str, content: Text) -> Text:
    """A line of a left column and content."""
    out = Text()
    label(out, text)
    return out.append_text(content).append("\n")


def label(out: Text, text: str) -> None:
    """The left column of a line."""
    out.append(f"{text:<{LABEL}}", "dim")


def _hand(out: Text, config: HanabiConfig, row: Any, seat: int, name: str) -> None:
    width = _cell(config)
    cards = row[HANDS + seat * config.hand_size :][: config.hand_size]
    words = row[HANDS + (config.players + seat) * config.hand_size :][: config.hand_size]
    label(out, name if len(name) < LABEL else name[: LABEL - 2] + "~")
    hand = Text()
    for card in cards:
        cell = _card(config, int(card))
        cell.pad_right(width - len(cell))
        hand.append_text(cell)
    hand.rstrip()
    out.append_text(hand).append("\n")
    held = [int(word) if card != NO_CARD else None for card, word in zip(cards, words, strict=True)]
    marks = ["" if word is None else _told(word) for word in held]
    could = ["" if word is None else _could(config, word) for word in held]
    for title, cells in (("  told", marks), ("  could be", could)):
        if any(cell.strip("-") for cell in cells):
            label(out, title)
            out.append("".join(f"{cell:<{width}}" for cell in cells).rstrip() + "\n", "dim")


def _cell(config: HanabiConfig) -> int:
    return min(CELL, (WIDTH - LABEL) // config.hand_size)


def _told(word: int) -> str:
    """What hints named outright."""
    color = COLOR_LETTERS[_only(word & 31)] if word & TOLD_COLOR else ""
    rank = str(_only(word >> 5 & 31) + 1) if word & TOLD_RANK else ""
    return color + rank or "-"


def _could(config: HanabiConfig, word: int) -> str:
    """What hints leave possible, or what they exclude where that is shorter."""
    letters = [(COLOR_LETTERS[c], _bit(word, c)) for c in range(config.colors)]
    letters += [(str(r + 1), _bit(word >> 5, r)) for r in range(config.ranks)]
    could = "".join(letter for letter, possible in letters if possible)
    never = "".join(letter for letter, possible in letters if not possible)
    return "-" if not never else could if len(could) <= len(never) + 3 else f"no {never}"


def _card(config: HanabiConfig, card: int) -> Text:
    if card == NO_CARD:
        return Text("", "dim")
    if card == HIDDEN_CARD:
        return Text("??", "dim")
    return Text(card_name(config, card), "bold " + _style(card // config.ranks))


def _style(color: int) -> str:
    return STYLES[color]


def _bit(word: Any, index: int) -> int:
    return int(word) >> index & 1


def _only(bits: int) -> int:
    return bits.bit_length() - 1
