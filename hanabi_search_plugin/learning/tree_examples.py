"""Make training examples of the search trees of RIS-MCTS games of native Hanabi.

Letters: M examples, T searched decisions, F features, R rules, W words of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.algorithms.ismcts import RisMcts
from hanabi_search_plugin.algorithms.search_tree import Tree
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import Event
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.tree import GrownTree
from hanabi_search_plugin.evaluation.match import SEARCHES, deal_game
from hanabi_search_plugin.evaluation.playing import Turn, play_game
from hanabi_search_plugin.hanabi.bots.evalfn import STATE_FEATURES, move_features, state_features
from hanabi_search_plugin.hanabi.bots.features import FEATURES
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import TABLE_II
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView, HanabiWorlds, points
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.hanabi.search.compiled_tree import CompiledTree

Numbers = NDArray[np.float32]


@dataclass(frozen=True)
class Examples:
    """The examples of one game. The rules are those of the classifier, see ``play``."""

    features: Numbers  # [M, F] of a move at a node, as its player sees it
    targets: Numbers  # [M] points gained from there on in the mean, of the best possible score
    roots: NDArray[np.bool_]  # [M] at the root of a tree?
    states: Numbers  # [T, F of the state] of decisions where a rule proposed the move
    rules: Numbers  # [T, R] shares of the rules that did; a row sums to 1
    score: float


def read_examples(arrays: Mapping[str, NDArray[Any]]) -> Examples:
    """Examples from the arrays of a file. Raises ValueError for arrays of other types or shapes."""
    sizes = {"F": FEATURES, "S": len(STATE_FEATURES), "R": len(TABLE_II)}
    for letter, name in (("M", "targets"), ("T", "states")):
        sizes[letter] = next(iter(arrays[name].shape if name in arrays else ()), 0)
    wanted = {"features": "MF", "targets": "M", "roots": "M", "states": "TS", "rules": "TR"}
    for name, letters in (wanted | {"score": ""}).items():
        if name not in arrays:
            raise ValueError(f"{name} is missing")
        array, shape = arrays[name], tuple(sizes[letter] for letter in letters)
        kind = {"roots": "b", "score": "f"}.get(name, "f")
        if array.shape != shape or array.dtype.kind != kind or not np.isfinite(array).all():
            raise ValueError(
                f"{name} must be finite {'truth values' if kind == 'b' else 'numbers'} of shape "
                f"{list(shape)}, got {array.dtype} {list(array.shape)}"
            )
    return Examples(**{name: arrays[name] for name in wanted}, score=float(arrays["score"]))


@dataclass(frozen=True, kw_only=True)
class WatchedRisMcts(RisMcts):
    """RIS-MCTS that hands over every finished tree. Its guide must be a ``RuleAgent``."""

    on_tree: Callable[[CompiledTree], None]

    def _grown_by_game(self, belief: Belief) -> GrownTree | None:
        tree = cast(CompiledTree, super()._grown_by_game(belief))
        tree.keep(cast(HanabiView, belief.view).rows)
        return tree

    def grow(self, rng: np.random.Generator, belief: Belief) -> Iterator[Tree | GrownTree]:
        for tree in super().grow(rng, belief):
            yield tree
        self.on_tree(cast(CompiledTree, tree))


def of_tree(
    tree: CompiledTree, guide: RuleAgent, least_visits: int
) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """(features, targets, roots) of every move of every node that had so many visits.

    A node stands for all worlds in which it was reached; the features are those of the first one.
    """
    game = tree.game
    nodes, actions = np.nonzero(tree.visits >= least_visits)
    legal = HanabiWorlds(game, tree.kept[nodes]).legal[np.arange(len(nodes)), actions]
    nodes, actions = nodes[legal], actions[legal]
    rows, memory = tree.kept[nodes], tree.kept_memory[nodes]
    features = move_features(guide, game, rows, memory, actions)
    mean = tree.totals[nodes, actions] / tree.visits[nodes, actions]
    targets = (mean - points(rows)) / game.config.max_score
    return features.astype(np.float32), targets.astype(np.float32), nodes == 0


def watched(turns: Iterator[Turn], reader: RuleAgent) -> Iterator[tuple[Turn, HanabiView, Memory]]:
    """Each turn of a game, with its player's view before the move and the ``reader``'s memory."""
    memory: Memory = None
    last: Turn | None = None
    for turn in turns:
        view = cast(HanabiView, turn.worlds.view(turn.seat))
        if last is None:
            memory = reader.start(view)
        else:
            event = Event(np.array([last.seat]), np.array([last.action]))
            memory = reader.observe(view, event, memory)
        yield turn, view, memory
        last = turn


def play(
    game: HanabiGame,
    blueprint: Policy,
    guide: RuleAgent,
    classified: RuleAgent,
    *,
    iterations: int,
    exploration: float,
    least_visits: int,
    seed: int,
    index: int,
) -> Examples:
    """The examples of game ``index`` of a seed, in which every seat searches.

    ``classified``: whose rules a classifier is to choose among.
    """
    found: list[tuple[Numbers, Numbers, NDArray[np.bool_]]] = []
    search = WatchedRisMcts(
        iterations=iterations,
        exploration=exploration,
        guide=guide,
        on_tree=lambda tree: found.append(of_tree(tree, guide, least_visits)),
    )
    agent = upgrade(blueprint, game, search)
    worlds, stream = deal_game(game, seed, index)
    states, rules = [], []
    seeds = (seed, SEARCHES, index)
    turns = play_game(worlds, (agent,) * game.num_players, stream, seeds)
    for turn, view, memory in watched(turns, classified):
        proposed = classified.proposals(view, memory)[0] == turn.action
        if proposed.any() and turn.result is not None and turn.result.reason != "single_move":
            states.append(state_features(classified, game, view.rows, memory)[0, STATE_FEATURES])
            rules.append(proposed / proposed.sum())
    features, targets, roots = (np.concatenate(column) for column in zip(*found, strict=True))
    return Examples(
        features=features,
        targets=targets,
        roots=roots,
        states=np.array(states, dtype=np.float32),
        rules=np.array(rules, dtype=np.float32),
        score=float(worlds.returns[0, 0]),
    )
