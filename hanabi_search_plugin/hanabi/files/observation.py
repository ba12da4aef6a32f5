"""Decode an observation vector of Hanabi into a typed, readable view of the game.

``read_observation`` decodes one; ``rows_of`` and ``seen`` are its two halves, for many at once.
``configuration_of`` finds the configuration that a vector fits, where only one does.
Colours are the letters R Y G W B and ranks are counted from 1, as everywhere in texts.
Letters: B observations, N elements of one, W words of a row.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.decoding import decode
from hanabi_search_plugin.hanabi.engine.encoding import (
    ENCODINGS,
    encode,
    observation_size,
    sections,
)
from hanabi_search_plugin.hanabi.engine.hanabi_rules import Rows
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    DECK_SIZE,
    GAINED_INFO,
    HANDS,
    HIDDEN_CARD,
    INFO,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    LAST_TOUCHED,
    LIVES,
    NO_CARD,
    PLAYED,
    SCORED,
    TOLD_COLOR,
    TOLD_RANK,
)
from hanabi_search_plugin.hanabi.engine.text import (
    COLOR_LETTERS,
    action_in_words,
    card_name,
    discards,
)

# Small games of the Hanabi Learning Environment, looked for beside the full one.
_SMALL = {"colors": 2, "hand_size": 2, "information_tokens": 3, "life_tokens": 1}
_VARIANTS: tuple[dict[str, Any], ...] = ({}, _SMALL, _SMALL | {"colors": 1})
_SIZES = ("colors", "ranks", "hand_size", "information_tokens", "life_tokens")


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What hints have said of a card."""

    colors: str  # still possible, e.g. "RYB"
    ranks: tuple[int, ...]  # still possible
    told_color: str | None  # named by a hint that touched the card
    told_rank: int | None


@dataclass(frozen=True, kw_only=True)
class SeenCard:
    """A card in a hand."""

    card: str | None  # e.g. "R1"; None where it is hidden
    knowledge: Knowledge | None  # None where such an observation does not show any


@dataclass(frozen=True, kw_only=True)
class SeenMove:
    """The last move."""

    player: int
    action: int  # its id
    words: str
    card: str | None  # that was played or discarded
    scored: bool
    regained_hint: bool
    touched: tuple[int, ...]  # slots of the hand that was told of


@dataclass(frozen=True, kw_only=True)
class SeenGame:
    """What an observation shows. Players are numbered as in the game, slots from the oldest."""

    config: HanabiConfig  #: the rules of the game
    seat: int  #: the observer
    fireworks: tuple[int, ...]  #: height of each colour
    hints: int  #: hint tokens left
    lives: int  #: life tokens left
    deck: int  #: cards not yet dealt
    discards: tuple[str, ...]  #: misplayed cards, too; by identity
    hands: tuple[tuple[SeenCard, ...], ...]  #: by player
    last_move: SeenMove | None  #: None: no move was made yet

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return dataclasses.asdict(self)


def read_observation(
    config: HanabiConfig, observation: Any, *, seat: int = 0, encoding: str = "openspiel"
) -> SeenGame:
    """The view of one observation [N] of ``seat``.

    In a "v0" observation identities of which no copy is left count as impossible.
    Raises ConfigError for a vector that no game of this configuration shows.
    """
    row = rows_of(config, np.asarray(observation)[None], seat=seat, encoding=encoding)[0]
    return seen(config, row, seat)


def rows_of(config: HanabiConfig, observations: Any, *, seat: int, encoding: str) -> Rows:
    """Rows [B, W] of what ``seat`` sees, from observations [B, N] in any encoding.

    ``hanabi.engine.decoding.decode`` says what they lack. Raises ConfigError as
    ``read_observation``.
    """
    require_choice("encoding", encoding, ENCODINGS)
    if isinstance(seat, bool) or seat not in range(config.players):
        raise ConfigError(f"seat must be from 0 to {config.players - 1}, got {seat!r}")
    given = np.asarray(observations)
    if given.dtype.kind not in "biuf":
        raise ConfigError(f"observations must be numbers of shape [B, N], got {given.dtype}")
    if encoding == "openspiel":
        return decode(config, given, seat)
    size = observation_size(config)
    length = (size + 7) // 8 if encoding == "packed" else size
    if given.ndim != 2 or given.shape[1] != length:
        raise ConfigError(
            f"{encoding} observations of {config} must be of shape [B, {length}], got {given.shape}"
        )
    bits = _unpacked(given, size) if encoding == "packed" else _possible(config, given)
    rows = decode(config, bits, seat)
    if not np.allclose(encode(config, rows, seat, encoding), given, rtol=0, atol=1e-4):
        raise ConfigError(f"{encoding} observations must be of {config}, got what none shows")
    return rows


def seen(config: HanabiConfig, row: NDArray[np.int32], seat: int) -> SeenGame:
    """The view of one row [W], which hides what ``seat`` does not see."""
    h, every = config.hand_size, (1 << config.ranks) - 1
    played = int(row[PLAYED])
    hands = []
    for player in range(config.players):
        cards = row[HANDS + player * h :][:h].tolist()
        words = row[HANDS + (config.players + player) * h :][:h].tolist()
        hands.append(
            tuple(
                SeenCard(
                    card=None if card == HIDDEN_CARD else card_name(config, card),
                    knowledge=_knowledge(config, word),
                )
                for card, word in zip(cards, words, strict=True)
                if card != NO_CARD
            )
        )
    return SeenGame(
        config=config,
        seat=seat,
        fireworks=tuple(
            (played >> config.ranks * color & every).bit_count() for color in range(config.colors)
        ),
        hints=int(row[INFO]),
        lives=int(row[LIVES]),
        deck=int(row[DECK_SIZE] - row[DECK_NEXT]),
        discards=tuple(card_name(config, card) for card in discards(config, row)),
        hands=tuple(hands),
        last_move=_last_move(config, row) if row[LAST_PLAYER] >= 0 else None,
    )


def configuration_of(
    observations: Any, *, seat: int = 0, encoding: str | None = None, **known: Any
) -> tuple[HanabiConfig, str]:
    """The configuration and the encoding of observations [B, N].

    ``known`` are parameters of ``HanabiConfig``. Where no size of the game is among them, the full
    game and the two small ones of the Hanabi Learning Environment are looked for; 2 to 5 players,
    all types and encodings in any case. Raises ConfigError where none or several of them fit.
    """
    given = np.asarray(observations)
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        raise ConfigError(f"observations must be numbers of shape [B, N], got {given.shape}")
    sized = any(name in known for name in _SIZES)
    fitting: dict[HanabiConfig, str] = {}
    last: ConfigError | None = None
    for variant in _VARIANTS[:1] if sized else _VARIANTS:
        for players in (2, 3, 4, 5):
            for kind in ("minimal", "card_knowledge", "seer"):
                choice = {"players": players, "observation_type": kind} | variant | known
                for name in ENCODINGS if encoding is None else (encoding,):
                    try:
                        config = HanabiConfig(**choice)
                        rows_of(config, given, seat=seat, encoding=name)
                    except ConfigError as error:
                        last = error
                    else:
                        fitting.setdefault(config, name)  # v0 without a belief is openspiel, too
    if len(fitting) == 1:
        return next(iter(fitting.items()))
    what = f"observations of {given.shape[1]} numbers for seat {seat}"
    if not fitting:
        raise ConfigError(
            f"{what} must be of the full game, a small one of the Hanabi Learning Environment or "
            f"what was given: none fits ({last})"
        )
    options = "; ".join(
        f"{config.players} players, {config.colors} colors, {config.observation_type}, {name}"
        for config, name in fitting.items()
    )
    raise ConfigError(f"{what} must fit one configuration, say which one it is: {options}")


# ------------------------------------------------------------------------------------------ parts


def _unpacked(given: NDArray[Any], size: int) -> NDArray[np.uint8]:
    octets = given.astype(np.uint8)
    if not np.array_equal(octets, given):
        raise ConfigError("packed observations must be whole numbers from 0 to 255")
    return np.unpackbits(octets, axis=1)[:, :size]


def _possible(config: HanabiConfig, given: NDArray[Any]) -> NDArray[Any]:
    """The bits that a "v0" observation comes from, but for identities of which no copy is left."""
    bits = np.array(given, dtype=np.float64)
    if config.observation_type == "minimal":
        return bits
    c, r = config.colors, config.ranks
    part = sections(config)["knowledge"]
    cards = bits[:, part].reshape(len(bits), -1, c * r + c + r)
    chance: NDArray[Any] = cards[..., : c * r].reshape(*cards.shape[:2], c, r) > 0
    product = chance.any(axis=-1, keepdims=True) & chance.any(axis=-2, keepdims=True)
    cards[..., : c * r] = product.reshape(*cards.shape[:2], c * r)
    bits[:, part] = cards.reshape(len(bits), -1)
    return bits


def _knowledge(config: HanabiConfig, word: int) -> Knowledge | None:
    if config.observation_type != "card_knowledge":
        return None
    colors = "".join(COLOR_LETTERS[k] for k in range(config.colors) if word >> k & 1)
    ranks = tuple(k + 1 for k in range(config.ranks) if word >> (k + 5) & 1)
    return Knowledge(
        colors=colors,
        ranks=ranks,
        told_color=colors if word & TOLD_COLOR else None,
        told_rank=ranks[0] if word & TOLD_RANK else None,
    )


def _last_move(config: HanabiConfig, row: NDArray[np.int32]) -> SeenMove:
    player, action, card = (int(row[word]) for word in (LAST_PLAYER, LAST_ACTION, LAST_CARD))
    words = action_in_words(config, player, action)
    touched = [slot for slot in range(config.hand_size) if row[LAST_TOUCHED] >> slot & 1]
    scored = bool(row[LAST_FLAGS] & SCORED)
    if card < 0:
        words += f": slot{'s' if len(touched) > 1 else ''} {', '.join(map(str, touched))}"
    else:
        words += f": {card_name(config, card)}"
        if action >= config.hand_size:
            words += ", which scores" if scored else ", a misplay"
    return SeenMove(
        player=player,
        action=action,
        words=words,
        card=None if card < 0 else card_name(config, card),
        scored=scored,
        regained_hint=bool(row[LAST_FLAGS] & GAINED_INFO),
        touched=tuple(touched),
    )
