"""IS-MCTS beside OpenSpiel's own bots, at equal settings."""

from __future__ import annotations

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import ismcts, mcts

from hanabi_search_plugin.algorithms.ismcts import MoIsmcts
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielWorlds
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

SIMULATIONS = 60
REPEATS = 60
POSITIONS = {  # a deal and the moves that lead to a decision
    "kuhn_poker": (0, 1),
    "leduc_poker": (1, 4, 1, 2),
    "leduc_poker(players=3)": (2, 5, 7, 1, 1),
}


def search(game, simulations=SIMULATIONS):
    """Theirs spends its first simulation on the root itself, and counts C in score points."""
    span = game.return_range[1] - game.return_range[0]
    return MoIsmcts(iterations=simulations - 1, nodes="observations", exploration=2.0 / span)


def at(name):
    game, state = OpenSpielGame(name), pyspiel.load_game(name).new_initial_state()
    for action in POSITIONS[name]:
        state.apply_action(action)
    return game, state


def belief_at(game, state):
    history = game.history(state, state.current_player())
    belief = EnumeratedBelief.start(game, (UniformPolicy(),) * game.num_players, history.views[0])
    for event, view in zip(history.events, history.views[1:], strict=True):
        belief = belief.update(event, view, by_blueprint=False)
    return belief


def visits_and_value(moves):
    """Visits of each move and the mean return of all."""
    count = np.array([visits for visits, _ in moves], dtype=float)
    return [*count / count.sum(), sum(total for _, total in moves) / count.sum()]


@pytest.mark.parametrize("name", POSITIONS)
def test_agrees_with_the_python_bot(name):
    """Shares of visits and the value of the root, over many searches."""
    game, state = at(name)
    belief = belief_at(game, state)
    actions = state.legal_actions()
    worlds = OpenSpielWorlds(game, [state], Streams(np.zeros(1, dtype=np.uint64)))
    chance = np.random.default_rng(0)

    def resample(_, player):  # their own is not seeded
        drawn = game.redeterminize(worlds, player, Streams.spawn(chance, 1))
        return drawn.states[0].clone()

    ours, theirs = [], []
    for seed in range(REPEATS):
        result = search(game)(np.random.default_rng(seed), belief)
        assert result.count.sum() == result.rollouts == SIMULATIONS - 1
        ours.append(
            visits_and_value(list(zip(result.count, result.mean * result.count, strict=True)))
        )
        random = np.random.RandomState(seed)
        evaluator = mcts.RandomRolloutEvaluator(1, random)
        bot = ismcts.ISMCTSBot(game.spiel, evaluator, 2.0, SIMULATIONS, random_state=random)
        bot.set_resampler(resample)
        bot.run_search(state)
        found = [bot._root_node.child_info[a] for a in actions]
        theirs.append(visits_and_value([(move.visits, move.return_sum) for move in found]))
    ours, theirs = np.array(ours), np.array(theirs)
    error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / REPEATS)
    assert (abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4 * error + 1e-9).all()


@pytest.mark.parametrize("name", POSITIONS)
def test_agrees_with_the_compiled_bot(name):
    """The same of visits, which are all that it shows."""
    game, state = at(name)
    belief = belief_at(game, state)
    ours, theirs = [], []
    for seed in range(REPEATS):
        count = search(game)(np.random.default_rng(seed), belief).count
        ours.append(count / count.sum())
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        bot = pyspiel.ISMCTSBot(
            seed, evaluator, 2.0, SIMULATIONS, -1,
            pyspiel.ISMCTSFinalPolicyType.NORMALIZED_VISIT_COUNT,
        )  # fmt: skip
        policy = dict(bot.get_policy(state))
        theirs.append([policy[action] for action in state.legal_actions()])
    ours, theirs = np.array(ours), np.array(theirs)
    error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / REPEATS)
    assert (abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4 * error + 1e-9).all()


class Chained(MoIsmcts):
    """Finds nodes by all that was seen on the way to them."""

    def tree(self, game, seat):
        tree = super().tree(game, seat)
        assert tree.by_key
        tree.by_key = False
        return tree


@pytest.mark.parametrize("name", POSITIONS)
def test_a_key_stands_for_all_that_was_seen(name):
    belief = belief_at(*at(name))
    by_key, chained = (
        kind(iterations=500, nodes="observations", exploration=0.3)(
            np.random.default_rng(0), belief
        )
        for kind in (MoIsmcts, Chained)
    )
    assert (by_key.count == chained.count).all() and (by_key.mean == chained.mean).all()
    assert by_key.depth == chained.depth


def test_neither_wins_head_to_head():
    """Kuhn poker, 100 deals, each from both sides, by visits."""
    game = OpenSpielGame("kuhn_poker")
    agent = upgrade(UniformPolicy(), game, search(game, 30))
    rng, won = np.random.default_rng(0), []
    for deal in range(100):
        for seat in range(2):
            evaluator = pyspiel.RandomRolloutEvaluator(1, 2 * deal + seat)
            bot = pyspiel.ISMCTSBot(
                2 * deal + seat, evaluator, 2.0, 30, -1,
                pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
            )  # fmt: skip
            worlds = game.deal(np.random.default_rng(deal), 1)
            memory = agent.start(worlds.view(seat))
            while not worlds.terminal[0]:
                if worlds.current_player[0] == seat:
                    action = agent.decide(memory[0], rng).action
                else:
                    action = bot.step(worlds.states[0])
                event = worlds.step(np.array([action]))
                if not worlds.terminal[0]:
                    memory = agent.observe(worlds.view(seat), event, memory)
            won.append(worlds.returns[0, seat])
    pairs = np.array(won).reshape(-1, 2).mean(axis=1)
    assert abs(pairs.mean()) < 3 * pairs.std() / np.sqrt(len(pairs))
