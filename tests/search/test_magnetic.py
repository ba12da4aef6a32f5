"""The magnetic step of Mds in adversarial games, by exact values and exploitability."""

from __future__ import annotations

import math

import numpy as np
import pyspiel
import pytest

from benchmarks.magnetic import followed, schedule, stepped, tabulated
from benchmarks.zero_sum_tree import ZeroSumTree
from hanabi_search_plugin import Mds, UniformPolicy, upgrade
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"


def searched(name: str, search: Mds) -> tuple[ZeroSumTree, FloatArray]:
    game = OpenSpielGame(name)
    tree = ZeroSumTree(game.spiel)
    return tree, tabulated(game, upgrade(UniformPolicy(), game, search), tree, seed=0)


def test_a_magnetic_step_is_harder_to_exploit_than_uniform_and_than_greedy_search() -> None:
    for name, eta, least in (("kuhn_poker", 1.0, 0.07), (HEX, 4.0, 0.1)):
        tree, magnetic = searched(name, Mds(rollouts=1_000, eta=eta, magnet=0.1))
        _, greedy = searched(name, Mds(rollouts=1_000, eta=math.inf))
        others = (tree.exploitability(tree.uniform), tree.exploitability(greedy))
        assert tree.exploitability(magnetic) < min(others) - least


@pytest.mark.parametrize(
    ("name", "rollouts", "most"), [("kuhn_poker", 9_000, 0.03), (HEX, 1_500, 0.1)]
)
def test_searching_by_rollouts_is_the_step_by_exact_values(
    name: str, rollouts: int, most: float
) -> None:
    tree, found = searched(name, Mds(rollouts=rollouts, eta=1.0, magnet=0.2))
    apart = abs(found - stepped(tree, tree.uniform, 1.0, 0.2))
    assert apart.max() < most
    assert apart.mean() < most / 5


def test_steps_with_a_decreasing_magnet_converge_and_plain_ones_do_not() -> None:
    tree = ZeroSumTree(pyspiel.load_game(HEX))
    magnetic = dict(followed(tree, magnetic=True))
    plain = dict(followed(tree, magnetic=False))
    assert magnetic["100"] < 0.03 < 0.3 < plain["100"]
    assert sorted(magnetic.values(), reverse=True) == list(magnetic.values())
    assert schedule(2.0, 4) == (0.5, 0.5)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", HEX])
def test_values_are_openspiels(name: str) -> None:
    """The first move's mean value is the game's, and every value lies in its range."""
    tree = ZeroSumTree(pyspiel.load_game(name))
    rng = np.random.default_rng(0)
    table = tree.uniform * rng.random(tree.uniform.shape)
    table /= table.sum(axis=1, keepdims=True)
    values = tree.action_values(table)
    assert (np.isfinite(values) == tree.legal).all()
    assert np.nanmax(abs(values)) <= tree.spiel.max_utility() + 1e-9
    policy = pyspiel.TabularPolicy(
        {
            key: [(int(a), table[i, a]) for a in np.flatnonzero(tree.legal[i])]
            for key, i in tree.number.items()
        }
    )
    start = tree.spiel.new_initial_state()
    expected = pyspiel.expected_returns(start, policy, -1, True, 0.0)
    first = tree.layers[0]
    mean = np.nansum(table * values, axis=1)[first.own] @ tree.start
    assert mean == pytest.approx(expected[0], abs=1e-9)


def test_what_no_play_leads_to_has_no_value_and_keeps_its_row() -> None:
    tree = ZeroSumTree(pyspiel.load_game("kuhn_poker"))
    table = tree.uniform
    folding = [i for key, i in tree.number.items() if len(key) == 1]
    table[folding] = [1.0, 0.0]  # player 0 never bets first
    after = [i for key, i in tree.number.items() if key[1:] == "b"]
    assert np.isnan(tree.action_values(table)[after]).all()
    np.testing.assert_array_equal(stepped(tree, table, 1.0, 0.0)[after], table[after])


@pytest.mark.parametrize("name", ["tiny_hanabi", "matrix_rps", "kuhn_poker(players=3)"])
def test_other_games_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="zero-sum game of two players"):
        ZeroSumTree(pyspiel.load_game(name))
