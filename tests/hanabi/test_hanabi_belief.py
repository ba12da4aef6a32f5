"""Exact hand beliefs of native Hanabi, against Bayes' rule done with whole games."""

import itertools
from collections import Counter

import numpy as np
import pytest

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.policy import Policy, Shared, UniformPolicy, as_blueprint
from hanabi_search_plugin.core.rollout import action_values, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import times
from hanabi_search_plugin.hanabi.beliefs import hand_range, partner_kinds, partners
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.bots.hats import HatBot, HatBotB
from hanabi_search_plugin.hanabi.bots.rule_agents import rule_agent
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.testing import check_belief
from hanabi_search_plugin.testing.belief_checks import distribution
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_bayes import Hashed, Record, hands_of
from tests.helpers.openspiel_hanabi import load

SMALL = {
    "2p": {"players": 2, "colors": 2, "ranks": 3, "hand_size": 3, "life_tokens": 9},
    "2p-few-tokens": {
        "players": 2, "colors": 2, "ranks": 2, "hand_size": 3, "information_tokens": 2,
        "observation_type": "minimal",
    },
    "3p": {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "random_start_player": True},
}  # fmt: skip
PLANNED = Hashed(deterministic=True, remembers=False)
REMEMBERING = Hashed(deterministic=True, remembers=True)
NOISY = Hashed(deterministic=False, remembers=True)
NOISY_NAME = "plain-stochastic-with-memory"
POLICIES = {
    "smartbot": SmartBot(),
    "uniform": UniformPolicy(),
    "plain": PLANNED,
    NOISY_NAME: NOISY,
    "hatbot": HatBot(),
    "hatbot-b": HatBotB(),
    "cautious": rule_agent("cautious"),  # leaves moves to chance
    "vdb": rule_agent("vdb", convention="any-giver"),
}
DETERMINISTIC = {"smartbot": SmartBot(), "plain": PLANNED, "plain-with-memory": REMEMBERING}


def games(game, blueprint, seat, rng, *, epsilon=0.0, uncertainty=0.0, surprises=0.0, n=1):
    """Games of (record, belief) at every step.

    ``seat`` moves at random, its partners by the blueprint or, with probability ``surprises``, at
    random.
    """
    for _ in range(n):
        record = Record.random(game, rng)
        belief = private_belief(
            game, blueprint, record.worlds.view(seat), epsilon=epsilon, uncertainty=uncertainty
        )
        memories = [policy.start(record.worlds.view(p)) for p, policy in enumerate(blueprint)]
        yield record, belief
        while not record.over:
            mover, legal = record.mover, record.worlds.legal[0]
            action = int(rng.choice(np.flatnonzero(legal)))
            if mover != seat and rng.random() >= surprises:
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
    """P(hand); no hand is listed twice."""
    worlds, weights = belief.support()
    hands = hands_of(worlds, belief.seat)
    assert len(set(hands)) == len(hands)
    return dict(zip(hands, weights.tolist(), strict=True))


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    worst = max(found, key=lambda hand: abs(found[hand] - expected[hand]))
    assert found[worst] == pytest.approx(expected[worst], abs=1e-9), worst


def assert_memories(record, belief, rng, n, epsilon=0.0):
    """Sampled memories are those of games played again from the sampled hands; returns them."""
    worlds, memories = belief.sample(rng, n)
    decks = record.decks(belief.seat, hands_of(worlds, belief.seat))
    again = record.replay(decks, belief.blueprint, belief.seat, epsilon)
    assert again.kept.tolist() == list(range(n))
    for memory, expected in zip(memories, again.memories, strict=True):
        assert (memory is None) == (expected is None)
        assert memory is None or np.array_equal(memory, expected)
    return memories


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("config", SMALL)
def test_equals_bayes_at_every_step(config, policy, epsilon):
    game = HanabiGame(**SMALL[config])
    blueprint = as_blueprint(POLICIES[policy], game.num_players)
    rng = np.random.default_rng(1)
    sizes, cards = [], []
    for seat in range(game.num_players):
        steps = games(game, blueprint, seat, rng, epsilon=epsilon, surprises=epsilon, n=2)
        for record, belief in steps:
            expected = record.bayes(blueprint, seat, epsilon)
            assert_equal(chances(belief), expected)
            assert expected[record.hand(seat)] > 0
            assert belief.size >= len(expected)
            assert belief.fully_enumerated().size == len(expected)
            assert belief.recovered == 0 and belief.exact
            assert_memories(record, belief, rng, 5, epsilon)
            sizes.append(len(expected))
            cards.append(len(record.hand(seat)))
    assert max(sizes) > 10
    # Bots that end their games early never see a hand shrink.
    assert min(cards) < game.config.hand_size or (config, policy) != ("2p", "uniform")


@pytest.mark.parametrize("policy", ["smartbot", "plain", NOISY_NAME, "cautious"])
@pytest.mark.parametrize("config", ["2p", "3p"])
def test_an_unexplained_move_leaves_a_world_a_share_of_its_weight(config, policy):
    game = HanabiGame(**SMALL[config])
    blueprint = as_blueprint(POLICIES[policy], game.num_players)
    rng, seen = np.random.default_rng(3), set()
    for epsilon in (0.0, 0.1):
        doubt = {"epsilon": epsilon, "uncertainty": 0.3}
        for record, belief in games(game, blueprint, 1, rng, surprises=0.5, **doubt):
            expected = record.bayes(blueprint, 1, **doubt)
            assert_equal(chances(belief), expected)
            assert belief.recovered == 0 and belief.exact
            if epsilon == 0.0:
                seen |= set(np.round(belief.likelihood, 9).tolist())
    assert policy == NOISY_NAME or {0.3, 1.0} <= seen


@pytest.mark.parametrize(
    "kinds", [("smartbot", "plain", "uniform"), ("hatbot-b", "vdb", "cautious")]
)
def test_equals_bayes_with_partners_of_several_kinds(kinds):
    game = HanabiGame(**SMALL["3p"])
    rng = np.random.default_rng(2)
    for seat, names in enumerate(itertools.permutations(kinds)):
        blueprint = tuple(POLICIES[name] for name in names)
        seat %= 3
        for record, belief in games(game, blueprint, seat, rng, epsilon=0.1, surprises=0.1):
            assert_equal(chances(belief), record.bayes(blueprint, seat, 0.1))
            assert_memories(record, belief, rng, 5, 0.1)


def test_a_long_unlikely_game_does_not_run_out_of_small_numbers():
    """Some 15 moves of probability 1e-26 or so: their product is below the smallest float."""
    game = HanabiGame(players=2, colors=2, ranks=5, hand_size=2, life_tokens=50)
    blueprint = (PLANNED, PLANNED)
    rng = np.random.default_rng(0)
    for record, belief in games(game, blueprint, 0, rng, epsilon=1e-25, surprises=1.0):
        assert belief.recovered == 0
        found = chances(belief)
        assert sum(found.values()) == pytest.approx(1)
        assert found.keys() == record.bayes(blueprint, 0, 1.0).keys()
    assert len(record.events) >= 30


# Against OpenSpiel


SPIEL = {
    "2p": {"players": 2, "colors": 2, "ranks": 2, "hand_size": 2, "life_tokens": 3},
    "2p-large": {"players": 2, "colors": 2, "ranks": 3, "hand_size": 2},
    "3p": {"players": 3, "colors": 2, "ranks": 2, "hand_size": 2},
}


@pytest.mark.parametrize("policy", ["uniform", "plain", "plain-stochastic-with-memory"])
@pytest.mark.parametrize("config", SPIEL)
def test_equals_the_enumerated_belief_of_openspiels_hanabi(config, policy):
    """The same beliefs and, from the same chance, the same action values."""
    config = HanabiConfig(**SPIEL[config])
    theirs, game = OpenSpielGame(load(config)[0]), HanabiGame(config)
    blueprint = as_blueprint(POLICIES[policy], config.players)
    rng, compared = np.random.default_rng(3), 0
    for seat in range(2):
        for record, belief in games(game, blueprint, seat, rng, n=2):
            if not record.events:
                worlds = theirs.deal_scripts([record.deck])
                reference = EnumeratedBelief.start(theirs, blueprint, worlds.view(seat))
            else:
                event = worlds.step(record.events[-1].action)
                reference = reference.update(event, worlds.view(seat))
            found, weights = reference.support()
            dealt = [chance_of(state) for state in found.states]
            hands = [tuple(deck[place] for place in record.places[seat]) for deck in dealt]
            assert_equal(chances(belief), dict(zip(hands, weights.tolist(), strict=True)))
            if record.mover == seat:
                compare_action_values(theirs, record, belief, rng)
                compared += 1
    assert compared > 5


def chance_of(state):
    return [item.action for item in state.full_history() if item.player < 0]


def compare_action_values(theirs, record, belief, rng, n=6):
    game, seat, blueprint = belief.game, belief.seat, belief.blueprint
    actions = np.flatnonzero(record.worlds.legal[0])
    streams = Streams.spawn(rng, n)
    worlds, memories = belief.sample(rng, n)
    ours = action_values(worlds, actions, blueprint, memories, seat, streams)
    rest = worlds.rows[:, -game.config.deck_size :][:, record.dealt :]
    assert (worlds.rows[:, DECK_NEXT] == record.dealt).all()
    decks = record.decks(seat, hands_of(worlds, seat), rest.tolist())
    spiel = theirs.deal_scripts(decks)
    memories = start_memories(spiel, blueprint)
    for event in record.events:
        actor, action = np.repeat(event.player, n), np.repeat(event.action, n)
        spiel.step(action)
        memories = observe_all(spiel, actor, action, blueprint, memories)
    values = action_values(spiel, actions, blueprint, memories, seat, streams)
    assert np.array_equal(ours, values)


# SmartBot


@pytest.mark.parametrize(
    ("policy", "players"),
    [*(("smartbot", p) for p in (2, 3, 4, 5)), ("hatbot", 2), ("hatbot", 5), ("hatbot-b", 4)],
)
def test_the_true_hand_stays_possible_in_full_games(policy, players):
    """The searching seat moves at random; memories are those of games played again."""
    game = HanabiGame(players=players)
    blueprint = as_blueprint(POLICIES[policy], players)
    rng = np.random.default_rng(players)
    sizes = []
    for record, belief in games(game, blueprint, 1, rng, n=2):
        packed = sum(c << 5 * i for i, c in enumerate(record.hand(1)[: belief.known]))
        at = np.flatnonzero(belief.hands == packed)
        assert len(at) == 1 and belief.weights()[at[0]] > 0
        assert belief.recovered == 0 and belief.exact
        assert_memories(record, belief, rng, 3)
        sizes.append(len(belief.hands))
    assert max(sizes) > 10_000


@pytest.mark.parametrize("policy", ["smartbot", "hatbot", "hatbot-b"])
def test_memories_where_the_partners_minds_part(policy):
    """After a move that the seats read by what they see, memories depend on the hand.

    A finesse of SmartBot's; a number of the hat bots' that is not the sum of all answers.
    """
    game = HanabiGame(players=3, colors=3, ranks=3, hand_size=3)
    blueprint = as_blueprint(POLICIES[policy], 3)
    rng, parted = np.random.default_rng(0), 0
    for record, belief in games(game, blueprint, 0, rng, epsilon=0.3, surprises=0.3, n=40):
        if len(belief.partners.table) > 1:
            memories = assert_memories(record, belief, rng, 40, 0.3)
            different = [len(np.unique(memory, axis=0)) > 1 for memory in memories]
            parted += any(different[1:])
            assert_equal(chances(belief), record.bayes(blueprint, 0, 0.3))
    assert parted > 5


@pytest.mark.parametrize("policy", ["smartbot", "uniform"])
def test_check_belief(policy):
    game = HanabiGame(players=3, colors=2, ranks=3, hand_size=2)
    check_belief(game, POLICIES[policy], games=1, epsilon=0.1)


# Samples


def mid_game(policy="uniform", seed=4, moves=5, seat=0, **config):
    """(record, belief) after some moves, the last of them the seat's own: a card is pending."""
    game = HanabiGame(**{**SMALL["2p"], **config})
    blueprint = as_blueprint(POLICIES[policy], game.num_players)
    rng = np.random.default_rng(seed)
    return next(itertools.islice(games(game, blueprint, seat, rng), moves, None))


def chi_square(counts, chance):
    """Standard deviations that Pearson's statistic of ``counts`` lies above its mean."""
    expected = np.array([chance[key] for key in chance]) * sum(counts.values())
    observed = np.array([counts[key] for key in chance])
    assert expected.min() > 5
    statistic = ((observed - expected) ** 2 / expected).sum()
    freedom = len(chance) - 1
    return (statistic - freedom) / np.sqrt(2 * freedom)


def test_samples_follow_the_weights():
    record, belief = mid_game()
    assert belief.known < belief.present
    chance = record.bayes(belief.blueprint, 0, 0.0)
    assert len(chance) > 30
    worlds, _ = belief.sample(np.random.default_rng(0), 60_000)
    counts = Counter(hands_of(worlds, 0))
    assert set(counts) <= set(chance)
    often = {hand: p for hand, p in chance.items() if p * 60_000 > 10}
    rare = 1 - sum(often.values())
    if rare > 0:
        often["rare"] = rare
        counts["rare"] = sum(n for hand, n in counts.items() if hand not in often)
    assert abs(chi_square(counts, often)) < 4


def test_large_supports_are_sampled_by_their_weights():
    """More hands than one block of summed weights, of unequal likelihoods."""
    _, belief = mid_game("plain-stochastic-with-memory", colors=4, moves=1, seat=1)
    chance = chances(belief)
    assert len(belief.hands) > 200
    worlds, _ = belief.sample(np.random.default_rng(1), 100_000)
    for slot in range(3):
        marginal = Counter()
        for hand, p in chance.items():
            marginal[hand[slot]] += p
        counts = Counter(hand[slot] for hand in hands_of(worlds, 1))
        assert abs(chi_square(counts, marginal)) < 4


def test_the_future_deck_is_uniform_over_the_rest():
    record, belief = mid_game()
    unseen = record.unseen(0)
    worlds, _ = belief.sample(np.random.default_rng(0), 30_000)
    hands = hands_of(worlds, 0)
    decks = worlds.rows[:, -belief.game.config.deck_size :][:, record.dealt :]
    assert decks.shape[1] >= 2
    for hand, deck in zip(hands[:1000], decks.tolist(), strict=False):
        assert Counter(hand) + Counter(deck) == unseen
    hand = Counter(hands).most_common(1)[0][0]
    left = unseen - Counter(hand)
    pairs = Counter(itertools.permutations(left.elements(), 2))
    chance = {pair: n / pairs.total() for pair, n in pairs.items()}
    rows = [n for n, held in enumerate(hands) if held == hand]
    for first, second in ((0, 1), (0, -1)):
        counts = Counter((int(decks[n, first]), int(decks[n, second])) for n in rows)
        assert set(counts) <= set(chance)
        assert abs(chi_square(counts, chance)) < 4


def test_samples_depend_on_their_generator_alone():
    _, belief = mid_game()
    np.random.seed(1)
    first, _ = belief.sample(np.random.default_rng(5), 50)
    np.random.seed(2)
    state = np.random.get_state()[1].copy()
    again, _ = belief.sample(np.random.default_rng(5), 50)
    other, _ = belief.sample(np.random.default_rng(6), 50)
    assert np.array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, other.rows)
    assert np.array_equal(np.random.get_state()[1], state)


# What a belief says of itself


@pytest.mark.parametrize("policy", POLICIES)
def test_updates_leave_the_old_belief_alone(policy):
    game = HanabiGame(**SMALL["3p"])
    blueprint = as_blueprint(POLICIES[policy], 3)
    seen = []
    for record, belief in games(game, blueprint, 1, np.random.default_rng(8), epsilon=0.1):
        worlds, memories = belief.sample(np.random.default_rng(0), 20)
        seen.append((belief, distribution(belief), worlds.rows, memories))
        if record.events and record.events[-1].player[0] != 1:
            before = seen[-2][0]
            assert before.likelihoods < belief.likelihoods
            # The old belief can be updated again, to the same.
            again = before.update(record.events[-1], record.worlds.view(1))
            assert distribution(again) == distribution(belief)
    for belief, expected, rows, memories in seen:
        worlds, held = belief.sample(np.random.default_rng(0), 20)
        assert distribution(belief) == expected
        assert np.array_equal(worlds.rows, rows)
        for memory, before in zip(held, memories, strict=True):
            assert np.array_equal(memory, before)


@pytest.mark.parametrize("policy", ["smartbot", "plain"])
def test_size_and_likelihoods_count_hands(policy):
    game = HanabiGame(**SMALL["2p"])
    blueprint = as_blueprint(POLICIES[policy], 2)
    record = Record.random(game, np.random.default_rng(5))
    belief = private_belief(game, blueprint, record.worlds.view(0))
    unseen = record.unseen(0)
    assert belief.size == len(unseen) ** 3  # nothing is spelled out yet: an upper bound
    assert belief.likelihoods == 0
    hint = int(np.flatnonzero(record.worlds.legal[0])[-1])
    belief = belief.update(record.step(hint), record.worlds.view(0))
    assert belief.likelihoods == 0  # the seat's own moves say nothing
    rank = record.hand(0)[0] % 3
    hint = 2 * 3 + 2 + rank  # discards, plays and colour hints come first
    before, belief = belief, belief.update(record.step(hint), record.worlds.view(0))
    told = [card % 3 == rank for card in record.hand(0)]
    asked = [h for h in record.hands(0) if [card % 3 == rank for card in h] == told]
    assert belief.likelihoods - before.likelihoods == len(asked)
    assert belief.size == len(belief.hands) <= len(asked)
    assert belief.recovered or len(belief.hands) < len(asked)


def test_refuses_what_it_cannot_do():
    game = HanabiGame(players=2)
    worlds = game.deal(np.random.default_rng(0), 2)
    blueprint = as_blueprint(SmartBot(), 2)
    one = worlds.view(0).select(np.array([0]))
    for name in ("epsilon", "uncertainty"):
        with pytest.raises(ConfigError, match=f"{name} must be from 0 to 1"):
            private_belief(game, blueprint, one, **{name: -0.1})
    with pytest.raises(ContractError, match="one view"):
        private_belief(game, blueprint, worlds.view(0))
    seer = HanabiGame(players=2, observation_type="seer")
    with pytest.raises(UnsupportedError, match="seer"):
        private_belief(seer, blueprint, seer.deal(np.random.default_rng(0), 1).view(0))


class Forgetful(Policy):
    """Starts without a memory and has one later."""

    def observe(self, view, event, memory):
        return np.zeros(len(view), dtype=np.int64)

    def act(self, view, legal, memory, rng):
        return legal.argmax(axis=1)


class Public(Policy):
    """Plays by the number of moves made, which it keeps in a shared memory."""

    def start(self, view):
        return Shared(0)

    def observe(self, view, event, memory):
        return Shared(memory.row + 1)

    def act(self, view, legal, memory, rng):
        chosen = [np.flatnonzero(row)[memory.row % row.sum()] for row in legal]
        return np.array(chosen, dtype=np.int64)


def test_shared_memories():
    game, rng = HanabiGame(**SMALL["2p"]), np.random.default_rng(0)
    for record, belief in games(game, (Public(), Public()), 0, rng):
        assert_equal(chances(belief), record.bayes((Public(), Public()), 0, 0.0))
        assert belief.sample(rng, 3)[1][1].row == len(record.events)
    with pytest.raises(UnsupportedError, match="must keep to it"):
        list(games(game, (Forgetful(), Forgetful()), 0, rng))


# Recovery


@pytest.mark.parametrize("observation_type", ["card_knowledge", "minimal"])
@pytest.mark.parametrize("policy", DETERMINISTIC)
def test_recovers_when_a_partner_leaves_its_policy(policy, observation_type, caplog):
    """Then all hands count that the hints and the visible cards allow, by chance alone."""
    caplog.set_level("INFO")
    game = HanabiGame(**{**SMALL["2p"], "observation_type": observation_type})
    blueprint = as_blueprint(DETERMINISTIC[policy], 2)
    rng = np.random.default_rng(0)
    search = Sparta(rollouts=40, min_rollouts=2, round_size=2)
    recovered, noted, narrowed = 0, 0, 0
    for record, belief in games(game, blueprint, 0, rng, surprises=0.5, n=4):
        if not record.events:
            before = belief
        possible = record.bayes(blueprint, 0, 1.0).keys()
        found = chances(belief)
        assert found.keys() <= possible
        if belief.recovered > before.recovered:
            recovered += 1
            assert belief.recovered == before.recovered + 1
            ways = {hand: record.hands(0)[hand] for hand in possible}
            total = sum(ways.values())
            assert_equal(found, {hand: n / total for hand, n in ways.items()})
            assert caplog.records[-1].levelname == "INFO"
            assert f"at move {len(record.events)}" in caplog.messages[-1]
        narrowed += 0 < before.recovered == belief.recovered and len(found) < len(possible)
        worlds, memories = belief.sample(rng, 5)
        assert len(worlds) == 5 and len(memories) == 2
        if record.mover == 0 and belief.recovered:
            result = search(rng, belief)
            assert f"the belief had to recover {times(belief.recovered)}" in result.note
            noted += 1
        before = belief
    assert recovered == len(caplog.records) > 2
    assert noted > 2
    assert narrowed > 0  # later moves count as evidence again


def test_epsilon_needs_no_recovery():
    game = HanabiGame(**SMALL["2p"])
    blueprint = as_blueprint(SmartBot(), 2)
    rng = np.random.default_rng(0)
    for _, belief in games(game, blueprint, 0, rng, epsilon=0.01, surprises=1.0, n=3):
        assert belief.recovered == 0


# Supports too large to keep


@pytest.fixture
def tight(monkeypatch):
    """Limits that a small game reaches."""

    def limit(kept, tested=1 << 24, walked=1 << 28):
        monkeypatch.setattr(partners, "MAX_STORED", kept)
        monkeypatch.setattr(partner_kinds, "MAX_ASKED", kept)
        monkeypatch.setattr(hand_range, "MAX_TESTED", tested)
        monkeypatch.setattr(hand_range, "MAX_WALKED", walked)

    return limit


@pytest.mark.parametrize(
    ("policy", "limits"),
    [
        ("uniform", (1000,)),
        ("uniform", (1 << 20, 1000)),
        ("uniform", (1 << 20, 1 << 20, 1 << 12)),
        ("plain-stochastic-with-memory", (1000,)),
    ],
)
def test_thinned_supports_are_unbiased(policy, limits, tight):
    """Over games, the chances of a thinned belief average to the exact ones, also of new cards."""
    game = HanabiGame(players=2, colors=3, ranks=4, hand_size=4)
    blueprint = as_blueprint(POLICIES[policy], 2)
    off = []  # [games, slots, identities]
    for seed in range(40):
        steps = []
        for limit in ((1 << 20,), limits):
            tight(*limit)
            run = games(game, blueprint, 0, np.random.default_rng(seed))
            steps.append([belief for _, belief in itertools.islice(run, 5)])
        assert all(belief.exact for belief in steps[0])
        pairs = [p for p in zip(*steps, strict=True) if not (p[1].exact or p[1].recovered)]
        assert all(len(thinned.hands) < len(exact.hands) for exact, thinned in pairs)
        if pairs:  # else all hands that agreed with a first hint were few enough
            off.append(np.mean([marginals(b) - marginals(exact) for exact, b in pairs], axis=0))
    assert len(off) > 20
    error = np.std(off, axis=0) / np.sqrt(len(off))
    assert (abs(np.mean(off, axis=0)) < 4.5 * error + 1e-3).all()
    assert error.max() < 0.03


def marginals(belief):
    """[slots, identities] the chance of each."""
    whole = belief.fully_enumerated()
    weights = whole.weights() / whole.weights().sum()
    slots = 5 * np.arange(belief.game.config.hand_size)[:, None]
    cards = (whole.hands.astype(np.int64) >> slots) & 31
    return np.stack([np.bincount(c, weights, belief.game.vocabulary) for c in cards])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kept", [1, 3])
def test_a_support_thinned_to_nothing_recovers(policy, kept, tight):
    tight(kept, kept, kept)
    game = HanabiGame(**SMALL["2p"])
    blueprint = as_blueprint(POLICIES[policy], 2)
    recovered = 0
    for record, belief in games(game, blueprint, 0, np.random.default_rng(0), n=3):
        assert 1 <= len(belief.hands) <= kept
        found = chances(belief)
        assert found.keys() <= record.bayes(blueprint, 0, 1.0).keys()
        recovered += belief.recovered
    assert not belief.exact
    assert recovered > 0 or policy == "uniform"


@pytest.mark.parametrize("hand_size", [6, 7, 8])
@pytest.mark.parametrize("policy", POLICIES)
def test_large_hands_are_bounded(hand_size, policy, tight):
    kept, tested = 1 << 14, 1 << 16
    tight(kept, tested, 1 << 20)
    game = HanabiGame(players=2, hand_size=hand_size, information_tokens=4)
    blueprint = as_blueprint(POLICIES[policy], 2)
    rng, asked = np.random.default_rng(1), 0
    for record, belief in itertools.islice(games(game, blueprint, 1, rng), 7):
        assert 1 <= len(belief.hands) <= kept
        assert belief.likelihoods - asked <= 2 * tested
        asked = belief.likelihoods
        worlds, _ = belief.sample(rng, 10)
        assert worlds.view(1).keys() == record.worlds.view(1).keys() * 10
        for hand in hands_of(worlds, 1):
            assert not Counter(hand) - record.unseen(1)
    assert not belief.exact


def test_thinning_is_the_same_for_the_same_moves(tight):
    tight(50)
    game = HanabiGame(**SMALL["2p"])
    blueprint = as_blueprint(UniformPolicy(), 2)
    runs = [
        [belief.hands for _, belief in games(game, blueprint, 0, np.random.default_rng(3))]
        for _ in range(2)
    ]
    for first, again in zip(*runs, strict=True):
        assert np.array_equal(first, again)


def test_views_of_other_seats_and_games_are_refused() -> None:
    """They would give a belief, and a wrong one."""
    game = HanabiGame(players=2)
    worlds = game.deal(np.random.default_rng(0), 1)
    belief = private_belief(game, SmartBot(), worlds.view(1))
    with pytest.raises(UnsupportedError, match=r"expected a view of HanabiGame\(players=3\), got"):
        private_belief(HanabiGame(players=3), SmartBot(), worlds.view(1))
    with pytest.raises(TypeError, match="player must be an integer from 0 to 1, got array"):
        worlds.view(worlds.current_player)  # type: ignore[arg-type]
    event = worlds.step(np.flatnonzero(worlds.legal[0])[:1])
    with pytest.raises(ContractError, match="expected a view of seat 1, got one of 0"):
        belief.update(event, worlds.view(0))
    small = OpenSpielGame("tiny_hanabi")
    deal = small.deal(np.random.default_rng(0), 1)
    exact = private_belief(small, UniformPolicy(), deal.view(1))
    event = deal.step(np.array([0]))
    with pytest.raises(ContractError, match="expected a view of seat 1, got one of 0"):
        exact.update(event, deal.view(0))
