"""The judge: values of the exact belief, rewards, and that it reads nothing hidden."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, private_belief
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, RecordError
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.text import describe
from hanabi_search_plugin.hanabi.files.analysis import MoveValues
from hanabi_search_plugin.hanabi.files.game_document import first_position
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.judge import Judge, judged_lines, observation_text, play_games
from hanabi_search_plugin.judge.seat_histories import history_of_game
from hanabi_search_plugin.judge.verdict import verdict_of

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=3, bomb="keep")
JUDGE = Judge("smartbot", rollouts=40, config=GAME.config)


def games(policies: object = "smartbot", n: int = 3, seed: int = 1) -> list[RecordedGame]:
    return list(play_games(GAME, policies, n, seed))  # type: ignore[arg-type]


def positions(record: RecordedGame) -> Iterator[tuple[int, int, HanabiWorlds]]:
    """(turn, seat to move, the world before the move)."""
    _, worlds = first_position(record)
    for turn, action in enumerate(record.actions):
        yield turn, int(worlds.current_player[0]), worlds
        worlds.step(np.array([action]))


# ---------------------------------------------------------------------------------- the belief


def test_a_recorded_game_its_turns_and_its_histories_give_one_verdict() -> None:
    record = games()[0]
    whole = JUDGE.game(record)
    assert len(whole) == len(record.actions)
    for turn in (0, 1, 5, len(record.actions) - 1):
        assert JUDGE(record, turn=turn) == whole[turn]
        assert JUDGE(history_of_game(record, turn)) == whole[turn]
        assert whole[turn].belief == "exact"
    assert JUDGE(replace(record, actions=record.actions[:5])) == whole[5]


def test_a_text_alone_allows_every_hand_that_hints_and_copies_do() -> None:
    config, seen = GAME.config, 0
    for record in games("random", 4):
        for turn, seat, worlds in positions(record):
            view = worlds.view(seat)
            belief = private_belief(GAME, "smartbot", view)
            found = _hands(worlds, seat)
            assert np.allclose(belief.marginals()[: found.shape[0]], found)  # type: ignore[attr-defined]
            verdict = JUDGE(describe(config, view.rows[0], seat))
            assert verdict.belief == ("exact" if turn == 0 else "hints")
            assert verdict.actions == tuple(np.flatnonzero(view.legal[0]).tolist())
            seen += 1
    assert seen > 30


def _hands(worlds: HanabiWorlds, seat: int) -> FloatArray:
    """[cards, K] marginals of all hands that the hints of ``seat``'s view allow, by brute force."""
    config, row = GAME.config, worlds.rows[0]
    p, h, r = config.players, config.hand_size, config.ranks
    left = np.tile(config.copies, config.colors)
    played = [card for card in range(config.max_score) if row[6] >> card & 1]
    gone = 3 - sum(row[8 + most] >> np.arange(config.max_score) & 1 for most in range(3))
    left = np.minimum(gone, left)  # copies neither played nor discarded
    assert all(left[card] < config.copies[card % r] for card in played)
    other = 1 - seat
    for card in row[24 + other * h : 24 + (other + 1) * h]:
        if card < 30:
            left[card] -= 1
    own = row[24 + seat * h : 24 + (seat + 1) * h]
    words = row[24 + (p + seat) * h :][:h][own < 30]
    total = np.zeros((len(words), config.max_score))
    for hand in itertools.product(range(config.max_score), repeat=len(words)):
        fits = all(
            word >> card // r & 1 and word >> (card % r + 5) & 1
            for card, word in zip(hand, words, strict=True)
        )
        rest, weight = left.copy(), float(fits)
        for card in hand:
            weight *= max(rest[card], 0)
            rest[card] -= 1
        for slot, card in enumerate(hand):
            total[slot, card] += weight
    return total / total.sum(axis=1, keepdims=True)


def test_a_sequence_of_texts_is_the_history() -> None:
    record = max(games(n=5), key=lambda one: len(one.actions))
    judge = JUDGE
    texts: list[str] = []
    moves: list[object] = []
    for turn, seat, worlds in positions(record):
        texts.append(observation_text(record.config, worlds.rows[0], 0))
        if turn and turn % 2 == 0:
            verdict = judge(list(texts), moves=list(moves))
            known = judge(record, turn=turn)
            assert verdict.belief == "exact" and verdict.belief_size == known.belief_size
            assert verdict.actions == known.actions and verdict.blueprint == known.blueprint
        moves.append(record.actions[turn] if seat == 0 else None)
        if turn == 12:
            break
    later = judge(texts[4:], moves=moves[4 : len(texts) - 1])
    assert later.belief == "partial"
    with pytest.raises(RecordError, match=r"observation 1: line 1"):
        judge([texts[0], "nothing", texts[2]])
    with pytest.raises(RecordError, match="must follow from the one before by one move, got 0"):
        judge([texts[0], texts[2], texts[4]])
    with pytest.raises(RecordError, match="moves must be 2"):
        judge(texts[:3], moves=[None])


def test_partners_of_unknown_policy() -> None:
    judge = replace(JUDGE, partners=("smartbot", "random"), epsilon=0.05)
    record = games(("smartbot", "random"))[0]
    whole = judge.game(record)
    assert {verdict.belief for verdict in whole} == {"exact"}
    assert whole[4] == judge(record, turn=4)
    alone = JUDGE.game(record)
    assert "recovered" in {verdict.belief for verdict in alone}


# ----------------------------------------------------------------------------- nothing hidden


def test_it_reads_nothing_that_its_player_has_not_seen() -> None:
    """The own hand and the deck are swapped for others that look the same: same verdicts."""
    rng, compared = np.random.default_rng(0), 0
    for record in games(n=3):
        for turn in range(0, len(record.actions), 3):
            seat = turn % 2
            for twin in _twins(record, turn, seat, rng):
                assert twin.deck != record.deck
                assert JUDGE(twin, turn=turn) == JUDGE(record, turn=turn)
                compared += 1
    assert compared > 8


def _twins(
    record: RecordedGame, turn: int, seat: int, rng: np.random.Generator
) -> Iterator[RecordedGame]:
    seen = [view.rows.tobytes() for view in history_of_game(record, turn).views]  # type: ignore[attr-defined]
    for _ in range(200):
        deck = list(record.deck)
        places = _hidden(record, turn, seat)
        for place, card in zip(places, rng.permutation([deck[i] for i in places]), strict=True):
            deck[place] = int(card)
        twin = replace(record, deck=tuple(deck))
        try:
            views = history_of_game(twin, turn).views
        except RecordError:
            continue
        if twin.deck != record.deck and [view.rows.tobytes() for view in views] == seen:  # type: ignore[attr-defined]
            yield twin
            return


def _hidden(record: RecordedGame, turn: int, seat: int) -> list[int]:
    """Places in the deck of the cards in ``seat``'s hand at ``turn``, and of those to come."""
    h = record.config.hand_size
    hands, following = [list(range(h)), list(range(h, 2 * h))], 2 * h
    for number, action in enumerate(record.actions[:turn]):
        if action < 2 * h:
            hands[number % 2].pop(action % h)
            if following < len(record.deck):
                hands[number % 2].append(following)
                following += 1
    return [*hands[seat], *range(following, len(record.deck))]


# ---------------------------------------------------------------------------------- many at once


def test_threads_workers_and_places_change_nothing() -> None:
    record = games()[0]
    texts = [describe(GAME.config, w.view(s).rows[0], s) for _, s, w in positions(record)]
    alone = [JUDGE(text) for text in texts]
    assert JUDGE.many(texts, threads=2) == alone
    assert JUDGE.many(texts[::-1], threads=1) == alone[::-1]
    assert JUDGE.many([(record, 3), texts[3]], threads=1)[0] == JUDGE(record, turn=3)
    assert pickle.loads(pickle.dumps(JUDGE))(texts[3]) == alone[3]
    assert replace(JUDGE, seed=1)(texts[3]) != alone[3]
    with pytest.raises(RecordError, match="position 1: line 1 of the observation must be"):
        JUDGE.many([texts[0], "nothing"], threads=2)
    with pytest.raises(ConfigError, match="positions must be a list of positions, got one text"):
        JUDGE.many(texts[0])
    with pytest.raises(ConfigError, match="config must be a HanabiConfig, or None, got 5"):
        replace(JUDGE, config=5)  # type: ignore[arg-type]
    first = next(judged_lines(JUDGE, [record], Threads(2)))
    assert [line["reward"] for line in first] == [
        round(verdict.reward(action), 4)
        for verdict, action in zip(JUDGE.game(record), record.actions, strict=True)
    ]
    assert first[3]["history"][0].startswith("P0 ") and len(first[3]["history"]) == 3


# --------------------------------------------------------------------------------- the rewards


def rewards(means: list[float], n: int = 1_000, scale: float = 1.0, seed: int = 0) -> list[float]:
    """Of moves with these true values and noise of 3 points a world."""
    rng = np.random.default_rng(seed)
    values = np.array(means)[:, None] + 3.0 * rng.standard_normal((len(means), n))
    moves = MoveValues(actions=np.arange(len(means)), values=values, blueprint_action=0)
    verdict = verdict_of(GAME.config, 0, moves, scale, belief="exact", belief_size=1, note="")
    order = np.argsort([-value for value in verdict.values], kind="stable")
    falling = np.array(verdict.rewards)[order]
    assert (np.diff(falling) <= 0).all() and falling[0] == 1.0 and falling[-1] > 0.0
    assert verdict.rewards[verdict.actions.index(verdict.best)] == 1.0
    return list(verdict.rewards)


def test_moves_as_good_as_the_best_are_rarely_punished_and_bad_ones_are() -> None:
    punished = np.mean([np.less(rewards([20.0] * 12, seed=s), 1.0).mean() for s in range(40)])
    assert punished < 0.05
    found = np.mean([rewards([20.0, 19.0, 16.0], n=4_000, seed=s) for s in range(10)], axis=0)
    assert np.allclose(found, [1.0, np.exp(-1.0), np.exp(-4.0)], atol=0.05)
    half = np.mean([rewards([20.0, 18.0], 4_000, 2.0, s) for s in range(10)], axis=0)
    assert np.allclose(half, [1.0, np.exp(-1.0)], atol=0.05)


def test_values_of_dropped_moves_are_measured_from_the_best_one() -> None:
    rng = np.random.default_rng(0)
    world = 5.0 * rng.standard_normal(1_000)  # what all moves share
    values = np.stack([20 + world, 17 + world + rng.standard_normal(1_000)])
    values[1, 100:] = np.nan
    moves = MoveValues(actions=np.arange(2), values=values, blueprint_action=0)
    verdict = verdict_of(GAME.config, 0, moves, 1.0, belief="exact", belief_size=1, note="")
    best, behind = values[0].mean(), (values[0] - values[1])[:100].mean()
    assert verdict.values == pytest.approx((best, best - behind))
    assert verdict.errors[1] == pytest.approx(np.hypot(verdict.errors[0], 0.1), rel=0.2)
    assert verdict.counts == (1_000, 100)


def test_asking_a_verdict() -> None:
    verdict = JUDGE(games()[0], turn=0)
    assert verdict.reward(verdict.best_move) == verdict.reward(verdict.best) == 1.0
    assert verdict.value(verdict.best_move) == max(verdict.values)
    assert verdict.error(verdict.best) == verdict.errors[verdict.actions.index(verdict.best)]
    assert verdict.regret(verdict.best) == 0.0
    with pytest.raises(IllegalActionError, match=r"\(Discard 0\) is not legal in this position"):
        verdict.reward("Discard 0")  # all information tokens are there
    assert verdict.reward("Discard 0", illegal=0.0) == verdict.reward("I pass", illegal=0.0) == 0.0
    with pytest.raises(RecordError, match="a move must be as in"):
        verdict.reward("I pass")
    assert verdict.best_move in str(verdict) and "reward" in str(verdict)
    assert "<table>" in verdict._repr_html_() and "exact" in repr(verdict)
    assert set(verdict.to_dict()["legal_moves"]) == set(verdict.moves)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"rollouts": 3}, "rollouts must be an integer of at least 4"),
        ({"scale": 0}, "scale must be a positive number"),
        ({"epsilon": 2}, "epsilon must be"),
        ({"bomb": "boom"}, "bomb must be one of zero"),
        ({"partners": "smartbot"}, "partners must be a list of policies"),
        ({"partners": ()}, "partners must be a list of policies"),
        ({"objective": "most"}, "objective must be"),
    ],
)
def test_what_a_judge_refuses(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        Judge(**settings)  # type: ignore[arg-type]
    assert says in str(error.value)


def test_what_it_cannot_judge() -> None:
    record = games()[0]
    over = replace(record, actions=record.actions)
    with pytest.raises(RecordError, match="where the game is over"):
        JUDGE(over)
    with pytest.raises(RecordError, match="turn must be from 0 to"):
        JUDGE(record, turn=99)
    with pytest.raises(ConfigError, match="turn is for recorded games"):
        JUDGE("text", turn=1)
    with pytest.raises(RecordError, match="a position must be text"):
        JUDGE(7)  # type: ignore[arg-type]
    _, worlds = first_position(record)
    with pytest.raises(ConfigError, match="player 1, is to move"):
        JUDGE(worlds.view(1))
