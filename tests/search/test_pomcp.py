"""POMCP over exact beliefs: against exact values of small games, SPARTA first, and its budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, load_policy, upgrade
from hanabi_search_plugin.algorithms import Pomcp
from hanabi_search_plugin.algorithms.endgame import exact_values
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.testing import check_search
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.search.test_continuation import TINY, Salted
from tests.search.test_endgame import MUCH, positions
from tests.search.test_sparta_native import SMALL, Plain, decisions, same

FAR = {"rollouts": 20_000, "tree": 0.9, "promising": 9, "exploration": 1.0, "threshold": 0.0}


def solved(number: int) -> Iterator[tuple[Belief, FloatArray]]:
    """Decisions of a small game of Hanabi with the exact value of each move, played at best."""
    policy = Salted(number)
    for belief in positions(TINY, (policy, policy), number):
        legal = np.flatnonzero(belief.view.legal[0])
        found = exact_values(belief, MUCH, base=int(legal[0]), every=True)
        if len(legal) > 1 and found is not None and found.values is not None:
            yield belief, found.values


def lost(result: SearchResult, values: FloatArray) -> float:
    """What the move gives away."""
    return float(values.max() - values[result.actions == result.action][0])


@pytest.mark.parametrize("nodes", ["moves", "observations"])
def test_it_finds_best_replies_that_one_ply_does_not(nodes: Any) -> None:
    one, deep, compared = 0.0, 0.0, 0
    for number in range(3):
        for belief, values in solved(number):
            rng = np.random.default_rng(number)
            one += lost(Sparta(rollouts=10_000, threshold=0.0)(rng, belief), values)
            deep += lost(Pomcp(nodes=nodes, **FAR)(rng, belief), values)
            compared += 1
    assert compared > 10
    assert one > 2.0
    assert deep < 0.2 * one


def test_what_it_promises_is_what_it_can_earn() -> None:
    """The mean of the move that the tree chose: a policy's value, so none above the best one's."""
    changed = 0
    for number in range(2):
        for belief, values in solved(number):
            result = Pomcp(**FAR)(np.random.default_rng(number), belief)
            if result.reason != "tree_choice":
                continue
            at = np.flatnonzero(result.actions == result.action)
            assert result.mean[at] <= values[at] + 4 * result.stderr[at]
            assert abs(result.gain) < 10
            assert "by one ply" in result.note
            changed += 1
    assert changed > 2


def test_sparta_comes_first() -> None:
    """With no tree worth following the decision and its figures are those of SPARTA's share."""
    search = Pomcp(rollouts=600, errors=50.0, threshold=0.0)
    plain = list(decisions(SMALL, SmartBot(), search, 3))
    share = Sparta(rollouts=300, errors=50.0, threshold=0.0)
    beside = 0
    for result in plain:
        assert result.rollouts <= 600
        beside += result.depth is not None
    assert beside
    first, alone = plain[0], next(iter(decisions(SMALL, SmartBot(), share, 3)))
    for name in ("action", "reason", "gain"):
        assert getattr(first, name) == getattr(alone, name)
    assert (first.mean == alone.mean).all()
    assert (first.count == alone.count).all()
    assert first.rollouts > alone.rollouts


def test_without_a_tree_it_is_sparta() -> None:
    ours = decisions(SMALL, SmartBot(), Pomcp(rollouts=400, tree=0.0), 1)
    theirs = decisions(SMALL, SmartBot(), Sparta(rollouts=400), 1)
    for one, other in zip(ours, theirs, strict=True):
        assert same(one, other)


@pytest.mark.parametrize("name", ["smartbot", "vdb:strict"])
def test_compiled_and_plain_games_are_the_same(name: str) -> None:
    bot, search = load_policy(name, SMALL), Pomcp(rollouts=1_000, threshold=0.0, errors=0.2)
    ours = list(decisions(SMALL, bot, search, 2))
    theirs = list(decisions(SMALL, Plain(bot), search, 2))
    assert any(result.depth and result.depth > 1 for result in ours)
    assert all(map(same, ours, theirs))


def test_threads_do_not_change_a_decision() -> None:
    """In rounds that are large enough to be spread."""
    settings = {"rollouts": 6_000, "round_size": 200, "errors": 0.2, "threshold": 0.0}
    one, three = (
        list(decisions(SMALL, SmartBot(), Pomcp(**settings, threads=threads), 5, moves=7))
        for threads in (1, 3)
    )
    assert len(one) >= 3
    assert all(map(same, one, three))


@pytest.mark.parametrize("nodes", ["moves", "observations"])
def test_budgets_are_kept(nodes: Any) -> None:
    game = HanabiGame(players=2)
    for rollouts in (7, 60, 900):
        search = Pomcp(rollouts=rollouts, nodes=nodes, errors=0.0, threshold=0.0)
        for result in decisions(game, SmartBot(), search, 11, moves=16):
            assert result.rollouts <= rollouts


def test_an_exact_endgame_needs_no_tree() -> None:
    search = Pomcp(rollouts=400, endgame=MUCH)
    results = list(decisions(TINY, Salted(0), search, 0))
    assert any(result.exact for result in results)
    for result in results:
        assert not (result.exact and (result.rollouts or result.depth))


def test_it_stops_after_seconds() -> None:
    search = Pomcp(rollouts=1_000_000, seconds=0.01)
    result = next(iter(decisions(HanabiGame(players=2), SmartBot(), search, 0)))
    assert result.rollouts < 100_000
    assert "stopped after 0.01 seconds" in result.note


@pytest.mark.parametrize("game", [TINY, OpenSpielGame("tiny_hanabi"), OpenSpielGame("kuhn_poker")])
@pytest.mark.parametrize("nodes", ["moves", "observations"])
def test_the_contract_of_a_search(game: Any, nodes: Any) -> None:
    search = Pomcp(rollouts=60, min_rollouts=2, round_size=5, errors=0.1, nodes=nodes)
    check_search(game, search, policy="random")


def test_settings_are_checked() -> None:
    for name, value, says in (
        ("tree", 1.0, "tree must be a share"), ("tree", -0.1, "tree must be a share"),
        ("depth", 4, "depth must be None"), ("promising", 0, "promising must be"),
        ("nodes", "all", "nodes must be"), ("widening", -1.0, "widening must be"),
        ("exploration", -1.0, "exploration must be"), ("confirm", 4_999, "rollouts must leave"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=says):
            Pomcp(**{name: value})  # type: ignore[arg-type]


def test_where_all_seats_search_it_doubts() -> None:
    agent = upgrade(UniformPolicy(), SMALL, Pomcp(rollouts=100)).for_all_seats()
    assert "Pomcp(rollouts=100, threshold=0.2)" in repr(agent)
