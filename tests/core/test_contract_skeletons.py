"""Four searches in some 50 lines each, written against the contracts alone, on tiny_hanabi.

They are here to show that the contracts are enough for SPARTA, joint search, RIS-MCTS and LBS.
Player 0 is dealt d0 in {0, 1}, player 1 is dealt d1, each plays one of three actions, and all are
paid ``PAYOFF[d0, d1, a0, a1]``. The best joint policy earns 10.
"""

from collections import defaultdict

import numpy as np
import pytest

from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.public_enumerated import EnumeratedPublicBelief
from hanabi_search_plugin.core.policy import Policy, UniformPolicy, Value
from hanabi_search_plugin.core.rollout import action_values, observe_all, rollout, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers.openspiel import OpenSpielDealtGame

GAME = OpenSpielDealtGame("tiny_hanabi")
PAYOFF = np.array(
    [float(x) for x in GAME.spiel.get_parameters()["payoff"].split(";")]
).reshape(2, 2, 3, 3)  # fmt: skip
DEALS = [(d0, d1) for d0 in range(2) for d1 in range(2)]


class Table(Policy):
    """``moves[seat]`` by private card, for seat 1 by card and partner's move."""

    def __init__(self, first, second):
        self.moves = (first, second)

    def act(self, view, legal, memory, rng):
        moves = []
        for key in list(view.keys()):  # "p1:d0" or "p1:d0 p0:a2"
            own, *heard = [int(word[-1]) for word in key.split()]
            moves.append(self.moves[view.player][own * 3 + heard[0] if heard else own])
        return np.array(moves, dtype=np.int64)


# Player 0 always says 1; player 1 listens, to no good: the blueprint earns 4, one-ply search of
# player 0's move 5, and 10 is in reach once player 1 knows that player 0 searches.
BLUEPRINT = (Table((1, 1), (1, 0, 0, 0, 0, 1)),) * 2


def earnings(first, second):
    """The exact mean return of ``first(worlds)`` and then ``second(worlds, event, before)``."""
    total = 0.0
    for deal in DEALS:
        worlds = GAME.deal_scripts([deal])
        start = worlds.view(1)
        event = worlds.step(np.array([first(worlds.view(0))]))
        worlds.step(np.array([second(start, event, worlds.view(1))]))
        total += worlds.returns[0, 0]
    return total / len(DEALS)


def by_blueprint(seat):
    def move(*views):
        view = views[-1]
        return BLUEPRINT[seat].act(view, view.legal, None, None)[0]

    return move


# 1. SPARTA: the mean of every move over the belief, the blueprint thereafter.


def sparta(belief):
    worlds, weights = belief.support()
    actions = np.flatnonzero(belief.view.legal[0])
    memories = start_memories(worlds, belief.blueprint)
    streams = Streams(np.zeros(len(worlds), dtype=np.uint64))
    values = action_values(worlds, actions, belief.blueprint, memories, belief.seat, streams)
    mean = values @ weights
    return int(actions[mean.argmax()]), mean


def test_sparta_skeleton():
    def first(view):
        return sparta(EnumeratedBelief.start(GAME, BLUEPRINT, view))[0]

    def second(start, event, view):
        belief = EnumeratedBelief.start(GAME, BLUEPRINT, start, epsilon=0.1).update(event, view)
        return sparta(belief)[0]

    assert earnings(by_blueprint(0), by_blueprint(1)) == pytest.approx(4.0)
    assert earnings(first, by_blueprint(1)) == pytest.approx(5.0)
    assert earnings(by_blueprint(0), second) == pytest.approx(8.0)


# 2. Joint search: player 1 rules out what player 0's search would not have done.


def range_search(public, player):
    """What ``player`` would do by search, for each private history it may have."""
    ids = public.infostates(player).tolist()
    return np.array([sparta(public.condition_on(player, infostate))[0] for infostate in ids])


def test_joint_search_skeleton():
    def first(view):
        public = EnumeratedPublicBelief.start(GAME, BLUEPRINT, view)
        return range_search(public, 0)[public.infostate_of(view)]

    def second(start, event, view):
        before = EnumeratedPublicBelief.start(GAME, BLUEPRINT, start)
        public = before.update(event, view, by_blueprint=False)
        assert public.size(0) == 2
        others = np.flatnonzero(range_search(before, 0) != event.action[0])
        public = public.exclude(0, 0, others)
        assert public.size(0) == 1  # the two cards search differently
        return sparta(public.condition_on(1, public.infostate_of(view)))[0]

    assert earnings(first, second) == pytest.approx(10.0)


# 3. RIS-MCTS: one tree per player's information, redeterminised at every node.


def ris_mcts(belief, rng, iterations):
    game, stats = belief.game, defaultdict(lambda: [0, 0.0])

    def choose(view):
        key, actions = view.keys()[0], np.flatnonzero(view.legal[0])
        tried = sum(stats[key, a][0] for a in actions)
        bonus = [
            stats[key, a][1] / stats[key, a][0] + 5 * np.sqrt(np.log(tried) / stats[key, a][0])
            if stats[key, a][0]
            else np.inf
            for a in actions
        ]
        return key, int(actions[int(np.argmax(bonus))])

    for _ in range(iterations):
        worlds, memories = belief.sample(rng, 1)
        path = []
        while not worlds.terminal[0]:
            player = int(worlds.current_player[0])
            saved, hidden = worlds, worlds
            if player != belief.seat:  # what that player knows is all that its choice may use
                hidden = game.redeterminize(worlds, player, Streams.spawn(rng, 1))
            key, action = choose(hidden.view(player))
            after = hidden.select(np.array([0]))
            event = after.step(np.array([action]))
            if hidden is not saved:
                after = game.restore(after, player, saved, Streams.spawn(rng, 1))
                if after is None:
                    break
            memories = observe_all(after, event.player, event.action, belief.blueprint, memories)
            worlds = after
            path.append((key, action, player))
            if stats[key, action][0] == 0:
                break
        end = rollout(worlds, belief.blueprint, memories, Streams.spawn(rng, 1)).returns[0]
        for key, action, player in path:
            stats[key, action][0] += 1
            stats[key, action][1] += end[player]
    key = belief.view.keys()[0]
    return {a: stats[key, a] for a in np.flatnonzero(belief.view.legal[0]).tolist()}


@pytest.mark.parametrize("deal", DEALS)
@pytest.mark.parametrize("said", range(3))
def test_ris_mcts_skeleton(deal, said):
    """Player 1's means are those of either card behind the move that it heard."""
    blueprint = (UniformPolicy(),) * 2
    worlds = GAME.deal_scripts([deal])
    belief = EnumeratedBelief.start(GAME, blueprint, worlds.view(1))
    belief = belief.update(worlds.step(np.array([said])), worlds.view(1))
    found = ris_mcts(belief, np.random.default_rng(0), 400)
    exact = PAYOFF[:, deal[1], said].mean(axis=0)
    visits = [found[a][0] for a in range(3)]
    assert exact[int(np.argmax(visits))] == exact.max()
    best = int(np.argmax(visits))
    assert found[best][1] / found[best][0] == pytest.approx(exact[best], abs=1.0)


def test_ris_mcts_skeleton_sees_ahead():
    """Player 0's tree has player 1 answer from what it knows, and beats the uniform rollout."""
    blueprint = (UniformPolicy(),) * 2
    worlds = GAME.deal_scripts([(0, 0)])
    belief = EnumeratedBelief.start(GAME, blueprint, worlds.view(0))
    found = ris_mcts(belief, np.random.default_rng(0), 600)
    best = max(found, key=lambda a: found[a][0])
    assert found[best][1] / found[best][0] > PAYOFF[0].mean(axis=(0, 2)).max() + 1


# 4. LBS: a belief learned from play over the partner's tokens, and rollouts cut by a value.


class LearnedBelief:
    """Counts of the partner's token behind each thing that player 1 may see."""

    def __init__(self, blueprint, games, rng):
        self.count = defaultdict(lambda: np.zeros(GAME.vocabulary))
        worlds = GAME.deal(rng, games)
        view = worlds.view(0)
        streams = Streams.spawn(rng, games)
        worlds.step(blueprint[0].act(view, view.legal, None, streams))
        tokens = GAME.private_tokens(worlds, 0)[:, 0]
        for key, token in zip(worlds.view(1).keys(), tokens, strict=True):
            self.count[key][token] += 1

    def sample(self, worlds, rng, n):
        """n worlds with the learned distribution of what player 1 cannot see."""
        assert not GAME.visible[1, 0]
        chance = self.count[worlds.view(1).keys()[0]]
        tokens = rng.choice(GAME.vocabulary, size=(n, 1), p=chance / chance.sum())
        many = worlds.select(np.zeros(n, dtype=np.int64))
        drawn, possible = GAME.with_private(many, 0, tokens, Streams.spawn(rng, n))
        return drawn.select(possible)


class Ahead(Value):
    """What is still to come after player 0's move if player 1 answers at random."""

    combine = "central"

    def value(self, view, memory):
        out = []
        for key in list(view.keys()):  # "p1:d0 p0:a2"
            own, said = [int(word[-1]) for word in key.split()]
            out.append(PAYOFF[:, own, said].mean())
        return np.array(out)


class Cautious(UniformPolicy):
    """Player 0 says 2 with card 0 and 0 or 1 with card 1."""

    def probabilities(self, view, legal, memory):
        odds = {"p0:d0": [0.0, 0.0, 1.0], "p0:d1": [0.5, 0.5, 0.0]}
        return np.array([odds.get(key, [1 / 3] * 3) for key in list(view.keys())])

    def act(self, view, legal, memory, rng):
        cumulative = np.cumsum(self.probabilities(view, legal, memory), axis=1)
        return (cumulative > rng.uniform()[:, None]).argmax(axis=1)


def test_lbs_skeleton():
    rng, blueprint = np.random.default_rng(0), (Cautious(),) * 2
    learned = LearnedBelief(blueprint, 400, rng)
    for deal, said in [((0, 0), 2), ((0, 1), 2), ((1, 0), 0), ((1, 1), 0)]:
        truth = GAME.deal_scripts([deal])
        truth.step(np.array([said]))
        sampled = learned.sample(truth, rng, 50)
        assert GAME.private_tokens(sampled, 0).tolist() == [[deal[0]]] * 50
        actions = np.arange(3)
        values = action_values(sampled, actions, blueprint, start_memories(sampled, blueprint), 1,
            Streams.spawn(rng, len(sampled)),
        )  # fmt: skip
        assert PAYOFF[(*deal, said, int(values.mean(axis=1).argmax()))] == 10


def test_lbs_skeleton_truncated():
    """Player 0's moves by one move of rollout and the value of what follows."""
    rng, blueprint, value = np.random.default_rng(0), (UniformPolicy(),) * 2, Ahead()
    worlds, memories = EnumeratedBelief.start(
        GAME, blueprint, GAME.deal_scripts([(0, 0)]).view(0)
    ).sample(rng, 600)
    means = []
    for action in range(3):
        after = worlds.select(np.arange(600))
        played = np.full(600, action)
        event = after.step(played)
        held = observe_all(after, event.player, played, blueprint, memories)
        cut = rollout(after, blueprint, held, Streams.spawn(rng, 600), depth=0)
        ahead = value.value(cut.worlds.view(1), cut.memories[1])
        means.append((cut.returns[cut.alive, 0] + ahead).mean())
    assert means == pytest.approx([PAYOFF[:, :, a].mean() for a in range(3)], abs=0.3)
