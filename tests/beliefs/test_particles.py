"""Particle beliefs of small games, against the enumerated ones."""

from collections import Counter

import numpy as np
import pytest

from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.game import Game, View
from hanabi_search_plugin.core.policy import Blueprint, Policy, UniformPolicy, memory_from
from hanabi_search_plugin.core.rollout import observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.testing.check_tools import joint
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_bayes import Hashed

SMALL_HANABI = "hanabi(players=2,colors=2,ranks=2,hand_size=2)"
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3))"
NOISY = Hashed(deterministic=False, remembers=True)


class Listless(OpenSpielGame):
    """Lists what can follow a move, but not the deals: they may be too many."""

    def deals(self):
        raise AssertionError("a particle belief must not list the deals")


class Bare(Game):
    """A game that deals and steps, and no more."""

    def __init__(self, game):
        self.inner = game
        for name in ("name", "num_players", "num_actions", "public_actions", "encodings"):
            setattr(self, name, getattr(game, name))

    def deal(self, rng, n):
        return self.inner.deal(rng, n)

    def action_to_string(self, player, action):
        return self.inner.action_to_string(player, action)


def play(game, blueprint, seat, rng, *, moves=20):
    """(worlds, event) at every step of a game played by the blueprint, at ``seat`` at random."""
    worlds = game.deal(rng, 1)
    memories = start_memories(worlds, blueprint)
    yield worlds, None
    for _ in range(moves):
        if worlds.terminal[0]:
            return
        actor = worlds.current_player
        view = worlds.view(int(actor[0]))
        action = np.array([rng.choice(np.flatnonzero(worlds.legal[0]))])
        if actor[0] != seat:
            action = blueprint[actor[0]].act(
                view, view.legal, memories[actor[0]], Streams.spawn(rng, 1)
            )
        event = worlds.step(action)
        memories = observe_all(worlds, actor, action, blueprint, memories)
        yield worlds, event


def follow(belief, steps, seat):
    """The belief after every step of a recorded game."""
    yield belief
    for worlds, event in steps[1:]:
        belief = belief.update(event, worlds.view(seat))
        yield belief


def recorded(game, blueprint, seat, rng, **limits):
    return [
        (worlds.select(np.array([0])), event)
        for worlds, event in play(game, blueprint, seat, rng, **limits)
    ]


def chances(worlds, weights):
    total = Counter()
    for key, weight in zip(joint(worlds), weights.tolist(), strict=True):
        total[key] += weight
    return total


def distance(belief, reference):
    """Total variation."""
    found = chances(belief.tracked.worlds, belief.tracked.weights)
    exact = chances(*reference.support())
    assert found.keys() <= exact.keys(), "a particle that cannot be"
    return sum(abs(found[key] - p) for key, p in exact.items()) / 2


def policy_for(game):
    return NOISY if "tensor" in game.encodings else UniformPolicy()


@pytest.mark.parametrize("kind", [Listless, Bare])
@pytest.mark.parametrize(
    "name",
    [
        "leduc_poker",
        "tiny_bridge_2p",
        pytest.param(SMALL_HANABI, marks=pytest.mark.slow),
        GOOFSPIEL,
    ],
)
def test_converges_to_the_enumerated_belief(name, kind):
    full = OpenSpielGame(name)
    game = Listless(name) if kind is Listless else Bare(full)
    blueprint = (policy_for(full),) * 2
    rng = np.random.default_rng(0)
    errors = {30: [], 1000: []}
    for seat in (0, 1, 0, 1):
        steps = recorded(full, blueprint, seat, rng, moves=4)
        exact = EnumeratedBelief.start(full, blueprint, steps[0][0].view(seat), epsilon=0.1)
        for n, found in errors.items():
            belief = ParticleBelief.start(
                game, blueprint, steps[0][0].view(seat), particles=n, rng=rng, epsilon=0.1
            )
            pairs = zip(follow(belief, steps, seat), follow(exact, steps, seat), strict=True)
            for now, reference in pairs:
                assert (now.likelihoods > 0) == (reference.likelihoods > 0)
                assert 1 <= now.size <= n
                if now.recovered == 0:  # the evidence is the same
                    found.append(distance(now, reference))
                assert n == 30 or now.recovered == 0
    few, many = (float(np.mean(found)) for found in errors.values())
    assert many < (0.08 if kind is Listless else 0.2)
    assert many < 0.5 * few or few < 0.01


@pytest.mark.parametrize("policy", [SmartBot(), UniformPolicy()])
def test_native_hanabi(policy):
    """Not Enumerable: particles whose chance turns out otherwise are lost, the others carry on."""
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    blueprint, rng = (policy, policy), np.random.default_rng(1)
    errors = []
    for _ in range(3):
        steps = recorded(game, blueprint, 0, rng, moves=5)
        view = steps[0][0].view(0)
        exact = private_belief(game, blueprint, view, epsilon=0.2)
        belief = ParticleBelief.start(
            game, blueprint, view, particles=2000, rng=rng, epsilon=0.2, tries=300_000
        )
        for now, reference in zip(follow(belief, steps, 0), follow(exact, steps, 0), strict=True):
            errors.append(distance(now, reference))
            worlds, memories = now.sample(rng, 10)
            assert worlds.view(0).keys() == list(now.view.keys()) * 10
            assert len(memories) == 2
        assert now.recovered == 0
    assert np.mean(errors) < 0.1


def test_weights_stay_even():
    """Resampled when fewer than half are effective; memories go with their worlds."""
    game, rng = OpenSpielGame(SMALL_HANABI), np.random.default_rng(2)
    blueprint, resampled, uneven = (NOISY, NOISY), 0, 0
    steps = recorded(game, blueprint, 0, rng, moves=12)
    belief = ParticleBelief.start(game, blueprint, steps[0][0].view(0), particles=400, rng=rng)
    for t, now in enumerate(follow(belief, steps, 0)):
        weights = now.tracked.weights
        assert weights.sum() == pytest.approx(1)
        assert 1 / (weights**2).sum() >= 200
        resampled += len(weights) == 400 and np.ptp(weights) < 1e-12 and t > 0
        uneven += np.ptp(weights) > 1e-12
        states, memories = now.tracked.worlds.states, now.tracked.memories
        for b in range(0, len(states), 40):
            for p in range(2):
                history = game.history(states[b], p)
                assert memories[p][b] == memory_from(blueprint[p], history)[0]
    assert resampled > 0 and uneven > 0


@pytest.mark.parametrize("kind", [Listless, Bare])
def test_the_same_seed_gives_the_same_belief(kind):
    full = OpenSpielGame("leduc_poker")
    game = Listless("leduc_poker") if kind is Listless else Bare(full)
    blueprint = (NOISY, NOISY)
    steps = recorded(full, blueprint, 0, np.random.default_rng(3), moves=4)

    def run(seed):
        np.random.seed(seed)
        state = np.random.get_state()[1].copy()
        belief = ParticleBelief.start(
            game, blueprint, steps[0][0].view(0), particles=50, rng=np.random.default_rng(seed)
        )
        beliefs = list(follow(belief, steps, 0))
        worlds, _ = beliefs[-1].sample(np.random.default_rng(0), 20)
        assert np.array_equal(np.random.get_state()[1], state)
        # A belief is not changed by its updates.
        assert list(follow(belief, steps, 0))[-1].tracked.weights.tolist() == (
            beliefs[-1].tracked.weights.tolist()
        )
        return [chances(b.tracked.worlds, b.tracked.weights) for b in beliefs], joint(worlds)

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_sparta_runs_on_it():
    """And values moves as it does on the enumerated belief."""
    game = OpenSpielGame(SMALL_HANABI)
    blueprint, rng = (NOISY, NOISY), np.random.default_rng(4)
    steps = recorded(game, blueprint, 0, rng, moves=2)
    view = steps[0][0].view(0)
    search = Sparta(rollouts=3000, pruning="off")
    enumerated = EnumeratedBelief.start(game, blueprint, view)
    particles = ParticleBelief.start(game, blueprint, view, particles=2000, rng=rng)
    for belief, reference in zip(
        follow(particles, steps, 0), follow(enumerated, steps, 0), strict=True
    ):
        if belief.view.current_player[0] == 0:
            found = search(np.random.default_rng(0), belief)
            exact = search(np.random.default_rng(1), reference)
            margin = 5 * np.hypot(found.stderr, exact.stderr)
            assert (abs(found.mean - exact.mean) <= margin + 1e-9).all()
            assert (
                found.belief_size == belief.size
                and found.note == "the belief is a sample of the worlds"
            )
            assert found.likelihoods == belief.likelihoods


class OnlyWhenStrong(Policy):
    """Kuhn poker: bets with the highest card alone."""

    def act(self, view, legal, memory, rng):
        return np.array([int(key[0] == "2") for key in list(view.keys())])


@pytest.mark.parametrize("kind", [Listless, Bare])
def test_recovers_when_the_partner_leaves_its_policy(kind, caplog):
    """Seat 1 holds the 2 and sees a bet that only the holder of the 2 would make."""
    caplog.set_level("INFO")
    full = OpenSpielGame("kuhn_poker")
    game = Listless("kuhn_poker") if kind is Listless else Bare(full)
    worlds = full.deal_scripts([[0, 2]])
    rng, blueprint = np.random.default_rng(0), (OnlyWhenStrong(), OnlyWhenStrong())
    belief = ParticleBelief.start(game, blueprint, worlds.view(1), particles=400, rng=rng)
    event = worlds.step(np.array([1]))
    after = belief.update(event, worlds.view(1))
    assert (belief.recovered, after.recovered) == (0, 1)
    assert "no particle explains player 0's move 1" in caplog.text
    cards = Counter(state.history()[0] for state in after.tracked.worlds.states)
    assert set(cards) == {0, 1} and min(cards.values()) > 150
    note = Sparta(rollouts=10)(rng, after).note
    assert "the belief had to recover once" in note
    # What cannot have been seen is no reason to invent anything.
    with pytest.raises(UnsupportedError, match="10 times 400 new particles"):
        belief.update(event, full.deal_scripts([[0, 2]]).view(1))  # as if nobody had moved


def test_refuses_what_it_cannot_do():
    game, rng = HanabiGame(players=2), np.random.default_rng(0)
    blueprint, worlds = (SmartBot(), SmartBot()), game.deal(rng, 2)
    one = worlds.view(0).select(np.array([0]))
    with pytest.raises(UnsupportedError, match=r"0 of 500 deals of hanabi .* expected 10"):
        ParticleBelief.start(game, blueprint, one, particles=10, rng=rng, tries=500)
    with pytest.raises(
        UnsupportedError, match=r"0 of 200 .* expected 200: the game has a belief of its own"
    ):
        ParticleBelief.start(game, blueprint, one, particles=200, rng=rng, tries=500)
    with pytest.raises(ConfigError, match="particles must be from 1 to tries=500, got 0"):
        ParticleBelief.start(game, blueprint, one, particles=0, rng=rng, tries=500)
    with pytest.raises(ConfigError, match="epsilon must be"):
        ParticleBelief.start(game, blueprint, one, rng=rng, epsilon=2.0)
    with pytest.raises(ContractError, match="one view, got 2"):
        ParticleBelief.start(game, blueprint, worlds.view(0), rng=rng)


@pytest.mark.parametrize("particles", [10, 400])
def test_all_tries_are_made_whatever_the_number_of_particles(particles):
    """Ten of them gave up after as many deals as were tried, a thousand after one batch."""
    bare = Bare(OpenSpielGame("euchre"))
    view = bare.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match=r"0 of 1000 deals .*more tries \(now 1000\)"):
        ParticleBelief.start(
            bare, (UniformPolicy(),) * 4, view, particles=particles, tries=1_000,
            rng=np.random.default_rng(0),
        )  # fmt: skip


def test_an_agent_can_be_given_particles() -> None:
    game = OpenSpielGame("tiny_bridge_2p")

    def particles(blueprint: Blueprint, view: View) -> ParticleBelief:
        return ParticleBelief.start(
            game, blueprint, view, particles=200, rng=np.random.default_rng(1)
        )

    agent = upgrade(UniformPolicy(), game, search=Sparta(rollouts=200), belief=particles)
    view = game.deal(np.random.default_rng(0), 2).view(0)
    beliefs = agent.start(view)
    assert [type(belief) for belief in beliefs] == [ParticleBelief, ParticleBelief]
    action = agent.act(view, view.legal, beliefs, Streams.spawn(np.random.default_rng(2), 2))
    assert view.legal[np.arange(2), action].all()
    with pytest.raises(ConfigError, match=r"epsilon must be from 0 to 1, got 1\.5"):
        upgrade(UniformPolicy(), game, search=Sparta(), epsilon=1.5)
    for name in ("epsilon", "uncertainty"):
        with pytest.raises(ConfigError, match=f"{name} must be 0 where a belief is given"):
            upgrade(UniformPolicy(), game, search=Sparta(), belief=particles, **{name: 0.1})
    with pytest.raises(ConfigError, match="uncertainty must be 0 where all seats search together"):
        upgrade(UniformPolicy(), game, search=JointSparta(), uncertainty=0.1)
