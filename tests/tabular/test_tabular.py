"""Small games as tables, against brute force and the searches' own play."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import (
    HanabiGame,
    JointSparta,
    Policy,
    Sparta,
    UniformPolicy,
    evaluate,
    upgrade,
)
from hanabi_search_plugin.algorithms import Mds
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.games import Communication, MiniBridge, SimpleBidding
from hanabi_search_plugin.tabular import (
    GameTree,
    InformationStates,
    Replies,
    TabularPolicy,
    TreeGame,
    growing_tree,
    joint_policy_search,
    tabulate,
)
from hanabi_search_plugin.tabular.replies import best_in_hindsight
from hanabi_search_plugin.testing import check_belief, check_game, check_policy
from hanabi_search_plugin.wrappers.dpomdp import DecPomdpGame, load_dpomdp
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame


class Seen(Communication):
    """Comm in which the number is no secret."""

    def observation(self, state: Any, player: int) -> Any:
        return super().observation(state, 0)


def trade(items: int) -> OpenSpielGame:
    game = OpenSpielGame(f"trade_comm(num_items={items})")
    game.rewards = "identical"
    return game


TIGER = Path(__file__).parents[2] / "examples" / "dec_tiger.dpomdp"


def random_table(states: InformationStates, seed: int, *, pure: bool = True) -> Any:
    liking = np.random.default_rng(seed).random(states.legal.shape) * states.legal
    if not pure:
        return liking / np.maximum(liking.sum(axis=1, keepdims=True), 1e-9)
    return np.eye(liking.shape[1])[liking.argmax(axis=1)] * states.legal


@pytest.mark.parametrize("game", [load_dpomdp(TIGER, 3), MiniBridge(2)], ids=str)
def test_values_are_the_means_of_play(game: Any) -> None:
    tree = GameTree.of(game)
    table = random_table(tree.states, 0, pure=False)
    policy = TabularPolicy(tree.states, table)
    check_policy(game, policy)
    assert not policy.deterministic
    played, value = tabulate(game, (policy, policy), tree.states)
    assert value == pytest.approx(tree.value(table)) == tree.pruned(table).value(table)
    assert np.allclose(played, table)
    result = evaluate(game, (policy, policy), games=2_000, seed=3)
    assert abs(result.mean - value) < 4 * result.sem


def test_merged_nodes_have_the_values_of_all() -> None:
    class Unmerged(DecPomdpGame):
        def futures(self, worlds: Any) -> Any:
            return np.arange(len(worlds))

    game = load_dpomdp(TIGER, 3)
    merged, whole = GameTree.of(game), GameTree.of(Unmerged(game.problem, 3))
    assert whole.nodes > 1.2 * merged.nodes
    assert len(whole.states) == len(merged.states)
    uniform = merged.value(merged.states.uniform())
    assert uniform == pytest.approx(whole.value(whole.states.uniform()))
    best = Replies(whole.states, whole).in_turn(whole.states.uniform())[1]
    assert best == pytest.approx(5.190812, abs=1e-6)


def test_no_policy_replies_better() -> None:
    """Every deterministic policy of player 0 at two stages of the tiger, against three others'."""
    game = load_dpomdp(TIGER, 2)
    tree = GameTree.of(game)
    replies, states = Replies(tree.states, tree), tree.states
    own = np.flatnonzero((states.owner == 0) & states.legal.any(axis=1))
    # Stage 1 has a state for each first move: of nine policies there only the move made counts.
    for seed in range(3):
        table = random_table(states, seed)
        best, value = replies.best(table, 0)
        assert tree.value(best) == pytest.approx(value)
        assert (best[states.owner == 1] == table[states.owner == 1]).all()
        for moves in itertools.product(range(3), repeat=3):
            tried = table.copy()
            tried[own[0]] = np.eye(3)[moves[0]]
            later = [s for s in own[1:].tolist()]
            tried[later] = np.eye(3)[[moves[1 + k % 2] for k in range(len(later))]]
            assert tree.value(tried) <= value + 1e-9


def test_replies_in_turn_end_where_nobody_gains() -> None:
    game = SimpleBidding(4)
    replies = Replies.of(game)
    table, value = replies.in_turn(random_table(replies.states, 2))
    for seat in range(2):
        assert replies.best(table, seat)[1] == pytest.approx(value)
    assert replies.value(table) == pytest.approx(value)


@pytest.mark.parametrize("kept", [10**6, 5], ids=["kept", "forgotten"])
@pytest.mark.parametrize("game", [load_dpomdp(TIGER, 3), MiniBridge(3)], ids=str)
def test_a_tree_in_parts_gives_the_same_replies(
    game: Any, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing_tree, "MOST_NODES", kept)
    whole, parts = Replies.of(game), Replies.of(game, complete=10)
    assert whole.tree is not None and parts.tree is None
    first = whole.states.legal & (np.cumsum(whole.states.legal, axis=1) == 1)
    _, value = whole.in_turn(first.astype(float))
    again, same = parts.in_turn(parts.states.empty())
    assert value == pytest.approx(same) == pytest.approx(parts.value(again))
    policy = TabularPolicy(parts.states, again)
    states = InformationStates(game)
    assert tabulate(game, (policy, policy), states)[1] == pytest.approx(value)


def test_a_growing_tree_plays_no_move_twice() -> None:
    played: list[tuple[Any, int]] = []

    class Counted(SimpleBidding):
        def next_states(self, state: Any, action: int) -> Any:
            played.append((state, action))
            return super().next_states(state, action)

    game = Counted(4)
    replies = Replies.of(game, complete=0)
    played.clear()
    rng = np.random.default_rng(0)
    table, value = joint_policy_search(replies, replies.states.empty(), rng, trials=300)
    assert len(played) == len(set(played)) < GameTree.of(SimpleBidding(4)).nodes * game.num_actions
    assert value == pytest.approx(2.25) == pytest.approx(replies.value(table))


# ------------------------------------------------------------------------- joint policy search


@pytest.mark.parametrize(
    ("game", "trials", "best"),
    [
        (Communication(3), 400, 1.0), (SimpleBidding(4), 300, 2.25),
        (OpenSpielGame("tiny_hanabi"), 50, 10.0), (load_dpomdp(TIGER, 3), 20, 5.1908125),
    ],
    ids=str,
)  # fmt: skip
def test_joint_policy_search_finds_the_best(game: Any, trials: int, best: float) -> None:
    replies = Replies.of(game)
    uniform = replies.states.uniform()
    table, value = joint_policy_search(replies, uniform, np.random.default_rng(0), trials=trials)
    assert value == pytest.approx(best) == pytest.approx(replies.value(table))
    again = joint_policy_search(replies, uniform, np.random.default_rng(0), trials=trials)
    assert again[1] == value and (again[0] == table).all()


@pytest.mark.parametrize("complete", [10**6, 0], ids=["complete", "growing"])
def test_a_change_that_everybody_understands_finds_the_best(complete: int) -> None:
    replies = Replies.of(trade(3), complete=complete)
    rng = np.random.default_rng(0)
    table, value = joint_policy_search(
        replies, replies.states.empty(), rng, trials=200, kinds=["understood"]
    )
    assert value == pytest.approx(1.0) == pytest.approx(replies.value(table))


@pytest.mark.parametrize("game", [Communication(2), SimpleBidding(4), MiniBridge(2)], ids=str)
def test_an_understood_change_leaves_all_other_play(game: Any) -> None:
    replies = Replies.of(game)
    states, rng = replies.states, np.random.default_rng(1)
    table, _ = replies.in_turn(random_table(states, 1))
    for state in rng.permutation(replies.reached(table))[:8].tolist():
        without = table.copy()
        without[state] = 0.0
        kept = replies.reached(without)
        action = int(rng.choice(np.flatnonzero(states.legal[state])))
        changed = replies.understood(table, state, action, rng)
        assert changed[state, action] == 1
        others = kept[kept != state]
        assert (changed[others] == table[others]).all()
        assert (changed[replies.reached(changed)].sum(axis=1) == 1).all()


def test_moves_that_are_equally_good_in_hindsight_tell_all_they_can() -> None:
    """A trader who alone says something is told each of the four items in a way of its own."""
    replies = Replies.of(trade(4))
    states, rng = replies.states, np.random.default_rng(0)
    lowest = np.eye(states.legal.shape[1])[states.legal.argmax(axis=1)]  # says nothing
    first, unsaid = replies.reached(lowest)[0], 1
    changed = replies.understood(lowest, first, unsaid, rng)
    heard = np.setdiff1d(replies.reached(changed), replies.reached(lowest))
    answers = heard[states.owner[heard] == 1][:4]
    assert len(np.unique(changed[answers].argmax(axis=1))) == 4
    assert replies.value(changed) == pytest.approx(4 / 16)  # all that it holds that item


def test_with_all_seen_the_best_in_hindsight_is_the_best() -> None:
    """Where both players see everything, hindsight is sight: no table is better."""
    tree = GameTree.of(Seen(3))
    table = best_in_hindsight(tree, tree.states.uniform(), np.random.default_rng(0))
    assert tree.value(table) == pytest.approx(1.0)


def test_kinds_of_trials_are_checked() -> None:
    replies = Replies.of(Communication(1))
    for kinds in (["other"], []):
        with pytest.raises(ConfigError, match=r"kinds must be one of new plan, .*, understood"):
            joint_policy_search(
                replies, replies.states.uniform(), np.random.default_rng(0), trials=1, kinds=kinds
            )


def test_it_goes_on_where_every_search_of_one_seat_is_stuck() -> None:
    """In Comm from a uniform policy: nothing is said, so that nothing is heard."""
    game = TreeGame(GameTree.of(Communication(3)))
    uniform = UniformPolicy()
    searches: list[tuple[Policy, ...]] = [
        (upgrade(uniform, game, Sparta()), uniform),
        (upgrade(uniform, game, Sparta()),) * 2,
        (upgrade(uniform, game, JointSparta()),) * 2,
    ]
    for seats in searches:
        assert tabulate(game, seats, game.states)[1] == pytest.approx(1 / 8)
    replies = Replies(game.states, game.tree)
    stuck, value = replies.in_turn(game.states.uniform())
    assert value == pytest.approx(1 / 8)
    rng = np.random.default_rng(0)
    assert joint_policy_search(replies, stuck, rng, trials=400)[1] == pytest.approx(1.0)


def test_trials_below_0_are_refused() -> None:
    replies = Replies.of(Communication(1))
    with pytest.raises(ConfigError, match="trials"):
        joint_policy_search(replies, replies.states.uniform(), np.random.default_rng(0), trials=-1)


# --------------------------------------------------------------------- games played from trees


@pytest.mark.parametrize("base", [MiniBridge(2), load_dpomdp(TIGER, 2)], ids=str)
def test_a_game_plays_from_its_tree_as_by_itself(base: Any) -> None:
    game = TreeGame(GameTree.of(base))
    check_game(game)
    check_belief(game, UniformPolicy())
    table = random_table(game.states, 1)
    there, here = TabularPolicy(game.tree.states, table), TabularPolicy(game.states, table)
    check_policy(game, here)
    value = tabulate(base, (there, there), game.tree.states)[1]
    assert tabulate(game, (here, here), game.states)[1] == pytest.approx(value)
    # The best move of SPARTA's first decision is the same, by exact values.
    searched = [
        tabulate(of, (upgrade(p, of, Sparta(rollouts=20_000, threshold=0.3)), p), states)[1]
        for of, p, states in ((base, there, game.tree.states), (game, here, game.states))
    ]
    assert searched[0] == pytest.approx(searched[1])


def test_a_drawn_move_counts_by_its_chance() -> None:
    """Mirror descent of no size at all is its blueprint, here a uniform policy."""
    game = TreeGame(GameTree.of(MiniBridge(2)))
    agent = upgrade(UniformPolicy(), game, Mds(rollouts=50, eta=0.0))
    value = tabulate(game, (agent, agent), game.states)[1]
    assert value == pytest.approx(game.tree.value(game.states.uniform()))


def test_other_games_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="identical rewards"):
        GameTree.of(OpenSpielGame("kuhn_poker"))
    with pytest.raises(UnsupportedError, match="lists its chance"):
        Replies.of(HanabiGame(players=2))
    with pytest.raises(UnsupportedError, match="max_edges=100"):
        GameTree.of(MiniBridge(3), max_edges=100)
    with pytest.raises(UnsupportedError, match="max_edges=100"):
        game = MiniBridge(3)
        tabulate(game, (UniformPolicy(),) * 2, InformationStates(game), max_edges=100)
