"""Games to look at: what is read, and that the document says what record, trace and beliefs say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core.belief import ExplicitBelief
from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.evaluation.match import GameResult, Match, deal_game
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, NO_CARD, PLAYED
from hanabi_search_plugin.hanabi.engine.text import discards
from hanabi_search_plugin.hanabi.files.annotated_games import (
    AnnotatedGame,
    read_annotated_game,
    searched_turn,
)
from hanabi_search_plugin.hanabi.files.game_document import FORMAT, as_seen_by, game_document
from hanabi_search_plugin.hanabi.files.records import RecordedGame, write_games
from hanabi_search_plugin.hanabi.files.searched_games import record_games

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
BOTS = (SmartBot(), SmartBot())
SEARCH = Sparta(rollouts=200, min_rollouts=5)


def play(seed: int) -> tuple[RecordedGame, GameResult]:
    """Game 0 of a seed, in which seat 1 searches."""
    policies = (BOTS[0], upgrade(BOTS[1], GAME, SEARCH))
    heard: list[GameResult] = []
    Match(GAME, policies, "policies", 1, seed).play([0], Threads(), heard.append)
    row = deal_game(GAME, seed, 0)[0].rows[0]  # type: ignore[attr-defined]
    record = RecordedGame(
        config=GAME.config,
        game=0,
        deck=tuple(row[len(row) - GAME.config.deck_size :].tolist()),
        actions=heard[0].actions,
        score=int(heard[0].score),
        bomb="zero",
        seed=seed,
        policies=("smartbot", "smartbot+sparta"),
    )
    return record, heard[0]


def trace_of(result: GameResult) -> list[dict[str, Any]]:
    return [
        {"game": result.game, "turn": turn, "seat": seat} | decision.to_dict()
        for turn, seat, decision in result.decisions
    ]


@pytest.fixture(scope="module")
def played() -> tuple[RecordedGame, GameResult]:
    return play(6)


@pytest.fixture(scope="module")
def annotated(played: tuple[RecordedGame, GameResult]) -> AnnotatedGame:
    record, result = played
    return AnnotatedGame(record, {turn: searched_turn(one) for turn, _, one in result.decisions})


@pytest.fixture(scope="module")
def document(annotated: AnnotatedGame) -> dict[str, Any]:
    return game_document(annotated, BOTS, ("smartbot", "smartbot"))


def positions(record: RecordedGame) -> Iterator[tuple[int, HanabiWorlds]]:
    """The game before each move, and after the last."""
    worlds = GAME.from_decks([record.deck], first_player=record.first_player)
    for number, action in enumerate(record.actions):
        yield number, worlds.select(np.array([0]))
        worlds.step(np.array([action]))
    yield len(record.actions), worlds


# ------------------------------------------------------------ what is read


def test_a_game_is_read_with_the_decisions_of_its_trace(
    tmp_path: Path, played: tuple[RecordedGame, GameResult], annotated: AnnotatedGame
) -> None:
    record, result = played
    saved, trace = tmp_path / "games.jsonl", tmp_path / "trace.jsonl"
    write_games(saved, [replace(record, game=3), record])
    lines = trace_of(result) + [line | {"game": 3} for line in trace_of(result)[:1]]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_annotated_game(saved, 0, trace=trace)
    assert found.decisions == annotated.decisions
    assert found.record.actions == record.actions
    first = read_annotated_game(saved, trace=trace)
    assert first.record.game == 3 and len(first.decisions) == 1


def test_a_game_is_read_from_a_folder_of_searched_games(tmp_path: Path) -> None:
    heard: list[GameResult] = []
    policies = (BOTS[0], upgrade(BOTS[1], GAME, SEARCH))
    record_games(GAME, [policies], tmp_path, policy="smartbot", games=2, on_game=heard.append)
    found = read_annotated_game(tmp_path, 1)
    assert found.record.actions == heard[1].actions
    assert found.record.policies == ("smartbot", "smartbot")
    assert sorted(found.decisions) == [turn for turn, *_ in heard[1].decisions]
    for turn, _, decision in heard[1].decisions:
        move = found.decisions[turn]
        assert move.actions == tuple(decision.actions.tolist())
        assert move.mean == pytest.approx(decision.mean, rel=1e-6)
        assert move.stderr == (None,) * len(move.actions)
        assert (move.action, move.blueprint_action) == (decision.action, decision.blueprint_action)
    with pytest.raises(RecordError, match="one of its 2 games, from 0, got 2"):
        read_annotated_game(tmp_path, 2)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"turn": 99}, "turn must be from 0 to"),
        ({"turn": True}, "turn must be an integer, got true"),
        ({"actions": [0, 1000]}, "actions must be action ids from 0 to"),
        ({"action": 500}, "action must be one of actions, got 500"),
        ({"blueprint_action": None}, "blueprint_action must be an integer, got null"),
        ({"mean": [1.0]}, "mean must be a number for each of actions"),
        ({"count": "many"}, "count must be a list of integers, got"),
        ({"gain": "<b>"}, 'gain must be a finite number or null, got "<b>"'),
        ({"belief_size": 10**400}, "belief_size must be less than 1e+15, got 100"),
        ({"note": {}}, "note must be a text, got {}"),
        ({"game": "0"}, 'game must be an integer, got "0"'),
    ],
    ids=str,
)
def test_a_damaged_trace_is_refused(
    tmp_path: Path, played: tuple[RecordedGame, GameResult], damage: dict[str, Any], says: str
) -> None:
    record, result = played
    saved, trace = tmp_path / "games.jsonl", tmp_path / "trace.jsonl"
    write_games(saved, [record])
    trace.write_text(json.dumps(trace_of(result)[0] | damage) + "\n")
    with pytest.raises(RecordError) as caught:
        read_annotated_game(saved, trace=trace)
    assert str(caught.value).startswith(f"{trace}:1: {says}")


def test_what_is_no_such_file_is_refused(
    tmp_path: Path, played: tuple[RecordedGame, GameResult]
) -> None:
    record, result = played
    saved, trace, text = tmp_path / "games.jsonl", tmp_path / "trace.jsonl", tmp_path / "text"
    write_games(saved, [record])
    trace.write_text(json.dumps(trace_of(result)[0]) + "\n")
    text.write_text("no JSON")
    with pytest.raises(RecordError, match="give the file of --save, and this one as --trace"):
        read_annotated_game(trace)
    with pytest.raises(RecordError, match="text:1: expected a "):
        read_annotated_game(text)
    with pytest.raises(RecordError, match="text:1: expected a "):
        read_annotated_game(saved, trace=text)
    with pytest.raises(RecordError, match="the number of one of its 1 game, 0 to 0, got 7"):
        read_annotated_game(saved, 7)


def test_a_trace_of_other_games_is_refused(tmp_path: Path) -> None:
    record, result = play(6)
    turn = result.decisions[0][0]
    other = next(a for a in result.decisions[0][2].actions if a != record.actions[turn])
    saved, trace = tmp_path / "games.jsonl", tmp_path / "trace.jsonl"
    write_games(saved, [record])
    trace.write_text(json.dumps(trace_of(result)[0] | {"action": int(other)}) + "\n")
    with pytest.raises(RecordError, match="the trace is of other games"):
        read_annotated_game(saved, trace=trace)


# ------------------------------------------------------------ what is on the table


def test_the_document_is_json_with_a_turn_a_move_and_the_end(
    document: dict[str, Any], played: tuple[RecordedGame, GameResult]
) -> None:
    record, result = played
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["format"] == FORMAT and document["finished"]
    assert document["score"] == result.score
    assert [turn["move"]["action"] for turn in document["turns"][:-1]] == list(record.actions)
    assert document["turns"][-1]["move"] is None
    assert document["searched"] == [False, True]


def test_every_card_is_where_the_engine_has_it(
    document: dict[str, Any], played: tuple[RecordedGame, GameResult]
) -> None:
    record, _ = played
    config = GAME.config
    for number, worlds in positions(record):
        turn, row = document["turns"][number], worlds.rows[0]
        gone = [document["cards"][order] for order in turn["discards"]]
        assert sorted(gone) == discards(config, row)
        for seat, hand in enumerate(turn["hands"]):
            cards = row[GAME.hand_slots(seat)]
            assert [record.deck[order] for order in hand] == cards[cards != NO_CARD].tolist()
        held = {order for hand in turn["hands"] for order in hand} | set(turn["discards"])
        assert len(held) + turn["points"] == row[DECK_NEXT]
        assert turn["points"] == sum(turn["fireworks"]) == int(row[PLAYED]).bit_count()
    assert document["cards"] == list(record.deck[: len(document["cards"])])


def test_a_move_names_its_cards(document: dict[str, Any]) -> None:
    kinds = set()
    for turn in document["turns"][:-1]:
        move, action = turn["move"], document["actions"][turn["move"]["action"]]
        kinds.add(action["type"])
        if move["card"] is not None:
            assert move["card"] == turn["hands"][turn["mover"]][action["slot"]]
            assert (move["scored"] is None) == (action["type"] == "discard")
        else:
            target = turn["hands"][(turn["mover"] + action["target"]) % 2]
            cards = {order: document["cards"][order] for order in target}
            touched = [
                order
                for order, card in cards.items()
                if action.get("color", card // 3) == card // 3
                and action.get("rank", card % 3) == card % 3
            ]
            assert move["touched"] == touched
    assert {"play", "discard"} <= kinds and len(kinds) > 2


def test_points_out_of_reach_are_counted() -> None:
    #       P0: R3 R1     P1: R1 Y1, then R2 R2 Y1 Y1 Y2 Y2 R1 Y3
    deck = (2, 0, 0, 3, 1, 1, 3, 3, 4, 4, 0, 5)
    record = RecordedGame(config=GAME.config, game=0, deck=deck, actions=(4, 4, 0))
    turns = game_document(AnnotatedGame(record))["turns"]  # two hints, P0 drops R3
    assert [turn["possible"] for turn in turns] == [6, 6, 6, 5]
    assert game_document(AnnotatedGame(record))["score"] is None


def test_an_illegal_move_is_refused() -> None:
    record = play(6)[0]
    broken = replace(record, actions=(*record.actions, 2), source="games.jsonl:1")
    with pytest.raises(
        RecordError, match=r"games\.jsonl:1: turn .* is not legal: the game is over"
    ):
        game_document(AnnotatedGame(broken))


# ------------------------------------------------------------ what was searched


def test_searched_moves_have_the_values_of_the_search(
    document: dict[str, Any], played: tuple[RecordedGame, GameResult]
) -> None:
    searched = {turn: one for turn, _, one in played[1].decisions}
    assert [n for n, turn in enumerate(document["turns"]) if turn["search"]] == sorted(searched)
    assert len(searched) > 2
    for number, result in searched.items():
        shown = document["turns"][number]["search"]
        assert (shown["action"], shown["reason"]) == (result.action, result.reason)
        assert shown["blueprint_action"] == result.blueprint_action
        assert [move["action"] for move in shown["moves"]] == result.actions.tolist()
        for move, mean, stderr, count in zip(
            shown["moves"], result.mean, result.stderr, result.count, strict=True
        ):
            assert move["mean"] == pytest.approx(mean, abs=1e-4)
            assert move["stderr"] == pytest.approx(stderr, abs=1e-4)
            assert move["count"] == count and move["dropped"] == (count < result.count.max())


# ------------------------------------------------------------ what is believed


def marginals(belief: ExplicitBelief, cards: int) -> np.ndarray:
    """[cards, K] from the list of worlds."""
    worlds, weights = belief.support()
    assert isinstance(worlds, HanabiWorlds)
    hands = worlds.rows[:, GAME.hand_slots(belief.seat)][:, :cards]
    kinds = GAME.config.max_score
    return np.stack([np.bincount(hand, weights, minlength=kinds) for hand in hands.T])


def test_beliefs_are_those_of_the_worlds_that_a_belief_lists(
    document: dict[str, Any], played: tuple[RecordedGame, GameResult]
) -> None:
    """Exact over the policies; moves of the seat that searches are no evidence."""
    record, _ = played
    minds: list[Any] = []
    last = None
    for number, worlds in positions(record):
        views = [worlds.view(seat) for seat in range(2)]
        if last is None:
            minds = [private_belief(GAME, BOTS, view) for view in views]
        else:
            told = int(last.player[0]) == 0
            minds = [
                mind.update(last, view, by_blueprint=told)
                for mind, view in zip(minds, views, strict=True)
            ]
        turn = document["turns"][number]
        for seat, mind in enumerate(minds):
            shown = np.array(turn["beliefs"][seat]["slots"])
            np.testing.assert_allclose(shown, marginals(mind, len(shown)), atol=6e-5)
            assert turn["beliefs"][seat]["hands"] == mind.size
        if number < len(record.actions):
            last = worlds.step(np.array([record.actions[number]]))


def by_hints(turn: dict[str, Any], seat: int, cards: list[int]) -> np.ndarray:
    """[cards, K] by brute force over hands: hints, and the copies that the seat does not see."""
    config = GAME.config
    left = [config.copies[card % 3] for card in range(6)]
    for color, height in enumerate(turn["fireworks"]):
        for rank in range(height):
            left[3 * color + rank] -= 1
    for order in [*turn["discards"], *turn["hands"][1 - seat]]:
        left[cards[order]] -= 1
    hints = turn["hints"][seat]
    found = np.zeros((len(hints), 6))
    for hand in product(range(6), repeat=len(hints)):
        fits = all(
            colors >> card // 3 & 1 and ranks >> card % 3 & 1
            for card, (colors, ranks, _) in zip(hand, hints, strict=True)
        )
        ways = 1
        for card in set(hand):
            many = hand.count(card)
            ways *= comb(left[card], many) * [1, 1, 2][many]
        for slot, card in enumerate(hand):
            found[slot, card] += ways * fits
    return found / found.sum(axis=1, keepdims=True)


def test_without_policies_beliefs_are_by_hints_and_copies(annotated: AnnotatedGame) -> None:
    document = game_document(annotated)
    assert document["policies"] is None
    told = 0
    for turn in document["turns"]:
        for seat in range(2):
            told += any(told for *_, told in turn["hints"][seat])
            expected = by_hints(turn, seat, document["cards"])
            np.testing.assert_allclose(turn["beliefs"][seat]["slots"], expected, atol=6e-5)
            assert turn["beliefs"][seat]["exact"]
    assert told > 3


def test_marginals_are_right_while_cards_are_not_listed() -> None:
    rng = np.random.default_rng(5)
    worlds = GAME.deal(rng, 1)
    policies = (UniformPolicy(),) * 2
    belief = HandBelief.start(GAME, policies, worlds.view(0))
    unlisted = 0
    while not worlds.terminal[0]:
        unlisted += belief.known < belief.present
        shown = belief.marginals()
        np.testing.assert_allclose(
            shown[: belief.present], marginals(belief, belief.present), atol=1e-12
        )
        assert not shown[belief.present :].any()
        event = worlds.step(np.array([rng.choice(np.flatnonzero(worlds.legal[0]))]))
        belief = belief.update(event, worlds.view(0), by_blueprint=False)
    assert unlisted > 2


# ------------------------------------------------------------ what one seat may know


@pytest.mark.parametrize("seat", [0, 1])
def test_the_document_of_a_seat_does_not_depend_on_what_it_never_saw(
    annotated: AnnotatedGame, seat: int
) -> None:
    """Other cards in its hand and in the deck, with which the same was seen: the same document."""
    record = replace(annotated.record, actions=annotated.record.actions[:5], score=None)
    short = AnnotatedGame(record, {t: one for t, one in annotated.decisions.items() if t < 5})
    whole = game_document(short, BOTS)
    seen = as_seen_by(whole, seat)
    dealt, held = len(whole["cards"]), whole["turns"][-1]["hands"][seat]
    tried = 0
    for order in held:
        for other in range(dealt, len(record.deck)):
            deck = list(record.deck)
            deck[order], deck[other] = deck[other], deck[order]
            try:
                other_game = replace(short, record=replace(record, deck=tuple(deck)))
                swapped = game_document(other_game, BOTS)
            except RecordError:  # a hint would touch no card
                continue
            public = [
                {name: turn[name] for name in ("hints", "points", "discards", "move")}
                for turn in (*swapped["turns"], *whole["turns"])
            ]
            if deck != list(record.deck) and public[:6] == public[6:]:
                assert as_seen_by(swapped, seat) == seen
                assert swapped["cards"] != whole["cards"]
                tried += 1
    assert tried > 0
    assert [order for order, card in enumerate(seen["cards"]) if card is None] == held
    assert seen["seat"] == seat and whole["seat"] is None
    for turn in seen["turns"]:
        assert turn["beliefs"][1 - seat] is None and turn["beliefs"][seat] is not None
        assert turn["search"] is None or turn["mover"] == seat
