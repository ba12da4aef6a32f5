"""What one seat has seen of a game, from a recorded game or from texts, move by move.

Letters: P players, H cards of a hand, W words of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.game import Event, History
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.engine.config import Bomb, HanabiConfig
from hanabi_search_plugin.hanabi.engine.decoding import Row, after_move
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    HANDS,
    HIDDEN_CARD,
    INFO,
    LAST_PLAYER,
    LEFT0,
    LEFT1,
    LEFT2,
    LIVES,
    MOVES,
    NO_CARD,
    PLAYED,
    TOLD_COLOR,
    TOLD_RANK,
    TURN,
)
from hanabi_search_plugin.hanabi.engine.text import action_to_dict
from hanabi_search_plugin.hanabi.files.game_document import first_position, require_legal
from hanabi_search_plugin.hanabi.files.move_names import move_name, read_move
from hanabi_search_plugin.hanabi.files.observation_text import ShownPosition, read_observation_text
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame


def history_of_game(record: RecordedGame, turn: int | None = None) -> History:
    """What the player to move at ``turn`` (from 0; None: where the record stops) has seen.

    Raises RecordError for an illegal move, for a turn that the record lacks, and where the game is
    over.
    """
    turn = len(record.actions) if turn is None else turn
    if not 0 <= turn <= len(record.actions):
        raise RecordError(
            f"turn must be from 0 to {len(record.actions)}, the moves of the game, got {turn}"
        )
    rules, worlds = first_position(record)
    seat = (record.first_player + turn) % rules.num_players
    history = History(seat, (worlds.view(seat),))
    for number, action in enumerate(record.actions[:turn]):
        require_legal(record, worlds, number, action)
        event = worlds.step(np.array([action]))
        history = history.append(event, worlds.view(seat))
    if worlds.terminal[0]:
        raise RecordError(f"turn must be one with a move, got {turn}, where the game is over")
    return history


def history_of_texts(
    texts: Sequence[str], moves: Sequence[Any] | None, config: HanabiConfig | None, bomb: Bomb
) -> History:
    """What the reader of ``texts`` has seen: one text before each move, in turn.

    ``moves`` [len(texts) - 1] are the moves between them, by anything that ``read_move`` takes;
    None, all or some of them: it is read off the texts. Raises RecordError where the texts do not
    follow from each other, and where several moves lead from one to the next.
    """
    if moves is not None and len(moves) != len(texts) - 1:
        raise RecordError(
            f"moves must be {len(texts) - 1}, one between every two observations, got {len(moves)}"
        )
    if not texts:
        raise RecordError("observations must be at least one, got none")
    if config is None:
        config = replace(_read(texts, None, 0).config, bomb=bomb)
    first = _read(texts, config, 0)
    rules = HanabiGame(config)
    history = History(first.seat, (HanabiView(rules, first.seat, first.row[None]),))
    row = first.row
    for number in range(1, len(texts)):
        shown = _read(texts, config, number)
        given = None if moves is None else moves[number - 1]
        mover = int(row[TURN])
        fitting = dict(_fitting(config, row, shown))
        if given is not None:
            action = read_move(config, mover, given)
            if action not in fitting:
                raise RecordError(
                    f"observation {number} must follow from the one before by "
                    f"{move_name(config, action)}, got one that does not"
                )
        elif len(fitting) == 1:
            action = next(iter(fitting))
        else:
            names = ", ".join(move_name(config, each) for each in fitting) or "none"
            raise RecordError(
                f"observation {number} must follow from the one before by one move, got "
                f"{counted(len(fitting), 'move')} that lead to it ({names}): say which in moves"
            )
        row = fitting[action]
        event = Event(np.array([mover]), np.array([action]))
        history = history.append(event, HanabiView(rules, first.seat, row[None]))
    return history


def _read(texts: Sequence[str], config: HanabiConfig | None, number: int) -> ShownPosition:
    try:
        return read_observation_text(texts[number], config)
    except RecordError as error:
        if len(texts) == 1:
            raise
        raise RecordError(f"observation {number}: {error}") from None


def _fitting(config: HanabiConfig, row: Row, shown: ShownPosition) -> Iterator[tuple[int, Row]]:
    """The moves that lead from ``row`` to what is shown, and the row after each."""
    h, mover, after, seat = config.hand_size, int(row[TURN]), shown.row, shown.seat
    gone = _gone(config, after) - _gone(config, row)
    hint = gone.sum() == 0
    last = int(after[HANDS + (mover + 1) * h - 1])
    for action in range(config.num_actions):
        what = action_to_dict(config, action)
        revealed: dict[str, int] = {}
        if hint != ("target" in what):
            continue
        if hint:
            target = (mover + what["target"]) % config.players
            revealed["touched"] = _touched(config, row, after, target, what, seat)
            if not revealed["touched"]:
                continue
        elif gone.sum() == 1 and gone.max() == 1:
            card = int(row[HANDS + mover * h + what["slot"]])
            revealed |= {"card": int(gone.argmax()), "drawn": last}
            if card not in (HIDDEN_CARD, revealed["card"]):
                continue
        try:
            stepped = after_move(config, row, action, seat, **revealed)
        except RecordError:
            continue
        if np.array_equal(*(_shown(config, each, shown.told) for each in (stepped, after))):
            yield action, stepped


def _touched(
    config: HanabiConfig, row: Row, after: Row, target: int, what: dict[str, Any], seat: int
) -> int:
    """Which slots a hint touches, a bit each; of the reader's own hand by what it was told."""
    h, r = config.hand_size, config.ranks
    value = int(what["rank"] if "rank" in what else what["color"])
    bits = 0
    for slot in range(h):
        card = int(row[HANDS + target * h + slot])
        word = int(after[HANDS + (config.players + target) * h + slot])
        if card == NO_CARD:
            continue
        if target == seat:
            told, named = (TOLD_RANK, word >> 5 & 31) if "rank" in what else (TOLD_COLOR, word & 31)
            hit = bool(word & told) and named == 1 << value
        else:
            hit = (card % r if "rank" in what else card // r) == value
        bits |= int(hit) << slot
    return bits


def _gone(config: HanabiConfig, row: Row) -> Any:
    """[K] copies of each identity played or discarded."""
    planes = np.array([row[LEFT0], row[LEFT1], row[LEFT2]])
    left = 3 - (planes[:, None] >> np.arange(config.colors * config.ranks) & 1).sum(axis=0)
    return np.tile(config.copies, config.colors) - left


def _shown(config: HanabiConfig, row: Row, told: bool) -> Any:
    """What a text shows of a row; with ``told`` what was named outright, too."""
    size = config.players * config.hand_size
    table = row[[LIVES, INFO, DECK_NEXT, PLAYED, LEFT0, LEFT1, LEFT2, TURN]]
    cards = row[HANDS : HANDS + size]
    words = np.where(cards == NO_CARD, 0, row[HANDS + size : HANDS + 2 * size])
    words = words if told else words & ~(TOLD_COLOR | TOLD_RANK)
    return np.concatenate([table, cards, words])


def from_the_deal(history: History) -> bool:
    """True if the history begins before the first move."""
    row = history.views[0].rows[0]  # type: ignore[attr-defined]  # of native Hanabi
    size = history.views[0].game.config  # type: ignore[attr-defined]
    dealt = size.players * size.hand_size
    return bool(row[MOVES] == 0 and row[LAST_PLAYER] < 0 and row[DECK_NEXT] == dealt)
