"""Public beliefs of three players and more, against Bayes' rule over all decks."""

import logging

import numpy as np
import pytest

from hanabi_search_plugin.belief import EnumeratedBelief
from hanabi_search_plugin.blueprints.agents import rule_agent
from hanabi_search_plugin.blueprints.compiled import SmartBot
from hanabi_search_plugin.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.game import Event
from hanabi_search_plugin.hanabi import joint_public_belief, supposed
from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.policy import UniformPolicy, as_blueprint
from hanabi_search_plugin.public_belief import EnumeratedPublicBelief
from hanabi_search_plugin.rollout import observe_all, start_memories
from hanabi_search_plugin.streams import Streams
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_bayes import Hashed, hands_of
from tests.helpers.hanabi_decks import AllDecks
from tests.helpers.openspiel_hanabi import load

GAMES = {
    "3p": {"players": 3, "colors": 1, "ranks": 4, "hand_size": 2},
    "3p-few-tokens": {
        "players": 3, "colors": 2, "ranks": 2, "hand_size": 1, "information_tokens": 2,
        "observation_type": "minimal", "random_start_player": True,
    },
    "4p": {"players": 4, "colors": 1, "ranks": 4, "hand_size": 1},
}  # fmt: skip
POLICIES = {
    "smartbot": SmartBot(),
    "cautious": rule_agent("cautious"),  # leaves moves to chance
    "uniform": UniformPolicy(),
    "plain-with-memory": Hashed(deterministic=True, remembers=True),
    "plain-stochastic": Hashed(deterministic=False, remembers=True),
}


def games(game, blueprint, rng, *, searched=0.0, surprises=0.0, n=1):
    """(worlds, event, by_blueprint) at every step; with probability ``searched`` a move is any."""
    for _ in range(n):
        worlds = game.deal(rng, 1)
        memories = start_memories(worlds, blueprint)
        yield worlds, None, True
        while not worlds.terminal[0]:
            mover = int(worlds.current_player[0])
            view = worlds.view(mover)
            by_blueprint = rng.random() >= searched
            action = blueprint[mover].act(view, view.legal, memories[mover], Streams.spawn(rng, 1))
            if not by_blueprint or rng.random() < surprises:
                action = rng.choice(np.flatnonzero(view.legal[0]), 1)
            event = worlds.step(action)
            memories = observe_all(worlds, event.player, event.action, blueprint, memories)
            yield worlds, event, by_blueprint


def hands(belief):
    """P(own hand); no hand is listed twice."""
    worlds, weights = belief.support()
    found = hands_of(worlds, belief.seat)
    assert len(set(found)) == len(found)
    return dict(zip(found, weights.tolist(), strict=True))


def some(rng, things, n):
    return rng.permutation(things)[:n]


def assert_equal(public, reference, worlds, rng):
    """Entries, their probabilities, and what each would know."""
    for player in range(public.game.num_players):
        entries = public.entries(player)
        keys = list(public.view_of(player, entries).keys())
        expected = reference.entries(player)
        assert set(expected) <= set(keys) and len(set(keys)) == len(entries)
        assert len(entries) <= public.size(player)
        chance = np.array([expected.get(key, 0.0) for key in keys])
        assert public.weights(player, entries) == pytest.approx(chance, abs=1e-12)
        assert public.possible(player, entries).tolist() == (chance > 0).tolist()
        assert expected[worlds.view(player).keys()[0]] > 0
        able = entries[chance > 0]
        picked = some(rng, np.arange(len(able)), 3)
        for e in picked.tolist():
            belief = public.condition_on(player, int(able[e]))
            key = public.view_of(player, able[[e]]).keys()[0]
            assert hands(belief) == pytest.approx(reference.hands(player, key))
            assert belief.recovered == 0
        assert_samples(public, reference, player, able[picked], rng)


def assert_samples(public, reference, player, entries, rng, n=4):
    """Worlds show the entry; memories are those of a deck with the same hands."""
    p = public.game.num_players
    chance = Streams.spawn(rng, n)
    worlds, memories = public.sample(player, entries, chance)
    shown = worlds.view(player).keys()
    assert shown == [key for key in public.view_of(player, entries).keys() for _ in range(n)]
    decks = {hand: d for d, hand in enumerate(zip(*(reference.seen[-1][q] for q in range(p))))}
    where = [decks[now] for now in zip(*(worlds.view(q).keys() for q in range(p)))]
    for memory, expected in zip(memories, reference.memories, strict=True):
        assert memory is None or np.array_equal(memory, expected[where])
    own = public.memory_of(player, entries)
    assert own is None or np.array_equal(np.repeat(own, n, axis=0), memories[player])
    alone, _ = public.sample(player, entries[-1:], chance)
    assert np.array_equal(alone.rows, worlds.rows[-n:])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("config", GAMES)
def test_equals_bayes_over_all_decks(config, policy):
    """With searched moves, exclusions, and moves at random."""
    game = HanabiGame(**GAMES[config])
    blueprint = as_blueprint(POLICIES[policy], game.num_players)
    rng, excluded, searched = np.random.default_rng(5), 0, 0
    epsilon = 0.2 if policy in ("smartbot", "cautious") and config != "3p" else 0.0
    for worlds, event, by_blueprint in games(
        game, blueprint, rng, searched=0.4, surprises=epsilon, n=2
    ):
        if event is None:
            truth = [worlds.view(p).keys()[0] for p in range(game.num_players)]
            public = game.public_belief(blueprint, worlds.view(1), epsilon=epsilon)
            reference = AllDecks(game, blueprint, epsilon, int(worlds.current_player[0]))
            pasts, queue = [public], []
            truths = [truth]
        else:
            observer = int(rng.integers(game.num_players))
            if not by_blueprint:
                queue.append((int(event.player[0]), public.turn))
                searched += 1
            public = public.update(event, worlds.view(observer), by_blueprint=by_blueprint)
            reference.update(event, worlds, by_blueprint)
            pasts.append(public)
            truths.append([worlds.view(p).keys()[0] for p in range(game.num_players)])
            if queue and rng.random() < 0.5:
                player, turn = queue.pop(0)
                found = public.ancestors(player, turn, 1000)
                keys = list(pasts[turn].view_of(player, found).keys())
                alive = set(reference.seen[turn][player])
                assert alive <= set(keys)
                out = rng.random(len(found)) < 0.4
                out &= np.array([key != truths[turn][player] for key in keys])
                public = public.exclude(player, turn, found[out])
                gone = {key for key, o in zip(keys, out, strict=True) if o}
                reference.exclude(player, turn, gone)
                left = public.ancestors(player, turn, 1000)
                assert left.tolist() == found[~out].tolist()
                excluded += len(alive & gone) > 0
        if not worlds.terminal[0]:
            assert_equal(public, reference, worlds, rng)
    assert excluded > 0 and searched > 2
    assert public.recovered == 0 and public.exact
