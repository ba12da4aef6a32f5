"""What a seat sees, as text: OpenSpiel's (``observation_string``), and this package's ``describe``.

OpenSpiel's text numbers players from its reader, who is player 0 here. It shows neither the last
move nor, once the deck is empty, how many moves are left: then the most are taken that the hands
allow. ``describe`` shows both; its last move is passed over, since a text alone is no evidence.

Letters: P players, H cards of a hand, K identities, W words of a row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, RecordError, UnsupportedError
from hanabi_search_plugin.core.plain_json import short
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import (
    COUNTDOWN,
    DECK_NEXT,
    DECK_SIZE,
    HANDS,
    HIDDEN_CARD,
    INFO,
    LEFT0,
    LEFT1,
    LEFT2,
    LIVES,
    MAX_INFO,
    MOVES,
    NO_CARD,
    PLAYABLE,
    PLAYED,
    TOLD_COLOR,
    TOLD_RANK,
    TURN,
    empty_row,
    row_width,
)
from hanabi_search_plugin.hanabi.engine.text import COLOR_LETTERS, card_name, discards

Row = NDArray[np.int32]  # [W]


@dataclass(frozen=True)
class ShownPosition:
    """A position as a text shows it to one seat."""

    config: HanabiConfig  #: the rules of the game
    seat: int  #: the reader
    row: Row  #: [W] of its view; LAST_PLAYER is -1
    told: bool  #: True if the text says what was named outright (TOLD_COLOR, TOLD_RANK)


def observation_text(config: HanabiConfig, row: Row, seat: int) -> str:
    """What OpenSpiel's ``observation_string`` says to ``seat`` of a world or a view [W].

    ``row`` is one of ``rows`` [B, W] of native worlds or views; a world's hidden cards are left out
    of the text. Discards are in order of identity; OpenSpiel's are as they were made. Raises
    UnsupportedError for arguments of other kinds or in another order, and for a row of another
    game; ConfigError for a seat that is not there.
    """
    if not (isinstance(config, HanabiConfig) and isinstance(row, np.ndarray)):
        came = ", ".join(type(one).__name__ for one in (config, row, seat))
        raise UnsupportedError(
            "arguments must come as in observation_text(game.config, view.rows[0], seat), got "
            f"({came})"
        )
    if row.shape != (row_width(config),):
        raise UnsupportedError(
            f"expected a row of {config}, of {row_width(config)} words, got an array of shape "
            f"{row.shape}"
        )
    seat = require_integer("seat", seat, 0, config.players - 1)
    p, h = config.players, config.hand_size
    heights = _heights(config, int(row[PLAYED]))
    lines = [
        f"Life tokens: {row[LIVES]}",
        f"Info tokens: {row[INFO]}",
        "Fireworks: " + "".join(f"{COLOR_LETTERS[c]}{n} " for c, n in enumerate(heights)),
        "Hands:",
    ]
    for offset in range(p):
        player = (seat + offset) % p
        if offset:
            lines.append("-----")
        if player == row[TURN]:
            lines.append("Cur player")
        cards = row[HANDS + player * h :][:h].tolist()
        words = row[HANDS + (p + player) * h :][:h].tolist()
        for card, word in zip(cards, words, strict=True):
            if card != NO_CARD:
                shown = "XX" if offset == 0 or card == HIDDEN_CARD else card_name(config, card)
                lines.append(f"{shown} || {_told(config, word)}")
    gone = [card_name(config, card) for card in discards(config, row)]
    lines.append(f"Deck size: {row[DECK_SIZE] - row[DECK_NEXT]}")
    lines.append(f"Discards:{''.join(f' {card}' for card in gone)}")
    return "\n".join(lines)


def read_observation_text(text: str, config: HanabiConfig | None = None) -> ShownPosition:
    """The position that a text shows: OpenSpiel's, or ``describe(config, row, seat)``.

    ``config`` None: players and colours are read off the text, all else is the standard game's.
    Raises RecordError naming the line that cannot be read, or saying which cards do not add up.
    """
    if not isinstance(text, str):
        raise RecordError(f"an observation must be text, got {short(text)}")
    lines = [
        (number, " ".join(line.split()))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    if not lines:
        raise RecordError("an observation must be text, got none")
    if re.match(r"move \d", lines[0][1]):
        return _read_described(lines, config)
    return _read_openspiel(lines, config)


# ---------------------------------------------------------------------------- OpenSpiel's text

_CARD = re.compile(r"(XX|[RYGWB]\d) \|\| ([RYGWBX])([\dX])\|([RYGWB]+)(\d+)")


class _Lines:
    """Lines that are read one after the other."""

    def __init__(self, lines: Sequence[tuple[int, str]]) -> None:
        self._lines, self._next = lines, 0

    @property
    def line(self) -> str:
        """The next one; "" after the last."""
        return self._lines[self._next][1] if self._next < len(self._lines) else ""

    def refuse(self, expected: str) -> RecordError:
        """The error that says what the next line should have been."""
        if self._next == len(self._lines):
            return RecordError(f"the observation must go on with {expected}, got its end")
        number, line = self._lines[self._next]
        return RecordError(f"line {number} of the observation must be {expected}, got {line!r}")

    def take(self, pattern: str, expected: str) -> re.Match[str]:
        """The next line, which must be like ``pattern``."""
        found = re.fullmatch(pattern, self.line)
        if found is None or self._next == len(self._lines):
            raise self.refuse(expected)
        self._next += 1
        return found

    def end(self) -> None:
        if self._next < len(self._lines):
            raise self.refuse("none, since the observation ends before it")


_CARDS = r"(?: ?(?:[RYGWB]\d))*"


def _read_openspiel(
    numbered: Sequence[tuple[int, str]], config: HanabiConfig | None
) -> ShownPosition:
    lines = _Lines(numbered)
    lives = int(lines.take(r"Life tokens: (\d+)", "'Life tokens: 3', say")[1])
    info = int(lines.take(r"Info tokens: (\d+)", "'Info tokens: 8', say")[1])
    fireworks = lines.take(rf"Fireworks:({_CARDS})", "'Fireworks: R0 Y0 G0 W0 B0', say")[1].split()
    lines.take("Hands:", "'Hands:'")
    hands: list[list[tuple[str, str, str, str, str]]] = [[]]
    mover = None
    while not lines.line.startswith("Deck size"):
        if lines.line == "-----":
            lines.take("-----", "")
            hands.append([])
        elif lines.line == "Cur player" and mover is None:
            lines.take("Cur player", "")
            mover = len(hands) - 1
        else:
            card = lines.take(_CARD.pattern, "a card, as in 'XX || RX|R12345'")
            hands[-1].append((card[1], card[2], card[3], card[4], card[5]))
    deck = int(lines.take(r"Deck size: (\d+)", "'Deck size: 40', say")[1])
    gone = lines.take(rf"Discards:({_CARDS})", "'Discards: R1 G3', say")[1].split()
    while re.fullmatch(_CARDS, lines.line) and lines.line:
        gone += lines.take(_CARDS, "").group().split()
    lines.end()
    if mover is None:
        raise RecordError("the observation must say whose move it is ('Cur player'), got none")
    if any(card[0] != "XX" for card in hands[0]):
        raise RecordError(
            "the reader's own hand, the first one, must be hidden (XX), got its cards: give "
            "observation_string(player) of a state, not str(state)"
        )
    if config is None:
        config = _config(players=len(hands), colors=len(fireworks), hand_size=_size(hands, deck))
    else:
        _require_shape(config, len(hands), len(fireworks))
    knowledge = [[_word_of(config, card[1:]) for card in hand] for hand in hands]
    cards = [[card[0] for card in hand] for hand in hands]
    return ShownPosition(
        config,
        0,
        _row(config, 0, mover, lives, info, deck, fireworks, gone, cards, knowledge),
        told=True,
    )


def _size(hands: Sequence[Sequence[object]], deck: int) -> int:
    """Cards of a hand; 0 is the standard game's, where the deck is empty and hands are smaller."""
    largest = max(len(hand) for hand in hands)
    standard = 5 if len(hands) <= 3 else 4
    return 0 if deck == 0 and largest <= standard else largest


def _told(config: HanabiConfig, word: int) -> str:
    """What OpenSpiel's text says of a card: "RX|R12345"."""
    colors = "".join(COLOR_LETTERS[k] for k in range(config.colors) if word >> k & 1)
    ranks = "".join(str(k + 1) for k in range(config.ranks) if word >> (k + 5) & 1)
    color = colors if word & TOLD_COLOR else "X"
    return f"{color}{ranks if word & TOLD_RANK else 'X'}|{colors}{ranks}"


def _word_of(config: HanabiConfig, told: Sequence[str]) -> int:
    """The word of hint knowledge of (told colour, told rank, colours, ranks)."""
    color, rank, colors, ranks = told
    word = _set(config.colors, [COLOR_LETTERS.index(letter) for letter in colors], colors)
    word |= _set(config.ranks, [int(digit) - 1 for digit in ranks], ranks) << 5
    for one, all_of_them, bit in ((color, colors, TOLD_COLOR), (rank, ranks, TOLD_RANK)):
        if one != "X":
            if all_of_them != one:
                raise RecordError(
                    f"a card that was told {one} must have no other left, got {all_of_them}"
                )
            word |= bit
    return word


def _set(size: int, members: Sequence[int], text: str) -> int:
    if not all(0 <= member < size for member in members) or len(set(members)) < len(members):
        raise RecordError(f"what a card may be must be of {size} that the game has, got {text!r}")
    return sum(1 << member for member in members)


# ------------------------------------------------------------------------- this package's text


def _read_described(
    numbered: Sequence[tuple[int, str]], config: HanabiConfig | None
) -> ShownPosition:
    lines = _Lines(numbered)
    first = lines.take(r"move (\d+), P(\d) to move", "'move 12, P0 to move', say")
    table = lines.take(
        r"score (\d+) of (\d+), lives (\d+) of (\d+), information (\d+) of (\d+), deck (\d+)"
        r"(?:, (\d+) moves? left)?",
        "'score 3 of 25, lives 3 of 3, information 8 of 8, deck 30', say",
    )
    fireworks = lines.take(rf"fireworks({_CARDS})", "'fireworks R1 Y0 G0 W0 B0', say")[1].split()
    cards: list[list[str]] = []
    texts: list[list[str]] = []
    reader = None
    while lines.line.startswith("P"):
        hand = lines.take(
            rf"P{len(cards)}((?: (?:[RYGWB]\d|\?\?|--))+)( \(you\))?", f"the cards of P{len(cards)}"
        )
        if hand[2]:
            reader = len(cards)
        cards.append(hand[1].split())
        hints = lines.take(r"(?:--|[RYGWB*]+/[\d*]+)(?: (?:--|[RYGWB*]+/[\d*]+))*", "its hints")
        texts.append(hints.group().split())
    gone = lines.take(rf"discards({_CARDS}| none)", "'discards R1', say")[1].split()
    if lines.line.startswith("last move: "):
        lines.take("last move: .+", "")
    lines.end()
    if reader is None:
        raise RecordError("the observation must mark its reader's hand with (you), got none marked")
    if any(card not in ("??", "--") for card in cards[reader]):
        raise RecordError("the reader's own cards must be ??, got what they are")
    if config is None:
        config = _config(
            players=len(cards),
            colors=len(fireworks),
            ranks=int(table[2]) // max(len(fireworks), 1),
            hand_size=len(cards[0]),
            life_tokens=int(table[4]),
            information_tokens=int(table[6]),
        )
    else:
        _require_shape(config, len(cards), len(fireworks))
    held = [[card for card in hand if card != "--"] for hand in cards]
    words = [[_described_word(config, text) for text in hand if text != "--"] for hand in texts]
    if any(len(a) != len(b) for a, b in zip(held, words, strict=True)):
        raise RecordError("each card must have its hints under it, got more or fewer")
    held = [["XX" if card == "??" else card for card in hand] for hand in held]
    row = _row(
        config, reader, int(first[2]), int(table[3]), int(table[5]), int(table[7]), fireworks,
        [card for card in gone if card != "none"], held, words,
    )  # fmt: skip
    row[MOVES] = int(first[1])
    if table[8] is not None:
        row[COUNTDOWN] = int(table[8])
    return ShownPosition(config, reader, row, told=False)


def _described_word(config: HanabiConfig, text: str) -> int:
    """The word of hint knowledge of "RG/12"; a single colour or rank counts as told."""
    colors, ranks = text.split("/")
    colors = COLOR_LETTERS[: config.colors] if colors == "*" else colors
    ranks = "12345"[: config.ranks] if ranks == "*" else ranks
    color = colors if len(colors) == 1 < config.colors else "X"
    rank = ranks if len(ranks) == 1 < config.ranks else "X"
    return _word_of(config, (color, rank, colors, ranks))


# ---------------------------------------------------------------------------------- the row


def _config(**sizes: Any) -> HanabiConfig:
    try:
        return HanabiConfig(**sizes)
    except ConfigError as error:
        raise RecordError(f"the observation must be of a game of Hanabi: {error}") from None


def _require_shape(config: HanabiConfig, players: int, colors: int) -> None:
    if (players, colors) != (config.players, config.colors):
        raise RecordError(
            f"the observation must be of {config.players} players and {config.colors} colours, "
            f"got {players} and {colors}"
        )


def _heights(config: HanabiConfig, played: int) -> list[int]:
    every = (1 << config.ranks) - 1
    return [(played >> config.ranks * c & every).bit_count() for c in range(config.colors)]


def _row(
    config: HanabiConfig,
    seat: int,
    mover: int,
    lives: int,
    info: int,
    deck: int,
    fireworks: Sequence[str],
    gone: Sequence[str],
    hands: Sequence[Sequence[str]],
    words: Sequence[Sequence[int]],
) -> Row:
    """The reader's row [W]. Raises RecordError for what no game shows."""
    row: Row = empty_row(config)
    p, h, r = config.players, config.hand_size, config.ranks
    for name, value, least, most in (
        ("life tokens", lives, 1, config.life_tokens),
        ("info tokens", info, 0, config.information_tokens),
        ("the player to move", mover, 0, p - 1),
    ):
        if not least <= value <= most:
            raise RecordError(f"{name} must be from {least} to {most}, got {value}")
    heights = np.array([_height(config, c, text) for c, text in enumerate(fireworks)])
    played = np.arange(r) < heights[:, None]  # [C, R]
    left = np.tile(config.copies, config.colors) - played.ravel()  # [K]
    for name in gone:
        left[_identity(config, name)] -= 1
    for most, plane in enumerate((LEFT0, LEFT1, LEFT2)):
        row[plane] = _plane(left <= most)
    row[PLAYED], row[PLAYABLE] = _plane(played), _plane(np.arange(r) == heights[:, None])
    row[LIVES], row[INFO], row[TURN] = lives, info, mover
    row[DECK_NEXT] = config.deck_size - deck
    unseen = left.copy()
    for player, (hand, hints) in enumerate(zip(hands, words, strict=True)):
        if len(hand) > h or (deck > 0 and len(hand) < h):
            raise RecordError(f"a hand must hold {h} cards, got {len(hand)}")
        for slot, (name, word) in enumerate(zip(hand, hints, strict=True)):
            card = HIDDEN_CARD if name == "XX" else _identity(config, name)
            if (card == HIDDEN_CARD) != (player == seat):
                raise RecordError("all cards but the reader's own must be shown, got a hidden one")
            if card != HIDDEN_CARD:
                unseen[card] -= 1
                if not (word >> card // r & 1 and word >> (card % r + 5) & 1):
                    raise RecordError(f"hints must allow each card, got {name} where they do not")
            row[HANDS + player * h + slot] = card
            row[HANDS + (p + player) * h + slot] = word
    if (unseen < 0).any():
        name = card_name(config, int(np.flatnonzero(unseen < 0)[0]))
        raise RecordError(f"the cards must be those of the game, got too many of {name}")
    hidden = deck + len(hands[seat])
    if int(unseen.sum()) != hidden:
        raise RecordError(
            f"all {config.deck_size} cards must be somewhere: {int(unseen.sum())} are not shown, "
            f"but deck and own hand have {hidden}"
        )
    row[MOVES] = int(np.tile(config.copies, config.colors).sum() - left.sum())
    row[MOVES] += int(row[MAX_INFO]) - info  # the fewest
    if deck == 0:
        row[COUNTDOWN] = _countdown(config, mover, [len(hand) for hand in hands])
    return row


def _countdown(config: HanabiConfig, mover: int, sizes: Sequence[int]) -> int:
    """The most moves that may be left, once the deck is empty: who has fewer cards has moved."""
    since = 0  # moves since the last card was drawn
    for back in range(1, config.players):
        if sizes[(mover - back) % config.players] < config.hand_size:
            since = back
    return config.players - since


def _height(config: HanabiConfig, color: int, text: str) -> int:
    if text[0] != COLOR_LETTERS[color] or int(text[1:]) > config.ranks:
        raise RecordError(
            f"fireworks must be {COLOR_LETTERS[: config.colors]} in this order, each up to "
            f"{config.ranks}, got {text}"
        )
    return int(text[1:])


def _identity(config: HanabiConfig, name: str) -> int:
    color, rank = COLOR_LETTERS.index(name[0]), int(name[1:]) - 1
    if color >= config.colors or not 0 <= rank < config.ranks:
        raise RecordError(f"cards must be those of the game, got {name}")
    return config.ranks * color + rank


def _plane(bits: NDArray[np.bool_]) -> int:
    flat = bits.ravel()
    return int(flat @ (1 << np.arange(len(flat))))
