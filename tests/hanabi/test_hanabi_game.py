"""The native game behind the contracts: deals, views, steps, ends, texts, recorded games."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from hanabi_search_plugin.core.errors import (
    ConfigError,
    IllegalActionError,
    RecordError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import Event, History
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine import row_kernels
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig, HanabiParameters
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import HANDS, HIDDEN_CARD, NO_CARD
from hanabi_search_plugin.hanabi.engine.rules import next_uniform
from hanabi_search_plugin.hanabi.engine.text import (
    action_from_dict,
    action_in_words,
    action_to_dict,
    card_name,
    describe,
)
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.jit import kernel
from hanabi_search_plugin.testing import check_game
from tests.helpers.hanabi_play import play_on, random_legal

SMALL = {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"players": 5},
        SMALL,
        SMALL | {"observation_type": "minimal"},
        SMALL | {"observation_type": "seer", "random_start_player": True},
        SMALL | {"bomb": "minus_one", "life_tokens": 1},
        {"players": 2, "colors": 1, "ranks": 1, "hand_size": 1, "information_tokens": 0},
    ],
    ids=str,
)
def test_contract(parameters: dict[str, Any]) -> None:
    check_game(HanabiGame(**parameters))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("players", (1, 6, 2.0, True, "2"), "2 to 5"),
        ("colors", (0, 6), "1 to 5"),
        ("ranks", (0, 6), "1 to 5"),
        ("hand_size", (-1, 9), "1 to 8"),
        ("information_tokens", (-1, 51), "0 to 50"),
        ("life_tokens", (0, 51), "1 to 50"),
        ("random_start_player", (1, "yes"), "true or false"),
        ("observation_type", ("all", 1, None), "minimal, card_knowledge, seer"),
        ("bomb", ("one", 0), "zero, keep, minus_one"),
    ],
)
def test_bad_parameters_are_named(name: str, values: tuple[Any, ...], expected: str) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=name) as caught:
            HanabiGame(**{name: value})
        assert expected in str(caught.value) or "an integer" in str(caught.value)


def deck_start(game: HanabiGame) -> int:
    return len(game.template) - game.config.deck_size


def test_hands_must_fit_into_the_deck() -> None:
    assert HanabiGame(players=2, colors=1, ranks=1, hand_size=1).config.deck_size == 3
    with pytest.raises(ConfigError, match="hand_size must let 2 hands fit into the deck of 3"):
        HanabiGame(players=2, colors=1, ranks=1, hand_size=2)
    with pytest.raises(ConfigError, match="life"):
        HanabiGame(life=3)
    with pytest.raises(ConfigError, match="both"):
        HanabiGame(HanabiConfig(), players=3)


def test_equal_configurations_are_equal_games() -> None:
    assert HanabiGame(players=3) == HanabiGame(HanabiConfig(players=3, hand_size=5))
    assert len({HanabiGame(), HanabiGame(), HanabiGame(bomb="keep")}) == 2
    assert repr(HanabiGame(players=4, bomb="keep")) == "HanabiGame(players=4, bomb='keep')"


def test_deal_takes_one_draw_a_world_and_shuffles_fairly() -> None:
    game = HanabiGame(**SMALL)
    rng, twin = np.random.default_rng(5), np.random.default_rng(5)
    worlds = game.deal(rng, 6000)
    Streams.spawn(twin, 6000)
    assert rng.bit_generator.state == twin.bit_generator.state
    size = game.config.deck_size
    decks = worlds.rows[:, -size:]
    expected = np.bincount(game.template[-size:]) / size
    for place in (0, 3, size - 1):
        shares = np.bincount(decks[:, place], minlength=game.vocabulary) / 6000
        assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / 6000)
    assert (worlds.current_player == 0).all()


def test_random_start_player() -> None:
    worlds = HanabiGame(players=3, random_start_player=True).deal(np.random.default_rng(0), 3000)
    counts = np.bincount(worlds.current_player)
    assert np.abs(counts - 1000).max() < 4 * np.sqrt(3000 * 2 / 9)


@kernel
def draw(state: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = next_uniform(state)


def test_streams_have_a_compiled_twin() -> None:
    streams = Streams(np.array([7], dtype=np.uint64))
    drawn = np.empty(20)
    draw(np.array([7], dtype=np.uint64), drawn)
    assert drawn.tolist() == [streams.uniform()[0] for _ in range(20)]


def test_from_decks_deals_in_order() -> None:
    game = HanabiGame()
    deck = np.random.default_rng(1).permutation(game.template[-50:])
    worlds = game.from_decks([deck.tolist(), deck.tolist()], first_player=1)
    assert game.private_tokens(worlds, 0)[0].tolist() == deck[:5].tolist()
    assert game.private_tokens(worlds, 1)[1].tolist() == deck[5:10].tolist()
    assert worlds.current_player.tolist() == [1, 1]
    wrong = deck.copy()
    wrong[0] = deck[1]
    for decks, first in (
        ([wrong], 0),
        ([[1], [1, 2]], 0),
        ([deck[:-1]], 0),
        (deck, 0),
        ([deck * 1.0], 0),
    ):
        with pytest.raises(ConfigError, match="decks must be"):
            game.from_decks(decks, first)
    with pytest.raises(ConfigError, match="first_player must be from 0 to 1"):
        game.from_decks([deck], 2)


@pytest.mark.parametrize(
    ("bomb", "scored", "unscored"), [("zero", 0, 0), ("keep", 1, 0), ("minus_one", 0, -1)]
)
def test_what_losing_the_last_life_counts(bomb: Any, scored: int, unscored: int) -> None:
    game = HanabiGame(life_tokens=1, bomb=bomb)
    deck = [0, 24, *np.setdiff1d(np.arange(25), [0, 24]).tolist()]
    rest = game.template[-50:].tolist()
    for card in deck:
        rest.remove(card)
    worlds = game.from_decks([deck + rest, deck + rest])
    worlds.step(np.array([5, 6]))  # P0 plays R1 in one world, B5 in the other
    assert worlds.returns[:, 0].tolist() == [1, unscored]
    assert worlds.terminal.tolist() == [False, True]
    left = worlds.select(np.array([0]))
    left.step(np.array([5 + 4]))  # P1's slot 4 is not a card to play now
    assert left.terminal[0] and left.returns.tolist() == [[scored, scored]]
    assert game.return_range == (-1 if bomb == "minus_one" else 0, 25)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"players": 3},
        {"information_tokens": 1},
        {"information_tokens": 0},
        {"colors": 1, "information_tokens": 2},  # no card to draw
    ],
    ids=str,
)
def test_longest_game_is_reached_and_not_passed(parameters: dict[str, int]) -> None:
    game = HanabiGame(**parameters, life_tokens=50)
    worlds = game.deal(np.random.default_rng(3), 20)
    longest = 0
    h = game.config.hand_size
    while len(worlds := worlds.select(~worlds.terminal)):
        legal = worlds.legal
        # A hint if there is a token, else a discard, which brings one; plays where neither is.
        order = [*range(2 * h, game.num_actions), *range(2 * h)]
        worlds.step(np.array([next(a for a in order if row[a]) for row in legal]))
        longest += 1
    assert longest == game.max_length


def test_illegal_actions_are_named_and_nothing_moves() -> None:
    worlds = HanabiGame().deal(np.random.default_rng(0), 2)
    before = worlds.rows.copy()
    cases = [
        (0, "world 1: all 8 information tokens are there"),
        (99, "actions are from 0 to 19"),
        (-1, "actions are from 0 to 19"),
    ]
    for action, words in cases:
        with pytest.raises(IllegalActionError, match=words):
            worlds.step(np.array([5, action]))
    with pytest.raises(IllegalActionError, match=r'"P0 hints .* to P1" .* it would touch no card'):
        worlds.step(np.array([5, int(np.flatnonzero(~worlds.legal[1, 10:])[0]) + 10]))
    with pytest.raises(IllegalActionError, match="expected 2 actions"):
        worlds.step(np.array([5]))
    assert np.array_equal(worlds.rows, before)
    ends = play_on(worlds, np.random.default_rng(0), 90)
    with pytest.raises(IllegalActionError, match="the game is over"):
        ends.step(np.array([5, 5]))


@pytest.mark.parametrize("observation_type", ["minimal", "card_knowledge", "seer"])
def test_a_view_holds_what_the_seat_sees(observation_type: Any) -> None:
    game = HanabiGame(**SMALL, observation_type=observation_type)
    worlds = game.deal(np.random.default_rng(2), 300)
    rng = np.random.default_rng(3)
    for _ in range(6):
        worlds = worlds.select(~worlds.terminal)
        worlds.step(random_legal(worlds, rng))
    streams = Streams.spawn(rng, len(worlds))
    for seat in range(3):
        view = worlds.view(seat)
        hand = view.rows[:, game.hand_slots(seat)]
        own = worlds.rows[:, game.hand_slots(seat)]
        shown = (
            own if observation_type == "seer" else np.where(own == NO_CARD, NO_CARD, HIDDEN_CARD)
        )
        assert np.array_equal(hand, shown)
        assert (view.rows[:, deck_start(game) :] == NO_CARD).all()
        other = game.redeterminize(worlds, seat, streams)
        assert not np.array_equal(other.rows, worlds.rows)
        assert other.view(seat).keys() == view.keys()
        for encoding in game.encodings:
            expected = view.observation(encoding)
            assert np.array_equal(other.view(seat).observation(encoding), expected)
        changed = game.redeterminize(worlds, (seat + 1) % 3, streams)
        same = [a == b for a, b in zip(changed.view(seat).keys(), view.keys(), strict=True)]
        moved = (changed.rows != worlds.rows)[:, HANDS : deck_start(game)].any(axis=1)
        assert same == (~moved).tolist()
    assert moved.any() == (observation_type != "seer")


def test_minimal_views_hide_the_hints() -> None:
    worlds = HanabiGame(**SMALL, observation_type="minimal").deal(np.random.default_rng(0), 50)
    plain = HanabiWorlds(HanabiGame(**SMALL), worlds.rows.copy())
    hints = worlds.legal[:, 4:].argmax(axis=1) + 4
    knowledge = slice(HANDS + 6, HANDS + 12)
    for batch, hidden in ((worlds, True), (plain, False)):
        batch.step(hints)
        rows = batch.view(0).rows
        assert (len(np.unique(rows[:, knowledge])) == 1) == hidden


def test_copies_meet_the_same_chance() -> None:
    game = HanabiGame()
    worlds = game.deal(np.random.default_rng(0), 4)
    copies = worlds.select(np.array([2, 2, 0]))
    copies.step(np.array([5, 6, 7]))
    drawn = [int(game.private_tokens(copies, 0)[i, 4]) for i in range(3)]
    assert drawn[0] == drawn[1] == worlds.rows[2, deck_start(game) + 10]
    assert worlds.rows[0, HANDS - 1] == 0  # the original has not moved


def test_random_games_agree_with_games_played_in_steps() -> None:
    game = HanabiGame(**SMALL)
    n = 3000
    returns, moves = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    seeds = Streams.spawn(np.random.default_rng(0), n).state
    row_kernels.play_random(game.dims, game.template, seeds, False, returns, moves)
    rng = np.random.default_rng(1)
    worlds = play_on(game.deal(rng, n), rng, game.max_length)
    assert moves.max() <= game.max_length
    for ours, theirs in ((returns, worlds.returns[:, 0]), (moves, worlds.rows[:, HANDS - 1])):
        error = np.sqrt((ours.var() + theirs.var()) / n)
        assert abs(ours.mean() - theirs.mean()) < 4 * error


def test_actions_in_words_and_objects() -> None:
    game = HanabiGame(players=3)
    config = game.config
    assert [game.action_to_string(2, a) for a in (1, 7, 10, 15, 20, 29)] == [
        "P2 discards slot 1",
        "P2 plays slot 2",
        "P2 hints red to P0",
        "P2 hints red to P1",
        "P2 hints 1 to P0",
        "P2 hints 5 to P1",
    ]
    for action in range(game.num_actions):
        assert action_from_dict(config, action_to_dict(config, action)) == action
    with pytest.raises(IllegalActionError, match="from 0 to 29"):
        game.action_to_string(0, 30)
    assert action_to_dict(config, 16) == {"type": "reveal_color", "target": 2, "color": 1}
    for action, words in (
        ({"type": "pass"}, "type must be one of"),
        ({"type": ["play"]}, "type must be one of"),
        ({}, "type must be one of"),
        ({"type": "play"}, "slot of play must be from 0 to 4, got None"),
        ({"type": "play", "slot": True}, "slot of play"),
        ({"type": "reveal_rank", "target": 3, "rank": 0}, "target of reveal_rank"),
        ({"type": "reveal_color", "target": 1, "color": 5}, "color of reveal_color"),
        ({"type": "discard", "slot": 0, "target": 1}, "discard takes no target"),
    ):
        with pytest.raises(RecordError, match=words):
            action_from_dict(config, action)
    with pytest.raises(RecordError, match="from 0 to 29"):
        action_in_words(config, 0, -1)


def test_cards_have_openspiels_names() -> None:
    config = HanabiConfig(ranks=3, colors=5)
    assert [card_name(config, card) for card in (0, 5, 14, HIDDEN_CARD, NO_CARD)] == [
        "R1", "Y3", "B3", "??", "--",
    ]  # fmt: skip


def test_a_board_in_words() -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, information_tokens=2)
    worlds = game.from_decks([[0, 1, 2, 3, 0, 2, 0, 2]])
    worlds.step(np.array([2]))  # P0 plays R1
    worlds.step(np.array([4]))  # P1 hints red to P0: both its cards
    truth = describe(game.config, worlds.rows[0])
    assert truth.splitlines() == [
        "move 2, P0 to move",
        "score 1 of 4, lives 3 of 3, information 1 of 2, deck 3",
        "fireworks R1 Y0",
        "P0 R2  R1",
        "   R/* R/*",
        "P1 Y1  Y2",
        "   */* */*",
        "discards none",
        "last move: P1 hints red to P0, slots 0, 1",
    ]
    mine = describe(game.config, worlds.view(0).rows[0], seat=0)
    assert "P0 ??  ??  (you)" in mine and mine.replace("??  ??  (you)", "R2  R1") == truth
    worlds.step(np.array([1]))
    assert "discards R1" in describe(game.config, worlds.rows[0])
    assert "last move: P0 discards slot 1, R1" in describe(game.config, worlds.rows[0])


def test_replay_rebuilds_another_seats_views() -> None:
    game = HanabiGame(**SMALL)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        worlds = game.deal(rng, 1)
        histories = [History(p, (worlds.view(p),)) for p in range(3)]
        hands = []
        for _ in range(12):
            if worlds.terminal[0]:
                break
            hands.append([game.hidden_tokens(worlds, p) for p in range(3)])
            event: Event = worlds.step(random_legal(worlds, rng))
            histories = [h.append(event, worlds.view(h.seat)) for h in histories]
        for seat in range(3):
            held = game.hidden_tokens(worlds, seat)
            for turn, then in enumerate(hands):
                assert np.array_equal(game.tokens_at(histories[seat], held, turn), then[seat])
            for player in range(3):
                found = game.replay(histories[seat], player, held)
                assert found.seat == player and found.events is histories[seat].events
                for mine, true in zip(found.views, histories[player].views, strict=True):
                    assert isinstance(mine, HanabiView) and mine.keys() == true.keys()
                turns = rng.integers(0, len(found.views), 5)
                many = game.views_at(histories[seat], player, held.repeat(5, axis=0), turns)
                keys = [histories[player].views[t].keys()[0] for t in turns]
                assert many.player == player and list(many.keys()) == keys


def test_what_does_not_fit_is_refused() -> None:
    game = HanabiGame()
    worlds = game.deal(np.random.default_rng(0), 2)
    with pytest.raises(ConfigError, match="player must be from 0 to 1, got 2"):
        worlds.view(2)
    with pytest.raises(ValueError, match=r"tokens must be of shape \(2, 5\)"):
        game.with_private(worlds, 0, np.zeros((2, 4), dtype=np.int64), Streams(np.zeros(2, "u8")))


def test_unknown_encodings_are_refused() -> None:
    view = HanabiGame().deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match="one of openspiel, packed, v0, got 'bits'"):
        view.observation("bits")


def test_type_checkers_know_every_parameter() -> None:
    assert get_type_hints(HanabiParameters) == get_type_hints(HanabiConfig)
    assert HanabiParameters.__total__ is False


def test_a_view_is_described_in_lines() -> None:
    worlds = HanabiGame(players=3).deal(np.random.default_rng(0), 1)
    worlds.step(worlds.legal.argmax(axis=1))
    text = worlds.view(1).describe()
    assert text.startswith("move 1, P1 to move\nscore 0 of 25, lives 2 of 3")
    assert "P1 ??  ??  ??  ??  ??  (you)" in text and "last move: " in text
    row = worlds.view(1).rows[0]
    assert all(card_name(worlds.game.config, card) in text for card in row[HANDS : HANDS + 5])


def test_third_party_games_end_with_their_scores(third_party_games: Path) -> None:
    with gzip.open(third_party_games, "rt") as file:
        records = [json.loads(line) for line in file]
    assert len(records) == 1000
    worlds = HanabiGame().from_decks([record["deck"] for record in records])
    for move in range(max(len(record["actions"]) for record in records)):
        playing = np.array([move < len(record["actions"]) for record in records])
        assert (worlds.terminal == ~playing).all()
        part = worlds.select(playing)
        part.step(np.array([r["actions"][move] for r in records if move < len(r["actions"])]))
        worlds.rows[playing] = part.rows
    assert worlds.terminal.all()
    assert worlds.returns[:, 0].tolist() == [record["score"] for record in records]
