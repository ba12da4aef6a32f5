"""Enumerated private and public beliefs of small games, against Bayes' rule done otherwise."""

import zlib

import numpy as np
import pytest

from hanabi_search_plugin.beliefs import tracked_worlds
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.public_enumerated import EnumeratedPublicBelief
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.game import Event
from hanabi_search_plugin.core.policy import Policy, UniformPolicy, as_blueprint, sample_actions
from hanabi_search_plugin.core.rollout import start_memories
from hanabi_search_plugin.testing import check_belief
from hanabi_search_plugin.testing.belief_checks import distribution
from hanabi_search_plugin.testing.check_tools import joint
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

SMALL_HANABI = "hanabi(players=2,colors=2,ranks=2,hand_size=2)"
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3))"


class Keyed(Policy):
    """A legal move by a hash of all the seat has seen; it remembers that in its memory."""

    def __init__(self, deterministic=True):
        self.deterministic = deterministic

    def start(self, view):
        return [zlib.crc32(repr(key).encode()) for key in list(view.keys())]

    def observe(self, view, event, memory):
        now = zip(memory, view.keys(), event.action.tolist(), strict=True)
        return [zlib.crc32(repr(item).encode()) for item in now]

    def probabilities(self, view, legal, memory):
        seeds = [np.random.default_rng(seed).random(legal.shape[1]) for seed in memory]
        chance = np.array(seeds).reshape(legal.shape) * legal
        if self.deterministic:
            return (np.arange(legal.shape[1]) == chance.argmax(axis=1)[:, None]).astype(float)
        return chance / chance.sum(axis=1, keepdims=True)

    def act(self, view, legal, memory, rng):
        chance = self.probabilities(view, legal, memory)
        return chance.argmax(axis=1) if self.deterministic else sample_actions(chance, rng)


@pytest.mark.parametrize(
    "name", ["tiny_hanabi", "kuhn_poker", "leduc_poker", "tiny_bridge_2p", SMALL_HANABI, GOOFSPIEL]
)
@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_equals_bayes(name, deterministic, epsilon):
    check_belief(OpenSpielGame(name), Keyed(deterministic), games=1, epsilon=epsilon)


@pytest.mark.parametrize("name", ["tiny_hanabi", "leduc_poker", SMALL_HANABI])
@pytest.mark.parametrize("deterministic", [True, False])
def test_equals_bayes_with_uncertain_partners(name, deterministic):
    check_belief(OpenSpielGame(name), Keyed(deterministic), games=1, uncertainty=0.3)


def test_equals_bayes_where_actions_are_not_declared_public():
    check_belief(OpenSpielGame("tiny_bridge_2p", public_actions=False), Keyed(False), games=1)


class KuhnBettor(Policy):
    """Bets with probability 0.1, 0.4 or 0.9 for the cards 0, 1 and 2."""

    deterministic = False

    def probabilities(self, view, legal, memory):
        bet = np.array([[0.1, 0.4, 0.9][int(key[0])] for key in list(view.keys())])
        return np.stack([1 - bet, bet], axis=1)

    def act(self, view, legal, memory, rng):
        return sample_actions(self.probabilities(view, legal, memory), rng)


def test_kuhn_poker_by_hand():
    game = OpenSpielGame("kuhn_poker")
    worlds = game.deal_scripts([[2, 1]])
    belief = EnumeratedBelief.start(game, (KuhnBettor(),) * 2, worlds.view(1))
    assert belief.size == 2
    event = worlds.step(np.array([1]))
    belief = belief.update(event, worlds.view(1))
    found, weights = belief.support()
    chance = {s.history()[0]: w for s, w in zip(found.states, weights, strict=True)}
    assert chance == pytest.approx({0: 0.1 / 1.0, 2: 0.9 / 1.0})
    assert belief.likelihoods == 2


def test_small_chunks_give_the_same(monkeypatch):
    game, blueprint = OpenSpielGame(SMALL_HANABI), (Keyed(False),) * 2
    found = []
    for chunk in (4096, 3):
        monkeypatch.setattr(tracked_worlds, "CHUNK", chunk)
        rng, worlds = np.random.default_rng(1), game.deal(np.random.default_rng(1), 1)
        belief = EnumeratedBelief.start(game, blueprint, worlds.view(0))
        for _ in range(5):
            event = worlds.step(np.array([rng.choice(np.flatnonzero(worlds.legal[0]))]))
            belief = belief.update(event, worlds.view(0))
        found.append(distribution(belief))
    assert len(found[0]) > 3
    assert found[0] == pytest.approx(found[1])


class OnlyWhenStrong(Policy):
    """Kuhn poker: bets with the highest card alone."""

    def act(self, view, legal, memory, rng):
        return np.array([int(key[0] == "2") for key in list(view.keys())])


def test_recovers_when_the_partner_leaves_its_policy(caplog):
    """Seat 1 holds the 2 and sees a bet that only the holder of the 2 would make."""
    caplog.set_level("INFO")
    game, blueprint = OpenSpielGame("kuhn_poker"), (OnlyWhenStrong(),) * 2
    worlds = game.deal_scripts([[0, 2]])
    belief = EnumeratedBelief.start(game, blueprint, worlds.view(1))
    event = worlds.step(np.array([1]))
    belief = belief.update(event, worlds.view(1))
    assert belief.recovered == 1
    assert "no world explains player 0's move 1" in caplog.text
    found, weights = belief.support()
    assert sorted(s.history()[0] for s in found.states) == [0, 1]
    assert weights.tolist() == [0.5, 0.5]
    # With some uncertainty there is nothing to recover from.
    careful = EnumeratedBelief.start(
        game, blueprint, game.deal_scripts([[0, 2]]).view(1), epsilon=0.1
    ).update(event, worlds.view(1))
    assert careful.recovered == 0
    assert distribution(careful) == pytest.approx(distribution(belief))


def test_recovered_memories_follow_each_worlds_own_trajectory():
    game, blueprint = OpenSpielGame(SMALL_HANABI), (Keyed(),) * 2
    rng, recovered = np.random.default_rng(0), 0
    for _ in range(4):
        worlds = game.deal(rng, 1)
        belief = EnumeratedBelief.start(game, blueprint, worlds.view(0))
        while not worlds.terminal[0]:
            event = worlds.step(np.array([rng.choice(np.flatnonzero(worlds.legal[0]))]))
            before, belief = belief, belief.update(event, worlds.view(0))
            if belief.recovered > before.recovered:
                assert distribution(belief)[joint(worlds)[0]] > 0
        recovered += belief.recovered
        found, memories = belief.sample(rng, 20)
        for b, state in enumerate(found.states):
            for p in range(2):
                history = game.history(state, p)
                memory = blueprint[p].start(history.views[0])
                for event, view in zip(history.events, history.views[1:], strict=True):
                    memory = blueprint[p].observe(view, event, memory)
                assert [memories[p][b]] == memory
    assert recovered > 0


def test_refuses_what_it_cannot_do():
    game = OpenSpielGame("leduc_poker")
    blueprint = as_blueprint(UniformPolicy(), 2)
    worlds = game.deal(np.random.default_rng(0), 2)
    one = worlds.view(0).select(np.array([0]))
    with pytest.raises(UnsupportedError, match=r"at most 3, got .* belief=Particles"):
        EnumeratedBelief.start(game, blueprint, one, max_worlds=3)
    for name in ("epsilon", "uncertainty"):
        with pytest.raises(ConfigError, match=f"{name} must be from 0 to 1"):
            EnumeratedBelief.start(game, blueprint, one, **{name: 1.5})
    with pytest.raises(ContractError, match="one view, got 2"):
        EnumeratedBelief.start(game, blueprint, worlds.view(0))
    belief = EnumeratedBelief.start(game, blueprint, one, max_worlds=5)
    event = worlds.select(np.array([0])).step(np.array([1]))
    with pytest.raises(ContractError, match="seat 0 is to move, got a move of seat 1"):
        belief.update(Event(np.array([1]), event.action), worlds.view(0).select(np.array([0])))


def play(game, rng, moves=5):
    """A game of random moves: the worlds and the event after each, None at the start."""
    worlds = game.deal(rng, 1)
    yield worlds, None
    for _ in range(moves):
        if worlds.terminal[0]:
            return
        event = worlds.step(np.array([rng.choice(np.flatnonzero(worlds.legal[0]))]))
        yield worlds, event


@pytest.mark.parametrize("name", ["tiny_hanabi", "kuhn_poker", SMALL_HANABI, GOOFSPIEL])
def test_public_beliefs_condition_to_private_ones(name):
    """For each player: the infostate it really holds gives the belief it would have kept itself."""
    game, blueprint = OpenSpielGame(name), (Keyed(False),) * 2
    rng = np.random.default_rng(5)
    for observer in (0, 1):
        public, private = None, []
        for worlds, event in play(game, rng):
            if event is None:
                public = EnumeratedPublicBelief.start(game, blueprint, worlds.view(observer))
                private = [EnumeratedBelief.start(game, blueprint, worlds.view(p)) for p in (0, 1)]
            else:
                public = public.update(event.seen_by(observer, game), worlds.view(observer))
                private = [b.update(event, worlds.view(p)) for p, b in enumerate(private)]
            for p in (0, 1):
                ids = public.infostates(p)
                views = public.view_of(p, ids).keys()
                assert public.weights(p, ids).sum() == pytest.approx(1)
                assert len(ids) == len(views) == public.size(p)
                truth = worlds.view(p).keys()[0]
                held = [e for e, key in zip(ids.tolist(), views, strict=True) if key == truth]
                assert p != observer or public.infostate_of(worlds.view(p)) in held
                same = [
                    conditioned
                    for conditioned in (public.condition_on(p, e) for e in held)
                    if distribution(conditioned) == pytest.approx(distribution(private[p]))
                    and conditioned.memory == private[p].memory
                    and conditioned.history.events == private[p].history.events
                ]
                assert same


def test_public_knowledge_is_found():
    """Two-player Hanabi: a discarded card is public, a drawn one is not."""
    game = OpenSpielGame(SMALL_HANABI)
    blueprint = as_blueprint(UniformPolicy(), 2)
    worlds = game.deal_scripts([[0, 1, 2, 2, 0, 3, 0, 2]])
    beliefs = [EnumeratedPublicBelief.start(game, blueprint, worlds.view(p)) for p in (0, 1)]
    for action in (5, 0):  # player 0 hints yellow, player 1 discards a yellow 1
        event = worlds.step(np.array([action]))
        beliefs = [b.update(event, worlds.view(p)) for p, b in enumerate(beliefs)]
    for p in (0, 1):
        ids = beliefs[0].infostates(p)
        weights = [belief.weights(p, ids) for belief in beliefs]
        assert weights[0] == pytest.approx(weights[1])
        keys = list(beliefs[0].view_of(p, ids).keys())
        shown = [str(key[0]).split("Discards:")[1] for key in keys]
        assert set(shown) == {" Y1"}
        assert beliefs[0].size(p) > 1


def test_excluding_is_evidence_taken_later():
    """No evidence at the time, then ruling out what would have moved otherwise: the same belief."""
    game, blueprint = OpenSpielGame(SMALL_HANABI), (Keyed(),) * 2
    rng, narrowed = np.random.default_rng(2), 0
    for _ in range(3):
        worlds = game.deal(rng, 1)
        at_once = later = EnumeratedPublicBelief.start(game, blueprint, worlds.view(0))
        first = later
        memories = start_memories(worlds, blueprint)
        view = worlds.view(0)
        event = worlds.step(blueprint[0].act(view, view.legal, memories[0], None))
        at_once = at_once.update(event, worlds.view(0))
        later = later.update(event, worlds.view(0), by_blueprint=False)
        hint = worlds.step(np.array([rng.choice(np.flatnonzero(worlds.legal[0]))]))
        at_once = at_once.update(hint, worlds.view(0), by_blueprint=False)
        later = later.update(hint, worlds.view(0), by_blueprint=False)
        held = [first.condition_on(0, e) for e in range(first.size(0))]
        moves = [int(blueprint[0].act(b.view, b.view.legal, b.memory, None)[0]) for b in held]
        before, grown = later.size(0), later.ancestors(0, 0, later.size(0))
        assert later.ancestors(0, 0, len(grown) - 1) is None
        assert set(grown.tolist()) <= set(first.infostates(0).tolist())
        others = np.flatnonzero(np.array(moves) != event.action[0])
        narrow = later.exclude(0, 0, others)
        for p in (0, 1):
            ids = narrow.infostates(p)
            shown = [b.view_of(p, ids).keys() for b in (narrow, at_once)]
            assert shown[0] == shown[1]
            assert narrow.weights(p, ids) == pytest.approx(at_once.weights(p, ids))
        kept = narrow.ancestors(0, 0, before)
        assert kept.tolist() == [e for e in grown.tolist() if e not in others]
        narrowed += narrow.size(0) < before
        with pytest.raises(ContractError, match="rules out"):
            later.exclude(0, 0, first.infostates(0))
        with pytest.raises(ContractError, match="turn must be"):
            later.ancestors(0, 9, 1)
    assert narrowed > 0


def test_public_beliefs_recover(caplog):
    caplog.set_level("INFO")
    game, blueprint = OpenSpielGame("kuhn_poker"), (OnlyWhenStrong(),) * 2
    worlds = game.deal_scripts([[0, 2]])
    public = EnumeratedPublicBelief.start(game, blueprint, worlds.view(1))
    public = public.update(worlds.step(np.array([1])), worlds.view(1))
    assert public.recovered == 1
    assert "drops all evidence" in caplog.text
    assert public.turn == 1
    assert public.weights(0, public.infostates(0)) == pytest.approx([1 / 3, 1 / 3, 1 / 3])
