"""Recorded games played by the rules: are all moves legal, and what do they score?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi.engine.config import Bomb, HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules
from hanabi_search_plugin.hanabi.engine.layout import (
    COUNTDOWN,
    DECK_NEXT,
    DECK_SIZE,
    HANDS,
    LEFT0,
    LIVES,
    NO_CARD,
    PLAYABLE,
    PLAYED,
    TURN,
)
from hanabi_search_plugin.hanabi.engine.text import action_in_words, why_illegal
from hanabi_search_plugin.hanabi.files.records import RecordedGame


def played_out(game: RecordedGame, bomb: Bomb | None = None) -> RecordedGame:
    """The game with its score and the lives left, if it is over.

    It is over by the rules, or where no card can score any more: hanab.live stops there. A lost
    last life counts by ``bomb``; None: a score that the record has is kept, and another follows the
    record's convention, else "zero". Raises RecordError naming the turn of an illegal move.
    """
    # "keep" makes the engine's return the points on the table.
    rules = HanabiRules(replace(game.config, bomb="keep"))
    worlds = rules.from_decks([game.deck], game.first_player)
    for turn, action in enumerate(game.actions):
        if not worlds.legal[0, action]:
            player = (game.first_player + turn) % game.config.players
            raise RecordError(
                f"{game.source or f'game {game.game}'}: actions[{turn}] (turn {turn + 1}) must be "
                f"legal, got {action_in_words(game.config, player, action)!r}: "
                f"{why_illegal(game.config, worlds.rows[0], action)}"
            )
        worlds.step(np.array([action]))
    row = worlds.rows[0]
    if row[TURN] >= 0 and not nothing_scores(game.config, row):
        return game
    lives, points = int(row[LIVES]), int(row[PLAYED]).bit_count()
    rule: Bomb = bomb or game.bomb or "zero"
    lost: dict[Bomb, int] = {"zero": 0, "keep": points, "minus_one": points - 1}
    score = lost[rule] if lives == 0 else points
    if bomb is None and game.score is not None:
        score = game.score
    return replace(game, score=score, lives_left=lives, bomb=rule)


def nothing_scores(config: HanabiConfig, row: NDArray[np.int32]) -> bool:
    """Is there no card left in a world, row [W], that can still be played for a point?"""
    open_cards = int(row[PLAYABLE]) & ~int(row[LEFT0])
    if row[DECK_NEXT] < row[DECK_SIZE]:
        return not open_cards
    h, p, turn = config.hand_size, config.players, int(row[TURN])
    movers = [(turn + i) % p for i in range(int(row[COUNTDOWN]))]
    hands = [row[HANDS + player * h :][:h].tolist() for player in movers]
    return not any(card != NO_CARD and open_cards >> card & 1 for hand in hands for card in hand)
