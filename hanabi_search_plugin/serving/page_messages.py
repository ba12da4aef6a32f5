"""What a page may say to its table, and what a form may ask for: everything else is refused.

A message is a JSON object with ``kind`` and, of most kinds, ``turn``: the number of moves that the
page had seen when it was sent, so that a click that comes too late does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.plain_json import from_fields, parse_json, short

LONGEST = 4_096  # characters of a message; those of pages have at most some 60
LONGEST_WISH = 16_384
MOST_TURNS = 10_000  # no game is longer

Kind = Literal["move", "advise", "hush", "take_back", "stop", "again", "analyse"]


@dataclass(frozen=True, kw_only=True)
class PageMessage:
    """A message of a page, checked but for what only its table knows.

    ``kind``: play a move; ask for advice; end the search for it; take back the seat's last move and
    all that followed; stop the game where it stands; deal anew after its end; analyse it.
    """

    kind: Kind
    turn: int
    action: int | None = None  # an action id; of a move alone


def read_message(text: str | bytes) -> PageMessage:
    """The message of a page. Raises ConfigError for everything else."""
    found = _object(text, "a message", LONGEST)
    try:
        message = from_fields(PageMessage, found)
    except ValueError as error:
        raise ConfigError(f"a message must be of a kind that tables know: {error}") from None
    if not 0 <= message.turn <= MOST_TURNS:
        raise ConfigError(f"turn must be from 0 to {MOST_TURNS}, got {short(message.turn)}")
    if (message.kind == "move") != (message.action is not None):
        raise ConfigError("a move must have an action, and nothing else may")
    if message.action is not None and not 0 <= message.action < MOST_TURNS:
        raise ConfigError(f"action must be the id of one, got {short(message.action)}")
    return message


@dataclass(frozen=True, kw_only=True)
class SeatWish:
    """Who is to sit at one seat: a person, or a policy, and a search over it by its options."""

    who: Literal["person", "policy"]
    policy: str  # a person's stands in for it in the others' beliefs
    search: str = "none"
    options: dict[str, Any] = field(default_factory=dict)  # of the search


@dataclass(frozen=True, kw_only=True)
class TableWish:
    """A table as the form asks for it. What it means is for whoever makes the table to say."""

    config: dict[str, Any]  # of the game, by the names of ``HanabiConfig``
    seats: tuple[SeatWish, ...]
    advice: int  # rollouts of a piece of advice
    seed: int | None = None  # None: one is drawn
    belief: str = "exact"  # that the page of an analysis shows


def read_wish(text: str | bytes) -> TableWish:
    """The wish of a form. Raises ConfigError for what is none."""
    found = _object(text, "a table", LONGEST_WISH)
    seats = found.get("seats")
    if not isinstance(seats, list) or not 2 <= len(seats) <= 5:
        raise ConfigError(f"seats must be a list of 2 to 5, got {short(seats)}")
    known = {one.name for one in fields(TableWish)}
    if not found.keys() <= known:
        raise ConfigError(f"a table must have {', '.join(sorted(known))}, got {short(found)}")
    try:
        plain = from_fields(_PlainWish, {n: v for n, v in found.items() if n != "seats"})
        wished = tuple(from_fields(SeatWish, seat) for seat in seats)
    except ValueError as error:
        raise ConfigError(f"a table must be as the form has it: {error}") from None
    return TableWish(
        config=plain.config, seats=wished, advice=plain.advice, seed=plain.seed, belief=plain.belief
    )


@dataclass(frozen=True, kw_only=True)
class _PlainWish:
    config: dict[str, Any]
    advice: int
    seed: int | None = None
    belief: str = "exact"


def _object(text: str | bytes, what: str, longest: int) -> Mapping[str, Any]:
    if len(text) > longest:
        raise ConfigError(f"{what} must have at most {longest} characters, got {len(text)}")
    try:
        found = parse_json(text)
    except ValueError:
        raise ConfigError(f"{what} must be a JSON object, got {short(text)}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{what} must be a JSON object, got {short(found)}")
    return found
