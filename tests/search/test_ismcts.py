"""IS-MCTS and RIS-MCTS against the contracts, and the compiled trees of native Hanabi."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyspiel
import pytest

from hanabi_search_plugin.algorithms.ismcts import ROUND, MoIsmcts, RisMcts, SoIsmcts
from hanabi_search_plugin.algorithms.search_tree import Node
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.core.policy import EstimatingGuide, Guide, UniformPolicy
from hanabi_search_plugin.core.rollout import observe_all, play_out, rollout, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.tree import MoveStats
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import TABLE_II, PlayIfCertain, TellRandomly
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policy
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielWorlds
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, as_bot, load_game
from hanabi_search_plugin.wrappers.pettingzoo import RecordObservations, SeatAgent, env

SMALL = HanabiGame(players=3, colors=3, ranks=3, hand_size=2, information_tokens=4, bomb="keep")
TINY = OpenSpielGame("tiny_hanabi")
PAYOFF = np.array(
    [float(x) for x in TINY.spiel.get_parameters()["payoff"].split(";")]
).reshape(2, 2, 3, 3)  # fmt: skip


def first_belief(game, search, *, blueprint=None, seed=0):
    """The belief of whoever begins a game, as ``search`` wants it."""
    blueprint = blueprint or UniformPolicy()
    worlds = game.deal(np.random.default_rng(seed), 1)
    view = worlds.view(int(worlds.current_player[0]))
    return search.wrap(private_belief(game, (blueprint,) * game.num_players, view))


def later_belief(search, blueprint, moves, seed, game=SMALL):
    """The belief of whoever moves after so many random moves of a game of Hanabi."""
    rng = np.random.default_rng(seed)
    while True:
        worlds = game.deal(rng, 1)
        blueprints = (blueprint,) * game.num_players
        beliefs = [
            search.wrap(private_belief(game, blueprints, worlds.view(p)))
            for p in range(game.num_players)
        ]  # fmt: skip
        for _ in range(moves):
            if not worlds.terminal[0]:
                event = worlds.step(rng.choice(np.flatnonzero(worlds.legal[0]), 1))
                beliefs = [b.update(event, worlds.view(p)) for p, b in enumerate(beliefs)]
        if not worlds.terminal[0] and worlds.legal[0].sum() > 1:
            return beliefs[int(worlds.current_player[0])]


def decide(search, belief, seed=1):
    return search(np.random.default_rng(seed), belief)


def last(trees):
    *_, tree = trees
    return tree


def numbers(move):
    return move.visits, move.total, move.available


def spread(node):
    """Every node of a tree by the moves that lead to it: what is known of its moves."""
    found = {}
    todo = [((), node)]
    while todo:
        path, node = todo.pop()
        found[path] = {a: numbers(move) for a, move in node.moves.items()}
        todo += [((*path, sight), child) for sight, child in node.children.items()]
    return found


def merged(tree):
    """The same of all trees of a decision together, which must not differ."""
    found = {}
    for root in tree.roots:
        for path, known in spread(root).items():
            assert not (known and found.get(path))
            found[path] = known or found.get(path, {})
    return found


# ---------------------------------------------------------------------------------------- the tree


@pytest.mark.parametrize("game", [OpenSpielGame("kuhn_poker"), OpenSpielGame("leduc_poker"), SMALL])
def test_one_tree_is_a_tree_a_player_where_moves_are_seen(game: Game, monkeypatch) -> None:
    monkeypatch.setattr(HanabiGame, "start_tree", lambda *_, **__: None)
    trees = []
    for search in (SoIsmcts(iterations=300), MoIsmcts(iterations=300)):
        belief = first_belief(game, search)
        trees.append(last(search.grow(np.random.default_rng(1), belief)))
    one, each = trees
    assert len(one.roots) == 1 and len(each.roots) == game.num_players
    assert merged(one) == merged(each)
    assert one.depth == each.depth > 1


def test_the_trees_differ_where_moves_are_hidden() -> None:
    """Phantom tic-tac-toe: the second player does not see the first move."""
    game = OpenSpielGame("phantom_ttt")
    trees = {}
    for search in (SoIsmcts(iterations=60), MoIsmcts(iterations=60)):
        belief = first_belief(game, search)
        trees[type(search)] = last(search.grow(np.random.default_rng(1), belief))
    seen_by_first = trees[SoIsmcts].roots[0]
    assert len(seen_by_first.children) == 9
    assert all(len(child.children) <= 1 for child in seen_by_first.children.values())
    of_second = trees[MoIsmcts].roots[1]
    (after,) = of_second.children.values()
    assert sum(move.visits for move in after.moves.values()) > 40  # all first moves together


@pytest.mark.parametrize("card", [0, 1])
def test_observations_tell_private_cards_apart(card: int) -> None:
    """tiny_hanabi: the partner answers by its card, and by player 0's, which leaks to it."""
    search = MoIsmcts(iterations=3_000, nodes="observations", exploration=1.0)
    view = TINY.deal_scripts([(card, 0)]).view(0)
    belief = EnumeratedBelief.start(TINY, (UniformPolicy(),) * 2, view)
    result = decide(search, search.wrap(belief))
    exact = PAYOFF[card].max(axis=2).mean(axis=0)
    assert exact[np.flatnonzero(result.actions == result.action)[0]] == exact.max()
    assert result.mean[result.count.argmax()] == pytest.approx(exact.max(), abs=0.5)


def test_ris_mcts_plugs_the_leak() -> None:
    """Nobody has been told anything: only a leak lets the others play their cards well."""
    values = {}
    for search in (MoIsmcts(iterations=1_500), RisMcts(iterations=1_500)):
        result = decide(search, first_belief(SMALL, search))
        values[type(search)] = np.average(result.mean, weights=result.count)
    assert values[MoIsmcts] > values[RisMcts] + 0.3


def test_equation_1_counts_availability() -> None:
    node = Node()
    node.moves = {a: MoveStats(visits, total) for a, (visits, total) in enumerate([(4, 8), (2, 3)])}
    node.moves[0].available, node.moves[1].available = 10, 3
    (stream,) = Streams.still(1).singles(2)
    bounds = [
        2.0 + 1.5 * math.sqrt(math.log(10) / 4),
        1.5 + 1.5 * math.sqrt(math.log(3) / 2),
    ]
    assert bounds[0] > bounds[1]
    assert node.select([0, 1], 1.5, stream) == 0
    assert [node.moves[a].available for a in (0, 1)] == [11, 4]
    assert node.select([1], 1.5, stream) == 1
    assert [node.moves[a].available for a in (0, 1)] == [11, 5]
    assert node.select([0, 1, 7], 1.5, stream) == 7  # never tried
    with stream.batch() as streams:
        assert streams.state[0] == 0  # nothing was left to chance


# ---------------------------------------------------------------------------------- compiled trees


def arrays_as_dict(tree):
    """``spread`` of a compiled tree."""
    found = {}
    todo = [((), 0)]
    while todo:
        path, node = todo.pop()
        found[path] = {
            a: (int(tree.visits[node, a]), tree.totals[node, a], int(tree.available[node, a]))
            for a in np.flatnonzero(tree.available[node]).tolist()
        }
        for a in np.flatnonzero(tree.children[node] >= 0).tolist():
            todo.append(((*path, a), int(tree.children[node, a])))
    return found


def same_moves(one, other):
    """Are the nodes that have any moves the same, of ``spread``, ``merged`` or arrays_as_dict?"""
    found = [{path: moves for path, moves in tree.items() if moves} for tree in (one, other)]
    return found[0] == found[1]


GUIDES = {
    "all moves": None,
    "rules": RuleAgent(TABLE_II),
    "convention": RuleAgent(TABLE_II, convention="any-giver", strict=True),
    "chance": RuleAgent([PlayIfCertain(), TellRandomly()]),
}


@pytest.mark.parametrize("kind", [MoIsmcts, RisMcts])
@pytest.mark.parametrize("guide", GUIDES)
def test_compiled_trees_are_the_generic_ones(kind, guide, monkeypatch) -> None:
    policies = itertools.cycle(["vdb", "random", "smartbot"])
    for seed, (moves, depth) in enumerate([(0, None), (5, None), (9, 2)]):
        conventional = guide == "convention" and seed > 0
        search = kind(
            iterations=ROUND + 30, guide=GUIDES[guide], depth=depth, by_convention=conventional
        )
        belief = later_belief(search, load_policy(next(policies), SMALL), moves, seed)
        compiled = last(search.grow(np.random.default_rng(seed), belief))
        result = decide(search, belief)
        with monkeypatch.context() as patch:
            patch.setattr(HanabiGame, "start_tree", lambda *_, **__: None)
            generic = last(search.grow(np.random.default_rng(seed), belief))
            assert result.to_dict() == decide(search, belief).to_dict()
        assert arrays_as_dict(compiled) == merged(generic)
        assert compiled.depth == generic.depth
        assert compiled.iterations == generic.iterations == ROUND + 30


def test_play_out_of_compiled_bots_is_the_generic_one() -> None:
    worlds = SMALL.deal(np.random.default_rng(0), 20)
    rng = Streams.spawn(np.random.default_rng(1), 20)
    for name in ("vdb", "random", "internal"):
        blueprint = (load_policy(name, SMALL),) * 3
        memories = start_memories(worlds, blueprint)
        played = play_out(worlds, blueprint, memories, rng)
        assert (played == rollout(worlds, blueprint, memories, rng).returns).all()


# --------------------------------------------------------------------------- guides and priors


class Known(EstimatingGuide):
    """tiny_hanabi: player 0's moves 0 and 2, and what they earn if player 1 answers at random."""

    def act(self, view, legal, memory, rng):
        raise AssertionError("a guide is not asked to move")

    def proposed(self, view, legal, memory):
        return legal & np.array([True, False, True])

    def estimates(self, view, legal, memory):
        return np.tile(PAYOFF.mean(axis=(0, 1, 3)) if view.player == 0 else np.zeros(3), (1, 1))


def test_priors_come_first() -> None:
    search = MoIsmcts(iterations=1, guide=Known(), prior_visits=4)
    result = decide(search, first_belief(TINY, search))
    best = PAYOFF.mean(axis=(0, 1, 3))[[0, 2]].argmax() * 2
    assert result.count.tolist() == [4 + (best == 0), 0, 4 + (best == 2)]
    many = MoIsmcts(iterations=200, guide=Known(), prior_visits=4)
    count = decide(many, first_belief(TINY, many)).count
    assert count.sum() == 208 and count[1] == 0


def test_rules_restrict_the_moves() -> None:
    guide = GUIDES["rules"]
    search = RisMcts(iterations=50, guide=guide)
    belief = later_belief(search, load_policy("vdb"), 4, 3)
    allowed = guide.proposed(belief.view, belief.view.legal, belief.guide_memory)[0]
    codes = guide.proposals(belief.view, belief.guide_memory)[0]
    assert set(np.flatnonzero(allowed)) == set(codes[codes >= 0])  # no rule leaves it to chance
    result = decide(search, belief)
    assert set(result.actions[result.count > 0]) == set(np.flatnonzero(allowed))


class Silent(Guide):
    def act(self, view, legal, memory, rng):
        raise AssertionError("a guide is not asked to move")

    def proposed(self, view, legal, memory):
        return np.zeros_like(legal)


def test_where_nothing_is_proposed_all_moves_are_looked_at() -> None:
    plain, silent = MoIsmcts(iterations=40), MoIsmcts(iterations=40, guide=Silent())
    a, b = (decide(search, first_belief(TINY, search)) for search in (plain, silent))
    assert a.to_dict() == b.to_dict()


def test_a_choice_left_to_chance_proposes_all_it_may_come_to() -> None:
    worlds = SMALL.deal(np.random.default_rng(0), 1)
    view = worlds.view(0)
    guide = GUIDES["chance"]
    found = guide.proposed(view, view.legal, guide.start(view))[0]
    hints = guide.probabilities(view, view.legal, guide.start(view))[0] > 0
    assert (found == hints).all() and found.any()


# ------------------------------------------------------------------------------------- decisions


def test_budgets_and_interruption() -> None:
    search = RisMcts(iterations=2 * ROUND + 50)
    belief = first_belief(SMALL, search)
    counts = [r.rollouts for r in search.results(np.random.default_rng(1), belief)]
    assert counts == [ROUND, 2 * ROUND, 2 * ROUND + 50]
    assert decide(search, belief).to_dict() == decide(search, belief).to_dict()
    for stop in (RisMcts(iterations=None, seconds=1e-9), RisMcts(iterations=10**9, seconds=1e-9)):
        assert 0 < decide(stop, belief).rollouts <= ROUND
    early = next(search.results(np.random.default_rng(1), belief))
    assert early.to_dict() == decide(RisMcts(iterations=ROUND), belief).to_dict()


def test_the_final_choice() -> None:
    by_visits, by_value = MoIsmcts(iterations=60), MoIsmcts(iterations=60, final="value")
    differed = 0
    for seed in range(20):
        a = decide(by_visits, first_belief(SMALL, by_visits, seed=seed), seed)
        b = decide(by_value, first_belief(SMALL, by_value, seed=seed), seed)
        assert (a.count == b.count).all()
        index = [int(np.flatnonzero(r.actions == r.action)[0]) for r in (a, b)]
        assert a.count[index[0]] == a.count.max()
        assert b.mean[index[1]] == np.nanmax(b.mean)
        differed += index[0] != index[1]
        assert a.reason == ("blueprint_best" if a.action == a.blueprint_action else "tree_choice")
    assert differed


def test_depth_is_that_of_the_deepest_node() -> None:
    for depth in (1, 3):
        search = MoIsmcts(iterations=200, depth=depth)
        assert decide(search, first_belief(TINY, search)).depth == min(depth, 2)
        assert decide(search, first_belief(SMALL, search)).depth == depth


class FirstMove(Silent):
    def proposed(self, view, legal, memory):
        return legal & (np.cumsum(legal, axis=1) == 1)


def test_a_sole_move_needs_no_tree() -> None:
    search = MoIsmcts(iterations=10, guide=FirstMove())
    result = decide(search, first_belief(TINY, search))
    assert result.reason == "single_move" and result.action == 0
    assert result.rollouts == result.count.sum() == 0 and result.depth is None


@pytest.mark.parametrize(
    "options",
    [
        {"iterations": 0}, {"iterations": 1.5}, {"iterations": None}, {"seconds": 0.0},
        {"exploration": -1.0}, {"exploration": math.nan}, {"depth": 0}, {"nodes": "cards"},
        {"final": "luck"}, {"guide": UniformPolicy()}, {"prior_visits": 0},
        {"by_convention": True},
        {"by_convention": True, "evidence": True, "guide": RuleAgent(TABLE_II)},
    ],
)  # fmt: skip
def test_settings_out_of_range(options) -> None:
    with pytest.raises(ConfigError):
        MoIsmcts(**options)


def test_a_guide_is_followed_from_the_start() -> None:
    search = MoIsmcts(guide=Silent())
    with pytest.raises(ContractError, match="wrap"):
        decide(search, first_belief(TINY, MoIsmcts()))


def test_ris_mcts_needs_a_game_that_redeterminizes(monkeypatch) -> None:
    game = HanabiGame()
    monkeypatch.setattr("hanabi_search_plugin.algorithms.ismcts.Redeterminizes", PlainGame)
    with pytest.raises(UnsupportedError, match="Redeterminizes"):
        RisMcts().require_fit(game, (UniformPolicy(),) * 2)


# ------------------------------------------------------------------------------------ no evidence


@pytest.mark.parametrize("kind", ["enumerated", "particles"])
def test_moves_are_no_evidence_unless_asked_for(kind) -> None:
    """A partner that bets with its best card alone: all its cards stay possible."""
    game = OpenSpielGame("kuhn_poker")

    class Honest(UniformPolicy):
        def probabilities(self, view, legal, memory):
            bets = np.array([key.startswith("2") for key in view.keys()])
            return np.stack([~bets, bets], axis=1).astype(float)

    def start(view):
        blueprint = (Honest(),) * 2
        if kind == "enumerated":
            return EnumeratedBelief.start(game, blueprint, view)
        rng = np.random.default_rng(0)
        return ParticleBelief.start(game, blueprint, view, particles=200, rng=rng)

    sizes = {}
    for evidence in (False, True):
        state = game.spiel.new_initial_state()
        for card in (2, 0):
            state.apply_action(card)
        worlds = OpenSpielWorlds(game, [state], Streams(np.zeros(1, dtype=np.uint64)))
        belief = MoIsmcts(evidence=evidence).wrap(start(worlds.view(1)))
        belief = belief.update(worlds.step(np.array([1])), worlds.view(1))
        drawn, _ = belief.sample(np.random.default_rng(0), 100)
        sizes[evidence] = len(set(drawn.view(0).keys()))
    assert sizes == {False: 2, True: 1}


def test_agents_play_whole_games() -> None:
    """Beliefs, guides and memories keep up."""
    game = SMALL
    for search in (RisMcts(iterations=20, guide=GUIDES["rules"]), MoIsmcts(iterations=20)):
        agent = upgrade(load_policy("vdb", game), game, search)
        assert not agent.assumes_blueprint
        worlds = game.deal(np.random.default_rng(3), 1)
        memories = start_memories(worlds, (agent,) * 3)
        rng = np.random.default_rng(0)
        while not worlds.terminal[0]:
            seat = int(worlds.current_player[0])
            action = np.array([agent.decide(memories[seat][0], rng).action])
            event = worlds.step(action)
            memories = observe_all(worlds, event.player, action, (agent,) * 3, memories)
        assert worlds.returns[0, 0] >= 3
    assert upgrade(UniformPolicy(), game, MoIsmcts(evidence=True)).assumes_blueprint


def test_agents_in_openspiel_and_pettingzoo() -> None:
    spiel = pyspiel.load_game("hanabi(players=2,colors=2,hand_size=2,max_life_tokens=1)")
    game = load_game(spiel)
    agent = upgrade(load_policy("vdb"), game, RisMcts(iterations=20, guide=GUIDES["rules"]))
    bots = [as_bot(agent, game, seat) for seat in range(2)]
    assert pyspiel.evaluate_bots(spiel.new_initial_state(), bots, 3)[0] >= 0
    environment = RecordObservations(env(players=2, colors=2, hand_size=2, max_life_tokens=1))
    environment.reset(seed=3)
    agents = {f"player_{p}": SeatAgent(agent, environment, p) for p in range(2)}
    for name in environment.agent_iter():
        observation, _, termination, truncation, _ = environment.last()
        over = termination or truncation
        environment.step(None if over else agents[name].act(observation))
