"""Search agents as OpenSpiel's bots, policies and learning agents, in its own arenas."""

import copy
import pickle

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policy
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import (
    evaluate_bots,
    expected_game_score,
    get_all_states,
    ismcts,
    mcts,
    random_agent,
)
from open_spiel.python.bots import uniform_random

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policy
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielGame,
    as_bot,
    as_policy,
    as_rl_agent,
    as_spiel_policy,
    history_of,
    hypothetical_state,
    load_game,
    spiel_of,
    to_state,
)

TINY = OpenSpielGame("tiny_hanabi")
KUHN = OpenSpielGame("kuhn_poker")
LEDUC = OpenSpielGame("leduc_poker")
SMALL = HanabiGame(players=2, colors=2, ranks=3, hand_size=2)
FULL = HanabiGame()
RANDOM_START = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, random_start_player=True)
THREE = HanabiGame(players=3, colors=2, ranks=2, hand_size=2)
PENDING = load_game("goofspiel(num_cards=3,imp_info=true,points_order=descending)")
GAMES = [TINY, KUHN, LEDUC, SMALL, FULL]


def agent_for(game, rollouts=40):
    blueprint = load_policy("smartbot") if game is FULL else UniformPolicy()
    return upgrade(blueprint, game, Sparta(rollouts=rollouts, min_rollouts=2, threshold=0.0))


def spiel(game):
    return spiel_of(game) if isinstance(game, HanabiGame) else game.spiel


def chance(state, rng):
    while state.is_chance_node() and not state.is_terminal():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(actions, p=np.array(chances) / sum(chances))))


def dealt(game, seed=0):
    state = spiel(game).new_initial_state()
    chance(state, np.random.default_rng(seed))
    return state


# ------------------------------------------------------------------------------------------- bots


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_bots_play_in_both_arenas_beside_openspiels(game):
    """C++ restarts its bots, Python restarts them at a state."""
    ours = as_bot(agent_for(game), game, 0, seed=1)
    state = spiel(game).new_initial_state()
    theirs = pyspiel.make_uniform_random_bot(1, 5)
    returns = pyspiel.evaluate_bots(state, [ours, theirs], 3)
    low, high = game.return_range
    assert all(low <= r <= high for r in returns)
    rngs = np.random.RandomState(4), np.random.RandomState(5)
    bots = [ours, uniform_random.UniformRandomBot(1, rngs[0])]
    state = spiel(game).new_initial_state()
    returns = evaluate_bots.evaluate_bots(state, bots, rngs[1])
    assert all(low <= r <= high for r in returns) and state.is_terminal()


def test_beside_mcts_and_ismcts():
    rng = np.random.RandomState(0)
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    native = pyspiel.RandomRolloutEvaluator(1, 1)
    others = [
        (TINY, mcts.MCTSBot(TINY.spiel, 2, 10, evaluator, random_state=rng)),
        (LEDUC, pyspiel.ISMCTSBot(1, native, 2.0, 10, 10,
                                  pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT, False, False)),
    ]  # fmt: skip
    resampled = ismcts.ISMCTSBot(
        spiel(SMALL), evaluator, 2.0, 10, random_state=rng, use_observation_string=True,
        allow_inconsistent_action_sets=True,
    )  # fmt: skip
    resampled.set_resampler(
        lambda state, player: hypothetical_state(history_of(state, player), rng.randint(2**31))
    )
    for game, other in [*others, (SMALL, resampled)]:
        state = spiel(game).new_initial_state()
        bots = [as_bot(agent_for(game), game, 0), other]
        if game is LEDUC:
            pyspiel.evaluate_bots(state, bots, 7)
        else:
            other.restart_at = lambda state: None
            evaluate_bots.evaluate_bots(state, bots, rng)


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_the_same_seed_gives_the_same_play(game):
    """After a restart, in a new bot, in a clone, in a copy, and joined in mid-game."""

    def play(bots, seed=0):
        state, rng = dealt(game, seed), np.random.default_rng(seed)
        last = 13 if game is FULL else 1_000  # ten are dealt; beliefs are largest at the start
        while not state.is_terminal() and state.move_number() < last:
            state.apply_action(bots(state).step(state))
            chance(state, rng)
        return state.history()

    first = [as_bot(agent_for(game), game, p, seed=1) for p in range(2)]
    played = play(lambda state: first[state.current_player()])
    for bot in first:
        bot.restart()
    assert play(lambda state: first[state.current_player()]) == played
    assert (
        play(lambda state: as_bot(agent_for(game), game, state.current_player(), seed=1)) == played
    )

    def changing(state):
        p, moves = state.current_player(), len(state.history())
        first[p] = (
            first[p].clone() if moves % 3 == 0
            else pickle.loads(pickle.dumps(first[p])) if moves % 3 == 1
            else copy.deepcopy(first[p])
        )  # fmt: skip
        return first[p]

    assert play(changing) == played


def test_seeds_differ():
    moves = {as_bot(UniformPolicy(), FULL, 0, seed=seed).step(dealt(FULL)) for seed in range(20)}
    assert len(moves) > 4


def test_a_bot_of_native_hanabi_is_the_native_agent():
    """SmartBot through OpenSpiel's arena scores what it scores natively on the same deck."""
    from hanabi_search_plugin.core.streams import Streams
    from hanabi_search_plugin.evaluation.playing import self_play

    smart, rng = load_policy("smartbot"), np.random.default_rng(0)
    for _ in range(3):
        worlds = FULL.deal(rng, 1)
        deck = worlds.rows[0, -50:].tolist()
        played = self_play(worlds, (smart, smart), Streams.spawn(rng, 1))
        bots, actions = [as_bot(smart, "hanabi", p) for p in range(2)], []
        state = to_state(FULL, deck, [])
        while not state.is_terminal():
            actions.append(bots[state.current_player()].step(state))
            state = to_state(FULL, deck, actions)
        assert actions == [a for a in played.actions[0].tolist() if a >= 0]
        assert state.returns() == played.returns[0].tolist()


def test_a_bots_policy():
    bot = as_bot(UniformPolicy(), LEDUC, 0, seed=3)
    state = dealt(LEDUC)
    assert bot.provides_policy() and bot.is_clonable() and bot.player_id() == 0
    assert bot.get_policy(state) == [(1, 0.5), (2, 0.5)]
    policy, action = bot.step_with_policy(state)
    assert policy == bot.get_policy(state) and action == bot.step(state)
    searched = as_bot(agent_for(LEDUC), LEDUC, 0, seed=3)
    policy, action = searched.step_with_policy(state)
    assert dict(policy)[action] == 1.0 and len(policy) == 2
    bot.inform_action(state, pyspiel.PlayerId.CHANCE, 3)
    bot.inform_action(state, 1, 0)
    bot.inform_actions(state, [0, 1])


@pytest.mark.parametrize("game", [LEDUC, SMALL], ids=repr)
def test_joining_a_game_that_has_begun(game):
    """With random moves before, some of which its blueprint's conventions do not explain."""
    rng = np.random.default_rng(1)
    state = dealt(game, 1)
    states = []
    while not state.is_terminal():
        states.append(state.clone())
        state.apply_action(int(rng.choice(state.legal_actions())))
        chance(state, rng)
    for state in states:
        p = state.current_player()
        late, there = (as_bot(agent_for(game), game, p, seed=2) for _ in range(2))
        late.restart_at(state)
        for earlier in states:
            if earlier.current_player() == p:
                there.step(earlier)
            if len(earlier.history()) == len(state.history()):
                break
        assert late.step(state) == there.step(state)


# --------------------------------------------------------------------------------------- policies


@pytest.mark.parametrize("game", [TINY, KUHN], ids=repr)
def test_exact_export_and_value(game):
    """The tabular export is the agent: one move an information state, and the same exact value."""
    ours = as_spiel_policy(agent_for(game), game, seed=1)
    table = ours.to_tabular()
    assert set(np.unique(table.action_probability_array)) <= {0.0, 1.0}
    root = game.spiel.new_initial_state()
    value = expected_game_score.policy_value(root, [ours] * 2)
    assert np.allclose(value, expected_game_score.policy_value(root, [table] * 2))
    again = as_spiel_policy(agent_for(game), game, seed=1)
    for state in get_all_states.get_all_states(
        game.spiel, include_terminals=False, include_chance_states=False
    ).values():
        assert again.action_probabilities(state) == table.action_probabilities(state)


def test_the_search_gains_exactly():
    """tiny_hanabi: uniform play upgraded at both seats, both values exact."""
    root = TINY.spiel.new_initial_state()
    blueprint = spiel_policy.UniformRandomPolicy(TINY.spiel)
    plain = expected_game_score.policy_value(root, [blueprint] * 2)[0]
    agent = upgrade(as_policy(blueprint, TINY), TINY, Sparta(rollouts=300, threshold=0.0))
    searched = as_spiel_policy(agent, TINY)
    first = expected_game_score.policy_value(root, [searched, blueprint])[0]
    last = expected_game_score.policy_value(root, [blueprint, searched])[0]
    assert plain < first and plain < last


def test_probabilities_go_out_as_they_came_in():
    theirs = spiel_policy.UniformRandomPolicy(LEDUC.spiel)
    ours = as_spiel_policy(as_policy(theirs, LEDUC), LEDUC)
    state = dealt(LEDUC)
    assert ours.action_probabilities(state) == theirs.action_probabilities(state)
    assert ours.action_probabilities(state, 0) == ours(state)
    small = as_spiel_policy(UniformPolicy(), SMALL)
    assert sum(small.action_probabilities(dealt(SMALL)).values()) == pytest.approx(1)
    for twin in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert twin.action_probabilities(state) == ours(state)


@pytest.mark.parametrize("game", [LEDUC, PENDING, SMALL, "particles"], ids=repr)
def test_searches_travel_with_their_beliefs_in_mid_game(game):
    game, belief = (LEDUC, Particles()) if game == "particles" else (game, None)
    agent = upgrade(
        UniformPolicy(), game, Sparta(rollouts=40, min_rollouts=2, threshold=0.0), belief=belief
    )
    worlds = game.deal(np.random.default_rng(0), 1)
    memory = agent.start(worlds.view(0))
    for _ in range(2):
        event = worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
        memory = agent.observe(worlds.view(0), event.seen_by(0, game), memory)

    def decided(worlds, agent, memory):
        if worlds.current_player[0] != 0:
            event = worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
            memory = agent.observe(worlds.view(0), event.seen_by(0, worlds.game), memory)
        result = agent.decide(memory[0], np.random.default_rng(1))
        return result.action, result.mean.tolist(), result.belief_size

    table = (worlds, agent, memory)
    copies = [pickle.loads(pickle.dumps(table)), copy.deepcopy(table)]
    expected = decided(*table)
    assert all(decided(*twin) == expected for twin in copies)


class Particles:
    def __call__(self, blueprint, view):
        rng = np.random.default_rng(0)
        return ParticleBelief.start(LEDUC, blueprint, view, particles=40, rng=rng)


# ----------------------------------------------------------------------------------------- agents


@pytest.mark.parametrize(
    ("game", "told"),
    [
        *((game, "attached") for game in GAMES),
        *((game, "own turns") for game in (TINY, KUHN, LEDUC, SMALL, FULL, RANDOM_START)),
        *((game, "every step") for game in (KUHN, SMALL, RANDOM_START, THREE)),
        *((game, "whole state") for game in (LEDUC, THREE)),
    ],
    ids=repr,
)
def test_loops_of_rl_environment(game, told):
    """Beside random agents; however it follows the game, it moves as the bot that reads states."""
    environment = rl_environment.Environment(spiel(game), include_full_state=told == "whole state")
    environment.seed(1)
    players = game.num_players
    for seat in [1] if game is FULL else range(players):
        policy = load_policy("smartbot") if game is FULL else agent_for(game)
        ours, bot = (make(policy, game, seat, seed=1) for make in (as_rl_agent, as_bot))
        if told == "attached":
            ours.attach(environment)
        agents = [random_agent.RandomAgent(p, game.num_actions) for p in range(players)]
        agents[seat] = ours
        for episode in range(3):
            step = environment.reset()
            while not step.last():
                p = step.current_player()
                output = agents[p].step(step, is_evaluation=True)
                if p == seat:
                    assert output.action == bot.step(environment.get_state)
                    assert output.probs[output.action] == 1.0
                elif told == "every step":
                    assert ours.step(step).action is None
                step = environment.step([output.action])
            if episode != 1:  # the second episode's end is never told
                for agent in agents:
                    agent.step(step, is_evaluation=True)


@pytest.mark.parametrize("game", [LEDUC, SMALL], ids=repr)
def test_rl_agents_travel_in_mid_game(game):
    environment = rl_environment.Environment(spiel(game))
    environment.seed(3)
    step, moves = environment.reset(), 0
    agents = [as_rl_agent(agent_for(game), game, 0, seed=1)]
    while not step.last():
        action = step.observations["legal_actions"][step.current_player()][-1]
        if step.current_player() == 0:
            (action,) = {agent.step(step).action for agent in agents}
            agents = [agents[0], pickle.loads(pickle.dumps(agents[0])), copy.deepcopy(agents[0])]
            moves += 1
        step = environment.step([action])
    assert moves > 1


def test_attached_agents_travel_with_their_environment():
    for game in (LEDUC, SMALL):
        environment = rl_environment.Environment(spiel(game))
        environment.seed(2)
        agent = as_rl_agent(agent_for(game), game, 0, seed=1).attach(environment)
        step = environment.reset()
        for _ in range(2):
            step = environment.step([step.observations["legal_actions"][step.current_player()][-1]])
        pair = (environment, agent)
        played = []
        for env, mover in (copy.deepcopy(pair), pickle.loads(pickle.dumps(pair)), pair):
            at, moves = env.get_time_step(), []
            while not at.last():
                player = at.current_player()
                legal = at.observations["legal_actions"][player]
                moves.append(mover.step(at).action if player == 0 else legal[0])
                at = env.step([moves[-1]])
            played.append(moves)
        assert played[0] == played[1] == played[2]


# ----------------------------------------------------------------------------------------- errors


def test_bad_input_is_named():
    with pytest.raises(UnsupportedError, match="player_id must be from 0 to 1, got 2"):
        as_bot(UniformPolicy(), TINY, 2)
    with pytest.raises(UnsupportedError, match="player_id must be from 0 to 1, got '0'"):
        as_bot(UniformPolicy(), TINY, "0")
    with pytest.raises(
        UnsupportedError, match=r"expected an agent for .*kuhn.*, got one for .*tiny"
    ):
        as_bot(agent_for(TINY), KUHN, 0)
    with pytest.raises(UnsupportedError, match=r"got a UniformPolicy.*as_policy of wrappers"):
        as_bot(pyspiel.UniformPolicy(), TINY, 0)
    bot = as_bot(UniformPolicy(), "hanabi(players=3)", 1)
    with pytest.raises(UnsupportedError, match=r"expected a state of HanabiGame\(players=3\)"):
        bot.step(dealt(FULL))
    with pytest.raises(UnsupportedError, match="expected a state of HanabiGame"):
        bot.restart_at(dealt(KUHN))
    with pytest.raises(UnsupportedError, match="seat 1 is to move, got one in which seat 0 is"):
        bot.step(dealt(HanabiGame(players=3)))
    with pytest.raises(UnsupportedError, match="expected a state of tiny_hanabi"):
        as_bot(UniformPolicy(), TINY, 0).step(dealt(KUHN))
    with pytest.raises(UnsupportedError, match="seat 0 is to move, got a chance node"):
        as_bot(UniformPolicy(), TINY, 0).step(TINY.spiel.new_initial_state())
    ended = dealt(TINY)
    while not ended.is_terminal():
        ended.apply_action(0)
    with pytest.raises(UnsupportedError, match="seat 5 is to move, got one in which seat 0 is"):
        as_spiel_policy(UniformPolicy(), TINY).action_probabilities(dealt(TINY), 5)
    with pytest.raises(UnsupportedError, match="the game is over"):
        as_spiel_policy(UniformPolicy(), TINY).action_probabilities(ended)


def test_a_whole_state_does_not_tell_who_began_at_random():
    game = load_game("hanabi(players=3,random_start_player=true)")
    environment = rl_environment.Environment(spiel(game), include_full_state=True)
    agent = as_rl_agent(UniformPolicy(), game, 0)
    step = environment.reset()
    while step.current_player() == 0:  # drawn by a generator that takes no seed
        step = environment.reset()
    with pytest.raises(UnsupportedError, match=r"every move.*or else attach\(environment\); got"):
        while not step.last():
            mine = step.current_player() == 0
            legal = step.observations["legal_actions"][step.current_player()]
            step = environment.step([agent.step(step).action if mine else legal[0]])


def test_simultaneous_states_are_refused():
    game = pyspiel.load_game("goofspiel(num_cards=3)")
    bots = [as_bot(UniformPolicy(), game, p) for p in range(2)]
    with pytest.raises(UnsupportedError, match=r"expected a state of turn_based.* got one of goof"):
        evaluate_bots.evaluate_bots(game.new_initial_state(), bots, np.random.RandomState(0))
    turns = load_game(game).spiel.new_initial_state()
    assert len(evaluate_bots.evaluate_bots(turns, bots, np.random.RandomState(0))) == 2


def test_a_game_that_does_not_begin_at_its_start_cannot_be_joined():
    game = load_game("chess")
    state = game.spiel.new_initial_state("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    with pytest.raises(UnsupportedError, match="cannot be joined"):
        as_bot(UniformPolicy(), game, state.current_player()).step(state)


def test_time_steps_that_do_not_tell_the_history():
    environment = rl_environment.Environment(spiel(THREE))
    environment.seed(0)
    agent = as_rl_agent(UniformPolicy(), THREE, 0)
    step = environment.reset()
    with pytest.raises(
        UnsupportedError, match=r"every move.*or else attach\(environment\) or make"
    ):
        while not step.last():  # told of its own turns, which do not say what two others did
            mine = step.current_player() == 0
            step = environment.step([agent.step(step).action if mine else 2])
    with pytest.raises(UnsupportedError, match="expected a state of"):
        agent.attach(rl_environment.Environment("kuhn_poker"))
    assert agent.attach(environment) is agent
    step = environment.reset()
    step = step._replace(observations={**step.observations, "legal_actions": [[0], [], []]})
    with pytest.raises(UnsupportedError, match="the time step of the attached environment"):
        agent.step(step)
    with pytest.raises(UnsupportedError, match=r"legal actions \[2, 3, .*\], got \[0\]"):
        as_rl_agent(UniformPolicy(), THREE, 0).step(step)
    with pytest.raises(ConfigError, match=r"must be of shape \[B, .*\], got"):
        as_rl_agent(UniformPolicy(), SMALL, 0).step(step)
    kuhn = as_rl_agent(UniformPolicy(), KUHN, 0)
    step = rl_environment.Environment("kuhn_poker").reset()
    step.observations["info_state"][0] = [9.0] * 11
    with pytest.raises(UnsupportedError, match="no state of kuhn_poker"):
        kuhn.step(step)
    step = rl_environment.Environment("kuhn_poker", include_full_state=True).reset()
    with pytest.raises(UnsupportedError, match=r"state of leduc_poker.*got one of kuhn"):
        as_rl_agent(UniformPolicy(), LEDUC, 0).step(step)
    step = rl_environment.Environment("goofspiel(num_cards=3)").reset()
    with pytest.raises(UnsupportedError, match=r"all players move: make.*convert_to_turn_based"):
        as_rl_agent(UniformPolicy(), PENDING, 0).step(step)
    dark = load_game("dark_hex(board_size=2)")
    environment = rl_environment.Environment(dark.spiel)
    step, agents = environment.reset(), [as_rl_agent(UniformPolicy(), dark, p) for p in range(2)]
    with pytest.raises(UnsupportedError, match=r"do not identify seat 0's history: attach\(env"):
        while not step.last():
            step = environment.step([agents[step.current_player()].step(step).action])
