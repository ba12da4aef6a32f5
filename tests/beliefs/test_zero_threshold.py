"""What ``benchmarks.zero_threshold`` undoes to come nearer to the authors' program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.zero_threshold import Doubting, EvenDraws, OwnWorlds
from hanabi_search_plugin import HanabiGame, load_policy, upgrade
from hanabi_search_plugin.testing import check_search


def test_the_first_card_that_is_drawn_weighs_the_same_however_many_copies_are_left() -> None:
    game = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=1)
    bot = load_policy("piers", game)
    worlds = game.deal(np.random.default_rng(5), 1)
    exact, even = (Doubting(kind, 0.1)((bot, bot), worlds.view(0)) for kind in (False, True))
    discards = 2 * game.config.hand_size
    while True:
        view = worlds.view(int(worlds.current_player[0]))
        move = np.flatnonzero(view.legal[0])[:1]  # the first that is legal: discards, where it may
        event = worlds.step(move)
        exact, even = (one.update(event, worlds.view(0)) for one in (exact, even))
        if view.player == 0 and move[0] < discards:  # and draws
            break
    assert isinstance(even, EvenDraws)
    exact = exact.fully_enumerated()
    assert np.array_equal(exact.hands, even.hands)
    new, old = (even.hands >> 5) & 31, even.hands & 31
    ways = even.unseen[new] - (new == old)
    assert len(set(ways.tolist())) > 1
    assert np.allclose(
        even.weights() * ways / exact.weights(), even.weights()[0] * ways[0] / exact.weights()[0]
    )


def test_moves_are_tried_in_worlds_of_their_own() -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    search = OwnWorlds(rollouts=1_500)
    check_search(game, search, policy="iggi", exact=True)
    agent = upgrade("iggi", game, search)
    memory = agent.start(game.deal(np.random.default_rng(2), 1).view(0))
    found = agent.decide(memory[0], np.random.default_rng(3))
    assert found.count.min() >= 100 and found.count.sum() == found.rollouts <= 1_500
    few = replace(search, rollouts=50)
    assert upgrade("iggi", game, few).decide(memory[0], np.random.default_rng(3)).gain == 0.0
