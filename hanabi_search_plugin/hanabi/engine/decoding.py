"""From observations back to rows: what a seat saw, from its vectors alone.

``decode`` reads one vector by itself. ``follow`` and ``between`` join the vectors of one game: they
add what no vector shows (how many moves were made and are left, who is to move, a seer's hints) and
refuse vectors that do not follow from each other by one move. ``after_move`` needs no vector: it
follows what a table tells a seat of a move.
Letters: B observations, N elements of one, W words of a row, P players, H cards of a hand,
C colours, R ranks, K = C * R identities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine import row_kernels
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import encode, observation_size, sections
from hanabi_search_plugin.hanabi.engine.hanabi_rules import Rows
from hanabi_search_plugin.hanabi.engine.layout import (
    COUNTDOWN,
    DECK_NEXT,
    DREW,
    GAINED_INFO,
    HANDS,
    HIDDEN_CARD,
    INFO,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    LAST_TOUCHED,
    LEFT0,
    LEFT1,
    LEFT2,
    LIVES,
    MOVES,
    NO_CARD,
    PLAYABLE,
    PLAYED,
    SCORED,
    TOLD_COLOR,
    TOLD_RANK,
    TURN,
    dims_of,
    empty_row,
)
from hanabi_search_plugin.hanabi.engine.text import action_to_dict

Row = NDArray[np.int32]  # [W]


def decode(config: HanabiConfig, observations: Any, seat: int) -> Rows:
    """Rows [B, W] of what ``seat`` sees, from its "openspiel" observations [B, N].

    All words are those of ``HanabiWorlds.view(seat)``, but for what a vector does not show: TURN
    and MOVES are -1, COUNTDOWN is P, and hints are none for a seer and for slots without a card.
    Raises ConfigError for vectors that no game of this configuration shows.
    """
    bits = _checked(config, observations)
    parts = {name: bits[:, part] for name, part in sections(config).items()}
    n, p, h = len(bits), config.players, config.hand_size
    k = config.colors * config.ranks
    rows: Rows = np.tile(empty_row(config), (n, 1))
    rows[:, TURN] = rows[:, MOVES] = -1
    missing = np.roll(parts["missing_cards"], seat, axis=1)  # [B, P] by player
    hands = rows[:, HANDS : HANDS + p * h].reshape(n, p, h)
    others = parts["hands"].reshape(n, p - 1, h, k)
    for offset in range(1, p):
        hands[:, (seat + offset) % p] = _one_hot(others[:, offset - 1], NO_CARD)
    hands[:, seat] = HIDDEN_CARD
    hands[missing[:, seat], seat, h - 1] = NO_CARD
    words = rows[:, HANDS + p * h : HANDS + 2 * p * h].reshape(n, p, h)
    if config.observation_type == "card_knowledge":
        words[:] = _knowledge(config, parts["knowledge"].reshape(n, p, h, -1), words, seat)
    elif config.observation_type == "seer":
        own = parts["knowledge"].reshape(n, p, h, -1)[:, 0, :, :k]
        hands[:, seat] = _one_hot(own, NO_CARD)
    rows[:, HANDS : HANDS + p * h] = hands.reshape(n, -1)
    rows[:, HANDS + p * h : HANDS + 2 * p * h] = words.reshape(n, -1)
    rows[:, DECK_NEXT] = config.deck_size - parts["deck"].sum(axis=1)
    _put_table(config, parts, rows)
    _put_last_move(config, parts["last_action"], missing, seat, rows)
    wrong = np.flatnonzero((encode(config, rows, seat, "openspiel") != bits).any(axis=1))
    if len(wrong):
        raise ConfigError(
            f"observations must be of {config}, got one (number {wrong[0]}) that no such game shows"
        )
    return rows


def first(config: HanabiConfig, observation: Any, seat: int, mover: int) -> Row:
    """The row [W] before any move, from that observation [N]; ``mover`` begins.

    Raises RecordError where a move was made before it.
    """
    row: Row = decode(config, np.asarray(observation)[None], seat)[0]
    if row[LAST_PLAYER] >= 0:
        raise RecordError(
            f"a record must begin before the first move, got an observation after a move of "
            f"player {row[LAST_PLAYER]}"
        )
    row[TURN], row[MOVES] = mover, 0
    return row


def opening(config: HanabiConfig, observation: Any, seat: int) -> Row:
    """The row [W] before the first move, from the observation [N] of ``seat``'s first own turn:
    P = 2 alone, where at most one move has been made by then."""
    after: Row = decode(config, np.asarray(observation)[None], seat)[0]
    if after[LAST_PLAYER] < 0:
        after[TURN], after[MOVES] = seat, 0
        return after
    other = int(after[LAST_PLAYER])
    row = empty_row(config)
    h, size = config.hand_size, config.players * config.hand_size
    hand = after[HANDS + other * h : HANDS + (other + 1) * h].tolist()
    if after[LAST_CARD] >= 0:
        if after[LAST_FLAGS] & DREW:
            hand[h - 1] = NO_CARD
        hand.insert(int(after[LAST_ACTION]) % h, int(after[LAST_CARD]))
    row[HANDS : HANDS + size] = after[HANDS : HANDS + size]
    row[HANDS + other * h : HANDS + (other + 1) * h] = hand[:h]
    row[TURN], row[DECK_NEXT] = other, size
    return row


def follow(config: HanabiConfig, previous: Row, observation: Any, seat: int) -> Row:
    """The row [W] one move after ``previous``, from that observation [N].

    Raises RecordError where no single move leads from one to the other.
    """
    row: Row = decode(config, np.asarray(observation)[None], seat)[0]
    mover, action = int(row[LAST_PLAYER]), int(row[LAST_ACTION])
    if mover < 0 or mover != previous[TURN]:
        raise RecordError(
            f"the observation must follow a move of player {previous[TURN]}, "
            f"got one after {f'a move of player {mover}' if mover >= 0 else 'no move at all'}"
        )
    card, touched = int(row[LAST_CARD]), int(row[LAST_TOUCHED])
    stepped = _with_own_cards(config, previous, action, card, touched, seat)
    if row_kernels.step_rows(dims_of(config), stepped[None], np.array([action])) >= 0:
        raise RecordError(f"player {mover}'s move {action} is not legal in the observation before")
    h, size = config.hand_size, config.players * config.hand_size
    last = HANDS + (mover + 1) * h - 1
    stepped[last] = row[last]  # a card just drawn
    if config.observation_type != "seer":
        own = slice(HANDS + seat * h, HANDS + (seat + 1) * h)
        stepped[own] = row[own]
    hints = slice(HANDS + size, HANDS + 2 * size)
    if config.observation_type == "minimal":
        stepped[hints] = row[hints]
    elif config.observation_type == "seer":
        row[hints] = stepped[hints]
    else:
        absent = row[HANDS : HANDS + size] == NO_CARD
        row[hints] = np.where(absent, stepped[hints], row[hints])
    for word in (TURN, MOVES, COUNTDOWN):
        row[word] = stepped[word]
    if not np.array_equal(row, stepped):
        raise RecordError(
            f"observations must follow one another move by move; after player {mover}'s move "
            f"{action} something else changed, too"
        )
    return row


def between(config: HanabiConfig, previous: Row, action: int, observation: Any, seat: int) -> Row:
    """The row [W] after ``seat`` played ``action`` in ``previous`` and before the other's move,
    from the observation [N] after both: P = 2 alone.

    Raises RecordError where the card that left the hand cannot be told from it.
    """
    after: Row = decode(config, np.asarray(observation)[None], seat)[0]
    if after[LAST_PLAYER] != 1 - seat or after[DECK_NEXT] < previous[DECK_NEXT]:
        raise RecordError(
            "the observation must follow the last one by a move of either player, got one that "
            "does not: after a reset, reset the agent; after another move, say so by acted()"
        )
    stepped: Row = previous.copy()
    h = config.hand_size
    own = slice(HANDS + seat * h, HANDS + (seat + 1) * h)
    if action < 2 * h:
        gone = _gone(config, after) - _gone(config, previous)  # [K]
        if after[LAST_CARD] >= 0:
            gone[after[LAST_CARD]] -= 1
        if gone.sum() != 1 or gone.min() < 0:
            raise RecordError(
                f"player {seat}'s move {action} must take one card out of its hand, "
                f"got {counted(int(gone.sum()), 'card')}: where another move was made, say so "
                "by acted()"
            )
        stepped[own.start + action % h] = gone.argmax()
    if row_kernels.step_rows(dims_of(config), stepped[None], np.array([action])) >= 0:
        raise RecordError(f"player {seat}'s move {action} is not legal in the observation before")
    stepped[own] = after[own]  # the other's move leaves it alone
    if config.observation_type == "minimal":
        hints = slice(own.start + (2 - seat) * h, own.start + (4 - seat) * h)
        stepped[hints] = after[hints]
    return stepped


def after_move(
    config: HanabiConfig,
    previous: Row,
    action: int,
    seat: int,
    *,
    card: int = -1,
    touched: int = 0,
    drawn: int = NO_CARD,
) -> Row:
    """The row [W] that ``seat``, no seer, sees one move after ``previous``, from what it is told.

    ``card`` was played or discarded, or a hint ``touched`` the slots of these bits. ``drawn`` is
    what the mover drew: HIDDEN_CARD by the seat itself, any where the deck is empty. Raises
    RecordError for a move that is not legal, or that the seat saw to do something else.
    """
    mover, h = int(previous[TURN]), config.hand_size
    row = _with_own_cards(config, previous, action, card, touched, seat)
    if row_kernels.step_rows(dims_of(config), row[None], np.array([action])) >= 0:
        raise RecordError(f"player {mover}'s move {action} must be legal, got one that is not")
    if row[LAST_CARD] != card or row[LAST_TOUCHED] != touched:
        raise RecordError(
            f"player {mover}'s move {action} must show card {row[LAST_CARD]} and touch "
            f"{row[LAST_TOUCHED]:b}, got card {card} and {touched:b}"
        )
    own = slice(HANDS + seat * h, HANDS + (seat + 1) * h)
    row[own] = np.where(row[own] == NO_CARD, NO_CARD, HIDDEN_CARD)
    if row[LAST_FLAGS] & DREW:  # nobody draws after the last move
        row[HANDS + (mover + 1) * h - 1] = drawn
    return row


# ------------------------------------------------------------------------------ parts of a vector


def _checked(config: HanabiConfig, observations: Any) -> NDArray[np.bool_]:
    """[B, N] the observations as bits."""
    given = np.asarray(observations)
    size = observation_size(config)
    if given.ndim != 2 or given.shape[1] != size:
        raise ConfigError(
            f"observations of {config} must be of shape [B, {size}], got {given.shape}"
        )
    bits = given.astype(np.bool_)
    if not np.array_equal(bits, given):
        raise ConfigError('observations must be zeros and ones (the encoding "openspiel")')
    return bits


def _one_hot(bits: NDArray[np.bool_], otherwise: int) -> NDArray[np.int64]:
    """The index of the set bit of the last axis, or ``otherwise`` where none is set."""
    return np.where(bits.any(axis=-1), bits.argmax(axis=-1), otherwise)


def _packed(bits: Any) -> NDArray[np.int64]:
    """The last axis as a number, first element in the lowest bit."""
    return np.asarray(bits @ (1 << np.arange(bits.shape[-1])), dtype=np.int64)


def _knowledge(
    config: HanabiConfig, bits: NDArray[np.bool_], nothing: NDArray[np.int32], seat: int
) -> NDArray[np.int64]:
    """[B, P, H] words of hint knowledge by player, from bits [B, P, H, K + C + R] by offset."""
    c, r = config.colors, config.ranks
    possible = bits[..., : c * r].reshape(*bits.shape[:3], c, r)
    words = _packed(possible.any(axis=-1)) | _packed(possible.any(axis=-2)) << 5
    words |= np.where(bits[..., c * r : c * r + c].any(axis=-1), TOLD_COLOR, 0)
    words |= np.where(bits[..., c * r + c :].any(axis=-1), TOLD_RANK, 0)
    there = possible.any(axis=(-2, -1))
    return np.where(np.roll(there, seat, axis=1), np.roll(words, seat, axis=1), nothing)


def _put_table(config: HanabiConfig, parts: dict[str, NDArray[np.bool_]], rows: Rows) -> None:
    """Tokens, fireworks and what has been played or discarded."""
    n, c, r = len(rows), config.colors, config.ranks
    rows[:, INFO] = parts["information_tokens"].sum(axis=1)
    rows[:, LIVES] = parts["life_tokens"].sum(axis=1)
    height = _one_hot(parts["fireworks"].reshape(n, c, r), -1) + 1  # [B, C]
    played = np.arange(r) < height[..., None]  # [B, C, R]
    rows[:, PLAYED] = _packed(played.reshape(n, c * r))
    rows[:, PLAYABLE] = _packed((np.arange(r) == height[..., None]).reshape(n, c * r))
    starts = np.concatenate([[0], np.cumsum(config.copies)[:-1]])
    discards = parts["discards"].reshape(n, c, sum(config.copies)).astype(np.int64)
    left = np.array(config.copies) - np.add.reduceat(discards, starts, axis=2) - played
    for most, word in enumerate((LEFT0, LEFT1, LEFT2)):
        rows[:, word] = _packed((left <= most).reshape(n, c * r))


def _put_last_move(
    config: HanabiConfig,
    bits: NDArray[np.bool_],
    missing: NDArray[np.bool_],
    seat: int,
    rows: Rows,
) -> None:
    """Who moved last and how; rows that begin a game keep what ``empty_row`` says."""
    p, h, c, r = config.players, config.hand_size, config.colors, config.ranks
    sizes = [p, 4, p, c, r, h, h, c * r, 2]
    who, kind, target, color, rank, touched, slot, card, flags = np.split(
        bits, np.cumsum(sizes)[:-1], axis=1
    )
    made = who.any(axis=1)
    mover = who.argmax(axis=1)
    what = kind.argmax(axis=1)  # play, discard, colour hint, rank hint
    offset = (target.argmax(axis=1) - mover - 1) % p
    player = (mover + seat) % p
    drew = ~missing[np.arange(len(bits)), player]
    rows[made, LAST_PLAYER] = player[made]
    actions = np.choose(
        what,
        [
            h + slot.argmax(axis=1),
            slot.argmax(axis=1),
            2 * h + offset * c + color.argmax(axis=1),
            2 * h + (p - 1) * c + offset * r + rank.argmax(axis=1),
        ],
    )
    rows[made, LAST_ACTION] = actions[made]
    hand = made & (what < 2)
    rows[hand, LAST_CARD] = card.argmax(axis=1)[hand]
    gained = np.where(what == 0, flags[:, 0] * SCORED | flags[:, 1] * GAINED_INFO, GAINED_INFO)
    rows[hand, LAST_FLAGS] = (gained | drew * DREW)[hand]
    rows[made & (what >= 2), LAST_TOUCHED] = _packed(touched)[made & (what >= 2)]


# -------------------------------------------------------------------------- from one to the next


def _with_own_cards(
    config: HanabiConfig, previous: Row, action: int, card: int, touched: int, seat: int
) -> Row:
    """``previous`` with cards in the own hand that behave as the hidden ones did in the move."""
    filled: Row = previous.copy()
    if config.observation_type == "seer":
        return filled
    h, r = config.hand_size, config.ranks
    hand, mover = HANDS + seat * h, int(previous[TURN])
    what = action_to_dict(config, action)
    if "slot" in what:
        if mover == seat:
            filled[hand + what["slot"]] = card
    elif (mover + what["target"]) % config.players == seat:
        by_rank = "rank" in what
        value, values = (what["rank"], r) if by_rank else (what["color"], config.colors)
        other = (value + 1) % values
        for slot in range(h):
            if filled[hand + slot] != NO_CARD:
                told = value if touched >> slot & 1 else other
                filled[hand + slot] = told if by_rank else r * told
    return filled


def _gone(config: HanabiConfig, row: Row) -> NDArray[np.int64]:
    """[K] copies of each identity played or discarded."""
    planes = np.array([row[LEFT0], row[LEFT1], row[LEFT2]])
    left = 3 - (planes[:, None] >> np.arange(config.colors * config.ranks) & 1).sum(axis=0)
    return np.asarray(np.tile(config.copies, config.colors) - left, dtype=np.int64)
