"""Recorded games of random moves, of any rules that hanab.live has, too."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from tests.helpers.hanabi_play import random_legal


@st.composite
def configurations(draw: st.DrawFn) -> HanabiConfig:
    """2 to 5 players, 3 to 5 colours, the usual hands or one card more or less."""
    players = draw(st.integers(2, 5))
    hand_size = HanabiConfig(players=players).hand_size + draw(st.integers(-1, 1))
    return HanabiConfig(players=players, colors=draw(st.integers(3, 5)), hand_size=hand_size)


def random_record(
    config: HanabiConfig, seed: int, *, first_player: int = 0, moves: int = 1000
) -> RecordedGame:
    """A game of at most so many random legal moves from a shuffled deck."""
    rng = np.random.default_rng(seed)
    rules = HanabiRules(config)
    size = config.deck_size
    deck = tuple(rules.deal(rng, 1).rows[0, -size:].tolist())
    worlds = rules.from_decks([deck], first_player)
    actions: list[int] = []
    while len(actions) < moves and not worlds.terminal[0]:
        chosen = random_legal(worlds, rng)
        worlds.step(chosen)
        actions.append(int(chosen[0]))
    return RecordedGame(
        config=config, game=seed, deck=deck, actions=tuple(actions), first_player=first_player
    )


@st.composite
def records(draw: st.DrawFn) -> RecordedGame:
    """Whole games and beginnings of games, with whoever beginning."""
    config = draw(configurations())
    return random_record(
        config,
        draw(st.integers(0, 2**31)),
        first_player=draw(st.integers(0, config.players - 1)),
        moves=draw(st.sampled_from((0, 1, 20, 1000))),
    )
