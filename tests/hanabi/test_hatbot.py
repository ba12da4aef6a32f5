"""The compiled hat-guessing bots: recorded games, a second implementation, random play, scores.

Letters: B worlds.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin.core.game import IntArray
from hanabi_search_plugin.core.policy import take
from hanabi_search_plugin.core.rollout import action_values, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.bots import game_loops
from hanabi_search_plugin.hanabi.bots.compiled import CompiledBot, scripts_of
from hanabi_search_plugin.hanabi.bots.hats import HatBot, HatBotB
from hanabi_search_plugin.hanabi.bots.memories import words_of
from hanabi_search_plugin.hanabi.bots.smartbot import ABSENT
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import ALL, HANDS, LEFT0, NO_CARD
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.hanabi.search import compiled_rollouts
from hanabi_search_plugin.testing import check_policy
from tests.helpers.hanabi_masks import check_recorded, compare, masks_of
from tests.helpers.hanabi_play import random_legal
from tests.helpers.hanabi_table import Table, any_config, hidden_shuffled, stacked
from tests.references.hatbot_reference import ReferenceHatBot, ReferenceHatBotB

STANDARD = [2, 3, 4, 5]
SMALL = {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 4}
BOTS: dict[str, CompiledBot] = {"A": HatBot(), "B": HatBotB()}
PLAIN = {"A": ReferenceHatBot, "B": ReferenceHatBotB}
RECORDED = {"A": "hatbot", "B": "hatbot_rs"}

versions = pytest.mark.parametrize("version", BOTS)
standard = pytest.mark.parametrize("players", STANDARD)


# ---------------------------------------------------------------------------------- recorded games


@standard
@versions
def test_recorded_decisions_and_masks(golden: Path, version: str, players: int) -> None:
    check_recorded(BOTS[version], golden, RECORDED[version], players)


# --------------------------------------------------------------------- against the plain version


@standard
@versions
def test_equals_the_plain_version(version: str, players: int) -> None:
    game = HanabiGame(players=players)
    assert (
        sum(compare(BOTS[version], PLAIN[version], game, players, 6, own) for own in (0.7, 0.95))
        > 150
    )


@versions
def test_equals_the_plain_version_in_any_game(version: str) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        compare(
            BOTS[version],
            PLAIN[version],
            HanabiGame(any_config(rng)),
            seed,
            1,
            float(rng.choice([0.0, 0.7, 0.95])),
        )


# ------------------------------------------------------------------------------------ random play


def check_random_play(version: str, game: HanabiGame, seed: int, games: int) -> None:
    """Watch all-random games: proposals are legal, masks are never empty and fit the hands."""
    rng = np.random.default_rng(seed)
    table = Table(game.deal(rng, games), BOTS[version])
    p, h = game.config.players, game.config.hand_size
    while len(table):
        proposals = table.proposals()
        assert table.worlds.legal[np.arange(len(table)), proposals].all()
        absent = table.worlds.rows[:, HANDS : HANDS + p * h] == NO_CARD
        possible = (table.worlds.rows[:, ALL] & ~table.worlds.rows[:, LEFT0])[:, None]
        for memory in map(words_of, table.memories):
            assert ((memory == ABSENT) == absent).all()
            assert (absent | ((memory & possible) == memory) & (memory != 0)).all()
        table.step(random_legal(table.worlds, rng))


@standard
@versions
def test_random_games(version: str, players: int) -> None:
    check_random_play(version, HanabiGame(players=players, life_tokens=50), players, 500)
    check_random_play(version, HanabiGame(players=players), players, 500)


@versions
def test_random_games_of_any_configuration(version: str) -> None:
    for seed in range(60):
        game = HanabiGame(any_config(np.random.default_rng(1000 + seed)))
        check_random_play(version, game, seed, 50)


@versions
def test_no_hint_where_there_are_no_tokens_at_all(version: str) -> None:
    game = HanabiGame(players=2, information_tokens=0)
    table = Table(stacked(game, [4, 9, 14, 19, 24], [1, 2, 3, 6, 7]), BOTS[version])
    assert table.proposals().tolist() == [5]  # discards are illegal, too: play the oldest card


# ----------------------------------------------------------------------- seats do not share a mind

R1, R2, Y2, Y3, G2, G3, B2, B3, W2 = 0, 1, 6, 7, 11, 12, 16, 17, 21
ONES = {0, 5, 10, 15, 20}
FULL = set(range(25))


def test_of_two_the_receiver_learns_what_it_was_told_and_not_what_is() -> None:
    """P1's oldest card is playable; a rank hint to it announces 0: "it is not"."""
    game = HanabiGame(players=2)
    table = Table(stacked(game, [Y2, Y3, G2, G3, B2], [R1, R2, B3, W2, Y2]), BOTS["A"])
    colour_of_oldest = 2 * 5 + 0
    assert table.proposals().tolist() == [colour_of_oldest]  # announces 1: "it is playable"
    table.step(np.array([2 * 5 + 5 + 0]))  # tells its rank
    for memory in table.memories:  # the giver knows what the receiver takes from it
        # Not playable and a 1 cannot be: all that the hint allows.
        assert masks_of(game, memory[0])[1] == [ONES, *[FULL - ONES] * 4]


def unconventional() -> tuple[HanabiGame, Table]:
    """P0 announces 1 of 6 in place of 2: P1's value is 2 (its oldest card is playable), P2's 0.

    Card-index strategies with N = 3 and index slot 0: types 0 to 2 for P1, 3 to 5 for P2. Either
    answers PLAYABLE? for its two oldest cards.
    """
    game = HanabiGame(players=3)
    hands = [[Y2, Y3, G2, G3, B2], [R1, R2, B3, W2, Y2], [B2, B3, G2, W2, Y3]]
    table = Table(stacked(game, *hands), BOTS["A"])
    conventional = table.proposals()
    table.step(np.array([2 * 5 + 0]))  # colour of P1's oldest card: type 1
    assert conventional.tolist() != [2 * 5 + 0]
    return game, table


def test_each_of_three_takes_its_own_answers_from_the_number_alone() -> None:
    game, table = unconventional()
    seats = [masks_of(game, memory[0]) for memory in table.memories]
    red, rest = {0, 1, 2, 3, 4}, FULL - {0, 1, 2, 3, 4}
    # P1 sees that P2's value is 0, so its own is 1: the oldest is not playable, the next is.
    wrong = [red - ONES, red & ONES, rest, rest, rest]
    assert seats[1][1] == wrong
    assert seats[0][1] == wrong  # the giver knows that P1 believes it
    # P2 sees what P1 holds and takes the hint for conventional.
    assert seats[2][1] == [{R1}, red - ONES, rest, rest, rest]
    # P2 thinks that its own value is 1 - 2 = 5 of 6, capped: both answers are yes.
    assert seats[2][2] == seats[0][2] == [ONES, ONES, FULL, FULL, FULL]
    # P1 sees that neither is playable.
    assert seats[1][2] == [FULL - ONES, FULL - ONES, FULL, FULL, FULL]


def test_one_mind_does_not_serve_for_an_unconventional_hint() -> None:
    """A rollout from before the hint goes the same way as seats that play by themselves."""
    game = HanabiGame(players=3)
    hands = [[Y2, Y3, G2, G3, B2], [R1, R2, B3, W2, Y2], [B2, B3, G2, W2, Y3]]
    worlds = stacked(game, *hands)
    check_one_mind(BOTS["A"], game, worlds.rows, np.array([2 * 5 + 0]))


# ------------------------------------------------------------------------- one mind, many seats


def check_one_mind(bot: CompiledBot, game: HanabiGame, rows: Any, actions: IntArray) -> None:
    """Rollouts that may keep one memory for all seats end as those with a memory each do."""
    worlds = HanabiWorlds(game, rows)
    blueprint = (bot,) * game.num_players
    memories = start_memories(worlds, blueprint)
    streams = Streams(np.zeros(len(rows), dtype=np.uint64))
    shared = action_values(worlds, actions, blueprint, memories, 0, streams)
    scripts = scripts_of(blueprint, game)
    assert scripts is not None
    apart = scripts.copy()
    apart[1:, -1] = 1  # a parameter that nobody reads: no two seats play by the same script
    alone = compiled_rollouts.action_values(worlds, actions, apart, memories, streams)
    assert shared.tolist() == alone.tolist()


@pytest.mark.parametrize("parameters", [*({"players": p} for p in STANDARD), SMALL], ids=str)
@versions
def test_one_mind_is_that_of_every_seat(version: str, parameters: dict[str, Any]) -> None:
    """After conventional first moves and others: whole games, every seat's decisions."""
    game = HanabiGame(**parameters)
    worlds = game.deal(np.random.default_rng(7), 200)
    actions = np.flatnonzero(worlds.legal.all(axis=0))[:3]
    check_one_mind(
        BOTS[version], game, worlds.rows, np.concatenate([[game_loops.NO_MOVE], actions])
    )


@standard
@versions
def test_compiled_games_are_the_plain_ones(version: str, players: int) -> None:
    game = HanabiGame(players=players, bomb="keep")
    rng = np.random.default_rng(players)
    worlds = game.deal(rng, 50)
    blueprint = (BOTS[version],) * players
    streams = Streams.spawn(rng, len(worlds))
    scripts = scripts_of(blueprint, game)
    assert scripts is not None
    ends = compiled_rollouts.play_out(worlds, scripts, start_memories(worlds, blueprint), streams)
    assert ends.returns.tolist() == self_play(worlds, blueprint, streams).returns.tolist()


# -------------------------------------------------------------------------------------- no peeking


@standard
@versions
def test_what_a_seat_cannot_see_changes_nothing(version: str, players: int) -> None:
    game = HanabiGame(players=players)
    rng = np.random.default_rng(players)
    table = Table(game.deal(rng, 40), BOTS[version])
    script = BOTS[version].script(game)
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
    assert changed > 400


@versions
def test_of_two_players_all_that_is_learnt_is_public(version: str) -> None:
    """Nobody's cards matter but the ones on the table: beliefs keep one memory for all hands."""
    game = HanabiGame(players=2)
    rng = np.random.default_rng(2)
    table = Table(game.deal(rng, 40), BOTS[version])
    script = BOTS[version].script(game)
    while len(table):
        before = table.memories
        on = table.step(table.mixed(rng, 0.7))
        rows = hidden_shuffled(table.worlds, 0, rng)
        rows = hidden_shuffled(HanabiWorlds(game, rows), 1, rng)
        for seat in range(2):
            memory = words_of(take(before[seat], on))
            game_loops.observe_rows(game.dims, script, rows, seat, memory)
            assert np.array_equal(memory, words_of(table.memories[seat]))


# ------------------------------------------------------------------------------- contract, scores


@pytest.mark.parametrize("parameters", [{"players": 2}, {"players": 5}, SMALL], ids=str)
@versions
def test_contract(version: str, parameters: dict[str, Any]) -> None:
    check_policy(HanabiGame(**parameters), BOTS[version])


# Mean score and its standard error of the original programs: 20,000 games each of A, 2,000 of B.
MEASURED = {
    "A": {2: (19.988, 0.015), 3: (24.251, 0.007), 4: (24.852, 0.003), 5: (24.890, 0.003)},
    "B": {2: (22.545, 0.039), 3: (24.792, 0.012), 4: (24.936, 0.007), 5: (24.914, 0.008)},
}


@standard
@versions
def test_self_play_scores(version: str, players: int) -> None:
    mean, error = MEASURED[version][players]
    n = 4000
    game = HanabiGame(players=players)
    worlds = game.deal(np.random.default_rng(2017), n)
    blueprint = (BOTS[version],) * players
    memories = start_memories(worlds.select(np.arange(1)), blueprint)
    scripts = scripts_of(blueprint, game)
    assert scripts is not None
    ends = compiled_rollouts.play_out(
        worlds, scripts, memories, Streams(np.zeros(n, dtype=np.uint64))
    )
    points = ends.returns[:, 0]
    assert points.min() > 0  # no game is lost by its lives
    assert abs(points.mean() - mean) < 3 * math.hypot(points.std() / math.sqrt(n), error)
