"""The evaluation function: features and trees beside second implementations, networks, bots.

Letters: B worlds, F features, K outputs.
"""

from __future__ import annotations

import pickle
from typing import Any, get_args

import numpy as np
import pytest
from safetensors.numpy import save

from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.core.errors import ConfigError, RecordError, UnsupportedError
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.evalfn import (
    SHIPPED,
    STATE_FEATURES,
    EvalFn,
    RuleClassifier,
    ValueNetwork,
    move_features,
    named_network,
    shipped,
    state_features,
)
from hanabi_search_plugin.hanabi.bots.features import FEATURES
from hanabi_search_plugin.hanabi.bots.rulebook import (
    TABLE_II,
    Convention,
    PlayIfCertain,
    TellRandomly,
)
from hanabi_search_plugin.hanabi.bots.value_kernels import HIDDEN
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policy
from hanabi_search_plugin.testing import check_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_table import any_config
from tests.helpers.small_networks import random_network, tensors
from tests.references.evalfn_reference import features
from tests.references.rules_reference import Table
from tests.search.test_ismcts import (
    PAYOFF,
    SMALL,
    TINY,
    Known,
    arrays_as_dict,
    decide,
    first_belief,
    last,
    later_belief,
    merged,
    same_moves,
)


def positions(config: HanabiConfig, agent: Any, seed: int, lucky: float = 0.0):
    """(worlds, memory, table) before every move of a game of random moves.

    With probability ``lucky`` a card that scores is played, where there is one.
    """
    game = HanabiGame(config)
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    deck = worlds.rows[0, worlds.rows.shape[1] - config.deck_size :].tolist()
    table = Table.deal(config, deck, False)
    memory = agent.start(worlds.view(0))
    while not worlds.terminal[0]:
        yield worlds, memory, table
        cards = sorted(table.cards(table.turn), key=lambda held: held.drawn)
        scores = [slot for slot, held in enumerate(cards) if table.playable(held.card)]
        action = rng.choice(np.flatnonzero(worlds.legal[0]), 1)
        if scores and rng.random() < lucky:
            action = np.array([config.hand_size + scores[0]])
        event = worlds.step(action)
        table.apply(int(action[0]))
        if not worlds.terminal[0]:
            memory = agent.observe(worlds.view(0), event, memory)


# --------------------------------------------------------------------------------------- features


@pytest.mark.parametrize("convention", get_args(Convention))
def test_features_are_those_of_a_second_implementation(convention: Convention) -> None:
    agent = EvalFn(random_network(), convention=convention)
    rng = np.random.default_rng(1)
    configs = [HanabiConfig(players=5, hand_size=3, life_tokens=50)] * 2
    configs += [any_config(rng) for _ in range(10)]
    not_zero = np.zeros(FEATURES, dtype=np.int64)
    for seed, config in enumerate(configs):
        for worlds, memory, table in positions(config, agent, seed, lucky=0.8):
            rows = worlds.view(int(worlds.current_player[0])).rows
            found = state_features(agent, worlds.game, rows, memory)[0]
            np.testing.assert_allclose(found, features(table, convention), atol=1e-12)
            if rng.random() < 0.5:
                continue
            actions = np.flatnonzero(worlds.legal[0])
            many = len(actions)
            found = move_features(
                agent, worlds.game, rows.repeat(many, axis=0), memory.repeat(many, axis=0), actions
            )
            expected = [features(table, convention, a) for a in actions.tolist()]
            np.testing.assert_allclose(found, expected, atol=1e-12)
            not_zero += (found != 0).any(axis=0)
    assert not_zero.min() > 3


# --------------------------------------------------------------------------------------- networks


def test_networks_come_from_files(tmp_path) -> None:
    file = tmp_path / "mine.safetensors"
    file.write_bytes(save(tensors()))
    network = ValueNetwork.load(file)
    assert network.digest == random_network().digest == named_network(str(file)).digest
    assert load_policy(f"evalfn:network={file}").weights == network.digest
    for name in SHIPPED:
        assert np.isfinite(shipped(name)(np.zeros(len(shipped(name).tensors["mean"])))).all()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"mean": np.zeros(5)}, "features"),
        ({"hidden.bias": np.zeros(4)}, "hidden.bias must be finite, of shape"),
        ({"output.bias": np.full(1, np.nan)}, "output.bias must be finite"),
        ({"deviation": np.zeros(FEATURES)}, "deviations above 0"),
        ({"more": np.zeros(1)}, "must have mean, deviation"),
    ],
)
def test_what_is_no_network(change, reason, tmp_path) -> None:
    parts = {name: np.asarray(part, np.float32) for name, part in (tensors() | change).items()}
    if "mean" in change:
        parts |= {"deviation": np.ones(5), "hidden.weight": np.zeros((HIDDEN, 5))}
    with pytest.raises(RecordError, match=reason):
        ValueNetwork(parts)
    (tmp_path / "bad.safetensors").write_bytes(save(parts) if "mean" in change else b"{}")
    with pytest.raises(RecordError, match=r"bad\.safetensors: expected a network"):
        ValueNetwork.load(tmp_path / "bad.safetensors")


def test_agents_refuse_what_does_not_fit() -> None:
    with pytest.raises(ConfigError, match="network must have one output, got 9"):
        EvalFn(random_network(outputs=9))
    with pytest.raises(ConfigError, match="an output for each of 9 rules, got 1"):
        RuleClassifier(random_network(), TABLE_II)
    with pytest.raises(ConfigError, match="network must be one of evalfn-1"):
        load_policy("evalfn:network=evalfn-9")
    with pytest.raises(ConfigError, match="rule numbers"):
        load_policy("evalfn:rules=0")


# ------------------------------------------------------------------------------------------- bots


@pytest.mark.parametrize("convention", get_args(Convention))
def test_moves_and_estimates_are_those_of_the_network(convention: Convention) -> None:
    agent = EvalFn(random_network(), TABLE_II, convention=convention)
    open_to_all = EvalFn(random_network(), [PlayIfCertain()], convention=convention)
    chosen = set()
    for seed in range(3):
        for worlds, memory, table in positions(SMALL.config, agent, seed, lucky=0.5):
            view = worlds.view(int(worlds.current_player[0]))
            x = [
                features(table, convention, a)
                for a in range(view.legal.shape[1])
                if view.legal[0, a]
            ]
            expected = sum(table.piles) + SMALL.config.max_score * agent.network(np.array(x))[:, 0]
            found = agent.estimates(view, view.legal, memory)[0]
            np.testing.assert_allclose(found[view.legal[0]], expected)
            assert np.isnan(found[~view.legal[0]]).all()
            none = Streams(np.zeros(1, dtype=np.uint64))
            for player in (agent, open_to_all):
                proposed = player.proposed(view, view.legal, memory)[0]
                allowed = proposed if proposed.any() else view.legal[0]
                move = int(player.act(view, view.legal, memory, none)[0])
                assert move == np.where(allowed, found, -np.inf).argmax()
                chosen.add((proposed.any(), move < 4))
    assert len(chosen) > 2


def test_the_classifier_follows_the_rule_of_the_highest_output() -> None:
    network = random_network(inputs=len(STATE_FEATURES), outputs=9)
    agent = RuleClassifier(network, TABLE_II, convention="any-giver")
    for worlds, memory, table in positions(SMALL.config, agent, 4, lucky=0.5):
        view = worlds.view(int(worlds.current_player[0]))
        x = np.array(features(table, "any-giver"))[STATE_FEATURES]
        codes = agent.proposals(view, memory)[0]
        move = agent.act(view, view.legal, memory, Streams(np.zeros(1, dtype=np.uint64)))
        wanted = np.where(codes >= 0, network(x), -np.inf)
        assert move[0] == (codes[wanted.argmax()] if (codes >= 0).any() else view.legal[0].argmax())


def test_they_keep_the_contract() -> None:
    agents = [EvalFn(random_network()), EvalFn(random_network(), [TellRandomly()])]
    for agent in agents:
        check_policy(SMALL, agent)
        copied = pickle.loads(pickle.dumps(agent))
        assert (copied.script(SMALL) == agent.script(SMALL)).all()
        assert agent.deterministic


# ------------------------------------------------------------------------------------ tree search


@pytest.mark.parametrize("kind", [MoIsmcts, Predictor, RisMcts])
@pytest.mark.parametrize("leaves", ["rollouts", "estimates"])
def test_compiled_trees_with_estimates_are_the_generic_ones(kind, leaves, monkeypatch) -> None:
    guide = EvalFn(random_network(), convention="any-giver")
    for seed, (moves, depth) in enumerate([(0, None), (5, None), (9, 2)]):
        search = kind(
            iterations=130, guide=guide, leaves=leaves, depth=depth, prior_visits=2,
            evidence=False, by_convention=seed > 0,
        )  # fmt: skip
        belief = later_belief(search, load_policy("vdb", SMALL), moves, seed)
        compiled = last(search.grow(np.random.default_rng(seed), belief))
        result = decide(search, belief)
        with monkeypatch.context() as patch:
            patch.setattr(HanabiGame, "start_tree", lambda *_, **__: None)
            generic = last(search.grow(np.random.default_rng(seed), belief))
            assert result.to_dict() == decide(search, belief).to_dict()
        assert same_moves(arrays_as_dict(compiled), merged(generic))
        assert compiled.depth == generic.depth


def test_estimates_in_place_of_rollouts() -> None:
    search = MoIsmcts(iterations=1, guide=Known(), leaves="estimates")
    result = decide(search, first_belief(TINY, search))
    estimates = Known().estimates(first_belief(TINY, search).view, None, None)[0]
    best = int(estimates[[0, 2]].argmax()) * 2
    np.testing.assert_allclose(result.mean[[0, 2]], estimates[[0, 2]])  # nothing was played
    assert result.count.tolist() == [1 + (best == 0), 0, 1 + (best == 2)]
    search = MoIsmcts(iterations=300, guide=Known(), leaves="estimates")
    many = decide(search, first_belief(TINY, search))
    assert (many.mean[[0, 2]] != estimates[[0, 2]]).all()  # the ends of games have come up
    assert PAYOFF.min() <= many.mean[0] <= PAYOFF.max() and many.count.sum() == 302


def test_moves_that_show_up_later_have_estimates_too() -> None:
    """In RIS-MCTS others' proposals vary with their hands: each enters with its prior."""
    search = RisMcts(iterations=300, guide=EvalFn(random_network()), leaves="estimates")
    tree = last(
        search.grow(np.random.default_rng(0), later_belief(search, load_policy("vdb"), 4, 3))
    )
    entered = tree.available > 0
    assert (tree.visits[entered] > 0).all() and tree.visits[:, :].sum() > 600


def test_estimates_need_a_guide_and_a_common_reward() -> None:
    with pytest.raises(ConfigError, match="guide must be a policy that estimates"):
        RisMcts(leaves="estimates")
    with pytest.raises(ConfigError, match="leaves must be one of rollouts, estimates"):
        RisMcts(leaves="none")
    kuhn = OpenSpielGame("kuhn_poker")
    search = MoIsmcts(guide=Known(), leaves="estimates")
    with pytest.raises(UnsupportedError, match="leaves must be rollouts"):
        decide(search, first_belief(kuhn, search))
