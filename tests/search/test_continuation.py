"""Continuations: what the searching seat plays on with in rollouts besides the blueprint."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, Lbs, SmartBot, Sparta, load_policy, upgrade
from hanabi_search_plugin.algorithms.continuation import Continued, Portfolio, PortfolioTally
from hanabi_search_plugin.algorithms.tally import Tally
from hanabi_search_plugin.core.belief import Belief, ExplicitBelief
from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.core.policy import Blueprint, UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT
from hanabi_search_plugin.testing import check_search
from tests.helpers.hanabi_bayes import Hashed
from tests.search.test_sparta_native import SMALL, Plain, decisions, same

TINY = HanabiGame(players=2, colors=1, ranks=3, hand_size=2, information_tokens=2, life_tokens=2)


# ------------------------------------------------------------------- the blueprint is one of them


@pytest.mark.parametrize("settings", [{"rollouts": 400}, {"rollouts": 400, "confirm": 60}])
def test_the_blueprint_alone_is_the_search_without(settings: dict[str, Any]) -> None:
    bot = SmartBot()
    plain = list(decisions(SMALL, bot, Sparta(**settings), 1))
    for continuation in (bot, (bot, bot)):
        ours = decisions(SMALL, bot, Sparta(**settings, continuation=continuation), 1)
        for with_it, without in zip(ours, plain, strict=True):
            assert same(with_it, without)


def test_a_name_of_the_blueprint_is_the_blueprint() -> None:
    agent = upgrade("smartbot", SMALL, Sparta(continuation="smartbot"))
    belief = agent.start(SMALL.deal(np.random.default_rng(0), 1).view(1))[0]
    assert not isinstance(belief, Continued)


def test_one_that_plays_alike_gives_the_same_numbers() -> None:
    """Each takes half of the rollouts, in the worlds of a search with as many alone."""
    half = Sparta(rollouts=400, pruning="off", round_size=20, min_rollouts=20)
    whole = Sparta(
        rollouts=800, pruning="off", round_size=20, min_rollouts=20, continuation=SmartBot()
    )
    compared = 0
    for alone, both in zip(
        decisions(SMALL, SmartBot(), half, 1), decisions(SMALL, SmartBot(), whole, 1), strict=True
    ):
        assert (both.mean == alone.mean).all() or len(alone.actions) == 1
        assert (both.count == 2 * alone.count).all()
        assert both.action == alone.action
        assert both.gain == alone.gain
        assert both.gain_stderr == pytest.approx(alone.gain_stderr)
        compared += len(alone.actions) > 1
    assert compared > 3


# ------------------------------------------------------------------------------------ the numbers


def exact(belief: Belief, blueprint: Blueprint) -> FloatArray:
    """[M] the return of each move, by every hand and every order of the deck, one by one."""
    assert isinstance(belief, Continued)
    assert isinstance(belief.inner, ExplicitBelief)
    worlds, weights = belief.inner.support()
    minds = belief.inner.support_memories()
    assert isinstance(worlds, HanabiWorlds)
    actions = np.flatnonzero(belief.view.legal[0])
    means = np.zeros(len(actions))
    for number, (row, weight) in enumerate(zip(worlds.rows, weights, strict=True)):
        rest = len(row) - TINY.config.deck_size + int(row[DECK_NEXT])
        decks = sorted(set(itertools.permutations(row[rest:].tolist())))
        for m, action in enumerate(actions):
            for deck in decks:
                one = HanabiWorlds(TINY, np.concatenate([row[:rest], deck])[None].astype(np.int32))
                memories = [mind[[number]] for mind in minds]
                memories[belief.seat] = belief.continuation_memories[0]
                means[m] += weight * played(one, int(action), blueprint, memories) / len(decks)
    return means


def played(one: HanabiWorlds, action: int, blueprint: Blueprint, memories: list[Any]) -> float:
    """The score of one world after ``action``."""
    while True:
        event = one.step(np.array([action]))
        if one.terminal[0]:
            return float(one.returns[0, 0])
        for p, policy in enumerate(blueprint):
            memories[p] = policy.observe(one.view(p), event, memories[p])
        mover = int(one.current_player[0])
        view = one.view(mover)
        still = Streams(np.zeros(1, dtype=np.uint64))
        action = int(blueprint[mover].act(view, view.legal, memories[mover], still)[0])


class Salted(Hashed):
    """A deterministic policy that remembers all it has seen: another for each number."""

    def __init__(self, number: int) -> None:
        super().__init__(deterministic=True, remembers=True)
        self.number = number

    def start(self, view: Any) -> Any:
        return super().start(view) + 7919 * self.number


@pytest.mark.parametrize("number", range(3))
def test_a_move_is_worth_what_the_best_continuation_makes_of_it(number: int) -> None:
    """By brute force, in which the partner takes the seat to play the blueprint."""
    policy, other = Salted(2 * number), Salted(2 * number + 1)
    search = Sparta(rollouts=12_000, pruning="off", continuation=other)
    agent = upgrade(policy, TINY, search)
    rng = np.random.default_rng(number)
    worlds = TINY.deal(rng, 1)
    beliefs = agent.start(worlds.view(0))
    better, compared = 0, 0
    memory = policy.start(worlds.view(1))
    while not worlds.terminal[0] and compared < 3:
        if worlds.current_player[0] == 0:
            belief = beliefs[0]
            assert isinstance(belief, Continued)
            alone = exact(Continued(belief.inner, (policy,), (belief.memory,)), (policy, policy))
            values = np.maximum(alone, exact(belief, (other, policy)))
            result = agent.decide(belief, rng)
            if len(values) > 1:
                slack = 5 * result.stderr + 0.02  # of the halves that chose the worse of two
                assert (abs(result.mean - values) <= slack).all()
                better += int((values > alone + 0.1).any())
                compared += 1
            action = result.action
        else:
            view = worlds.view(1)
            still = Streams(np.zeros(1, dtype=np.uint64))
            action = int(policy.act(view, view.legal, memory, still)[0])
        event = worlds.step(np.array([action]))
        if not worlds.terminal[0]:
            memory = policy.observe(worlds.view(1), event, memory)
            beliefs = agent.observe(worlds.view(0), event, beliefs)
    assert better


def test_the_best_of_many_is_not_too_high() -> None:
    """Ten continuations of the same mean: each half's best is no better in the other."""
    rng = np.random.default_rng(0)
    fitted, naive = [], []
    for _ in range(300):
        returns = PortfolioTally(2, 10)
        for n in (5, 10, 5):
            returns.add(np.arange(20), rng.normal(size=(20, n)))
        tally = returns.cross_fitted()
        assert tally.count.tolist() == [20, 20]
        fitted.append(tally.mean.mean())
        naive.append(returns.tally.mean.reshape(10, 2).max(axis=0).mean())
    error = np.std(fitted) / np.sqrt(300)
    assert abs(np.mean(fitted)) < 4 * error
    assert np.mean(naive) > 0.2


def test_of_several_the_best_is_found() -> None:
    rng = np.random.default_rng(0)
    returns = PortfolioTally(3, 2)
    worth = np.array([0.0, 1.0, 0.0, 2.0, 0.0, 0.0])  # arm 3 is move 0, continuation 1
    returns.add(np.arange(6), worth[:, None] + 0.1 * rng.normal(size=(6, 40)))
    returns.add(np.array([1, 2, 3]), worth[[1, 2, 3], None] + 0.1 * rng.normal(size=(3, 41)))
    assert returns.best().tolist() == [3, 1, 2]
    tally = returns.cross_fitted()
    assert tally.mean == pytest.approx([2.0, 1.0, 0.0], abs=0.1)
    assert tally.count.tolist() == [81, 81, 81]
    assert returns.count.tolist() == [40 + 81, 81 + 40, 81 + 40]


def test_where_worlds_are_few_the_blueprint_plays_on() -> None:
    returns = PortfolioTally(1, 2)
    returns.add(np.arange(2), np.array([[1.0], [1.0]]))
    assert returns.best().tolist() == [0]
    assert returns.cross_fitted().mean.tolist() == [1.0]


def test_one_continuation_keeps_its_sums() -> None:
    returns, tally = PortfolioTally(2, 1), Tally(2)
    values = np.random.default_rng(0).normal(size=(2, 30))
    returns.add(np.arange(2), values)
    tally.add(np.arange(2), values)
    assert (returns.cross_fitted().mean == tally.mean).all()


# ----------------------------------------------------------------------- compiled, threads, peeking


@pytest.mark.parametrize("continuation", ["iggi2", "hatbot,random"])
def test_compiled_and_plain_rollouts_are_the_same(continuation: str) -> None:
    search = Sparta(rollouts=600, min_rollouts=20, round_size=20)
    names = continuation.split(",")
    policies = tuple(load_policy(name, SMALL) for name in names)
    ours = Sparta(rollouts=600, min_rollouts=20, round_size=20, continuation=policies)
    plain = Sparta(
        rollouts=600, min_rollouts=20, round_size=20, continuation=tuple(map(Plain, policies))
    )
    pairs = list(
        zip(
            decisions(SMALL, SmartBot(), ours, 2),
            decisions(SMALL, Plain(SmartBot()), plain, 2),
            decisions(SMALL, SmartBot(), search, 2),
            strict=False,
        )
    )
    assert len(pairs) > 2
    assert all(same(one, other) for one, other, _ in pairs)
    assert any(not same(one, alone) for one, _, alone in pairs)


def test_threads_do_not_change_a_decision() -> None:
    game = HanabiGame(players=2)
    bots = (load_policy("iggi2", game), load_policy("piers", game))
    for settings in ({}, {"confirm": 100}):
        one, three = (
            list(
                decisions(
                    game,
                    SmartBot(),
                    Sparta(rollouts=900, threads=threads, continuation=bots, **settings),
                    5,
                    moves=10,
                )
            )
            for threads in (1, 3)
        )
        assert len(one) >= 4
        assert all(map(same, one, three))


def test_the_contract_of_a_search() -> None:
    check_search(TINY, Sparta(rollouts=24, min_rollouts=2, continuation="smartbot,random"))


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("given", [(), 3, (3,), "", "piers,", ("piers", None)])
def test_what_is_no_continuation_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="continuation must be"):
        Sparta(continuation=given)


def test_upgrade_loads_names() -> None:
    agent = upgrade("smartbot", SMALL, Lbs(depth=None, continuation="piers, iggi2"))
    assert "continuation=(RuleAgent('piers'), RuleAgent('iggi2'))" in repr(agent)
    with pytest.raises(ConfigError, match="continuation must be one of"):
        upgrade("smartbot", SMALL, Sparta(continuation="nobody"))


def test_a_belief_must_remember_for_them() -> None:
    agent = upgrade("smartbot", SMALL, Sparta())
    belief = agent.start(SMALL.deal(np.random.default_rng(0), 1).view(0))[0]
    rng = np.random.default_rng(0)
    with pytest.raises(ContractError, match="made by this search's wrap"):
        Sparta(continuation=UniformPolicy())(rng, belief)
    with pytest.raises(ConfigError, match="where upgrade does not load it, got 'piers'"):
        Sparta(continuation="piers").wrap(belief)
    wrapped = Sparta(continuation=UniformPolicy()).wrap(belief)
    assert len(Portfolio.of(wrapped, wrapped.policies)) == 2


def test_where_all_seats_search_each_keeps_its_own() -> None:
    agent = upgrade("smartbot", SMALL, Sparta(continuation="piers")).for_all_seats()
    assert "continuation=" in repr(agent)
    assert "uncertainty=0.05" in repr(agent)
