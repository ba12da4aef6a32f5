"""A game of people and policies: the same as without people, whatever was taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import Event, History, View
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.evaluation.live_game import LiveGame
from hanabi_search_plugin.evaluation.match import Match
from hanabi_search_plugin.evaluation.threads import Threads

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3, bomb="keep")
SEARCHER = upgrade(SmartBot(), GAME, Sparta(rollouts=100, min_rollouts=5), uncertainty=0.1)
SEED = 5


def finish(live: LiveGame, actions: Any = None) -> None:
    """Plays on: people play ``actions``, and then their first legal move."""
    todo = iter(actions or ())
    while not live.over:
        if live.mover in live.people:
            legal = live.history(live.mover).views[-1].legal[0]
            live.play(next(todo, int(np.flatnonzero(legal)[0])))
        else:
            turn = live.decide()
            live.play(turn.action, turn.result)


def test_a_game_of_policies_is_that_of_an_evaluation() -> None:
    policies = (UniformPolicy(), SEARCHER)
    live = LiveGame(GAME, policies, (), SEED)
    finish(live)
    kept: list[Any] = []
    Match(GAME, policies, "policies", 0, SEED).play([0], Threads(), kept.append)
    assert live.result().actions == kept[0].actions
    assert live.result().score == kept[0].score and live.result().rollouts == kept[0].rollouts


@pytest.mark.parametrize("partner", [UniformPolicy(), SEARCHER], ids=["random", "sparta"])
@pytest.mark.parametrize("back", [1, 2, 3, 5])
def test_what_is_taken_back_leaves_no_trace(partner: Any, back: int) -> None:
    plain, live = (LiveGame(GAME, (SmartBot(), partner), (0,), SEED) for _ in range(2))
    finish(plain)
    while not live.over and live.number < 11:
        if live.mover == 0:
            live.play(int(np.flatnonzero(live.history(0).views[-1].legal[0])[-1]))
        else:
            turn = live.decide()
            live.play(turn.action, turn.result)
    own = sum(seat == 0 for seat in [n % 2 for n in range(live.number)])
    for _ in range(min(back, own)):
        live.take_back(0)
    while live.last_own_turn(0) is not None:
        live.take_back(0)
    finish(live)
    assert live.actions == plain.actions
    assert [one[:2] for one in live.decisions] == [one[:2] for one in plain.decisions]
    assert live.taken_back == own
    ours, theirs = live.history(0), plain.history(0)
    assert [v.keys() for v in ours.views] == [v.keys() for v in theirs.views]


def test_there_is_nothing_to_take_back_before_the_first_move() -> None:
    live = LiveGame(GAME, (SmartBot(), SmartBot()), (1,), SEED)
    turn = live.decide()
    live.play(turn.action)
    with pytest.raises(ConfigError, match="nothing to take back"):
        live.take_back(1)
    assert live.number == 1


def test_an_illegal_move_changes_nothing() -> None:
    live = LiveGame(GAME, (SmartBot(), SmartBot()), (0,), SEED)
    with pytest.raises(IllegalActionError):
        live.play(0)  # a discard with all hints there
    assert (live.number, live.actions, live.last_own_turn(0)) == (0, [], None)
    with pytest.raises(UnsupportedError, match="from outside"):
        live.decide()


class Slow(UniformPolicy):
    """Takes so long to take note of a move that Ctrl-C comes then."""

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        raise KeyboardInterrupt


def test_ctrl_c_while_others_take_note_of_a_move_keeps_it() -> None:
    live = LiveGame(GAME, (UniformPolicy(), Slow()), {0}, SEED)
    action = int(np.flatnonzero(live.history(0).views[-1].legal[0])[0])
    with pytest.raises(KeyboardInterrupt):
        live.play(action)
    assert live.result().actions == (action,) and live.number == 1


def test_a_history_ends_with_the_game() -> None:
    live = LiveGame(GAME, (SmartBot(), SmartBot()), (0, 1), SEED)
    finish(live)
    for seat in (0, 1):
        history = live.history(seat)
        assert isinstance(history, History) and len(history.events) == len(live.actions)
        assert history.views[-1].current_player[0] == -1
        assert [int(event.action[0]) for event in history.events] == live.actions


def test_advice_is_the_same_for_the_same_history_and_follows_what_is_taken_back() -> None:
    live = LiveGame(GAME, (SmartBot(), SmartBot()), (0,), SEED, SEARCHER)
    first = live.advise(live.history(0))[0]
    live.play(first.action)
    live.play(live.decide().action)
    later, seated = live.advise(live.history(0))
    assert live.advise(live.history(0))[1] is seated  # which had only to go on
    live.take_back(0)
    again = live.advise(live.history(0))[0]
    assert np.array_equal(again.mean, first.mean, equal_nan=True)
    live.play(again.action)
    live.play(live.decide().action)
    assert np.array_equal(live.advise(live.history(0))[0].mean, later.mean, equal_nan=True)


def test_without_an_adviser_there_is_no_advice() -> None:
    live = LiveGame(GAME, (SmartBot(), SmartBot()), (0,), SEED)
    with pytest.raises(UnsupportedError, match="adviser"):
        live.advise(live.history(0))
