"""The checks of hanabi_search_plugin.testing on everything here; ``pytest`` runs them."""

import pytest
from my_hanabi_plugin.game import TwoNumbers
from my_hanabi_plugin.policy import Mumbler
from my_hanabi_plugin.search import Flat

from hanabi_search_plugin import HanabiGame, evaluate, load_policy, upgrade
from hanabi_search_plugin.plugins import load_game
from hanabi_search_plugin.testing import check_belief, check_game, check_policy, check_search

GAME = TwoNumbers(numbers=3)


def test_the_game():
    check_game(GAME)


@pytest.mark.parametrize("slip", [0.0, 0.4, 1.0])
def test_the_policy(slip):
    check_policy(GAME, Mumbler(GAME, slip))
    check_belief(GAME, Mumbler(GAME, slip))


def test_the_search():
    check_search(GAME, Flat(rollouts=60), policy=Mumbler(GAME), exact=True)
    check_search(GAME, Flat(rollouts=2), policy=Mumbler(GAME))  # fewer than there are moves
    hanabi = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    check_search(hanabi, Flat(rollouts=100), policy="iggi", exact=True)


def test_the_search_helps():
    policy = Mumbler(GAME, slip=0.8)
    agent = upgrade(policy, GAME, Flat(rollouts=300))
    result = evaluate(GAME, (policy, agent), games=200, seed=1)
    assert result.gain > 3 * result.gain_sem


def test_the_names():
    """They are known once the package is installed: pip install -e ."""
    game = load_game("two-numbers:numbers=3:words=3")
    policy = load_policy("mumbler:slip=0", game)
    assert evaluate(game, policy, games=20).mean == 2.0
