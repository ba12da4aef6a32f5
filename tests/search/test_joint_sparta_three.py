"""Multi-agent SPARTA with three players and more on native Hanabi."""

from __future__ import annotations

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, evaluate, upgrade
from hanabi_search_plugin.algorithms.joint_sparta import CommonKnowledge, JointSparta
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.hanabi.beliefs.joint_hands import JointHands
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.testing import check_agent
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

SMALL = HanabiGame(players=3, colors=2, ranks=3, hand_size=2, information_tokens=3)
QUICK = JointSparta(max_range=60, rollouts=200, min_rollouts=10, round_size=10)


def tables(agents: list[SearchAgent], game: HanabiGame, seed: int, moves: int = 100) -> list[str]:
    """A game in which every seat keeps its own common knowledge; the reasons of the decisions."""
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    seats = [agent.start(worlds.view(p)) for p, agent in enumerate(agents)]
    assert_agree([seat[0].common for seat in seats], worlds)
    reasons = []
    while not worlds.terminal[0] and len(reasons) < moves:
        mover = int(worlds.current_player[0])
        result = agents[mover].decide(seats[mover][0], rng)
        reasons.append(result.reason)
        event = worlds.step(np.array([result.action]))
        if not worlds.terminal[0]:
            seats = [a.observe(worlds.view(p), event, seats[p]) for p, a in enumerate(agents)]
            assert_agree([seat[0].common for seat in seats], worlds)
    return reasons


def assert_agree(found: list[CommonKnowledge], worlds: HanabiWorlds) -> None:
    """All that is public is the same to every seat, and has room for the truth."""
    first, publics = found[0], [common.public for common in found]
    assert len(set(map(id, publics))) == len(found)
    for common, public in zip(found, publics, strict=True):
        assert isinstance(public, JointHands)
        for name in ("searcher", "likelihoods", "rollouts", "note", "key"):
            assert getattr(common, name) == getattr(first, name)
        waiting = [[(m.turn, m.player, m.action) for m in t.queue] for t in (common, first)]
        assert waiting[0] == waiting[1]
        assert [public.size(p) for p in range(len(found))] == [
            first.public.size(p) for p in range(len(found))
        ]
        assert public.recovered == 0
        assert isinstance(first.public, JointHands)
        steps = zip(public.history.steps, first.public.history.steps, strict=True)
        for step, other in steps:
            if step.ruled_out is not None and other.ruled_out is not None:
                assert step.ruled_out.ids.tolist() == other.ruled_out.ids.tolist()
            assert (step.turn, step.by_blueprint) == (other.turn, other.by_blueprint)
    for p, public in enumerate(publics):
        truth = np.array([public.infostate_of(worlds.view(p))])
        assert publics[p - 1].possible(p, truth).all()


@pytest.mark.parametrize("seed", range(4))
def test_seats_that_share_nothing_agree(seed: int) -> None:
    agents = [upgrade(SmartBot(), SMALL, QUICK) for _ in range(3)]
    reasons = tables(agents, SMALL, seed)
    assert len(set(reasons) - {"search_not_allowed"}) > 1


def test_a_public_belief_that_recovers_forgets_what_waits() -> None:
    """Its ids are new ones, where worlds are listed; the moves are anybody's, so that it recovers.

    Moves that waited went on to be looked for by ids of before.
    """
    game = OpenSpielGame("hanabi(players=3,colors=2,ranks=2,hand_size=1,max_life_tokens=1)")
    search = JointSparta(max_range=40, rollouts=12, min_rollouts=2, threshold=0.0)
    check_agent(game, upgrade("random", game, search))


def test_likelihoods_are_not_counted() -> None:
    found = evaluate(SMALL, upgrade(SmartBot(), SMALL, QUICK), games=1, seed=0).to_dict()
    assert found["rollouts_per_game"] > 0 and found["likelihoods_per_game"] is None


def test_with_four_and_five_players() -> None:
    for players in (4, 5):
        game = HanabiGame(players=players, colors=2, ranks=4, hand_size=2, information_tokens=2)
        reasons = tables([upgrade(SmartBot(), game, QUICK) for _ in range(players)], game, 0)
        assert reasons.count("search_not_allowed") < len(reasons) - 2


@pytest.mark.slow
def test_better_than_the_blueprint() -> None:
    result = evaluate(SMALL, upgrade(SmartBot(), SMALL, QUICK), games=60)
    gain = result.scores - result.blueprint_scores
    assert gain.mean() > 2 * gain.std() / np.sqrt(len(gain))
    changed = [game.changed_moves for game in result.games]
    assert np.mean([moves or 0 for moves in changed]) > 0.5


def test_a_whole_game_of_full_size() -> None:
    """Most moves wait till the cards have been played: one seat in three searches, and more."""
    game = HanabiGame(players=3)
    search = JointSparta(max_range=5, rollouts=100, min_rollouts=5, round_size=5)
    agent = upgrade(SmartBot(), game, search)
    worlds = game.deal(np.random.default_rng(1), 1)
    turns = list(play_game(worlds, (agent,) * 3, Streams(np.zeros(1, dtype=np.uint64)), (2,)))
    results = [turn.result for turn in turns if turn.result is not None]
    searched = [r.reason != "search_not_allowed" for r in results]
    understood = sum(r.note.count("entries of move") for r in results)
    assert 1 / 3 <= np.mean(searched) < 1 and understood > 0
    assert worlds.terminal[0]
    told = [r.note for r in results if r.reason == "search_not_allowed"]
    assert all("range above max_range=5" in note for note in told)
