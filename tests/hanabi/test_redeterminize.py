"""Hidden parts drawn anew: against brute force on small decks, and the conflict rules."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import TABLE_II
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import (
    DECK_NEXT,
    HANDS,
    LAST_CARD,
    LEFT0,
    LEFT1,
    LEFT2,
    NO_CARD,
)
from hanabi_search_plugin.hanabi.engine.redeterminize import redraw_hands
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from tests.helpers.hanabi_play import play_on, random_legal

# 3 copies of the first rank and 1 of the second in each of 2 colours: identities 0 0 0 1 2 2 2 3.
GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, information_tokens=4)
DECK = [0, 2, 3, 2, 0, 1, 0, 2]
DISCARD, PLAY, RED, YELLOW, ONE, TWO = 0, 2, 4, 5, 6, 7
SAMPLES = 20_000


def deck_start(game: HanabiGame) -> int:
    return len(game.template) - game.config.deck_size


def after(*actions: int, game: HanabiGame = GAME, deck: Any = DECK) -> HanabiWorlds:
    """One world after the actions."""
    worlds = game.from_decks([deck])
    for action in actions:
        worlds.step(np.array([action]))
    return worlds


def many(worlds: HanabiWorlds, n: int = SAMPLES) -> HanabiWorlds:
    return worlds.select(np.zeros(n, dtype=np.int64))


def streams(n: int = SAMPLES, seed: int = 0) -> Streams:
    return Streams.spawn(np.random.default_rng(seed), n)


def hidden(worlds: HanabiWorlds, player: int) -> list[tuple[int, ...]]:
    """The player's hand and the undealt deck of each world."""
    start = HANDS + player * worlds.game.config.hand_size
    hand = worlds.rows[:, start : start + worlds.game.config.hand_size]
    deck = worlds.rows[:, deck_start(worlds.game) + worlds.rows[0, DECK_NEXT] :]
    return [tuple(row) for row in np.hstack([hand, deck]).tolist()]


def plausible(worlds: HanabiWorlds, player: int, slot: int, card: int) -> bool:
    game = worlds.game
    assert isinstance(game, HanabiGame)
    word = worlds.rows[0, HANDS + (game.num_players + player) * game.config.hand_size + slot]
    color, rank = divmod(card, game.config.ranks)
    return bool(word >> color & 1 and word >> (rank + 5) & 1)


def assert_uniform(found: list[tuple[int, ...]], orders: list[tuple[int, ...]]) -> None:
    """Chi square of samples against equally likely (possibly repeated) orders, at 5 sigma."""
    counts, expected = Counter(found), Counter(orders)
    assert set(counts) <= set(expected)
    share = len(found) / len(orders)
    statistic = sum((counts[o] - n * share) ** 2 / (n * share) for o, n in expected.items())
    freedom = len(expected) - 1
    assert abs(statistic - freedom) < 5 * np.sqrt(2 * freedom) + 1


def assert_uniform_by_hints(worlds: HanabiWorlds, player: int) -> None:
    pool = hidden(worlds, player)[0]
    orders = [
        order
        for order in itertools.permutations(pool)
        if all(plausible(worlds, player, slot, order[slot]) for slot in range(2))
    ]
    assert len(set(orders)) > 1
    drawn = GAME.redeterminize(many(worlds), player, streams())
    assert_uniform(hidden(drawn, player), orders)
    rest = np.ones(worlds.rows.shape[1], dtype=bool)
    rest[HANDS + 2 * player : HANDS + 2 * player + 2] = False
    rest[deck_start(GAME) + worlds.rows[0, DECK_NEXT] :] = False
    assert (drawn.rows[:, rest] == worlds.rows[0, rest]).all()


@pytest.mark.parametrize(
    "actions",
    [(), (TWO, RED), (ONE, YELLOW), (YELLOW, ONE, DISCARD, RED), (PLAY, YELLOW), (PLAY + 1, RED)],
    ids=str,
)
def test_redeterminize_is_uniform_over_what_the_hints_allow(actions: tuple[int, ...]) -> None:
    worlds = after(*actions)
    assert_uniform_by_hints(worlds, int(worlds.current_player[0]))


@pytest.mark.parametrize("convention", ["any-giver", "previous-player"])
def test_a_guide_redraws_by_its_convention(convention) -> None:
    """Of P0's cards the first was called red alone, so it can be played: it is the red one."""
    guide = RuleAgent(TABLE_II, convention=convention)
    worlds = GAME.from_decks([DECK])
    memory = guide.start(worlds.view(1))
    for action in (TWO, RED):
        event = worlds.step(np.array([action]))
        memory = guide.observe(worlds.view(1), event, memory)
    orders = [
        order
        for order in itertools.permutations(hidden(worlds, 0)[0])
        if order[0] == 0 and plausible(worlds, 0, 1, order[1])
    ]
    assert_uniform(hidden(guide.redraw(many(worlds), 0, memory, streams()), 0), orders)
    by_hints = hidden(GAME.redeterminize(many(worlds), 0, streams()), 0)
    assert {order[0] for order in by_hints} == {0, 1}
    # P1 was told of two cards, one of them alone, that cannot be played: hints alone count.
    redrawn = guide.redraw(many(worlds), 1, memory, streams())
    assert_uniform(
        hidden(redrawn, 1),
        [
            order
            for order in itertools.permutations(hidden(worlds, 1)[0])
            if all(plausible(worlds, 1, slot, order[slot]) for slot in range(2))
        ],
    )


@pytest.mark.parametrize("allowed", [(1 << 3, 1 << 3), (0, -1)], ids=["one copy", "none"])
def test_hints_alone_count_where_nothing_is_allowed(allowed) -> None:
    worlds = after(TWO, RED)
    drawn = many(worlds)
    redraw_hands(GAME.dims, drawn.rows, 0, False, np.array(allowed), streams().state)
    orders = [
        order
        for order in itertools.permutations(hidden(worlds, 0)[0])
        if all(plausible(worlds, 0, slot, order[slot]) for slot in range(2))
    ]
    assert_uniform(hidden(drawn, 0), orders)


def test_redeterminize_is_uniform_where_an_older_card_is_less_known() -> None:
    # No hints lead here, but forgotten ones do (see restore); one slot after the other would favour
    # hands with two ones.
    worlds = after()
    worlds.rows[:, HANDS + 5] = 0b11 | 0b01 << 5  # P0's newer card is a one
    assert_uniform_by_hints(worlds, 0)


def test_with_private_shuffles_the_rest_and_knows_what_is_possible() -> None:
    worlds = after(TWO, RED)  # P0 holds red then yellow, P1 a two then a one
    hand = [0, 3]
    drawn, possible = GAME.with_private(many(worlds), 0, np.tile([0, 2], (SAMPLES, 1)), streams())
    assert possible.all()
    rest = list(hidden(worlds, 0)[0])
    rest.remove(0)
    rest.remove(2)
    orders = [(0, 2, *order) for order in itertools.permutations(rest)]
    assert_uniform(hidden(drawn, 0), orders)
    cases = [
        ([2, 0], False),  # colours against the hint
        (hand, False),  # P1 holds the only yellow two
        ([1, 2], True),
        ([0, -1], False),  # a card is missing
        ([0, 4], False),  # no such card
        ([0, 2], True),
    ]
    tokens = np.array([tokens for tokens, _ in cases])
    batch, given = many(worlds, len(cases)), streams(len(cases))
    drawn, possible = GAME.with_private(batch, 0, tokens, given)
    assert possible.tolist() == [good for _, good in cases]
    assert (drawn.rows[~possible] == batch.rows[~possible]).all()
    assert GAME.private_tokens(drawn, 0)[possible].tolist() == tokens[possible].tolist()
    assert (given.state == streams(len(cases)).state).tolist() == (~possible).tolist()


def test_short_hands_are_padded() -> None:
    worlds = after(*(PLAY,) * 5, game=HanabiGame(
        players=2, colors=2, ranks=2, hand_size=2, life_tokens=50
    ))  # fmt: skip
    assert worlds.rows[0, DECK_NEXT] == 8 and not worlds.terminal[0]
    tokens = worlds.game.private_tokens(worlds, 0)  # type: ignore[attr-defined]
    assert tokens.shape == (1, 2) and tokens[0, 1] == -1
    game = worlds.game
    assert isinstance(game, HanabiGame)
    same, possible = game.with_private(worlds, 0, tokens, streams(1))
    assert possible[0] and same.view(1).keys() == worlds.view(1).keys()


@pytest.mark.parametrize("parameters", [{}, {"players": 4}, {"players": 3, "hand_size": 7}])
def test_draws_depend_on_the_worlds_stream_alone(parameters: dict[str, int]) -> None:
    game = HanabiGame(**parameters, information_tokens=4)
    rng = np.random.default_rng(0)
    worlds = play_on(game.deal(rng, 40), rng, 9)
    some = np.array([31, 4, 4, 17])
    one, other = streams(40), streams(40).select(some)
    drawn = game.redeterminize(worlds, 1, one)
    assert np.array_equal(game.redeterminize(worlds.select(some), 1, other).rows, drawn.rows[some])
    assert np.array_equal(other.state, one.state[some])
    assert not np.array_equal(one.state, streams(40).state)


def test_a_seer_knows_its_hand() -> None:
    game = HanabiGame(players=3, observation_type="seer")
    worlds = game.deal(np.random.default_rng(0), 20)
    drawn = game.redeterminize(worlds, 1, streams(20))
    assert drawn.view(1).keys() == worlds.view(1).keys()
    assert not np.array_equal(drawn.rows, worlds.rows)


def card_counts(worlds: HanabiWorlds) -> np.ndarray[Any, Any]:
    """[B, identities] copies in hands, undealt deck and on the table together."""
    game = worlds.game
    assert isinstance(game, HanabiGame)
    counts = np.zeros((len(worlds), game.vocabulary), dtype=int)
    for b, row in enumerate(worlds.rows):
        held = row[HANDS : HANDS + game.num_players * game.config.hand_size].tolist()
        cards = held + row[deck_start(game) + row[DECK_NEXT] :].tolist()
        np.add.at(counts[b], [card for card in cards if card != NO_CARD], 1)
        for card in range(game.vocabulary):
            gone = sum(int(row[plane]) >> card & 1 for plane in (LEFT0, LEFT1, LEFT2))
            counts[b, card] += gone - (3 - game.config.copies[card % game.config.ranks])
    return counts


@pytest.mark.parametrize(
    "parameters",
    [{}, {"players": 4}, {"players": 3, "colors": 2, "ranks": 3, "hand_size": 3}],
    ids=str,
)
def test_restore_keeps_the_deck_whole_and_returns_what_it_can(parameters: dict[str, int]) -> None:
    game = HanabiGame(**parameters)
    rng = np.random.default_rng(1)
    worlds = game.deal(rng, 200)
    full = np.bincount(game.template[-game.config.deck_size :])
    conflicts = restored = 0
    for _ in range(12):
        worlds = worlds.select(~worlds.terminal)
        for player in range(game.num_players):
            mine = worlds.select(worlds.current_player == player)
            if len(mine) == 0:
                continue
            given = streams(len(mine), int(rng.integers(2**32)))
            moved = game.redeterminize(mine, player, given)
            actions = random_legal(moved, rng)
            moved.step(actions)
            back = game.restore(moved, player, mine, given)
            assert (card_counts(back) == full).all()
            hand = game.hand_slots(player)
            others = np.ones(back.rows.shape[1], dtype=bool)
            others[hand] = others[deck_start(game) :] = False
            knowledge = slice(hand.start + game.num_players * game.token_length, None)
            others[knowledge] = False
            assert np.array_equal(back.rows[:, others], moved.rows[:, others])
            for b, action in enumerate(actions.tolist()):
                truth = [card for card in mine.rows[b, hand].tolist() if card != NO_CARD]
                now = [card for card in back.rows[b, hand].tolist() if card != NO_CARD]
                if action < 2 * game.token_length:
                    slot = action % game.token_length
                    played = moved.rows[b, LAST_CARD]
                    own = truth.pop(slot)
                    now = now[: len(truth)]
                    if played == own:
                        assert now == truth
                else:
                    assert now == truth
                different = sum(a != c for a, c in zip(now, truth, strict=True))
                assert different <= 1
                conflicts += different
                restored += different == 0
        worlds.step(random_legal(worlds, rng))
    assert conflicts > 0 and restored > 10 * conflicts


def conflict(
    deck: list[int], fake: list[int], knowledge: dict[int, int] | None = None
) -> tuple[HanabiGame, HanabiWorlds, HanabiWorlds]:
    """P0 plays slot 0 of a ``fake`` hand of three; ``knowledge`` overwrites words of its hints.

    Returns the game, the worlds after the move, and before it.
    """
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=3, life_tokens=9)
    saved = many(game.from_decks([deck]))
    for slot, word in (knowledge or {}).items():
        saved.rows[:, HANDS + 6 + slot] = word
    moved, possible = game.with_private(saved, 0, np.tile(fake, (SAMPLES, 1)), streams())
    assert possible.all()
    moved.step(np.full(SAMPLES, 3))
    return game, moved, saved


def test_a_card_that_was_played_elsewhere_gives_way() -> None:
    game, moved, saved = conflict([0, 1, 2, 2, 2, 0, 0, 3], [1, 0, 2])
    back = game.restore(moved, 0, saved, streams())
    # The red two of slot 1 is on the table now: a card of the pool takes its place.
    rest = itertools.permutations([0, 0, 3])
    assert_uniform(hidden(back, 0), [(order[0], 2, *order[1:]) for order in rest])
    assert (back.rows[:, HANDS + 6 : HANDS + 9] == saved.rows[0, HANDS + 6]).all()


def test_the_oldest_of_two_equal_cards_gives_way() -> None:
    game, moved, saved = conflict([2, 0, 0, 0, 1, 2, 2, 3], [0, 2, 3])
    back = game.restore(moved, 0, saved, streams())
    rest = itertools.permutations([2, 2, 3])
    assert_uniform(hidden(back, 0), [(order[0], 0, *order[1:]) for order in rest])


def test_its_replacement_agrees_with_the_hints_or_they_are_forgotten() -> None:
    red, two, all_colors, all_ranks = 0b01, 0b10 << 5, 0b11, 0b11 << 5
    deck = [0, 1, 2, 2, 2, 0, 0, 3]
    game, moved, saved = conflict(deck, [1, 3, 2], {1: all_colors | two})
    back = game.restore(moved, 0, saved, streams())
    assert {order[0] for order in hidden(back, 0)} == {3}  # the other two
    assert (back.rows[:, HANDS + 6] == all_colors | two).all()

    saved.rows[:, HANDS + 7] = moved.rows[:, HANDS + 6] = red | two  # nothing else is a red two
    back = game.restore(moved, 0, saved, streams())
    assert {order[0] for order in hidden(back, 0)} == {0, 3}
    assert (back.rows[:, HANDS + 6] == all_colors | all_ranks).all()
