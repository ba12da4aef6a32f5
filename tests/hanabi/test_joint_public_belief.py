"""Public beliefs of three players and more, against Bayes' rule over all decks."""

import copy

import numpy as np
import pytest

from hanabi_search_plugin.beliefs.exact import private_belief, public_belief
from hanabi_search_plugin.beliefs.public_enumerated import EnumeratedPublicBelief
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.policy import UniformPolicy, as_blueprint
from hanabi_search_plugin.core.rollout import observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.beliefs import hypothetical
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.bots.rule_agents import rule_agent
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_bayes import Hashed, hands_of
from tests.helpers.openspiel_hanabi import load
from tests.references.decks_reference import AllDecks

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


DIGEST = Hashed(deterministic=True, remembers=False)._digest  # the same on OpenSpiel's views


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
        ids = public.infostates(player)
        keys = list(public.view_of(player, ids).keys())
        expected = reference.infostates(player)
        assert set(expected) <= set(keys) and len(set(keys)) == len(ids)
        assert len(ids) <= public.size(player)
        chance = np.array([expected.get(key, 0.0) for key in keys])
        assert public.weights(player, ids) == pytest.approx(chance, abs=1e-12)
        assert public.possible(player, ids).tolist() == (chance > 0).tolist()
        assert expected[worlds.view(player).keys()[0]] > 0
        able = ids[chance > 0]
        picked = some(rng, np.arange(len(able)), 3)
        for e in picked.tolist():
            belief = public.condition_on(player, int(able[e]))
            key = public.view_of(player, able[[e]]).keys()[0]
            assert hands(belief) == pytest.approx(reference.hands(player, key))
            assert belief.recovered == 0
        assert_samples(public, reference, player, able[picked], rng)


def assert_samples(public, reference, player, ids, rng, n=4):
    """Worlds show the information state; memories are those of a deck with the same hands."""
    p = public.game.num_players
    chance = Streams.spawn(rng, n)
    worlds, memories = public.sample(player, ids, chance)
    shown = worlds.view(player).keys()
    assert shown == [key for key in public.view_of(player, ids).keys() for _ in range(n)]
    decks = {
        hand: d
        for d, hand in enumerate(zip(*(reference.seen[-1][q] for q in range(p)), strict=True))
    }
    where = [decks[now] for now in zip(*(worlds.view(q).keys() for q in range(p)), strict=True)]
    for memory, expected in zip(memories, reference.memories, strict=True):
        assert memory is None or np.array_equal(memory, expected[where])
    own = public.memory_of(player, ids)
    assert own is None or np.array_equal(np.repeat(own, n, axis=0), memories[player])
    alone, _ = public.sample(player, ids[-1:], chance)
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
            public = public_belief(game, blueprint, worlds.view(1), epsilon=epsilon)
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


@pytest.mark.parametrize("policy", ["uniform", "plain-stochastic"])
def test_equals_the_enumerated_public_belief_of_openspiels_hanabi(policy):
    """What each seat knows, with searched moves and exclusions, in two independent ways."""
    config = HanabiConfig(**GAMES["3p"])
    theirs, game = OpenSpielGame(load(config)[0]), HanabiGame(config)
    blueprint = as_blueprint(POLICIES[policy], 3)
    rng, narrowed = np.random.default_rng(8), 0
    deck = rng.permutation(np.repeat(np.arange(4), [3, 2, 2, 1]))
    ours, states = game.from_decks(deck[None]), theirs.deal_scripts([deck])
    public = public_belief(game, blueprint, ours.view(0))
    references = [EnumeratedPublicBelief.start(theirs, blueprint, states.view(p)) for p in range(3)]
    pasts, searched = [(public, references)], []
    for turn in range(6):
        mover = int(ours.current_player[0])
        action = rng.choice(np.flatnonzero(ours.legal[0]), 1)
        by_blueprint = turn % 2 == 1
        seen = DIGEST(ours.view(mover))[0]
        event, told = ours.step(action), states.step(action)
        public = public.update(event, ours.view(2), by_blueprint=by_blueprint)
        references = [
            b.update(told, states.view(p), by_blueprint=by_blueprint)
            for p, b in enumerate(references)
        ]
        pasts.append((public, references))
        if not by_blueprint:
            searched.append((mover, turn, seen))
        if turn in (2, 4):  # what was searched two moves ago is understood
            player, then, truth = searched.pop(0)
            before, befores = pasts[then]
            size = max(b.size(player) for b in befores)
            found = public.ancestors(player, then, 1000)
            public = public.exclude(player, then, unlike(before, player, found, truth))
            for p, b in enumerate(references):
                ids = b.ancestors(player, then, size)
                others = unlike(befores[p], player, ids, truth)
                references[p] = b.exclude(player, then, others)
                narrowed += len(others)
        for p, reference in enumerate(references):
            assert reference.recovered == 0
            found = public.condition_on(p, public.infostate_of(ours.view(p)))
            worlds, weights = reference.condition_on(
                p, reference.infostate_of(states.view(p))
            ).support()
            expected = {}
            for state, weight in zip(worlds.states, weights.tolist(), strict=True):
                hand = own_hand(state, p)
                expected[hand] = expected.get(hand, 0.0) + weight
            assert hands(found) == pytest.approx(expected)
    assert narrowed > 0


def unlike(public, player, ids, truth):
    """The infostates whose observation has a hash of another parity than the true one."""
    return ids[DIGEST(public.view_of(player, ids)) % 2 != truth % 2]


def own_hand(state, player):
    """A hand of OpenSpiel's Hanabi of one colour, from the view of the next player."""
    text = state.observation_string((player + 1) % 3).split("Hands:\n")[1].split("Deck size")[0]
    hand = text.replace("Cur player\n", "").split("-----\n")[2]
    return tuple(int(line[1]) - 1 for line in hand.splitlines() if line)


@pytest.mark.parametrize("players", [3, 4, 5])
def test_entries_know_what_their_players_know(players):
    """Nobody searches: the private belief of the player that holds the information state."""
    game = HanabiGame(players=players, colors=5 if players == 3 else 4)
    blueprint, rng = as_blueprint(SmartBot(), players), np.random.default_rng(players)
    for turn, (worlds, event, _) in enumerate(games(game, blueprint, rng)):
        if event is None:
            public = public_belief(game, blueprint, worlds.view(0))
            beliefs = [private_belief(game, blueprint, worlds.view(p)) for p in range(2)]
        else:
            public = public.update(event, worlds.view(turn % players))
            beliefs = [b.update(event, worlds.view(p)) for p, b in enumerate(beliefs)]
        if turn % 10 == 9 or turn == 4:
            for p, belief in enumerate(beliefs):
                own = public.infostate_of(worlds.view(p))
                found = public.condition_on(p, own)
                assert np.array_equal(found.hands, belief.hands)
                assert np.array_equal(found.memory, belief.memory)
                ids = np.array([own])
                assert public.view_of(p, ids).keys() == worlds.view(p).keys()
                assert public.possible(p, ids).all()
        if turn == 40:
            break
    assert public.ancestors(0, 30, 10) is None
    with pytest.raises(UnsupportedError, match="at most"):
        public.infostates(0)
    assert public.infostate_of(worlds.view(0)) > (2**63 if players == 5 else 2**35)


@pytest.mark.parametrize("kept", [0, 40])
def test_what_is_cached_does_not_matter(kept, monkeypatch):
    game = HanabiGame(players=3, colors=2, ranks=3, hand_size=2)
    blueprint, rng = as_blueprint(SmartBot(), 3), np.random.default_rng(3)
    for worlds, event, by_blueprint in games(game, blueprint, rng, searched=0.5):
        if event is None:
            public = public_belief(game, blueprint, worlds.view(0))
        else:
            public = public.update(event, worlds.view(0), by_blueprint=by_blueprint)
        if public.turn == 5:
            break
    ids = some(rng, public.infostates(1), 20)
    weights = public.weights(1, ids)
    monkeypatch.setattr(hypothetical, "MAX_CACHED", kept)
    again = copy.deepcopy(public)
    assert np.array_equal(again.weights(1, ids), weights)
    assert again.possible(1, ids).tolist() == (weights > 0).tolist()
    assert sum(len(b.hands) for b in again.cache._found.values() if b is not None) <= max(kept, 216)


def test_recovers_from_strangers(caplog):
    """A move that no infostate explains is no evidence, nor is any other from then on."""
    caplog.set_level("INFO")
    game = HanabiGame(players=3, colors=2, ranks=3, hand_size=2)
    blueprint, rng = as_blueprint(SmartBot(), 3), np.random.default_rng(4)
    recovered = 0
    for worlds, event, _ in games(game, blueprint, rng, searched=0.6):
        if event is None:
            public = public_belief(game, blueprint, worlds.view(0))
            beliefs = [private_belief(game, blueprint, worlds.view(p)) for p in range(3)]
            continue
        public = public.update(event, worlds.view(0))
        beliefs = [b.update(event, worlds.view(p)) for p, b in enumerate(beliefs)]
        for p, belief in enumerate(beliefs):
            own = public.infostate_of(worlds.view(p))
            found = public.condition_on(p, own)
            assert found.recovered == belief.recovered
            assert np.array_equal(found.hands, belief.hands)
            if belief.recovered:
                recovered += 1
                assert not public.possible(p, np.array([own]))[0]
                shown, _ = public.sample(p, np.array([own]), Streams.spawn(rng, 2))
                assert shown.view(p).keys() == list(worlds.view(p).keys()) * 2
    assert recovered > 0
    player, turn = 1, public.turn - 1
    blank = public.exclude(player, turn, public.ancestors(player, turn, 1 << 20))
    assert (blank.recovered, blank.turn) == (1, public.turn)
    assert "drops all evidence" in caplog.text
    assert blank.possible(2, np.array([blank.infostate_of(worlds.view(2))])).all()
    assert public.exclude(0, 0, np.array([], dtype=np.int64)) is public


def test_refuses_what_it_cannot_do():
    game = HanabiGame(players=3)
    blueprint = as_blueprint(SmartBot(), 3)
    view = game.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(ConfigError, match="epsilon"):
        public_belief(game, blueprint, view, epsilon=2.0)
    with pytest.raises(ContractError, match="turn must be from 0 to 0, got 1"):
        public_belief(game, blueprint, view).ancestors(0, 1, 10)
    seer = HanabiGame(players=3, observation_type="seer")
    with pytest.raises(UnsupportedError, match="seer"):
        seer.public_belief(blueprint, seer.deal(np.random.default_rng(0), 1).view(0))
