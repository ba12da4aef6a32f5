"""What moves were worth: that the parts add up, agree with exact values, and find what is bad."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.analysis import gains_of
from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, UniformPolicy, load_policy, upgrade
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.objective import BONUS
from hanabi_search_plugin.core.rollout import action_values
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.hanabi.files.analysis import MoveValues, analyse_game, move_values
from hanabi_search_plugin.hanabi.files.game_document import game_document
from hanabi_search_plugin.hanabi.files.recorded_positions import (
    Candidates,
    Explained,
    explain_moves,
    follow,
)
from hanabi_search_plugin.hanabi.files.records import RecordedGame

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
BOT = SmartBot()
PIERS = load_policy("piers", GAME)
SURE = Candidates(((BOT,), (BOT,)), (("smartbot",), ("smartbot",)))
UNSURE = Candidates(((BOT, PIERS),) * 2, (("smartbot", "piers"),) * 2, epsilon=0.1)


def played(seed: int, policies: tuple[object, object] = (BOT, BOT)) -> RecordedGame:
    """Game 0 of a seed."""
    worlds, stream = deal_game(GAME, seed, 0)
    deck = worlds.rows[0][-GAME.config.deck_size :].tolist()  # type: ignore[attr-defined]
    actions = [turn.action for turn in play_game(worlds, policies, stream, (seed,))]  # type: ignore[arg-type]
    return RecordedGame(
        config=GAME.config, game=0, deck=tuple(deck), actions=tuple(actions),
        score=int(worlds.returns[0, 0]), bomb="zero", seed=seed,
    )  # fmt: skip


@pytest.mark.parametrize("candidates", [SURE, UNSURE], ids=["sure", "unsure"])
def test_the_parts_add_up_to_the_final_score(candidates: Candidates) -> None:
    record = played(3, (BOT, PIERS))
    found = analyse_game(record, candidates, (BOT, BOT), ("smartbot",) * 2, rollouts=60)
    gains = sum(turn.gain for turn in found.turns)
    assert found.finished and found.end == record.score
    assert found.before + gains + found.luck == pytest.approx(found.end, abs=1e-9)
    assert sum(one.gain for one in found.players()) == pytest.approx(gains)
    assert [turn.action for turn in found.turns] == list(record.actions)
    for turn in found.turns:
        assert np.isfinite([*turn.mean, turn.gain, turn.gain_stderr, turn.lost_stderr]).all()
        if turn.action == turn.blueprint_action:
            assert turn.gain == 0.0
    assert any(turn.gain for turn in found.turns if turn.seat == 1)


def test_an_objective_changes_what_points_are() -> None:
    record, most = played(3, (BOT, PIERS)), GAME.config.max_score
    plain = analyse_game(record, SURE, rollouts=60)
    found = analyse_game(record, SURE, rollouts=60, objective="perfect")
    bonus = BONUS * most * (record.score == most)
    assert found.end == plain.end + bonus
    gains = sum(turn.gain for turn in found.turns)
    assert found.before + gains + found.luck == pytest.approx(found.end, abs=1e-9)
    sure = analyse_game(record, SURE, rollouts=60, objective=lambda score: score >= 1)
    assert all(0 <= mean <= 1 for turn in sure.turns for mean in turn.mean)
    assert sure.end == float(plain.end >= 1)
    more = [a.before - b.before for a, b in zip(found.turns, plain.turns, strict=True)]
    assert min(more) >= 0 and max(more) > 0


def test_a_record_that_stops_early_ends_at_what_it_was_worth() -> None:
    whole = played(3)
    record = replace(whole, actions=whole.actions[:4], score=None)
    found = analyse_game(record, SURE, rollouts=60)
    assert not found.finished and len(found.turns) == 4
    assert found.before + found.luck == pytest.approx(found.end)
    assert found.end == analyse_game(whole, SURE, rollouts=60).turns[4].before


def test_values_are_those_of_the_exact_belief() -> None:
    """The value of a move is its mean over every hand of the mover and every order of the deck."""
    record = played(5)
    position = list(follow(record, SURE, (BOT, BOT)))[-4]
    belief = position.belief
    worlds, chance = belief.support()  # type: ignore[attr-defined]
    pick = np.random.default_rng(0).choice(len(worlds), 4_000, p=chance)
    memories = belief.support_memories()  # type: ignore[attr-defined]
    values = move_values(np.random.default_rng(1), belief, 4_000)
    exact = action_values(
        worlds.select(pick), values.actions, (BOT, BOT),
        tuple(memory[pick] for memory in memories), position.seat,
        Streams.spawn(np.random.default_rng(2), len(pick)),
    )  # fmt: skip
    for action, other in zip(values.actions.tolist(), exact, strict=True):
        mean, error = values.worth(action)
        assert mean == pytest.approx(other.mean(), abs=4 * 2**0.5 * error + 1e-9)


def test_beliefs_are_those_of_the_mover_s_own_history() -> None:
    record = played(4)
    worlds = GAME.from_decks([record.deck])
    beliefs = [private_belief(GAME, (BOT, BOT), worlds.view(p)) for p in range(2)]
    for position in follow(record, SURE, (BOT, BOT)):
        assert [one.size for one in position.beliefs] == [one.size for one in beliefs]
        if position.action is None:
            assert position.score == record.score
            break
        assert position.seat == worlds.current_player[0]
        event = worlds.step(np.array([position.action]))
        beliefs = [one.update(event, worlds.view(p)) for p, one in enumerate(beliefs)]


def test_moves_tell_who_plays() -> None:
    seen = [explain_moves(played(seed, (BOT, PIERS)), UNSURE) for seed in range(6)]
    assert all(one[0].agreement[0] == 1.0 and one[1].agreement[1] > 0.9 for one in seen)
    assert np.mean([one[0].likeliest == 0 for one in seen]) > 0.8
    assert np.mean([one[1].likeliest == 1 for one in seen]) > 0.8
    assert all(0 < player.chance < 0.5 for one in seen for player in one)


def test_others_are_known_by_what_explains_the_game() -> None:
    record = played(2, (BOT, UniformPolicy()))
    explained = explain_moves(record, UNSURE)
    known = UNSURE.known(explained)
    partner = known.partner(1)
    assert isinstance(partner, Mixture) and explained[1].agreement[0] < 1.0
    assert partner.prior == pytest.approx(explained[1].posterior, abs=1e-5)
    blueprint = next(follow(record, known, (BOT, PIERS))).beliefs[0].blueprint
    assert blueprint[0] is BOT and isinstance(blueprint[1], Mixture)


def test_who_never_left_its_only_policy_keeps_to_it() -> None:
    seen = [Explained(chance=0.1, agreement=(1.0, 0.5), posterior=(1.0 - x, x)) for x in (0.0, 0.1)]
    known = UNSURE.known(seen)
    assert known.partner(0) is BOT and isinstance(known.partner(1), Mixture)
    left = replace(seen[0], agreement=(0.9, 0.5))
    assert isinstance(UNSURE.known([left, left]).partner(0), Mixture)


def values_of(rows: list[list[float]], blueprint: int = 0) -> MoveValues:
    values = np.array(rows)
    return MoveValues(actions=np.arange(len(values)), values=values, blueprint_action=blueprint)


def test_noise_gives_nothing_away() -> None:
    """20 moves of one value: the best of them looks better by chance, and lost is 0 in the mean."""
    rng = np.random.default_rng(0)
    lost = [values_of(rng.normal(size=(20, 100)).tolist()).lost(0)[0] for _ in range(400)]
    naive = [rng.normal(size=(20, 100)).mean(axis=1).max() for _ in range(50)]
    error = np.std(lost) / np.sqrt(len(lost))
    assert abs(np.mean(lost)) < 4 * error and np.mean(naive) > 0.15


def test_lost_is_the_paired_difference_to_a_clear_best_move() -> None:
    world = np.random.default_rng(1).normal(size=200) * 10
    noise = np.random.default_rng(2).normal(size=200) * 0.1
    found = values_of([world.tolist(), (world + 1 + noise).tolist()])
    lost, error = found.lost(0)
    assert found.best == 1 and lost == pytest.approx(1 + noise.mean()) and error < 0.02
    assert found.lost(1) == (0.0, 0.0)


def test_a_dropped_move_is_never_the_played_one() -> None:
    """Nor is the blueprint's, or the best."""
    dropped = 0
    for position in follow(played(3), SURE, (BOT, BOT)):
        if position.action is None:
            break
        found = move_values(np.random.default_rng(0), position.belief, 500)
        assert found.count(found.best) == found.count(found.blueprint_action) == 500
        for action in found.actions.tolist():
            if found.count(action) < 500:
                dropped += 1
                kept = move_values(np.random.default_rng(0), position.belief, 500, keep=[action])
                assert kept.count(action) == 500
                assert found.worth(action)[0] < found.worth(found.best)[0]
    assert dropped > 5


def test_a_planted_blunder_is_the_first_mistake() -> None:
    """The last life is thrown away where the bot had a better move."""
    record = played(8)
    for position in follow(record, SURE, (BOT, BOT)):
        if position.turn < 2 or position.action is None:
            continue
        values = move_values(np.random.default_rng(0), position.belief, 200)
        worst = min(values.actions.tolist(), key=lambda action: values.worth(action)[0])
        if values.lost(worst)[0] > 0.7:
            break
    else:
        pytest.fail("no move of the game could be a blunder")
    actions = (*record.actions[: position.turn], worst)
    spoiled = replace(record, actions=actions, score=None)
    found = analyse_game(spoiled, UNSURE, (BOT, BOT), ("smartbot",) * 2, rollouts=300)
    first = max(found.turns, key=lambda turn: turn.lost)
    assert first.turn == position.turn and first.mistake


def test_gains_of_moves_have_the_mean_of_gains_of_games() -> None:
    """A slice of `python -m benchmarks.analysis gains`, of a small game."""
    agent = upgrade(BOT, GAME, Sparta(rollouts=400, min_rollouts=10, threshold=0.0))
    lines = [gains_of(GAME, number, 7, 100, BOT, agent) for number in range(100)]
    moves, paired = (np.array([line[name] for line in lines]) for name in ("moves", "paired"))
    assert moves.mean() > 3 * moves.std() / 100**0.5
    difference = paired - moves
    assert abs(difference.mean()) < 3 * difference.std() / 100**0.5


def test_the_same_seed_finds_the_same_whatever_the_threads() -> None:
    record = played(1)
    one = analyse_game(record, UNSURE, rollouts=50, seed=4)
    assert one.to_dict() == analyse_game(record, UNSURE, rollouts=50, seed=4, threads=2).to_dict()
    other = analyse_game(record, UNSURE, rollouts=50, seed=5)
    assert one.turns[0].mean != other.turns[0].mean


def test_the_page_has_values_and_beliefs_of_every_turn() -> None:
    record = played(6)
    found = analyse_game(record, UNSURE, rollouts=50, with_beliefs=True)
    document = game_document(found.annotated(), names=["a or b", "c"], beliefs=found.beliefs)
    assert document["policies"] == ["a or b", "c"] and document["searched"] == [False, False]
    assert len(found.beliefs) == len(document["turns"]) == len(record.actions) + 1
    for turn, seen, beliefs in zip(document["turns"], found.turns, found.beliefs, strict=False):
        assert turn["beliefs"] == beliefs
        assert turn["search"]["action"] == seen.best
        assert turn["search"]["mistake"] == seen.mistake
        assert turn["search"]["lost"] == pytest.approx(seen.lost, abs=1e-4)
        assert len(turn["search"]["moves"]) == len(seen.actions)


def test_what_is_refused() -> None:
    record = played(1)
    with pytest.raises(ConfigError, match="rollouts must be an integer of at least 4"):
        analyse_game(record, SURE, rollouts=3)
    illegal = replace(record, actions=(0, *record.actions))  # a discard with all tokens there
    with pytest.raises(RecordError, match=r"turn 0: .* is not legal: all 3"):
        analyse_game(illegal, SURE)
