"""The compiled SmartBot: recorded games, a second implementation, random play, rollouts, scores.

Letters: B worlds, P players, M first actions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.core.policy import Blueprint, Policy, UniformPolicy, take
from hanabi_search_plugin.core.rollout import action_values, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.bots import game_loops
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot, scripts_of
from hanabi_search_plugin.hanabi.bots.memories import words_of
from hanabi_search_plugin.hanabi.bots.smartbot import ABSENT
from hanabi_search_plugin.hanabi.engine.layout import (
    ALL,
    HANDS,
    INFO,
    LIVES,
    MAX_INFO,
    NO_CARD,
    PLAYABLE,
)
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.hanabi.search import compiled_rollouts
from hanabi_search_plugin.testing import check_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_masks import check_recorded, compare, masks_of
from tests.helpers.hanabi_play import random_legal
from tests.helpers.hanabi_table import Table, any_config, hidden_shuffled, stacked
from tests.references.smartbot_reference import ReferenceSmartBot

STANDARD = [2, 3, 4, 5]
BOT = SmartBot()
SMALL = {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 4}


def midgame(
    game: HanabiGame, rng: np.random.Generator, n: int, *, moves: int, smart: float
) -> Table:
    """Games after ``moves`` mixed moves; those that ended before are not there."""
    table = Table(game.deal(rng, n), BOT)
    for _ in range(moves):
        table.step(table.mixed(rng, smart))
    return table


# ---------------------------------------------------------------------------------- recorded games


@pytest.mark.parametrize("players", STANDARD)
def test_recorded_decisions_and_masks(golden: Path, players: int) -> None:
    check_recorded(BOT, golden, "smartbot", players)


# --------------------------------------------------------------------- against the plain version


@pytest.mark.parametrize("players", STANDARD)
def test_equals_the_plain_version(players: int) -> None:
    games = [
        compare(BOT, ReferenceSmartBot, HanabiGame(players=players), players, 20, smart)
        for smart in (0.7, 0.95)
    ]
    assert min(games) > 500


@pytest.mark.parametrize("block", range(4))
def test_equals_the_plain_version_in_any_game(block: int) -> None:
    for seed in range(100 * block, 100 * (block + 1)):
        rng = np.random.default_rng(seed)
        compare(
            BOT,
            ReferenceSmartBot,
            HanabiGame(any_config(rng)),
            seed,
            2,
            float(rng.choice([0.0, 0.7, 0.95])),
        )


# ------------------------------------------------------------------------------------ random play


def check_random_play(game: HanabiGame, seed: int, games: int) -> None:
    """Watch all-random games: proposals are legal, masks are never empty and fit the hands."""
    rng = np.random.default_rng(seed)
    table = Table(game.deal(rng, games), BOT)
    p, h = game.config.players, game.config.hand_size
    while len(table):
        proposals = table.proposals()
        assert table.worlds.legal[np.arange(len(table)), proposals].all()
        absent = table.worlds.rows[:, HANDS : HANDS + p * h] == NO_CARD
        everything = table.worlds.rows[:, ALL, None]
        for memory in map(words_of, table.memories):
            assert ((memory == ABSENT) == absent).all()
            assert (absent | ((memory & everything) == memory) & (memory != 0)).all()
        table.step(random_legal(table.worlds, rng))


@pytest.mark.parametrize("players", STANDARD)
def test_random_games(players: int) -> None:
    check_random_play(HanabiGame(players=players, life_tokens=50), players, 1000)
    check_random_play(HanabiGame(players=players), players, 1000)


def test_random_games_of_any_configuration() -> None:
    for seed in range(40):
        check_random_play(HanabiGame(any_config(np.random.default_rng(seed))), seed, 50)


def test_no_hint_where_there_are_no_tokens_at_all() -> None:
    game = HanabiGame(players=2, information_tokens=0)
    table = Table(stacked(game, [4, 9, 14, 19, 24], [1, 2, 3, 6, 7]), BOT)
    assert table.proposals().tolist() == [5]  # discards are illegal, too: play the oldest card


# ----------------------------------------------------------------------- seats do not share a mind

R1, R3, Y1, Y2, Y3, Y4, G2, G3, G4, B2, B3, B4, W2 = 0, 2, 5, 6, 7, 8, 11, 12, 13, 16, 17, 18, 21


def hint(game: HanabiGame, offset: int, *, color: int = -1, rank: int = -1) -> int:
    """The action id of a hint to the player ``offset`` seats on."""
    config = game.config
    base = 2 * config.hand_size
    if color >= 0:
        return base + (offset - 1) * config.colors + color
    return base + (config.players - 1) * config.colors + (offset - 1) * config.ranks + rank


def after_finesse(*newest: int) -> list[list[list[set[int]]]]:
    """Each seat's masks after P0 discards a publicly known R1. Given: the others' newest cards."""
    game = HanabiGame(players=1 + len(newest))
    players, size = game.config.players, game.config.hand_size
    others = [[Y2, Y3, Y2, Y3], [G2, G3, G2, G3], [Y4, G4, Y4, G4]]
    hands = [[R1, B2, B2, B3, W2][:size]]
    hands += [[*other[: size - 1], card] for other, card in zip(others, newest, strict=False)]
    table = Table(stacked(game, *hands), BOT)
    # Of P0's cards only R1 is red, and only R1 is a 1: two hints make it known.
    telling = [{"color": 0}, {"rank": 0}]
    while telling or table.worlds.current_player[0] != 0:
        mover = int(table.worlds.current_player[0])
        if mover == 0 or not telling:  # something else
            action = hint(game, (1 - mover) % players, color=1)
        else:
            action = hint(game, players - mover, **telling.pop(0))
        table.step(np.array([action]))
    masks = [masks_of(game, memory[0]) for memory in table.memories]
    assert all(seat[0][0] == {R1} for seat in masks)
    table.step(np.array([0]))
    return [masks_of(game, memory[0]) for memory in table.memories]


def takes_it(masks: list[list[list[set[int]]]], player: int) -> list[bool]:
    """[seat] does the seat believe that the discard showed ``player``'s newest card?"""
    return [seat[player][-1] == {R1} for seat in masks]


def test_finesse_with_one_holder_is_common_knowledge() -> None:
    masks = after_finesse(R1)
    assert takes_it(masks, 1) == [True, True]
    assert masks[0] == masks[1]
    masks = after_finesse(B3, R1)
    assert takes_it(masks, 1) == [False, False, False]
    assert takes_it(masks, 2) == [True, True, True]
    assert masks[0] == masks[1] == masks[2]


def test_finesse_without_a_holder_deceives_those_who_cannot_see_it() -> None:
    assert takes_it(after_finesse(B3), 1) == [False, True]
    masks = after_finesse(B3, B4)
    # Each of the others sees no R1 and takes it for its own; the discarder sees both hands.
    assert takes_it(masks, 1) == [False, True, False]
    assert takes_it(masks, 2) == [False, False, True]


def test_finesse_with_two_holders_points_at_the_first_that_a_seat_sees() -> None:
    masks = after_finesse(R1, R1)
    assert takes_it(masks, 1) == [True, False, True]
    assert takes_it(masks, 2) == [False, True, False]
    masks = after_finesse(R1, B4, R1)
    assert takes_it(masks, 1) == [True, False, True, True]
    assert takes_it(masks, 2) == [False, False, False, False]
    assert takes_it(masks, 3) == [False, True, False, False]


def test_a_misleading_hint_teaches_what_its_receiver_can_see() -> None:
    game = HanabiGame(players=2)
    table = Table(stacked(game, [Y1, Y1, Y2, Y2, Y3], [R1, B2, B2, B3, R3]), BOT)
    table.step(np.array([hint(game, 1, color=0)]))
    reds = {0, 1, 2, 3, 4}
    for seat in range(2):  # the giver, too, who sees that R1 is wrong
        hand = masks_of(game, table.memories[seat][0])[1]
        assert hand == [reds, *[set(range(5, 25))] * 3, {R1}]
    assert table.proposals().tolist() == [5 + 4]  # P1 plays its R3
    # A hint that contradicts it counts alone.
    table.step(np.array([hint(game, 1, color=1)]))
    table.step(np.array([hint(game, 1, rank=2)]))
    for seat in range(2):
        hand = masks_of(game, table.memories[seat][0])[1]
        assert hand == [{0, 1, 3, 4}, *hand[1:4], {2, 7, 12, 17, 22}]


# -------------------------------------------------------------------------------------- no peeking


@pytest.mark.parametrize("players", STANDARD)
def test_what_a_seat_cannot_see_changes_nothing(players: int) -> None:
    game = HanabiGame(players=players)
    rng = np.random.default_rng(players)
    table = Table(game.deal(rng, 100), BOT)
    script = SmartBot().script(game)
    changed = 0
    while len(table):
        mover = int(table.worlds.current_player[0])
        rows = hidden_shuffled(table.worlds, mover, rng)
        changed += int((rows != table.worlds.rows).any(axis=1).sum())
        found = np.empty(len(table), dtype=np.int64)
        unused = np.zeros(len(table), dtype=np.uint64)
        game_loops.act_rows(game.dims, script, rows, words_of(table.memories[mover]), unused, found)
        assert found.tolist() == table.proposals().tolist()
        before = table.memories
        on = table.step(table.mixed(rng, 0.7))
        for seat in range(players):
            memory = words_of(take(before[seat], on))
            rows = hidden_shuffled(table.worlds, seat, rng)
            game_loops.observe_rows(game.dims, script, rows, seat, memory)
            assert np.array_equal(memory, words_of(table.memories[seat]))
    assert changed > 1000


# ---------------------------------------------------------------------------------------- rollouts


def check_values(
    table: Table, blueprint: Blueprint, actions: IntArray, rng: np.random.Generator
) -> int:
    """Compiled values equal plain ones where the actions are legal; returns how many there were."""
    compared = 0
    for action in actions.tolist():
        where = np.flatnonzero(table.worlds.legal[:, action])
        worlds = table.worlds.select(where)
        memories = tuple(
            take(memory, where) if isinstance(policy, SmartBot) else None
            for policy, memory in zip(blueprint, table.memories, strict=True)
        )
        streams = Streams.spawn(rng, len(where))
        first = np.array([action])
        compiled = action_values(worlds, first, blueprint, memories, 0, streams)
        plain = action_values(worlds, first, blueprint, memories, 0, streams)
        assert compiled.tolist() == plain.tolist(), f"{blueprint}, action {action}"
        compared += compiled.size
    return compared


MIXES: dict[str, Callable[[int], Policy]] = {
    "smart": lambda seat: SmartBot(),
    "mixed": lambda seat: UniformPolicy() if seat == 1 else SmartBot(),
    "random": lambda seat: UniformPolicy(),
}


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize(
    "parameters", [*({"players": p, "bomb": "minus_one"} for p in STANDARD), SMALL], ids=str
)
def test_compiled_values_equal_plain_ones(parameters: dict[str, Any], mix: str) -> None:
    game = HanabiGame(**parameters)
    rng = np.random.default_rng(5)
    table = midgame(game, rng, 40, moves=5, smart=0.5)
    blueprint = tuple(MIXES[mix](seat) for seat in range(game.num_players))
    assert scripts_of(blueprint, game) is not None
    hints = rng.choice(np.arange(2 * game.config.hand_size, game.num_actions), 2, replace=False)
    actions = np.concatenate([[0, game.config.hand_size], hints])
    assert check_values(table, blueprint, actions, rng) >= 60


@pytest.mark.parametrize("players", STANDARD)
def test_compiled_values_from_unequal_memories(players: int) -> None:
    """Seats that know different things: one mind must not serve for all."""
    game = HanabiGame(players=players)
    rng = np.random.default_rng(players)
    table = midgame(game, rng, 40, moves=8, smart=0.7)
    everything = int(game.template[ALL])
    for seat, whole in enumerate(table.memories):
        memory = whole[:, :-1]
        forgotten = rng.integers(0, everything, memory.shape, endpoint=True)
        forgotten &= rng.integers(0, everything, memory.shape, endpoint=True)
        memory |= np.where((memory == ABSENT) | (seat == 0), 0, forgotten).astype(np.int32)
    assert (table.memories[0] != table.memories[1]).any(axis=1).all()
    actions = np.array([0, game.config.hand_size, game.num_actions - 1])
    assert check_values(table, table.policies, actions, rng) >= 60


@pytest.mark.parametrize("players", STANDARD)
def test_compiled_values_where_minds_part(players: int) -> None:
    """First moves that equal memories read differently: a finesse that shows no card, or two."""
    game = HanabiGame(players=players)
    rng = np.random.default_rng(players)
    table = Table(game.deal(rng, 300), BOT)
    size, parted = game.config.hand_size, 0
    while len(table) and parted < 40:
        for slot in range(size):
            worlds = table.worlds
            mover = worlds.current_player
            mask = table.memories[0][np.arange(len(table)), mover * size + slot]
            known = ((mask & (mask - 1)) == 0) & ((mask & worlds.rows[:, PLAYABLE]) != 0)
            spare = worlds.rows[:, INFO] < worlds.rows[:, MAX_INFO]
            equal = [(m == table.memories[0]).all(axis=1) for m in table.memories]
            chosen = np.flatnonzero(known & spare & np.logical_and.reduce(equal))
            if len(chosen) == 0:
                continue
            part = Table(worlds.select(chosen), BOT)
            part.memories = tuple(take(memory, chosen) for memory in table.memories)
            check_values(part, part.policies, np.array([slot]), rng)
            part.step(np.full(len(part), slot))
            differ = [(m != part.memories[0]).any(axis=1) for m in part.memories[1:]]
            parted += int(np.logical_or.reduce(differ).sum())
        table.step(table.mixed(rng, 0.9))
    assert parted >= 40


@pytest.mark.parametrize("parameters", [*({"players": p} for p in STANDARD), SMALL], ids=str)
def test_compiled_games_are_the_plain_ones(parameters: dict[str, Any]) -> None:
    """Whole games of SmartBots with a random player among them: the same last worlds."""
    game = HanabiGame(**parameters)
    rng = np.random.default_rng(3)
    worlds = game.deal(rng, 100)
    blueprint = (*(SmartBot(),) * (game.num_players - 1), UniformPolicy())
    scripts = scripts_of(blueprint, game)
    assert scripts is not None
    streams = Streams.spawn(rng, len(worlds))
    moves = self_play(worlds, blueprint, streams).actions
    memories = start_memories(worlds, blueprint)
    ends = compiled_rollouts.play_out(worlds, scripts, memories, streams)
    plain = worlds.select(np.arange(len(worlds)))
    for t in range(moves.shape[1]):
        playing = np.flatnonzero(moves[:, t] >= 0)
        part = plain.select(playing)
        part.step(moves[playing, t])
        plain.rows[playing] = part.rows
    assert plain.terminal.all()
    assert np.array_equal(ends.rows, plain.rows)
    threaded = compiled_rollouts.play_out(worlds, scripts, memories, streams, threads=3)
    assert np.array_equal(threaded.rows, plain.rows)


# ------------------------------------------------------------------------------- contract, scores


@pytest.mark.parametrize("parameters", [{"players": 2}, {"players": 5}, SMALL], ids=str)
def test_contract(parameters: dict[str, Any]) -> None:
    check_policy(HanabiGame(**parameters), SmartBot())


def test_other_games_are_refused() -> None:
    view = OpenSpielGame("tiny_hanabi").deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match="play native Hanabi"):
        SmartBot().start(view)


# Of 20,000 games of the original program, each: mean and its standard error with points kept and
# with none for a game that lost its last life; fractions of perfect and of bombed games.
MEASURED = {
    2: ((23.082, 0.013), (22.972, 0.018), 0.2927, 0.0053),
    3: ((23.312, 0.010), (22.929, 0.024), 0.1933, 0.0175),
    4: ((22.443, 0.010), (21.920, 0.027), 0.0449, 0.0252),
    5: ((20.664, 0.010), (19.041, 0.042), 0.0004, 0.0861),
}


@pytest.mark.parametrize("players", STANDARD)
def test_self_play_scores(players: int) -> None:
    keep, zero, perfect, bombed = MEASURED[players]
    n = 20_000
    for bomb, (mean, error) in (("keep", keep), ("zero", zero)):
        game = HanabiGame(players=players, bomb=bomb)
        worlds = game.deal(np.random.default_rng(2017), n)
        blueprint = (SmartBot(),) * players
        memories = start_memories(worlds.select(np.arange(1)), blueprint)
        scripts = scripts_of(blueprint, game)
        assert scripts is not None
        ends = compiled_rollouts.play_out(
            worlds, scripts, memories, Streams(np.zeros(n, dtype=np.uint64))
        )
        points = ends.returns[:, 0]
        spread = math.hypot(points.std() / math.sqrt(n), error)
        assert abs(points.mean() - mean) < 3 * spread, bomb
        for fraction, measured in (
            ((points == 25).mean(), perfect),
            ((ends.rows[:, LIVES] == 0).mean(), bombed),
        ):
            assert abs(fraction - measured) < 3 * math.sqrt(2 * measured * (1 - measured) / n)
