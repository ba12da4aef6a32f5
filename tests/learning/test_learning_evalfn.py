"""Training of the evaluation function: what it learns from, going on where it stopped, fitting."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.bots.evalfn import STATE_FEATURES, ValueNetwork, move_features
from hanabi_search_plugin.hanabi.bots.features import FEATURES
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import SHIPPED_EVALUATION, TABLE_II
from hanabi_search_plugin.hanabi.engine.layout import MOVES, PLAYED, TURN
from hanabi_search_plugin.learning import evalfn_training
from hanabi_search_plugin.learning.evalfn_training import EvalfnTraining, Stage, train
from hanabi_search_plugin.learning.fit import fit
from hanabi_search_plugin.learning.tree_examples import WatchedRisMcts, of_tree, play
from hanabi_search_plugin.registry import load_policy
from tests.search.test_ismcts import SMALL, decide, later_belief

GUIDE = RuleAgent(SHIPPED_EVALUATION, convention="any-giver")
NINE = RuleAgent(TABLE_II, convention="any-giver")


def test_examples_are_the_moves_of_nodes_that_were_visited_enough() -> None:
    trees = []
    search = WatchedRisMcts(iterations=600, guide=GUIDE, on_tree=trees.append)
    belief = later_belief(search, load_policy("random"), 3, 1)
    result = decide(search, belief)
    (tree,) = trees
    features, targets, roots = of_tree(tree, GUIDE, 20)
    enough = np.flatnonzero(result.count >= 20)
    actions = result.actions[enough]
    view = belief.view.rows
    assert roots.sum() == len(actions) and roots.mean() < 0.5
    many = len(actions)
    expected = move_features(
        GUIDE, SMALL, view.repeat(many, axis=0), belief.guide_memory.repeat(many, axis=0), actions
    )
    np.testing.assert_allclose(features[roots], expected, rtol=1e-6)
    score = int(view[0, PLAYED]).bit_count()
    gained = (result.mean[enough] - score) / SMALL.config.max_score
    np.testing.assert_allclose(targets[roots], gained, rtol=1e-5, atol=1e-7)
    # The world kept for a node is as many moves on as the node is deep, and not over.
    todo = [(0, 0)]
    while todo:
        node, depth = todo.pop()
        assert tree.kept[node, MOVES] == view[0, MOVES] + depth and tree.kept[node, TURN] >= 0
        children = tree.children[node][tree.children[node] >= 0]
        todo += [(int(child), depth + 1) for child in children if tree.visits[child].any()]


def test_a_game_gives_examples_of_both_kinds() -> None:
    found = play(
        SMALL, load_policy("random"), GUIDE, NINE,
        iterations=60, exploration=0.1, least_visits=10, seed=0, index=0,
    )  # fmt: skip
    assert found.features.shape == (len(found.targets), FEATURES) and len(found.targets) > 50
    assert found.states.shape == (len(found.rules), len(STATE_FEATURES)) and len(found.rules) > 5
    np.testing.assert_allclose(found.rules.sum(axis=1), 1, rtol=1e-6)
    assert 0 <= found.score <= 9


def test_networks_fit(monkeypatch) -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    monkeypatch.setattr("hanabi_search_plugin.learning.fit.STEPS", 2_000)
    rng = np.random.default_rng(0)
    x = rng.normal(3, 2, size=(5_000, FEATURES)).astype(np.float32)
    x[:, 5] = 1.0  # a feature that never varies
    y = np.abs(x[:, :1] - 3)
    network = ValueNetwork(fit(x, y, "squared", 0))
    assert np.mean((network(x) - y) ** 2) < 0.1 * y.var()
    states = x[:, STATE_FEATURES]
    right = np.eye(2, dtype=np.float32)[(states[:, 0] > 3).astype(int)]
    chosen = ValueNetwork(fit(states, right, "cosine", 0))(states).argmax(axis=1)
    assert (chosen == right.argmax(axis=1)).mean() > 0.95
    again = fit(x, y, "squared", 0)
    assert ValueNetwork(again).digest == network.digest


class Heard:
    def __init__(self) -> None:
        self.games: list[tuple[int, int]] = []
        self.networks: list[str] = []

    def on_stage(self, number, stage) -> None: ...

    def on_game(self, number, game) -> None:
        self.games.append((number, game))

    def on_network(self, name, self_play) -> None:
        self.networks.append(name)


def test_training_goes_on_where_it_stopped(tmp_path, monkeypatch) -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    monkeypatch.setattr(evalfn_training, "LEAST_VISITS", 5)
    monkeypatch.setattr(evalfn_training, "SELF_PLAY", 20)
    monkeypatch.setattr("hanabi_search_plugin.learning.fit.STEPS", 20)
    stages = (Stage(games=2, iterations=40), Stage(games=1, iterations=30, exploration=3.0))
    training = EvalfnTraining(stages=stages, configs=(SMALL.config,), seed=0)

    class Stops(Heard):
        def on_game(self, number, game) -> None:
            super().on_game(number, game)
            if number == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(training, tmp_path / "a", Stops())
    heard = Heard()
    with monkeypatch.context() as patch:
        patch.setattr(evalfn_training, "play", None)  # nothing is left to play
        resumed = train(training, tmp_path / "a", heard)
    assert heard.games == [(1, 1), (1, 2), (2, 1)]
    assert heard.networks == ["evalfn-1", "evalfn-1-roots", "evalfn-2", "evalfn-2-roots", "rules"]
    straight = train(training, tmp_path / "b", Heard())
    for name in [*heard.networks, "rules"]:
        file = f"{name}.safetensors"
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    written = json.loads((tmp_path / "b" / "training.json").read_text())
    assert written == straight and len(written["stages"]) == 2
    assert resumed["stages"][1]["tree"]["network"] == straight["stages"][1]["tree"]["network"]
    other = EvalfnTraining(stages=(Stage(games=1, iterations=41),), configs=(SMALL.config,), seed=0)
    with pytest.raises(ConfigError, match="iterations is 40 there, 41 here"):
        train(other, tmp_path / "a", Heard())
