"""The table of native Hanabi as a picture, drawn with Pillow (the extra ``render``).

W: words of a row. All pictures of a configuration are of one size.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.extras import require_extra
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
    PLAYED,
    TURN,
)
from hanabi_search_plugin.hanabi.engine.text import (
    COLOR_LETTERS,
    card_name,
    could_be,
    discards,
    last_move,
)

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

TABLE, PALE, INK = (24, 72, 52), (214, 228, 220), (20, 20, 20)
FACES = ((214, 64, 58), (240, 205, 70), (92, 178, 92), (240, 240, 236), (86, 134, 224))
BACK, EMPTY = (120, 126, 124), (36, 92, 68)
MARGIN, GAP = 16, 8  # all sizes are in pixels
CARD_WIDTH, CARD_HEIGHT = 52, 68
LINE = 20  # of text
NAMES = 120  # width of the column of names
TOKENS = 150  # width of the column of tokens
SEAT = CARD_HEIGHT + LINE + GAP


def picture(
    config: HanabiConfig, row: NDArray[np.int32], seat: int | None = None
) -> NDArray[np.uint8]:
    """A board as uint8 [height, width, 3].

    ``row`` [W] is a world, or a view's row, whose hidden cards lie face down. ``seat`` is marked as
    the reader's. Under a card stands what hints have left possible: colours/ranks, * for all.
    Raises UnsupportedError without Pillow.
    """
    require_extra("render", "a picture of the table", "PIL")
    from PIL import Image, ImageDraw

    cards = max(config.hand_size, config.colors + 1)
    width = 2 * MARGIN + NAMES + cards * (CARD_WIDTH + GAP) + TOKENS
    height = 2 * MARGIN + (config.players + 1) * SEAT + (config.colors + 2) * LINE
    image = Image.new("RGB", (width, height), TABLE)
    draw = _Pen(ImageDraw.Draw(image))
    _fireworks(draw, config, row)
    _tokens(draw, config, row, width - MARGIN - TOKENS + GAP)
    for player in range(config.players):
        _hand(draw, config, row, player, you=player == seat)
    below = MARGIN + (config.players + 1) * SEAT
    draw.text(MARGIN, below, "discards")
    gone = discards(config, row)
    for color in range(config.colors):
        ranks = [str(card % config.ranks + 1) for card in gone if card // config.ranks == color]
        top = below + color * LINE
        draw.text(MARGIN + NAMES, top, f"{COLOR_LETTERS[color]} {' '.join(ranks)}", FACES[color])
    if row[LAST_PLAYER] >= 0:
        draw.text(MARGIN, below + config.colors * LINE + GAP, last_move(config, row))
    return np.array(image)


class _Pen:
    """Draws text and cards in the sizes of this picture."""

    def __init__(self, draw: ImageDraw) -> None:
        self.draw = draw
        self.small, self.normal, self.large = _fonts()

    def text(self, left: int, top: int, text: str, color: Any = PALE) -> None:
        self.draw.text((left, top), text, color, self.normal)

    def card(self, left: int, top: int, face: Any, text: str, below: str = "") -> None:
        box = (left, top, left + CARD_WIDTH, top + CARD_HEIGHT)
        self.draw.rounded_rectangle(box, 6, face)
        middle = left + CARD_WIDTH // 2
        self.draw.text((middle, top + CARD_HEIGHT // 2), text, INK, self.large, anchor="mm")
        self.draw.text((middle, top + CARD_HEIGHT + 3), below, PALE, self.small, anchor="ma")


@functools.cache
def _fonts() -> tuple[Any, ...]:
    from PIL import ImageFont

    return tuple(ImageFont.load_default(size) for size in (11, 14, 26))


def _column(index: int) -> int:
    return MARGIN + NAMES + index * (CARD_WIDTH + GAP)


def _fireworks(draw: _Pen, config: HanabiConfig, row: Any) -> None:
    draw.text(MARGIN, MARGIN + CARD_HEIGHT // 2 - 8, "fireworks")
    for color in range(config.colors):
        played = int(row[PLAYED]) >> config.ranks * color & ((1 << config.ranks) - 1)
        height = played.bit_count()
        letter = COLOR_LETTERS[color]
        face = FACES[color] if height else EMPTY
        draw.card(_column(color), MARGIN, face, f"{letter}{height}" if height else letter)


def _tokens(draw: _Pen, config: HanabiConfig, row: Any, left: int) -> None:
    lines = (
        f"score {int(row[PLAYED]).bit_count()} of {config.max_score}",
        f"hints {row[INFO]} of {config.information_tokens}",
        f"lives {row[LIVES]} of {config.life_tokens}",
        f"deck {row[DECK_SIZE] - row[DECK_NEXT]}",
    )
    for number, line in enumerate(lines):
        draw.text(left, MARGIN + number * LINE, line)


def _hand(draw: _Pen, config: HanabiConfig, row: Any, player: int, *, you: bool) -> None:
    top = MARGIN + (player + 1) * SEAT
    name = f"P{player}{' (you)' if you else ''}{' moves' if row[TURN] == player else ''}"
    draw.text(MARGIN, top + CARD_HEIGHT // 2 - 8, name)
    for slot in range(config.hand_size):
        at = HANDS + player * config.hand_size + slot
        card, knowledge = int(row[at]), int(row[at + config.players * config.hand_size])
        if card == NO_CARD:
            continue
        hidden = card == HIDDEN_CARD
        face = BACK if hidden else FACES[card // config.ranks]
        text = "?" if hidden else card_name(config, card)
        draw.card(_column(slot), top, face, text, could_be(config, knowledge))
