"""The public belief of native Hanabi, against Bayes' rule over whole games and against itself."""

from collections import defaultdict

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, UniformPolicy
from hanabi_search_plugin.beliefs.exact import private_belief, public_belief
from hanabi_search_plugin.core.policy import as_blueprint
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.hats import HatBot
from tests.helpers.hanabi_bayes import Hashed, Record, hands_of, infostate_id

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
LONG = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
POLICIES = {
    "smartbot": SmartBot(),
    "hatbot": HatBot(),
    "uniform": UniformPolicy(),
    "plain": Hashed(deterministic=True, remembers=False),
    "plain-stochastic-with-memory": Hashed(deterministic=False, remembers=True),
}


def games(game, blueprint, rng, *, searched, n, epsilon=0.0):
    """Records and public beliefs of both seats, where some moves are no evidence.

    Such a move is at random; later some of what its mover may have seen is excluded.
    """
    for _ in range(n):
        record, evidence, excluded, waiting = Record.random(game, rng), [], {}, []
        publics = [
            public_belief(game, blueprint, record.worlds.view(p), epsilon=epsilon) for p in (0, 1)
        ]
        memories = [policy.start(record.worlds.view(p)) for p, policy in enumerate(blueprint)]
        while not record.over:
            mover = record.mover
            evidence.append(bool(rng.random() >= searched))
            if evidence[-1]:
                view = record.worlds.view(mover)
                stream = Streams.spawn(rng, 1)
                action = int(blueprint[mover].act(view, view.legal, memories[mover], stream)[0])
            else:
                action = int(rng.choice(np.flatnonzero(record.worlds.legal[0])))
                waiting.append((len(record.events), mover, infostate_id(record.hand(1 - mover))))
            event = record.step(action)
            if record.over:
                break
            memories = [
                policy.observe(record.worlds.view(p), event, memories[p])
                for p, policy in enumerate(blueprint)
            ]
            publics = [
                public.update(event, record.worlds.view(p), by_blueprint=evidence[-1])
                for p, public in enumerate(publics)
            ]
            yield record, publics, evidence, excluded
            if waiting and rng.random() < 0.5:
                turn, player, truth = waiting.pop(0)
                found = publics[0].ancestors(player, turn, 10_000)
                assert truth in found
                out = found[(rng.random(len(found)) < 0.4) & (found != truth)]
                publics = [public.exclude(player, turn, out) for public in publics]
                excluded[turn] = set(map(int, out))


@pytest.mark.parametrize(
    ("policy", "searched", "epsilon"),
    [(policy, 0.5, 0.0) for policy in POLICIES] + [("smartbot", 0.0, 0.0), ("plain", 0.3, 0.2)],
)
def test_equals_bayes_over_whole_games(policy, searched, epsilon):
    blueprint, rng = as_blueprint(POLICIES[policy], 2), np.random.default_rng(4)
    sizes, cut = [], 0
    for record, publics, evidence, excluded in games(
        GAME, blueprint, rng, searched=searched, n=2, epsilon=epsilon
    ):
        worlds = record.public_bayes(blueprint, evidence, excluded, epsilon)
        cut += bool(excluded)
        for player in (0, 1):
            chance, given = defaultdict(float), defaultdict(dict)
            for world in worlds:
                shown, own = world.hands[1 - player], world.hands[player]
                chance[infostate_id(shown)] += world.chance
                given[infostate_id(shown)][own] = world.chance
            for public in publics:
                ids = public.infostates(player)
                assert len(set(ids.tolist())) == len(ids) <= public.size(player)
                possible = public.possible(player, ids)
                assert set(ids[possible].tolist()) == set(chance)
                weights = public.weights(player, ids)
                for infostate, weight in zip(ids.tolist(), weights.tolist(), strict=True):
                    assert weight == pytest.approx(chance.get(infostate, 0.0), abs=1e-12)
            public = publics[0]
            for infostate in list(chance)[:4]:
                belief = public.condition_on(player, infostate)
                found, weights = belief.support()
                expected = given[infostate]
                assert set(hands_of(found, player)) == set(expected)
                for hand, weight in zip(hands_of(found, player), weights, strict=True):
                    assert weight == pytest.approx(expected[hand] / chance[infostate], abs=1e-12)
            for turn in range(len(evidence)):
                actor = int(record.events[turn].player[0])
                if not evidence[turn]:
                    then = {infostate_id(world.then[turn][1 - actor]) for world in worlds}
                    found = public.ancestors(actor, turn, 10_000).tolist()
                    assert then <= set(found)
                    if len(found) > 1:
                        assert public.ancestors(actor, turn, len(found) - 1) is None
            sizes.append(len(chance))
        assert publics[0].recovered == 0 and publics[0].exact
    assert max(sizes) > 4
    assert cut > 0 or searched == 0.0


@pytest.mark.parametrize("policy", ["smartbot", "hatbot", "plain-stochastic-with-memory"])
def test_players_beliefs_are_the_public_one_given_what_they_see(policy):
    """Where nobody searches; memories and all."""
    blueprint, rng = as_blueprint(POLICIES[policy], 2), np.random.default_rng(0)
    record = Record.random(LONG, rng)
    publics = [public_belief(LONG, blueprint, record.worlds.view(p)) for p in (0, 1)]
    beliefs = [private_belief(LONG, blueprint, record.worlds.view(p)) for p in (0, 1)]
    steps = 0
    while True:
        mover = record.mover
        view = record.worlds.view(mover)
        action = blueprint[mover].act(
            view, view.legal, beliefs[mover].memory, Streams.spawn(rng, 1)
        )
        event = record.step(int(action[0]))
        if record.over:
            break
        views = [record.worlds.view(p) for p in (0, 1)]
        publics = [b.update(event, v) for b, v in zip(publics, views, strict=True)]
        beliefs = [b.update(event, v) for b, v in zip(beliefs, views, strict=True)]
        assert publics[0].public_part(views[0]) == publics[1].public_part(views[1])
        for player, private in enumerate(beliefs):
            own = publics[player].infostate_of(views[player])
            belief = publics[1 - player].condition_on(player, own)  # as the other would
            (mine, w), (theirs, v) = private.support(), belief.support()
            assert dict(zip(hands_of(mine, player), w, strict=True)) == pytest.approx(
                dict(zip(hands_of(theirs, player), v, strict=True))
            )
            assert np.array_equal(belief.memory, private.memory)
            draws = [b.sample(np.random.default_rng(1), 20) for b in (private, belief)]
            assert np.array_equal(draws[0][0].rows, draws[1][0].rows)
            for x, y in zip(draws[0][1], draws[1][1], strict=True):
                assert np.array_equal(x, y)
        steps += 1
    assert steps > 3


@pytest.mark.parametrize(("colors", "ranks", "hand_size"), [(3, 3, 2), (4, 5, 4)])
def test_worlds_for_many_infostates(colors, ranks, hand_size):
    """Each infostate's come from its own belief, whichever others are asked for."""
    game = HanabiGame(players=2, colors=colors, ranks=ranks, hand_size=hand_size)
    blueprint, rng = as_blueprint(SmartBot(), 2), np.random.default_rng(5)
    worlds = game.deal(rng, 1)
    public = public_belief(game, blueprint, worlds.view(0))
    public = public.update(worlds.step(np.array([2 * hand_size])), worlds.view(0))
    player = 1
    held = public.ranges[player].fully_enumerated().hands
    assert (len(held) > 1024) == (hand_size == 4)
    ids = rng.permutation(public.infostates(player))[:40]
    ids = ids[public.possible(player, ids)]
    chance = Streams.spawn(rng, 3000)
    sampled, memories = public.sample(player, ids, chance)
    alone, _ = public.sample(player, ids[[3]], chance)
    at = slice(3 * 3000, 4 * 3000)
    assert np.array_equal(sampled.rows[at], alone.rows)
    assert len(memories) == 2 and len(sampled) == len(ids) * 3000
    assert public.view_of(player, ids).keys() == sampled.view(player).keys()[::3000]
    expected, weights = public.condition_on(player, int(ids[3])).support()
    drawn = np.array(hands_of(alone, player))
    cards = np.array(hands_of(expected, player))
    for slot in range(hand_size):
        for card in range(game.vocabulary):
            share = weights[cards[:, slot] == card].sum()
            error = np.sqrt(share * (1 - share) / 3000) + 1e-9
            assert abs((drawn[:, slot] == card).mean() - share) < 5 * error
    decks = sampled.rows[at, -game.config.deck_size :]
    assert len(np.unique(decks, axis=0)) > 100
    cards = np.sort(np.column_stack([decks, drawn, hands_of(alone, 0)]), axis=1)
    assert len(np.unique(cards, axis=0)) == 1  # the same cards, in other places
