"""Mirror-descent search: its step in closed form, and games in which everything is enumerated."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanabi_search_plugin import Grounded, HanabiGame, Learned, Particles, Sparta, evaluate
from hanabi_search_plugin.algorithms.mds import (
    SOFTENING,
    Mds,
    divergence,
    mirror_step,
    noise,
    paired_means,
)
from hanabi_search_plugin.algorithms.tally import Tally
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy, sample_actions
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

SMALL = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)


class Tabular(Policy):
    """tiny_hanabi: chances of the 3 moves by own card, ``first`` [3, 3], and by what the other
    seat said, ``second`` [card, said, move]."""

    deterministic = False

    def __init__(self, first: FloatArray, second: FloatArray) -> None:
        self.first, self.second = first, second

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        rows = []
        for key in list(view.keys()):
            own, *heard = [int(word[-1]) for word in str(key).split()]
            rows.append(self.second[own, heard[0]] if heard else self.first[own])
        return np.array(rows)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return sample_actions(self.probabilities(view, legal, memory), rng)


class Problem:
    """A tiny_hanabi of 3 cards and 3 moves with payoffs and a policy drawn at random."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.payoff = rng.integers(0, 11, size=(3, 3, 3, 3)).astype(float)  # card, card, move, move
        self.first = rng.dirichlet(np.ones(3), size=3)
        self.second = rng.dirichlet(np.ones(3), size=(3, 3))

    def value(self, first: FloatArray, second: FloatArray) -> float:
        """The exact mean return."""
        return float(np.einsum("cdab,ca,dab->", self.payoff, first, second)) / 9

    def action_values(self) -> tuple[FloatArray, FloatArray]:
        """The exact mean return of each move: of seat 0 [card, move], of seat 1 [card, said, move].

        Both by beliefs that take the other seat to play the policy.
        """
        by_first = np.einsum("cdab,dab->ca", self.payoff, self.second) / 3
        held = self.first / self.first.sum(axis=0)  # [card, said] of seat 0, given what it said
        return by_first, np.einsum("cdab,ca->dab", self.payoff, held)

    @property
    def game(self) -> OpenSpielGame:
        payoff = ";".join(str(int(one)) for one in self.payoff.ravel())
        return OpenSpielGame(f"tiny_hanabi(num_chance=3,num_actions=3,payoff={payoff})")

    def belief(self, seat: int, card: int, said: int = 0) -> EnumeratedBelief:
        policy, game = Tabular(self.first, self.second), self.game
        script = (card, 0) if seat == 0 else (0, card)
        worlds = game.deal_scripts([script])
        belief = EnumeratedBelief.start(game, (policy, policy), worlds.view(seat))
        if seat == 1:
            event = worlds.step(np.array([said]))
            belief = belief.update(event, worlds.view(1))
        return belief


def steps(problem: Problem, eta: float) -> tuple[FloatArray, FloatArray]:
    """Both seats' policies after a step of everybody."""
    by_first, by_second = problem.action_values()
    first = [mirror_step(problem.first[c], by_first[c], eta) for c in range(3)]
    second = [
        [mirror_step(problem.second[d, a], by_second[d, a], eta) for a in range(3)]
        for d in range(3)
    ]
    return np.array(first), np.array(second)


def test_small_steps_of_all_seats_at_once_never_earn_less() -> None:
    gains, bold = [], []
    for seed in range(200):
        problem = Problem(seed)
        before = problem.value(problem.first, problem.second)
        gains.append(problem.value(*steps(problem, 0.01)) - before)
        bold.append(problem.value(*steps(problem, 1e3)) - before)
    assert min(gains) > 0
    assert min(bold) < 0  # which is why the step is small


@pytest.mark.parametrize("eta", [0.0, 0.1, 2.0, math.inf])
def test_decisions_follow_the_closed_form(eta: float) -> None:
    problem = Problem(5)
    by_first, by_second = problem.action_values()
    found = steps(problem, eta)
    cases = [(problem.belief(0, card), by_first[card], found[0][card]) for card in range(3)]
    cases += [
        (problem.belief(1, 1, said), by_second[1, said], found[1][1, said]) for said in (0, 2)
    ]
    for belief, values, policy in cases:
        result = Mds(rollouts=12_000, eta=eta)(np.random.default_rng(0), belief)
        assert (abs(result.mean - values) <= 5 * result.stderr).all()
        assert result.policy is not None
        # An error of q moves the policy by at most eta times it.
        slack = 1e-9 if eta in (0.0, math.inf) else 10 * eta * result.stderr.max()
        assert abs(result.policy - policy).max() <= slack


def test_moves_are_drawn_from_the_policy() -> None:
    belief = Problem(5).belief(0, 1)
    search, moves = Mds(rollouts=3, eta=0.0), []
    for seed in range(600):
        result = search(np.random.default_rng(seed), belief)
        assert result.action == result.blueprint_action  # without a step the same draw
        moves.append(result.action)
    share = np.bincount(moves, minlength=3) / len(moves)
    assert abs(share - Problem(5).first[1]).max() < 0.08


@pytest.mark.parametrize("card", range(3))
def test_without_bounds_one_seat_is_sparta_without_threshold(card: int) -> None:
    problem = Problem(9)
    everything = Sparta(rollouts=3_000, threshold=0.0, pruning="off")
    for belief in (problem.belief(0, card), problem.belief(1, card, said=1)):
        ours = Mds(rollouts=3_000, eta=math.inf)(np.random.default_rng(1), belief)
        theirs = everything(np.random.default_rng(2), belief)
        assert ours.action == theirs.action
        assert (abs(ours.mean - theirs.mean) <= 5 * (ours.stderr + theirs.stderr)).all()


def test_all_seats_gain_by_games() -> None:
    """A step of 1 for both seats of a game whose values are enumerated."""
    problem = Problem(3)
    game, policy = problem.game, Tabular(problem.first, problem.second)
    agent = upgrade(policy, game, Mds(rollouts=300, eta=1.0))
    played = evaluate(game, agent, games=600, seed=0)
    exact = problem.value(*steps(problem, 1.0))
    assert exact - problem.value(problem.first, problem.second) > 0.5
    assert played.sem is not None
    assert abs(played.mean - exact) < 4 * played.sem


# ------------------------------------------------------------------------------------ the rollouts


@pytest.mark.parametrize(
    ("options", "most"),
    [({"eta": 2.0}, 0.02), ({"eta": 2.0, "greedy": True}, 0.999), ({"eta": math.inf}, 0.0),
     ({"eta": 20.0, "magnet": 0.1}, 0.02), ({"eta": math.inf, "magnet": 0.5}, 0.02)],
)  # fmt: skip
def test_rollouts_go_to_the_moves_that_may_be_played(options: dict[str, Any], most: float) -> None:
    """A dropped move is one of little weight, beside the likeliest, by exact values."""
    search, saved = Mds(rollouts=3_000, **options), []
    for seed in range(8):
        problem = Problem(seed)
        by_first, _ = problem.action_values()
        for card in range(3):
            found = search(np.random.default_rng(1), problem.belief(0, card))
            exact = mirror_step(
                problem.first[card], by_first[card], search.eta, magnet=search.magnet
            )
            kept = found.count == found.count.max()
            if found.rollouts < 2_998:  # ended early
                assert found.policy is not None
                kept = np.arange(3) == found.policy.argmax()
            assert (exact[~kept] <= most * exact.max()).all()
            saved.append(not kept.all())
    assert np.mean(saved) > 0.2
    every = replace(search, deviations=math.inf)(np.random.default_rng(1), Problem(0).belief(0, 0))
    assert every.count.tolist() == [1_000] * 3


def test_unequal_numbers_of_worlds_are_compared_in_those_that_are_shared() -> None:
    rng = np.random.default_rng(0)
    shared = 10 * rng.normal(size=1_000)
    values = shared + np.array([[1.0], [0.0], [3.0]])
    tally = Tally(3)
    tally.add(np.arange(3), values[:, :5])
    tally.add(np.array([0, 2]), values[[0, 2], 5:])
    found = paired_means(tally)
    np.testing.assert_allclose(found - found[0], [0.0, -1.0, 2.0])
    assert found[0] == pytest.approx(values[0].mean())


def test_an_early_end_plays_what_was_best() -> None:
    """The noise of few worlds counts when a move is dropped, as it does in the step."""
    early = 0
    for seed in range(20):
        found = Mds(rollouts=3_000, eta=20.0)(np.random.default_rng(1), Problem(seed).belief(0, 0))
        if found.rollouts < 2_000:
            early += 1
            assert found.policy is not None and found.policy.max() > 0.95
            assert found.policy.argmax() == found.mean.argmax()
    assert early > 5


# ---------------------------------------------------------------------------------------- the step

CHANCES = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6)


@settings(max_examples=100, deadline=None)
@given(CHANCES, st.integers(0, 2**32), st.floats(0.0, 50.0), st.floats(0.0, 5.0))
def test_the_step_is_its_formula(
    weights: list[float], seed: int, eta: float, magnet: float
) -> None:
    prior = np.array(weights) / sum(weights)
    values = np.random.default_rng(seed).normal(size=len(prior))
    rho = np.full(len(prior), 1 / len(prior))
    expected = (prior * np.exp(eta * values) * rho ** (eta * magnet)) ** (1 / (1 + eta * magnet))
    found = mirror_step(prior, values, eta, magnet=magnet)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-9, atol=1e-300)


def test_the_magnet_holds_its_fixed_point() -> None:
    values = np.array([1.0, 2.0, 4.0])
    fixed = np.exp(values / 0.7) / np.exp(values / 0.7).sum()
    for eta in (0.1, 3.0, math.inf):
        np.testing.assert_allclose(mirror_step(fixed, values, eta, magnet=0.7), fixed)


def test_infinite_steps_and_excluded_moves() -> None:
    prior, values = np.array([0.2, 0.6, 0.2, 0.0]), np.array([2.0, 2.0, 1.0, 9.0])
    np.testing.assert_allclose(mirror_step(prior, values, math.inf), [0.25, 0.75, 0.0, 0.0])
    assert mirror_step(prior, values, 5.0)[3] == 0.0


@settings(max_examples=60, deadline=None)
@given(CHANCES, st.integers(0, 2**32), st.floats(1e-4, 2.0), st.sampled_from([0.5, 10.0, math.inf]))
def test_the_bound_on_the_divergence_is_kept(
    weights: list[float], seed: int, kl: float, eta: float
) -> None:
    prior = np.array(weights) / sum(weights)
    values = np.random.default_rng(seed).normal(size=len(prior))
    free = mirror_step(prior, values, eta)
    noisy = Mds(kl=kl, eta=eta).step(prior, values, np.linspace(0.0, 1.0, len(prior)))
    assert divergence(noisy, prior) <= kl * 1.001
    found = Mds(kl=kl, eta=eta).step(prior, values)
    if divergence(free, prior) <= kl:
        np.testing.assert_array_equal(found, free)
    else:
        assert divergence(found, prior) == pytest.approx(kl, rel=1e-3)


@pytest.mark.parametrize(("eta", "magnet"), [(2.0, 0.0), (6.0, 0.3), (math.inf, 0.5)])
def test_noise_makes_no_move_likelier(eta: float, magnet: float) -> None:
    """Of equal moves, one known exactly: weights by noisy values are on average the exact ones."""
    prior, sigma = np.array([0.9, 0.06, 0.04]), np.array([0.0, 0.1, 0.3])
    rng, search, ratios, raw = np.random.default_rng(0), Mds(eta=eta, magnet=magnet), [], []
    exact = mirror_step(prior, np.zeros(3), eta, magnet=magnet)
    for _ in range(20_000):
        values = sigma * rng.normal(size=3)
        for kept, found in (
            (ratios, search.step(prior, values, sigma**2)),
            (raw, search.step(prior, values)),
        ):
            kept.append(found[1:] / found[0])
    error = np.std(ratios, axis=0) / np.sqrt(len(ratios))
    assert (abs(np.mean(ratios, axis=0) - exact[1:] / exact[0]) < 4 * error).all()
    assert (np.mean(raw, axis=0)[1] - exact[2] / exact[0]) > 10 * error[1]


def test_the_noise_is_that_of_differences_in_the_same_worlds() -> None:
    prior, rng = np.array([0.5, 0.3, 0.2]), np.random.default_rng(1)
    shared = 5 * rng.normal(size=4_000)
    values = shared + rng.normal(size=(3, 4_000)) * np.array([[0.5], [1.0], [2.0]])
    tally = Tally(3)
    tally.add(np.arange(3), values)
    expected = (values - prior @ values).var(axis=1) / 4_000
    np.testing.assert_allclose(noise(prior, tally), expected, rtol=0.02)
    single = Tally(3)
    single.add(np.arange(3), values[:, :1])
    assert noise(prior, single).tolist() == [0.0, 0.0, 0.0]


# -------------------------------------------------------------------------------------- the agent


def decisions(agent: Any) -> list[SearchResult]:
    found: list[SearchResult] = []

    def keep(game: Any) -> None:
        found.extend(result for *_, result in game.decisions)

    evaluate(SMALL, agent, games=2, seed=0, on_game=keep)
    return found


@pytest.fixture
def compiled() -> None:
    """What logs that it compiles has done so, where nothing is kept from earlier runs."""
    decisions((upgrade("iggi", SMALL, Mds(rollouts=60)), "iggi"))


@pytest.mark.usefixtures("compiled")
def test_a_bot_that_plays_one_move_is_softened(caplog: pytest.LogCaptureFixture) -> None:
    plain, soft = (
        upgrade("iggi", SMALL, Mds(rollouts=200, eta=math.inf, softening=softening))
        for softening in (0.0, 0.1)
    )
    bot: Any = upgrade("smartbot", SMALL, Mds(rollouts=200)).for_all_seats()
    assert bot.epsilon == SOFTENING
    random = upgrade("random", SMALL, Mds(rollouts=200))
    assert random.for_all_seats() is random
    assert plain.for_all_seats() is plain
    assert all(result.reason != "policy_step" for result in decisions(plain))
    everywhere: Any = soft.for_all_seats()
    assert everywhere.epsilon == 0.1
    with caplog.at_level(logging.WARNING):
        found = decisions(everywhere)
    assert any(result.reason == "policy_step" for result in found)
    assert not caplog.records  # nobody is warned of seats that search by themselves
    for result in found:
        if result.reason == "policy_step":
            assert result.policy is not None and result.policy.sum() == pytest.approx(1.0)


def test_greedy_plays_the_likeliest_move() -> None:
    for result in decisions(upgrade("iggi", SMALL, Mds(rollouts=100, softening=0.2, greedy=True))):
        assert result.policy is not None
        assert result.policy[list(result.actions).index(result.action)] == result.policy.max()


@pytest.mark.parametrize("belief", [Learned(Grounded(SMALL)), Particles(300)], ids=repr)
def test_other_beliefs_serve(belief: Any) -> None:
    agent = upgrade("iggi", SMALL, Mds(rollouts=60, softening=0.1), belief=belief)
    found = decisions((agent, "iggi"))
    assert any(result.rollouts for result in found)


def test_small_budgets_play_the_blueprint() -> None:
    reasons = {result.reason for result in decisions(upgrade("iggi", SMALL, Mds(rollouts=1)))}
    assert reasons <= {"budget_too_small", "single_move"}


@pytest.mark.parametrize(
    "bad",
    [{"eta": -1.0}, {"eta": math.nan}, {"kl": -0.1}, {"magnet": math.inf}, {"softening": 1.5},
     {"rollouts": 0}, {"depth": 0}, {"deviations": -1.0}, {"deviations": None}, {"round_size": 0}],
)  # fmt: skip
def test_bad_settings(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Mds(**bad)
