"""Beliefs drawn seat by seat: frequencies beside exact beliefs of a small game, and bridge."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hanabi_search_plugin import Sparta, upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.seatwise import Seatwise, SeatwiseBelief
from hanabi_search_plugin.bridge import BridgeBidding, NaturalBidder
from hanabi_search_plugin.core.capabilities import DealsTokens
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, History, View
from hanabi_search_plugin.core.plain_game import PlainGame, PlainView, PlainWorlds
from hanabi_search_plugin.core.policy import Policy, sample_actions
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.games import SimpleBidding
from hanabi_search_plugin.testing import check_agent, check_game

POOL, HELD, SEATS = 8, 2, 3  # and two cards that nobody has are a seat's that never moves


class Sums(PlainGame, DealsTokens):
    """Three players say low or high, twice; the fourth hand is nobody's."""

    name = "sums"
    num_players, num_actions, max_length = SEATS, 2, 6
    return_range = (0.0, 1.0)
    public_actions = True
    num_factors, token_length, vocabulary = SEATS + 1, HELD, POOL
    visible = np.eye(SEATS, SEATS + 1, dtype=np.bool_)
    weights_are_chance = True

    def initial_states(self):
        deals = []

        def go(left, hands):
            if len(hands) == SEATS + 1:
                deals.append((hands, ()))
                return
            for hand in combinations(sorted(left), HELD):
                go(left - set(hand), (*hands, hand))

        go(set(range(POOL)), ())
        return [(deal, 1 / len(deals)) for deal in deals]

    def current_player(self, state):
        return NOBODY if len(state[1]) == self.max_length else len(state[1]) % SEATS

    def legal_actions(self, state):
        return [0, 1]

    def next_states(self, state, action):
        return [((state[0], (*state[1], action)), 1.0)]

    def returns(self, state):
        return [float(sum(state[0][0]) > 7)] * SEATS

    def observation(self, state, player):
        return [*state[0][player], *state[1], *[-1] * (self.max_length - len(state[1]))]

    def private_tokens(self, worlds, factor):
        return np.array([state[0][factor] for state in worlds.states]).reshape(len(worlds), HELD)

    def with_private(self, worlds, factor, tokens, rng):
        return worlds.select(np.arange(len(worlds))), (
            self.private_tokens(worlds, factor) == tokens
        ).all(axis=1)

    def token_weights(self, view, before):
        weights = np.zeros((len(before), POOL))
        for b, state in enumerate(view._states):
            j = before.shape[1]
            free = set(range(POOL)) - set(state[0][view.player]) - set(before[b].tolist())
            for token in free if j < SEATS * HELD else ():
                above = sum(other > token for other in free)
                first = j % HELD == 0
                if first or token > before[b, -1]:
                    weights[b, token] = above if first else 1
        return weights

    def worlds_of(self, view, tokens, rng):
        (state,) = view._states
        hidden = self.hidden(view.player).tolist()
        states = []
        for row in tokens.tolist():
            hands = list(state[0])
            for k, seat in enumerate(hidden):
                hands[seat] = tuple(row[HELD * k : HELD * (k + 1)])
            states.append((tuple(hands), state[1]))
        return PlainWorlds(self, states, rng)

    def replay(self, history, player, tokens):
        rows = np.zeros(len(tokens), dtype=np.int64)
        views = tuple(
            self.views_at(history, player, tokens, rows + t) for t in range(len(history.views))
        )
        return History(player, views, history.events)

    def views_at(self, history, player, tokens, turns):
        states = []
        for row, turn in zip(tokens, turns.tolist(), strict=True):
            view = history.views[turn]
            (state,) = self.worlds_of(view, row[None], Streams.still(1)).states
            states.append(state)
        return PlainView(self, player, states)

    def tokens_at(self, history, tokens, turn):
        return tokens


class Says(Policy):
    """High with a chance that grows with what it holds, or for sure above a sum."""

    def __init__(self, sharp: bool) -> None:
        self.deterministic = sharp

    def probabilities(self, view, legal, memory):
        held = view.observation("observation")[:, :2].sum(axis=1)
        high = (held > 7).astype(float) if self.deterministic else held / 14
        return np.stack([1 - high, high], axis=1)

    def act(self, view, legal, memory, rng):
        if self.deterministic:
            return self.probabilities(view, legal, memory).argmax(axis=1)
        return sample_actions(self.probabilities(view, legal, memory), rng)


GAME = Sums()


def after(make, calls, blueprint, seed=0):
    worlds = GAME.deal(np.random.default_rng(seed), 1)
    belief = make(worlds.view(0))
    for call in calls:
        event = worlds.step(np.array([call]))
        belief = belief.update(event, worlds.view(0))
    return belief


def test_the_toy_is_a_game_with_private_tokens() -> None:
    check_game(GAME)


@pytest.mark.parametrize("sharp", [False, True])
@pytest.mark.parametrize(("proposals", "exchanges"), [(2000, 0), (40, 12)])
def test_worlds_are_drawn_as_often_as_they_are_likely(
    sharp: bool, proposals: int, exchanges: int
) -> None:
    """Against the exact belief; with few proposals the exchanges do it."""
    blueprint, calls = (Says(sharp),) * SEATS, (1, 1, 0, 0, 1)
    doubt = 0.05
    settings = Seatwise(
        proposals=proposals, around=proposals, exchanges=exchanges, uncertainty=doubt
    )
    drawn = after(lambda view: settings(blueprint, view), calls, blueprint)
    exact = after(
        lambda view: EnumeratedBelief.start(GAME, blueprint, view, uncertainty=doubt),
        calls, blueprint,
    )  # fmt: skip
    worlds, chance = exact.support()
    likely = dict(zip([state[0] for state in worlds.states], chance.tolist(), strict=True))
    rng = np.random.default_rng(1)
    counts: dict[object, int] = {}
    rounds, n = (4, 1000) if exchanges == 0 else (40, 100)
    for _ in range(rounds):
        for state in drawn.sample(rng, n)[0].states:
            counts[state[0]] = counts.get(state[0], 0) + 1
    assert set(counts) <= set(likely)
    total = rounds * n
    apart = sum(abs(counts.get(deal, 0) / total - p) for deal, p in likely.items()) / 2
    even = sum(abs(1 / len(likely) - p) for p in likely.values()) / 2
    assert apart < 0.1 < even / 2, (apart, even)


def test_moves_that_are_no_evidence_say_nothing() -> None:
    blueprint = (Says(True),) * SEATS
    worlds = GAME.deal(np.random.default_rng(0), 1)
    belief = Seatwise()(blueprint, worlds.view(0))
    for call in (1, 1, 1):
        belief = belief.update(worlds.step(np.array([call])), worlds.view(0), by_blueprint=False)
    drawn, _ = belief.sample(np.random.default_rng(0), 2000)
    low = np.mean([sum(state[0][1]) <= 7 for state in drawn.states])
    assert 0.2 < low < 0.8 and belief.likelihoods == 0


def test_what_explains_the_moves_may_be_another_policy() -> None:
    blueprint = (Says(True),) * SEATS
    make = Seatwise(explained_by=Says(False), uncertainty=0.0)
    soft = after(lambda view: make(blueprint, view), (1, 1), blueprint)
    hard = after(lambda view: Seatwise(uncertainty=0.0)(blueprint, view), (1, 1), blueprint)
    assert all(sum(s[0][1]) > 7 for s in hard.sample(np.random.default_rng(0), 200)[0].states)
    assert any(sum(s[0][1]) <= 7 for s in soft.sample(np.random.default_rng(0), 200)[0].states)


def test_samples_are_those_of_their_generator() -> None:
    blueprint = (Says(False),) * SEATS
    belief = after(lambda view: Seatwise()(blueprint, view), (1, 0, 1), blueprint)
    one, two, other = (
        belief.sample(np.random.default_rng(seed), 50)[0].states for seed in (5, 5, 6)
    )
    assert list(one) == list(two) != list(other)
    assert "effective sample size" in belief.caveats()[-1]


def test_bridge_is_searched_by_such_a_belief_and_does_not_peek() -> None:
    pytest.importorskip("endplay", reason="endplay, which solves deals, is not installed")
    game, bidder = BridgeBidding(), NaturalBidder()
    view: View = game.deal(np.random.default_rng(0), 1).view(1)
    assert isinstance(private_belief(game, bidder, view), SeatwiseBelief)
    search = Sparta(rollouts=24, min_rollouts=4, round_size=8, threshold=10.0)
    belief = Seatwise(proposals=200, around=100, exchanges=4)
    check_agent(game, upgrade(bidder, game, search, belief=belief))


def test_bad_settings_and_games_are_refused() -> None:
    with pytest.raises(ConfigError, match="proposals"):
        Seatwise(proposals=0)
    with pytest.raises(ConfigError, match="uncertainty"):
        Seatwise(uncertainty=2.0)
    other = SimpleBidding()
    view = other.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match="DealsTokens"):
        Seatwise()((Says(True),) * 2, view)
    bridge = BridgeBidding()
    with pytest.raises(ConfigError, match="epsilon"):
        private_belief(
            bridge, NaturalBidder(), bridge.deal(np.random.default_rng(0), 1).view(0), epsilon=0.1
        )
