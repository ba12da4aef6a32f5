"""Partners of unknown policy: beside Bayes' rule over (world, policies), and in searches."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pyspiel
import pytest

from hanabi_search_plugin.algorithms import MoIsmcts, Predictor, Sparta
from hanabi_search_plugin.algorithms.guided import Guided
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs import unknown_partners
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.beliefs.tracked_worlds import track_deals, track_event
from hanabi_search_plugin.beliefs.unknown_partners import PartnersBelief, UnknownPartners
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Policy, UniformPolicy, take
from hanabi_search_plugin.core.rollout import (
    action_values,
    observe_all,
    plain_action_values,
    play_out,
    rollout,
    start_memories,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.hanabi.beliefs import mixed_partners
from hanabi_search_plugin.hanabi.beliefs.learned_partners import LearnedPartners, Recogniser
from hanabi_search_plugin.hanabi.beliefs.mixed_partners import MixedPartners
from hanabi_search_plugin.hanabi.beliefs.partners import PolicyPartners
from hanabi_search_plugin.hanabi.bots.compiled import table_of
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policy
from hanabi_search_plugin.testing import check_belief, check_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, as_bot, load_game
from hanabi_search_plugin.wrappers.pettingzoo import RecordObservations, SeatAgent, env
from tests.helpers.hanabi_bayes import Hashed, Record
from tests.helpers.small_networks import random_network
from tests.search.test_ismcts import arrays_as_dict, last, same_moves, spread

TWO = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3, life_tokens=2)
THREE = HanabiGame(players=3, colors=2, ranks=3, hand_size=2, information_tokens=3, life_tokens=2)
LEDUC = OpenSpielGame("leduc_poker")
HASHED = (Hashed(deterministic=True, remembers=True), Hashed(deterministic=False, remembers=False))


def named(game: HanabiGame, *names: str) -> tuple[Policy, ...]:
    return tuple(load_policy(name, game) for name in names)


BOTS = ("smartbot", "vdb", "cautious", "random")


# ------------------------------------------------------------------------------- one policy


@pytest.mark.parametrize("game", [TWO, LEDUC], ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_a_mixture_is_a_policy(game: Game, epsilon: float) -> None:
    bots = named(game, *BOTS) if isinstance(game, HanabiGame) else (UniformPolicy(),)
    check_policy(game, Mixture((*bots, *HASHED), epsilon=epsilon), games=2)


def test_a_mixture_moves_as_who_draws_a_policy_and_keeps_to_it() -> None:
    """Over whole games: the probability of the moves, averaged over candidates."""
    candidates, prior = (*named(TWO, *BOTS), HASHED[1]), (0.1, 0.3, 0.2, 0.15, 0.25)
    mixture = Mixture(candidates, prior=prior)
    n = 40
    worlds = TWO.deal(np.random.default_rng(0), n)
    memory, alone = mixture.start(worlds.view(0)), [p.start(worlds.view(0)) for p in candidates]
    together, apart = np.ones(n), np.ones((len(candidates), n))
    rng = np.random.default_rng(1)
    for _ in range(8):
        on = np.flatnonzero(~worlds.terminal)
        worlds, memory = worlds.select(on), take(memory, on)
        alone, together, apart = [take(mind, on) for mind in alone], together[on], apart[:, on]
        view, each = worlds.view(0), np.arange(len(on))
        moves = np.array([rng.choice(np.flatnonzero(legal)) for legal in worlds.legal])
        if (view.current_player == 0).all():
            chance = mixture.probabilities(view, view.legal, memory)[each, moves]
            together = together * chance
            for k, policy in enumerate(candidates):
                apart[k] *= policy.probabilities(view, view.legal, alone[k])[each, moves]
        event = worlds.step(moves)
        memory = mixture.observe(worlds.view(0), event, memory)
        alone = [
            policy.observe(worlds.view(0), event, mind)
            for policy, mind in zip(candidates, alone, strict=True)
        ]
    expected = np.array(prior) @ apart
    assert len(expected) > 10 and (apart == 0).any()
    assert np.allclose(together, expected)
    assert np.allclose(memory["weights"], (np.array(prior)[:, None] * apart / expected).T)


def test_what_is_no_mixture() -> None:
    for candidates, prior in (((), None), (HASHED, (1.0,)), (HASHED, (0, 0)), (HASHED, (2, -1))):
        with pytest.raises(ConfigError):
            Mixture(candidates, prior=prior)
    for wrong in ({"epsilon": 2.0}, {"uncertainty": -1.0}):
        with pytest.raises(ConfigError):
            UnknownPartners(HASHED, **wrong)  # type: ignore[arg-type]


# --------------------------------------------------------------------- Bayes in native Hanabi


def by_bayes(record, candidates, prior, seat, epsilon):
    """P(hand), and [P, K] P(policy), by one replay for each assignment of policies to seats."""
    ways = record.hands(seat)
    hands, others = list(ways), [p for p in range(record.game.num_players) if p != seat]
    decks = record.decks(seat, hands)
    weights = dict.fromkeys(hands, 0.0)
    policies = np.zeros((record.game.num_players, len(candidates)))
    for chosen in itertools.product(range(len(candidates)), repeat=len(others)):
        blueprint = [UniformPolicy()] * record.game.num_players
        for p, k in zip(others, chosen, strict=True):
            blueprint[p] = candidates[k]
        replay = record.replay(decks, tuple(blueprint), seat, epsilon)
        mass = np.prod([prior[k] for k in chosen]) * replay.chance
        for n, chance in zip(replay.kept, mass, strict=True):
            weights[hands[n]] += ways[hands[n]] * chance
            for p, k in zip(others, chosen, strict=True):
                policies[p, k] += ways[hands[n]] * chance
    total = sum(weights.values())
    return {h: w / total for h, w in weights.items() if w > 0}, policies / total


def hands_of(belief):
    worlds, chance = belief.inner.support()
    h = belief.game.config.hand_size
    start = belief.game.hand_slots(belief.seat).start
    rows = worlds.rows[:, start : start + h]
    assert np.allclose(chance.sum(), 1)
    return {
        tuple(int(c) for c in row if c < belief.game.vocabulary): w
        for row, w in zip(rows.tolist(), chance.tolist(), strict=True)
        if w > 0
    }


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["compiled", "plain"])
@pytest.mark.parametrize("game", [TWO, THREE], ids=["two", "three"])
def test_posteriors_of_native_hanabi_are_bayes_rule(game, kind, epsilon) -> None:
    """Of the hand and of every partner's policy, after every move."""
    candidates = named(game, *BOTS) if kind == "compiled" else (named(game, "vdb")[0], *HASHED)
    prior = np.arange(1.0, len(candidates) + 1) / sum(range(1, len(candidates) + 1))
    unknown = UnknownPartners(candidates, prior=tuple(prior), epsilon=epsilon)
    moved = 0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        record, seat = Record.random(game, rng), seed % game.num_players
        playing = tuple(candidates[k] for k in rng.integers(len(candidates), size=3))
        memories = start_memories(record.worlds, playing[: game.num_players])
        belief = unknown((UniformPolicy(),) * game.num_players, record.worlds.view(seat))
        wanted = MixedPartners if kind == "compiled" else PolicyPartners
        assert isinstance(belief.inner.partners, wanted)
        while not record.over and len(record.events) < 9:
            mover = record.mover
            view = record.worlds.view(mover)
            if mover == seat or (epsilon > 0 and rng.random() < 0.3):
                action = rng.choice(np.flatnonzero(view.legal[0]))
            else:
                stream = Streams.spawn(rng, 1)
                action = playing[mover].act(view, view.legal, memories[mover], stream)[0]
            event = record.step(int(action))
            memories = observe_all(
                record.worlds, event.player, event.action, playing[: game.num_players], memories
            )
            belief = belief.update(event, record.worlds.view(seat))
            hands, policies = by_bayes(record, candidates, prior, seat, epsilon)
            found = hands_of(belief)
            assert found.keys() == hands.keys()
            assert np.allclose([found[h] for h in hands], list(hands.values()))
            for p in range(game.num_players):
                if p != seat:
                    assert np.allclose(belief.posterior(p), policies[p])
                    moved += bool(np.abs(policies[p] - prior).max() > 0.05)
        assert belief.recovered == 0 and belief.exact
    assert moved > 0
    with pytest.raises(ConfigError):
        belief.posterior(seat)


class Plain(Policy):
    """The same policy, not compiled."""

    deterministic = False

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def start(self, view):
        return self.policy.start(view)

    def observe(self, view, event, memory):
        return self.policy.observe(view, event, memory)

    def act(self, view, legal, memory, rng):
        return self.policy.act(view, legal, memory, rng)

    def probabilities(self, view, legal, memory):
        return self.policy.probabilities(view, legal, memory)


def test_uncertainty_is_that_of_the_game() -> None:
    """As with policies that are not compiled, on the same moves."""

    bots = named(TWO, *BOTS)
    makers = [UnknownPartners(c, uncertainty=0.2) for c in (bots, tuple(map(Plain, bots)))]
    rng = np.random.default_rng(5)
    worlds = TWO.deal(rng, 1)
    beliefs = [make((UniformPolicy(),) * 2, worlds.view(0)) for make in makers]
    while not worlds.terminal[0]:
        event = worlds.step(rng.choice(np.flatnonzero(worlds.legal[0]), 1))
        beliefs = [b.update(event, worlds.view(0)) for b in beliefs]
        found = [hands_of(b) for b in beliefs]
        assert found[0].keys() == found[1].keys()
        assert np.allclose([found[0][h] for h in found[1]], list(found[1].values()))
        assert np.allclose(*(b.posterior(1) for b in beliefs))


# ------------------------------------------------------------------------ Bayes in other games


def test_posteriors_of_enumerated_worlds_are_bayes_rule() -> None:
    """On leduc_poker, one belief for each candidate and its evidence."""
    candidates = (UniformPolicy(), *HASHED, Hashed(deterministic=False, remembers=True))
    unknown = UnknownPartners(candidates)
    rng = np.random.default_rng(2)
    told = 0.0
    for _ in range(4):
        worlds = LEDUC.deal(rng, 1)
        own = UniformPolicy()
        belief = unknown((own, own), worlds.view(0))
        blueprints = [(own, candidate) for candidate in candidates]
        tracked = [track_deals(LEDUC, b, worlds.view(0), 10_000) for b in blueprints]
        while not worlds.terminal[0]:
            event = worlds.step(rng.choice(np.flatnonzero(worlds.legal[0]), 1))
            view = worlds.view(0)
            belief = belief.update(event, view)
            for k, blueprint in enumerate(blueprints):
                if tracked[k] is not None:
                    tracked[k] = track_event(
                        LEDUC, blueprint, tracked[k], event, view, epsilon=0.0,
                        evidence=int(event.player[0]) == 1, max_worlds=10_000,
                    ).after  # fmt: skip
            evidence = np.array([0.0 if t is None else t.weights.sum() for t in tracked])
            assert np.allclose(belief.posterior(1), evidence / evidence.sum())
            told = max(told, abs(belief.posterior(1) - 0.25).max())
    assert told > 0.2
    check_belief_of_mixture = EnumeratedBelief.start(
        LEDUC, (Mixture(candidates),) * 2, LEDUC.deal(rng, 1).view(0)
    )
    assert check_belief_of_mixture.size > 1


def test_particles_follow_partners_of_unknown_policy() -> None:
    def particles(blueprint, view):
        rng = np.random.default_rng(0)
        return ParticleBelief.start(view.game, blueprint, view, particles=2_000, rng=rng)

    candidates = (UniformPolicy(), *HASHED)
    rng = np.random.default_rng(4)
    worlds = LEDUC.deal(rng, 1)
    own = (UniformPolicy(),) * 2
    beliefs = [
        UnknownPartners(candidates, belief=make)(own, worlds.view(0)) for make in (None, particles)
    ]
    for _ in range(3):
        event = worlds.step(rng.choice(np.flatnonzero(worlds.legal[0]), 1))
        beliefs = [belief.update(event, worlds.view(0)) for belief in beliefs]
    assert np.abs(beliefs[0].posterior(1) - beliefs[1].posterior(1)).max() < 0.1
    with pytest.raises(ConfigError, match="uncertainty must be 0"):
        UnknownPartners(candidates, belief=particles, uncertainty=0.1)


# ----------------------------------------------------------------------------- in whole games


def play(game, agent, partners, seed, seat=0):
    """Every belief of ``agent`` at its turns, and the finished game."""
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    policies = (*partners[:seat], agent, *partners[seat:])
    beliefs, memory = [], agent.start(worlds.view(seat))
    results = []
    for turn in play_game(worlds, policies, Streams.spawn(rng, 1), (seed,)):
        if turn.result is not None:
            results.append(turn.result)
        event_of = (np.array([turn.seat]), np.array([turn.action]))
        after = worlds.select(np.zeros(1, dtype=np.int64))
        event = after.step(event_of[1])
        memory = agent.observe(after.view(seat), event, memory)
        belief = memory[0]
        beliefs.append(belief.inner if isinstance(belief, Guided) else belief)
    return beliefs, results, worlds


def test_deterministic_partners_are_identified_in_games() -> None:
    game = HanabiGame(players=3, ranks=4, hand_size=3, bomb="keep")
    names = ("vdb", "clivej2", "smartbot", "risky", "random")
    candidates = named(game, *names)
    agent = upgrade(
        candidates[0], game, Predictor(iterations=20), belief=UnknownPartners(candidates)
    )
    for seed, pair in enumerate([(0, 1), (2, 0)]):
        beliefs, results, _ = play(game, agent, [candidates[k] for k in pair], seed)
        for p, k in enumerate(pair, start=1):
            assert beliefs[-1].posterior(p)[k] > 0.99
        assert all(belief.recovered == 0 for belief in beliefs)
        assert all("recover" not in result.note for result in results)


def test_a_wrong_list_recovers_with_a_reason() -> None:
    candidates = named(TWO, "smartbot", "vdb")
    for search in (Sparta(rollouts=40, min_rollouts=2), Predictor(iterations=20)):
        agent = upgrade(candidates[0], TWO, search, belief=UnknownPartners(candidates))
        notes = []
        for seed in range(4):
            beliefs, results, _ = play(TWO, agent, [UniformPolicy()], seed)
            posterior = np.array([belief.posterior(1) for belief in beliefs])
            assert np.allclose(posterior.sum(axis=1), 1)
            for before, after in itertools.pairwise(beliefs):
                if after.recovered > before.recovered:  # nobody is ruled out
                    assert after.posterior(1).min() > 0.2
            notes += [result.note for result in results]
        assert any("recover" in note for note in notes)


def test_epsilon_never_rules_a_partner_out() -> None:
    candidates = named(TWO, "smartbot", "vdb")
    unknown = UnknownPartners(candidates, epsilon=0.1)
    agent = upgrade(candidates[0], TWO, Sparta(rollouts=40, min_rollouts=2), belief=unknown)
    for seed in range(4):
        beliefs, _, _ = play(TWO, agent, [UniformPolicy()], seed)
        assert all(belief.recovered == 0 for belief in beliefs)
        assert all(belief.posterior(1).min() > 0 for belief in beliefs)


def test_too_many_hands_are_a_sample(monkeypatch) -> None:
    monkeypatch.setattr(mixed_partners, "MAX_MIXED", 2)
    candidates = named(TWO, "cautious", "random")
    agent = upgrade(
        candidates[0], TWO, Predictor(iterations=20), belief=UnknownPartners(candidates)
    )
    beliefs, results, _ = play(TWO, agent, [candidates[0]], 0)
    assert not beliefs[-1].exact
    assert any("sample" in result.note for result in results)


# ---------------------------------------------------------------------------------- searches


def later(game, search, belief_of, seed, moves=6):
    """The belief of whoever moves after some moves of a game of the candidates."""
    rng = np.random.default_rng(seed)
    playing = named(game, *rng.choice(BOTS, game.num_players))
    worlds = game.deal(rng, 1)
    memories = start_memories(worlds, playing)
    beliefs = [belief_of(worlds.view(p)) for p in range(game.num_players)]
    if isinstance(search, MoIsmcts | Predictor):
        beliefs = [search.wrap(belief) for belief in beliefs]
    for _ in range(moves):
        mover = int(worlds.current_player[0])
        view = worlds.view(mover)
        action = playing[mover].act(view, view.legal, memories[mover], Streams.spawn(rng, 1))
        event = worlds.step(action)
        memories = observe_all(worlds, event.player, event.action, playing, memories)
        beliefs = [b.update(event, worlds.view(p)) for p, b in enumerate(beliefs)]
    assert not worlds.terminal[0]
    return beliefs[int(worlds.current_player[0])]


def unknown_of(game):
    unknown = UnknownPartners(named(game, *BOTS), epsilon=0.3)
    return lambda view: unknown(named(game, "vdb") * game.num_players, view)


def known_of(game):
    return lambda view: private_belief(game, named(game, *BOTS[: game.num_players]), view)


def test_a_posterior_of_many_worlds_is_estimated(monkeypatch) -> None:
    belief = later(THREE, Sparta(), unknown_of(THREE), 1, 5)
    partner = (belief.seat + 1) % 3
    listed = belief.posterior(partner)
    monkeypatch.setattr(unknown_partners, "MAX_LISTED", 0)
    assert 0 < np.abs(belief.posterior(partner) - listed).max() < 0.04


def test_mixed_tables_are_played_as_the_plain_loops_play_them() -> None:
    for seed, game in enumerate((TWO, THREE)):
        belief = later(game, Sparta(), unknown_of(game), seed, 3)
        worlds, memories = belief.sample(np.random.default_rng(seed), 60)
        others = [m["drawn"] for p, m in enumerate(memories) if p != belief.seat]
        assert max(len(np.unique(drawn)) for drawn in others) > 1
        table = table_of(belief.blueprint, memories, game)
        assert table is not None and table[0].shape[0] == 60
        actions = np.flatnonzero(belief.view.legal[0])[:4]
        rng = Streams.spawn(np.random.default_rng(1), 60)
        arguments = (worlds, actions, belief.blueprint, memories, belief.seat)
        values = action_values(*arguments, rng.select(np.arange(60)))
        assert np.array_equal(values, plain_action_values(*arguments, rng))
        threaded = action_values(*arguments, rng, threads=2)
        assert np.array_equal(values, threaded)
        ends = play_out(worlds, belief.blueprint, memories, rng)
        assert np.array_equal(ends, rollout(worlds, belief.blueprint, memories, rng).returns)


def learned_of(game):
    recogniser = Recogniser(random_network(outputs=len(BOTS)), BOTS)
    learned = LearnedPartners(named(game, *BOTS), recogniser)
    return lambda view: learned(named(game, "vdb") * game.num_players, view)


@pytest.mark.parametrize("of", [unknown_of, known_of, learned_of])
@pytest.mark.parametrize("depth", [None, 2])
def test_compiled_trees_of_own_moves_are_the_generic_ones(of, depth, monkeypatch) -> None:
    for seed, game in enumerate((TWO, THREE, THREE)):
        search = Predictor(iterations=130, depth=depth)
        belief = later(game, search, of(game), seed, 3 + seed)
        compiled = last(search.grow(np.random.default_rng(seed), belief))
        with monkeypatch.context() as patch:
            patch.setattr(HanabiGame, "start_tree", lambda *_, **__: None)
            generic = last(search.grow(np.random.default_rng(seed), belief))
        assert same_moves(arrays_as_dict(compiled), spread(generic.roots[0]))
        assert compiled.depth == generic.depth
        assert depth is None or compiled.depth <= depth
        assert compiled.iterations == generic.iterations == 130


def test_the_tree_is_of_own_moves_alone() -> None:
    """Against a sole partner whose moves are known, the tree knows what follows exactly."""
    search = Predictor(iterations=400, nodes="observations", exploration=0.5)
    belief = later(TWO, search, known_of(TWO), 3, 4)
    result = search(np.random.default_rng(0), belief)
    assert result.count.sum() == result.rollouts == 400
    tree = last(search.grow(np.random.default_rng(0), belief))
    for path, moves in spread(tree.root(belief.view)).items():
        for move, _ in path:
            assert 0 <= move < TWO.num_actions
        assert all(visits <= 400 for visits, _, _ in moves.values())
    assert tree.depth >= 2


def test_the_predictor_takes_moves_as_evidence_unless_told_not_to() -> None:
    for evidence in (True, False):
        search = Predictor(iterations=20, evidence=evidence)
        belief = later(TWO, search, unknown_of(TWO), 1, 5)
        partner = 1 - belief.seat
        assert isinstance(belief.inner, PartnersBelief)
        assert (np.ptp(belief.inner.posterior(partner)) > 0.01) == evidence


def test_a_tree_needs_worlds_in_which_policies_are_drawn() -> None:
    search = Predictor(iterations=20)
    candidates = Mixture(named(TWO, *BOTS))
    view = TWO.deal(np.random.default_rng(0), 1).view(0)
    belief = search.wrap(private_belief(TWO, (candidates, candidates), view))
    with pytest.raises(UnsupportedError, match="drawn"):
        search(np.random.default_rng(0), belief)


def test_sparta_plays_mixtures_that_are_not_drawn_all_the_same() -> None:
    """Slower: every candidate follows every world."""
    mixture = Mixture(named(TWO, "vdb", "random"))
    view = TWO.deal(np.random.default_rng(0), 1).view(0)
    belief = private_belief(TWO, (*named(TWO, "vdb"), mixture), view)
    worlds, memories = belief.sample(np.random.default_rng(0), 300)
    actions = np.flatnonzero(view.legal[0])[:1]
    rng = Streams.spawn(np.random.default_rng(1), 300)
    open_values = action_values(worlds, actions, belief.blueprint, memories, 0, rng)
    drawn = (memories[0], mixture.draw(memories[1], np.random.default_rng(2).random(300)))
    kept = action_values(worlds, actions, belief.blueprint, drawn, 0, rng)
    error = np.hypot(open_values.std(), kept.std()) / np.sqrt(300)
    assert abs(open_values.mean() - kept.mean()) < 4 * error


@pytest.mark.parametrize("search", [Sparta(rollouts=60, min_rollouts=2), Predictor(iterations=60)])
def test_copies_in_the_middle_of_a_game_decide_the_same(search) -> None:
    unknown = UnknownPartners(named(THREE, *BOTS))
    agent = upgrade(load_policy("vdb", THREE), THREE, search, belief=unknown)
    rng = np.random.default_rng(3)
    worlds = THREE.deal(rng, 1)
    memory = agent.start(worlds.view(0))
    while not worlds.terminal[0]:
        if worlds.current_player[0] == 0:
            decisions = [
                a.decide(m[0], np.random.default_rng(7)).to_dict()
                for a, m in (
                    (agent, memory),
                    copy.deepcopy((agent, memory)),
                    pickle.loads(pickle.dumps((agent, memory))),
                )
            ]
            assert decisions[0] == decisions[1] == decisions[2]
        event = worlds.step(rng.choice(np.flatnonzero(worlds.legal[0]), 1))
        memory = agent.observe(worlds.view(0), event, memory)


def test_agents_in_openspiel_and_pettingzoo() -> None:
    spiel = pyspiel.load_game("hanabi(players=2,colors=2,hand_size=2,max_life_tokens=1)")
    game = load_game(spiel)
    unknown = UnknownPartners(named(game, "vdb", "cautious"), epsilon=0.01)
    agent = upgrade(load_policy("vdb"), game, Predictor(iterations=20), belief=unknown)
    bots = [as_bot(agent, game, seat) for seat in range(2)]
    assert pyspiel.evaluate_bots(spiel.new_initial_state(), bots, 3)[0] >= 0
    environment = RecordObservations(env(players=2, colors=2, hand_size=2, max_life_tokens=1))
    environment.reset(seed=3)
    agents = {f"player_{p}": SeatAgent(agent, environment, p) for p in range(2)}
    moves = 0
    for name in environment.agent_iter():
        observation, _, termination, truncation, _ = environment.last()
        over = termination or truncation
        moves += not over
        environment.step(None if over else agents[name].act(observation))
    assert moves > 2


def test_beliefs_over_mixtures_keep_the_contract() -> None:
    for game, candidates in ((TWO, named(TWO, "vdb", "random")), (LEDUC, HASHED)):
        check_belief(game, Mixture(candidates, epsilon=0.1), games=1)


def test_candidates_may_be_names_that_upgrade_loads() -> None:
    by_name = upgrade("piers", TWO, Sparta(), belief=UnknownPartners(("vdb", "iggi")))
    given = UnknownPartners(named(TWO, "vdb", "iggi"))
    assert describe(by_name) == describe(upgrade("piers", TWO, Sparta(), belief=given))
    with pytest.raises(ConfigError, match=r"where `upgrade` does not load them.*\['vdb'\]"):
        UnknownPartners(("vdb",))(by_name.blueprint, TWO.deal(np.random.default_rng(0), 1).view(0))
    with pytest.raises(ConfigError, match="candidates must be one of"):
        upgrade("piers", TWO, Sparta(), belief=UnknownPartners(("nobody",)))
