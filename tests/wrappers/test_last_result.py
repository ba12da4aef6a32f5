"""Whatever plays a seat, in every ecosystem, keeps the SearchResult of its latest decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from open_spiel.python import rl_environment

from hanabi_search_plugin import HanabiGame, SearchAgent, SmartBot, Sparta, Streams, upgrade
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.hanabi.engine.layout import LAST_ACTION
from hanabi_search_plugin.registry import policy_of
from hanabi_search_plugin.wrappers.gymnasium import HanabiEnv, HanabiVectorEnv
from hanabi_search_plugin.wrappers.openspiel import (
    as_bot,
    as_rl_agent,
    as_spiel_policy,
    spiel_of,
    to_state,
)
from hanabi_search_plugin.wrappers.pettingzoo import SeatAgent, env

GAME = HanabiGame(players=2, colors=2, ranks=3, hand_size=2)
WORLDS = GAME.deal(np.random.default_rng(0), 1)
DECK = WORLDS.rows[0, -GAME.config.deck_size :].tolist()

Seated = tuple[Any, Callable[[], int]]  # what keeps the result, and what makes it decide


def seated(policy: Any) -> Seated:
    seat = SeatedPolicy(policy_of(policy, GAME))
    seat.start(WORLDS.view(0))
    return seat, lambda: seat.act(WORLDS.view(0), np.random.default_rng(1))


def of_pettingzoo(policy: Any) -> Seated:
    table = env(colors=2, ranks=3, hand_size=2)
    table.reset(seed=0)
    agent = SeatAgent(policy, table, "player_0")
    return agent, lambda: agent.act(table.last()[0])


def of_a_bot(policy: Any) -> Seated:
    bot = as_bot(policy, GAME, player_id=0)
    return bot, lambda: bot.step(to_state(GAME, DECK, []))


def of_a_spiel_policy(policy: Any) -> Seated:
    played = as_spiel_policy(policy, GAME)

    def act() -> int:
        chances = played.action_probabilities(to_state(GAME, DECK, []))
        return max(chances, key=lambda action: chances[action])

    return played, act


def of_an_rl_agent(policy: Any) -> Seated:
    environment = rl_environment.Environment(spiel_of(GAME))
    environment.seed(1)
    agent, step = as_rl_agent(policy, GAME, player_id=0), environment.reset()
    return agent, lambda: int(agent.step(step).action)


def of_gymnasium(policy: Any) -> Seated:
    table = HanabiEnv(seat=1, partners=policy, **GAME.config.to_dict())
    partner = table.partners[0]

    def act() -> int:
        _, info = table.reset(seed=0)
        told = [result for _, result in info["searches"]]
        assert told == ([partner.last_result] if partner.searches else [])
        assert table._worlds is not None
        moved: int = table._worlds.rows[0, LAST_ACTION]
        return moved

    return partner, act


WAYS = [seated, of_pettingzoo, of_a_bot, of_a_spiel_policy, of_an_rl_agent, of_gymnasium]
ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def searching(game: HanabiGame = GAME) -> SearchAgent:
    return upgrade(SmartBot(), game, Sparta(rollouts=60))


@ways
def test_a_searching_seat_keeps_its_latest_result(way: Callable[[Any], Seated]) -> None:
    seat, act = way(searching())
    assert seat.last_result is None
    for _ in range(2):
        action = act()
        assert isinstance(seat.last_result, SearchResult)
        assert seat.last_result.action == action and seat.last_result.rollouts > 0


@ways
def test_a_policy_given_by_name_plays_and_has_no_result(way: Callable[[Any], Seated]) -> None:
    seat, act = way("smartbot")
    _, same = way(SmartBot())
    assert act() == same() and seat.last_result is None


@ways
def test_what_is_no_policy_is_named(way: Callable[[Any], Seated]) -> None:
    with pytest.raises(UnsupportedError, match=r"expected a [Pp]olicy.*, got .*int"):
        way(3)
    with pytest.raises(ConfigError, match=r"policy must be one of .*got 'nobody'"):
        way("nobody")
    with pytest.raises(UnsupportedError, match=r"expected a [Pp]olicy.*, got"):
        way(SmartBot)


def test_partners_of_many_games_are_known_by_name_too() -> None:
    first, _ = HanabiVectorEnv(3, partners="iggi").reset(seed=0)
    second, _ = HanabiVectorEnv(3, partners=policy_of("iggi", HanabiGame())).reset(seed=0)
    assert np.array_equal(first, second)


def test_a_bare_agent_gives_its_results_by_decide() -> None:
    agent = searching()
    worlds = GAME.deal(np.random.default_rng(3), 3)
    view = worlds.view(0)
    memory = agent.start(view)
    rng = Streams(np.arange(3, dtype=np.uint64))
    results = agent.decide_all(memory, rng.select(np.arange(3)))
    played = agent.act(view, view.legal, memory, rng)
    assert played.tolist() == [result.action for result in results]
    alone = agent.decide(memory[1], np.random.default_rng(int(rng.state[1])))
    assert alone.to_dict() == results[1].to_dict()


def pettingzoo_games(agent: SearchAgent) -> list[str]:
    """Notes of the decisions of two games with ``agent`` at every seat."""
    table, notes = env(colors=2, ranks=3, hand_size=2), []
    for seed in (1, 2):
        table.reset(seed=seed)
        seats = {name: SeatAgent(agent, table, name) for name in table.possible_agents}
        for name in table.agent_iter():
            observation, _, termination, truncation, _ = table.last()
            over = termination or truncation
            table.step(None if over else seats[name].act(observation))
            if not over:
                notes.append(seats[name].last_result.note)
    return notes


def rl_environment_games(agent: SearchAgent) -> list[str]:
    environment, notes = rl_environment.Environment(spiel_of(GAME)), []
    environment.seed(2)
    seats = [as_rl_agent(agent, GAME, player_id=p) for p in range(2)]
    for _ in range(2):
        step = environment.reset()
        while not step.last():
            seat = seats[step.observations["current_player"]]
            step = environment.step([seat.step(step).action])
            notes.append(seat.last_result.note)
        for seat in seats:
            seat.step(step)
    return notes


@pytest.mark.parametrize("loop", [pettingzoo_games, rl_environment_games])
def test_loops_hear_once_of_partners_that_leave_their_policy(
    loop: Callable[[SearchAgent], list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    """Two seats that each take the other to play SmartBot, which neither does."""
    agent = upgrade(SmartBot(), GAME, Sparta(rollouts=300, min_rollouts=10, threshold=0.0))
    notes = loop(agent)
    assert sum("had to recover" in note for note in notes) > 5
    heard = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    said = [text for text in heard if "rules out" in text]
    assert len(said) == 1 and "agent.for_all_seats()" in said[0]
    caplog.clear()
    notes = loop(agent.for_all_seats())
    assert not any("rules out" in r.getMessage() for r in caplog.records)
    assert not any("had to recover" in note for note in notes)
