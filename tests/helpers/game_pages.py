"""Documents of random games for tests of the page that shows them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from hanabi_search_plugin import HanabiGame
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame, SearchedTurn
from hanabi_search_plugin.hanabi.files.game_document import game_document
from hanabi_search_plugin.hanabi.files.records import RecordedGame

HOSTILE = (
    "</script><script>hacked = 1</script>",
    "<!--<script>& \u2028<img src=x onerror=hacked=1>",
)


def random_game(names: tuple[str, ...] | None = None, seed: int = 1) -> AnnotatedGame:
    """A game of random moves, in which seat 1 is said to have searched all of its moves."""
    game, rng = HanabiGame(players=2, life_tokens=50), np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    deck = tuple(worlds.rows[0, -game.config.deck_size :].tolist())
    actions: list[int] = []
    decisions = {}
    while not worlds.terminal[0]:
        legal = np.flatnonzero(worlds.legal[0]).tolist()
        action, other = int(rng.choice(legal)), int(rng.choice(legal))
        if worlds.current_player[0] == 1:
            decisions[len(actions)] = SearchedTurn(
                action=action,
                blueprint_action=other,
                actions=tuple(legal),
                mean=tuple(rng.normal(18, 2, len(legal)).tolist()),
                stderr=tuple(rng.uniform(0, 1, len(legal)).tolist()),
                count=tuple(rng.integers(100, 999, len(legal)).tolist()),
                gain=0.3,
                gain_stderr=0.1,
                reason="improved",
                belief_size=1234,
                note="<b>noted</b>",
            )
        actions.append(action)
        worlds.step(np.array([action]))
    record = RecordedGame(
        config=game.config, game=0, deck=deck, actions=tuple(actions), policies=names, bomb="keep"
    )
    return AnnotatedGame(record, decisions)


@cache
def random_document() -> dict[str, Any]:
    return game_document(random_game())


def analysed_document(mistakes: Collection[int]) -> dict[str, Any]:
    """A whole game of which seat 1's moves were analysed: these turns, from 0, were mistakes."""
    annotated, decisions = random_game(), {}
    for index, turn in annotated.decisions.items():
        wrong = index in mistakes
        best = next(a for a in turn.actions if a != turn.action) if wrong else turn.action
        lost = 1.25 if wrong else 0.0
        decisions[index] = replace(turn, action=best, lost=lost, lost_stderr=0.25, mistake=wrong)
    return game_document(AnnotatedGame(annotated.record, decisions))


def document_of(*names: str) -> dict[str, Any]:
    """A whole searched game of players with these names."""
    return random_document() | {"players": list(names)}
