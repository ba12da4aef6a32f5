"""Observations decoded back to rows: a round trip in random games, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.decoding import between, decode, first, follow, opening
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import COUNTDOWN, HANDS, LIVES, MOVES, NO_CARD, TURN
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from tests.helpers.hanabi_play import random_legal
from tests.helpers.openspiel_hanabi import random_config


def random_game(config: HanabiConfig, rng: np.random.Generator) -> tuple[HanabiWorlds, IntArray]:
    """Every position of one random game [T + 1], and its moves [T]."""
    worlds = HanabiGame(config).deal(rng, 1)
    rows, moves = [worlds.rows.copy()], []
    while not worlds.terminal[0]:
        action = random_legal(worlds, rng)
        if rng.random() < 0.7:  # fewer lost lives: games reach their later parts
            after = worlds.select(np.array([0]))
            after.step(action)
            if after.rows[0, LIVES] < worlds.rows[0, LIVES]:
                action = random_legal(worlds, rng)
        worlds.step(action)
        rows.append(worlds.rows.copy())
        moves.append(int(action[0]))
    return HanabiWorlds(worlds.game, np.concatenate(rows)), np.array(moves, dtype=np.int64)


def seen(worlds: HanabiWorlds, seat: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    view = worlds.view(seat)
    return view.rows, view.observation("openspiel")


def rounds(seed: int) -> tuple[HanabiConfig, HanabiWorlds, IntArray]:
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    return config, *random_game(config, rng)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_vector_alone_gives_the_row_but_for_what_it_does_not_show(seed: int) -> None:
    config, worlds, _ = rounds(seed)
    for seat in range(config.players):
        rows, vectors = seen(worlds, seat)
        decoded = decode(config, vectors, seat)
        for word in (TURN, MOVES, COUNTDOWN):
            decoded[:, word] = rows[:, word]
        size = config.players * config.hand_size
        cards, hints = slice(HANDS, HANDS + size), slice(HANDS + size, HANDS + 2 * size)
        unseen = (rows[:, cards] == NO_CARD) | (config.observation_type == "seer")
        decoded[:, hints] = np.where(unseen, rows[:, hints], decoded[:, hints])
        assert np.array_equal(decoded, rows)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_vectors_of_a_game_give_every_row(seed: int) -> None:
    config, worlds, _ = rounds(seed)
    for seat in range(config.players):
        rows, vectors = seen(worlds, seat)
        row = first(config, vectors[0], seat, int(rows[0, TURN]))
        assert np.array_equal(row, rows[0])
        for t in range(1, len(rows)):
            row = follow(config, row, vectors[t].astype(np.float64), seat)
            assert np.array_equal(row, rows[t])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_two_players_need_the_vectors_of_their_own_turns_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    while config.players != 2:
        config = random_config(rng)
    worlds, moves = random_game(config, rng)
    for seat in range(2):
        rows, vectors = seen(worlds, seat)
        own = np.flatnonzero(rows[:, TURN] == seat)
        if len(own) == 0:
            continue
        row = opening(config, vectors[own[0]], seat)
        assert np.array_equal(row, rows[0])
        if own[0] > 0:
            row = follow(config, row, vectors[own[0]], seat)
        assert np.array_equal(row, rows[own[0]])
        for t in own[1:]:
            middle = between(config, row, int(moves[t - 2]), vectors[t], seat)
            assert np.array_equal(middle, rows[t - 1])
            row = follow(config, middle, vectors[t], seat)
            assert np.array_equal(row, rows[t])


def test_vectors_of_another_configuration_are_refused() -> None:
    small = HanabiConfig(colors=2, hand_size=2)
    other = HanabiGame(small).deal(np.random.default_rng(0), 1).view(0).observation("openspiel")
    with pytest.raises(ConfigError, match=r"must be of shape \[B, 658\], got \(1, 178\)"):
        decode(HanabiConfig(), other, 0)
    with pytest.raises(ConfigError, match="zeros and ones"):
        decode(small, other * 0.5, 0)
    with pytest.raises(ConfigError, match="no such game shows"):
        decode(small, 1 - other, 0)


def test_vectors_that_leave_moves_out_are_refused() -> None:
    config = HanabiConfig(players=3)
    worlds, _ = random_game(config, np.random.default_rng(1))
    _, vectors = seen(worlds, 1)
    row = first(config, vectors[0], 1, 0)
    with pytest.raises(RecordError, match="must follow a move of player 0, got one after a move"):
        follow(config, row, vectors[2], 1)
    with pytest.raises(RecordError, match="must begin before the first move"):
        first(config, vectors[1], 1, 0)
    follow(config, row, vectors[1], 1)
    with pytest.raises(RecordError):
        follow(config, row, vectors[4], 1)
