"""Exact hand beliefs of native Hanabi, against Bayes' rule done with whole games."""

import numpy as np
import pytest

from hanabi_search_plugin.blueprints.compiled import SmartBot
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.policy import UniformPolicy, as_blueprint
from hanabi_search_plugin.streams import Streams
from tests.helpers.hanabi_bayes import Hashed, Record, hands_of

SMALL = {
    "2p": {"players": 2, "colors": 2, "ranks": 3, "hand_size": 3},
    "2p-few-tokens": {
        "players": 2, "colors": 2, "ranks": 2, "hand_size": 3, "information_tokens": 2,
        "life_tokens": 1,
    },
    "3p": {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "random_start_player": True},
}  # fmt: skip
PLANNED = Hashed(deterministic=True, remembers=False)
NOISY = Hashed(deterministic=False, remembers=True)
POLICIES = {
    "smartbot": SmartBot(),
    "uniform": UniformPolicy(),
    "plain": PLANNED,
    "plain-with-memory": NOISY,
}


def games(game, blueprint, seat, rng, *, epsilon=0.0, partners_noise=0.0, n=1):
    """Random games of ``seat`` with partners of the blueprint: (record, belief) at every step."""
    for _ in range(n):
        record = Record.random(game, rng)
        belief = game.belief(blueprint, record.worlds.view(seat), epsilon=epsilon)
        memories = [policy.start(record.worlds.view(p)) for p, policy in enumerate(blueprint)]
        yield record, belief
        while not record.over:
            mover, legal = record.mover, record.worlds.legal[0]
            action = int(rng.choice(np.flatnonzero(legal)))
            if mover != seat and rng.random() >= partners_noise:
                view = record.worlds.view(mover)
                stream = Streams.spawn(rng, 1)
                action = int(blueprint[mover].act(view, view.legal, memories[mover], stream)[0])
            event = record.step(action)
            memories = [
                policy.observe(record.worlds.view(p), event, memories[p])
                for p, policy in enumerate(blueprint)
            ]
            belief = belief.update(event, record.worlds.view(seat))
            yield record, belief


def chances(belief):
    """P(hand), and the hands distinct."""
    worlds, weights = belief.support()
    hands = hands_of(worlds, belief.seat)
    assert len(set(hands)) == len(hands)
    return dict(zip(hands, weights.tolist(), strict=True))


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    worst = max(found, key=lambda hand: abs(found[hand] - expected[hand]))
    assert found[worst] == pytest.approx(expected[worst], abs=1e-9), worst


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("config", SMALL)
def test_equals_bayes_at_every_step(config, policy, epsilon):
    game = HanabiGame(**SMALL[config])
    blueprint = as_blueprint(POLICIES[policy], game.num_players)
    rng = np.random.default_rng(1)
    for seat in range(2):
        sizes = []
        for record, belief in games(
            game, blueprint, seat, rng, epsilon=epsilon, partners_noise=epsilon, n=2
        ):
            expected = record.bayes(blueprint, seat, epsilon)
            assert_equal(chances(belief), expected)
            assert record.hand(seat) in expected
            assert belief.size >= len(expected)
            assert belief.recovered == 0 and belief.exact
            sizes.append(len(expected))
        assert max(sizes) > 10
